//! Roots: which keys count, signed by a threshold of root keys and by the threshold of the root before.

use serde::{Deserialize, Serialize};

use super::envelope::Envelope;
use super::keys::{PublicKey, SecretKey};
use super::malformed::Malformed;

const WHAT: &str = "a root";

/// More keys in one role than this are refused.
const MAX_KEYS: usize = 64;

/// The payload of a root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The registry's origin.
    pub registry: String,
    /// Its number; the first is 1.
    pub version: u64,
    /// When it ceases to be believed.
    pub expires: u64,
    /// How many root keys must sign.
    pub threshold: usize,
    /// The keys that sign roots.
    pub root_keys: Vec<PublicKey>,
    /// The keys that sign pointers.
    pub index_keys: Vec<PublicKey>,
    /// The keys that sign verdicts of the registry's checker.
    pub verdict_keys: Vec<PublicKey>,
}

impl Root {
    /// Signs the root.
    ///
    /// # Errors
    /// The root is unsound: see [`Root::read`].
    pub fn sign(&self, signers: &[&SecretKey]) -> Result<Envelope, Malformed> {
        self.check()?;
        let payload = serde_json::to_string(self).map_err(|error| Malformed::new(WHAT, error.to_string()))?;
        Ok(Envelope::sign(payload, signers))
    }

    /// Reads the payload of an envelope; says nothing about signatures.
    ///
    /// # Errors
    /// It is no root, its threshold is zero or above the number of root keys, a key stands twice in a role, or no key signs pointers.
    pub fn read(envelope: &Envelope) -> Result<Self, Malformed> {
        let root: Self =
            serde_json::from_str(&envelope.payload).map_err(|error| Malformed::new(WHAT, error.to_string()))?;
        root.check()?;
        Ok(root)
    }

    /// What must hold of every root.
    fn check(&self) -> Result<(), Malformed> {
        if self.version == 0 {
            return Err(Malformed::new(WHAT, "its number is 0"));
        }
        if self.threshold == 0 || self.threshold > self.root_keys.len() {
            let message = format!("its threshold is {} of {} keys", self.threshold, self.root_keys.len());
            return Err(Malformed::new(WHAT, message));
        }
        if self.index_keys.is_empty() {
            return Err(Malformed::new(WHAT, "no key signs pointers"));
        }
        for (role, keys) in [("root", &self.root_keys), ("index", &self.index_keys), ("verdict", &self.verdict_keys)] {
            let mut ids: Vec<_> = keys.iter().map(PublicKey::id).collect();
            ids.sort_unstable();
            ids.dedup();
            if ids.len() != keys.len() || keys.len() > MAX_KEYS {
                return Err(Malformed::new(WHAT, format!("its {role} keys are repeated or too many")));
            }
        }
        Ok(())
    }

    /// How many of this root's keys have signed an envelope.
    pub fn signers(&self, envelope: &Envelope) -> usize {
        envelope.signers_among(&self.root_keys)
    }
}
