//! Shards: everything a registry says about one pack, a line for the pack and a line for each version.

use std::io::Read as _;

use serde::{Deserialize, Serialize};

use super::log::leaf::{Event, Leaf};
use super::malformed::{Malformed, utf8};
use super::text_form::nullable;
use crate::calendar;
use crate::digest::{Blake3, Sha256};
use crate::manifest::PackKind;
use crate::name::PackName;
use crate::version::{Requirement, Version};

const WHAT: &str = "a shard";

/// A shard that expands to more than this is refused.
const MAX_TEXT: u64 = 64 * 1024 * 1024;

/// The level of compression; above it, shards of usual size get no smaller.
const LEVEL: i32 = 9;

/// One pack of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// What holds of the pack as a whole.
    pub pack: PackEntry,
    /// Its versions, ascending.
    pub versions: Vec<VersionEntry>,
}

/// The first line of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackEntry {
    /// The pack's name.
    pub name: PackName,
    /// When its first version was published.
    pub created: u64,
    /// The logins of its owners.
    pub owners: Vec<String>,
    /// Whether its scope's identity was checked.
    pub verified: bool,
    /// Set when the pack should no longer be used.
    #[serde(deserialize_with = "nullable")]
    pub deprecated: Option<Withdrawal>,
    /// Known weaknesses.
    pub advisories: Vec<Advisory>,
    /// Set while no new versions are published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<Archival>,
}

/// That a pack is no longer maintained: what is published stays, and nothing new is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archival {
    /// Since when.
    pub since: u64,
    /// The reason given.
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<String>,
}

impl Archival {
    /// The day on which it was archived.
    pub fn day(&self) -> String {
        calendar::day(i64::try_from(self.since).unwrap_or(i64::MAX))
    }
}

/// Why a pack or a version should no longer be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// The reason given.
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<String>,
    /// What to use instead: a name, or a name and a version.
    #[serde(deserialize_with = "nullable")]
    pub replacement: Option<String>,
}

/// A known weakness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advisory {
    /// Its number, `EXO-2026-0001`.
    pub id: String,
    /// The versions that have it.
    pub versions: Requirement,
    /// `low`, `medium`, `high`, `critical`.
    pub severity: String,
    /// One line for people.
    pub summary: String,
    /// Where more stands.
    #[serde(deserialize_with = "nullable")]
    pub url: Option<String>,
    /// The versions that no longer have it, as their author says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patched: Option<Requirement>,
    /// What those can do who stay with a version that has it; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Advisory {
    /// Whether a version has the weakness. Unlike in the choice of versions, a prerelease counts as what comes before its
    /// release: `<1.1.0` means `1.1.0-rc.1` too.
    pub fn affects(&self, version: &Version) -> bool {
        self.versions.matches(version) || version.is_prerelease() && self.versions.spans(version)
    }

    /// What to do about it, as one phrase; `None` when nothing is said.
    pub fn advice(&self) -> Option<String> {
        let patched = self.patched.as_ref().map(|patched| format!("patched in {patched}"));
        match (patched, self.remedy.clone()) {
            (Some(patched), Some(remedy)) => Some(format!("{patched}; {remedy}")),
            (patched, remedy) => patched.or(remedy),
        }
    }

    /// The SHA-256 of its JSON as it stands in the shard, which its leaf in the log names.
    ///
    /// # Errors
    /// Never for sound values; kept as an error rather than a panic.
    pub fn digest(&self) -> Result<Sha256, Malformed> {
        let text = serde_json::to_string(self).map_err(|error| Malformed::new("an advisory", error.to_string()))?;
        Ok(Sha256::of(text.as_bytes()))
    }
}

