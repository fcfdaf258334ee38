//! Questions about pairs of iterations: interchange, independence, and values that pass between iterations.

use crate::analysis::commute::{self, conflict, order_matters};
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::config_flow::{self, Unknowns};
use crate::analysis::effects::{self, AccessKind, Cell, Effects};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::linear::Linear;
use crate::analysis::mutation;
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::analysis::steady::{steady, without};
use crate::cursor::path::{self, BlockPlace, Path};
use crate::loop_ir::{Block, Expr, Proc, Stmt, StmtKind, configuration, visit};
use crate::print::Names;
use crate::symbol::Sym;

/// The parts of a loop.
#[derive(Clone, Copy)]
pub(crate) struct Loop<'a> {
    pub(crate) iter: &'a Sym,
    pub(crate) lo: &'a Expr,
    pub(crate) hi: &'a Expr,
    pub(crate) body: &'a Block,
}

pub(crate) fn loop_at<'a>(proc: &'a Proc, at: &Path) -> Option<Loop<'a>> {
    path::stmt(proc, at).and_then(loop_parts)
}

pub(crate) fn loop_parts(stmt: &Stmt) -> Option<Loop<'_>> {
    match &stmt.kind {
        StmtKind::For { iter, lo, hi, body, .. } => Some(Loop { iter, lo, hi, body }),
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::If { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. } => None,
    }
}

/// The run `lo..hi` of a loop's body.
pub(crate) fn body_run(scope: &Path, lo: usize, hi: usize) -> BlockPlace {
    BlockPlace { parent: scope.clone(), orelse: false, lo, hi }
}

/// `lo <= symbol < hi` with the bounds of a loop.
pub(crate) fn bounds(facts: &Facts, looped: Loop<'_>, symbol: &Sym) -> Vec<Formula> {
    effects::range(symbol, facts.index(looped.lo), facts.index(looped.hi))
}

/// `a < b`; left out when it cannot be expressed, which only makes more pairs meet.
pub(crate) fn before(a: &Sym, b: &Sym) -> Option<Formula> {
    Formula::below(&Linear::symbol(a), &Linear::symbol(b))
}

/// Answers [`Question::Interchange`](crate::analysis::conditions::Question::Interchange).
pub(crate) fn interchange(proc: &Proc, outer: &Path, solver: &mut Solver) -> Result<(), Unproven> {
    let nest = loop_at(proc, outer).and_then(|parts| {
        let inner = parts.body.only()?;
        Some((parts, loop_parts(inner)?))
    });
    let Some((x, y)) = nest else { return Err(misplaced("a loop with another as its whole body")) };
    let free = !visit::mentions(y.lo, x.iter) && !visit::mentions(y.hi, x.iter);
    if !mutation::passes("the bounds of an interchanged loop are free of the other's iterator", free) {
        let names = Names::of(proc);
        let condition = format!("the bounds of `{}` do not mention `{}`", names.get(y.iter), names.get(x.iter));
        return Err(Unproven::new(condition).at(outer));
    }
    let inner = outer.child(crate::cursor::Step::Body(0));
    let field = configuration::disturbed([x.lo, x.hi, y.lo, y.hi], y.body);
    if let Some(field) = field.filter(|_| !mutation::passes("interchanged loops keep what their bounds read", false)) {
        let condition = format!("the bounds of the loops keep their values, but the body writes `{field}`");
        return Err(Unproven::new(condition).at(outer));
    }
    let place = body_run(&inner, 0, y.body.len());
    let mut facts = Facts::at(proc, outer);
    let mut inside = facts.clone();
    for at in [outer, &inner] {
        if let Some(stmt) = path::stmt(proc, at) {
            config_flow::enter_loop(stmt, &mut inside.scope, &mut Unknowns::Dropped);
        }
    }
    let here = commute::effects_in(y.body, &place, &inside, solver);
    let mut within = facts.clone();
    for looped in [x, y] {
        bounds(&facts, looped, looped.iter).into_iter().for_each(|formula| within.add(formula));
    }
    let settled = steady(y.body, &[x.iter, y.iter], &here, &inside.scope, &within, solver);
    let here = without(&here, &settled);
    let (there, fresh) = here.of_other_iteration(&[x.iter, y.iter]);
    let [x2, y2] = fresh.as_slice() else { return Err(misplaced("both iterators")) };
    // Only pairs whose order flips: x < x' and y' < y.
    for (looped, symbol) in [(x, x.iter), (x, x2), (y, y.iter), (y, y2)] {
        bounds(&facts.clone(), looped, symbol).into_iter().for_each(|formula| facts.add(formula));
    }
    [before(x.iter, x2), before(y2, y.iter)].into_iter().flatten().for_each(|formula| facts.add(formula));
    overlap::first_meeting(&facts, &here, &there, &[], &order_matters, solver)
        .map_err(|meeting| conflict(proc, &meeting, "iterations that change their order are independent"))
}

