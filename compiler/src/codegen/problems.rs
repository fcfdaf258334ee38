//! Why procs have no C. Where no text of the user shows the statement in question, the printed proc does.

use crate::cursor::path::Path;
use crate::diagnostic::Diagnostic;
use crate::loop_ir::procedure::Proc;
use crate::print;

/// Problems that show their proc; printing a proc for each of its statements would take long, and nobody reads that.
const MOST_SHOWN: usize = 20;

/// All problems that were found, in order.
#[derive(Default)]
pub struct Problems {
    found: Vec<Diagnostic>,
    /// How many of them belong to a statement that is dealt with.
    settled: usize,
    shown: usize,
}

impl Problems {
    pub fn push(&mut self, problem: Diagnostic) {
        self.found.push(problem);
    }

    pub fn len(&self) -> usize {
        self.found.len()
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.found
    }

    /// What was found since the last call is about the statement at `at`. A step of a schedule may have made that, and then
    /// it stands in no text.
    pub fn concern(&mut self, proc: &Proc, at: &Path) {
        for problem in self.found.iter_mut().skip(self.settled) {
            let is_placed = problem.primary.as_ref().is_some_and(|label| label.span.file.is_some());
            if !is_placed && self.shown < MOST_SHOWN {
                problem.notes.push(print::around(proc, at));
                self.shown += 1;
            }
        }
        self.settle();
    }

    /// What was found so far is about no single statement.
    pub fn settle(&mut self) {
        self.settled = self.found.len();
    }
}
