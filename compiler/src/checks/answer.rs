//! Each safety question goes to the file that answers it.

use std::collections::BTreeSet;

use crate::analysis::conditions::{Question, Side, Unproven};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::solver::{Satisfiable, Solver};
use crate::analysis::{
    commute, config_change, filling, fission, folding, idempotence, iterations, liveness, recompute, stability,
    untouched, unwritten,
};
use crate::checks::{definition, fit};
use crate::cursor::Path;
use crate::hardware::config::ConfigField;
use crate::loop_ir::{Expr, Proc};

impl Question {
    /// Which of the two procs of a step the question is about.
    pub fn side(&self) -> Side {
        match self {
            Question::Holds { side, .. }
            | Question::Equal { side, .. }
            | Question::Commute { side, .. }
            | Question::Interchange { side, .. }
            | Question::Fission { side, .. }
            | Question::BranchSplit { side, .. }
            | Question::Idempotent { side, .. }
            | Question::IndependentIterations { side, .. }
            | Question::BufferInBounds { side, .. }
            | Question::DeadAfter { side, .. }
            | Question::DeadBetweenIterations { side, .. }
            | Question::FilledFirst { side, .. }
            | Question::NeverWritten { side, .. }
            | Question::Untouched { side, .. }
            | Question::Recompute { side, .. }
            | Question::Folds { side, .. }
            | Question::Unchanged { side, .. }
            | Question::ConfigKept { side, .. }
            | Question::ConfigWrite { side, .. }
            | Question::ConfigChange { side, .. }
            | Question::CallFits { side, .. }
            | Question::CallsValid { side, .. } => *side,
        }
    }

    /// Whether the answer is a proof, for who chooses between edits: no refusal is put into words.
    pub fn holds(&self, before: &Proc, after: &Proc, solver: &mut Solver) -> bool {
        solver.probe(|solver| self.answer(before, after, solver).is_ok())
    }

    /// Answers the question about a step that turned `before` into `after`. `Ok` is a proof; anything else, the solver's
    /// "unknown" included, is a refusal.
    pub fn answer(&self, before: &Proc, after: &Proc, solver: &mut Solver) -> Result<(), Unproven> {
        let proc = match self.side() {
            Side::Before => before,
            Side::After => after,
        };
        match self {
            Question::Holds { at, cond, what, .. } => holds(proc, at, cond, what, solver),
            Question::Equal { at, lhs, rhs, what, .. } => equal(proc, at, lhs, rhs, what, solver),
            Question::Commute { first, second, .. } => commute::commute(proc, first, second, solver),
            Question::Interchange { outer, .. } => iterations::interchange(proc, outer, solver),
            Question::Fission { scope, split, .. } => fission::fission(proc, scope, *split, solver),
            Question::BranchSplit { scope, split, orelse, .. } => fission::branch_split(proc, scope, *split, *orelse),
            Question::Idempotent { block, .. } => idempotence::idempotent(proc, block, solver),
            Question::IndependentIterations { scope, .. } => iterations::independent(proc, scope, solver),
            Question::DeadBetweenIterations { scope, buffer, .. } => {
                iterations::dead_between(proc, scope, buffer, solver)
            }
            Question::BufferInBounds { buffer, .. } => definition::buffer_in_bounds(proc, buffer, solver),
            Question::ConfigKept { at, exprs, .. } => stability::config_kept(proc, at, exprs),
            Question::ConfigWrite { at, seen, .. } => {
                config_change::seen(proc, at, solver).and_then(|found| covered(&found, seen, at))
            }
            Question::ConfigChange { at, fields, seen, .. } => {
                config_change::seen_of_change((before, after), at, fields, solver)
                    .and_then(|found| covered(&found, seen, at))
            }
            Question::CallFits { at, .. } => fit::call_fits(proc, at),
            Question::CallsValid { under, .. } => definition::calls_valid(proc, under, solver),
            Question::DeadAfter { at, buffer, .. } => liveness::dead_after(proc, at, buffer, solver),
            Question::Folds { at, buffer, dim, size, .. } => folding::folds(proc, at, buffer, *dim, *size, solver),
            Question::FilledFirst { block, buffer, window, .. } => {
                filling::filled_first(proc, block, buffer, window, solver)
            }
            Question::NeverWritten { block, buffer, window, .. } => {
                unwritten::never_written(proc, block, buffer, window, solver)
            }
            Question::Untouched { block, buffer, window, .. } => {
                untouched::untouched(proc, block, buffer, window, solver)
            }
            Question::Recompute { scope, within, .. } => recompute::recompute(proc, scope, within, solver),
            Question::Unchanged { from, to, exprs, .. } => stability::unchanged(proc, from, to, exprs, solver),
        }
    }
}

fn holds(proc: &Proc, at: &Path, cond: &Expr, what: &str, solver: &mut Solver) -> Result<(), Unproven> {
    let facts = Facts::at(proc, at);
    match facts.proves(solver, facts.boolean(cond).as_ref()) {
        Verified::Yes => Ok(()),
        other => {
            let names = solver.names(proc);
            let unproven = Unproven::new(said(what, &names.expr(cond))).at(at).with(&other, &names);
            // What depends on arguments only can be asked of whoever calls the proc.
            Err(match definition::mentions_args_only(proc, [cond]) && !solver_refutes(&facts, cond, solver) {
                true => unproven.hint(format!(
                    "where every caller sees to it, say so at the start of the proc: `assert {}`",
                    names.expr(cond)
                )),
                false => unproven,
            })
        }
    }
}

/// Whether a condition holds nowhere.
fn solver_refutes(facts: &Facts, cond: &Expr, solver: &mut Solver) -> bool {
    facts.boolean(cond).is_none_or(|formula| solver.satisfiable(&facts.known, &formula) == Satisfiable::No)
}

fn equal(proc: &Proc, at: &Path, lhs: &Expr, rhs: &Expr, what: &str, solver: &mut Solver) -> Result<(), Unproven> {
    let facts = Facts::at(proc, at);
    let goal = match (facts.index(lhs), facts.index(rhs)) {
        (Some(lhs), Some(rhs)) => Formula::equal(&lhs, &rhs),
        _ => None,
    };
    match facts.proves(solver, goal.as_ref()) {
        Verified::Yes => Ok(()),
        other => {
            let names = solver.names(proc);
            let condition = format!("{} == {}", names.expr(lhs), names.expr(rhs));
            Err(Unproven::new(said(what, &condition)).at(at).with(&other, &names))
        }
    }
}

fn covered(found: &BTreeSet<ConfigField>, declared: &BTreeSet<ConfigField>, at: &Path) -> Result<(), Unproven> {
    match found.iter().find(|field| !declared.contains(field)) {
        None => Ok(()),
        Some(field) => Err(Unproven::new(format!("`{field}` is the same at the end")).at(at)),
    }
}

fn said(what: &str, condition: &str) -> String {
    if what.is_empty() { condition.to_string() } else { format!("{what}: {condition}") }
}
