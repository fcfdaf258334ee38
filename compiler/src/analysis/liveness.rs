//! Is what a buffer holds after a statement ever read?

use crate::analysis::commute;
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::config_flow::{self, Unknowns};
use crate::analysis::effects::Cell;
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::iterations::{before, body_run, bounds, loop_parts};
use crate::analysis::mutation;
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::cursor::path::{self, BlockPlace, Path};
use crate::loop_ir::declarations::{Declaration, Declarations};
use crate::loop_ir::{Proc, StmtKind};
use crate::print::Names;
use crate::symbol::Sym;

/// Answers [`Question::DeadAfter`](crate::analysis::conditions::Question::DeadAfter).
///
/// Looks at everything that may run after the statement while the buffer lives: the rest of each enclosing list, and
/// the later iterations of enclosing loops. A read is harmless when the same run of statements surely writes the element
/// first.
pub(crate) fn dead_after(proc: &Proc, at: &Path, buffer: &Sym, solver: &mut Solver) -> Result<(), Unproven> {
    match Declarations::of(proc).get(buffer) {
        Some(Declaration::Buffer { is_arg, .. }) if mutation::passes("a dead buffer is not an argument", !is_arg) => {}
        Some(Declaration::Buffer { .. }) => {
            let condition = format!("`{buffer}` is not visible to the caller");
            return Err(Unproven::new(condition).at(at).hint("an argument may be read after the procedure returns"));
        }
        Some(Declaration::Control(_) | Declaration::Iterator | Declaration::Window { .. }) | None => {
            return Err(misplaced("a buffer of that name"));
        }
    }
    let mut here = at.clone();
    while let Some((parent, orelse, position)) = here.list_position() {
        let list = path::list(proc, &parent, orelse).ok_or_else(|| misplaced("the statement"))?;
        let rest = BlockPlace { parent: parent.clone(), orelse, lo: position + 1, hi: list.len() };
        if !rest.is_empty() {
            unread(proc, &rest, buffer, solver)?;
        }
        if list.iter().any(|stmt| matches!(&stmt.kind, StmtKind::Alloc { name, .. } if name == buffer)) {
            return Ok(());
        }
        later_iterations(proc, &parent, buffer, solver)?;
        here = parent;
    }
    Err(misplaced("the allocation"))
}

/// Whether a run of statements never sees the value that a buffer or field has before it.
pub(crate) fn unread(proc: &Proc, rest: &BlockPlace, buffer: &Sym, solver: &mut Solver) -> Result<(), Unproven> {
    let Some((facts, effects)) = commute::block_effects(proc, rest, solver) else {
        return Err(misplaced("the statements that follow"));
    };
    for cell in effects.of_root(buffer).filter(|cell| cell.kind.observes()) {
        let seen = Formula::and(cell.guard.iter().cloned().chain([overlap::exposed(cell, &effects)]).collect());
        never(proc, &facts, cell, seen, solver)?;
    }
    Ok(())
}

/// The bodies of later iterations, when the place is a loop.
pub(crate) fn later_iterations(proc: &Proc, scope: &Path, buffer: &Sym, solver: &mut Solver) -> Result<(), Unproven> {
    let Some(stmt) = path::stmt(proc, scope) else { return Ok(()) };
    let Some(looped) = loop_parts(stmt) else { return Ok(()) };
    let facts = Facts::at(proc, scope);
    let mut inside = facts.clone();
    config_flow::enter_loop(stmt, &mut inside.scope, &mut Unknowns::Dropped);
    let body = commute::effects_in(looped.body, &body_run(scope, 0, looped.body.len()), &inside, solver);
    let (late, fresh) = body.of_other_iteration(&[looped.iter]);
    let Some(later) = fresh.first() else { return Err(misplaced("the iterator")) };
    let mut apart = facts.clone();
    for symbol in [looped.iter, later] {
        bounds(&facts, looped, symbol).into_iter().for_each(|formula| apart.add(formula));
    }
    before(looped.iter, later).into_iter().for_each(|formula| apart.add(formula));
    for cell in late.of_root(buffer).filter(|cell| cell.kind.observes()) {
        let seen = Formula::and(cell.guard.iter().cloned().chain([overlap::exposed(cell, &late)]).collect());
        never(proc, &apart, cell, seen, solver)?;
    }
    Ok(())
}

#[track_caller]
fn never(proc: &Proc, facts: &Facts, cell: &Cell, seen: Formula, solver: &mut Solver) -> Result<(), Unproven> {
    match overlap::impossible(facts, seen, solver) {
        Verified::Yes => Ok(()),
        why => {
            let names = Names::of(proc);
            let line = path::stmt(proc, &cell.at).map_or(String::new(), |stmt| names.headline(stmt));
            let condition =
                format!("`{}` is not read any more, but `{line}` {} it", names.get(&cell.root), cell.kind.verb());
            Err(Unproven::new(condition).at(&cell.at).with(&why, &names))
        }
    }
}
