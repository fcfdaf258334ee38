//! Control expressions of LoopIR as linear forms and formulas.

use crate::analysis::formula::Formula;
use crate::analysis::linear::{Linear, Var};
use crate::loop_ir::declarations::{Alias, Declaration, Declarations};
use crate::loop_ir::{BinaryOp, Const, Expr, ExprKind, Ty};
use crate::symbol::Sym;

/// An index-like (or stride) expression; `None` where it is not quasi-affine or leaves the 64-bit range.
pub fn index(expr: &Expr, scope: &Declarations) -> Option<Linear> {
    match &expr.kind {
        ExprKind::Const(Const::Int(value)) => Some(Linear::constant(*value)),
        ExprKind::Const(Const::Bool(_) | Const::Real(_)) => None,
        ExprKind::Read { name, idx } => match expr.ty {
            Ty::Control(_) if idx.is_empty() => Some(Linear::symbol(name)),
            Ty::Control(_) | Ty::Data => None,
        },
        ExprKind::Neg(operand) => index(operand, scope)?.scale(-1),
        ExprKind::Binary { op, lhs, rhs } => {
            let (a, b) = (index(lhs, scope)?, index(rhs, scope)?);
            match op {
                BinaryOp::Add => a.add(&b),
                BinaryOp::Sub => a.sub(&b),
                BinaryOp::Mul => a.product(&b),
                BinaryOp::Div => a.quotient(b.value()?),
                BinaryOp::Mod => a.remainder(b.value()?),
                BinaryOp::Lt
                | BinaryOp::Gt
                | BinaryOp::Le
                | BinaryOp::Ge
                | BinaryOp::Eq
                | BinaryOp::And
                | BinaryOp::Or => None,
            }
        }
        ExprKind::Stride { name, dim } => stride(name, *dim, scope),
        ExprKind::ReadConfig(field) => index(&scope.config.value(field)?, scope),
        ExprKind::Extern { .. } | ExprKind::Window { .. } => None,
    }
}

/// A boolean expression.
pub fn boolean(expr: &Expr, scope: &Declarations) -> Option<Formula> {
    match &expr.kind {
        ExprKind::Const(Const::Bool(true)) => Some(Formula::True),
        ExprKind::Const(Const::Bool(false)) => Some(Formula::False),
        ExprKind::Const(Const::Int(_) | Const::Real(_)) => None,
        ExprKind::Read { name, idx } if idx.is_empty() && expr.ty == Ty::BOOL => Formula::truth(Var::Sym(name.clone())),
        ExprKind::Binary { op, lhs, rhs } => comparison(*op, lhs, rhs, scope),
        ExprKind::ReadConfig(field) => boolean(&scope.config.value(field)?, scope),
        ExprKind::Read { .. }
        | ExprKind::Neg(_)
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => None,
    }
}

fn comparison(op: BinaryOp, lhs: &Expr, rhs: &Expr, scope: &Declarations) -> Option<Formula> {
    match op {
        BinaryOp::And => Some(Formula::and(vec![boolean(lhs, scope)?, boolean(rhs, scope)?])),
        BinaryOp::Or => Some(Formula::or(vec![boolean(lhs, scope)?, boolean(rhs, scope)?])),
        BinaryOp::Eq if lhs.ty == Ty::BOOL => {
            let (a, b) = (boolean(lhs, scope)?, boolean(rhs, scope)?);
            let (not_a, not_b) = (a.negated()?, b.negated()?);
            Some(Formula::or(vec![Formula::and(vec![a, b]), Formula::and(vec![not_a, not_b])]))
        }
        BinaryOp::Eq => Formula::equal(&index(lhs, scope)?, &index(rhs, scope)?),
        BinaryOp::Lt => Formula::below(&index(lhs, scope)?, &index(rhs, scope)?),
        BinaryOp::Le => Formula::at_most(&index(lhs, scope)?, &index(rhs, scope)?),
        BinaryOp::Gt => Formula::below(&index(rhs, scope)?, &index(lhs, scope)?),
        BinaryOp::Ge => Formula::at_most(&index(rhs, scope)?, &index(lhs, scope)?),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => None,
    }
}

/// The stride of a dimension of a buffer or window, in elements.
///
/// Windows pass to the dimension of the buffer they run along. The strides of a dense buffer are products of the
/// extents to the right, as far as those products are linear; any other stride is an unknown of its own.
pub fn stride(name: &Sym, dim: usize, scope: &Declarations) -> Option<Linear> {
    alias_stride(&scope.alias(name)?, dim, scope)
}

/// The stride of a dimension of an alias.
pub fn alias_stride(alias: &Alias, dim: usize, scope: &Declarations) -> Option<Linear> {
    let dim = alias.root_dim(dim)?;
    let unknown = Linear::var(Var::Stride(alias.root.clone(), dim));
    match scope.get(&alias.root)? {
        Declaration::Buffer { ty, .. } if !ty.is_window => {
            let extents = ty.shape.get(dim + 1..)?;
            let product =
                extents.iter().try_fold(Linear::constant(1), |product, extent| product.product(&index(extent, scope)?));
            Some(product.unwrap_or(unknown))
        }
        Declaration::Buffer { .. } => Some(unknown),
        Declaration::Control(_) | Declaration::Iterator | Declaration::Window { .. } => None,
    }
}
