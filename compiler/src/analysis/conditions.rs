//! The safety questions that scheduling operators ask, and their answers as data.

use std::collections::BTreeSet;

use crate::analysis::facts::{Verified, counterexample};
use crate::analysis::solver::Counterexample;
use crate::cursor::path::{BlockPlace, Path};
use crate::hardware::config::ConfigField;
use crate::loop_ir::{Access, Expr};
use crate::print::Names;
use crate::symbol::Sym;

/// Which of the two procs of a step a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

/// A condition under which a rewrite keeps the meaning of a proc. `Question::answer` stands in `checks/answer.rs`, since
/// some questions need the call checker.
#[derive(Clone, Debug)]
pub enum Question {
    /// `cond` is true whenever the statement at `at` is reached.
    Holds { side: Side, at: Path, cond: Expr, what: String },
    /// Two index-like expressions are equal whenever the statement at `at` is reached.
    Equal { side: Side, at: Path, lhs: Expr, rhs: Expr, what: String },
    /// Two adjacent runs of one list may be swapped.
    Commute { side: Side, first: BlockPlace, second: BlockPlace },
    /// The loop at `outer` and the loop that is its whole body may be interchanged.
    Interchange { side: Side, outer: Path },
    /// The loop at `scope` may be split into one over `body[..split]` and one over `body[split..]`.
    Fission { side: Side, scope: Path, split: usize },
    /// The branch at `scope` may be split at `split` of its body or `else`.
    BranchSplit { side: Side, scope: Path, split: usize, orelse: bool },
    /// Running the block once more right after itself changes nothing.
    Idempotent { side: Side, block: BlockPlace },
    /// No two iterations of the loop touch one location, unless both only read it.
    IndependentIterations { side: Side, scope: Path },
    /// Every access to the buffer, through windows and calls too, stays inside its shape and inside the window it uses.
    BufferInBounds { side: Side, buffer: Sym },
    /// What the buffer holds after the statement at `at` is never read.
    DeadAfter { side: Side, at: Path, buffer: Sym },
    /// No value of the buffer passes from one iteration of the loop to a later one.
    DeadBetweenIterations { side: Side, scope: Path, buffer: Sym },
    /// The block writes every element of the window of the buffer before it reads any of them.
    FilledFirst { side: Side, block: BlockPlace, buffer: Sym, window: Vec<Access> },
    /// Before the block, nothing has been written to the window of the buffer, which is a local one: it holds no values.
    NeverWritten { side: Side, block: BlockPlace, buffer: Sym, window: Vec<Access> },
    /// Nothing in the block, through windows and calls too, reads or writes the window of the buffer.
    Untouched { side: Side, block: BlockPlace, buffer: Sym, window: Vec<Access> },
    /// Any iteration of the loop may run again, and again, after iterations that are less than `within` behind it.
    Recompute { side: Side, scope: Path, within: Expr },
    /// Dimension `dim` of the buffer allocated at `at` may be folded: its index `e` becomes `e % size`.
    Folds { side: Side, at: Path, buffer: Sym, dim: usize, size: i64 },
    /// The data expressions have the same values at the statement `to` as at the statement `from`.
    Unchanged { side: Side, from: Path, to: Path, exprs: Vec<Expr> },
    /// The statement at `at`, with everything inside, writes no configuration field that the expressions read: they mean the
    /// same before it, during it and after it.
    ConfigKept { side: Side, at: Path, exprs: Vec<Expr> },
    /// Without the statement at `at`, which only writes configuration state, the proc computes the same, and no fields but
    /// `seen` differ at its end.
    ConfigWrite { side: Side, at: Path, seen: BTreeSet<ConfigField> },
    /// The statement at `at` of both procs leaves `fields` different and nothing else; no later statement reads them, and at
    /// the end no fields but `seen` differ.
    ConfigChange { side: Side, at: Path, fields: BTreeSet<ConfigField>, seen: BTreeSet<ConfigField> },
    /// The arguments of the call at `at` have the precisions and memories of their parameters.
    CallFits { side: Side, at: Path },
    /// Every call under this place (the root: everywhere) passes the call checker.
    CallsValid { side: Side, under: Path },
}

/// What could not be shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unproven {
    /// In the user's own names.
    pub condition: String,
    pub counterexample: Option<Counterexample>,
    /// The statement at fault, in the proc that the question is about.
    pub place: Option<Path>,
    pub hint: Option<String>,
    /// The solver gave up: the condition may hold.
    pub unknown: bool,
    /// `condition` says what is wrong with the new procedure, rather than what could not be shown.
    pub is_fault: bool,
}

impl Unproven {
    pub(crate) fn new(condition: impl Into<String>) -> Self {
        Unproven { condition: condition.into(), ..Unproven::default() }
    }

    pub(crate) fn at(mut self, place: &Path) -> Self {
        self.place = Some(place.clone());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds what a failed proof knows.
    pub(crate) fn with(mut self, verified: &Verified, names: &Names) -> Self {
        match verified {
            Verified::Yes => {}
            Verified::No(values) => {
                let found = counterexample(values, names);
                if !found.values.is_empty() {
                    self.counterexample = Some(found);
                }
            }
            Verified::Unknown => self.unknown = true,
        }
        self
    }
}

/// A question named a place that is not there: a bug of whoever asked, and a refusal all the same.
pub(crate) fn misplaced(what: &str) -> Unproven {
    Unproven { unknown: true, ..Unproven::new(format!("{what} must exist")) }
}
