//! Conversions to and from integers cut values off, so a step must not move a sum or a name across one.

use crate::cursor::path::{self, Path, Step};
use crate::diagnostic::Refusal;
use crate::hardware::precision::Precision;
use crate::loop_ir::computation;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::statement::StmtNode;
use crate::loop_ir::{Const, Expr, ExprKind, Proc, StmtKind, visit};
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
/// Between floats only rounding differs. A statement that mixes precisions has no C yet, and its operands may be named one by one.
pub fn refuse_other_arithmetic(
    proc: &Proc,
    place: &Path,
    bound: &Expr,
    precision: Precision,
    arguments: &Arguments,
) -> Result<(), Refusal> {
    let Some(computed) = computed_in(proc, place) else { return Ok(()) };
    if computed == precision.concrete() || (computed.is_float() && precision.is_float()) {
        return Ok(());
    }
    if matches!(bound.kind, ExprKind::Read { .. } | ExprKind::ReadConfig(_)) && mixes(proc, place) {
        return Ok(());
    }
    let (computed, named) = (computed.word(), precision.word());
    Err(arguments.scheduling(format!("the value is computed as `{computed}`, and the name would be `{named}`")))
}

/// Whether the statement around a place reads several precisions.
fn mixes(proc: &Proc, place: &Path) -> bool {
    let stmt = place.statement().and_then(|at| path::stmt(proc, &at));
    let rhs = stmt.and_then(|stmt| right_side(stmt));
    rhs.is_some_and(|rhs| computation::disagreement(rhs, &Declarations::of(proc)).is_some())
}

fn right_side(stmt: &StmtNode) -> Option<&Expr> {
    match &stmt.kind {
        StmtKind::Assign { rhs, .. } | StmtKind::Reduce { rhs, .. } | StmtKind::WriteConfig { rhs, .. } => Some(rhs),
        StmtKind::Pass
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Window { .. }
        | StmtKind::Call { .. } => None,
    }
}

/// The precision of a name for a value whose operands are of `own`.
///
/// C computes narrow integers as `int`. A value is named as what it is computed as, so that nothing is cut off, unless it is a whole
/// right side that is stored as narrow; what is computed with it must then be computed as `int` too.
pub fn precision_of_name(proc: &Proc, places: &[Path], bound: &Expr, own: Precision) -> Precision {
    let whole = |place: &Path| place.last() == Some(Step::Value);
    let as_int = |place: &Path| whole(place) || computes_as_int_without(proc, place, bound);
    let wide = own.is_narrow() && is_computed(bound, own) && !calls_with_literals(bound) && places.iter().all(as_int);
    let stored_alike = |place: &Path| target(proc, place) == Some(own);
    match wide && !places.iter().all(stored_alike) {
        true => Precision::I32,
        false => own,
    }
}

/// Whether a right side is of small literals and of nothing else than `bound`, which C computes alike as any integer of at most 32 bits.
fn computes_as_int_without(proc: &Proc, place: &Path, bound: &Expr) -> bool {
    let stmt = place.statement().and_then(|at| path::stmt(proc, &at));
    stmt.and_then(|stmt| right_side(stmt)).is_some_and(|rhs| is_int_arithmetic(rhs, &|part| part == bound))
}

/// Whether an expression is arithmetic on small literals and on parts that `known` holds of. A literal that the narrowest precision does
/// not have is another number in each, and functions take their arguments as they are declared.
fn is_int_arithmetic(expr: &Expr, known: &dyn Fn(&Expr) -> bool) -> bool {
    if known(expr) {
        return true;
    }
    match &expr.kind {
        // The minus of a negative literal is that of arithmetic.
        ExprKind::Const(Const::Int(value)) => (-SMALL..=SMALL).contains(value),
        ExprKind::Const(Const::Real(value)) => value.fract() == 0.0 && value.abs() <= SMALL as f64,
        ExprKind::Neg(operand) => is_int_arithmetic(operand, known),
        ExprKind::Binary { lhs, rhs, .. } => is_int_arithmetic(lhs, known) && is_int_arithmetic(rhs, known),
        ExprKind::Const(Const::Bool(_))
        | ExprKind::Read { .. }
        | ExprKind::ReadConfig(_)
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => false,
    }
}

/// The largest value of the narrowest precision.
const SMALL: i64 = 127;

/// Whether a value of narrow integers that was stored as `i32` may be computed where it is read: it is `int` in both places.
pub fn is_kept_as_int(write: &Write, proc: &Proc) -> bool {
    let declarations = Declarations::of(proc);
    let read = precisions(&write.rhs, &declarations);
    let narrow = !read.is_empty() && read.iter().all(|own| own.is_narrow());
    let data = |part: &Expr| matches!(part.kind, ExprKind::Read { .. } | ExprKind::ReadConfig(_));
    narrow && declarations.precision(&write.name) == Some(Precision::I32) && is_int_arithmetic(&write.rhs, &data)
}

/// Whether a statement that read `i32` still computes as `int` where it reads narrow integers instead, or both.
pub fn computes_as_int(before: &Proc, after: &Proc, place: &Path) -> bool {
    [before, after].iter().all(|proc| {
        let declarations = Declarations::of(proc);
        let int = |own: Precision| own == Precision::I32 || own.is_narrow();
        let stmt = place.statement().and_then(|at| path::stmt(proc, &at));
        let rhs = stmt.and_then(|stmt| right_side(stmt));
        rhs.is_some_and(|rhs| {
            is_int_arithmetic(rhs, &|part| computation::precision_of(part, &declarations).is_some_and(int))
        })
    })
}

/// Whether a value may be none of its precision: the minus of a negative literal is arithmetic, too.
fn is_computed(bound: &Expr, own: Precision) -> bool {
    match &bound.kind {
        ExprKind::Neg(_) | ExprKind::Binary { .. } | ExprKind::Extern { .. } => true,
        ExprKind::Const(Const::Int(value)) => *value < 0 && own.is_unsigned(),
        ExprKind::Const(Const::Real(value)) => *value < 0.0 && own.is_unsigned(),
        ExprKind::Const(Const::Bool(_))
        | ExprKind::Read { .. }
        | ExprKind::ReadConfig(_)
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => false,
    }
}

/// Whether a function is called with literals only, which have the precision that the result is stored in.
fn calls_with_literals(bound: &Expr) -> bool {
    let mut found = false;
    visit::each_expr(bound, &mut |part| found |= matches!(part.kind, ExprKind::Extern { .. }) && !reads_data(part));
    found
}

fn reads_data(expr: &Expr) -> bool {
    let mut found = false;
    visit::each_expr(expr, &mut |part| found |= matches!(part.kind, ExprKind::Read { .. } | ExprKind::ReadConfig(_)));
    found
}

/// The precision that a right side is stored in.
fn target(proc: &Proc, place: &Path) -> Option<Precision> {
    let stored = place.parent().filter(|_| place.last() == Some(Step::Value)).and_then(|at| path::stmt(proc, &at));
    stored.and_then(visit::written_by).and_then(|name| Declarations::of(proc).precision(name))
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
    if !precision.is_narrow() || !is_computed(bound, precision) {
        return Ok(());
    }
    match target(proc, place) == Some(precision) {
        true => Ok(()),
        false => {
            let message = format!("the value is computed wider than `{}`, which the name would hold", precision.word());
            Err(arguments.scheduling(message).hint("store it in a wider buffer first"))
        }
    }
}
