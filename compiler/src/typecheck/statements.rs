//! Typing of definitions and their statements.

use ruff_python_ast::{
    ElifElseClause, Expr as Syntax, Operator, Stmt as SyntaxStmt, StmtAnnAssign, StmtAssign, StmtAugAssign, StmtFor,
    StmtFunctionDef, StmtIf,
};
use ruff_text_size::Ranged;

use crate::diagnostic::codes;
use crate::hardware::instruction::Instruction;
use crate::loop_ir::declarations::window_shape;
use crate::loop_ir::substitute::{Substitution, substitute_block};
use crate::loop_ir::{
    ArgType, Block, Committed, Control, Expr, ExprKind, Lineage, LoopMode, Proc, Stmt, StmtKind, Ty, build,
    configuration,
};
use crate::symbol::Sym;
use crate::typecheck::captures::HostValue;
use crate::typecheck::checker::{Checked, Checker, Reported};
use crate::typecheck::expressions::MAX_DEPTH;
use crate::typecheck::literal::Position;
use crate::typecheck::scope::Meaning;

impl Checker<'_> {
    pub(crate) fn definition(&mut self, function: &StmtFunctionDef, instruction: Option<Instruction>) -> Checked<Proc> {
        if function.is_async {
            self.outside::<()>(&function.name, "`async`", "leave it out").ok();
        }
        if let Some(returns) = &function.returns {
            self.outside::<()>(&**returns, "a return type", "procs return nothing; they write their arguments").ok();
        }
        if let Some(params) = &function.type_params {
            self.outside::<()>(&**params, "a type parameter", "take the precision from a host variable").ok();
        }
        self.defining = Some(function.name.to_string());
        let name = self.spelling(&function.name);
        let args = self.parameters(&function.parameters);
        let (asserts, body) = split_body(&function.body);
        let preds: Vec<Checked<Expr>> = asserts.iter().map(|assert| self.precondition(assert)).collect();
        let body = if body.is_empty() {
            self.refuse_hint(codes::OBJECT_SYNTAX, &function.name, "the proc has no statements", "write `pass`")
        } else {
            self.block(body)
        };
        name?;
        let proc = Proc {
            name: function.name.as_str().into(),
            args: args?,
            preds: preds.into_iter().collect::<Checked<_>>()?,
            body: body?,
            instr: instruction,
            lineage: Lineage::origin(),
            span: self.span(&function.name),
            committed: Committed::default(),
        };
        self.scopes_hold(&proc, &function.name)?;
        Ok(proc)
    }

    fn precondition(&mut self, node: &SyntaxStmt) -> Checked<Expr> {
        let SyntaxStmt::Assert(assert) = node else { return Err(Reported) };
        if let Some(message) = &assert.msg {
            self.outside::<()>(&**message, "the message of an assert", "leave it out").ok();
        }
        self.condition(&assert.test)
    }

    /// Statements in a scope that is already open.
    pub(crate) fn block(&mut self, statements: &[SyntaxStmt]) -> Checked<Block> {
        if let Some(first) = statements.first().filter(|_| self.depth >= MAX_DEPTH) {
            return self.refuse(codes::OBJECT_SYNTAX, first, format!("more than {MAX_DEPTH} levels of nesting"));
        }
        self.depth += 1;
        let checked: Vec<Checked<Block>> = statements.iter().map(|statement| self.statements(statement)).collect();
        self.depth -= 1;
        let blocks = checked.into_iter().collect::<Checked<Vec<Block>>>()?;
        let block: Block = blocks.into_iter().flatten().collect();
        // Host code may emit nothing, and no body is empty.
        Ok(if block.is_empty() { Block::one(build::pass()) } else { block })
    }

    /// What one statement comes to: several where host code emits or splices some.
    fn statements(&mut self, node: &SyntaxStmt) -> Checked<Block> {
        match node {
            SyntaxStmt::With(with) => self.with_statement(with, node),
            SyntaxStmt::Expr(expression) => match &*expression.value {
                Syntax::Set(set) => self.spliced_statements(set, &expression.value),
                _ => Ok(Block::one(self.statement(node)?)),
            },
            _ => Ok(Block::one(self.statement(node)?)),
        }
    }

    /// Statements in a scope of their own.
    fn scoped(&mut self, statements: &[SyntaxStmt]) -> Checked<Block> {
        let mark = self.scope.enter();
        let block = self.block(statements);
        self.scope.leave(mark);
        block
    }

    fn statement(&mut self, node: &SyntaxStmt) -> Checked<Stmt> {
        match node {
            SyntaxStmt::Pass(_) => Ok(build::stmt(StmtKind::Pass, &self.span(node))),
            SyntaxStmt::AnnAssign(alloc) => self.alloc(alloc, node),
            SyntaxStmt::Assign(assign) => self.assign(assign, node),
            SyntaxStmt::AugAssign(reduce) => self.reduce(reduce, node),
            SyntaxStmt::For(for_loop) => self.for_loop(for_loop, node),
            SyntaxStmt::If(branch) => self.branch(branch, node),
            SyntaxStmt::Expr(expression) => match &*expression.value {
                Syntax::Call(call) => self.call_statement(call, node),
                Syntax::StringLiteral(_) => {
                    self.outside(node, "a string", "a docstring stands at the start of a proc; elsewhere use `#`")
                }
                _ => self.outside(node, "an expression as a statement", "assign it, or call a proc"),
            },
            SyntaxStmt::Assert(_) => self.refuse_hint(
                codes::OBJECT_SYNTAX,
                node,
                "`assert` states a precondition and stands before all other statements",
                "move it to the start of the proc",
            ),
            SyntaxStmt::While(_) => self.outside(node, "`while`", "loops are `for i in seq(lo, hi)`"),
            SyntaxStmt::Return(_) => self.outside(node, "`return`", "a proc writes its results to its arguments"),
            SyntaxStmt::FunctionDef(_) | SyntaxStmt::ClassDef(_) => {
                self.outside(node, "a nested definition", "define it before, and call it")
            }
            _ => self.outside(node, "this statement", "use loops, `if`, assignments, allocations, windows and calls"),
        }
    }

    fn alloc(&mut self, alloc: &StmtAnnAssign, node: &SyntaxStmt) -> Checked<Stmt> {
        let Syntax::Name(name) = &*alloc.target else {
            return self.outside(&*alloc.target, "an allocation without a plain name", "write `x: f32[n]`");
        };
        if let Some(value) = &alloc.value {
            self.outside::<()>(&**value, "an initial value", "assign in a statement of its own").ok();
        }
        let identifier = ruff_python_ast::Identifier::new(name.id.clone(), alloc.target.range());
        let spelled = self.spelling(&identifier);
        let checked = self.annotation(&alloc.annotation).and_then(|annotation| match annotation.ty {
            ArgType::Data(ty) if ty.is_window => self.refuse_hint(
                codes::OBJECT_SYNTAX,
                &*alloc.annotation,
                "a window cannot be allocated",
                "allocate a buffer, or name part of one: `w = x[a:b]`",
            ),
            ArgType::Data(ty) => Ok((ty, annotation.mem)),
            ArgType::Control(control) => self.refuse_hint(
                codes::OBJECT_SYNTAX,
                &*alloc.annotation,
                format!("a control value of type `{}` cannot be allocated", control.word()),
                "control values come from parameters and loops only",
            ),
        });
        spelled?;
        let (ty, mem) = checked.inspect_err(|Reported| {
            self.scope.bind(&name.id, Meaning::Broken);
        })?;
        let symbol = self.scope.bind(&name.id, Meaning::Data { shape: ty.shape.clone() });
        Ok(build::stmt(StmtKind::Alloc { name: symbol, ty, mem }, &self.span(node)))
    }

    fn assign(&mut self, assign: &StmtAssign, node: &SyntaxStmt) -> Checked<Stmt> {
        let [target] = assign.targets.as_slice() else {
            return self.outside(node, "a chained assignment", "write one assignment for each target");
        };
        if let Syntax::Name(name) = target {
            if self.lookup(&name.id).is_none() {
                return self.fresh(&name.id, target, &assign.value, node);
            }
            if is_window_syntax(&assign.value) {
                return self.refuse_hint(
                    codes::TYPE,
                    node,
                    format!("`{}` already names something here, so it cannot name a window", name.id),
                    "give the window another name",
                );
            }
        }
        if matches!(target, Syntax::Attribute(_)) {
            return self.write_config(target, &assign.value, node);
        }
        let place = self.target(target);
        let rhs = self.scalar(&assign.value);
        let ((name, idx), rhs) = (place?, rhs?);
        Ok(build::stmt(StmtKind::Assign { name, idx, rhs }, &self.span(node)))
    }

    /// `Config.field = ...`.
    fn write_config(&mut self, target: &Syntax, value: &Syntax, node: &SyntaxStmt) -> Checked<Stmt> {
        let Some(HostValue::ConfigField(field)) = self.captures.get(self.text(target)) else {
            return match self.captures.get(self.text(target)) {
                Some(other) => {
                    let message = format!("`{}` is {}, which is not written here", self.text(target), other.describe());
                    self.refuse(codes::TYPE, target, message)
                }
                None => self.undefined(target, target),
            };
        };
        let rhs = match configuration::control(&field) {
            None => self.scalar(value)?,
            Some(Control::Bool) => self.condition(value)?,
            Some(Control::Int | Control::Size | Control::Index) => self.index(value)?,
            Some(Control::Stride) => {
                let rhs = self.expression(value, Position::Control)?;
                if rhs.ty != Ty::STRIDE && rhs.ty != Ty::INT {
                    let message = format!("the field `{field}` takes a stride");
                    return self.refuse_hint(
                        codes::TYPE,
                        value,
                        message,
                        "write `stride(x, 0)`, or an integer literal",
                    );
                }
                rhs
            }
        };
        Ok(build::stmt(StmtKind::WriteConfig { field, rhs }, &self.span(node)))
    }

    /// A declaration must not depend on state that may change while it is in use.
    pub(crate) fn independent(&mut self, exprs: &[Expr], what: &str, node: &impl Ranged) -> Checked<()> {
        match exprs.iter().any(|expr| expr.reads_config) {
            false => Ok(()),
            true => self.refuse_hint(
                codes::TYPE,
                node,
                format!("{what} may not depend on configuration state"),
                "pass the value to a proc of its own as a `size` or `index` argument",
            ),
        }
    }

    /// `name = ...` where `name` is not visible: a window statement or nothing.
    fn fresh(&mut self, name: &str, target: &Syntax, value: &Syntax, node: &SyntaxStmt) -> Checked<Stmt> {
        let identifier = ruff_python_ast::Identifier::new(name, target.range());
        self.spelling(&identifier)?;
        let rhs = self.expression(value, Position::Data).inspect_err(|Reported| {
            self.scope.bind(name, Meaning::Broken);
        })?;
        match &rhs.kind {
            ExprKind::Window { idx, .. } => {
                let symbol = self.scope.bind(name, Meaning::Data { shape: window_shape(idx) });
                self.independent(std::slice::from_ref(&rhs), "a window that is named", value)?;
                Ok(build::stmt(StmtKind::Window { name: symbol, rhs }, &self.span(node)))
            }
            ExprKind::Read { .. }
            | ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => {
                let refused = self.undeclared(name, target);
                self.scope.bind(name, Meaning::Broken);
                refused
            }
        }
    }

    fn reduce(&mut self, reduce: &StmtAugAssign, node: &SyntaxStmt) -> Checked<Stmt> {
        match reduce.op {
            Operator::Add => {}
            op => {
                let hint = self.without_operator(reduce, op);
                return self.outside(node, &format!("`{}=`", op.as_str()), &hint);
            }
        }
        let place = self.target(&reduce.target);
        let rhs = self.scalar(&reduce.value);
        let ((name, idx), rhs) = (place?, rhs?);
        Ok(build::stmt(StmtKind::Reduce { name, idx, rhs }, &self.span(node)))
    }

    /// What to write for `x op= e`.
    fn without_operator(&self, reduce: &StmtAugAssign, op: Operator) -> String {
        let (target, value) = (self.text(&*reduce.target), self.text(&*reduce.value));
        let is_one_word = matches!(
            &*reduce.value,
            Syntax::Name(_) | Syntax::NumberLiteral(_) | Syntax::Subscript(_) | Syntax::Call(_) | Syntax::Attribute(_)
        );
        let value = if is_one_word { value.to_string() } else { format!("({value})") };
        match op {
            Operator::Sub => format!("write `{target} += -{value}`"),
            Operator::Mult | Operator::Div => {
                format!("write `{target} = {target} {} {value}`; only `+=` is a reduction", op.as_str())
            }
            Operator::Pow => format!("write a product: `{target} = {target} * {target}`"),
            _ => "only `+=` is a reduction, and data has `+`, `-`, `*` and `/`".to_string(),
        }
    }

    fn for_loop(&mut self, node: &StmtFor, whole: &SyntaxStmt) -> Checked<Stmt> {
        if node.is_async {
            self.outside::<()>(&*node.iter, "`async for`", "use `for`").ok();
        }
        if let Some(first) = node.orelse.first() {
            self.outside::<()>(first, "the `else` of a loop", "put the statements after the loop").ok();
        }
        // The bounds mean what is visible before the iterator exists.
        let header = self.loop_header(&node.iter);
        let Syntax::Name(name) = &*node.target else {
            return self.outside(&*node.target, "this loop target", "a loop has one iterator: `for i in seq(0, n)`");
        };
        let identifier = ruff_python_ast::Identifier::new(name.id.clone(), node.target.range());
        let spelled = self.spelling(&identifier);
        let mark = self.scope.enter();
        let iter = self.scope.bind(&name.id, Meaning::Control(crate::loop_ir::Control::Index));
        let body = self.block(&node.body);
        self.scope.leave(mark);
        spelled?;
        let (mode, lo, hi, step) = header?;
        let (lo, hi, body) = match step {
            None | Some(1) => (lo, hi, body?),
            Some(step) => strided(&iter, &lo, &hi, step, &body?),
        };
        Ok(build::stmt(StmtKind::For { iter, lo, hi, body, mode }, &self.span(whole)))
    }

    /// Mode and bounds of a loop, and its step where one is given.
    fn loop_header(&mut self, node: &Syntax) -> Checked<(LoopMode, Expr, Expr, Option<i64>)> {
        let hint = "write `for i in seq(lo, hi)` or `for i in par(lo, hi)`, with a step as third argument";
        let Syntax::Call(call) = node else {
            return self.outside(node, "a loop over this", hint);
        };
        let mode = match self.text(&*call.func) {
            "seq" => LoopMode::Seq,
            "par" => LoopMode::Par,
            other => return self.outside(node, &format!("a loop over `{other}(...)`"), hint),
        };
        let ([lo, hi, rest @ ..], true) = (&*call.arguments.args, call.arguments.keywords.is_empty()) else {
            return self.refuse_hint(codes::OBJECT_SYNTAX, node, "a loop has two bounds", hint);
        };
        let bounds = (self.index(lo), self.index(hi));
        let step = match rest {
            [] => None,
            [step] => {
                let value = self.index(step)?;
                match build::int_value(&value) {
                    Some(value) if value > 0 => Some(value),
                    _ => {
                        return self.refuse(codes::TYPE, step, "the step of a loop must be a positive integer literal");
                    }
                }
            }
            [_, extra, ..] => {
                return self.refuse_hint(codes::OBJECT_SYNTAX, extra, "a loop has two bounds and a step", hint);
            }
        };
        Ok((mode, bounds.0?, bounds.1?, step))
    }

    fn branch(&mut self, node: &StmtIf, whole: &SyntaxStmt) -> Checked<Stmt> {
        let cond = self.condition(&node.test);
        let body = self.scoped(&node.body);
        let orelse = self.otherwise(&node.elif_else_clauses);
        Ok(build::stmt(StmtKind::If { cond: cond?, body: body?, orelse: orelse? }, &self.span(whole)))
    }

    /// `elif` is an `if` in the `else`.
    fn otherwise(&mut self, clauses: &[ElifElseClause]) -> Checked<Block> {
        let Some((first, rest)) = clauses.split_first() else { return Ok(Block::default()) };
        let Some(test) = &first.test else { return self.scoped(&first.body) };
        if self.depth >= MAX_DEPTH {
            return self.refuse(codes::OBJECT_SYNTAX, first, format!("more than {MAX_DEPTH} levels of nesting"));
        }
        let cond = self.condition(test);
        let body = self.scoped(&first.body);
        self.depth += 1;
        let orelse = self.otherwise(rest);
        self.depth -= 1;
        let kind = StmtKind::If { cond: cond?, body: body?, orelse: orelse? };
        Ok(Block::one(build::stmt(kind, &self.span(first))))
    }
}

