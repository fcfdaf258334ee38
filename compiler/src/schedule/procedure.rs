//! Procedures as users hold them: the tree, and the history that carries cursors forward.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::cursor::forward::carried;
use crate::cursor::{Forward, Place, path};
use crate::loop_ir::Proc;
use crate::schedule::apply::RawArguments;
use crate::schedule::results::Returned;

/// A procedure with its history. Cheap to clone; immutable.
#[derive(Clone)]
pub struct Procedure(Arc<Version>);

/// One version of a procedure and how it was made.
pub struct Version {
    pub ir: Arc<Proc>,
    /// The version that this one was made from, and how places move. `None` where a history begins.
    pub step: Option<HistoryStep>,
    carried: Carried,
}

/// One step of a schedule.
pub struct HistoryStep {
    pub parent: Procedure,
    pub forward: Vec<Forward>,
    pub operator: &'static str,
    /// As they were given: to write them out as a user would means to name everything in a proc, which only who reads
    /// a history needs.
    pub arguments: RawArguments,
    /// What `rc = True` hands back, as places of this version; names in [`results::described`](super::results::described).
    pub results: Vec<Returned>,
}

impl Procedure {
    /// The beginning of a history.
    pub fn new(ir: Arc<Proc>) -> Self {
        Procedure(Arc::new(Version { ir, step: None, carried: Carried::default() }))
    }

    /// A version made from another. Only `apply` calls this.
    pub(in crate::schedule) fn derived(ir: Arc<Proc>, step: HistoryStep) -> Self {
        Procedure(Arc::new(Version { ir, step: Some(step), carried: Carried::default() }))
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

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
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
        // A cursor that a schedule uses again and again was carried most of the way before.
        let mut carried_before = false;
        let mut place = loop {
            if at.is(&cursor.procedure) {
                break cursor.place.clone();
            }
            if let Some(place) = at.0.carried.find(cursor) {
                carried_before = true;
                break place;
            }
            let Some(parent) = at.step().map(|step| step.parent.clone()) else {
                return Err(ForwardError::Unrelated);
            };
            steps.push(at);
            at = parent;
        };
        for version in steps.iter().rev() {
            let Some(step) = version.step() else { return Err(ForwardError::Unrelated) };
            place = carried(place, &step.forward).ok_or(ForwardError::Gone)?;
            // A variable that became a literal merges with a negation around it, so that its own place is no more.
            if let Place::Node(at) = &place
                && path::node(version.ir(), at).is_none()
            {
                return Err(ForwardError::Gone);
            }
        }
        if steps.len() > 1 || carried_before && !steps.is_empty() {
            self.0.carried.keep(cursor, &place);
        }
        Ok(Cursor { procedure: self.clone(), place })
    }
}

/// Where some cursors of ancestors are in one version. Versions do not change, so an answer stays right.
#[derive(Default)]
struct Carried(Mutex<VecDeque<Known>>);

struct Known {
    /// Address of the ancestor, which the history keeps alive.
    ancestor: usize,
    there: Place,
    here: Place,
}

/// Cursors remembered for one version: more than a schedule usually holds on to.
const MOST_CARRIED: usize = 16;

impl Carried {
    fn find(&self, cursor: &Cursor) -> Option<Place> {
        let known = self.0.lock().ok()?;
        let same = |one: &&Known| one.ancestor == cursor.procedure.address() && one.there == cursor.place;
        known.iter().find(same).map(|one| one.here.clone())
    }

    fn keep(&self, cursor: &Cursor, here: &Place) {
        let Ok(mut known) = self.0.lock() else { return };
        if known.len() >= MOST_CARRIED {
            known.pop_front();
        }
        let ancestor = cursor.procedure.address();
        known.push_back(Known { ancestor, there: cursor.place.clone(), here: here.clone() });
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