/// The effects of one iteration and of a later one, and facts that say so.
pub(crate) struct Pair {
    pub(crate) facts: Facts,
    pub(crate) early: Effects,
    pub(crate) late: Effects,
    /// The iterator's value in the later one.
    pub(crate) later: Linear,
}

/// Two iterations of a loop, the first before the second.
pub(crate) fn pair(proc: &Proc, scope: &Path, solver: &mut Solver) -> Option<Pair> {
    let looped = loop_at(proc, scope)?;
    let place = body_run(scope, 0, looped.body.len());
    let mut facts = Facts::at(proc, scope);
    let mut inside = facts.clone();
    config_flow::enter_loop(path::stmt(proc, scope)?, &mut inside.scope, &mut Unknowns::Dropped);
    let early = commute::effects_in(looped.body, &place, &inside, solver);
    let (late, fresh) = early.of_other_iteration(&[looped.iter]);
    let later = fresh.first()?;
    for symbol in [looped.iter, later] {
        bounds(&facts.clone(), looped, symbol).into_iter().for_each(|formula| facts.add(formula));
    }
    before(looped.iter, later).into_iter().for_each(|formula| facts.add(formula));
    Some(Pair { facts, early, late, later: Linear::symbol(later) })
}

/// Answers [`Question::IndependentIterations`](crate::analysis::conditions::Question::IndependentIterations).
pub(crate) fn independent(proc: &Proc, scope: &Path, solver: &mut Solver) -> Result<(), Unproven> {
    let Some(pair) = pair(proc, scope, solver) else { return Err(misplaced("the loop")) };
    if let Some(at) =
        pair.early.statics.first().filter(|_| !mutation::passes("iterations share no static memory", false))
    {
        return Err(Unproven::new("iterations share no static memory")
            .at(at)
            .hint("static memory is one array for all threads; allocate on the stack instead"));
    }
    // A reduction is a read and a write that another thread can come between.
    let touched = |a: &Cell, b: &Cell| a.kind.modifies() || b.kind.modifies();
    overlap::first_meeting(&pair.facts, &pair.early, &pair.late, &[], &touched, solver).map_err(|meeting| {
        let unproven = conflict(proc, &meeting, "different iterations are independent");
        let sums = [&meeting.first, &meeting.second].iter().all(|cell| cell.kind == AccessKind::Reduce);
        match sums {
            true => unproven.hint(
                "a parallel loop cannot sum into one place: let each iteration sum into an element of its own and \
                     add the elements up in a `seq` loop, or parallelize a loop around the sum",
            ),
            false => unproven,
        }
    })
}

/// Answers [`Question::DeadBetweenIterations`](crate::analysis::conditions::Question::DeadBetweenIterations).
pub(crate) fn dead_between(proc: &Proc, scope: &Path, buffer: &Sym, solver: &mut Solver) -> Result<(), Unproven> {
    let Some(pair) = pair(proc, scope, solver) else { return Err(misplaced("the loop")) };
    for reader in pair.late.of_root(buffer).filter(|cell| cell.kind.observes()) {
        let exposed = overlap::exposed(reader, &pair.late);
        for writer in pair.early.of_root(buffer).filter(|cell| cell.kind.modifies()) {
            let passes = Formula::and(vec![overlap::meeting(writer, reader), exposed.clone()]);
            match overlap::impossible(&pair.facts, passes, solver) {
                Verified::Yes => {}
                why => {
                    let meeting = overlap::Meeting { first: writer.clone(), second: reader.clone(), why };
                    return Err(conflict(proc, &meeting, "no value passes from one iteration to a later one"));
                }
            }
        }
    }
    Ok(())
}
