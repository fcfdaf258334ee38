//! May a dimension of a buffer be folded to a circular one, index `e` to `e % size`?

use crate::analysis::commute::block_effects;
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::effects::Cell;
use crate::analysis::facts::Verified;
use crate::analysis::formula::Formula;
use crate::analysis::linear::Linear;
use crate::analysis::mutation;
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::cursor::path::{self, BlockPlace, Path};
use crate::loop_ir::{Block, LoopMode, Proc, StmtKind, visit};
use crate::print::Names;
use crate::symbol::Sym;

/// Answers [`Question::Folds`](crate::analysis::conditions::Question::Folds).
///
/// Two elements share a place when their indices differ by a multiple of `size`. It is enough that no access goes `size`
/// or more below an earlier one (with equal other indices): then, of two elements that share a place, the lower one is
/// never used once the higher one was, and the higher one's place is not written by the lower one.
pub(crate) fn folds(
    proc: &Proc,
    alloc: &Path,
    buffer: &Sym,
    dim: usize,
    size: i64,
    solver: &mut Solver,
) -> Result<(), Unproven> {
    let scope = scope(proc, alloc).ok_or_else(|| misplaced("the allocation"))?;
    let Some((facts, effects)) = block_effects(proc, &scope, solver) else { return Err(misplaced("the statements")) };
    let block = path::block(proc, &scope).unwrap_or_default();
    if !mutation::passes("a folded buffer is used in a fixed order", !parallel(&block)) {
        return Err(Unproven::new("the accesses come in a fixed order, but a loop is parallel").at(alloc));
    }
    let (later, _) = effects.of_other_iteration(&[]);
    for first in effects.of_root(buffer) {
        for (second, original) in later.cells.iter().zip(&effects.cells).filter(|(cell, _)| cell.root == *buffer) {
            let Some(below) = below(first, second, dim, size) else {
                let names = Names::of(proc);
                return Err(Unproven::new(format!("the indices of `{}` are known", names.get(buffer))).at(&original.at));
            };
            for order in orders(first, second, original) {
                match overlap::impossible(&facts, Formula::and(vec![below.clone(), order]), solver) {
                    Verified::Yes => {}
                    why => {
                        let names = Names::of(proc);
                        let condition =
                            format!("`{}` is never used {size} or more below an earlier index", names.get(buffer));
                        return Err(Unproven::new(condition).at(&original.at).with(&why, &names));
                    }
                }
            }
        }
    }
    Ok(())
}

fn scope(proc: &Proc, alloc: &Path) -> Option<BlockPlace> {
    let (parent, orelse, at) = alloc.list_position()?;
    let hi = path::list(proc, &parent, orelse)?.len();
    Some(BlockPlace { parent, orelse, lo: at + 1, hi })
}

fn parallel(block: &Block) -> bool {
    let mut found = false;
    visit::each_stmt(block, &mut |stmt| {
        found |= matches!(stmt.kind, StmtKind::For { mode: LoopMode::Par, .. });
    });
    found
}

/// Both accesses happen, the second at least `size` below the first in the dimension, with equal other indices.
fn below(first: &Cell, second: &Cell, dim: usize, size: i64) -> Option<Formula> {
    let (high, low) = (first.coords.as_ref()?, second.coords.as_ref()?);
    let mut parts = Vec::new();
    for (at, (high, low)) in high.iter().zip(low).enumerate() {
        parts.push(match at == dim {
            true => Formula::at_most(&low.plus(size)?, high)?,
            false => Formula::equal(high, low)?,
        });
    }
    parts.extend(first.guard.iter().cloned());
    parts.extend(second.guard.iter().cloned());
    Some(Formula::and(parts))
}

/// All ways in which the first access comes before the second (a renamed copy of `original`).
fn orders(first: &Cell, second: &Cell, original: &Cell) -> Vec<Formula> {
    let common = first.common_loops(original);
    let pairs: Vec<(Linear, Linear)> = first
        .bound
        .iter()
        .zip(&second.bound)
        .take(common)
        .map(|(a, b)| (Linear::symbol(a), Linear::symbol(b)))
        .collect();
    let mut ways = Vec::new();
    let mut equal = Vec::new();
    for (a, b) in &pairs {
        let mut earlier: Vec<Formula> = equal.clone();
        // What cannot be expressed is left out: the order is then possible more often.
        earlier.extend(Formula::below(a, b));
        ways.push(Formula::and(earlier));
        equal.extend(Formula::equal(a, b));
    }
    // Reads and writes of one statement count in both orders.
    if first.precedes(original) || first.at == original.at {
        ways.push(Formula::and(equal));
    }
    ways
}
