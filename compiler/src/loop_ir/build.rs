//! Constructors for nodes, and the index arithmetic that rewrites need.

use std::sync::Arc;

use crate::hardware::config::ConfigField;
use crate::loop_ir::configuration;
use crate::loop_ir::expression::{Access, BinaryOp, Const, Expr, ExprKind, ExprNode};
use crate::loop_ir::statement::{Stmt, StmtKind, StmtNode};
use crate::loop_ir::types::{Control, Ty};
use crate::source::Span;
use crate::symbol::Sym;

pub fn expr(kind: ExprKind, ty: Ty, span: &Span) -> Expr {
    let reads_config = match &kind {
        ExprKind::ReadConfig(_) => true,
        ExprKind::Const(_) | ExprKind::Stride { .. } => false,
        ExprKind::Read { idx, .. } => idx.iter().any(|index| index.reads_config),
        ExprKind::Neg(operand) => operand.reads_config,
        ExprKind::Binary { lhs, rhs, .. } => lhs.reads_config || rhs.reads_config,
        ExprKind::Extern { args, .. } => args.iter().any(|arg| arg.reads_config),
        ExprKind::Window { idx, .. } => idx.iter().any(|access| match access {
            Access::Point(point) => point.reads_config,
            Access::Interval { lo, hi } => lo.reads_config || hi.reads_config,
        }),
    };
    Arc::new(ExprNode { kind, ty, span: span.clone(), reads_config })
}

pub fn stmt(kind: StmtKind, span: &Span) -> Stmt {
    let config = configuration::use_of(&kind);
    Arc::new(StmtNode::new(kind, span.clone(), config))
}

/// The value that a configuration field has now.
pub fn read_config(field: &ConfigField) -> Expr {
    expr(ExprKind::ReadConfig(field.clone()), configuration::ty(field), &Span::none())
}

/// An integer literal in an index position.
pub fn int(value: i64) -> Expr {
    expr(ExprKind::Const(Const::Int(value)), Ty::INT, &Span::none())
}

/// A real literal.
pub fn real(value: f64) -> Expr {
    expr(ExprKind::Const(Const::Real(value)), Ty::Data, &Span::none())
}

pub fn boolean(value: bool) -> Expr {
    expr(ExprKind::Const(Const::Bool(value)), Ty::BOOL, &Span::none())
}

/// A read of a control variable of type `index`.
pub fn index(name: &Sym) -> Expr {
    control(name, Control::Index)
}

/// A read of a control variable.
pub fn control(name: &Sym, ty: Control) -> Expr {
    expr(ExprKind::Read { name: name.clone(), idx: Vec::new() }, Ty::Control(ty), &Span::none())
}

/// A read of one element of a buffer, or of a scalar.
pub fn element(name: &Sym, idx: Vec<Expr>) -> Expr {
    expr(ExprKind::Read { name: name.clone(), idx }, Ty::Data, &Span::none())
}

pub fn window(name: &Sym, idx: Vec<Access>) -> Expr {
    expr(ExprKind::Window { name: name.clone(), idx }, Ty::Data, &Span::none())
}

/// The stride of a dimension of a buffer.
pub fn stride(name: &Sym, dim: usize) -> Expr {
    expr(ExprKind::Stride { name: name.clone(), dim }, Ty::STRIDE, &Span::none())
}

/// A binary operation, typed by its operands (spec/01, 1.4).
pub fn binary(op: BinaryOp, lhs: Expr, rhs: Expr) -> Expr {
    let ty = binary_type(op, lhs.ty, rhs.ty);
    let span = lhs.span.clone();
    expr(ExprKind::Binary { op, lhs, rhs }, ty, &span)
}

/// The type of an operation on operands that were checked to fit it.
pub fn binary_type(op: BinaryOp, lhs: Ty, rhs: Ty) -> Ty {
    match op {
        BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::And | BinaryOp::Or => {
            Ty::BOOL
        }
        BinaryOp::Div | BinaryOp::Mod => lhs,
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => match (lhs, rhs) {
            (Ty::Data, _) | (_, Ty::Data) => Ty::Data,
            (Ty::INT, other) | (other, Ty::INT) => other,
            (Ty::SIZE, Ty::SIZE) => Ty::SIZE,
            (Ty::Control(_), Ty::Control(_)) => Ty::INDEX,
        },
    }
}

/// Negation; that of a literal is the negative literal, as in source text.
///
/// The least value of an integer precision stays under its negation: `-(-128)` is a value of `i8`, as arithmetic wraps,
/// and `128` is none.
pub fn neg(operand: Expr) -> Expr {
    let folded = match &operand.kind {
        ExprKind::Const(Const::Int(value)) if operand.ty == Ty::Data && is_least(*value as f64) => None,
        ExprKind::Const(Const::Real(value)) if is_least(*value) => None,
        ExprKind::Const(Const::Int(value)) => value.checked_neg().map(Const::Int),
        ExprKind::Const(Const::Real(value)) => Some(Const::Real(-value)),
        _ => None,
    };
    if let Some(value) = folded {
        return expr(ExprKind::Const(value), operand.ty, &operand.span);
    }
    let (ty, span) = (operand.ty, operand.span.clone());
    expr(ExprKind::Neg(operand), ty, &span)
}

/// Whether a literal is the least value of a signed integer precision.
fn is_least(value: f64) -> bool {
    [f64::from(i8::MIN), f64::from(i16::MIN), f64::from(i32::MIN), i64::MIN as f64].contains(&value)
}

pub fn add(lhs: Expr, rhs: Expr) -> Expr {
    binary(BinaryOp::Add, lhs, rhs)
}

pub fn sub(lhs: Expr, rhs: Expr) -> Expr {
    binary(BinaryOp::Sub, lhs, rhs)
}

pub fn mul(lhs: Expr, rhs: Expr) -> Expr {
    binary(BinaryOp::Mul, lhs, rhs)
}

/// Floor division of an index by a positive literal.
pub fn div(lhs: Expr, divisor: i64) -> Expr {
    binary(BinaryOp::Div, lhs, int(divisor))
}

/// Floor modulus of an index by a positive literal.
pub fn modulo(lhs: Expr, divisor: i64) -> Expr {
    binary(BinaryOp::Mod, lhs, int(divisor))
}

pub fn less(lhs: Expr, rhs: Expr) -> Expr {
    binary(BinaryOp::Lt, lhs, rhs)
}

pub fn and(lhs: Expr, rhs: Expr) -> Expr {
    binary(BinaryOp::And, lhs, rhs)
}

/// The value of an integer literal, through unary minus.
pub fn int_value(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Const(Const::Int(value)) => Some(*value),
        ExprKind::Neg(inner) => int_value(inner).and_then(i64::checked_neg),
        ExprKind::Const(Const::Real(_) | Const::Bool(_))
        | ExprKind::Read { .. }
        | ExprKind::ReadConfig(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => None,
    }
}

/// `lhs - rhs`, without subtracting a literal zero.
pub fn difference(lhs: &Expr, rhs: &Expr) -> Expr {
    match int_value(rhs) {
        Some(0) => lhs.clone(),
        _ => sub(lhs.clone(), rhs.clone()),
    }
}

/// `lhs + rhs`, without adding a literal zero.
pub fn sum(lhs: &Expr, rhs: &Expr) -> Expr {
    match (int_value(lhs), int_value(rhs)) {
        (Some(0), _) => rhs.clone(),
        (_, Some(0)) => lhs.clone(),
        _ => add(lhs.clone(), rhs.clone()),
    }
}

pub fn pass() -> Stmt {
    stmt(StmtKind::Pass, &Span::none())
}
