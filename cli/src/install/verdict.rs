//! What verification found about one pack, and when a cached verdict still stands.

use std::collections::BTreeMap;

use exo_compiler::pipeline::{self, CheckReport};
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::failure::{Failure, Outcome};
use crate::filesystem;

const FORMAT: u32 = 3;

/// Digest of the compiler's source text at build time: a changed checker makes every verdict stale.
pub(crate) const CHECKER_DIGEST: &str = env!("EXO_CHECKER_DIGEST");

/// A pack that verified: everything that was counted, and everything the verdict depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verdict {
    pub(crate) subject: Subject,
    /// `algorithm -> schedule` of each proven claim.
    pub(crate) claims: Vec<String>,
    /// Number of test functions that passed.
    pub(crate) tests: usize,
    /// Checked procs with the digest of their printed text.
    pub(crate) procs: Vec<(String, String)>,
    /// Digests of the procs that claims produced.
    pub(crate) claimed_procs: Vec<String>,
    pub(crate) instructions: Vec<String>,
    pub(crate) targets: Vec<String>,
    pub(crate) waived: Vec<String>,
    /// Number of pieces of raw C.
    pub(crate) raw_c: usize,
    /// The C of each instruction, in the order of `instructions`: its template, and what it needs at the head of a file.
    #[serde(default)]
    pub(crate) templates: Vec<(String, String)>,
    /// Paths of the modules whose functions write C: those of memories and externs.
    #[serde(default)]
    pub(crate) c_modules: Vec<String>,
    /// BLAKE3 over all raw C; `None` without any.
    pub(crate) raw_c_digest: Option<String>,
    /// What the modules offer to others, as the compiler's `CheckReport` has it.
    pub(crate) offers: Vec<String>,
    /// Tests, or parts of tests, that were not run, with the reason.
    pub(crate) skipped: Vec<String>,
}

/// Everything that a verdict depends on. Equal subjects have equal verdicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subject {
    pub(crate) format: u32,
    pub(crate) pack: String,
    pub(crate) version: String,
    /// Tree digest of the pack.
    pub(crate) tree: String,
    /// Tree digests of all packs it can reach, by name.
    pub(crate) dependencies: BTreeMap<String, String>,
    pub(crate) exo: String,
    pub(crate) checker: String,
    pub(crate) checker_digest: String,
    pub(crate) solver: String,
}

impl Subject {
    pub(crate) fn new(pack: &str, version: &str, tree: &str, dependencies: BTreeMap<String, String>) -> Self {
        Subject {
            format: FORMAT,
            pack: pack.to_string(),
            version: version.to_string(),
            tree: tree.to_string(),
            dependencies,
            exo: env!("CARGO_PKG_VERSION").to_string(),
            checker: pipeline::checker_version().to_string(),
            checker_digest: CHECKER_DIGEST.to_string(),
            solver: pipeline::solver_version(),
        }
    }

    /// The same, by the checker that runs: the answer says who gives it, whoever asked.
    pub(crate) fn checked_here(&self) -> Self {
        let Subject { pack, version, tree, dependencies, .. } = self;
        Subject { format: self.format, ..Subject::new(pack, version, tree, dependencies.clone()) }
    }

    /// The checker as a signed verdict names it: its version, and the digest of its source text.
    pub(crate) fn checker_named(&self) -> String {
        format!("{} {}", self.checker, self.checker_digest)
    }
}

/// What a verdict is found by in the cache: its subject, with one digest for all that the pack can reach. Equal keys have equal
/// verdicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Key {
    /// Without dependencies.
    subject: Subject,
    reach: String,
}

impl Key {
    pub(crate) fn new(pack: &str, version: &str, tree: &str, reach: String) -> Self {
        Key { subject: Subject::new(pack, version, tree, BTreeMap::new()), reach }
    }

    pub(crate) fn subject(&self, dependencies: BTreeMap<String, String>) -> Subject {
        Subject { dependencies, ..self.subject.clone() }
    }

    /// The name of the verdict in the cache.
    fn name(&self) -> Outcome<String> {
        let text = serde_json::to_string(self).map_err(|error| Failure::bug(format!("cannot write a key: {error}")))?;
        Ok(format!("{}.json", blake3::hash(text.as_bytes()).to_hex()))
    }
}

/// A file of the cache. The subject of its verdict names no dependencies: the key stands for them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    key: Key,
    verdict: Verdict,
}

