//! What a client remembers of a registry, and by which steps it believes something new.
//!
//! A step takes the state remembered and what the registry serves now, and gives the next state or the reason why not. The caller
//! fetches, keeps the state and knows the time. The order is: roots ([`Trust::next_root`]) up to the number the pointer names,
//! the pointer ([`Trust::consider`]), and, when the log has grown, the proof that it was only added to ([`Candidate::accept`]).

mod refusal;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::envelope::Envelope;
use super::log::hash::empty_root;
use super::log::proof::{consistency_holds, inclusion_holds};
use super::malformed::Malformed;
use super::note::Note;
use super::pointer::Pointer;
use super::root::Root;
use super::shard::VersionEntry;
use crate::digest::Sha256;
use crate::name::PackName;

pub use refusal::Refusal;

/// By how many seconds a client's clock may be wrong.
pub const CLOCK_TOLERANCE: u64 = 5 * 60;

/// What is believed of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// The digest of root 1's payload; unknown to what was remembered by earlier versions of this program.
    first: Option<Sha256>,
    root: Root,
    envelope: Envelope,
    pointer: Option<(Pointer, String)>,
}

/// The form in which the state is kept: what was signed, as it was signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// The newest root.
    pub root: Envelope,
    /// The whole text of the newest pointer, signatures included.
    pub pointer: Option<String>,
    /// The digest of the payload of root 1, from which the newest root was reached.
    #[serde(default)]
    pub first: Option<Sha256>,
}

/// A pointer that is believed once its log is shown to continue the one remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    trust: Trust,
    pointer: Pointer,
    text: String,
}

impl Trust {
    /// Believes root number 1: the pinned one, or the first that is seen.
    ///
    /// # Errors
    /// It is not the pinned one, is no sound root of number 1, or is not signed by its own threshold.
    pub fn first(envelope: Envelope, pin: Option<&Sha256>) -> Result<Self, Refusal> {
        if let Some(pinned) = pin
            && envelope.payload_digest() != *pinned
        {
            return Err(Refusal::OtherRoot { pinned: *pinned, found: envelope.payload_digest() });
        }
        let root = Root::read(&envelope)?;
        if root.version != 1 {
            return Err(Refusal::RootSequence { expected: 1, found: root.version });
        }
        check_threshold(&root, &root, &envelope)?;
        Ok(Self { first: Some(envelope.payload_digest()), root, envelope, pointer: None })
    }

    /// Takes up what was remembered. It was checked when it was accepted; here only its form is checked again, and
    /// signatures, so that a damaged file is not believed.
    ///
    /// # Errors
    /// It is not what [`Trust::remember`] gave.
    pub fn recall(remembered: Remembered) -> Result<Self, Refusal> {
        let root = Root::read(&remembered.root)?;
        check_threshold(&root, &root, &remembered.root)?;
        let first = remembered.first.or_else(|| (root.version == 1).then(|| remembered.root.payload_digest()));
        let mut trust = Self { first, root, envelope: remembered.root, pointer: None };
        if let Some(text) = remembered.pointer {
            let note = Note::parse(text.as_bytes())?;
            // The index keys may have been rotated since, so only the form is known to hold.
            trust.pointer = Some((Pointer::parse(&note.text)?, text));
        }
        Ok(trust)
    }

    /// What is to be kept.
    pub fn remember(&self) -> Remembered {
        let pointer = self.pointer.as_ref().map(|(_, text)| text.clone());
        Remembered { root: self.envelope.clone(), pointer, first: self.first }
    }

    /// The digest of the payload of root 1; `None` where it was not kept.
    pub const fn first_root(&self) -> Option<&Sha256> {
        self.first.as_ref()
    }

    /// Holds what was remembered to a pin that may have been given since.
    ///
    /// # Errors
    /// The registry was believed from another root on.
    pub fn check_pin(&self, pin: Option<&Sha256>) -> Result<(), Refusal> {
        match (self.first, pin) {
            (Some(found), Some(pinned)) if found != *pinned => Err(Refusal::OtherRoot { pinned: *pinned, found }),
            (_, _) => Ok(()),
        }
    }

