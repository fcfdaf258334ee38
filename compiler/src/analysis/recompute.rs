//! May iterations of a loop run once more after later ones?

use crate::analysis::commute::conflict;
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::effects::{Cell, Effects};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::idempotence::repeatable;
use crate::analysis::iterations::{bounds, loop_at, pair};
use crate::analysis::linear::Linear;
use crate::analysis::overlap::{self, Meeting};
use crate::analysis::solver::Solver;
use crate::cursor::path::Path;
use crate::loop_ir::{Expr, Proc};

/// Answers [`Question::Recompute`](crate::analysis::conditions::Question::Recompute).
///
/// Running an iteration again changes nothing when neither it nor any iteration that ran in between changed what it sees
/// of old values, and none of these wrote over what it wrote. By induction the runs before it in the same repetition
/// changed nothing either.
pub(crate) fn recompute(proc: &Proc, scope: &Path, within: &Expr, solver: &mut Solver) -> Result<(), Unproven> {
    let Some(looped) = loop_at(proc, scope) else { return Err(misplaced("the loop")) };
    let Some(pair) = pair(proc, scope, solver) else { return Err(misplaced("the loop")) };
    let claim = "iterations may run again";
    let repeats = |facts: &mut Facts| facts.index(within).and_then(|w| Formula::below(&Linear::constant(0), &w));
    let mut alone = Facts::at(proc, scope);
    bounds(&alone.clone(), looped, looped.iter).into_iter().for_each(|formula| alone.add(formula));
    repeats(&mut alone).into_iter().for_each(|formula| alone.add(formula));
    repeatable(&alone, &pair.early, solver).map_err(|meeting| conflict(proc, &meeting, claim))?;

    let mut facts = pair.facts;
    repeats(&mut facts).into_iter().for_each(|formula| facts.add(formula));
    // The later iteration is less than `within` behind.
    let distance = pair.later.sub(&Linear::symbol(looped.iter));
    if let (Some(distance), Some(within)) = (distance, facts.index(within)) {
        Formula::below(&distance, &within).into_iter().for_each(|formula| facts.add(formula));
    }
    undisturbed(&facts, &pair.early, &pair.late, solver).map_err(|meeting| conflict(proc, &meeting, claim))
}

/// Whether `late` changes nothing that `early` writes or whose old value it sees.
fn undisturbed(facts: &Facts, early: &Effects, late: &Effects, solver: &mut Solver) -> Result<(), Meeting> {
    for cell in &early.cells {
        let matters = match cell.kind.modifies() {
            true => Formula::True,
            false => overlap::exposed(cell, early),
        };
        for change in late.of_root(&cell.root).filter(|other: &&Cell| other.kind.modifies()) {
            let disturbs = Formula::and(vec![overlap::meeting(cell, change), matters.clone()]);
            match overlap::impossible(facts, disturbs, solver) {
                Verified::Yes => {}
                why => return Err(Meeting { first: cell.clone(), second: change.clone(), why }),
            }
        }
    }
    Ok(())
}
