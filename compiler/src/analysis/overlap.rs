//! Whether two accesses can meet: the emptiness questions that all effect conditions come down to.

use crate::analysis::effects::{self, AccessKind, Cell, Effects};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::linear::Linear;
use crate::analysis::mutation;
use crate::analysis::solver::{Satisfiable, Solver};
use crate::analysis::witness;
use crate::symbol::Sym;

/// The formula "both cells happen, at one location". Free variables that the two share are equal on both sides.
pub fn meeting(a: &Cell, b: &Cell) -> Formula {
    if a.root != b.root {
        return Formula::False;
    }
    let mut parts: Vec<Formula> = Vec::with_capacity(a.guard.len() + b.guard.len() + 2);
    if let (Some(a), Some(b)) = (&a.coords, &b.coords) {
        // An equation that leaves the 64-bit range is left out: the cells meet more often then.
        for formula in a.iter().zip(b).filter_map(|(x, y)| Formula::equal(x, y)) {
            // Most pairs of unrolled code end here.
            if formula == Formula::False {
                return Formula::False;
            }
            parts.push(formula);
        }
    }
    parts.extend(a.guard.iter().cloned());
    parts.extend(b.guard.iter().cloned());
    Formula::and(parts)
}

/// Asks whether a formula is impossible under the facts and `extra`.
#[track_caller]
pub fn impossible(facts: &Facts, formula: Formula, solver: &mut Solver) -> Verified {
    if formula == Formula::False {
        return Verified::Yes;
    }
    let verified = match solver.satisfiable(&facts.known, &formula) {
        Satisfiable::No => Verified::Yes,
        Satisfiable::Yes(values) => Verified::No(values),
        Satisfiable::Unknown => Verified::Unknown,
    };
    if mutation::overrules_proof(verified == Verified::Yes) { Verified::Yes } else { verified }
}

/// The first pair of an access of `a` and one of `b` that may meet and that `conflict` counts.
#[track_caller]
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
    pub why: Verified,
}

/// Conditions under which an observing cell is not preceded, in its own iteration of the loops around both, by a sure
/// write to the same place: the old value is then seen.
pub fn exposed(cell: &Cell, effects: &Effects) -> Formula {
    let Some(target) = &cell.coords else { return Formula::True };
    let unwritten = effects.of_root(&cell.root).filter_map(|writer| {
        if !is_sure_write(writer) || !writer.precedes(cell) {
            return None;
        }
        missed(writer, writer.common_loops(cell), target)
    });
    Formula::and(unwritten.collect())
}

pub fn is_sure_write(cell: &Cell) -> bool {
    cell.exact && cell.kind == AccessKind::Write
}

/// The formula "no sure write of `effects` touches `target`"; more often true than the truth where no writing
/// iteration is found.
pub fn unwritten(effects: &Effects, root: &Sym, target: &[Linear]) -> Formula {
    let parts = effects.of_root(root).filter(|cell| is_sure_write(cell));
    Formula::and(parts.filter_map(|cell| missed(cell, 0, target)).collect())
}

/// A formula that holds whenever the cell touches `target` in no iteration of its loops after the first `common`.
///
/// Where no touching iteration can be constructed the statement "none does" itself is taken: with its quantifier it is
/// for Z3.
fn missed(cell: &Cell, common: usize, target: &[Linear]) -> Option<Formula> {
    if let Some(touched) = witness::touches(cell, common, target) {
        return touched.negated();
    }
    let free = cell.bound.get(common..)?;
    let map: Vec<(Sym, Sym)> = free.iter().map(|symbol| (symbol.clone(), symbol.renewed())).collect();
    let cell = effects::rename(cell, &map);
    let mut parts = cell.guard.clone();
    for (coord, target) in cell.coords.as_ref()?.iter().zip(target) {
        parts.push(Formula::equal(coord, target)?);
    }
    let bound = map.into_iter().map(|(_, fresh)| fresh).collect();
    Some(Formula::Forall(bound, Box::new(Formula::and(parts).negated()?)))
}
