//! What a definition mentions of the host code around it: names, memories, procs, spliced expressions.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{ElifElseClause, Expr, Operator, Stmt, StmtFunctionDef};

use crate::hardware::precision::Precision;
use crate::typecheck::control_word;

/// A host expression that a definition may need the value of.
#[derive(Clone, Debug)]
pub(crate) struct Mention {
    /// The source text, by which object code asks for it.
    pub(crate) key: String,
    /// Starlark text of the same expression.
    pub(crate) value: String,
    /// Names that must come from a star import, or else the expression has no value here.
    pub(crate) unbound: Vec<String>,
}

/// The mentions of one definition, each once, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectNames {
    pub(crate) mentions: Vec<Mention>,
}

/// How sure it is that an expression is one of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// It stands where only a host value can stand.
    Required,
    /// It is a host value when its names are bound there.
    Possible,
}

/// A host expression found in a definition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) node: &'a Expr,
    pub(crate) need: Need,
}

/// All host expressions of a definition. Names that the definition binds itself are left out where they are visible.
pub(crate) fn host_expressions(function: &StmtFunctionDef) -> Vec<Found<'_>> {
    let mut walk = Walk { bound: Vec::new(), found: Vec::new() };
    for parameter in function.parameters.iter() {
        if let Some(annotation) = parameter.annotation() {
            walk.annotation(annotation);
        }
        walk.bound.push(parameter.name().as_str());
    }
    walk.block(&function.body);
    walk.found
}

/// The names that an expression mentions freely.
pub(crate) fn names_in(node: &Expr) -> BTreeSet<String> {
    struct Names(BTreeSet<String>, BTreeSet<String>);
    impl<'a> Visitor<'a> for Names {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Name(name) = expr {
                match name.ctx.is_store() {
                    true => self.1.insert(name.id.to_string()),
                    false => self.0.insert(name.id.to_string()),
                };
            }
            if let Expr::Lambda(lambda) = expr {
                for parameter in lambda.parameters.iter().flat_map(|parameters| parameters.iter()) {
                    self.1.insert(parameter.name().to_string());
                }
            }
            walk_expr(self, expr);
        }
    }
    let mut names = Names(BTreeSet::new(), BTreeSet::new());
    names.visit_expr(node);
    let Names(read, own) = names;
    read.into_iter().filter(|name| !own.contains(name)).collect()
}

struct Walk<'a> {
    bound: Vec<&'a str>,
    found: Vec<Found<'a>>,
}

impl<'a> Walk<'a> {
    fn is_bound(&self, name: &str) -> bool {
        self.bound.contains(&name)
    }

    fn host(&mut self, node: &'a Expr, need: Need) {
        let need = if node.is_name_expr() { Need::Possible } else { need };
        self.found.push(Found { node, need });
    }

    fn scoped(&mut self, body: &'a [Stmt]) {
        let mark = self.bound.len();
        self.block(body);
        self.bound.truncate(mark);
    }

    fn block(&mut self, body: &'a [Stmt]) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::AnnAssign(alloc) => {
                self.annotation(&alloc.annotation);
                if let Expr::Name(name) = &*alloc.target {
                    self.bound.push(&name.id);
                }
            }
            Stmt::Assign(assign) => {
                self.expr(&assign.value);
                for target in &assign.targets {
                    self.target(target);
                }
            }
            Stmt::AugAssign(reduce) => {
                self.expr(&reduce.value);
                self.target(&reduce.target);
            }
            Stmt::For(node) => {
                if let Expr::Call(call) = &*node.iter {
                    call.arguments.args.iter().for_each(|arg| self.expr(arg));
                }
                let mark = self.bound.len();
                if let Expr::Name(name) = &*node.target {
                    self.bound.push(&name.id);
                }
                self.block(&node.body);
                self.bound.truncate(mark);
            }
            Stmt::If(node) => {
                self.expr(&node.test);
                self.scoped(&node.body);
                for ElifElseClause { test, body, .. } in &node.elif_else_clauses {
                    test.iter().for_each(|test| self.expr(test));
                    self.scoped(body);
                }
            }
            Stmt::Assert(assert) => self.expr(&assert.test),
            Stmt::Expr(expr) => self.expr(&expr.value),
            // Whatever else stands there is refused when the definition is typed.
            _ => {}
        }
    }

    fn target(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(name) if !self.is_bound(&name.id) => self.bound.push(&name.id),
            Expr::Subscript(subscript) => self.expr(&subscript.slice),
            // A configuration field.
            Expr::Attribute(_) => self.expr(target),
            _ => {}
        }
    }

    fn annotation(&mut self, node: &'a Expr) {
        if let Expr::BinOp(binary) = node
            && binary.op == Operator::MatMult
        {
            self.data_type(&binary.left);
            return self.host(&binary.right, Need::Required);
        }
        self.data_type(node);
    }

    fn data_type(&mut self, ty: &'a Expr) {
        match ty {
            Expr::Subscript(subscript) => {
                match &*subscript.value {
                    Expr::List(list) => list.elts.iter().for_each(|precision| self.precision(precision)),
                    precision => self.precision(precision),
                }
                self.expr(&subscript.slice);
            }
            precision => self.precision(precision),
        }
    }

    fn precision(&mut self, node: &'a Expr) {
        match node {
            Expr::Set(set) => set.elts.iter().for_each(|inner| self.host(inner, Need::Required)),
            Expr::Name(name) if Precision::from_word(&name.id).is_some() || control_word(node).is_some() => {}
            Expr::Name(_) | Expr::Attribute(_) => self.host(node, Need::Possible),
            _ => {}
        }
    }

    fn expr(&mut self, node: &'a Expr) {
        match node {
            Expr::Name(_) | Expr::Attribute(_) if self.mentions_bound(node) => {}
            Expr::Name(_) | Expr::Attribute(_) => self.host(node, Need::Possible),
            Expr::Set(set) => {
                for inner in &set.elts {
                    match self.mentions_bound(inner) {
                        true => self.expr(inner),
                        false => self.host(inner, Need::Required),
                    }
                }
            }
            Expr::Call(call) => {
                match &*call.func {
                    Expr::Name(_) => self.expr(&call.func),
                    func if !self.mentions_bound(func) => self.host(func, Need::Required),
                    _ => {}
                }
                call.arguments.args.iter().for_each(|arg| self.expr(arg));
            }
            Expr::Subscript(subscript) => {
                if let Expr::Name(name) = &*subscript.value {
                    if !self.is_bound(&name.id) && !self.mentions_bound(node) {
                        return self.host(node, Need::Possible);
                    }
                    self.expr(&subscript.value);
                }
                self.expr(&subscript.slice);
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| self.expr(item)),
            Expr::Slice(slice) => {
                [&slice.lower, &slice.upper, &slice.step].into_iter().flatten().for_each(|bound| self.expr(bound));
            }
            Expr::UnaryOp(unary) => self.expr(&unary.operand),
            Expr::BinOp(binary) => {
                self.expr(&binary.left);
                self.expr(&binary.right);
            }
            Expr::BoolOp(connective) => connective.values.iter().for_each(|value| self.expr(value)),
            Expr::Compare(compare) => {
                self.expr(&compare.left);
                compare.comparators.iter().for_each(|operand| self.expr(operand));
            }
            _ => {}
        }
    }

    /// Whether an expression mentions a name of the definition, so that the host could not evaluate it.
    fn mentions_bound(&self, node: &Expr) -> bool {
        names_in(node).iter().any(|name| self.is_bound(name))
    }
}
