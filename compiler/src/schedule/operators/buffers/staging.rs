//! Accesses against a staging window: inside, disjoint or neither, and whether a block surely fills the window first.

use crate::analysis::conditions::{Question, Side};
use crate::analysis::facts::{Facts, prove};
use crate::analysis::solver::{Answer, Solver};
use crate::cursor::path::{self, BlockPlace, Path, Step};
use crate::loop_ir::substitute::{Substitution, substitute};
use crate::loop_ir::{Access, BinaryOp, Expr, Proc, StmtKind, build, visit};
use crate::schedule::operators::buffers::uses::{UseKind, uses};
use crate::symbol::Sym;

/// How an access lies to a window, with the condition that shows it.
pub(in crate::schedule::operators) enum Relation {
    Inside(Question),
    Disjoint(Question),
    Neither,
}

/// Where an access at a statement lies. Empty windows and accesses do not exist in the language.
pub(in crate::schedule::operators) fn relate(
    proc: &Proc,
    at: &Path,
    access: &[Access],
    window: &[Access],
    solver: &mut Solver,
) -> Relation {
    let facts = Facts::at(proc, at);
    let question =
        |cond: Expr, what: &str| Question::Holds { side: Side::Before, at: at.clone(), cond, what: what.to_string() };
    let pairs = || access.iter().zip(window);
    let inside = pairs().flat_map(|(access, window)| inside(access, window)).reduce(build::and);
    let inside = inside.unwrap_or_else(|| build::boolean(true));
    if prove(solver, &facts, &inside) == Answer::Proved {
        return Relation::Inside(question(inside, "the access lies inside the window"));
    }
    let apart = pairs().flat_map(|(access, window)| apart(access, window));
    let Some(apart) = apart.reduce(|a, b| build::binary(BinaryOp::Or, a, b)) else { return Relation::Neither };
    match prove(solver, &facts, &apart) {
        Answer::Proved => Relation::Disjoint(question(apart, "the access lies outside the window")),
        Answer::Refuted(_) | Answer::Unknown => Relation::Neither,
    }
}

/// First and one-past-last index of an access in one dimension.
fn ends(access: &Access) -> (Expr, Expr) {
    match access {
        Access::Point(point) => (point.clone(), build::sum(point, &build::int(1))),
        Access::Interval { lo, hi } => (lo.clone(), hi.clone()),
    }
}

fn inside(access: &Access, window: &Access) -> Vec<Expr> {
    let at_most = |a: &Expr, b: &Expr| build::binary(BinaryOp::Le, a.clone(), b.clone());
    match (access, window) {
        (Access::Point(access), Access::Point(window)) => {
            vec![build::binary(BinaryOp::Eq, access.clone(), window.clone())]
        }
        (Access::Point(access), Access::Interval { lo, hi }) => {
            vec![at_most(lo, access), build::less(access.clone(), hi.clone())]
        }
        (Access::Interval { .. }, _) => {
            let ((access_lo, access_hi), (lo, hi)) = (ends(access), ends(window));
            vec![at_most(&lo, &access_lo), at_most(&access_hi, &hi)]
        }
    }
}

fn apart(access: &Access, window: &Access) -> [Expr; 2] {
    let ((access_lo, access_hi), (lo, hi)) = (ends(access), ends(window));
    [build::binary(BinaryOp::Le, access_hi, lo), build::binary(BinaryOp::Le, hi, access_lo)]
}

/// Conditions under which every element of the window is written before any of it is read: the first statement of the
/// block that uses the buffer is an assignment in a loop nest that runs over exactly the window. `None` when the code
/// does not have that form.
pub(in crate::schedule::operators) fn filled_first(
    proc: &Proc,
    block: &BlockPlace,
    buffer: &Sym,
    window: &[Access],
) -> Option<Vec<Question>> {
    let first = (0..block.len())
        .map(|k| block.statement(k))
        .find(|at| BlockPlace::of_statement(at).is_some_and(|place| !uses(proc, &place, buffer).is_empty()))?;
    let nest = BlockPlace::of_statement(&first)?;
    let [only] = uses(proc, &nest, buffer).try_into().ok()?;
    let UseKind::Write { idx, reduce: false } = only.kind else { return None };
    let mut loops = Vec::new();
    let mut at = first.clone();
    let mut stmt = path::stmt(proc, &at)?;
    while let StmtKind::For { iter, lo, hi, body, .. } = &stmt.kind {
        let [inner] = body.as_slice() else { return None };
        loops.push((iter.clone(), lo.clone(), hi.clone()));
        at = at.child(Step::Body(0));
        stmt = inner;
    }
    matches!(stmt.kind, StmtKind::Assign { .. }).then_some(())?;
    covers(&first, &at, loops, &idx, window)
}

type Loop = (Sym, Expr, Expr);

fn covers(nest: &Path, leaf: &Path, loops: Vec<Loop>, idx: &[Expr], window: &[Access]) -> Option<Vec<Question>> {
    let equal = |at: &Path, lhs: Expr, rhs: Expr| Question::Equal {
        side: Side::Before,
        at: at.clone(),
        lhs,
        rhs,
        what: "the block fills the window before it reads it".to_string(),
    };
    let mut questions = Vec::new();
    let mut left = loops;
    for (index, access) in idx.iter().zip(window) {
        let Access::Interval { lo, hi } = access else { continue };
        let position = left.iter().position(|(iter, _, _)| visit::mentions(index, iter))?;
        let (iter, from, to) = left.remove(position);
        let at_iter = |value: Expr| substitute(index, &Substitution::from([(iter.clone(), value)]));
        // The index steps by one, from the window's first element to its last.
        let next = at_iter(build::add(build::index(&iter), build::int(1)));
        questions.push(equal(leaf, next, build::sum(index, &build::int(1))));
        questions.push(equal(nest, at_iter(from), lo.clone()));
        questions.push(equal(nest, at_iter(to), hi.clone()));
    }
    // Loops that no index uses must run at least once.
    questions.extend(left.into_iter().map(|(_, lo, hi)| Question::Holds {
        side: Side::Before,
        at: nest.clone(),
        cond: build::less(lo, hi),
        what: "the block fills the window before it reads it".to_string(),
    }));
    Some(questions)
}

/// Whether all conditions hold.
pub(in crate::schedule::operators) fn all_hold(questions: &[Question], proc: &Proc, solver: &mut Solver) -> bool {
    questions.iter().all(|question| question.answer(proc, proc, solver).is_ok())
}
