//! Can anything have been written to a local buffer before it is read?

use std::collections::BTreeMap;

use crate::analysis::commute;
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::effects::{self, Cell, Local, Tick};
use crate::analysis::facts::Facts;
use crate::analysis::filling::element;
use crate::analysis::formula::Formula;
use crate::analysis::linear::Linear;
use crate::analysis::mutation;
use crate::analysis::overlap;
use crate::analysis::solver::{Satisfiable, Solver};
use crate::cursor::path::{self, BlockPlace, Path};
use crate::loop_ir::summary::NameFilter;
use crate::loop_ir::{Access, Proc, Stmt, StmtKind};
use crate::symbol::Sym;

/// The reads of local buffers that may happen and surely see nothing: no write that comes before any of their instances
/// reaches the element.
pub(crate) fn blind_reads<'e>(
    facts: &Facts,
    cells: &'e [Cell],
    locals: &[Local],
    solver: &mut Solver,
) -> Vec<&'e Cell> {
    let of_local = |local: &Local| Uses { depth: local.depth, writers: Writers::default(), readers: Vec::new() };
    let mut of_buffer: BTreeMap<&Sym, Uses<'e>> = locals.iter().map(|local| (&local.name, of_local(local))).collect();
    for (at, cell) in cells.iter().enumerate() {
        let Some(uses) = of_buffer.get_mut(&cell.root) else { continue };
        if cell.kind.observes() {
            uses.readers.push((at, cell));
        }
        if cell.kind.modifies() {
            uses.writers.add(at, cell);
        }
    }
    let mut blind = Vec::new();
    for Uses { depth, writers, readers } in of_buffer.into_values() {
        for (at, reader) in readers {
            if !writers.surely_before(at, reader)
                && writers.none_before(depth, at, reader, &facts.known, solver)
                && happens(reader, facts, solver)
            {
                blind.push((at, reader));
            }
        }
    }
    blind.sort_by_key(|(at, _)| *at);
    blind.into_iter().map(|(_, cell)| cell).collect()
}

fn happens(cell: &Cell, facts: &Facts, solver: &mut Solver) -> bool {
    matches!(solver.satisfiable(&facts.known, &Formula::and(cell.guard.clone())), Satisfiable::Yes(_))
}

/// What happens to one buffer.
struct Uses<'e> {
    /// How many loops stand around its allocation.
    depth: usize,
    writers: Writers<'e>,
    readers: Vec<(usize, &'e Cell)>,
}

/// The writes of one buffer, in the order of the text.
#[derive(Default)]
struct Writers<'e> {
    all: Vec<(usize, &'e Cell)>,
    /// Positions in `all` of those with exactly these coordinates.
    by_place: BTreeMap<&'e [Linear], Vec<usize>>,
}

impl<'e> Writers<'e> {
    fn add(&mut self, at: usize, cell: &'e Cell) {
        if let Some(coords) = &cell.coords {
            self.by_place.entry(coords).or_default().push(self.all.len());
        }
        self.all.push((at, cell));
    }

    /// Whether an earlier statement writes the very element wherever the reader runs, so that the solver need not be asked.
    fn surely_before(&self, at: usize, reader: &Cell) -> bool {
        let Some(places) = reader.coords.as_deref().and_then(|coords| self.by_place.get(coords)) else { return false };
        let same = places.iter().rev().filter_map(|place| self.all.get(*place));
        same.filter(|(position, _)| *position < at)
            .any(|(_, writer)| writer.precedes(reader) && writer.guard.iter().all(|guard| reader.guard.contains(guard)))
    }

    /// Whether no write can have reached what the reader sees. The nearest ones are asked about first.
    fn none_before(&self, depth: usize, at: usize, reader: &Cell, known: &[Formula], solver: &mut Solver) -> bool {
        let split = self.all.partition_point(|(position, _)| *position < at);
        let (earlier, later) = self.all.split_at_checked(split).unwrap_or((&self.all, &[]));
        earlier.iter().rev().chain(later).all(|(_, writer)| match reaches(writer, reader, depth) {
            Some(formula) => solver.satisfiable(known, &formula) == Satisfiable::No,
            None => false,
        })
    }
}

