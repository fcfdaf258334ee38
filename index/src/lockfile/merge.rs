//! A lockfile with an unfinished merge: both sides are read, and what they agree on is kept apart from what they do not.
//!
//! Git merges lockfiles line by line, so neither side need be a whole lockfile: what the other side changed
//! outside of the conflicts is in both already. A side is therefore read for its packs only, and the result is
//! a preference for the resolver, never a lockfile to use as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use super::{LockError, LockedPack, Lockfile, read};
use crate::name::PackName;
use crate::version::Version;

/// A pack on which the two sides differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disputed {
    /// The pack.
    pub name: PackName,
    /// The version on our side; `None` when it has no such pack.
    pub ours: Option<Version>,
    /// The version on their side; `None` when it has no such pack.
    pub theirs: Option<Version>,
}

impl Disputed {
    /// What came of it, given what the resolver chose.
    pub fn outcome(&self, chosen: Option<&Version>) -> String {
        let side = |version: &Option<Version>| version.as_ref().map_or("none".to_owned(), ToString::to_string);
        let outcome = chosen.map_or("is not needed".to_owned(), |version| format!("is {version}"));
        format!("`{}` {outcome} (ours: {}, theirs: {})", self.name, side(&self.ours), side(&self.theirs))
    }
}

/// The two sides of a lockfile with conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// What to prefer: what both sides say, and of what they do not agree on the newer version.
    pub preferred: Lockfile,
    /// The packs that both sides lock in the same way.
    pub agreed: BTreeSet<PackName>,
    /// The packs on which they differ, in the order of the names.
    pub disputed: Vec<Disputed>,
}

impl fmt::Display for Merge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "both sides agree on {} of its packs and differ in {}", self.agreed.len(), self.disputed.len())
    }
}

/// The place of the first line that git leaves in an unfinished merge.
pub fn conflict_marker(text: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if ["<<<<<<< ", ">>>>>>> "].iter().any(|marker| line.starts_with(marker)) {
            return Some(start..start + line.trim_end().len());
        }
        start += line.len();
    }
    None
}

/// The failure for conflicts that cannot be read.
fn unreadable(text: &str, why: &str) -> LockError {
    LockError {
        message: format!("the lockfile contains a merge conflict, and {why}"),
        span: conflict_marker(text),
        hint: Some("take either side, then run `exo install`: it keeps the versions that still fit".to_owned()),
    }
}

/// Which lines belong to which side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Both,
    Ours,
    /// What the sides came from, which git writes with `merge.conflictStyle = diff3`.
    Base,
    Theirs,
}

/// The texts of both sides.
fn sides(text: &str) -> Result<(String, String), LockError> {
    let (mut ours, mut theirs) = (String::new(), String::new());
    let mut part = Part::Both;
    for line in text.split_inclusive('\n') {
        let marker = line.trim_end();
        let next = match part {
            Part::Both if marker.starts_with("<<<<<<<") => Some(Part::Ours),
            Part::Ours if marker.starts_with("|||||||") => Some(Part::Base),
            Part::Ours | Part::Base if marker == "=======" => Some(Part::Theirs),
            Part::Theirs if marker.starts_with(">>>>>>>") => Some(Part::Both),
            Part::Both | Part::Ours | Part::Base | Part::Theirs => None,
        };
        if let Some(next) = next {
            part = next;
            continue;
        }
        if ["<<<<<<<", ">>>>>>>"].iter().any(|other| marker.starts_with(other)) {
            return Err(unreadable(text, "its markers do not match"));
        }
        if matches!(part, Part::Both | Part::Ours) {
            ours.push_str(line);
        }
        if matches!(part, Part::Both | Part::Theirs) {
            theirs.push_str(line);
        }
    }
    if part == Part::Both { Ok((ours, theirs)) } else { Err(unreadable(text, "its markers do not match")) }
}

/// Reads the two sides of a lockfile with conflict markers; `None` for a text without any.
///
/// # Errors
/// The markers do not match, a side cannot be read, or the sides lock one version with different digests.
pub fn merge(text: &str) -> Result<Option<Merge>, LockError> {
    if conflict_marker(text).is_none() {
        return Ok(None);
    }
    let (ours, theirs) = sides(text)?;
    let read_side = |side: &str, text_of_side: &str| {
        read(text_of_side).map_err(|error| unreadable(text, &format!("{side} side cannot be read: {}", error.message)))
    };
    let (our_exo, ours) = read_side("our", &ours)?;
    let (their_exo, theirs) = read_side("their", &theirs)?;
    // A side may hold a pack twice, once from each branch; the newest is what both lead to.
    let newest = |packs: Vec<LockedPack>| {
        let mut by_name: BTreeMap<PackName, LockedPack> = BTreeMap::new();
        for pack in packs {
            let keep = by_name.get(&pack.name).is_none_or(|other| other.version < pack.version);
            if keep {
                by_name.insert(pack.name.clone(), pack);
            }
        }
        by_name
    };
    let (ours, theirs) = (newest(ours), newest(theirs));
    let mut found =
        Merge { preferred: Lockfile::new(our_exo.max(their_exo)), agreed: BTreeSet::new(), disputed: Vec::new() };
    let names: BTreeSet<&PackName> = ours.keys().chain(theirs.keys()).collect();
    for name in names {
        let (one, other) = (ours.get(name), theirs.get(name));
        if let (Some(one), Some(other)) = (one, other)
            && one.version == other.version
            && one.source == other.source
        {
            if one.archive != other.archive || one.tree != other.tree {
                return Err(digests_differ(text, one));
            }
            found.agreed.insert(name.clone());
        } else {
            let version = |pack: Option<&LockedPack>| pack.map(|pack| pack.version.clone());
            found.disputed.push(Disputed { name: name.clone(), ours: version(one), theirs: version(other) });
        }
        // Of equal versions from two sources, ours stands.
        let preferred = match (one, other) {
            (Some(one), Some(other)) if other.version > one.version => Some(other),
            (one, other) => one.or(other),
        };
        found.preferred.packs.extend(preferred.map(|pack| (name.clone(), pack.clone())));
    }
    Ok(Some(found))
}

/// One version has one content; who says otherwise was lied to, and which side that is cannot be told from here.
fn digests_differ(text: &str, pack: &LockedPack) -> LockError {
    LockError {
        message: format!(
            "the lockfile contains a merge conflict, and its sides have different digests for `{} {}`",
            pack.name, pack.version
        ),
        span: conflict_marker(text),
        hint: Some(
            "one side was given other bytes under that version: find out which before you take either".to_owned(),
        ),
    }
}
