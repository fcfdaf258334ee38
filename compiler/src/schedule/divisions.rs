//! A division of integers by zero ends the program, so no step may divide where the code before did not.
//!
//! Values of floats may be computed early and dropped; of integers, quotients may not. C makes no difference between a divisor of
//! zero and, for the least value of a type, one of -1.

use crate::cursor::path::{self, Path};
use crate::diagnostic::Refusal;
use crate::hardware::precision::Precision;
use crate::loop_ir::computation::visit_data;
use crate::loop_ir::{BinaryOp, Const, Expr, ExprKind, Proc, Ty};
use crate::schedule::operator::Arguments;

/// Refuses to compute `expr` where the code may not have computed it.
pub fn refuse_early(expr: &Expr, precision: Precision, arguments: &Arguments) -> Result<(), Refusal> {
    if precision.concrete().is_float() || !may_end_the_program(expr) {
        return Ok(());
    }
    let message =
        "a quotient of integers would be computed where it may not be needed, and a divisor of zero ends the program";
    Err(arguments.scheduling(message).hint("bind it where it is computed, one place at a time"))
}

/// Whether a place is computed each time its statement runs: C is free to compute an argument of an extern or not.
pub fn surely_computed(proc: &Proc, place: &Path) -> bool {
    let Some(stmt) = place.statement() else { return false };
    (stmt.0.len() + 1..place.0.len()).all(|depth| {
        let above = place.0.get(..depth).and_then(|steps| path::expr(proc, &Path(steps.to_vec())));
        !above.is_none_or(|expr| matches!(expr.kind, ExprKind::Extern { .. }))
    })
}

fn may_end_the_program(expr: &Expr) -> bool {
    let mut found = false;
    visit_data(expr, &mut |node| {
        if let ExprKind::Binary { op: BinaryOp::Div | BinaryOp::Mod, rhs, .. } = &node.kind
            && node.ty == Ty::Data
        {
            let harmless = match &rhs.kind {
                ExprKind::Const(Const::Int(value)) => !matches!(value, 0 | -1),
                // A literal is an integer of the precision that it stands in.
                ExprKind::Const(Const::Real(value)) => value.fract() == 0.0 && !(-1.0..=0.0).contains(value),
                _ => false,
            };
            found |= !harmless;
        }
    });
    found
}
