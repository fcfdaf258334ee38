//! The lockfile `Exo.lock`: exactly which packs a project uses, with their digests and the compiler they were locked with.
//!
//! The text is canonical: equal lockfiles are equal byte for byte, packs stand in the order of their names and
//! each dependency has a line of its own, so that merges touch only what changed.

mod compare;
mod merge;

#[cfg(test)]
mod merge_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::str::FromStr;

use serde::Deserialize;

use crate::digest::{Blake3, Sha256};
use crate::manifest::{GitSource, is_commit};
use crate::name::{PackName, nearest};
use crate::version::Version;

pub use compare::Disagreement;
pub use merge::{Disputed, Merge, conflict_marker, merge};

/// The file name of a lockfile.
pub const LOCK_FILE: &str = "Exo.lock";

/// The newest lockfile format this library reads, and the one it writes.
pub const LOCK_FORMAT: i64 = 1;

/// The comment that opens every lockfile.
const HEADER: &str = "# Written by exo. Change Exo.toml instead, then run `exo install`.\n";

/// A lockfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lockfile {
    /// The version of exo it was made with: the same bytes are promised for the same lock *and* the same compiler.
    pub exo: Version,
    /// The packs by name; there is one version of each.
    pub packs: BTreeMap<PackName, LockedPack>,
}

/// One pack of a lockfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPack {
    /// The pack's name.
    pub name: PackName,
    /// Its version.
    pub version: Version,
    /// Where it comes from.
    pub source: LockedSource,
    /// The SHA-256 of its archive; always there except for a path or git source.
    pub archive: Option<Sha256>,
    /// The tree digest (see [`crate::digest::tree_digest`]); always there except for a path source, whose files may change.
    pub tree: Option<Blake3>,
    /// The digest of its raw C (instruction templates, globals, memory C); `None` when it has none or it was not counted.
    pub raw_c: Option<Blake3>,
    /// When a registry published it, in seconds since 1970-01-01 UTC, as its signed index says; `None` from elsewhere.
    pub published: Option<u64>,
    /// The number of its publish in the log of that registry; `None` from elsewhere.
    pub log: Option<u64>,
    /// Which registry that is, whatever answers at its URL: the digest of the first root of its keys; `None` from elsewhere.
    pub root: Option<Sha256>,
    /// The packs it depends on, which are in the lockfile too.
    pub dependencies: BTreeSet<PackName>,
}

/// Where a locked pack comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockedSource {
    /// Embedded in the program: `builtin`.
    Builtin,
    /// A registry: `registry+URL`.
    Registry(String),
    /// A directory relative to the lockfile's: `path+../std`.
    Path(String),
    /// A commit of a git repository: `git+URL?branch=main&path=packs/neon#COMMIT`.
    Git {
        /// What the manifest asks for.
        source: GitSource,
        /// The number of the commit, in full.
        commit: String,
    },
}

impl fmt::Display for LockedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("builtin"),
            Self::Registry(url) => write!(f, "registry+{url}"),
            Self::Path(path) => write!(f, "path+{path}"),
            Self::Git { source, commit } => write!(f, "git+{source}#{commit}"),
        }
    }
}

impl FromStr for LockedSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "builtin" {
            return Ok(Self::Builtin);
        }
        match text.split_once('+') {
            Some(("registry", url)) if !url.is_empty() => Ok(Self::Registry(url.to_owned())),
            Some(("path", path)) if !path.is_empty() => Ok(Self::Path(path.to_owned())),
            Some(("git", rest)) => match rest.rsplit_once('#') {
                Some((source, commit)) if is_commit(commit) => {
                    let source: GitSource = source.parse()?;
                    if !source.reference.admits(commit) {
                        return Err(format!("git source `{text}` names two commits"));
                    }
                    Ok(Self::Git { source, commit: commit.to_owned() })
                }
                Some(_) | None => Err(format!("git source `{text}` names no commit")),
            },
            Some(_) | None => Err(format!("`{text}` is not a source of packs")),
        }
    }
}

/// Why a text is not a lockfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockError {
    /// What is wrong, in one phrase.
    pub message: String,
    /// Where, as a range of bytes of the text, when it is known.
    pub span: Option<Range<usize>>,
    /// How to put it right, where that is known.
    pub hint: Option<String>,
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LockError {}

