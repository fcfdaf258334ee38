//! Sets of versions as the solver needs them: closed under complement and intersection, and exactly what requirements mean.
//!
//! Cargo lets a prerelease meet a requirement only when a comparator names a prerelease of the same three numbers, so the versions
//! that meet `^1.2` are no interval of the order of versions: `1.3.0-rc.1` lies between `1.2.0` and `1.3.0` and is not
//! one of them. Kept apart, releases and prereleases each form finitely many intervals, and a set is a pair of those.
//!
//! All intervals are half-open, `[a, b)`, with bounds of their own kind (releases, or prereleases) or none. Then
//! none is empty without looking so, and equal sets have equal representations, on which the solver relies.

use std::fmt;

use pubgrub::Ranges;
use semver::{Comparator, Op, Prerelease};

use crate::version::{Requirement, Version};

/// A set of versions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct VersionSet {
    /// The releases in it.
    releases: Ranges<Version>,
    /// The prereleases in it.
    prereleases: Ranges<Version>,
}

/// The three numbers of a version.
type Numbers = (u64, u64, u64);

/// A half-open interval; `None` is no bound.
struct Interval {
    from: Option<Version>,
    to: Option<Version>,
}

impl VersionSet {
    /// The versions that meet a requirement.
    pub(super) fn of(requirement: &Requirement) -> Self {
        let comparators = &requirement.as_semver().comparators;
        let mut releases = Ranges::full();
        let mut prereleases = Ranges::full();
        let mut named = Ranges::empty();
        for comparator in comparators {
            releases = releases.intersection(&releases_of(comparator));
            prereleases = prereleases.intersection(&prereleases_of(comparator));
            if let (Some(minor), Some(patch), false) = (comparator.minor, comparator.patch, comparator.pre.is_empty()) {
                let numbers = (comparator.major, minor, patch);
                named =
                    named.union(&between(Some(first_prerelease(numbers)), next_patch(numbers).map(first_prerelease)));
            }
        }
        Self { releases, prereleases: prereleases.intersection(&named) }
    }

    fn both(&self, other: &Self, combine: impl Fn(&Ranges<Version>, &Ranges<Version>) -> Ranges<Version>) -> Self {
        Self {
            releases: combine(&self.releases, &other.releases),
            prereleases: combine(&self.prereleases, &other.prereleases),
        }
    }
}

impl pubgrub::VersionSet for VersionSet {
    type V = Version;

    fn empty() -> Self {
        Self { releases: Ranges::empty(), prereleases: Ranges::empty() }
    }

    fn full() -> Self {
        Self { releases: Ranges::full(), prereleases: Ranges::full() }
    }

    fn singleton(version: Version) -> Self {
        if version.is_prerelease() {
            let next = successor(&version);
            Self { releases: Ranges::empty(), prereleases: between(Some(version), next) }
        } else {
            let next = next_patch(numbers_of(&version)).map(release);
            Self { releases: between(Some(version), next), prereleases: Ranges::empty() }
        }
    }

    fn complement(&self) -> Self {
        Self { releases: self.releases.complement(), prereleases: self.prereleases.complement() }
    }

    fn intersection(&self, other: &Self) -> Self {
        self.both(other, Ranges::intersection)
    }

    fn union(&self, other: &Self) -> Self {
        self.both(other, Ranges::union)
    }

    fn contains(&self, version: &Version) -> bool {
        if version.is_prerelease() { self.prereleases.contains(version) } else { self.releases.contains(version) }
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        self.releases.is_disjoint(&other.releases) && self.prereleases.is_disjoint(&other.prereleases)
    }

    fn subset_of(&self, other: &Self) -> bool {
        self.releases.subset_of(&other.releases) && self.prereleases.subset_of(&other.prereleases)
    }
}

impl fmt::Display for VersionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.releases)?;
        if self.prereleases != Ranges::empty() {
            write!(f, " and prereleases {}", self.prereleases)?;
        }
        Ok(())
    }
}

/// `[from, to)`, in the one form it has: a lower bound that excludes nothing is none.
fn between(from: Option<Version>, to: Option<Version>) -> Ranges<Version> {
    let from = from.filter(|from| *from != Version::new(0, 0, 0) && *from != first_prerelease((0, 0, 0)));
    match (from, to) {
        (Some(from), Some(to)) if from >= to => Ranges::empty(),
        (Some(from), Some(to)) => Ranges::between(from, to),
        (Some(from), None) => Ranges::higher_than(from),
        (None, Some(to)) if to == Version::new(0, 0, 0) || to == first_prerelease((0, 0, 0)) => Ranges::empty(),
        (None, Some(to)) => Ranges::strictly_lower_than(to),
        (None, None) => Ranges::full(),
    }
}

/// The interval from a bound on, which is empty when the bound is beyond all versions.
fn from_on(from: Option<Version>) -> Ranges<Version> {
    if from.is_none() { Ranges::empty() } else { between(from, None) }
}

