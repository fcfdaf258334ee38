//! Is every element of a window that its buffer has written before any of it is read?

use crate::analysis::commute::block_effects;
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::effects::{AccessKind, Cell};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::linear::Linear;
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::cursor::path::{BlockPlace, Path};
use crate::loop_ir::declarations::{RootAccess, window_shape};
use crate::loop_ir::{Access, Proc};
use crate::symbol::Sym;

/// Answers [`Question::FilledFirst`](crate::analysis::conditions::Question::FilledFirst).
///
/// For an arbitrary element of the window that lies in the buffer, since accesses and copies go no further: some sure write of the block reaches it, and every access of the block that
/// sees the old value of its location misses it.
pub(crate) fn filled_first(
    proc: &Proc,
    block: &BlockPlace,
    buffer: &Sym,
    window: &[Access],
    solver: &mut Solver,
) -> Result<(), Unproven> {
    let Some((facts, effects)) = block_effects(proc, block, solver) else { return Err(misplaced("the statements")) };
    let failed = |condition: &dyn Fn(&str) -> String, why: &Verified, solver: &Solver| {
        let names = solver.names(proc);
        Err(Unproven::new(condition(names.get(buffer))).with(why, &names))
    };
    let Some((element, inside)) = bounded_element(&facts, buffer, window) else {
        return Err(misplaced("a window with affine bounds"));
    };
    let target = element.coords.clone().unwrap_or_default();
    let mut left = vec![overlap::unwritten(&effects, &element.root, &target)];
    left.extend(element.guard.iter().cloned());
    left.extend(inside);
    match overlap::impossible(&facts, Formula::and(left), solver) {
        Verified::Yes => {}
        why => return failed(&|name| format!("the block writes all of the window of `{name}`"), &why, solver),
    }
    for cell in effects.of_root(&element.root).filter(|cell| cell.kind.observes()) {
        let seen = Formula::and(vec![overlap::meeting(cell, &element), overlap::exposed(cell, &effects)]);
        match overlap::impossible(&facts, seen, solver) {
            Verified::Yes => {}
            why => return failed(&|name| format!("the block writes `{name}` before it reads it"), &why, solver),
        }
    }
    Ok(())
}

/// An arbitrary element of the window, as an access of the buffer that owns it.
pub(crate) fn element(facts: &Facts, buffer: &Sym, window: &[Access]) -> Option<Cell> {
    bounded_element(facts, buffer, window).map(|(element, _)| element)
}

/// The same, with what is true of it where it lies inside the buffer.
fn bounded_element(facts: &Facts, buffer: &Sym, window: &[Access]) -> Option<(Cell, Vec<Formula>)> {
    let alias = facts.scope.window(buffer, window)?;
    let mut guard = Vec::new();
    let mut free: Vec<Linear> = Vec::new();
    for extent in window_shape(window) {
        let index = Linear::symbol(&Sym::new("element"));
        guard.push(Formula::at_most(&Linear::constant(0), &index)?);
        guard.push(Formula::below(&index, &facts.index(&extent)?)?);
        free.push(index);
    }
    let inside = bounds(facts, buffer, window, &free);
    let coords = alias
        .dims
        .iter()
        .map(|dim| match dim {
            RootAccess::Point(point) => facts.index(point),
            RootAccess::Shifted { dim, offset } => facts.index(offset)?.add(free.get(*dim)?),
        })
        .collect::<Option<Vec<Linear>>>()?;
    let element = Cell {
        kind: AccessKind::Read,
        root: alias.root,
        coords: Some(coords),
        bound: Vec::new(),
        guard,
        exact: true,
        ticks: Vec::new(),
        stored: None,
        at: Path::root(),
    };
    Some((element, inside))
}

/// That the element at `free` of the window lies inside the buffer, as far as that can be said.
fn bounds(facts: &Facts, buffer: &Sym, window: &[Access], free: &[Linear]) -> Vec<Formula> {
    let mut free = free.iter();
    let mut inside = Vec::new();
    for (access, extent) in window.iter().zip(facts.scope.shape(buffer).unwrap_or_default()) {
        let index = match access {
            Access::Point(point) => facts.index(point),
            Access::Interval { lo, .. } => free.next().and_then(|free| facts.index(lo)?.add(free)),
        };
        let Some(index) = index else { continue };
        inside.extend(Formula::at_most(&Linear::constant(0), &index));
        inside.extend(facts.index(&extent).and_then(|extent| Formula::below(&index, &extent)));
    }
    inside
}
