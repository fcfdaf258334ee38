//! The one solver of a compilation: fast decision procedure first, Z3 for the rest, answers remembered.

use std::collections::HashMap;
use std::sync::Arc;

use crate::analysis::callees::Callees;
use crate::analysis::cases;
use crate::analysis::conjunction::Verdict;
use crate::analysis::formula::Formula;
use crate::analysis::linear::Var;
use crate::analysis::numbering::Numbered;
use crate::analysis::z3_backend::Backend;
use crate::loop_ir::Proc;
use crate::print::Names;
use crate::profile::{Phase, Profile, Span};

pub use crate::analysis::z3_backend::version;

/// Long-lived: make one for each compilation and thread.
pub struct Solver {
    units: u32,
    z3: Option<Backend>,
    /// Verdicts by canonical question; looked up only.
    known: HashMap<Vec<i64>, Verdict>,
    stats: Stats,
    pub(crate) callees: Callees,
    profile: Option<Arc<dyn Profile>>,
    /// Questions are asked to choose between edits: nobody reads why one was answered with no.
    probing: bool,
}

/// Verdicts kept; some tens of megabytes. Beyond it memory starts anew, which costs time only.
const MOST_KNOWN: usize = 1 << 16;

/// What the solver was asked and how it answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Questions asked.
    pub queries: u64,
    /// Answered by linear reasoning.
    pub fast: u64,
    /// Answered from memory.
    pub cached: u64,
    /// Given to Z3.
    pub z3: u64,
}

/// The answer to "does this follow?".
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Proved,
    Refuted(Counterexample),
    /// Neither shown nor refuted within the limits. A refusal wherever it is met.
    Unknown,
}

/// Values for which a condition fails, in the user's names; only variables that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counterexample {
    pub values: Vec<(String, i64)>,
}

impl std::fmt::Display for Counterexample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // One name may stand for several values: a field of configuration state before and after a write.
        let mut values: Vec<(&str, Vec<i64>)> = Vec::new();
        for (name, value) in &self.values {
            match values.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) if known.contains(value) => {}
                Some((_, known)) => known.push(*value),
                None => values.push((name, vec![*value])),
            }
        }
        let written = values.into_iter().map(|(name, values)| {
            let texts: Vec<String> = values.iter().map(i64::to_string).collect();
            match (name.contains('.'), texts.as_slice()) {
                // Values of a field are in the order in which the program gives them to it.
                (true, [first, later @ ..]) if !later.is_empty() => {
                    format!("{name} = {first} first and {} later", later.join(" and then "))
                }
                _ => format!("{name} = {}", texts.join(" and ")),
            }
        });
        f.write_str(&written.collect::<Vec<_>>().join(", "))
    }
}

/// Whether formulas can hold together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Satisfiable {
    No,
    /// Values of the symbols and strides that occur.
    Yes(Vec<(Var, i64)>),
    Unknown,
}

impl Solver {
    /// `units`: Z3 resource units for one query.
    pub fn new(units: u32) -> Solver {
        Solver {
            units,
            z3: None,
            known: HashMap::new(),
            stats: Stats::default(),
            callees: Callees::default(),
            profile: None,
            probing: false,
        }
    }

    /// The same solver, telling of its work.
    pub fn profiled(mut self, profile: Option<Arc<dyn Profile>>) -> Solver {
        self.profile = profile;
        self
    }

    /// Asks something of which only the outcome counts, not the words of a refusal.
    pub(crate) fn probe<T>(&mut self, ask: impl FnOnce(&mut Solver) -> T) -> T {
        let outer = std::mem::replace(&mut self.probing, true);
        let answer = ask(self);
        self.probing = outer;
        answer
    }

    /// The names of a proc for the words of a refusal. To spell them means to walk the whole proc, so they are not spelt
    /// in a probe.
    pub(crate) fn names(&self, proc: &Proc) -> Names {
        if self.probing { Names::default() } else { Names::of(proc) }
    }

    /// The beginning of a part of the work, until the result is dropped.
    pub(crate) fn span(&self, phase: Phase) -> Option<Span> {
        self.profile.as_ref().map(|profile| Span::new(profile.clone(), phase))
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Whether `goal` can hold where `facts` hold.
    pub(crate) fn satisfiable(&mut self, facts: &[Formula], goal: &Formula) -> Satisfiable {
        self.stats.queries += 1;
        let _span = self.span(Phase::Solve);
        if *goal == Formula::False {
            self.stats.fast += 1;
            return Satisfiable::No;
        }
        let Some((question, rest)) = Numbered::of(goal, facts) else { return Satisfiable::Unknown };
        let verdict = self.decide(&question);
        let values = match verdict {
            Verdict::Unsat => return Satisfiable::No,
            Verdict::Sat(values) => Some(values),
            Verdict::Unknown => None,
        };
        // Facts that share no variable with the question only matter when they contradict each other: dead code.
        let rest: Vec<Formula> = rest.into_iter().cloned().collect();
        if self.contradictory(&rest) {
            return Satisfiable::No;
        }
        match values {
            Some(values) => Satisfiable::Yes(
                question.vars.into_iter().zip(values).filter(|(var, _)| !matches!(var, Var::Quotient(_))).collect(),
            ),
            None => Satisfiable::Unknown,
        }
    }

    fn contradictory(&mut self, facts: &[Formula]) -> bool {
        let whole = Formula::and(facts.to_vec());
        match whole {
            Formula::True => false,
            Formula::False => true,
            Formula::Le(_) | Formula::Eq(_) | Formula::And(_) | Formula::Or(_) | Formula::Forall(..) => {
                Numbered::of(&whole, &[]).is_some_and(|(question, _)| self.decide(&question) == Verdict::Unsat)
            }
        }
    }

    fn decide(&mut self, question: &Numbered) -> Verdict {
        let key = question.key();
        if let Some(verdict) = self.known.get(&key) {
            self.stats.cached += 1;
            return verdict.clone();
        }
        let variables = question.vars.len() as u32;
        let mut verdict = cases::decide(&question.trees, variables);
        if verdict == Verdict::Unknown {
            self.stats.z3 += 1;
            let units = self.units;
            verdict = self.z3.get_or_insert_with(|| Backend::new(units)).decide(&question.trees, variables);
        } else {
            self.stats.fast += 1;
        }
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(key, verdict.clone());
        verdict
    }
}