/// One version of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionEntry {
    /// The version.
    pub version: Version,
    /// What the pack is for.
    pub kind: PackKind,
    /// When it was published.
    pub published: u64,
    /// The SHA-256 of its archive.
    pub archive: Sha256,
    /// The archive's size in bytes.
    pub size: u64,
    /// The tree digest of what is in the archive.
    pub tree: Blake3,
    /// The versions of the compiler it works with.
    pub exo: Requirement,
    /// The packs it depends on.
    pub dependencies: Vec<DependencyEntry>,
    /// An SPDX expression.
    #[serde(deserialize_with = "nullable")]
    pub licence: Option<String>,
    /// One line for people.
    #[serde(deserialize_with = "nullable")]
    pub description: Option<String>,
    /// The digest of its public interface and its contracts.
    pub api: Blake3,
    /// The digest of its raw C, when it has some.
    #[serde(deserialize_with = "nullable")]
    pub raw_c: Option<Blake3>,
    /// How many obligations it waives.
    pub waived: u64,
    /// How many claims were proven.
    pub claims: u64,
    /// How many instructions it defines.
    pub instructions: u64,
    /// The targets it provides or is for.
    pub targets: Vec<String>,
    /// The SHA-256 of the registry's verdict, when there is one.
    #[serde(deserialize_with = "nullable")]
    pub verdict: Option<Sha256>,
    /// Set when no new resolution may choose it.
    #[serde(deserialize_with = "nullable")]
    pub yanked: Option<Withdrawal>,
    /// Set while the registry's administrators keep it from everybody; `yanked` is set then too, for readers that do not know this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantined: Option<Withdrawal>,
    /// The index of its `publish` leaf in the log.
    pub log: u64,
}

/// A dependency of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyEntry {
    /// The pack depended on.
    pub name: PackName,
    /// The versions that do.
    pub requirement: Requirement,
    /// The registry's URL when it is another one.
    #[serde(deserialize_with = "nullable")]
    pub registry: Option<String>,
}

impl VersionEntry {
    /// The leaf by which the version was published, which is in the log at index `log`.
    pub fn publish_leaf(&self, name: &PackName) -> Leaf {
        let event = Event::Publish {
            name: name.clone(),
            version: self.version.clone(),
            archive: self.archive,
            tree: self.tree,
        };
        Leaf { event, time: self.published }
    }
}

impl Shard {
    /// The version entry of a version.
    pub fn version(&self, version: &Version) -> Option<&VersionEntry> {
        self.versions.iter().find(|entry| &entry.version == version)
    }

    /// The JSON lines, each ended by a newline.
    ///
    /// # Errors
    /// Never for sound values; kept as an error rather than a panic.
    pub fn to_text(&self) -> Result<String, Malformed> {
        let wrong = |error: serde_json::Error| Malformed::new(WHAT, error.to_string());
        let mut text = serde_json::to_string(&self.pack).map_err(wrong)?;
        text.push('\n');
        for version in &self.versions {
            text.push_str(&serde_json::to_string(version).map_err(wrong)?);
            text.push('\n');
        }
        Ok(text)
    }

