//! The leaves of the log: one text for each event, so that anyone can compute a leaf from what it says.

use std::fmt;

use crate::digest::{Blake3, Sha256};
use crate::name::PackName;
use crate::registry::malformed::{Malformed, number, utf8};
use crate::registry::rights::Role;
use crate::version::Version;

const WHAT: &str = "a leaf of the log";

/// The line that opens every leaf.
const FORMAT: &str = "exo-log 1";

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// What happened.
    pub event: Event,
    /// When.
    pub time: u64,
}

/// What can happen to a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A version was published.
    Publish {
        /// The pack.
        name: PackName,
        /// The version.
        version: Version,
        /// The SHA-256 of its archive.
        archive: Sha256,
        /// Its tree digest.
        tree: Blake3,
    },
    /// A version was withdrawn from new resolutions.
    Yank {
        /// The pack.
        name: PackName,
        /// The version.
        version: Version,
    },
    /// A version was given back.
    Unyank {
        /// The pack.
        name: PackName,
        /// The version.
        version: Version,
    },
    /// A version was put into quarantine.
    Quarantine {
        /// The pack.
        name: PackName,
        /// The version.
        version: Version,
    },
    /// A version came out of quarantine.
    Release {
        /// The pack.
        name: PackName,
        /// The version.
        version: Version,
    },
    /// A version was deleted.
    Delete {
        /// The pack.
        name: PackName,
        /// The version.
        version: Version,
    },
    /// An account became an owner of a pack, or ceased to be one.
    Owner {
        /// The pack.
        name: PackName,
        /// The account.
        login: String,
        /// Whether it became one.
        added: bool,
    },
    /// A pack was deprecated, or is no longer.
    Deprecate {
        /// The pack.
        name: PackName,
        /// Whether it is deprecated now.
        deprecated: bool,
    },
    /// A pack was archived, or is no longer.
    Archive {
        /// The pack.
        name: PackName,
        /// Whether it is archived now.
        archived: bool,
    },
    /// An advisory was published or changed.
    Advisory {
        /// The pack.
        name: PackName,
        /// The advisory's id.
        id: String,
        /// The SHA-256 of the advisory's JSON as it stands in the shard.
        digest: Sha256,
    },
    /// An advisory was withdrawn.
    AdvisoryWithdrawn {
        /// The pack.
        name: PackName,
        /// The advisory's id.
        id: String,
    },
    /// Something happened to an organisation, the owner of a scope.
    Organisation {
        /// Its name, which is that of the scope.
        name: String,
        /// What happened.
        change: OrganisationChange,
    },
    /// An account became a member of an organisation, got another role, or left.
    Member {
        /// The organisation.
        organisation: String,
        /// The account.
        login: String,
        /// What it may do now; nothing when it left.
        role: Option<Role>,
    },
}

/// What can happen to an organisation as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrganisationChange {
    /// It was made.
    Created,
    /// An administrator of the registry knows who it is.
    Verified,
    /// An administrator took that back.
    Unverified,
}

impl OrganisationChange {
    const ALL: [Self; 3] = [Self::Created, Self::Verified, Self::Unverified];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "create",
            Self::Verified => "verify",
            Self::Unverified => "unverify",
        }
    }
}

impl Leaf {
    /// The bytes that are hashed.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_string().into_bytes()
    }

    /// The leaf's hash.
    pub fn hash(&self) -> Sha256 {
        super::hash::leaf_hash(&self.to_bytes())
    }

    /// Reads the bytes of a leaf.
    ///
    /// # Errors
    /// They are no leaf of a known event in its only form.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let text = utf8(WHAT, bytes)?;
        let wrong = || Malformed::new(WHAT, format!("`{}`", text.escape_debug()));
        let lines: Vec<&str> = text.split('\n').collect();
        let [FORMAT, verb, subject, middle @ .., time] = lines.as_slice() else { return Err(wrong()) };
        let time = number(WHAT, time.strip_prefix("time ").ok_or_else(wrong)?)?;
        let event = read_event(verb, subject, middle).ok_or_else(wrong)?;
        let leaf = Self { event, time };
        // One event has one text: what was read must be written the same way.
        if leaf.to_string() == text { Ok(leaf) } else { Err(wrong()) }
    }
}

