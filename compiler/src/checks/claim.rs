//! One thing that must hold at a place, and the diagnostic when it cannot be shown.

use crate::analysis::conditions::Unproven;
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::linear::Linear;
use crate::analysis::solver::Solver;
use crate::cursor::Path;
use crate::diagnostic::{Code, Diagnostic};
use crate::loop_ir::{Expr, Proc};
use crate::print::Names;
use crate::source::Span;

/// A refused check.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: Code,
    pub message: String,
    pub span: Span,
    pub unproven: Unproven,
    /// Other places that belong to it, with what is to be said about each.
    pub related: Vec<(Span, &'static str)>,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>, span: &Span, at: &Path, condition: impl Into<String>) -> Self {
        let unproven = Unproven { condition: condition.into(), place: Some(at.clone()), ..Unproven::default() };
        Failure { code, message: message.into(), span: span.clone(), unproven, related: Vec::new() }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.unproven.hint = Some(hint.into());
        self
    }

    pub fn related(mut self, span: &Span, text: &'static str) -> Self {
        self.related.push((span.clone(), text));
        self
    }

    /// As a message to the user who wrote the code.
    pub fn diagnostic(self) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.code, self.message);
        if self.span.file.is_some() {
            diagnostic = diagnostic.at(&self.span, "here");
        }
        for (span, text) in self.related.iter().filter(|(span, _)| span.file.is_some()) {
            diagnostic = diagnostic.label(span, *text);
        }
        if !self.unproven.condition.is_empty() {
            let lead = if self.unproven.unknown { "could not decide" } else { "cannot show" };
            // A condition in words names code itself.
            diagnostic = diagnostic.note(match self.unproven.condition.contains('`') {
                true if self.unproven.unknown => format!("{lead} whether {}", self.unproven.condition),
                true => format!("{lead} that {}", self.unproven.condition),
                false => format!("{lead} `{}`", self.unproven.condition),
            });
        }
        if let Some(found) = self.unproven.counterexample {
            diagnostic = diagnostic.note(format!("it fails for {found}"));
        }
        match self.unproven.hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        }
    }
}

/// What a checker works with at one place: the facts there, and where to report.
pub struct Site<'a> {
    pub proc: &'a Proc,
    pub facts: &'a Facts,
    pub at: &'a Path,
}

impl Site<'_> {
    /// Requires a formula; `None` stands for one that cannot be expressed and is not shown.
    #[track_caller]
    pub(crate) fn require(
        &self,
        goal: Option<Formula>,
        solver: &mut Solver,
        failure: impl FnOnce(&Names) -> Failure,
    ) -> Result<(), Failure> {
        match self.facts.proves(solver, goal.as_ref()) {
            Verified::Yes => Ok(()),
            other => {
                let names = solver.names(self.proc);
                let mut failure = failure(&names);
                failure.unproven = failure.unproven.with(&other, &names);
                Err(failure)
            }
        }
    }

    /// Requires `expr >= least`.
    #[track_caller]
    pub(crate) fn require_at_least(
        &self,
        expr: &Expr,
        least: i64,
        solver: &mut Solver,
        failure: impl FnOnce(&Names) -> Failure,
    ) -> Result<(), Failure> {
        let goal = self.facts.index(expr).and_then(|value| Formula::at_most(&Linear::constant(least), &value));
        self.require(goal, solver, failure)
    }
}
