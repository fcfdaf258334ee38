//! Does running a block once more right after itself change nothing?

use crate::analysis::commute::{block_effects, conflict};
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::effects::{Cell, Effects};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::overlap::{self, Meeting};
use crate::analysis::solver::Solver;
use crate::cursor::path::BlockPlace;
use crate::loop_ir::Proc;

/// Answers [`Question::Idempotent`](crate::analysis::conditions::Question::Idempotent).
///
/// Control changes with configuration state only, which is a location like any other: both runs touch the same locations
/// and store the same values when no location whose old value the block sees is one that the block changes.
pub(crate) fn idempotent(proc: &Proc, block: &BlockPlace, solver: &mut Solver) -> Result<(), Unproven> {
    let Some((facts, effects)) = block_effects(proc, block, solver) else {
        return Err(misplaced("the statements"));
    };
    repeatable(&facts, &effects, solver)
        .map_err(|meeting| conflict(proc, &meeting, "running the block again changes nothing"))
}

/// The condition on effects alone.
pub(crate) fn repeatable(facts: &Facts, effects: &Effects, solver: &mut Solver) -> Result<(), Meeting> {
    // The observing access belongs to the second run: its iterators are others than those of the write before.
    let (again, _) = effects.of_other_iteration(&[]);
    for (reader, original) in again.cells.iter().zip(&effects.cells).filter(|(cell, _)| cell.kind.observes()) {
        let exposed = overlap::exposed(reader, &again);
        for writer in effects.of_root(&reader.root).filter(|cell: &&Cell| cell.kind.modifies()) {
            let seen = Formula::and(vec![overlap::meeting(writer, reader), exposed.clone()]);
            match overlap::impossible(facts, seen, solver) {
                Verified::Yes => {}
                why => return Err(Meeting { first: writer.clone(), second: original.clone(), why }),
            }
        }
    }
    Ok(())
}
