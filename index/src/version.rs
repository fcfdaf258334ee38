//! Versions of packs and requirements on them, with cargo's syntax and cargo's meaning.

use std::fmt;
use std::str::FromStr;

/// A version of a pack, a semantic version without build metadata.
///
/// Build metadata is refused because it takes no part in precedence: two versions that differ in nothing
/// else could not be told apart by any requirement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(semver::Version);

/// A requirement on a version: `1.1`, `^1.1`, `~1.1`, `=1.1.0`, `>=1, <2`, `*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement(semver::VersionReq);

/// Why a text is not a version or a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionError {
    /// What is wrong, in one phrase.
    pub message: String,
    /// What to write instead, where that is known.
    pub hint: Option<String>,
}

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for VersionError {}

impl Version {
    /// A release version.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self(semver::Version::new(major, minor, patch))
    }

    /// Reads a version.
    ///
    /// # Errors
    /// The text is no semantic version, or has build metadata.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let version = semver::Version::parse(text).map_err(|error| VersionError {
            message: format!("`{text}` is not a version: {error}"),
            hint: complete(text).map(|full| format!("a version has three numbers, as in `{full}`")),
        })?;
        if !version.build.is_empty() {
            let hint = Some(format!("write `{}`", text.split('+').next().unwrap_or(text)));
            return Err(VersionError { message: format!("version `{text}` has build metadata"), hint });
        }
        Ok(Self(version))
    }

    /// A version with these numbers and this prerelease, which may be empty.
    pub(crate) fn with_prerelease((major, minor, patch): (u64, u64, u64), pre: semver::Prerelease) -> Self {
        Self(semver::Version { major, minor, patch, pre, build: semver::BuildMetadata::EMPTY })
    }

    /// The first number.
    pub const fn major(&self) -> u64 {
        self.0.major
    }

    /// The second number.
    pub const fn minor(&self) -> u64 {
        self.0.minor
    }

    /// The third number.
    pub const fn patch(&self) -> u64 {
        self.0.patch
    }

    /// Whether this is a version such as `2.0.0-beta.1`, which only a requirement that names a prerelease of the
    /// same three numbers accepts.
    pub fn is_prerelease(&self) -> bool {
        !self.0.pre.is_empty()
    }

    /// The version as the `semver` crate has it.
    pub const fn as_semver(&self) -> &semver::Version {
        &self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Version {
    type Err = VersionError;
    fn from_str(text: &str) -> Result<Self, VersionError> {
        Self::parse(text)
    }
}

impl Requirement {
    /// The requirement `*`, which any release meets.
    pub const ANY: Self = Self(semver::VersionReq::STAR);

    /// Reads a requirement.
    ///
    /// # Errors
    /// The text does not follow cargo's syntax for requirements.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        semver::VersionReq::parse(text).map(Self).map_err(|error| VersionError {
            message: format!("`{text}` is not a version requirement: {error}"),
            hint: Some("requirements look like `1.1`, `~1.1`, `=1.1.0`, `>=1, <2` or `*`".to_owned()),
        })
    }

    /// The requirement `=version`.
    pub fn exactly(version: &Version) -> Self {
        let inner = version.as_semver();
        let comparator = semver::Comparator {
            op: semver::Op::Exact,
            major: inner.major,
            minor: Some(inner.minor),
            patch: Some(inner.patch),
            pre: inner.pre.clone(),
        };
        Self(semver::VersionReq { comparators: vec![comparator] })
    }

    /// The requirement that `exo add` writes for a version: `1.2.3` gives `1.2.3`, any compatible version from it on.
    pub fn compatible_with(version: &Version) -> Self {
        let inner = version.as_semver();
        let comparator = semver::Comparator {
            op: semver::Op::Caret,
            major: inner.major,
            minor: Some(inner.minor),
            patch: Some(inner.patch),
            pre: inner.pre.clone(),
        };
        Self(semver::VersionReq { comparators: vec![comparator] })
    }

    /// Whether a version meets the requirement.
    ///
    /// As in cargo, a prerelease meets it only when one comparator names a prerelease of the same three numbers.
    pub fn matches(&self, version: &Version) -> bool {
        self.0.matches(&version.0)
    }

    /// Whether a pack that asks for this works with a version of exo. A prerelease of exo counts as the release it leads to:
    /// people who try the next compiler would otherwise find no pack that accepts it.
    pub fn accepts_exo(&self, exo: &Version) -> bool {
        self.matches(exo) || self.matches(&Version::new(exo.major(), exo.minor(), exo.patch()))
    }

    /// Whether a prerelease lies in the range when versions are compared by order alone; [`Requirement::matches`] lets a prerelease in
    /// only where one is named.
    pub fn spans(&self, version: &Version) -> bool {
        let release = Version::new(version.major(), version.minor(), version.patch());
        self.0.comparators.iter().all(|comparator| {
            let one = Self(semver::VersionReq { comparators: vec![comparator.clone()] });
            let bound = (Some(release.minor()), Some(release.patch()));
            let before_bound = comparator.op == semver::Op::Less
                && comparator.pre.is_empty()
                && comparator.major == release.major()
                && (comparator.minor.or(Some(0)), comparator.patch.or(Some(0))) == bound;
            one.matches(version) || one.matches(&release) || before_bound
        })
    }

    /// Whether this is `*`.
    pub fn is_any(&self) -> bool {
        self.0.comparators.is_empty()
    }

    /// The requirement as the `semver` crate has it.
    pub const fn as_semver(&self) -> &semver::VersionReq {
        &self.0
    }
}

