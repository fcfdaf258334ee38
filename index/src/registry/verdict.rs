//! Verdicts: what a registry's own checker found about a version, signed by a verdict key of the root.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::envelope::Envelope;
use super::keys::SecretKey;
use super::malformed::Malformed;
use super::root::Root;
use super::shard::VersionEntry;
use super::text_form::nullable;
use crate::digest::{Blake3, Sha256};
use crate::name::PackName;
use crate::version::Version;

const WHAT: &str = "a verdict";

/// What the checker found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The registry's origin.
    pub registry: String,
    /// The pack.
    pub name: PackName,
    /// The version.
    pub version: Version,
    /// The SHA-256 of the archive that was checked.
    pub archive: Sha256,
    /// The tree digest of what was in it.
    pub tree: Blake3,
    /// The version of exo that checked.
    pub exo: Version,
    /// The checker's own version and the digest of its source text. With `exo` and `solver` a client knows by it whether its verdict
    /// must be equal.
    pub checker: String,
    /// Name and version of the solver; empty in verdicts of registries that did not say.
    #[serde(default)]
    pub solver: String,
    /// The tree digests of the packs that it was checked with, by name.
    #[serde(default)]
    pub dependencies: BTreeMap<PackName, Blake3>,
    /// When it was checked.
    pub checked: u64,
    /// The proven claims, `algorithm -> schedule`.
    pub claims: Vec<String>,
    /// How many test functions passed.
    pub tests: u64,
    /// The defined instructions.
    pub instructions: Vec<String>,
    /// The provided targets.
    pub targets: Vec<String>,
    /// The waived obligations.
    pub waived: Vec<String>,
    /// The digest of the raw C, when there is some.
    #[serde(deserialize_with = "nullable")]
    pub raw_c: Option<Blake3>,
    /// The checked procs with the digests of their printed text.
    pub procs: Vec<(String, String)>,
    /// The digests of the procs that the claims produced.
    #[serde(default)]
    pub claimed_procs: Vec<String>,
}

/// Why a verdict says nothing about a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerdictRefusal {
    /// The bytes are no verdict.
    Malformed(Malformed),
    /// No verdict key of the root signed it.
    NotSigned,
    /// It is about something else.
    OtherSubject {
        /// What differs: `name`, `version`, `archive`, `tree`, `registry`.
        field: &'static str,
    },
}

impl Verdict {
    /// Signs the verdict.
    ///
    /// # Errors
    /// Never for sound values; kept as an error rather than a panic.
    pub fn sign(&self, signer: &SecretKey) -> Result<Envelope, Malformed> {
        let payload = serde_json::to_string(self).map_err(|error| Malformed::new(WHAT, error.to_string()))?;
        Ok(Envelope::sign(payload, &[signer]))
    }

    /// Reads a verdict about a version, signed by a verdict key of the root.
    ///
    /// # Errors
    /// See [`VerdictRefusal`].
    pub fn read(bytes: &[u8], root: &Root, name: &PackName, entry: &VersionEntry) -> Result<Self, VerdictRefusal> {
        let envelope = Envelope::parse(WHAT, bytes).map_err(VerdictRefusal::Malformed)?;
        if envelope.signers_among(&root.verdict_keys) == 0 {
            return Err(VerdictRefusal::NotSigned);
        }
        let verdict: Self = serde_json::from_str(&envelope.payload)
            .map_err(|error| VerdictRefusal::Malformed(Malformed::new(WHAT, error.to_string())))?;
        let same = [
            ("registry", verdict.registry == root.registry),
            ("name", &verdict.name == name),
            ("version", verdict.version == entry.version),
            ("archive", verdict.archive == entry.archive),
            ("tree", verdict.tree == entry.tree),
        ];
        match same.iter().find(|(_, same)| !same) {
            Some((field, _)) => Err(VerdictRefusal::OtherSubject { field }),
            None => Ok(verdict),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::registry::shard::tests::shard;

    #[test]
    fn is_of_one_version_and_one_registry() {
        let (index, checker, stranger) =
            (SecretKey::from_seed(&[1; 32]), SecretKey::from_seed(&[2; 32]), SecretKey::from_seed(&[3; 32]));
        let root = Root {
            registry: "r".into(),
            version: 1,
            expires: 9,
            threshold: 1,
            root_keys: vec![index.public()],
            index_keys: vec![index.public()],
            verdict_keys: vec![checker.public()],
        };
        let shard = shard("neon", &[("1.0.0", 0), ("1.1.0", 1)]);
        let (name, entry) = (&shard.pack.name, &shard.versions[0]);
        let verdict = Verdict {
            registry: "r".into(),
            name: name.clone(),
            version: entry.version.clone(),
            archive: entry.archive,
            tree: entry.tree,
            exo: Version::new(0, 1, 0),
            checker: "1".into(),
            solver: "z3 4".into(),
            dependencies: BTreeMap::from([(PackName::parse("std").unwrap(), Blake3::of(b"std"))]),
            checked: 5,
            claims: vec!["a -> b".into()],
            tests: 1,
            instructions: vec![],
            targets: vec![],
            waived: vec![],
            raw_c: None,
            procs: vec![("p".into(), "00".into())],
            claimed_procs: vec!["01".into()],
        };
        let bytes = verdict.sign(&checker).unwrap().to_bytes().unwrap();
        assert_eq!(Verdict::read(&bytes, &root, name, entry).unwrap(), verdict);
        // Those of before said neither solver nor dependencies.
        let text = serde_json::to_string(&verdict).unwrap();
        let (before, _) = text.split_once(",\"solver\"").unwrap();
        let (_, after) = text.split_once("}").unwrap();
        let old: Verdict = serde_json::from_str(&format!("{before}{after}")).unwrap();
        assert_eq!((old.solver.as_str(), old.dependencies.len(), old.claims.len()), ("", 0, 1));
        let other = Verdict::read(&bytes, &root, name, &shard.versions[1]).unwrap_err();
        assert_eq!(other, VerdictRefusal::OtherSubject { field: "version" });
        let moved = Root { registry: "other".into(), ..root.clone() };
        let other = Verdict::read(&bytes, &moved, name, entry).unwrap_err();
        assert_eq!(other, VerdictRefusal::OtherSubject { field: "registry" });
        for key in [&index, &stranger] {
            let bytes = verdict.sign(key).unwrap().to_bytes().unwrap();
            assert_eq!(Verdict::read(&bytes, &root, name, entry).unwrap_err(), VerdictRefusal::NotSigned);
        }
    }
}
