//! What goes wrong outside of a request: a message for whoever runs the server.

use std::fmt;

/// Why a command, or work in the background, did not succeed.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl Failure {
    /// A failure in one phrase.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// A number with its noun: `1 pack`, `2 packs`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

macro_rules! from {
    ($($what:literal $kind:ty),* $(,)?) => {
        $(impl From<$kind> for Failure {
            fn from(error: $kind) -> Self {
                Self(format!("{}: {error}", $what))
            }
        })*
    };
}

from! {
    "database" sqlx::Error,
    "blobs" object_store::Error,
    "input or output" std::io::Error,
    "JSON" serde_json::Error,
    "registry format" exo_index::registry::malformed::Malformed,
    "digest" exo_index::digest::DigestError,
    "time" std::time::SystemTimeError,
    "randomness" getrandom::Error,
    "background work" tokio::task::JoinError,
}

impl From<exo_index::name::NameError> for Failure {
    fn from(error: exo_index::name::NameError) -> Self {
        Self(error.message)
    }
}

impl From<exo_index::version::VersionError> for Failure {
    fn from(error: exo_index::version::VersionError) -> Self {
        Self(error.message)
    }
}