/// A loop of step 1 for one of another step: `lo + step * iter` stands for the iterator.
fn strided(iter: &Sym, lo: &Expr, hi: &Expr, step: i64, body: &Block) -> (Expr, Expr, Block) {
    let counted = build::mul(build::int(step), build::index(iter));
    let value = build::sum(lo, &counted);
    let body = substitute_block(body, &Substitution::from([(iter.clone(), value)]));
    let literals = build::int_value(hi).zip(build::int_value(lo));
    let trips = match literals.and_then(|(hi, lo)| hi.checked_sub(lo)) {
        Some(distance) => build::int(distance.saturating_add(step - 1).div_euclid(step)),
        None => build::div(build::add(build::difference(hi, lo), build::int(step - 1)), step),
    };
    (build::int(0), trips, body)
}

/// Docstring, asserts, and the statements after them.
fn split_body(body: &[SyntaxStmt]) -> (&[SyntaxStmt], &[SyntaxStmt]) {
    let body = match body.split_first() {
        Some((SyntaxStmt::Expr(first), rest)) if first.value.is_string_literal_expr() => rest,
        _ => body,
    };
    let asserts = body.iter().take_while(|stmt| stmt.is_assert_stmt()).count();
    body.split_at(asserts)
}

/// Whether an expression is written with a slice.
fn is_window_syntax(node: &Syntax) -> bool {
    match node {
        Syntax::Subscript(subscript) => {
            crate::typecheck::accesses::items(&subscript.slice).iter().any(|item| item.is_slice_expr())
        }
        _ => false,
    }
}
