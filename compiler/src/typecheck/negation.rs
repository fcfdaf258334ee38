//! `not` and `!=`, written with the comparisons that LoopIR has.

use crate::loop_ir::{BinaryOp, Const, Expr, ExprKind, Ty, build};
use crate::source::Span;

/// The opposite of a condition.
pub(crate) fn negated(condition: &Expr) -> Expr {
    let span = &condition.span;
    match &condition.kind {
        ExprKind::Const(Const::Bool(value)) => build::expr(ExprKind::Const(Const::Bool(!value)), Ty::BOOL, span),
        ExprKind::Binary { op, lhs, rhs } => match op {
            BinaryOp::And => binary(BinaryOp::Or, negated(lhs), negated(rhs), span),
            BinaryOp::Or => binary(BinaryOp::And, negated(lhs), negated(rhs), span),
            BinaryOp::Lt => binary(BinaryOp::Ge, lhs.clone(), rhs.clone(), span),
            BinaryOp::Ge => binary(BinaryOp::Lt, lhs.clone(), rhs.clone(), span),
            BinaryOp::Gt => binary(BinaryOp::Le, lhs.clone(), rhs.clone(), span),
            BinaryOp::Le => binary(BinaryOp::Gt, lhs.clone(), rhs.clone(), span),
            BinaryOp::Eq => unequal(lhs, rhs, span),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => is_false(condition, span),
        },
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::Neg(_)
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. }
        | ExprKind::ReadConfig(_) => is_false(condition, span),
    }
}

/// `lhs != rhs`. Integers differ when one is the smaller; bools and strides know no order.
pub(crate) fn unequal(lhs: &Expr, rhs: &Expr, span: &Span) -> Expr {
    if lhs.ty.is_indexable() && rhs.ty.is_indexable() {
        let below = binary(BinaryOp::Lt, lhs.clone(), rhs.clone(), span);
        return binary(BinaryOp::Or, below, binary(BinaryOp::Gt, lhs.clone(), rhs.clone(), span), span);
    }
    is_false(&binary(BinaryOp::Eq, lhs.clone(), rhs.clone(), span), span)
}

fn is_false(condition: &Expr, span: &Span) -> Expr {
    let no = build::expr(ExprKind::Const(Const::Bool(false)), Ty::BOOL, span);
    binary(BinaryOp::Eq, condition.clone(), no, span)
}

fn binary(op: BinaryOp, lhs: Expr, rhs: Expr, span: &Span) -> Expr {
    let ty = build::binary_type(op, lhs.ty, rhs.ty);
    build::expr(ExprKind::Binary { op, lhs, rhs }, ty, span)
}
