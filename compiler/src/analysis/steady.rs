//! Configuration fields that a loop body always sets to one value: their writes and reads may be put in another order.

use std::collections::BTreeSet;

use crate::analysis::effects::{AccessKind, Cell, Effects};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Block, Expr, ExprKind, Ty, visit};
use crate::symbol::Sym;

/// The fields, as roots of cells, that every write of the body sets to one value, the same in all iterations, and that
/// every read of the body finds so: because an iteration writes a field before it reads it, or because it held the value
/// before.
///
/// As long as each iteration keeps its own order, no order of iterations makes a difference to such a field. `whole` is
/// what one iteration does, `scope` the state at its start, `facts` hold in it.
pub(crate) fn steady(
    body: &Block,
    iters: &[&Sym],
    whole: &Effects,
    scope: &Declarations,
    facts: &Facts,
    solver: &mut Solver,
) -> BTreeSet<Sym> {
    if !body.summary().config.writes {
        return BTreeSet::new();
    }
    let mut fleeting = visit::bound_symbols(body);
    fleeting.extend(iters.iter().map(|iter| (*iter).clone()));
    let mut found = BTreeSet::new();
    for field in Touched::by_block(body).writes {
        let symbol = field.symbol();
        let Some(value) = one_value(whole, &symbol) else { continue };
        if !is_fixed(value, &fleeting, whole, scope) {
            continue;
        }
        let held_before = scope.config.value(&field).as_ref() == Some(value);
        let reads: Vec<&Cell> = whole.of_root(&symbol).filter(|cell| cell.kind == AccessKind::Read).collect();
        if held_before || reads.iter().all(|read| finds_own(read, whole, facts, solver)) {
            found.insert(symbol);
        }
    }
    found
}

/// The fields, as roots of cells, that each half of a body sets before it reads them, and that the second half surely sets.
///
/// Neither half sees what the other one left, and the last write is one of the second half, whether the halves alternate or all runs
/// of the first half come before. `facts` hold in an iteration.
pub(crate) fn set_anew(
    body: &Block,
    (first, second): (&Effects, &Effects),
    facts: &Facts,
    solver: &mut Solver,
) -> BTreeSet<Sym> {
    if !body.summary().config.writes {
        return BTreeSet::new();
    }
    let fields = Touched::by_block(body).writes.into_iter().map(|field| field.symbol());
    let anew = |symbol: &Sym| {
        let finds_own_in = |half: &Effects, solver: &mut Solver| {
            let reads: Vec<&Cell> = half.of_root(symbol).filter(|cell| cell.kind == AccessKind::Read).collect();
            reads.iter().all(|read| finds_own(read, half, facts, solver))
        };
        let sets = overlap::impossible(facts, overlap::unwritten(second, symbol, &[]), solver) == Verified::Yes;
        sets && finds_own_in(first, solver) && finds_own_in(second, solver)
    };
    fields.filter(anew).collect()
}

/// The effects without what they do to these roots.
pub(crate) fn without(effects: &Effects, roots: &BTreeSet<Sym>) -> Effects {
    let mut left = effects.clone();
    left.cells.retain(|cell| !roots.contains(&cell.root));
    left
}

/// The value that all writes of a field store.
fn one_value<'e>(whole: &'e Effects, symbol: &'e Sym) -> Option<&'e Expr> {
    let mut writes = whole.of_root(symbol).filter(|cell| cell.kind.modifies());
    let first = writes.next()?.stored.as_ref()?;
    writes.all(|cell| cell.stored.as_ref() == Some(first)).then_some(first)
}

/// Whether an expression means the same in every iteration.
fn is_fixed(value: &Expr, fleeting: &BTreeSet<Sym>, whole: &Effects, scope: &Declarations) -> bool {
    let mut fixed = true;
    visit::each_expr(value, &mut |node| {
        if let Some(name) = visit::named(node) {
            fixed &= !fleeting.contains(name);
        }
        if let ExprKind::Read { name, .. } = &node.kind
            && node.ty == Ty::Data
        {
            let root = scope.root(name).unwrap_or_else(|| name.clone());
            fixed &= !whole.of_root(&root).any(|cell| cell.kind.modifies());
        }
    });
    fixed
}

/// Whether a read never sees the value from before its iteration.
fn finds_own(read: &Cell, whole: &Effects, facts: &Facts, solver: &mut Solver) -> bool {
    let seen = Formula::and(read.guard.iter().cloned().chain([overlap::exposed(read, whole)]).collect());
    overlap::impossible(facts, seen, solver) == Verified::Yes
}
