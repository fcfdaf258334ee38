//! Buffers that a part of a loop body fills with values that follow from the place alone: filling a place again changes
//! nothing, so what reads it afterwards need not mind.

use crate::analysis::effects::{AccessKind, Cell, Effects};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::mutation;
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::cursor::path;
use crate::loop_ir::{ExprKind, Proc, StmtKind, Ty, visit};
use crate::symbol::Sym;

/// The two parts of a loop body.
pub(crate) struct Parts<'a> {
    pub(crate) proc: &'a Proc,
    pub(crate) first: &'a Effects,
    /// The first part in another iteration, cell by cell.
    pub(crate) other: &'a Effects,
    pub(crate) second: &'a Effects,
}

impl Parts<'_> {
    /// The buffers that the first part settles for the second one. `one` holds in an iteration, `two` in any two.
    ///
    /// One assignment writes the buffer. Wherever two of its instances write one place they read the same places, which
    /// nothing in the loop changes, so both write the same. And whatever the second part reads of the buffer, the first
    /// one has surely written before in the same iteration.
    pub(crate) fn settled(&self, one: &Facts, two: &Facts, solver: &mut Solver) -> Vec<Sym> {
        let mut found: Vec<Sym> = Vec::new();
        for (at, write) in self.first.cells.iter().enumerate() {
            let fresh = write.kind == AccessKind::Write && !found.contains(&write.root);
            if fresh && self.is_settled(at, write, two, solver) && self.is_covered(&write.root, one, solver) {
                found.push(write.root.clone());
            }
        }
        found
    }

    fn modifies(&self, root: &Sym) -> usize {
        let cells = self.first.cells.iter().chain(&self.second.cells);
        cells.filter(|cell| cell.root == *root && cell.kind.modifies()).count()
    }

    fn is_settled(&self, at: usize, write: &Cell, two: &Facts, solver: &mut Solver) -> bool {
        let Some(StmtKind::Assign { rhs, .. }) = path::stmt(self.proc, &write.at).map(|stmt| &stmt.kind) else {
            return false;
        };
        let Some(again) = self.other.cells.get(at) else { return false };
        if self.modifies(&write.root) != 1 || rhs.reads_config || write.coords.is_none() {
            return false;
        }
        let reads: Vec<(&Cell, &Cell)> = self
            .first
            .cells
            .iter()
            .zip(&self.other.cells)
            .filter(|(cell, _)| cell.kind == AccessKind::Read && cell.at == write.at)
            .collect();
        let mut written = 0;
        visit::each_expr(rhs, &mut |node| {
            written += usize::from(matches!(node.kind, ExprKind::Read { .. }) && node.ty == Ty::Data);
        });
        // What reads a buffer of the iteration's own has no cell, and may read anything.
        if reads.len() != written || reads.iter().any(|(read, _)| self.modifies(&read.root) > 0) {
            return false;
        }
        reads.iter().all(|(read, other)| {
            let differs =
                elsewhere(read, other).map(|differs| Formula::and(vec![overlap::meeting(write, again), differs]));
            let same = differs.is_some_and(|formula| overlap::impossible(two, formula, solver) == Verified::Yes);
            mutation::passes("what is written again is read from the same place", same)
        })
    }

    fn is_covered(&self, root: &Sym, one: &Facts, solver: &mut Solver) -> bool {
        let whole = Effects {
            cells: self.first.cells.iter().chain(&self.second.cells).cloned().collect(),
            ..Effects::default()
        };
        self.second.of_root(root).all(|read| {
            let seen = read.guard.iter().cloned().chain([overlap::exposed(read, &whole)]).collect();
            overlap::impossible(one, Formula::and(seen), solver) == Verified::Yes
        })
    }
}

/// The formula "the two cells are at different places"; `None` where that cannot be expressed.
fn elsewhere(a: &Cell, b: &Cell) -> Option<Formula> {
    let (a, b) = (a.coords.as_ref()?, b.coords.as_ref()?);
    let parts = a.iter().zip(b).map(|(x, y)| Formula::equal(x, y)?.negated());
    Some(Formula::or(parts.collect::<Option<Vec<_>>>()?))
}