/// The formula "an instance of `writer` comes before one of `reader` and writes what that one reads", where the first
/// `depth` loops stand around the allocation. `None` where it has no form.
fn reaches(writer: &Cell, reader: &Cell, depth: usize) -> Option<Formula> {
    let map: Vec<(Sym, Sym)> =
        writer.bound.iter().skip(depth).map(|symbol| (symbol.clone(), symbol.renewed())).collect();
    let other = effects::rename(writer, &map);
    let shared = writer.common_loops(reader);
    let mut orders = Vec::new();
    let mut same = Vec::new();
    for at in depth..shared {
        let (early, late) = (Linear::symbol(other.bound.get(at)?), Linear::symbol(reader.bound.get(at)?));
        let mut order = same.clone();
        order.push(Formula::below(&early, &late)?);
        orders.push(Formula::and(order));
        same.push(Formula::equal(&early, &late)?);
    }
    if writer.precedes(reader) {
        orders.push(Formula::and(same));
    }
    Some(Formula::and(vec![Formula::or(orders), overlap::meeting(&other, reader)]))
}

/// Answers [`Question::NeverWritten`](crate::analysis::conditions::Question::NeverWritten).
pub(crate) fn never_written(
    proc: &Proc,
    block: &BlockPlace,
    buffer: &Sym,
    window: &[Access],
    solver: &mut Solver,
) -> Result<(), Unproven> {
    let at = block.statement(0);
    let facts = Facts::at(proc, &at);
    let Some(reader) = element(&facts, buffer, window) else {
        return Err(misplaced("a window with affine bounds"));
    };
    let refused = |solver: &Solver| {
        let names = solver.names(proc);
        Err(Unproven::new(format!("nothing was written to the window of `{}` before", names.get(buffer))).at(&at))
    };
    let Some(life) = life(proc, &at, &reader.root) else { return refused(solver) };
    let Some(list) = path::block(proc, &life) else { return Err(misplaced("the statements")) };
    let effects = commute::effects_in(&list, &life, &Facts::at(proc, &life.statement(0)), solver);
    let (ticks, bound) = position(proc, &life, &at).ok_or_else(|| misplaced("the block"))?;
    let reader = Cell { ticks, bound, ..reader };
    for writer in effects.of_root(&reader.root).filter(|cell| cell.kind.modifies()) {
        let formula = reaches(writer, &reader, 0);
        let reached = formula.is_none_or(|formula| solver.satisfiable(&facts.known, &formula) != Satisfiable::No);
        if !mutation::passes("nothing was written before to what is not copied in", !reached) {
            return refused(solver);
        }
    }
    Ok(())
}

/// What follows the allocation of `buffer` in its list, when that list is around `at`. `None` for an argument.
fn life(proc: &Proc, at: &Path, buffer: &Sym) -> Option<BlockPlace> {
    if proc.args.iter().any(|arg| arg.name == *buffer) {
        return None;
    }
    let bound = NameFilter::of([buffer]);
    let mut here = at.clone();
    while let Some((parent, orelse, position)) = here.list_position() {
        let list = path::list(proc, &parent, orelse)?;
        let mut before = list.picked_before(position, |summary| summary.bound.meets(bound));
        let declares = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Alloc { name, .. } if name == buffer);
        if let Some((declared, _)) = before.find(|(_, stmt)| declares(stmt)) {
            return Some(BlockPlace { parent, orelse, lo: declared + 1, hi: list.len() });
        }
        here = parent;
    }
    None
}

/// The ticks and the iterators of the statement at `at` in the effects of `whole`.
fn position(proc: &Proc, whole: &BlockPlace, at: &Path) -> Option<(Vec<Tick>, Vec<Sym>)> {
    let (mut ticks, mut bound) = (Vec::new(), Vec::new());
    let start = whole.parent.0.len();
    for (depth, step) in at.0.iter().enumerate().skip(start) {
        let (orelse, position) = step.in_list()?;
        let mut position = position;
        if depth == start {
            position = position.checked_sub(whole.lo)?;
        } else {
            let around = Path(at.0.get(..depth)?.to_vec());
            match &path::stmt(proc, &around)?.kind {
                StmtKind::For { iter, .. } => {
                    ticks.push(Tick::Iteration);
                    bound.push(iter.clone());
                }
                _ => ticks.push(Tick::Branch(orelse)),
            }
        }
        ticks.push(Tick::At(u32::try_from(position).ok()?));
    }
    Some((ticks, bound))
}
