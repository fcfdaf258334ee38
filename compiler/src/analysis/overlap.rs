//! Whether two accesses can meet: the emptiness questions that all effect conditions come down to.

use crate::analysis::effects::{Cell, Effects};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::linear::Linear;
use crate::analysis::solver::{Satisfiable, Solver};
use crate::analysis::witness;

/// The formula "both cells happen, at one location". Free variables that the two share are equal on both sides.
pub fn meeting(a: &Cell, b: &Cell) -> Formula {
    if a.root != b.root {
        return Formula::False;
    }
    let mut parts: Vec<Formula> = Vec::with_capacity(a.guard.len() + b.guard.len() + 2);
    if let (Some(a), Some(b)) = (&a.coords, &b.coords) {
        // An equation that leaves the 64-bit range is left out: the cells meet more often then.
        parts.extend(a.iter().zip(b).filter_map(|(x, y)| Formula::equal(x, y)));
    }
    parts.extend(a.guard.iter().cloned());
    parts.extend(b.guard.iter().cloned());
    Formula::and(parts)
}

/// Asks whether a formula is impossible under the facts and `extra`.
pub fn impossible(facts: &Facts, formula: Formula, solver: &mut Solver) -> Verified {
    if formula == Formula::False {
        return Verified::Yes;
    }
    match solver.satisfiable(&facts.known, &formula) {
        Satisfiable::No => Verified::Yes,
        Satisfiable::Yes(values) => Verified::No(values),
        Satisfiable::Unknown => Verified::Unknown,
    }
}

/// The first pair of an access of `a` and one of `b` that may meet and that `conflict` counts.
pub fn first_meeting(
    facts: &Facts,
    a: &Effects,
    b: &Effects,
    extra: &[Formula],
    conflict: &dyn Fn(&Cell, &Cell) -> bool,
    solver: &mut Solver,
) -> Result<(), Meeting> {
    for x in &a.cells {
        for y in &b.cells {
            if x.root != y.root || !conflict(x, y) {
                continue;
            }
            let mut parts = vec![meeting(x, y)];
            parts.extend(extra.iter().cloned());
            match impossible(facts, Formula::and(parts), solver) {
                Verified::Yes => {}
                why => return Err(Meeting { first: x.clone(), second: y.clone(), why }),
            }
        }
    }
    Ok(())
}

/// Two accesses that may meet.
#[derive(Debug)]
pub struct Meeting {
    pub first: Cell,
    pub second: Cell,
    pub(crate) why: Verified,
}

/// Conditions under which an observing cell is not preceded, in its own iteration of the loops around both, by a sure
/// write to the same place: the old value is then seen.
pub fn exposed(cell: &Cell, effects: &Effects) -> Formula {
    let Some(target) = &cell.coords else { return Formula::True };
    let unwritten = effects.of_root(&cell.root).filter_map(|writer| {
        if !is_sure_write(writer) || !writer.precedes(cell) {
            return None;
        }
        witness::touches(writer, writer.common_loops(cell), target)?.negated()
    });
    Formula::and(unwritten.collect())
}

pub fn is_sure_write(cell: &Cell) -> bool {
    cell.exact && cell.kind == crate::analysis::effects::AccessKind::Write
}

/// The formula "no sure write of `effects` touches `target`"; more often true than the truth where no writing
/// iteration is found.
pub fn unwritten(effects: &Effects, root: &crate::symbol::Sym, target: &[Linear]) -> Formula {
    let parts = effects.of_root(root).filter(|cell| is_sure_write(cell));
    Formula::and(parts.filter_map(|cell| witness::touches(cell, 0, target)?.negated()).collect())
}
