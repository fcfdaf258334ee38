//! Conditions and loop bounds that asserts, loops and branches around decide, by the solver.

use crate::analysis::conditions::{Question, Side};
use crate::analysis::facts::Facts;
use crate::analysis::formula::Formula;
use crate::analysis::solver::{Satisfiable, Solver};
use crate::cursor::path::Path;
use crate::loop_ir::configuration::{self, ConfigState};
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{BinaryOp, Const, Expr, ExprKind, Proc, Stmt, build};
use crate::schedule::operators::guards::eliminate_dead_code::negated;

/// What is known at the place that a walk in the order of the text has reached, and what was decided so far.
pub(super) struct Decisions<'a> {
    proc: &'a Proc,
    facts: Facts,
    /// Statements change configuration state, which has to be followed.
    configured: bool,
    solver: &'a mut Solver,
    /// What was shown, about the proc as it was.
    pub(super) questions: Vec<Question>,
}

/// The state to return to behind a loop or a branch.
pub(super) struct Before {
    known: usize,
    config: ConfigState,
}

impl<'a> Decisions<'a> {
    pub(super) fn new(proc: &'a Proc, solver: &'a mut Solver) -> Self {
        // A name means one thing in the whole proc, so that knowing more of them than are visible changes no answer.
        let facts = Facts { scope: Declarations::of(proc), ..Facts::of(proc) };
        let configured = configuration::may_write(&proc.body);
        Decisions { proc, facts, configured, solver, questions: Vec::new() }
    }

    pub(super) fn pass(&mut self, stmt: &Stmt) {
        if self.configured {
            self.facts.pass(stmt);
        }
    }

    pub(super) fn enter_loop(&mut self, stmt: &Stmt) -> Before {
        let before = self.before();
        self.facts.enter_loop(stmt);
        before
    }

    pub(super) fn enter_branch(&mut self, cond: &Expr, holds: bool) -> Before {
        let before = self.before();
        match holds {
            true => self.facts.assume(cond),
            false => self.facts.assume_not(cond),
        }
        before
    }

    pub(super) fn leave(&mut self, before: Before) {
        self.facts.known.truncate(before.known);
        self.facts.scope.config = before.config;
    }

    fn before(&self) -> Before {
        Before { known: self.facts.known.len(), config: self.facts.scope.config.clone() }
    }

    /// Whether a loop at `at` surely has no iteration.
    pub(super) fn never_runs(&mut self, lo: &Expr, hi: &Expr, at: &Path) -> bool {
        self.always(&build::binary(BinaryOp::Ge, lo.clone(), hi.clone()), at)
    }

    /// The condition of the branch at `at` without the parts that are decided; the same node where none is.
    pub(super) fn condition(&mut self, cond: &Expr, at: &Path) -> Expr {
        match &cond.kind {
            ExprKind::Const(_) => cond.clone(),
            ExprKind::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), lhs, rhs } => {
                let (left, right) = (self.condition(lhs, at), self.condition(rhs, at));
                // `and` ends at false, `or` at true.
                let ends = *op == BinaryOp::Or;
                match (truth(&left), truth(&right)) {
                    (Some(value), _) | (_, Some(value)) if value == ends => build::boolean(ends),
                    (Some(_), _) => right,
                    (_, Some(_)) => left,
                    (None, None) => self.whole(cond, build_like(cond, *op, (lhs, rhs), (left, right)), at),
                }
            }
            _ => self.whole(cond, cond.clone(), at),
        }
    }

    /// `cond` decided as a whole, or `otherwise`.
    fn whole(&mut self, cond: &Expr, otherwise: Expr, at: &Path) -> Expr {
        if self.always(cond, at) {
            return build::boolean(true);
        }
        match negated(cond) {
            Some(never) if self.always(&never, at) => build::boolean(false),
            Some(_) | None => otherwise,
        }
    }

    fn always(&mut self, cond: &Expr, at: &Path) -> bool {
        let Some(opposite) = self.facts.boolean(cond).as_ref().and_then(Formula::negated) else { return false };
        if self.solver.satisfiable(&self.facts.known, &opposite) != Satisfiable::No {
            return false;
        }
        let question = Question::Holds { side: Side::Before, at: at.clone(), cond: cond.clone(), what: String::new() };
        let holds = question.holds(self.proc, self.proc, self.solver);
        if holds {
            self.questions.push(question);
        }
        holds
    }
}

fn truth(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Const(Const::Bool(value)) => Some(*value),
        _ => None,
    }
}

/// `left op right`, the same node where neither side changed.
fn build_like(cond: &Expr, op: BinaryOp, (lhs, rhs): (&Expr, &Expr), (left, right): (Expr, Expr)) -> Expr {
    match left == *lhs && right == *rhs {
        true => cond.clone(),
        false => build::binary(op, left, right),
    }
}
