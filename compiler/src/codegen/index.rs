//! Control expressions as C: index arithmetic with floor division and modulus, conditions, strides.

use crate::codegen::c_tree::{CExpr, COp};
use crate::codegen::function::FunctionLowering;
use crate::codegen::literals;
use crate::codegen::unit::Helper;
use crate::loop_ir::expression::{BinaryOp, Const, Expr, ExprKind};

/// Where an index expression stands; the two print divisions differently and only subscripts are simplified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Conditions, loop bounds, arguments of calls.
    Control,
    /// Offsets of elements, starts of windows, extents of allocations.
    Subscript,
}

impl FunctionLowering<'_, '_> {
    pub fn control(&mut self, expr: &Expr) -> CExpr {
        self.index(expr, Position::Control)
    }

    pub fn subscript(&mut self, expr: &Expr) -> CExpr {
        self.index(expr, Position::Subscript)
    }

    fn index(&mut self, expr: &Expr, position: Position) -> CExpr {
        match &expr.kind {
            ExprKind::Const(Const::Int(value)) => CExpr::Int(*value),
            ExprKind::Const(Const::Bool(value)) => CExpr::Bool(*value),
            ExprKind::Read { name, idx } if idx.is_empty() => CExpr::token(self.names.get(name)),
            ExprKind::ReadConfig(field) => self.field(field),
            ExprKind::Neg(operand) => negated(self.index(operand, position)),
            ExprKind::Stride { name, dim } => match self.strides(name).into_iter().nth(*dim) {
                Some(stride) => stride,
                None => self.malformed_index(expr),
            },
            ExprKind::Binary { op, lhs, rhs } => {
                let (left, right) = (self.index(lhs, position), self.index(rhs, position));
                match op {
                    BinaryOp::Div => self.division(lhs, left, right, position),
                    BinaryOp::Mod => self.modulus(lhs, left, right, position),
                    BinaryOp::Add
                    | BinaryOp::Sub
                    | BinaryOp::Mul
                    | BinaryOp::Lt
                    | BinaryOp::Gt
                    | BinaryOp::Le
                    | BinaryOp::Ge
                    | BinaryOp::Eq
                    | BinaryOp::And
                    | BinaryOp::Or => operation(*op, left, right, position),
                }
            }
            ExprKind::Const(Const::Real(_))
            | ExprKind::Read { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Window { .. } => self.malformed_index(expr),
        }
    }

    fn malformed_index(&mut self, expr: &Expr) -> CExpr {
        self.unit.malformed("a data value in an index position", &expr.span);
        CExpr::Int(0)
    }

    /// Floor division. C truncates, so `/` is used only where the dividend is known not to be negative.
    fn division(&mut self, dividend: &Expr, left: CExpr, right: CExpr, position: Position) -> CExpr {
        if position == Position::Subscript {
            match (&left, &right) {
                (_, CExpr::Int(1)) => return left,
                (CExpr::Int(a), CExpr::Int(b)) if *b > 0 => return CExpr::Int(a.div_euclid(*b)),
                _ => {}
            }
        }
        if let Some(quotient) = literals::folded(COp::Div, &left, &right) {
            return quotient;
        }
        match (self.intervals.is_non_negative(dividend), position) {
            (true, Position::Control) => CExpr::binary(COp::Div, left.paren(), right.paren()).paren(),
            (true, Position::Subscript) => CExpr::binary(COp::Div, left, right).paren(),
            (false, _) => CExpr::call(self.unit.helper(Helper::FloorDiv), vec![operand(left, position), right]),
        }
    }

    /// The non-negative remainder that belongs to floor division.
    fn modulus(&mut self, dividend: &Expr, left: CExpr, right: CExpr, position: Position) -> CExpr {
        if position == Position::Subscript {
            match (&left, &right) {
                (_, CExpr::Int(1)) => return CExpr::Int(0),
                (CExpr::Int(a), CExpr::Int(b)) if *b > 0 => return CExpr::Int(a.rem_euclid(*b)),
                _ => {}
            }
        }
        if let Some(rest) = literals::folded(COp::Mod, &left, &right) {
            return rest;
        }
        match self.intervals.is_non_negative(dividend) {
            true => CExpr::binary(COp::Mod, left, right),
            false => CExpr::call(self.unit.helper(Helper::FloorMod), vec![operand(left, position), right]),
        }
    }
}

/// The dividend as an argument of a helper; in subscripts it keeps the parentheses it has under `/`.
fn operand(dividend: CExpr, position: Position) -> CExpr {
    match (&dividend, position) {
        (CExpr::Binary { op: COp::Add | COp::Sub, .. }, Position::Subscript) => dividend.paren(),
        _ => dividend,
    }
}

fn c_op(op: BinaryOp) -> COp {
    match op {
        BinaryOp::Add => COp::Add,
        BinaryOp::Sub => COp::Sub,
        BinaryOp::Mul => COp::Mul,
        BinaryOp::Div => COp::Div,
        BinaryOp::Mod => COp::Mod,
        BinaryOp::Lt => COp::Lt,
        BinaryOp::Gt => COp::Gt,
        BinaryOp::Le => COp::Le,
        BinaryOp::Ge => COp::Ge,
        BinaryOp::Eq => COp::Eq,
        BinaryOp::And => COp::And,
        BinaryOp::Or => COp::Or,
    }
}

fn operation(op: BinaryOp, left: CExpr, right: CExpr, position: Position) -> CExpr {
    // A comparison of a thing with itself is decided here: compilers warn about it.
    if op.is_comparison() && left == right {
        return CExpr::Bool(matches!(op, BinaryOp::Le | BinaryOp::Ge | BinaryOp::Eq));
    }
    match (op, position) {
        (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, Position::Control) => {
            literals::folded(c_op(op), &left, &right).unwrap_or_else(|| CExpr::binary(c_op(op), left, right))
        }
        (BinaryOp::Add, Position::Subscript) => sum(left, right),
        (BinaryOp::Mul, Position::Subscript) => product(left, right),
        (BinaryOp::Sub, Position::Subscript) => match (&left, &right) {
            (CExpr::Int(a), CExpr::Int(b)) if a.checked_sub(*b).is_some() => CExpr::Int(a.wrapping_sub(*b)),
            (_, CExpr::Int(0)) => left,
            _ => CExpr::binary(COp::Sub, left, right),
        },
        _ => CExpr::binary(c_op(op), left, right),
    }
}

fn negated(operand: CExpr) -> CExpr {
    match operand {
        CExpr::Neg(inner) => *inner,
        CExpr::Int(value) if value != i64::MIN => CExpr::Int(-value),
        other => CExpr::Neg(Box::new(other)),
    }
}

/// `left + right`, folded where a literal makes it trivial.
pub fn sum(left: CExpr, right: CExpr) -> CExpr {
    match (&left, &right) {
        (CExpr::Int(a), CExpr::Int(b)) if a.checked_add(*b).is_some() => CExpr::Int(a.wrapping_add(*b)),
        (CExpr::Int(0), _) => right,
        (_, CExpr::Int(0)) => left,
        _ => CExpr::binary(COp::Add, left, right),
    }
}

/// `left * right`, folded where a literal makes it trivial.
pub fn product(left: CExpr, right: CExpr) -> CExpr {
    match (&left, &right) {
        (CExpr::Int(a), CExpr::Int(b)) if a.checked_mul(*b).is_some() => CExpr::Int(a.wrapping_mul(*b)),
        (CExpr::Int(0), _) | (_, CExpr::Int(0)) => CExpr::Int(0),
        (CExpr::Int(1), _) => right,
        (_, CExpr::Int(1)) => left,
        _ => CExpr::binary(COp::Mul, left, right),
    }
}

/// `index * stride`, the factors of the stride one after the other instead of in parentheses.
pub fn chained_product(index: CExpr, stride: CExpr) -> CExpr {
    match stride {
        CExpr::Binary { op: COp::Mul, lhs, rhs } => chained_product(chained_product(index, *lhs), *rhs),
        factor => product(index, factor),
    }
}
