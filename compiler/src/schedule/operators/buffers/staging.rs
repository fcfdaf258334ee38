//! Accesses against a staging window: inside, disjoint or neither.

use crate::analysis::conditions::{Question, Side};
use crate::analysis::facts::{Facts, prove};
use crate::analysis::solver::{Answer, Solver};
use crate::cursor::path::Path;
use crate::loop_ir::{Access, BinaryOp, Expr, Proc, build};

/// How an access lies to a window, with the condition that shows it.
pub(in crate::schedule::operators) enum Relation {
    Inside(Question),
    Disjoint(Question),
    Neither,
}

/// Where an access at a statement lies. An access has elements, and so has a window that something is staged for, which is asked.
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
