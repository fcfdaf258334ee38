//! Smaller procs on which a failing step still fails.

use std::sync::Arc;

use exo_compiler::cursor::{BlockPlace, Editor, Path, Step, forward};
use exo_compiler::interpret::{Options, compare};
use exo_compiler::loop_ir::{ExprKind, Stmt, StmtKind, build};
use exo_compiler::schedule::apply::RawArguments;
use exo_compiler::schedule::argument::RawValue;
use exo_compiler::schedule::{Cursor, Operator, Procedure};

use super::places::statements;
use super::schedule::{self, Bench, Verdict};

/// Deletes statements, takes branches and loops apart and puts literals in the place of values as long as the step still
/// goes wrong.
pub(super) fn shrink(
    bench: &mut Bench,
    operator: &'static dyn Operator,
    procedure: &Procedure,
    raw: &RawArguments,
) -> (Procedure, RawArguments) {
    let mut best = (Procedure::new(procedure.ir().clone()), raw.clone());
    if let Some(moved) = moved(raw, procedure, &best.0, &[]) {
        best.1 = moved;
    }
    loop {
        let mut smaller = None;
        'search: for change in CHANGES {
            for (path, stmt) in statements(best.0.ir()) {
                let mut editor = Editor::new(best.0.ir());
                if !change(&mut editor, &path, &stmt) {
                    continue;
                }
                let (proc, steps) = editor.finish();
                // Deleting a declaration leaves its uses behind.
                if exo_compiler::loop_ir::validate::validate(&proc).is_err() {
                    continue;
                }
                let candidate = Procedure::new(Arc::new(proc));
                let Some(raw) = moved(&best.1, &best.0, &candidate, &steps) else { continue };
                if candidate.ir() != best.0.ir() && fails(bench, operator, &candidate, &raw) {
                    smaller = Some((candidate, raw));
                    break 'search;
                }
            }
        }
        match smaller {
            Some(found) => best = found,
            None => return best,
        }
    }
}

/// Makes the proc smaller at one statement; whether there was anything to do.
type Change = fn(&mut Editor, &Path, &Stmt) -> bool;

/// What makes a proc smaller, best first.
const CHANGES: [Change; 3] = [delete, unwrap, literal];

fn delete(editor: &mut Editor, at: &Path, _: &Stmt) -> bool {
    BlockPlace::of_statement(at).is_some_and(|block| editor.delete(&block).is_ok())
}

/// The body in the place of a branch. A loop without its iterator would leave that free, so it stays.
fn unwrap(editor: &mut Editor, at: &Path, stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::If { .. }) && editor.unwrap(at, false).is_ok()
}

fn literal(editor: &mut Editor, at: &Path, stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Assign { rhs, .. } | StmtKind::Reduce { rhs, .. } if !matches!(rhs.kind, ExprKind::Const(_)) => {
            editor.replace_expr(&at.child(Step::Value), build::real(1.0)).is_ok()
        }
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. }
        | StmtKind::WriteConfig { .. } => false,
    }
}

fn fails(bench: &mut Bench, operator: &'static dyn Operator, procedure: &Procedure, raw: &RawArguments) -> bool {
    let options = Options { seed: 3, rounds: 6, budget: 200_000, ..Options::default() };
    if !compare(procedure.ir(), procedure.ir(), &options).is_equal() {
        return false;
    }
    match bench.step(operator, procedure, raw, 1) {
        schedule::Step::Accepted(_, Verdict::Wrong(_)) | schedule::Step::Broken(_) => true,
        schedule::Step::Accepted(_, Verdict::Right | Verdict::Unchecked) | schedule::Step::Refused(_) => false,
    }
}

/// The arguments with their cursors carried over.
fn moved(
    raw: &RawArguments,
    from: &Procedure,
    to: &Procedure,
    steps: &[exo_compiler::cursor::Forward],
) -> Option<RawArguments> {
    let one = |value: &RawValue| moved_value(value, from, to, steps);
    Some(RawArguments {
        positional: raw.positional.iter().map(one).collect::<Option<_>>()?,
        named: raw.named.iter().map(|(name, value)| Some((name.clone(), one(value)?))).collect::<Option<_>>()?,
        ..raw.clone()
    })
}

fn moved_value(
    value: &RawValue,
    from: &Procedure,
    to: &Procedure,
    steps: &[exo_compiler::cursor::Forward],
) -> Option<RawValue> {
    let carry = |cursor: &Cursor| {
        Some(Cursor { procedure: to.clone(), place: forward(&from.forward(cursor).ok()?.place, steps)? })
    };
    Some(match value {
        RawValue::Cursor(cursor) => RawValue::Cursor(carry(cursor)?),
        RawValue::List(values) => {
            RawValue::List(values.iter().map(|value| moved_value(value, from, to, steps)).collect::<Option<_>>()?)
        }
        RawValue::Formatted { text, holes } => {
            RawValue::Formatted { text: text.clone(), holes: holes.iter().map(carry).collect::<Option<_>>()? }
        }
        RawValue::None
        | RawValue::Text(_)
        | RawValue::Int(_)
        | RawValue::Float(_)
        | RawValue::Bool(_)
        | RawValue::Procedure(_)
        | RawValue::Memory(_)
        | RawValue::Precision(_)
        | RawValue::Config(_)
        | RawValue::Other(_) => value.clone(),
    })
}
