//! Conversions to and from integers cut values off, so a step must not move a sum or a name across one.

use crate::cursor::path::{self, Path, Step};
use crate::diagnostic::Refusal;
use crate::hardware::precision::Precision;
use crate::loop_ir::computation;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Expr, ExprKind, Proc, visit};
use crate::schedule::operator::Arguments;
use crate::schedule::reads::precisions;
use crate::schedule::target::Write;

/// Refuses a write that converts to or from an integer. Between floats only rounding differs.
pub fn refuse(write: &Write, proc: &Proc, arguments: &Arguments) -> Result<(), Refusal> {
    let declarations = Declarations::of(proc);
    let Some(target) = declarations.precision(&write.name) else { return Ok(()) };
    let read = precisions(&write.rhs, &declarations);
    let cut = |from: &Precision| from.concrete() != target.concrete() && !(from.is_float() && target.is_float());
    match read.iter().any(cut) {
        true => {
            let message =
                format!("the write of `{}` converts between precisions and cuts off what does not fit", write.name);
            Err(arguments.scheduling(message))
        }
        false => Ok(()),
    }
}

/// Refuses to name a value where the name has another precision than the arithmetic around it: literals take the precision of
/// what stands beside them, so a name in the place of the last literal or read would change it for the others.
/// Between floats only rounding differs.
pub fn refuse_other_arithmetic(
    proc: &Proc,
    place: &Path,
    precision: Precision,
    arguments: &Arguments,
) -> Result<(), Refusal> {
    let Some(computed) = computed_in(proc, place) else { return Ok(()) };
    if computed == precision.concrete() || (computed.is_float() && precision.is_float()) {
        return Ok(());
    }
    let (computed, named) = (computed.word(), precision.word());
    Err(arguments.scheduling(format!("the value is computed as `{computed}`, and the name would be `{named}`")))
}

/// The precision that the statement around a place computes in.
pub fn computed_in(proc: &Proc, place: &Path) -> Option<Precision> {
    let stmt = place.statement().and_then(|at| path::stmt(proc, &at))?;
    computation::of_stmt(stmt, &Declarations::of(proc))
}

/// Refuses to name a value of narrow integers that is used as it is computed, which is wide, and not stored as narrow
/// as the name would be.
pub fn refuse_narrowing(
    proc: &Proc,
    place: &Path,
    bound: &Expr,
    precision: Precision,
    arguments: &Arguments,
) -> Result<(), Refusal> {
    if !precision.is_narrow()
        || !matches!(bound.kind, ExprKind::Neg(_) | ExprKind::Binary { .. } | ExprKind::Extern { .. })
    {
        return Ok(());
    }
    let stored = place.parent().filter(|_| place.last() == Some(Step::Value)).and_then(|at| path::stmt(proc, &at));
    let target = stored.and_then(visit::written_by);
    let same = target.is_some_and(|name| Declarations::of(proc).precision(name) == Some(precision));
    match same {
        true => Ok(()),
        false => {
            let message = format!("the value is computed wider than `{}`, which the name would hold", precision.word());
            Err(arguments.scheduling(message).hint("store it in a wider buffer first"))
        }
    }
}
