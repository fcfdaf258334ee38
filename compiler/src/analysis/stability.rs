//! Do data expressions keep their values from one statement to another?

use crate::analysis::commute::{self, effects_in};
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::effects::{AccessKind, Cell, Effects};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::iterations::{body_run, loop_parts};
use crate::analysis::lift;
use crate::analysis::linear::Linear;
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::analysis::{callees, effects};
use crate::cursor::path::{self, BlockPlace, Path};
use crate::loop_ir::{Block, Expr, ExprKind, Proc, Ty, configuration, visit};
use crate::print::Names;
use crate::symbol::Sym;

/// Answers [`Question::Unchanged`](crate::analysis::conditions::Question::Unchanged).
///
/// `from` must stand in a list that also holds `to` or something around it, at or before it. Both places are the starts
/// of their statements.
pub(crate) fn unchanged(
    proc: &Proc,
    from: &Path,
    to: &Path,
    exprs: &[Expr],
    solver: &mut Solver,
) -> Result<(), Unproven> {
    let facts = Facts::at(proc, from);
    let reads = reads(exprs, &facts);
    let Some(between) = between(proc, from, to) else {
        return Err(misplaced("a path from the first place to the second"));
    };
    for place in &between {
        let Some(changes) = changes(proc, place, solver) else { return Err(misplaced("the statements between")) };
        let writes: Vec<&Cell> = changes.cells.iter().filter(|cell| cell.kind.modifies()).collect();
        for read in &reads {
            for change in writes.iter().copied().filter(|cell| cell.root == read.root) {
                match overlap::impossible(&facts, overlap::meeting(read, change), solver) {
                    Verified::Yes => {}
                    why => {
                        let names = Names::of(proc);
                        let line = path::stmt(proc, &change.at).map_or(String::new(), |stmt| names.headline(stmt));
                        let condition = format!(
                            "`{}` keeps its value, but `{line}` {} it",
                            names.get(&read.root),
                            change.kind.verb()
                        );
                        return Err(Unproven::new(condition).at(&change.at).with(&why, &names));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Answers [`Question::ConfigKept`](crate::analysis::conditions::Question::ConfigKept).
pub(crate) fn config_kept(proc: &Proc, at: &Path, exprs: &[Expr]) -> Result<(), Unproven> {
    let Some(stmt) = path::stmt(proc, at) else { return Err(misplaced("the statement")) };
    match configuration::disturbed(exprs, &Block::one(stmt.clone())) {
        None => Ok(()),
        Some(field) => {
            let names = Names::of(proc);
            let changed = |expr: &&Expr| configuration::disturbed([*expr], &Block::one(stmt.clone())).is_some();
            let reading = exprs.iter().find(changed).map_or(String::new(), |expr| names.expr(expr));
            let condition = format!("`{reading}` keeps its value while the code runs, but the code writes `{field}`");
            Err(Unproven::new(condition).at(at))
        }
    }
}

/// The elements that expressions read.
fn reads(exprs: &[Expr], facts: &Facts) -> Vec<Cell> {
    let mut cells = Vec::new();
    for expr in exprs {
        visit::each_expr(expr, &mut |node| {
            let place = match &node.kind {
                ExprKind::Read { name, idx } if node.ty == Ty::Data => element(name, idx, facts),
                ExprKind::Window { .. } => callees::argument(node, &facts.scope).map(|alias| (alias.root, None)),
                ExprKind::ReadConfig(field) => Some((field.symbol(), Some(Vec::new()))),
                ExprKind::Read { .. }
                | ExprKind::Const(_)
                | ExprKind::Neg(_)
                | ExprKind::Binary { .. }
                | ExprKind::Extern { .. }
                | ExprKind::Stride { .. } => None,
            };
            cells.extend(place.map(|(root, coords)| Cell {
                kind: AccessKind::Read,
                root,
                exact: coords.is_some(),
                coords,
                bound: Vec::new(),
                guard: Vec::new(),
                ticks: Vec::new(),
                stored: None,
                at: Path::root(),
            }));
        });
    }
    cells
}

/// Root and coordinates; no coordinates stand for the whole buffer.
fn element(name: &Sym, idx: &[Expr], facts: &Facts) -> Option<(Sym, Option<Vec<Linear>>)> {
    let alias = facts.scope.alias(name)?;
    let index: Option<Vec<Linear>> = idx.iter().map(|index| lift::index(index, &facts.scope)).collect();
    let rank = facts.scope.shape(name).map_or(0, |shape| shape.len());
    let coords = match index {
        Some(index) if index.len() == rank => effects::root_coordinates(&alias, &index, &facts.scope),
        Some(_) | None => None,
    };
    Some((alias.root, coords))
}

/// What may run after the start of `from` and before the start of `to`, as runs of statements. A loop around `to` counts
/// whole: its earlier iterations.
fn between(proc: &Proc, from: &Path, to: &Path) -> Option<Vec<BlockPlace>> {
    let (parent, orelse, first) = from.list_position()?;
    let depth = parent.0.len();
    if !to.0.starts_with(&parent.0) {
        return None;
    }
    let (branch, last) = to.0.get(depth)?.in_list()?;
    if branch != orelse || last < first {
        return None;
    }
    let mut runs = Vec::new();
    let mut push = |parent: &Path, orelse: bool, lo: usize, hi: usize| {
        if lo < hi {
            runs.push(BlockPlace { parent: parent.clone(), orelse, lo, hi });
        }
    };
    push(&parent, orelse, first, last);
    let mut around = parent.child(*to.0.get(depth)?);
    for step in to.0.get(depth + 1..)? {
        let (branch, position) = step.in_list()?;
        match path::stmt(proc, &around).and_then(loop_parts) {
            Some(looped) => push(&around, false, 0, looped.body.len()),
            None => push(&around, branch, 0, position),
        }
        around = around.child(*step);
    }
    Some(runs)
}

/// What a run does, for whatever values the iterators around it have.
fn changes(proc: &Proc, place: &BlockPlace, solver: &mut Solver) -> Option<Effects> {
    let block = path::block(proc, place)?;
    let looped = path::stmt(proc, &place.parent).and_then(loop_parts);
    match looped {
        Some(looped) if *place == body_run(&place.parent, 0, looped.body.len()) => {
            // Any iteration: the loop itself, as one statement, binds its iterator.
            commute::block_effects(proc, &BlockPlace::of_statement(&place.parent)?, solver).map(|(_, found)| found)
        }
        Some(_) | None => {
            let facts = Facts::at(proc, &place.statement(0));
            let found = effects_in(&block, place, &facts, solver);
            Some(found)
        }
    }
}