/// The digest of all raw C of a pack. What each instruction is trusted to do belongs to it: the same text for another body is another
/// claim.
pub(crate) fn digest_of_report(report: &CheckReport) -> Option<String> {
    let means = report.instructions.iter().map(|instruction| instruction.means.clone());
    raw_c_digest(&report.raw_c.iter().cloned().chain(means).collect::<Vec<_>>())
}

/// BLAKE3 over pieces of raw C, each with its length, so that no two lists give the same bytes.
pub(crate) fn raw_c_digest(pieces: &[String]) -> Option<String> {
    if pieces.is_empty() {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    for piece in pieces {
        hasher.update(&(piece.len() as u64).to_le_bytes());
        hasher.update(piece.as_bytes());
    }
    Some(hasher.finalize().to_hex().to_string())
}

/// The cached verdict for a key, whose subject names no dependencies. A file that cannot be read as that verdict counts as absent:
/// verification is then simply done again.
pub(crate) fn load(cache: &Cache, key: &Key) -> Outcome<Option<Verdict>> {
    let path = cache.verdicts().join(key.name()?);
    let Some(text) = filesystem::read_optional(&path)? else {
        return Ok(None);
    };
    let kept: Option<Kept> = serde_json::from_str(&text).ok();
    let kept = kept.filter(|kept| kept.key == *key && kept.verdict.subject == key.subject);
    if kept.is_some() {
        crate::cache::tree::record_use(&path);
    }
    Ok(kept.map(|kept| kept.verdict))
}

/// Whether the text of a file of the cache is a verdict.
///
/// # Errors
/// What it is instead.
pub(crate) fn check_kept(text: &str) -> Result<(), String> {
    serde_json::from_str::<Kept>(text).map(|_| ()).map_err(|error| error.to_string())
}

pub(crate) fn store(cache: &Cache, key: &Key, verdict: &Verdict) -> Outcome<()> {
    let path = cache.verdicts().join(key.name()?);
    let verdict = Verdict { subject: key.subject.clone(), ..verdict.clone() };
    let text = serde_json::to_string_pretty(&Kept { key: key.clone(), verdict })
        .map_err(|error| Failure::bug(format!("cannot write a verdict: {error}")))?;
    filesystem::create_directory(&cache.verdicts())?;
    filesystem::write_cached(&path, text.as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::new("neon", "1.0.0", "t", "r".into())
    }

    fn verdict() -> Verdict {
        Verdict {
            subject: key().subject(BTreeMap::from([("std".into(), "s".into())])),
            claims: vec!["a -> b".into()],
            tests: 2,
            procs: vec![],
            claimed_procs: vec![],
            instructions: vec![],
            targets: vec![],
            waived: vec![],
            raw_c: 0,
            templates: vec![],
            c_modules: vec![],
            raw_c_digest: None,
            offers: vec![],
            skipped: vec![],
        }
    }

    #[test]
    fn a_verdict_stands_for_its_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { root: folder.path().to_path_buf() };
        store(&cache, &key(), &verdict()).unwrap();
        let found = load(&cache, &key()).unwrap().unwrap();
        assert_eq!(Verdict { subject: verdict().subject, ..found }, verdict());
        let changes: [fn(&mut Key); 4] = [
            |key| key.subject.tree = "other".into(),
            |key| key.subject.solver = "z3 5".into(),
            |key| key.subject.checker_digest = "e".into(),
            |key| key.reach = "r2".into(),
        ];
        for change in changes {
            let mut key = key();
            change(&mut key);
            assert!(load(&cache, &key).unwrap().is_none());
        }
    }

    #[test]
    fn a_verdict_of_another_key_under_this_name_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { root: folder.path().to_path_buf() };
        std::fs::create_dir_all(cache.verdicts()).unwrap();
        let changes: [fn(&mut Kept); 2] =
            [|kept| kept.key.reach = "other".into(), |kept| kept.verdict.subject.tree = "other".into()];
        for change in changes {
            let verdict = Verdict { subject: key().subject, ..verdict() };
            let mut forged = Kept { key: key(), verdict };
            change(&mut forged);
            let path = cache.verdicts().join(key().name().unwrap());
            std::fs::write(path, serde_json::to_string(&forged).unwrap()).unwrap();
            assert!(load(&cache, &key()).unwrap().is_none());
        }
    }

    #[test]
    fn raw_c_is_digested_piece_by_piece() {
        assert_eq!(raw_c_digest(&[]), None);
        assert_ne!(raw_c_digest(&["ab".into(), "c".into()]), raw_c_digest(&["a".into(), "bc".into()]));
    }
}