/// Reads the lines between the format and the time.
fn read_event(verb: &str, subject: &str, middle: &[&str]) -> Option<Event> {
    let words: Vec<&str> = subject.split(' ').collect();
    let (name, words) = words.split_first()?;
    if let "organisation" | "member" = verb {
        // The name of an organisation is that of a scope.
        let sound = PackName::parse(&format!("@{name}/pack")).is_ok() && middle.is_empty();
        return sound.then(|| read_organisation(verb, name, words)).flatten();
    }
    let name = PackName::parse(name).ok()?;
    match (verb, words, middle) {
        ("publish", [version], [archive, tree]) => Some(Event::Publish {
            name,
            version: Version::parse(version).ok()?,
            archive: archive.strip_prefix("archive ")?.parse().ok()?,
            tree: tree.strip_prefix("tree ")?.parse().ok()?,
        }),
        ("yank", [version], []) => Some(Event::Yank { name, version: Version::parse(version).ok()? }),
        ("unyank", [version], []) => Some(Event::Unyank { name, version: Version::parse(version).ok()? }),
        ("quarantine", [version], []) => Some(Event::Quarantine { name, version: Version::parse(version).ok()? }),
        ("delete", [version], []) => Some(Event::Delete { name, version: Version::parse(version).ok()? }),
        ("release", [version], []) => Some(Event::Release { name, version: Version::parse(version).ok()? }),
        ("owner", [login, what @ ("add" | "remove")], []) => {
            Some(Event::Owner { name, login: (*login).to_owned(), added: *what == "add" })
        }
        ("deprecate", [what @ ("set" | "lift")], []) => Some(Event::Deprecate { name, deprecated: *what == "set" }),
        ("archive", [what @ ("set" | "lift")], []) => Some(Event::Archive { name, archived: *what == "set" }),
        ("advisory", [id], [digest]) => {
            Some(Event::Advisory { name, id: (*id).to_owned(), digest: digest.strip_prefix("digest ")?.parse().ok()? })
        }
        ("advisory-withdrawn", [id], []) => Some(Event::AdvisoryWithdrawn { name, id: (*id).to_owned() }),
        (_, _, _) => None,
    }
}

/// Reads what happened to an organisation.
fn read_organisation(verb: &str, name: &str, words: &[&str]) -> Option<Event> {
    match (verb, words) {
        ("organisation", [what]) => {
            let change = OrganisationChange::ALL.into_iter().find(|change| change.as_str() == *what)?;
            Some(Event::Organisation { name: name.to_owned(), change })
        }
        ("member", [login, what]) => {
            let role = if *what == "remove" { None } else { Some(Role::parse(what)?) };
            Some(Event::Member { organisation: name.to_owned(), login: (*login).to_owned(), role })
        }
        (_, _) => None,
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FORMAT}")?;
        match &self.event {
            Event::Publish { name, version, archive, tree } => {
                writeln!(f, "publish\n{name} {version}\narchive {archive}\ntree {tree}")?;
            }
            Event::Yank { name, version } => writeln!(f, "yank\n{name} {version}")?,
            Event::Unyank { name, version } => writeln!(f, "unyank\n{name} {version}")?,
            Event::Quarantine { name, version } => writeln!(f, "quarantine\n{name} {version}")?,
            Event::Delete { name, version } => writeln!(f, "delete\n{name} {version}")?,
            Event::Release { name, version } => writeln!(f, "release\n{name} {version}")?,
            Event::Owner { name, login, added } => {
                writeln!(f, "owner\n{name} {login} {}", if *added { "add" } else { "remove" })?;
            }
            Event::Deprecate { name, deprecated } => {
                writeln!(f, "deprecate\n{name} {}", if *deprecated { "set" } else { "lift" })?;
            }
            Event::Archive { name, archived } => {
                writeln!(f, "archive\n{name} {}", if *archived { "set" } else { "lift" })?;
            }
            Event::Advisory { name, id, digest } => writeln!(f, "advisory\n{name} {id}\ndigest {digest}")?,
            Event::AdvisoryWithdrawn { name, id } => writeln!(f, "advisory-withdrawn\n{name} {id}")?,
            Event::Organisation { name, change } => writeln!(f, "organisation\n{name} {}", change.as_str())?,
            Event::Member { organisation, login, role } => {
                writeln!(f, "member\n{organisation} {login} {}", role.map_or("remove", Role::as_str))?;
            }
        }
        write!(f, "time {}", self.time)
    }
}
