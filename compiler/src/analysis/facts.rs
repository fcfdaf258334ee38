//! What is known about control values at a place of a procedure.

use crate::analysis::config_flow::{self, Unknowns};
use crate::analysis::formula::Formula;
use crate::analysis::lift;
use crate::analysis::linear::{Linear, Var};
use crate::analysis::mutation;
use crate::analysis::solver::{Answer, Counterexample, Satisfiable, Solver};
use crate::cursor::path::Path;
use crate::loop_ir::configuration;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{ArgType, Block, Control, Expr, Proc, Stmt, StmtKind};
use crate::print::Names;
use crate::symbol::Sym;

/// Facts, and the declarations visible with them (strides and aliases are read off those).
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub(crate) known: Vec<Formula>,
    pub(crate) scope: Declarations,
}

impl Facts {
    /// At the start of the body: asserts, and sizes are positive. Strides of dense buffers follow from their shapes.
    pub fn of(proc: &Proc) -> Facts {
        let mut facts = Facts::of_args(proc);
        for pred in &proc.preds {
            facts.assume(pred);
        }
        facts
    }

    /// Before any assert: sizes are positive.
    pub(crate) fn of_args(proc: &Proc) -> Facts {
        let mut facts = Facts { known: Vec::new(), scope: Declarations::of_args(proc) };
        for arg in &proc.args {
            if let ArgType::Control(Control::Size) = &arg.ty
                && let Some(positive) = Formula::truth(Var::Sym(arg.name.clone()))
            {
                facts.add(positive);
            }
        }
        facts
    }

    /// Where the statement at `path` starts: loop ranges and branch conditions above it hold, and what its enclosing
    /// blocks declare before it is visible.
    pub fn at(proc: &Proc, path: &Path) -> Facts {
        let mut facts = Facts::of(proc);
        facts.descend(proc, path);
        facts
    }

    fn descend(&mut self, proc: &Proc, path: &Path) {
        // A name means one thing in the whole proc, so that knowing more of them than are visible changes no answer.
        let known = proc.committed.declarations();
        if let Some(known) = known {
            self.scope = known.clone();
        }
        let configured = configuration::may_write(&proc.body);
        let mut list: &Block = &proc.body;
        for (depth, step) in path.0.iter().enumerate() {
            let Some((_, at)) = step.in_list() else { return };
            if known.is_none() || configured {
                list.iter().take(at).for_each(|stmt| self.pass(stmt));
            }
            let Some(stmt) = list.get(at) else { return };
            let Some(next) = path.0.get(depth + 1) else { return };
            let Some((orelse, _)) = next.in_list() else { return };
            match &stmt.kind {
                StmtKind::For { body, .. } => {
                    self.enter_loop(stmt);
                    list = body;
                }
                StmtKind::If { cond, body, orelse: other } => {
                    if orelse {
                        self.assume_not(cond);
                        list = other;
                    } else {
                        self.assume(cond);
                        list = body;
                    }
                }
                StmtKind::Assign { .. }
                | StmtKind::Reduce { .. }
                | StmtKind::Pass
                | StmtKind::WriteConfig { .. }
                | StmtKind::Alloc { .. }
                | StmtKind::Call { .. }
                | StmtKind::Window { .. } => return,
            }
        }
    }

    /// Goes past a statement.
    pub(crate) fn pass(&mut self, stmt: &Stmt) {
        let mut learned = Vec::new();
        config_flow::after(stmt, &mut self.scope, &mut Unknowns::Fresh(&mut learned));
        learned.into_iter().for_each(|formula| self.add(formula));
    }

    /// Goes into the body of a loop: some iteration starts.
    pub(crate) fn enter_loop(&mut self, stmt: &Stmt) {
        if let StmtKind::For { iter, lo, hi, .. } = &stmt.kind {
            // The bounds were read before the first iteration.
            self.assume_range(iter, lo, hi);
        }
        let mut learned = Vec::new();
        config_flow::enter_loop(stmt, &mut self.scope, &mut Unknowns::Fresh(&mut learned));
        learned.into_iter().for_each(|formula| self.add(formula));
    }

    pub(crate) fn add(&mut self, formula: Formula) {
        match formula {
            Formula::True => {}
            Formula::And(parts) => self.known.extend(parts),
            other => self.known.push(other),
        }
    }

    /// Takes a boolean expression as true. What cannot be expressed is left out, which is the safe side for a fact.
    pub fn assume(&mut self, cond: &Expr) {
        if let Some(formula) = lift::boolean(cond, &self.scope) {
            self.add(formula);
        }
    }

    /// Takes a boolean expression as false.
    pub fn assume_not(&mut self, cond: &Expr) {
        if let Some(formula) = lift::boolean(cond, &self.scope).and_then(|formula| formula.negated()) {
            self.add(formula);
        }
    }

    /// Takes `lo <= iter < hi`.
    pub fn assume_range(&mut self, iter: &Sym, lo: &Expr, hi: &Expr) {
        let value = Linear::symbol(iter);
        let low = self.index(lo).and_then(|lo| Formula::at_most(&lo, &value));
        let high = self.index(hi).and_then(|hi| Formula::below(&value, &hi));
        for formula in [low, high].into_iter().flatten() {
            self.add(formula);
        }
    }

    /// An index-like expression as a linear form.
    pub(crate) fn index(&self, expr: &Expr) -> Option<Linear> {
        lift::index(expr, &self.scope)
    }

    pub(crate) fn boolean(&self, expr: &Expr) -> Option<Formula> {
        lift::boolean(expr, &self.scope)
    }

    /// Whether a formula follows; `None` stands for one that could not be expressed.
    #[track_caller]
    pub fn proves(&self, solver: &mut Solver, goal: Option<&Formula>) -> Verified {
        let verified = match goal.and_then(Formula::negated) {
            None => Verified::Unknown,
            Some(negated) => match solver.satisfiable(&self.known, &negated) {
                Satisfiable::No => Verified::Yes,
                Satisfiable::Yes(values) => Verified::No(values),
                Satisfiable::Unknown => Verified::Unknown,
            },
        };
        if mutation::overrules_proof(verified == Verified::Yes) { Verified::Yes } else { verified }
    }
}

/// The outcome of a proof, with a counterexample over symbols.
#[derive(Clone, Debug, PartialEq)]
pub enum Verified {
    Yes,
    No(Vec<(Var, i64)>),
    Unknown,
}

/// Whether a boolean expression holds wherever the facts do.
#[track_caller]
pub fn prove(solver: &mut Solver, facts: &Facts, goal: &Expr) -> Answer {
    match facts.proves(solver, facts.boolean(goal).as_ref()) {
        Verified::Yes => Answer::Proved,
        Verified::No(values) => Answer::Refuted(counterexample(&values, &Names::default())),
        Verified::Unknown => Answer::Unknown,
    }
}

/// A solution in the user's names.
pub fn counterexample(values: &[(Var, i64)], names: &Names) -> Counterexample {
    // One spelling may have several values; symbols of one spelling are in order of age.
    let mut ordered: Vec<&(Var, i64)> = values.iter().collect();
    ordered.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut named: Vec<(String, i64)> = ordered
        .into_iter()
        .filter_map(|(var, value)| match var {
            Var::Sym(symbol) => Some((names.get(symbol).to_string(), *value)),
            Var::Stride(buffer, dim) => Some((format!("stride({}, {dim})", names.get(buffer)), *value)),
            Var::Quotient(_) => None,
        })
        .collect();
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    Counterexample { values: named }
}
