//! Evidence that a registry published some versions, for whoever cannot ask it: what a bundle carries.
//!
//! It holds what a client would fetch: the roots, a pointer, the way through the index to each pack, and each version's proof in the log.
//! Nothing of it is believed but by the steps of [`Trust`], at the time at which the pointer was issued.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::envelope::Envelope;
use super::keys;
use super::malformed::Malformed;
use super::pointer::Pointer;
use super::shard::{Shard, VersionEntry};
use super::snapshot::{Bucket, Snapshot, bucket_of};
use super::trust::{Refusal, Trust, check_digest};
use crate::digest::Sha256;
use crate::name::PackName;
use crate::version::Version;

const WHAT: &str = "the evidence of a registry";

/// What was taken along of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The registry's URL, by which lockfiles name it.
    pub registry: String,
    /// All roots from number 1 to that of the pointer.
    pub roots: Vec<Envelope>,
    /// The pointer with its signatures.
    pub pointer: String,
    /// Snapshot, buckets and shards in base64, by their SHA-256.
    objects: BTreeMap<Sha256, String>,
    /// The proofs in the log.
    pub proofs: Vec<LogProof>,
}

/// The proof that a version was published through the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogProof {
    /// The pack.
    pub name: PackName,
    /// The version.
    pub version: Version,
    /// The hashes beside the way from its leaf to the root of the log.
    pub path: Vec<Sha256>,
}

impl Evidence {
    /// Evidence without packs yet.
    pub const fn new(registry: String, roots: Vec<Envelope>, pointer: String) -> Self {
        Self { registry, roots, pointer, objects: BTreeMap::new(), proofs: Vec::new() }
    }

    /// Takes a file of the index along.
    pub fn add_object(&mut self, bytes: &[u8]) {
        self.objects.insert(Sha256::of(bytes), keys::encode(bytes));
    }

    /// Believes roots and pointer, the first root by its digest, where that is known, and all of it beside what is known of the registry.
    ///
    /// # Errors
    /// Something is not signed as it must be, is of another registry, lies in the future, or contradicts what is known.
    pub fn believe(&self, first: Option<&Sha256>, known: Option<&Trust>, now: u64) -> Result<Trust, Refusal> {
        let mut roots = self.roots.iter();
        let root = roots.next().ok_or_else(|| Malformed::new(WHAT, "it has no root"))?;
        let mut trust = Trust::first(root.clone(), first)?;
        for root in roots {
            // Of a rotation of keys there is one only: whoever holds old keys could sign another.
            if let Some(known) = known.filter(|known| known.root().version == trust.root().version) {
                trust.agrees_with(known)?;
            }
            trust = trust.next_root(root.clone())?;
        }
        let trust = trust.consider_kept(self.pointer.as_bytes(), now)?.accept(&[])?;
        if let Some(known) = known {
            trust.agrees_with(known)?;
        }
        Ok(trust)
    }

    /// A file of the index by its hash.
    fn object(&self, what: &'static str, digest: &Sha256) -> Result<Vec<u8>, Refusal> {
        let text = self.objects.get(digest).ok_or_else(|| Malformed::new(WHAT, format!("it lacks {what}")))?;
        let bytes = keys::decode(WHAT, text)?;
        check_digest(what, digest, &bytes)?;
        Ok(bytes)
    }

    /// What the index said of a version at the time of the pointer, once its proof in the log holds.
    ///
    /// # Errors
    /// The index does not have the version, a hash does not fit, or the version is not in the log.
    pub fn published(
        &self,
        trust: &Trust,
        name: &PackName,
        version: &Version,
    ) -> Result<(Shard, VersionEntry), Refusal> {
        let lacks = |what: &str| Malformed::new(WHAT, format!("it has no {what} of `{name} {version}`"));
        let pointer: &Pointer = trust.pointer().ok_or_else(|| lacks("pointer"))?;
        let snapshot = Snapshot::parse(&self.object("the snapshot", &pointer.snapshot)?)?;
        let number = bucket_of(name);
        let digest = snapshot.bucket(number).ok_or_else(|| lacks("entry"))?;
        let bucket = Bucket::parse(&self.object("a bucket of the index", &digest)?, number)?;
        let digest = bucket.0.get(name).ok_or_else(|| lacks("entry"))?;
        let shard = Shard::parse(&self.object("the index of a pack", digest)?, name)?;
        let entry = shard.version(version).cloned().ok_or_else(|| lacks("entry"))?;
        let proof = self.proofs.iter().find(|proof| proof.name == *name && proof.version == *version);
        trust.check_inclusion(name, &entry, &proof.ok_or_else(|| lacks("proof in the log"))?.path)?;
        Ok((shard, entry))
    }
}