impl fmt::Display for Requirement {
    /// Writes cargo's canonical text, with the `^` of a bare version spelled out (`^1.1`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Requirement {
    type Err = VersionError;
    fn from_str(text: &str) -> Result<Self, VersionError> {
        Self::parse(text)
    }
}

/// `1` or `1.2` with the missing zeros, when that makes a version of it.
fn complete(text: &str) -> Option<String> {
    let trimmed = text.trim().trim_start_matches(['v', 'V']);
    [trimmed.to_owned(), format!("{trimmed}.0"), format!("{trimmed}.0.0")]
        .into_iter()
        .find(|candidate| semver::Version::parse(candidate).is_ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn orders_as_semver_does() {
        let ordered = ["0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.1", "1.10.0", "2.0.0"];
        let parsed: Vec<Version> = ordered.iter().map(|text| version(text)).collect();
        assert!(parsed.is_sorted());
        assert_eq!(parsed.iter().map(ToString::to_string).collect::<Vec<_>>(), ordered);
    }

    #[test]
    fn refuses_half_versions_and_build_metadata() {
        assert!(Version::parse("1.2").unwrap_err().hint.unwrap().contains("`1.2.0`"));
        assert!(Version::parse("v1").unwrap_err().hint.unwrap().contains("`1.0.0`"));
        assert_eq!(Version::parse("1.0.0+x").unwrap_err().hint.unwrap(), "write `1.0.0`");
        for text in ["", "1", "01.0.0", "1.0.0-", "1.0.0.0", "x"] {
            assert!(Version::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn requirements_mean_what_cargo_means() {
        let cases = [
            ("1.1", "1.1.0", true),
            ("1.1", "1.9.3", true),
            ("1.1", "1.0.9", false),
            ("1.1", "2.0.0", false),
            ("0.1", "0.1.9", true),
            ("0.1", "0.2.0", false),
            ("0.0.3", "0.0.4", false),
            ("~1.2", "1.2.9", true),
            ("~1.2", "1.3.0", false),
            ("=1.2.3", "1.2.3", true),
            ("=1.2", "1.2.7", true),
            (">=1, <2", "1.99.0", true),
            (">=1, <2", "2.0.0", false),
            ("*", "0.0.1", true),
            ("*", "1.0.0-rc.1", false),
            ("1.0.0-rc.1", "1.0.0-rc.2", true),
            ("1.0.0-rc.1", "1.0.1-rc.1", false),
        ];
        for (requirement, candidate, expected) in cases {
            assert_eq!(
                Requirement::parse(requirement).unwrap().matches(&version(candidate)),
                expected,
                "{requirement} {candidate}"
            );
        }
    }

    #[test]
    fn builds_requirements_from_a_version() {
        let chosen = version("1.2.3-beta.1");
        assert_eq!(Requirement::exactly(&chosen).to_string(), "=1.2.3-beta.1");
        assert_eq!(Requirement::compatible_with(&chosen).to_string(), "^1.2.3-beta.1");
        assert!(Requirement::exactly(&chosen).matches(&chosen));
        assert!(Requirement::ANY.is_any());
        assert!(Requirement::parse("1.2.3.4").unwrap_err().hint.is_some());
    }
}
