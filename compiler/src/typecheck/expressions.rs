//! Typing of expressions: names, arithmetic, comparisons, externs, strides.

use ruff_python_ast::{
    BoolOp, CmpOp, Expr as Syntax, ExprBinOp, ExprBoolOp, ExprCall, ExprCompare, ExprName, ExprUnaryOp, Operator,
    UnaryOp,
};
use ruff_text_size::Ranged;

use crate::diagnostic::{Diagnostic, codes, counted};
use crate::hardware::config::Config;
use crate::hardware::extern_function::ExternFunction;
use crate::loop_ir::{BinaryOp, Const, Control, Expr, ExprKind, Ty, build};
use crate::typecheck::captures::HostValue;
use crate::typecheck::checker::{Checked, Checker, Reported};
use crate::typecheck::literal::Position;
use crate::typecheck::negation::{negated, unequal};
use crate::typecheck::remedies;
use crate::typecheck::scope::{Binding, Meaning};

/// Nesting that one definition may have; deeper trees would overflow the stack of recursive walks.
pub(crate) const MAX_DEPTH: usize = 200;

impl Checker<'_> {
    /// An expression of any kind; windows and whole buffers included.
    pub(crate) fn expression(&mut self, node: &Syntax, position: Position) -> Checked<Expr> {
        if self.depth >= MAX_DEPTH {
            return self.refuse_hint(
                codes::OBJECT_SYNTAX,
                node,
                format!("more than {MAX_DEPTH} levels of nesting"),
                "split the expression over several statements",
            );
        }
        if self.budget == 0 {
            return self.refuse_hint(
                codes::OBJECT_SYNTAX,
                node,
                "the quoted code becomes too large",
                "assign parts of it to scalars, and quote those",
            );
        }
        self.budget -= 1;
        self.depth += 1;
        let result = self.expression_below(node, position);
        self.depth -= 1;
        result
    }

    fn expression_below(&mut self, node: &Syntax, position: Position) -> Checked<Expr> {
        if let Some(literal) = self.negative_literal(node, position) {
            return literal;
        }
        match node {
            Syntax::Name(name) => self.name(name, node, position),
            Syntax::Subscript(subscript) => self.access(subscript, node, position),
            Syntax::NumberLiteral(literal) => self.number(&literal.value, false, node, position),
            Syntax::BooleanLiteral(literal) => Ok(self.constant(Const::Bool(literal.value), node, position)),
            Syntax::UnaryOp(unary) => self.unary(unary, node, position),
            Syntax::BinOp(binary) => self.arithmetic(binary, node, position),
            Syntax::BoolOp(connective) => self.connective(connective, node),
            Syntax::Compare(compare) => self.compare(compare, node),
            Syntax::Call(call) => self.call_expression(call, node),
            Syntax::Attribute(_) => self.host_constant(node, node, position),
            Syntax::Set(set) => self.braces(set, node, position),
            Syntax::If(_) => self.outside(node, "a conditional expression", "use an `if` statement or `select`"),
            Syntax::Slice(_) => self.refuse(codes::TYPE, node, "a slice stands only inside brackets"),
            _ => self.outside(node, "this expression", "use numbers, names, accesses, arithmetic and calls of externs"),
        }
    }

    /// An expression that is one data value.
    pub(crate) fn scalar(&mut self, node: &Syntax) -> Checked<Expr> {
        let value = self.expression(node, Position::Data)?;
        self.demand_scalar(value, node)
    }

    fn demand_scalar(&mut self, value: Expr, node: &Syntax) -> Checked<Expr> {
        match value.ty {
            Ty::Control(control) => self.refuse_hint(
                codes::TYPE,
                node,
                format!("expected data, found a control value of type `{}`", control.word()),
                "control values cannot be stored in buffers",
            ),
            Ty::Data => match (self.rank(&value), &value.kind) {
                (0, _) => Ok(value),
                (_, ExprKind::Window { .. }) => self.refuse_hint(
                    codes::TYPE,
                    node,
                    "a window is not a data value",
                    "a window may be named (`w = x[a:b]`) or passed to a proc",
                ),
                (rank, _) => self.refuse_hint(
                    codes::TYPE,
                    node,
                    format!("expected one element, found a buffer of {}", counted(rank, "dimension")),
                    "give one index for each dimension",
                ),
            },
        }
    }

    /// An integer expression: index, extent, bound.
    pub(crate) fn index(&mut self, node: &Syntax) -> Checked<Expr> {
        let value = self.expression(node, Position::Control)?;
        match value.ty {
            ty if ty.is_indexable() => Ok(value),
            Ty::Data => self.refuse_hint(
                codes::TYPE,
                node,
                "expected an index, found data",
                "data never decides where something is; use loop iterators, sizes and integer literals",
            ),
            Ty::Control(control) => {
                self.refuse(codes::TYPE, node, format!("expected an index, found a `{}`", control.word()))
            }
        }
    }

    /// A condition: of an `if` or an `assert`.
    pub(crate) fn condition(&mut self, node: &Syntax) -> Checked<Expr> {
        let value = self.expression(node, Position::Control)?;
        self.demand_bool(value, node)
    }

    fn demand_bool(&mut self, value: Expr, node: &Syntax) -> Checked<Expr> {
        match value.ty {
            Ty::BOOL => Ok(value),
            Ty::Control(control) => self.refuse(
                codes::TYPE,
                node,
                format!("expected a condition, found a value of type `{}`", control.word()),
            ),
            Ty::Data => self.refuse(codes::TYPE, node, "expected a condition, found data"),
        }
    }

    /// Number of dimensions of a data expression.
    pub(crate) fn rank(&self, value: &Expr) -> usize {
        match &value.kind {
            ExprKind::Read { name, idx } if idx.is_empty() => self.scope.shape(name).map_or(0, <[Expr]>::len),
            ExprKind::Window { idx, .. } => crate::loop_ir::declarations::window_shape(idx).len(),
            ExprKind::Read { .. }
            | ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => 0,
        }
    }

    fn name(&mut self, name: &ExprName, node: &Syntax, position: Position) -> Checked<Expr> {
        if name.id.as_str() == "_" {
            return self.hole(node);
        }
        match self.scope.get(&name.id).cloned() {
            Some(binding) => self.read_of(binding, node),
            None => self.host_constant(node, node, position),
        }
    }

    /// A read of a bare name.
    pub(crate) fn read_of(&mut self, binding: Binding, node: &Syntax) -> Checked<Expr> {
        let ty = match binding.meaning {
            Meaning::Control(control) => Ty::Control(control),
            Meaning::Data { .. } => Ty::Data,
            Meaning::Broken => return Err(Reported),
        };
        Ok(build::expr(ExprKind::Read { name: binding.symbol, idx: Vec::new() }, ty, &self.span(node)))
    }

    fn hole(&mut self, node: &Syntax) -> Checked<Expr> {
        match self.holes.pop_front() {
            Some(part) => Ok(part),
            None => self.refuse_hint(
                codes::PATTERN,
                node,
                "a hole `_` without an expression for it",
                "holes stand in patterns; `FormattedExprStr(text, cursor, ...)` fills them",
            ),
        }
    }

    /// A value of the host code; `inner` is the host expression, `node` what stands for it.
    pub(crate) fn host_constant(&mut self, inner: &Syntax, node: &Syntax, position: Position) -> Checked<Expr> {
        match self.captures.get(self.text(inner)) {
            Some(value) => self.host_expression(&value, inner, node, position),
            // What prints for an infinite literal.
            None if self.text(inner) == "inf" => Ok(self.constant(Const::Real(f64::INFINITY), node, position)),
            None => self.undefined(inner, node),
        }
    }

    /// Records that a name has no meaning.
    pub(crate) fn undefined<T>(&mut self, inner: &Syntax, node: &Syntax) -> Checked<T> {
        let text = self.text(inner);
        if let Syntax::Attribute(attribute) = inner {
            let root = self.text(&*attribute.value);
            if self.scope.get(root).is_some() {
                return self.refuse(codes::TYPE, node, format!("`{root}` has no fields"));
            }
            if let Some(HostValue::Config(config)) = self.captures.get(root) {
                let message = format!("the config `{root}` has no field `{}`", attribute.attr);
                return self.refuse_hint(
                    codes::UNDEFINED_NAME,
                    node,
                    message,
                    format!("it has {}", fields_of(&config)),
                );
            }
            return self.refuse_hint(
                codes::UNDEFINED_NAME,
                node,
                format!("`{text}` is neither a number of the host code nor a field of a config"),
                "fields of configs are read as `Config.field`",
            );
        }
        let mut diagnostic = Diagnostic::error(codes::UNDEFINED_NAME, format!("`{text}` is not defined"))
            .at(&self.span(node), "not found in this proc or in the host code around it");
        if self.defining.as_deref() == Some(text) {
            let message = format!("`{text}` cannot call itself: a proc has no recursion");
            let diagnostic =
                Diagnostic::error(codes::CALL, message).at(&self.span(node), "inside of its own definition");
            return Err(self.report(diagnostic.hint("write a loop; a proc may call procs that are defined before it")));
        }
        if let Some(remedy) = remedies::of(text) {
            diagnostic = diagnostic.hint(remedy);
        } else if let Some(similar) = self.scope.similar(text) {
            diagnostic = diagnostic.hint(format!("there is a similar name: `{similar}`"));
        }
        Err(self.report(diagnostic))
    }

    fn unary(&mut self, unary: &ExprUnaryOp, node: &Syntax, position: Position) -> Checked<Expr> {
        match unary.op {
            UnaryOp::USub => {}
            UnaryOp::Not => {
                let condition = self.condition(&unary.operand)?;
                return Ok(negated(&condition));
            }
            UnaryOp::UAdd => return self.outside(node, "unary `+`", "leave it out"),
            UnaryOp::Invert => return self.outside(node, "`~`", "there are no bit operations"),
        }
        let operand = self.expression(&unary.operand, position)?;
        let operand = match operand.ty {
            Ty::Data => self.demand_scalar(operand, &unary.operand)?,
            ty if ty.is_indexable() => operand,
            Ty::Control(control) => {
                return self.refuse(codes::TYPE, node, format!("a `{}` cannot be negated", control.word()));
            }
        };
        let negated = build::neg(operand);
        Ok(build::expr(negated.kind.clone(), negated.ty, &self.span(node)))
    }

    fn arithmetic(&mut self, binary: &ExprBinOp, node: &Syntax, position: Position) -> Checked<Expr> {
        let op = match binary.op {
            Operator::Add => BinaryOp::Add,
            Operator::Sub => BinaryOp::Sub,
            Operator::Mult => BinaryOp::Mul,
            Operator::Div => BinaryOp::Div,
            Operator::Mod => BinaryOp::Mod,
            Operator::FloorDiv => return self.outside(node, "`//`", "`/` on indices is floor division"),
            Operator::Pow => return self.outside(node, "`**`", "multiply"),
            Operator::MatMult => return self.outside(node, "`@` in an expression", "`@` gives a buffer its memory"),
            Operator::LShift | Operator::RShift | Operator::BitOr | Operator::BitXor | Operator::BitAnd => {
                return self.outside(node, "a bit operation", "use arithmetic");
            }
        };
        let lhs = self.expression(&binary.left, position);
        let rhs = self.expression(&binary.right, position);
        let (lhs, rhs) = (lhs?, rhs?);
        match (lhs.ty, rhs.ty) {
            (Ty::Data, Ty::Data) => {
                let lhs = self.demand_scalar(lhs, &binary.left);
                let rhs = self.demand_scalar(rhs, &binary.right);
                let (lhs, rhs) = (lhs?, rhs?);
                if op == BinaryOp::Mod {
                    return self.refuse(codes::TYPE, node, "`%` works on indices only");
                }
                Ok(self.binary(op, lhs, rhs, node))
            }
            (Ty::Data, Ty::Control(_)) | (Ty::Control(_), Ty::Data) => self.refuse_hint(
                codes::TYPE,
                node,
                "data and control values do not mix in one expression",
                "sizes and iterators cannot be used as data, nor data as an index",
            ),
            (left, right) if left.is_indexable() && right.is_indexable() => self.affine(op, lhs, rhs, binary, node),
            (Ty::Control(left), Ty::Control(right)) => {
                let word = if left.is_indexable() { right.word() } else { left.word() };
                self.refuse(codes::TYPE, node, format!("there is no arithmetic on a `{word}`"))
            }
        }
    }

    /// Index arithmetic stays quasi-affine (spec/01, 1.4).
    fn affine(&mut self, op: BinaryOp, lhs: Expr, rhs: Expr, binary: &ExprBinOp, node: &Syntax) -> Checked<Expr> {
        match op {
            BinaryOp::Mul if lhs.ty != Ty::INT && rhs.ty != Ty::INT => self.refuse_hint(
                codes::TYPE,
                node,
                "the product of two variables is not affine",
                "one factor must be an integer literal or a number of the host code",
            ),
            BinaryOp::Div | BinaryOp::Mod => match &rhs.kind {
                ExprKind::Const(Const::Int(value)) if *value > 0 => Ok(self.binary(op, lhs, rhs, node)),
                _ => self.refuse_hint(
                    codes::TYPE,
                    &*binary.right,
                    format!("the right side of `{}` on indices must be a positive integer literal", op.text()),
                    "a number of the host code counts as a literal",
                ),
            },
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Lt
            | BinaryOp::Gt
            | BinaryOp::Le
            | BinaryOp::Ge
            | BinaryOp::Eq
            | BinaryOp::And
            | BinaryOp::Or => Ok(self.binary(op, lhs, rhs, node)),
        }
    }

    fn binary(&self, op: BinaryOp, lhs: Expr, rhs: Expr, node: &impl Ranged) -> Expr {
        let ty = build::binary_type(op, lhs.ty, rhs.ty);
        build::expr(ExprKind::Binary { op, lhs, rhs }, ty, &self.span(node))
    }

    fn connective(&mut self, connective: &ExprBoolOp, node: &Syntax) -> Checked<Expr> {
        let op = match connective.op {
            BoolOp::And => BinaryOp::And,
            BoolOp::Or => BinaryOp::Or,
        };
        self.chain_fits(connective.values.len(), node)?;
        let operands: Vec<Checked<Expr>> = connective.values.iter().map(|value| self.condition(value)).collect();
        let mut operands = operands.into_iter();
        let first = operands.next().unwrap_or(Err(Reported))?;
        operands.try_fold(first, |lhs, rhs| Ok(self.binary(op, lhs, rhs?, node)))
    }

    /// A chain without parentheses nests as deeply as it is long.
    fn chain_fits(&mut self, operands: usize, node: &Syntax) -> Checked<()> {
        if self.depth + operands <= MAX_DEPTH {
            return Ok(());
        }
        self.refuse_hint(
            codes::OBJECT_SYNTAX,
            node,
            format!("more than {MAX_DEPTH} levels of nesting"),
            "nest `if` statements, or write several asserts",
        )
    }

    /// `a < b <= c` means `a < b and b <= c`.
    fn compare(&mut self, compare: &ExprCompare, node: &Syntax) -> Checked<Expr> {
        self.chain_fits(2 * compare.ops.len(), node)?;
        let left = self.expression(&compare.left, Position::Control);
        let rest: Vec<Checked<Expr>> =
            compare.comparators.iter().map(|operand| self.expression(operand, Position::Control)).collect();
        let mut left = left?;
        let mut whole: Option<Expr> = None;
        for (op, right) in compare.ops.iter().zip(rest) {
            let right = right?;
            let link = self.comparison(*op, left, right.clone(), node)?;
            whole = Some(match whole {
                Some(before) => self.binary(BinaryOp::And, before, link, node),
                None => link,
            });
            left = right;
        }
        whole.ok_or(Reported)
    }

    fn comparison(&mut self, op: CmpOp, lhs: Expr, rhs: Expr, node: &Syntax) -> Checked<Expr> {
        let op = match op {
            CmpOp::Eq => BinaryOp::Eq,
            CmpOp::Lt => BinaryOp::Lt,
            CmpOp::LtE => BinaryOp::Le,
            CmpOp::Gt => BinaryOp::Gt,
            CmpOp::GtE => BinaryOp::Ge,
            CmpOp::NotEq => {
                let equal = self.comparison(CmpOp::Eq, lhs.clone(), rhs.clone(), node)?;
                return Ok(unequal(&lhs, &rhs, &equal.span));
            }
            CmpOp::Is | CmpOp::IsNot => return self.outside(node, "`is`", "use `==`"),
            CmpOp::In | CmpOp::NotIn => return self.outside(node, "`in`", "compare with `<` and `<=`"),
        };
        let fits = match (lhs.ty, rhs.ty) {
            (left, right) if left.is_indexable() && right.is_indexable() => true,
            (Ty::BOOL, Ty::BOOL) => op == BinaryOp::Eq,
            (Ty::STRIDE, Ty::STRIDE | Ty::INT) | (Ty::INT, Ty::STRIDE) => op == BinaryOp::Eq,
            (Ty::Data, _) | (_, Ty::Data) => {
                return self.refuse_hint(
                    codes::TYPE,
                    node,
                    "data cannot be compared",
                    "data never decides control; `select(x, v, y, z)` chooses between data values",
                );
            }
            (Ty::Control(_), Ty::Control(_)) => false,
        };
        if fits {
            return Ok(self.binary(op, lhs, rhs, node));
        }
        let word = |ty: Ty| match ty {
            Ty::Control(control) => control.word(),
            Ty::Data => "data",
        };
        let message = format!("`{}` does not compare `{}` with `{}`", op.text(), word(lhs.ty), word(rhs.ty));
        self.refuse(codes::TYPE, node, message)
    }

    fn call_expression(&mut self, call: &ExprCall, node: &Syntax) -> Checked<Expr> {
        let text = self.text(&*call.func);
        if self.lookup(text).is_some() {
            return self.refuse(codes::CALL, &*call.func, format!("`{text}` is a variable here, not a function"));
        }
        match self.captures.get(text) {
            Some(HostValue::Extern(function)) => self.extern_call(&function, call, node),
            _ if text == "stride" => self.stride(call, node),
            Some(HostValue::Proc(_)) => self.refuse_hint(
                codes::CALL,
                node,
                format!("the proc `{text}` gives no value"),
                "call a proc as a statement and pass the buffer that it writes",
            ),
            Some(
                other @ (HostValue::Int(_)
                | HostValue::Float(_)
                | HostValue::Bool(_)
                | HostValue::Precision(_)
                | HostValue::Memory(_)
                | HostValue::Config(_)
                | HostValue::ConfigField(_)
                | HostValue::Text(_)
                | HostValue::Symbol(_)
                | HostValue::Expression(_)
                | HostValue::Statements(_)
                | HostValue::Slice(..)
                | HostValue::Tuple(_)
                | HostValue::Other(_)),
            ) => self.refuse_hint(
                codes::CALL,
                &*call.func,
                format!("`{text}` is {}, not an extern", other.describe()),
                remedies::of(text).unwrap_or("only externs (`sin`, `relu`, ...) may be called in an expression"),
            ),
            None => self.undefined(&call.func, &call.func),
        }
    }

    fn extern_call(&mut self, function: &ExternFunction, call: &ExprCall, node: &Syntax) -> Checked<Expr> {
        if let Some(keyword) = call.arguments.keywords.first() {
            return self.refuse(codes::CALL, keyword, "arguments of externs are positional");
        }
        let args: Vec<Checked<Expr>> = call.arguments.args.iter().map(|arg| self.scalar(arg)).collect();
        if let Some(arity) = function.arity.filter(|arity| *arity != args.len()) {
            let message = format!("`{}` takes {}, {} given", function.name, counted(arity, "argument"), args.len());
            return self.refuse(codes::CALL, node, message);
        }
        let args = args.into_iter().collect::<Checked<Vec<Expr>>>()?;
        Ok(build::expr(ExprKind::Extern { function: function.clone(), args }, Ty::Data, &self.span(node)))
    }

    fn stride(&mut self, call: &ExprCall, node: &Syntax) -> Checked<Expr> {
        let (Some(Syntax::Name(name)), Some(dim), 2, true) = (
            call.arguments.args.first(),
            call.arguments.args.get(1),
            call.arguments.args.len(),
            call.arguments.keywords.is_empty(),
        ) else {
            return self.refuse_hint(
                codes::OBJECT_SYNTAX,
                node,
                "malformed `stride`",
                "write `stride(buffer, dimension)` with a literal dimension",
            );
        };
        let dim_value = self.expression(dim, Position::Control)?;
        let Some(binding) = self.lookup(&name.id) else {
            return self.undefined(&Syntax::Name(name.clone()), name_node(call));
        };
        let rank = match binding.meaning {
            Meaning::Data { shape } => shape.len(),
            Meaning::Control(control) => return self.not_a_buffer(&name.id, control, node),
            Meaning::Broken => return Err(Reported),
        };
        match &dim_value.kind {
            ExprKind::Const(Const::Int(value)) if usize::try_from(*value).is_ok_and(|dim| dim < rank) => {
                let dim = usize::try_from(*value).unwrap_or(0);
                Ok(build::expr(ExprKind::Stride { name: binding.symbol, dim }, Ty::STRIDE, &self.span(node)))
            }
            ExprKind::Const(Const::Int(value)) => self.refuse(
                codes::TYPE,
                dim,
                format!("`{}` has {}, there is no dimension {value}", name.id, counted(rank, "dimension")),
            ),
            _ => self.refuse(codes::TYPE, dim, "the dimension of a stride must be an integer literal"),
        }
    }

    pub(crate) fn not_a_buffer<T>(&mut self, name: &str, control: Control, node: &impl Ranged) -> Checked<T> {
        self.refuse(codes::TYPE, node, format!("`{name}` has type `{}`, it is not a buffer", control.word()))
    }
}

/// The fields of a config, for hints.
pub(crate) fn fields_of(config: &Config) -> String {
    config.fields().iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")
}

/// The first argument of a call, or the call's function where there is none.
fn name_node(call: &ExprCall) -> &Syntax {
    call.arguments.args.first().unwrap_or(&call.func)
}
