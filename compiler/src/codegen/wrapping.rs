//! Integer data wraps around, as the interpreter says; in C only unsigned arithmetic does, so that is what is written.

use crate::codegen::c_tree::{CExpr, COp};
use crate::hardware::precision::Precision;

/// The unsigned type that arithmetic at a precision is done in, and the signed type of its result. C computes narrow
/// integers as `int`. `None` where plain arithmetic is right already.
fn types(precision: Precision) -> Option<(&'static str, &'static str)> {
    match precision {
        Precision::I8 | Precision::I16 | Precision::I32 | Precision::Ui8 | Precision::Ui16 => {
            Some(("uint32_t", "int32_t"))
        }
        Precision::I64 => Some(("uint64_t", "int64_t")),
        Precision::Ui32 | Precision::R | Precision::F16 | Precision::F32 | Precision::F64 | Precision::Bf16 => None,
    }
}

/// `lhs op rhs` at a precision.
pub fn binary(op: COp, lhs: CExpr, rhs: CExpr, precision: Precision) -> CExpr {
    match (types(precision), op) {
        // The other operand is converted to the type of this one.
        (Some((unsigned, signed)), COp::Add | COp::Sub | COp::Mul) => {
            CExpr::binary(op, lhs.paren().cast(unsigned), rhs).paren().cast(signed)
        }
        (Some(_) | None, _) => CExpr::binary(op, lhs, rhs),
    }
}

/// `-operand` at a precision.
pub fn negated(operand: CExpr, precision: Precision) -> CExpr {
    match types(precision) {
        Some((unsigned, signed)) => CExpr::Neg(Box::new(operand.paren().cast(unsigned))).paren().cast(signed),
        None => CExpr::Neg(Box::new(operand)),
    }
}

/// What stands behind the `+=` of a reduction.
pub fn addend(value: CExpr, precision: Precision) -> CExpr {
    match types(precision) {
        Some((unsigned, _)) => value.paren().cast(unsigned),
        None => value,
    }
}