/// The releases that one comparator accepts.
fn releases_of(comparator: &Comparator) -> Ranges<Version> {
    let start = start_of(comparator);
    let after = after(comparator).map(release);
    let is_prerelease = !comparator.pre.is_empty();
    let Interval { from, to } = match comparator.op {
        // `=1.2.3-rc` is met by no release.
        Op::Exact if is_prerelease => return Ranges::empty(),
        Op::Exact | Op::Wildcard => Interval { from: Some(release(start)), to: after },
        // `1.2.3` comes after all its prereleases.
        Op::Greater if is_prerelease => return from_on(Some(release(start))),
        Op::Greater => return from_on(after),
        Op::GreaterEq => return from_on(Some(release(start))),
        Op::Less => Interval { from: None, to: Some(release(start)) },
        Op::LessEq if is_prerelease => Interval { from: None, to: Some(release(start)) },
        Op::LessEq => Interval { from: None, to: after },
        Op::Tilde => Interval { from: Some(release(start)), to: tilde_end(comparator).map(release) },
        Op::Caret => Interval { from: Some(release(start)), to: caret_end(comparator).map(release) },
        // The operators above are all that requirements are written with; one this crate does not know accepts nothing.
        _ => return Ranges::empty(),
    };
    between(from, to)
}

/// The prereleases that one comparator accepts, before the rule that some comparator must name one of the same numbers.
fn prereleases_of(comparator: &Comparator) -> Ranges<Version> {
    let start = start_of(comparator);
    let is_full = comparator.patch.is_some();
    let named = (!comparator.pre.is_empty()).then(|| prerelease(start, comparator.pre.clone()));
    let after = after(comparator).map(first_prerelease);
    // Where those begin that follow the comparator's version: behind `1.2.3` stands no prerelease of `1.2.3` itself.
    let from = match (&named, is_full) {
        (Some(version), _) => Some(version.clone()),
        (None, true) => after.clone(),
        (None, false) => Some(first_prerelease(start)),
    };
    let Interval { from, to } = match comparator.op {
        Op::Exact => match named {
            Some(version) => Interval { to: successor(&version), from: Some(version) },
            None => return Ranges::empty(),
        },
        Op::Wildcard => return Ranges::empty(),
        Op::Greater => return from_on(named.map_or(after, |version| successor(&version))),
        Op::GreaterEq => return from_on(named.or(after)),
        Op::Less => Interval { from: None, to: named.or(if is_full { after } else { Some(first_prerelease(start)) }) },
        Op::LessEq => {
            let end = if is_full { after } else { Some(first_prerelease(start)) };
            Interval { from: None, to: named.map_or(end, |version| successor(&version)) }
        }
        // `~1` and `~1.2` are met by releases only.
        Op::Tilde if !is_full => return Ranges::empty(),
        Op::Tilde => return until(from, tilde_end(comparator)),
        Op::Caret => return until(from, caret_end(comparator)),
        _ => return Ranges::empty(),
    };
    between(from, to)
}

/// The prereleases from a bound up to those of some numbers; empty when the bound is beyond all versions.
fn until(from: Option<Version>, end: Option<Numbers>) -> Ranges<Version> {
    if from.is_none() { Ranges::empty() } else { between(from, end.map(first_prerelease)) }
}

/// The comparator's numbers with zeros for those it leaves out.
fn start_of(comparator: &Comparator) -> Numbers {
    (comparator.major, comparator.minor.unwrap_or(0), comparator.patch.unwrap_or(0))
}

/// The first numbers behind all those that begin with the comparator's; `None` when there are none.
fn after(comparator: &Comparator) -> Option<Numbers> {
    match (comparator.minor, comparator.patch) {
        (None, _) => next_major(comparator.major),
        (Some(minor), None) => next_minor((comparator.major, minor)),
        (Some(minor), Some(patch)) => next_patch((comparator.major, minor, patch)),
    }
}

/// Where `~` ends.
fn tilde_end(comparator: &Comparator) -> Option<Numbers> {
    match comparator.minor {
        None => next_major(comparator.major),
        Some(minor) => next_minor((comparator.major, minor)),
    }
}

/// Where `^` ends: at the next change of the leftmost number that is not zero.
fn caret_end(comparator: &Comparator) -> Option<Numbers> {
    match (comparator.major, comparator.minor, comparator.patch) {
        (0, Some(0), Some(patch)) => next_patch((0, 0, patch)),
        (0, Some(minor), _) => next_minor((0, minor)),
        (major, _, _) => next_major(major),
    }
}

fn next_major(major: u64) -> Option<Numbers> {
    major.checked_add(1).map(|major| (major, 0, 0))
}

fn next_minor((major, minor): (u64, u64)) -> Option<Numbers> {
    minor.checked_add(1).map(|minor| (major, minor, 0)).or_else(|| next_major(major))
}

fn next_patch((major, minor, patch): Numbers) -> Option<Numbers> {
    patch.checked_add(1).map(|patch| (major, minor, patch)).or_else(|| next_minor((major, minor)))
}

fn numbers_of(version: &Version) -> Numbers {
    (version.major(), version.minor(), version.patch())
}

fn release((major, minor, patch): Numbers) -> Version {
    Version::new(major, minor, patch)
}

fn prerelease(numbers: Numbers, pre: Prerelease) -> Version {
    Version::with_prerelease(numbers, pre)
}

/// The lowest prerelease of some numbers, `1.2.3-0`.
fn first_prerelease(numbers: Numbers) -> Version {
    // "0" is a valid prerelease; were it not, the empty one would make the set too small, never too large.
    prerelease(numbers, Prerelease::new("0").unwrap_or(Prerelease::EMPTY))
}

/// The version right behind a prerelease: `1.2.3-rc` is followed by `1.2.3-rc.0`.
fn successor(version: &Version) -> Option<Version> {
    let pre = Prerelease::new(&format!("{}.0", version.as_semver().pre)).ok()?;
    Some(prerelease(numbers_of(version), pre))
}
