//! Literals: numbers as written and numbers captured from host code.

use ruff_python_ast::{Expr as Syntax, Number, UnaryOp};

use crate::diagnostic::codes;
use crate::loop_ir::{Const, Expr, ExprKind, Ty, build};
use crate::typecheck::checker::{Checked, Checker};

/// Where an expression stands: it decides what a literal and a name may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Subscripts, bounds, conditions, extents, asserts, control arguments: integer literals are integers.
    Control,
    /// Right sides and extern arguments: every number is a real.
    Data,
}

impl Position {
    fn number(self) -> Ty {
        match self {
            Position::Control => Ty::INT,
            Position::Data => Ty::Data,
        }
    }
}

impl Checker<'_> {
    /// A number literal, `negative` when it stands behind a minus.
    pub(crate) fn number(
        &mut self,
        value: &Number,
        negative: bool,
        node: &Syntax,
        position: Position,
    ) -> Checked<Expr> {
        match value {
            Number::Int(int) => {
                let digits = if negative { format!("-{int}") } else { int.to_string() };
                match (digits.parse::<i64>(), position) {
                    (Ok(value), _) => Ok(self.constant(Const::Int(value), node, position)),
                    (Err(_), Position::Data) => {
                        let real = digits.parse::<f64>().ok().filter(|real| real.is_finite());
                        match real {
                            Some(real) => Ok(self.constant(Const::Real(real), node, position)),
                            None => self.refuse(codes::TYPE, node, "literal is too large"),
                        }
                    }
                    (Err(_), Position::Control) => {
                        self.refuse(codes::TYPE, node, "integer literal does not fit 64 bits")
                    }
                }
            }
            Number::Float(real) if real.is_finite() => {
                let value = if negative { -real } else { *real };
                Ok(self.constant(Const::Real(value), node, position))
            }
            Number::Float(_) => self.refuse(codes::TYPE, node, "literal is too large for a double"),
            Number::Complex { .. } => self.outside(node, "a complex literal", "use real numbers"),
        }
    }

    /// A constant at a node. A real stays data even in a control position, where its use is refused.
    pub(crate) fn constant(&self, value: Const, node: &Syntax, position: Position) -> Expr {
        let ty = match value {
            Const::Int(_) => position.number(),
            Const::Real(_) => Ty::Data,
            Const::Bool(_) => Ty::BOOL,
        };
        build::expr(ExprKind::Const(value), ty, &self.span(node))
    }

    /// A number literal behind minus signs, folded; `None` for anything else.
    pub(crate) fn negative_literal(&mut self, node: &Syntax, position: Position) -> Option<Checked<Expr>> {
        let Syntax::UnaryOp(unary) = node else { return None };
        match (unary.op, &*unary.operand) {
            (UnaryOp::USub, Syntax::NumberLiteral(literal)) => Some(self.number(&literal.value, true, node, position)),
            _ => None,
        }
    }
}
