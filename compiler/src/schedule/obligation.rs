//! What must be shown before a proposal may be committed.

use std::collections::BTreeSet;

use crate::analysis::conditions::Question;
use crate::cursor::Editor;
use crate::hardware::config::ConfigField;
use crate::loop_ir::Proc;
use crate::schedule::results::Returned;

/// Why an edit keeps the meaning of the procedure.
///
/// There is no commit without one of these, so an operator that forgets its check does not compile.
#[derive(Clone, Debug)]
pub enum Obligation {
    /// No condition: the edit cannot change meaning, for the stated reason.
    ByConstruction(&'static str),
    /// Every question must be answered with a proof; "unknown" is a refusal.
    Proven(Vec<Question>),
    /// The edit is a chain of edits, each with questions of its own about its own before and after.
    Steps(Vec<ProofStep>),
    /// The user passed `unsafe_skip_check = True`. Recorded with what was not shown; the questions are not asked.
    Waived { what: String },
}

/// One edit of a chain: the procedure before and after it, and what must hold for it.
#[derive(Clone, Debug)]
pub struct ProofStep {
    pub before: Proc,
    pub after: Proc,
    pub questions: Vec<Question>,
}

/// How the new procedure relates to the old one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Equal.
    Same,
    /// Equal up to precision.
    UpToPrecision,
    /// Equal but for what these configuration fields hold at the end and, where `precision` says so, up to precision.
    Modulo { fields: BTreeSet<ConfigField>, precision: bool },
    /// A new family: another procedure, derived from this one but not equal to it (`partial_eval`, `add_assertion`).
    NewFamily,
}

/// What an operator returns: edits on a working copy and the obligation that goes with them.
pub struct Proposal {
    pub edited: Editor,
    pub obligation: Obligation,
    pub relation: Relation,
    /// The operator's own results, in the order of [`Operator::results`](crate::schedule::Operator::results), as places
    /// of the edited copy.
    pub results: Vec<Returned>,
}

impl Proposal {
    /// Edits after which the procedure is equal, given the obligation.
    pub fn same(edited: Editor, obligation: Obligation) -> Self {
        Proposal::related(edited, obligation, Relation::Same)
    }

    /// Edits after which the procedure stands in a relation to the old one, given the obligation.
    pub fn related(edited: Editor, obligation: Obligation, relation: Relation) -> Self {
        Proposal { edited, obligation, relation, results: Vec::new() }
    }

    /// With the places that `rc = True` hands back.
    pub fn returning(self, results: Vec<Returned>) -> Self {
        Proposal { results, ..self }
    }
}