impl LockError {
    /// A mistake without a known place, mended by writing the lockfile anew.
    fn remake(message: String) -> Self {
        let hint = Some("delete Exo.lock and run `exo install`, which writes it anew".to_owned());
        Self { message, span: None, hint }
    }
}

/// What every format of the lockfile has, read before anything else.
#[derive(Deserialize)]
struct FormatOnly {
    version: i64,
}

/// The lockfile as it stands in the text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(rename = "version")]
    _version: i64,
    exo: String,
    #[serde(default)]
    pack: Vec<RawPack>,
}

/// A pack as it stands in the text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawPack {
    name: String,
    version: String,
    source: String,
    archive: Option<String>,
    tree: Option<String>,
    raw_c: Option<String>,
    published: Option<u64>,
    log: Option<u64>,
    root: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

impl Lockfile {
    /// A lockfile without packs.
    pub fn new(exo: Version) -> Self {
        Self { exo, packs: BTreeMap::new() }
    }

    /// Adds a pack, in place of another of the same name.
    pub fn insert(&mut self, pack: LockedPack) {
        self.packs.insert(pack.name.clone(), pack);
    }

    /// Reads a lockfile.
    ///
    /// # Errors
    /// The text is not TOML, is of a newer format, has an unknown key, an unsound value, two packs of one name, a pack
    /// without the digests its source must have, or a dependency that is not in the file.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        if let Some(span) = conflict_marker(text) {
            let hint = "take either side, then run `exo install`: it keeps the versions that still fit".to_owned();
            let message = "the lockfile contains a merge conflict".to_owned();
            return Err(LockError { message, span: Some(span), hint: Some(hint) });
        }
        let (exo, packs) = read(text)?;
        let mut lock = Self::new(exo);
        for pack in packs {
            if lock.packs.contains_key(&pack.name) {
                return Err(LockError::remake(format!("pack `{}` is locked twice", pack.name)));
            }
            lock.insert(pack);
        }
        lock.check_dependencies()?;
        Ok(lock)
    }

    /// Checks that every dependency is in the file.
    fn check_dependencies(&self) -> Result<(), LockError> {
        for pack in self.packs.values() {
            if let Some(absent) = pack.dependencies.iter().find(|name| !self.packs.contains_key(*name)) {
                return Err(LockError::remake(format!(
                    "pack `{}` depends on `{absent}`, which is not locked",
                    pack.name
                )));
            }
        }
        Ok(())
    }

    /// The names of the locked packs nearest to a wrong one.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest(name, self.packs.keys().map(PackName::as_str))
    }

    /// The packs that depend on a pack directly, in the order of their names.
    pub fn dependents<'a>(&'a self, name: &'a PackName) -> impl Iterator<Item = &'a LockedPack> {
        self.packs.values().filter(move |pack| pack.dependencies.contains(name))
    }
}

impl fmt::Display for Lockfile {
    /// Writes the canonical text; [`Lockfile::parse`] reads it back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEADER)?;
        writeln!(f, "version = {LOCK_FORMAT}")?;
        writeln!(f, "exo = {}", quoted(&self.exo.to_string()))?;
        for pack in self.packs.values() {
            write!(f, "\n{pack}")?;
        }
        Ok(())
    }
}

impl fmt::Display for LockedPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[[pack]]")?;
        writeln!(f, "name = {}", quoted(self.name.as_str()))?;
        writeln!(f, "version = {}", quoted(&self.version.to_string()))?;
        writeln!(f, "source = {}", quoted(&self.source.to_string()))?;
        if let Some(digest) = self.archive {
            writeln!(f, "archive = \"sha256:{digest}\"")?;
        }
        if let Some(digest) = self.tree {
            writeln!(f, "tree = \"blake3:{digest}\"")?;
        }
        if let Some(digest) = self.raw_c {
            writeln!(f, "raw-c = \"blake3:{digest}\"")?;
        }
        if let Some(time) = self.published {
            writeln!(f, "published = {time}")?;
        }
        if let Some(position) = self.log {
            writeln!(f, "log = {position}")?;
        }
        if let Some(root) = &self.root {
            writeln!(f, "root = \"sha256:{root}\"")?;
        }
        if self.dependencies.is_empty() {
            return Ok(());
        }
        writeln!(f, "dependencies = [")?;
        for name in &self.dependencies {
            writeln!(f, "    {},", quoted(name.as_str()))?;
        }
        writeln!(f, "]")
    }
}