    /// The newest root.
    pub const fn root(&self) -> &Root {
        &self.root
    }

    /// The newest pointer; `None` before the first.
    pub fn pointer(&self) -> Option<&Pointer> {
        self.pointer.as_ref().map(|(pointer, _)| pointer)
    }

    /// Believes the root after the newest.
    ///
    /// # Errors
    /// Its number is not the next, it is of another registry, or it lacks signatures of the old or of the new threshold.
    pub fn next_root(self, envelope: Envelope) -> Result<Self, Refusal> {
        let root = Root::read(&envelope)?;
        if root.version != self.root.version + 1 {
            return Err(Refusal::RootSequence { expected: self.root.version + 1, found: root.version });
        }
        if root.registry != self.root.registry {
            return Err(Refusal::OtherRegistry { expected: self.root.registry, found: root.registry });
        }
        check_threshold(&self.root, &root, &envelope)?;
        check_threshold(&root, &root, &envelope)?;
        Ok(Self { first: self.first, root, envelope, pointer: self.pointer })
    }

    /// Looks at a pointer, whose root must be the newest one here.
    ///
    /// # Errors
    /// Root or pointer has expired, the pointer is of another registry, is not signed by an index key, lies in the future, or
    /// goes back behind what is remembered.
    pub fn consider(self, note: &[u8], now: u64) -> Result<Candidate, Refusal> {
        let text = String::from_utf8_lossy(note).into_owned();
        let note = Note::parse(note)?;
        let pointer = Pointer::parse(&note.text)?;
        if pointer.origin != self.root.registry {
            return Err(Refusal::OtherRegistry { expected: self.root.registry, found: pointer.origin });
        }
        // What was never seen cannot go back: at the first visit a lower number is a damaged or forged pointer.
        if self.pointer.is_some() {
            self.not_back("root number", self.root.version, pointer.root)?;
        } else if pointer.root < self.root.version && !self.is_signed(&note) {
            return Err(Refusal::WrongKey);
        }
        if pointer.root != self.root.version {
            return Err(Refusal::RootSequence { expected: pointer.root, found: self.root.version });
        }
        if !self.is_signed(&note) {
            return Err(Refusal::WrongKey);
        }
        if pointer.issued > now.saturating_add(CLOCK_TOLERANCE) {
            return Err(Refusal::FromTheFuture { issued: pointer.issued, now });
        }
        if let Some((last, last_text)) = &self.pointer {
            self.not_back("pointer version", last.version, pointer.version)?;
            self.not_back("log size", last.log_size, pointer.log_size)?;
            let same_text = Note::parse(last_text.as_bytes()).is_ok_and(|last| last.text == note.text);
            if last.version == pointer.version && !same_text {
                return Err(Refusal::TwoPointers { version: pointer.version });
            }
        }
        // After the checks above: an old pointer that is served again is a rollback or a freeze, and each is said by its name.
        for (what, expires) in [("root", self.root.expires), ("pointer", pointer.expires)] {
            if expires.saturating_add(CLOCK_TOLERANCE) < now {
                return Err(Refusal::Expired { what, expires, now });
            }
        }
        Ok(Candidate { trust: self, pointer, text })
    }

    /// Looks at a pointer that comes from a copy and not from the registry: it may have expired since the copy was made, so it is held to
    /// the time at which it was issued. It shows what the registry said then, not what it says now.
    ///
    /// # Errors
    /// See [`Trust::consider`].
    pub fn consider_kept(self, note: &[u8], now: u64) -> Result<Candidate, Refusal> {
        let issued = Pointer::parse(&Note::parse(note)?.text)?.issued;
        self.consider(note, now.min(issued))
    }

    fn is_signed(&self, note: &Note) -> bool {
        self.root.index_keys.iter().any(|key| note.is_signed_by(&self.root.registry, key))
    }

    /// Refuses a number that is below the one remembered.
    fn not_back(&self, what: &'static str, remembered: u64, found: u64) -> Result<(), Refusal> {
        if found < remembered { Err(Refusal::Rollback { what, remembered, found }) } else { Ok(()) }
    }

