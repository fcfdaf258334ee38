//! Smaller procs on which a failing step still fails.

use std::sync::Arc;

use exo_compiler::cursor::{BlockPlace, Editor, forward};
use exo_compiler::interpret::{Options, compare};
use exo_compiler::schedule::apply::RawArguments;
use exo_compiler::schedule::argument::RawValue;
use exo_compiler::schedule::{Cursor, Operator, Procedure};

use super::places::statements;
use super::schedule::{Bench, Step, Verdict};

/// Deletes statements as long as the step still goes wrong.
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
        for (path, _) in statements(best.0.ir()) {
            let Some(block) = BlockPlace::of_statement(&path) else { continue };
            let mut editor = Editor::new(best.0.ir());
            if editor.delete(&block).is_err() {
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
                break;
            }
        }
        match smaller {
            Some(found) => best = found,
            None => return best,
        }
    }
}

fn fails(bench: &mut Bench, operator: &'static dyn Operator, procedure: &Procedure, raw: &RawArguments) -> bool {
    let options = Options { seed: 3, rounds: 6, budget: 200_000, ..Options::default() };
    if !compare(procedure.ir(), procedure.ir(), &options).is_equal() {
        return false;
    }
    match bench.step(operator, procedure, raw, 1) {
        Step::Accepted(_, Verdict::Wrong(_)) | Step::Broken(_) => true,
        Step::Accepted(_, Verdict::Right | Verdict::Unchecked) | Step::Refused(_) => false,
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