impl RawPack {
    /// Gives the texts their types and checks that the digests are there.
    fn check(self) -> Result<LockedPack, LockError> {
        let name = PackName::parse(&self.name).map_err(|error| LockError::remake(error.message))?;
        let version = Version::parse(&self.version)
            .map_err(|error| LockError::remake(format!("pack `{name}`: {}", error.message)))?;
        let source: LockedSource =
            self.source.parse().map_err(|message| LockError::remake(format!("pack `{name}`: {message}")))?;
        let archive = digest("sha256", "archive", &name, self.archive.as_deref())?;
        let tree = digest("blake3", "tree", &name, self.tree.as_deref())?;
        let raw_c = digest("blake3", "raw-c", &name, self.raw_c.as_deref())?;
        let root = digest("sha256", "root", &name, self.root.as_deref())?;
        let said = [("published", self.published.is_some()), ("log", self.log.is_some()), ("root", root.is_some())];
        let said = said.into_iter().find(|(_, said)| *said);
        if let (Some((key, _)), false) = (said, matches!(source, LockedSource::Registry(_))) {
            return Err(LockError::remake(format!("pack `{name}` is of no registry, and is locked with `{key}`")));
        }
        let (needs_archive, needs_tree) = match source {
            LockedSource::Builtin | LockedSource::Registry(_) => (true, true),
            LockedSource::Git { .. } => (false, true),
            LockedSource::Path(_) => (false, false),
        };
        for (needed, present, key) in
            [(needs_archive, archive.is_some(), "archive"), (needs_tree, tree.is_some(), "tree")]
        {
            if needed && !present {
                return Err(LockError::remake(format!("pack `{name}` is locked without `{key}`")));
            }
        }
        let mut dependencies = BTreeSet::new();
        for text in &self.dependencies {
            let dependency = PackName::parse(text).map_err(|error| LockError::remake(error.message))?;
            if dependency == name {
                return Err(LockError::remake(format!("pack `{name}` depends on itself")));
            }
            if !dependencies.insert(dependency) {
                return Err(LockError::remake(format!("pack `{name}` depends on `{text}` twice")));
            }
        }
        let (published, log) = (self.published, self.log);
        Ok(LockedPack { name, version, source, archive, tree, raw_c, published, log, root, dependencies })
    }
}

/// Reads the text of a lockfile, each pack for itself.
fn read(text: &str) -> Result<(Version, Vec<LockedPack>), LockError> {
    let FormatOnly { version } = toml::from_str(text).map_err(|error| unreadable(&error))?;
    if version > LOCK_FORMAT {
        return Err(LockError {
            message: format!(
                "lockfile format {version} is newer than this version of exo, which reads up to {LOCK_FORMAT}"
            ),
            span: None,
            hint: Some("update exo, or delete the lockfile and run `exo install`".to_owned()),
        });
    }
    if version < 1 {
        return Err(LockError::remake(format!("there is no lockfile format {version}")));
    }
    let raw: Raw = toml::from_str(text).map_err(|error| unreadable(&error))?;
    let exo = Version::parse(&raw.exo).map_err(|error| LockError::remake(error.message))?;
    let packs = raw.pack.into_iter().map(RawPack::check).collect::<Result<_, _>>()?;
    Ok((exo, packs))
}

/// Reads `algorithm:digits`; the algorithm is written down so that another can follow without a guess.
fn digest<D: FromStr<Err = crate::digest::DigestError>>(
    algorithm: &str,
    key: &str,
    name: &PackName,
    text: Option<&str>,
) -> Result<Option<D>, LockError> {
    let Some(text) = text else {
        return Ok(None);
    };
    let digits = text
        .strip_prefix(algorithm)
        .and_then(|rest| rest.strip_prefix(':'))
        .ok_or_else(|| LockError::remake(format!("`{key}` of pack `{name}` must start with `{algorithm}:`")))?;
    digits.parse().map(Some).map_err(|error| LockError::remake(format!("`{key}` of pack `{name}`: {error}")))
}

/// A mistake in the TOML or in its shape.
fn unreadable(error: &toml::de::Error) -> LockError {
    let first = error.message().lines().next().unwrap_or("invalid TOML").trim_end_matches('.');
    LockError { span: error.span(), ..LockError::remake(format!("the lockfile cannot be read: {first}")) }
}

/// A string of TOML, always in double quotes and on one line.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
