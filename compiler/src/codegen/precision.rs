//! Precision analysis: one precision for each right side; literals take it, and nothing else converts.

use crate::codegen::problems::Problems;
use crate::diagnostic::{Diagnostic, codes};
use crate::hardware::precision::Precision;
use crate::loop_ir::computation::{disagreement, of_rhs, visit_data};
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::expression::{Const, Expr, ExprKind};

/// Checks that everything that `rhs` reads has one precision and that its literals are values of that precision.
pub fn check_rhs(rhs: &Expr, target: Precision, declarations: &Declarations, errors: &mut Problems) {
    if let Some(((first, a), (second, b))) = disagreement(rhs, declarations) {
        errors.push(
            Diagnostic::error(
                codes::PRECISION,
                format!("operands of precisions `{}` and `{}` meet in one expression", a.word(), b.word()),
            )
            .at(&second.span, format!("this is `{}`", b.word()))
            .label(&first.span, format!("this is `{}`", a.word()))
            .hint("assign one of them to a buffer of the other precision first; only an assignment converts"),
        );
        return;
    }
    check_literals(rhs, of_rhs(rhs, target, declarations), errors);
}

fn check_literals(rhs: &Expr, precision: Precision, errors: &mut Problems) {
    visit_data(rhs, &mut |expr| {
        if let ExprKind::Const(value) = &expr.kind
            && let Some(reason) = unrepresentable(value, precision)
        {
            errors.push(
                Diagnostic::error(codes::PRECISION, format!("the literal {reason} `{}`", precision.word()))
                    .at(&expr.span, "literal")
                    .hint("write a value of that precision, or compute in a buffer of another precision"),
            );
        }
    });
}

/// Why a literal has no defined value at a precision. Floating literals round to the nearest value, so only overflow is
/// refused there; integers take exact values only.
fn unrepresentable(value: &Const, precision: Precision) -> Option<String> {
    let real = match value {
        Const::Bool(_) => return None,
        Const::Int(value) => return int_misfit(i128::from(*value), precision),
        Const::Real(value) => *value,
    };
    match float_limit(precision) {
        // What rounds to the largest value is not too large.
        Some(_) if precision.concrete() == Precision::F32 && (real as f32).is_finite() => None,
        Some(limit) => (real.is_finite() && real.abs() > limit).then(|| format!("{real:?} is too large for")),
        None if real.is_finite() && real.fract() == 0.0 && real.abs() < 1e30 => int_misfit(real as i128, precision),
        None => Some(format!("{real:?} is not a value of")),
    }
}

/// Unsigned arithmetic wraps, that of a minus too: `-2` is what `-(1 * 2)` is.
fn int_misfit(value: i128, precision: Precision) -> Option<String> {
    let (lo, hi): (i128, i128) = match precision {
        Precision::I8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
        Precision::I16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        Precision::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Precision::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        Precision::Ui8 => (-i128::from(u8::MAX), i128::from(u8::MAX)),
        Precision::Ui16 => (-i128::from(u16::MAX), i128::from(u16::MAX)),
        Precision::Ui32 => (-i128::from(u32::MAX), i128::from(u32::MAX)),
        Precision::F16 => (-65504, 65504),
        Precision::R | Precision::F32 | Precision::F64 | Precision::Bf16 => return None,
    };
    (value < lo || value > hi).then(|| format!("{value} is out of the range of"))
}

/// The largest finite value; `None` for integers.
fn float_limit(precision: Precision) -> Option<f64> {
    match precision {
        Precision::F16 => Some(65504.0),
        Precision::R | Precision::F32 => Some(f64::from(f32::MAX)),
        Precision::Bf16 => Some(3.389_531_389_251_535_5e38),
        Precision::F64 => Some(f64::MAX),
        Precision::I8
        | Precision::I16
        | Precision::I32
        | Precision::I64
        | Precision::Ui8
        | Precision::Ui16
        | Precision::Ui32 => None,
    }
}
