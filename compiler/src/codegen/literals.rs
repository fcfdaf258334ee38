//! Arithmetic on literals alone. C does it in `int`, whatever the type of what comes of it is compared with or stored in, and no
//! machine has to have more than 16 bits in one; so what may leave them is worked out here. A decimal literal has a type that holds it.

use crate::codegen::c_tree::{CExpr, COp};

/// The largest `int` of every machine.
const LARGEST_INT: u64 = i16::MAX as u64;

/// The literal that `lhs op rhs` stands for where both are literals and C may not compute it; `None` where C does it as well. What leaves
/// 64 bits is refused before it comes here (see `magnitude`).
pub fn folded(op: COp, lhs: &CExpr, rhs: &CExpr) -> Option<CExpr> {
    let (left, right) = (value(lhs)?, value(rhs)?);
    let result = apply(op, left, right)?;
    let is_safe = [left, right, result].iter().all(|value| value.unsigned_abs() <= LARGEST_INT);
    (!is_safe).then_some(CExpr::Int(result))
}

/// `lhs * rhs`, worked out where C may not compute it.
pub fn product(lhs: CExpr, rhs: CExpr) -> CExpr {
    folded(COp::Mul, &lhs, &rhs).unwrap_or_else(|| CExpr::binary(COp::Mul, lhs, rhs))
}

/// The value of an expression of literals alone.
fn value(expr: &CExpr) -> Option<i64> {
    match expr {
        CExpr::Int(value) => Some(*value),
        CExpr::Paren(inner) => value(inner),
        CExpr::Neg(operand) => value(operand)?.checked_neg(),
        CExpr::Binary { op, lhs, rhs } => apply(*op, value(lhs)?, value(rhs)?),
        CExpr::Bool(_)
        | CExpr::Token(_)
        | CExpr::Raw(_)
        | CExpr::Deref(_)
        | CExpr::AddressOf(_)
        | CExpr::Cast { .. }
        | CExpr::Index { .. }
        | CExpr::Member { .. }
        | CExpr::Call { .. }
        | CExpr::WindowLiteral { .. } => None,
    }
}

/// Division is that of the language, which rounds down; C's stands in a tree only where that is the same.
fn apply(op: COp, lhs: i64, rhs: i64) -> Option<i64> {
    match op {
        COp::Add => lhs.checked_add(rhs),
        COp::Sub => lhs.checked_sub(rhs),
        COp::Mul => lhs.checked_mul(rhs),
        COp::Div if rhs > 0 => Some(lhs.div_euclid(rhs)),
        COp::Mod if rhs > 0 => Some(lhs.rem_euclid(rhs)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_any_machine_computes_stays_as_it_is_written_and_all_else_is_worked_out() {
        let int = CExpr::Int;
        let text = |expr: Option<CExpr>| expr.map(|expr| expr.text());
        assert_eq!(folded(COp::Mul, &int(100), &int(200)), None);
        assert_eq!(text(folded(COp::Mul, &int(256), &int(128))).as_deref(), Some("32768"));
        assert_eq!(text(folded(COp::Mul, &int(65536), &int(-65536))).as_deref(), Some("-4294967296"));
        let difference = CExpr::binary(COp::Sub, int(20_000), int(-10_000)).paren();
        assert_eq!(text(folded(COp::Add, &difference, &int(30_000))).as_deref(), Some("60000"));
        assert_eq!(text(folded(COp::Div, &int(2_147_483_650), &int(4))).as_deref(), Some("536870912"));
        assert_eq!(folded(COp::Mul, &int(65536), &CExpr::token("n")), None);
        assert_eq!(folded(COp::Lt, &int(65536), &int(65537)), None);
    }
}