    /// Checks that two states of one registry may both be true, as far as they show without a proof: none of them is refused for being
    /// older than the other.
    ///
    /// # Errors
    /// They are of different registries, or differ where they must be equal.
    pub fn agrees_with(&self, other: &Self) -> Result<(), Refusal> {
        if self.root.registry != other.root.registry {
            let (expected, found) = (other.root.registry.clone(), self.root.registry.clone());
            return Err(Refusal::OtherRegistry { expected, found });
        }
        self.check_pin(other.first.as_ref())?;
        if self.root.version == other.root.version && self.envelope.payload != other.envelope.payload {
            return Err(Refusal::TwoRoots { version: self.root.version });
        }
        let (Some(one), Some(two)) = (self.pointer(), other.pointer()) else { return Ok(()) };
        if one.version == two.version && one != two {
            return Err(Refusal::TwoPointers { version: one.version });
        }
        if one.log_size == two.log_size && one.log_root != two.log_root {
            return Err(Refusal::SplitView { remembered: two.log_size, found: one.log_size });
        }
        Ok(())
    }

    /// Checks that a version was published through the log: that its leaf stands at its index.
    ///
    /// # Errors
    /// The proof does not hold, or there is no pointer yet.
    pub fn check_inclusion(&self, name: &PackName, entry: &VersionEntry, proof: &[Sha256]) -> Result<(), Refusal> {
        let leaf = entry.publish_leaf(name).hash();
        let holds = self
            .pointer()
            .is_some_and(|pointer| inclusion_holds(&leaf, entry.log, pointer.log_size, proof, &pointer.log_root));
        if holds { Ok(()) } else { Err(Refusal::NotInLog { name: name.clone(), version: entry.version.clone() }) }
    }
}

impl Candidate {
    /// The pointer.
    pub const fn pointer(&self) -> &Pointer {
        &self.pointer
    }

    /// The size of the log that the present one must continue; `None` when no proof is needed.
    pub fn proof_from(&self) -> Option<u64> {
        let old = self.trust.pointer()?.log_size;
        (old != 0 && old != self.pointer.log_size).then_some(old)
    }

    /// Believes the pointer, with the proof asked for by [`Candidate::proof_from`] (empty when none is).
    ///
    /// # Errors
    /// The log is not the continuation of the one remembered.
    pub fn accept(self, proof: &[Sha256]) -> Result<Trust, Refusal> {
        let empty = empty_root();
        let (old_size, old_root) = self.trust.pointer().map_or((0, empty), |last| (last.log_size, last.log_root));
        let new = (self.pointer.log_size, &self.pointer.log_root);
        if !consistency_holds((old_size, &old_root), new, proof) {
            return Err(Refusal::SplitView { remembered: old_size, found: self.pointer.log_size });
        }
        Ok(Trust { pointer: Some((self.pointer, self.text)), ..self.trust })
    }
}

/// Checks that what was fetched by a hash has that hash.
///
/// # Errors
/// It has another: what the registry serves does not belong together.
pub fn check_digest(what: &'static str, expected: &Sha256, bytes: &[u8]) -> Result<(), Refusal> {
    let found = Sha256::of(bytes);
    if found == *expected { Ok(()) } else { Err(Refusal::MixAndMatch { what, expected: *expected, found }) }
}

/// The number of the root that a pointer names, before anything of it is believed: it says which roots to fetch.
///
/// # Errors
/// The bytes are no pointer.
pub fn named_root(note: &[u8]) -> Result<u64, Malformed> {
    Ok(Pointer::parse(&Note::parse(note)?.text)?.root)
}

/// Checks that enough keys of `by` have signed a root.
fn check_threshold(by: &Root, root: &Root, envelope: &Envelope) -> Result<(), Refusal> {
    let signed = by.signers(envelope);
    if signed < by.threshold {
        return Err(Refusal::RootNotSigned { version: root.version, by: by.version, signed, needed: by.threshold });
    }
    Ok(())
}
