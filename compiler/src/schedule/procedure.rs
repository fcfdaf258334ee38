//! Procedures as users hold them: the tree, and the history that carries cursors forward.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use crate::cursor::forward::carried;
use crate::cursor::moves::Moves;
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
    /// How many steps the history has.
    depth: usize,
    carried: Carried,
    /// The k-th leads over the last `2^k` steps, where that many divide `depth`. Made when they are first needed.
    jumps: Mutex<Vec<Jump>>,
}

/// A way back over several steps at once.
#[derive(Clone)]
struct Jump {
    /// The ancestor, which the history keeps alive: were it kept alive here, taking a long history apart would recurse.
    back: Weak<Version>,
    moves: Arc<Moves>,
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
        let (carried, jumps) = (Carried::default(), Mutex::default());
        Procedure(Arc::new(Version { ir, step: None, depth: 0, carried, jumps }))
    }

    /// A version made from another. Only `apply` calls this.
    pub(in crate::schedule) fn derived(ir: Arc<Proc>, step: HistoryStep) -> Self {
        let depth = step.parent.0.depth + 1;
        let (carried, jumps) = (Carried::default(), Mutex::default());
        Procedure(Arc::new(Version { ir, step: Some(step), depth, carried, jumps }))
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

    /// Carries a cursor of an ancestor to this version: over many steps at once where they left its statement alone.
    pub fn forward(&self, cursor: &Cursor) -> Result<Cursor, ForwardError> {
        let (mut from, mut place) = (cursor.procedure.clone(), cursor.place.clone());
        // A cursor that a schedule uses again and again was carried most of the way before.
        let before = self.carried_before(cursor);
        let carried_before = before.is_some();
        if let Some((version, known)) = before {
            (from, place) = (version, known);
        }
        let mut way = Vec::new();
        let mut at = self.clone();
        while let Some(left) = at.0.depth.checked_sub(from.0.depth).filter(|left| *left > 0) {
            let level = at.0.depth.trailing_zeros().min(left.ilog2());
            let (back, _) = at.jump(level).ok_or(ForwardError::Unrelated)?;
            way.push((at, level));
            at = back;
        }
        if !at.is(&from) {
            return Err(ForwardError::Unrelated);
        }
        for (version, level) in way.iter().rev() {
            place = version.carry(*level, place)?;
        }
        if self.0.depth > from.0.depth + 1 || carried_before && !self.is(&from) {
            self.0.carried.keep(cursor, &place);
        }
        Ok(Cursor { procedure: self.clone(), place })
    }

    /// A late version for which it is known where the cursor is, and the place.
    fn carried_before(&self, cursor: &Cursor) -> Option<(Procedure, Place)> {
        let mut at = self.clone();
        for _ in 0..MOST_LOOKED_BACK {
            if at.0.depth <= cursor.procedure.0.depth {
                return None;
            }
            if let Some(place) = at.0.carried.find(cursor) {
                return Some((at, place));
            }
            at = at.step()?.parent.clone();
        }
        None
    }

    /// The ancestor `2^level` steps back, and how statements moved on the way from there. `None` where the depth of this
    /// version is no multiple of that, or zero.
    fn jump(&self, level: u32) -> Option<(Procedure, Arc<Moves>)> {
        let at = usize::try_from(level).ok()?;
        let known = self.0.jumps.lock().ok()?.get(at).cloned();
        if let Some(Jump { back, moves }) = known {
            return Some((Procedure(back.upgrade()?), moves));
        }
        let (back, moves) = match level.checked_sub(1) {
            None => {
                let step = self.step()?;
                (step.parent.clone(), Arc::new(Moves::of(step.parent.ir(), self.ir(), &step.forward)))
            }
            Some(half) => {
                let (middle, last) = self.jump(half)?;
                let (back, first) = middle.jump(half)?;
                (back, Arc::new(first.then(&last)))
            }
        };
        let mut jumps = self.0.jumps.lock().ok()?;
        if jumps.len() == at {
            jumps.push(Jump { back: Arc::downgrade(&back.0), moves: moves.clone() });
        }
        Some((back, moves))
    }

    /// Carries a place of the ancestor `2^level` steps back to this version.
    fn carry(&self, level: u32, place: Place) -> Result<Place, ForwardError> {
        let (_, moves) = self.jump(level).ok_or(ForwardError::Unrelated)?;
        if let Some(moved) = moves.place(&place) {
            return Ok(moved);
        }
        if let Some(half) = level.checked_sub(1) {
            let (middle, _) = self.jump(half).ok_or(ForwardError::Unrelated)?;
            return self.carry(half, middle.carry(half, place)?);
        }
        let step = self.step().ok_or(ForwardError::Unrelated)?;
        let place = carried(place, &step.forward).ok_or(ForwardError::Gone)?;
        // A variable that became a literal merges with a negation around it, so that its own place is no more.
        if let Place::Node(at) = &place
            && path::node(self.ir(), at).is_none()
        {
            return Err(ForwardError::Gone);
        }
        Ok(place)
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

/// Versions back in which a remembered cursor is looked for: the steps that a schedule makes between two uses of one cursor.
const MOST_LOOKED_BACK: usize = 16;

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
