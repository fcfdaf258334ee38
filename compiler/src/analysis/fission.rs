//! May a loop or branch be split in two at a point of its body?

use crate::analysis::commute::{self, conflict, declared_and_used, order_matters, scoping};
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::config_flow::{self, Unknowns};
use crate::analysis::effects::{AccessKind, Cell, Effects};
use crate::analysis::facts::Facts;
use crate::analysis::idempotence;
use crate::analysis::iterations::{before, bounds, loop_at};
use crate::analysis::mutation;
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::analysis::stationary;
use crate::analysis::steady::{set_anew, steady, without};
use crate::cursor::path::{self, Path, Step};
use crate::loop_ir::{Block, Proc, StmtKind, configuration, visit};
use crate::symbol::Sym;

/// Answers [`Question::Fission`](crate::analysis::conditions::Question::Fission).
///
/// Splitting moves the first half of every later iteration over the second half of every earlier one, so these must
/// commute; a store of the first half may also be one that stores the same value whenever it stores into a location, if the
/// second half only reads what was stored in its own iteration. A first half without the iterator may instead run once for
/// all: then it must be idempotent, and nothing the second half changes may be anything the first half touches.
pub(crate) fn fission(proc: &Proc, scope: &Path, split: usize, solver: &mut Solver) -> Result<(), Unproven> {
    let Some(looped) = loop_at(proc, scope) else { return Err(misplaced("the loop")) };
    let (Some(first), Some(second)) = (looped.body.part(..split), looped.body.part(split..)) else {
        return Err(misplaced("the place to split at"));
    };
    if let Some(name) = declared_and_used(&first, &second)
        .filter(|_| !mutation::passes("fission keeps declarations with their uses", false))
    {
        return Err(scoping(proc, &name).at(&scope.child(Step::Body(split))));
    }
    let field = configuration::disturbed([looped.lo, looped.hi], looped.body);
    if let Some(field) = field.filter(|_| !mutation::passes("a split loop keeps what its bounds read", false)) {
        let condition = format!("the bounds of the loop keep their values, but its body writes `{field}`");
        return Err(Unproven::new(condition).at(scope));
    }
    let facts = Facts::at(proc, scope);
    let inside = inside(proc, scope, &facts);
    let Halves { whole, first: all_a, second: all_b } = halves(scope, looped.body, split, &inside, solver);
    let mut within = facts.clone();
    bounds(&facts, looped, looped.iter).into_iter().for_each(|formula| within.add(formula));
    let mut fields = steady(looped.body, &[looped.iter], &whole, &inside.scope, &within, solver);
    fields.extend(set_anew(looped.body, (&all_a, &all_b), &within, solver));
    let (a, b) = (without(&all_a, &fields), without(&all_b, &fields));
    let (later, fresh) = a.of_other_iteration(&[looped.iter]);
    let Some(next) = fresh.first() else { return Err(misplaced("the iterator")) };
    let mut apart = facts.clone();
    for symbol in [looped.iter, next] {
        bounds(&facts, looped, symbol).into_iter().for_each(|formula| apart.add(formula));
    }
    before(looped.iter, next).into_iter().for_each(|formula| apart.add(formula));
    // The message names the second half first: that is the order in which the loop runs the two.
    let mut settled: Vec<Sym> = Vec::new();
    let meeting = loop {
        let reads_settled =
            |x: &Cell, y: &Cell| x.kind == AccessKind::Read && y.kind.modifies() && settled.contains(&y.root);
        let matters = |x: &Cell, y: &Cell| order_matters(x, y) && !reads_settled(x, y);
        let Err(meeting) = overlap::first_meeting(&apart, &b, &later, &[], &matters, solver) else { return Ok(()) };
        let root = meeting.first.root.clone();
        // A store that only repeats what was stored there before the read does not disturb it.
        let repeats = meeting.first.kind == AccessKind::Read
            && stationary::stores_alike(proc, looped, &facts, &whole, &root, solver)
            && stationary::stored_before_read(&apart, &b, &later, &whole, &root, solver);
        if !repeats {
            break meeting;
        }
        settled.push(root);
    };
    let free =
        mutation::passes("a first half that runs once has no iterator", !visit::block_mentions(&first, looped.iter));
    if free && runs_once(&facts, &all_a, &all_b, &within, solver) {
        return Ok(());
    }
    Err(conflict(proc, &meeting, "the first half of later iterations may run before the second half of earlier ones"))
}

/// What is known at the start of some iteration.
fn inside(proc: &Proc, scope: &Path, facts: &Facts) -> Facts {
    let mut inside = facts.clone();
    if let Some(stmt) = path::stmt(proc, scope) {
        config_flow::enter_loop(stmt, &mut inside.scope, &mut Unknowns::Dropped);
    }
    inside
}

/// The effects of a body, and of both halves of it, found in one walk.
struct Halves {
    whole: Effects,
    first: Effects,
    second: Effects,
}

fn halves(scope: &Path, body: &Block, split: usize, inside: &Facts, solver: &mut Solver) -> Halves {
    let place = crate::analysis::iterations::body_run(scope, 0, body.len());
    let whole = commute::effects_in(body, &place, inside, solver);
    let (mut a, mut b) = (Effects::default(), Effects::default());
    for cell in &whole.cells {
        let position = cell.at.0.get(scope.0.len()).and_then(|step| step.in_list());
        let half = if position.is_some_and(|(_, at)| at < split) { &mut a } else { &mut b };
        half.cells.push(cell.clone());
    }
    Halves { whole, first: a, second: b }
}

/// Whether the first half, which does not depend on the iterator, does in one run what it does in all.
fn runs_once(facts: &Facts, a: &Effects, b: &Effects, within: &Facts, solver: &mut Solver) -> bool {
    // Whatever the second half changes must be nothing to the first: not even a reduction into a place that it resets.
    let disturbs = |x: &Cell, _: &Cell| x.kind.modifies();
    let undisturbed = overlap::first_meeting(within, b, a, &[], &disturbs, solver).is_ok();
    undisturbed && idempotence::repeatable(facts, a, solver).is_ok()
}

/// Answers [`Question::BranchSplit`](crate::analysis::conditions::Question::BranchSplit).
///
/// The second `if` decides like the first when nothing that runs between the two decisions writes a configuration field that
/// the condition reads; nothing else that it can read ever changes. That is the first half and, when it is of an `else`, also
/// the whole body, which stays in the first `if`. What is left is scoping.
pub(crate) fn branch_split(proc: &Proc, scope: &Path, split: usize, orelse: bool) -> Result<(), Unproven> {
    let Some(StmtKind::If { cond, body, orelse: other }) = path::stmt(proc, scope).map(|stmt| &stmt.kind) else {
        return Err(misplaced("the branch to split"));
    };
    let list = if orelse { other } else { body };
    let Some((first, second)) = list.part(..split).zip(list.part(split..)) else {
        return Err(misplaced("the branch to split"));
    };
    let mut between = vec![("the first half", &first)];
    if orelse {
        between.push(("the body", body));
    }
    for (part, block) in between {
        if let Some(field) = configuration::disturbed([cond], block)
            && !mutation::passes("a split branch keeps what its condition reads", false)
        {
            let condition = format!("the condition keeps its value, but {part} writes `{field}`");
            return Err(Unproven::new(condition).at(scope));
        }
    }
    match declared_and_used(&first, &second)
        .filter(|_| !mutation::passes("a split branch keeps declarations with their uses", false))
    {
        Some(name) => Err(scoping(proc, &name).at(&scope.child(Step::statement(orelse, split)))),
        None => Ok(()),
    }
}
