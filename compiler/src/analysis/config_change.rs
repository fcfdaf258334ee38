//! Who can see that writes of configuration state were added, removed or changed at a place?

use std::collections::BTreeSet;

use crate::analysis::commute::block_effects;
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::config_flow::{self, Unknowns};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::liveness;
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::cursor::path::{self, BlockPlace, Path};
use crate::hardware::config::ConfigField;
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::{Block, Expr, Proc};
use crate::print::Names;
use crate::symbol::Sym;

/// The fields whose values at the end of the proc may differ when the statement at `at` is left out.
///
/// The statement may do nothing but write configuration state. Each field that it writes either has the written value
/// already, in every run of the statement, or is not read before it is written again.
pub(crate) fn seen(proc: &Proc, at: &Path, solver: &mut Solver) -> Result<BTreeSet<ConfigField>, Unproven> {
    let Some(stmt) = path::stmt(proc, at) else { return Err(misplaced("the statement")) };
    let fields = Touched::by_block(&Block::one(stmt.clone())).writes;
    only_config(proc, at, &fields, solver)?;
    let before = Facts::at(proc, at);
    let mut after = before.clone();
    after.pass(stmt);
    let mut seen = BTreeSet::new();
    for field in fields {
        let values = (before.scope.config.value(&field), after.scope.config.value(&field));
        if !same(&after, values, solver) && !overwritten(proc, at, &field, solver)? {
            seen.insert(field);
        }
    }
    Ok(seen)
}

/// The fields whose values at the end may differ when the statement at `at` of `before` becomes that of `after`; the two
/// are equal but for what they leave in `fields`.
pub(crate) fn seen_of_change(
    (before, after): (&Proc, &Proc),
    at: &Path,
    fields: &BTreeSet<ConfigField>,
    solver: &mut Solver,
) -> Result<BTreeSet<ConfigField>, Unproven> {
    let (Some(old), Some(new)) = (path::stmt(before, at), path::stmt(after, at)) else {
        return Err(misplaced("the statement"));
    };
    let start = Facts::at(before, at);
    let mut with_old = start.clone();
    with_old.pass(old);
    let mut with_new = start;
    config_flow::after(new, &mut with_new.scope, &mut Unknowns::Dropped);
    let mut seen = BTreeSet::new();
    for field in fields {
        let values = (with_old.scope.config.value(field), with_new.scope.config.value(field));
        if !same(&with_old, values, solver) && !overwritten(after, at, field, solver)? {
            seen.insert(field.clone());
        }
    }
    Ok(seen)
}

/// Whether two values are surely equal.
fn same(facts: &Facts, (one, other): (Option<Expr>, Option<Expr>), solver: &mut Solver) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    let goal = config_flow::equal(&one, &other, &facts.scope);
    facts.proves(solver, goal.as_ref()) == Verified::Yes
}

/// A statement that has no effect but on these fields.
fn only_config(proc: &Proc, at: &Path, fields: &BTreeSet<ConfigField>, solver: &mut Solver) -> Result<(), Unproven> {
    let place = BlockPlace::of_statement(at).ok_or_else(|| misplaced("the statement"))?;
    let Some((_, effects)) = block_effects(proc, &place, solver) else { return Err(misplaced("the statement")) };
    let symbols: BTreeSet<Sym> = fields.iter().map(ConfigField::symbol).collect();
    match effects.cells.iter().find(|cell| cell.kind.modifies() && !symbols.contains(&cell.root)) {
        None => Ok(()),
        Some(cell) => {
            let names = Names::of(proc);
            let condition = format!(
                "the statement writes configuration state only, but it {} `{}`",
                cell.kind.verb(),
                names.get(&cell.root)
            );
            Err(Unproven::new(condition).at(at))
        }
    }
}

/// Whether a field is surely written after the statement at `at` and before the proc ends; an error when it may be read
/// first.
fn overwritten(proc: &Proc, at: &Path, field: &ConfigField, solver: &mut Solver) -> Result<bool, Unproven> {
    let symbol = field.symbol();
    let mut here = at.clone();
    while let Some((parent, orelse, position)) = here.list_position() {
        let list = path::list(proc, &parent, orelse).ok_or_else(|| misplaced("the statement"))?;
        let rest = BlockPlace { parent: parent.clone(), orelse, lo: position + 1, hi: list.len() };
        if !rest.is_empty() {
            liveness::unread(proc, &rest, &symbol, solver)?;
            if surely_written(proc, &rest, &symbol, solver)? {
                return Ok(true);
            }
        }
        liveness::later_iterations(proc, &parent, &symbol, solver)?;
        here = parent;
    }
    Ok(false)
}

fn surely_written(proc: &Proc, rest: &BlockPlace, symbol: &Sym, solver: &mut Solver) -> Result<bool, Unproven> {
    let Some((facts, effects)) = block_effects(proc, rest, solver) else {
        return Err(misplaced("the statements that follow"));
    };
    if effects.of_root(symbol).next().is_none() {
        return Ok(false);
    }
    Ok(overlap::impossible(&facts, overlap::unwritten(&effects, symbol, &[]), solver) == Verified::Yes)
}