    /// The bytes that are served: the lines as one zstd frame.
    ///
    /// # Errors
    /// The compressor ran out of memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Malformed> {
        let text = self.to_text()?;
        // Its size is told beforehand: without that the compressor makes tables for any size, of 15 MiB, which takes longer than the rest.
        zstd::bulk::compress(text.as_bytes(), LEVEL).map_err(|error| Malformed::new(WHAT, error.to_string()))
    }

    /// Reads the bytes that are served, for the pack that was asked for.
    ///
    /// # Errors
    /// They are no shard, or one of another pack.
    pub fn parse(bytes: &[u8], name: &PackName) -> Result<Self, Malformed> {
        let wrong = |error: std::io::Error| Malformed::new(WHAT, error.to_string());
        let mut expanded = Vec::new();
        let decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(wrong)?;
        decoder.take(MAX_TEXT + 1).read_to_end(&mut expanded).map_err(wrong)?;
        if expanded.len() as u64 > MAX_TEXT {
            return Err(Malformed::new(WHAT, "it expands to more than 64 MiB"));
        }
        Self::parse_text(utf8(WHAT, &expanded)?, name)
    }

    /// Reads the JSON lines.
    ///
    /// # Errors
    /// A line is not what it must be, versions are not ascending, or the pack is another one.
    pub fn parse_text(text: &str, name: &PackName) -> Result<Self, Malformed> {
        let mut lines = text.lines();
        let at = |line: usize, error: serde_json::Error| Malformed::new(WHAT, format!("line {line}: {error}"));
        let first = lines.next().ok_or_else(|| Malformed::new(WHAT, "it is empty"))?;
        let pack: PackEntry = serde_json::from_str(first).map_err(|error| at(1, error))?;
        if &pack.name != name {
            return Err(Malformed::new(WHAT, format!("it is of `{}`, not of `{name}`", pack.name)));
        }
        let mut versions: Vec<VersionEntry> = Vec::new();
        for (index, line) in lines.enumerate() {
            let entry: VersionEntry = serde_json::from_str(line).map_err(|error| at(index + 2, error))?;
            if versions.last().is_some_and(|last| last.version >= entry.version) {
                let message = format!("version {} does not stand in order", entry.version);
                return Err(Malformed::new(WHAT, message));
            }
            versions.push(entry);
        }
        Ok(Self { pack, versions })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
pub(crate) mod tests {
    use super::*;

    /// A shard of a pack with some versions, whose leaves stand at the given indices.
    pub(crate) fn shard(name: &str, versions: &[(&str, u64)]) -> Shard {
        let name = PackName::parse(name).unwrap();
        let version = |(version, log): &(&str, u64)| VersionEntry {
            version: Version::parse(version).unwrap(),
            kind: PackKind::Schedule,
            published: 100 + log,
            archive: Sha256::of(format!("{name} {version}").as_bytes()),
            size: 10,
            tree: Blake3::of(version.as_bytes()),
            exo: Requirement::parse(">=0.1").unwrap(),
            dependencies: vec![DependencyEntry {
                name: PackName::parse("std").unwrap(),
                requirement: Requirement::parse("1").unwrap(),
                registry: None,
            }],
            licence: Some("MIT".into()),
            description: None,
            api: Blake3::of(b"api"),
            raw_c: None,
            waived: 0,
            claims: 2,
            instructions: 0,
            targets: vec![],
            verdict: None,
            yanked: None,
            quarantined: None,
            log: *log,
        };
        let versions = versions.iter().map(version).collect();
        let owners = vec!["ada".to_owned()];
        let pack = PackEntry {
            name,
            created: 1,
            owners,
            verified: false,
            deprecated: None,
            advisories: vec![],
            archived: None,
        };
        Shard { pack, versions }
    }

    #[test]
    fn reads_back_what_it_writes() {
        let mut shard = shard("@arm/neon", &[("1.0.0-rc.1", 0), ("1.0.0", 3), ("1.10.0", 9)]);
        shard.pack.deprecated = Some(Withdrawal { reason: Some("old".into()), replacement: None });
        shard.pack.archived = Some(Archival { since: 86_400, reason: None });
        assert_eq!(shard.pack.archived.as_ref().map(Archival::day).as_deref(), Some("1970-01-02"));
        shard.pack.advisories.push(Advisory {
            id: "EXO-1".into(),
            versions: Requirement::parse("<1.10").unwrap(),
            severity: "high".into(),
            summary: "wrong sums".into(),
            url: None,
            patched: Some(Requirement::parse(">=1.10").unwrap()),
            remedy: Some("check the sums".into()),
        });
        let read = Shard::parse(&shard.to_bytes().unwrap(), &shard.pack.name).unwrap();
        assert_eq!(read, shard);
        assert!(read.version(&Version::new(1, 10, 0)).is_some());
        assert!(read.version(&Version::new(2, 0, 0)).is_none());
    }

    #[test]
    fn an_advisory_is_about_prereleases_too() {
        let advisory = |versions: &str, patched: Option<&str>, remedy: Option<&str>| Advisory {
            id: "EXO-1".into(),
            versions: Requirement::parse(versions).unwrap(),
            severity: "high".into(),
            summary: "wrong sums".into(),
            url: None,
            patched: patched.map(|text| Requirement::parse(text).unwrap()),
            remedy: remedy.map(str::to_owned),
        };
        for (versions, version, affected) in [
            ("<1.1.0", "1.0.9", true),
            ("<1.1.0", "1.0.0-rc.1", true),
            ("<1.1.0", "1.1.0-rc.1", true),
            ("<1.1.0", "1.1.0", false),
            ("<1.1.0", "1.1.1-rc.1", false),
            (">=1.0.0, <1.1.0", "1.0.0-rc.1", true),
            (">=1.0.0, <1.1.0", "0.9.0-rc.1", false),
            ("=1.0.0", "1.0.0", true),
            ("*", "1.0.0-rc.1", true),
        ] {
            let found = advisory(versions, None, None).affects(&Version::parse(version).unwrap());
            assert_eq!(found, affected, "{versions} {version}");
        }
        assert_eq!(advisory("*", None, None).advice(), None);
        assert_eq!(advisory("*", Some(">=2"), None).advice().unwrap(), "patched in >=2");
        assert_eq!(advisory("*", Some(">=2"), Some("check")).advice().unwrap(), "patched in >=2; check");
        // What says no more than older registries did reads as before.
        let text = serde_json::to_string(&advisory("*", None, None)).unwrap();
        assert!(text.ends_with("\"url\":null}"), "{text}");
        assert_eq!(serde_json::from_str::<Advisory>(&text).unwrap(), advisory("*", None, None));
    }

    #[test]
    fn refuses_missing_fields_and_ignores_unknown_ones() {
        let shard = shard("neon", &[("1.0.0", 0)]);
        let text = shard.to_text().unwrap();
        assert!(
            !text.contains("quarantined") && !text.contains("archived"),
            "what is not so is not written, as before"
        );
        let more = text.replace("\"log\":0", "\"log\":0,\"later\":[1]");
        assert_eq!(Shard::parse_text(&more, &shard.pack.name).unwrap(), shard);
        for field in
            ["\"yanked\":null,", "\"verdict\":null,", "\"registry\":null", "\"deprecated\":null,", "\"claims\":2,"]
        {
            let less = text.replace(field, "").replace("\"1\",}", "\"1\"}").replace("\"^1\",}", "\"^1\"}");
            assert_ne!(less, text, "{field}");
            assert!(Shard::parse_text(&less, &shard.pack.name).is_err(), "{field}");
        }
    }

    #[test]
    fn refuses_another_pack_and_disorder() {
        let good = shard("neon", &[("1.0.0", 0), ("1.1.0", 1)]);
        assert!(Shard::parse(&good.to_bytes().unwrap(), &PackName::parse("avx2").unwrap()).is_err());
        for versions in [[("1.1.0", 0), ("1.0.0", 1)], [("1.0.0", 0), ("1.0.0", 1)]] {
            let bad = shard("neon", &versions);
            assert!(Shard::parse(&bad.to_bytes().unwrap(), &bad.pack.name).is_err());
        }
        assert!(Shard::parse(b"not zstd", &good.pack.name).is_err());
        let empty = zstd::stream::encode_all(&b""[..], 1).unwrap();
        assert!(Shard::parse(&empty, &good.pack.name).is_err());
    }

    #[test]
    fn refuses_a_bomb() {
        let bomb = zstd::stream::encode_all(std::io::repeat(b' ').take(MAX_TEXT + 1), 1).unwrap();
        assert!(Shard::parse(&bomb, &PackName::parse("neon").unwrap()).unwrap_err().message.contains("64 MiB"));
    }
}
