//! Procedures as users hold them: the tree, and the history that carries cursors forward.

use std::sync::Arc;

use crate::cursor::{Forward, Place, forward, path};
use crate::loop_ir::Proc;
use crate::schedule::results::Returned;

/// A procedure with its history. Cheap to clone; immutable.
#[derive(Clone)]
pub struct Procedure(Arc<Version>);

/// One version of a procedure and how it was made.
pub struct Version {
    pub ir: Arc<Proc>,
    /// The version that this one was made from, and how places move. `None` where a history begins.
    pub step: Option<HistoryStep>,
}

/// One step of a schedule.
pub struct HistoryStep {
    pub parent: Procedure,
    pub forward: Vec<Forward>,
    pub operator: &'static str,
    /// The arguments as a user would write them.
    pub arguments: String,
    /// The host line that asked for it, such as `src/lib.exo:12`; empty where there is none.
    pub place: String,
    /// What `rc = True` hands back, as places of this version; names in [`results::described`](super::results::described).
    pub results: Vec<Returned>,
}

impl Procedure {
    /// The beginning of a history.
    pub fn new(ir: Arc<Proc>) -> Self {
        Procedure(Arc::new(Version { ir, step: None }))
    }

    /// A version made from another. Only `apply` calls this.
    pub(in crate::schedule) fn derived(ir: Arc<Proc>, step: HistoryStep) -> Self {
        Procedure(Arc::new(Version { ir, step: Some(step) }))
    }

    pub fn ir(&self) -> &Arc<Proc> {
        &self.0.ir
    }

    pub fn step(&self) -> Option<&HistoryStep> {
        self.0.step.as_ref()
    }

    /// Whether both are the same version (not merely equal trees).
    pub fn is(&self, other: &Procedure) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// All versions from this one back to the beginning, newest first.
    pub fn history(&self) -> Vec<Procedure> {
        let mut versions = vec![self.clone()];
        while let Some(step) = versions.last().and_then(|version| version.step()) {
            let parent = step.parent.clone();
            versions.push(parent);
        }
        versions
    }

    /// Carries a cursor of an ancestor to this version.
    pub fn forward(&self, cursor: &Cursor) -> Result<Cursor, ForwardError> {
        let mut steps: Vec<Procedure> = Vec::new();
        let mut at = self.clone();
        while !at.is(&cursor.procedure) {
            let Some(parent) = at.step().map(|step| step.parent.clone()) else {
                return Err(ForwardError::Unrelated);
            };
            steps.push(at);
            at = parent;
        }
        let mut place = cursor.place.clone();
        for version in steps.iter().rev() {
            let Some(step) = version.step() else { return Err(ForwardError::Unrelated) };
            place = forward(&place, &step.forward).ok_or(ForwardError::Gone)?;
            // A variable that became a literal merges with a negation around it, so that its own place is no more.
            if let Place::Node(at) = &place
                && path::node(version.ir(), at).is_none()
            {
                return Err(ForwardError::Gone);
            }
        }
        Ok(Cursor { procedure: self.clone(), place })
    }
}

impl Drop for Version {
    /// Long histories are taken apart in a loop: dropping them by recursion would overflow the stack.
    fn drop(&mut self) {
        let mut next = self.step.take().map(|step| step.parent);
        while let Some(Procedure(version)) = next {
            next = match Arc::try_unwrap(version) {
                Ok(mut version) => version.step.take().map(|step| step.parent),
                Err(_) => None,
            };
        }
    }
}

/// Procs compare by their trees.
impl PartialEq for Procedure {
    fn eq(&self, other: &Self) -> bool {
        self.is(other) || Arc::ptr_eq(&self.0.ir, &other.0.ir) || self.0.ir == other.0.ir
    }
}

impl std::fmt::Debug for Procedure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.ir.name)
    }
}

/// Why a cursor cannot be carried forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardError {
    /// The cursor's version is not an ancestor of the procedure.
    Unrelated,
    /// An edit destroyed the place.
    Gone,
}

/// A place in one version of a procedure.
#[derive(Clone, Debug)]
pub struct Cursor {
    pub procedure: Procedure,
    pub place: Place,
}

impl PartialEq for Cursor {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place && (self.place == Place::Invalid || self.procedure == other.procedure)
    }
}
