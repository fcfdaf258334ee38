//! Why something that a registry serves is not believed, and what a person can do about it.

use std::fmt;

use crate::digest::Sha256;
use crate::name::PackName;
use crate::registry::malformed::Malformed;
use crate::version::Version;

/// A reason not to believe a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Bytes do not follow the protocol.
    Malformed(Malformed),
    /// The first root is not the pinned one.
    OtherRoot {
        /// The pin.
        pinned: Sha256,
        /// The digest of what is served.
        found: Sha256,
    },
    /// Roots do not follow one another.
    RootSequence {
        /// The number that had to come.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// A root lacks signatures.
    RootNotSigned {
        /// The root.
        version: u64,
        /// The root whose keys had to sign.
        by: u64,
        /// How many did.
        signed: usize,
        /// How many had to.
        needed: usize,
    },
    /// What is served belongs to another registry.
    OtherRegistry {
        /// The origin believed.
        expected: String,
        /// The origin served.
        found: String,
    },
    /// No index key of the root signed the pointer.
    WrongKey,
    /// The pointer was issued later than the client's clock says it is.
    FromTheFuture {
        /// When it was issued.
        issued: u64,
        /// What the clock says.
        now: u64,
    },
    /// Root or pointer is too old: the registry, or someone on the way, serves an old state.
    Expired {
        /// `root` or `pointer`.
        what: &'static str,
        /// When it expired.
        expires: u64,
        /// What the clock says.
        now: u64,
    },
    /// A number went back.
    Rollback {
        /// Which.
        what: &'static str,
        /// The number remembered.
        remembered: u64,
        /// The number served.
        found: u64,
    },
    /// There are two different pointers of one version.
    TwoPointers {
        /// The version.
        version: u64,
    },
    /// There are two different roots of one number.
    TwoRoots {
        /// The number.
        version: u64,
    },
    /// The log was rewritten, or others are shown another one.
    SplitView {
        /// The size remembered.
        remembered: u64,
        /// The size served.
        found: u64,
    },
    /// Something has not the hash by which it was reached.
    MixAndMatch {
        /// What.
        what: &'static str,
        /// The hash that led to it.
        expected: Sha256,
        /// The hash it has.
        found: Sha256,
    },
    /// A version is not in the log.
    NotInLog {
        /// The pack.
        name: PackName,
        /// The version.
        version: Version,
    },
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::OtherRoot { pinned, found } => {
                write!(f, "the registry's first root is sha256:{found}, but sha256:{pinned} is pinned")
            }
            Self::RootSequence { expected, found } => write!(f, "root {expected} was expected, but root {found} came"),
            Self::RootNotSigned { version, by, signed, needed } => {
                write!(f, "root {version} has {signed} of the {needed} signatures that root {by} asks for")
            }
            Self::OtherRegistry { expected, found } => {
                write!(f, "this is the registry `{found}`, not `{expected}`")
            }
            Self::WrongKey => f.write_str("the pointer is not signed by a key of the registry's root"),
            Self::FromTheFuture { issued, now } => {
                write!(
                    f,
                    "the registry's pointer was issued {} after this machine's time",
                    span(issued - now.min(issued))
                )
            }
            Self::Expired { what, expires, now } => {
                write!(f, "the registry's {what} expired {} ago", span(now - expires.min(now)))
            }
            Self::Rollback { what, remembered, found } => {
                write!(f, "the registry went back: {what} {found} is below {remembered}, which was seen before")
            }
            Self::TwoPointers { version } => write!(f, "the registry has two different pointers of version {version}"),
            Self::TwoRoots { version } => write!(f, "the registry has two different roots of number {version}"),
            Self::SplitView { remembered, found } => write!(
                f,
                "the registry's log of {found} entries does not continue the log of {remembered} entries seen before"
            ),
            Self::MixAndMatch { what, expected, found } => {
                write!(f, "{what} has sha256 {found}, but {expected} was asked for")
            }
            Self::NotInLog { name, version } => {
                write!(f, "`{name}` {version} does not stand in the registry's log where the index says")
            }
        }
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// What a person can do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "check that the URL is that of a registry, or try again later",
            Self::OtherRoot { .. } => {
                "do not trust this registry before its operator has confirmed the new pin in another way"
            }
            Self::RootSequence { .. } | Self::RootNotSigned { .. } => {
                "the registry's keys were not rotated as they must be; ask its operator"
            }
            Self::OtherRegistry { .. } => "check the registry's URL in the configuration",
            Self::WrongKey => {
                "the pointer is damaged, or someone else answers for the registry: try again, or another mirror, and ask its \
                 operator if it stays"
            }
            Self::FromTheFuture { .. } => "check this machine's clock",
            Self::Expired { .. } => {
                "check this machine's clock; if it is right, an old state is being served: try another network or mirror"
            }
            Self::Rollback { .. } => {
                "an old state is being served: try another network or mirror; if the registry was restored from a \
                 backup, its operator must publish past the old number"
            }
            Self::TwoPointers { .. } | Self::TwoRoots { .. } | Self::SplitView { .. } => {
                "the registry shows different people different contents: install nothing and tell its operator"
            }
            Self::MixAndMatch { .. } => {
                "a mirror or cache on the way is damaged or tampered with: try again, or another one"
            }
            Self::NotInLog { .. } => "do not install this version, and tell the registry's operator",
        }
    }
}

/// A number of seconds as people say it, in its largest unit.
fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}
