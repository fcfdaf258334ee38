//! Does a loop store the same value whenever it stores into a location again?
//!
//! Where it does, a reader that comes after one such store sees the value whether or not the others have run: that is what
//! lets a producer be computed again for each tile of its consumer.

use crate::analysis::effects::{AccessKind, Cell, Effects};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::iterations::{Loop, bounds};
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::cursor::path;
use crate::loop_ir::{Expr, ExprKind, Proc, StmtKind, Ty, visit};
use crate::symbol::Sym;

/// Whether all that the loop stores into `root` comes from one assignment whose value depends on the location alone.
///
/// `whole` is what one iteration does. The assignment must be the only change of the buffer; two runs of it for one location,
/// in whatever iterations, must read the same elements; and nothing in the loop may change those.
pub(crate) fn stores_alike(
    proc: &Proc,
    looped: Loop<'_>,
    outside: &Facts,
    whole: &Effects,
    root: &Sym,
    solver: &mut Solver,
) -> bool {
    let (again, fresh) = whole.of_other_iteration(&[looped.iter]);
    let mut changes =
        whole.cells.iter().zip(&again.cells).filter(|(cell, _)| cell.root == *root && cell.kind.modifies());
    let (Some((store, other)), None, Some(iter)) = (changes.next(), changes.next(), fresh.first()) else {
        return false;
    };
    if store.kind != AccessKind::Write {
        return false;
    }
    let Some(StmtKind::Assign { rhs, .. }) = path::stmt(proc, &store.at).map(|stmt| &stmt.kind) else { return false };
    let reads = |(cell, _): &(&Cell, &Cell)| cell.at == store.at && cell.kind == AccessKind::Read;
    let reads: Vec<(&Cell, &Cell)> = whole.cells.iter().zip(&again.cells).filter(reads).collect();
    // What the effects do not show lies in a buffer of the iteration's own; what a configuration holds may change.
    if rhs.reads_config || reads.len() != elements_read(rhs) {
        return false;
    }
    let mut facts = outside.clone();
    for symbol in [looped.iter, iter] {
        bounds(outside, looped, symbol).into_iter().for_each(|formula| facts.add(formula));
    }
    let same_place = overlap::meeting(store, other);
    reads.into_iter().all(|(here, there)| {
        let changed = again.of_root(&here.root).filter(|cell| cell.kind.modifies());
        let mut kept = changed.map(|change| overlap::meeting(here, change));
        kept.all(|meets| proven_impossible(&facts, meets, solver)) && alike(&facts, &same_place, here, there, solver)
    })
}

/// Whether two reads are of one element wherever `same_place` holds.
fn alike(facts: &Facts, same_place: &Formula, here: &Cell, there: &Cell, solver: &mut Solver) -> bool {
    let (Some(a), Some(b)) = (&here.coords, &there.coords) else { return false };
    a.iter().zip(b).all(|(a, b)| match Formula::equal(a, b).and_then(|equal| equal.negated()) {
        Some(differs) => proven_impossible(facts, Formula::and(vec![same_place.clone(), differs]), solver),
        None => false,
    })
}

/// Whether each read of `root` among `readers` that a store among `later` could reach comes after a store of its own iteration.
pub(crate) fn stored_before_read(
    facts: &Facts,
    readers: &Effects,
    later: &Effects,
    whole: &Effects,
    root: &Sym,
    solver: &mut Solver,
) -> bool {
    let reading = |cell: &&Cell| cell.kind == AccessKind::Read;
    readers.of_root(root).filter(reading).all(|reader| {
        let exposed = overlap::exposed(reader, whole);
        let mut stores = later.of_root(root).filter(|cell| cell.kind.modifies());
        stores.all(|store| {
            let early = Formula::and(vec![overlap::meeting(reader, store), exposed.clone()]);
            proven_impossible(facts, early, solver)
        })
    })
}

#[track_caller]
fn proven_impossible(facts: &Facts, formula: Formula, solver: &mut Solver) -> bool {
    matches!(overlap::impossible(facts, formula, solver), Verified::Yes)
}

fn elements_read(expr: &Expr) -> usize {
    let mut count = 0;
    visit::each_expr(expr, &mut |node| {
        let element = matches!(node.kind, ExprKind::Read { .. }) && node.ty == Ty::Data;
        count += usize::from(element);
    });
    count
}
