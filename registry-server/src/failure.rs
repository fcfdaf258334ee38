//! What goes wrong outside of a request: a message for whoever runs the server.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a command, or work in the background, did not succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) cause: Cause,
}

/// What whoever asked can be told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Nothing: it is a matter of the registry.
    Inner,
    /// There is no room left for rows or files.
    DiskFull,
    /// The database does not answer.
    NoDatabase,
    /// Another replica, or a command, holds what this waits for.
    Held,
    /// A text has a character that the database does not keep.
    NoText,
}

impl Failure {
    /// A failure in one phrase.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: Cause::Inner }
    }
}

/// A number with its noun: `1 pack`, `2 packs`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}

/// Whether an error, or what it came from, is that a disk is full.
fn is_of_full_disk(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if matches!(kind, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)) {
            return true;
        }
        next = error.source();
    }
    false
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self { cause: cause_of_rows(&error), message: format!("database: {error}") }
    }
}

/// SQLite's code of a full disk is 13, PostgreSQL's is 53100; its class 57 says that the server ends or starts, 25P03 that it took back a
/// transaction that slept, 55P03 that another one did not end in time, and 22021 that a text has a character of number 0.
fn cause_of_rows(error: &sqlx::Error) -> Cause {
    match error {
        sqlx::Error::Database(said) => match said.code().as_deref() {
            Some("13" | "53100") => Cause::DiskFull,
            Some("22021") => Cause::NoText,
            Some("25P03") => Cause::NoDatabase,
            Some("55P03") => Cause::Held,
            Some(code) if code.len() == 5 && code.starts_with("57P") => Cause::NoDatabase,
            Some(_) | None if said.message().contains("database or disk is full") => Cause::DiskFull,
            Some(_) | None => Cause::Inner,
        },
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Tls(_) => {
            match is_of_full_disk(error) {
                true => Cause::DiskFull,
                false => Cause::NoDatabase,
            }
        }
        _ => Cause::Inner,
    }
}

macro_rules! from {
    ($($what:literal $kind:ty),* $(,)?) => {
        $(impl From<$kind> for Failure {
            fn from(error: $kind) -> Self {
                let cause = if is_of_full_disk(&error) { Cause::DiskFull } else { Cause::Inner };
                Self { message: format!("{}: {error}", $what), cause }
            }
        })*
    };
}

from! {
    "blobs" object_store::Error,
    "input or output" std::io::Error,
    "JSON" serde_json::Error,
    "registry format" exo_index::registry::malformed::Malformed,
    "digest" exo_index::digest::DigestError,
    "time" std::time::SystemTimeError,
    "randomness" getrandom::Error,
    "background work" tokio::task::JoinError,
    "background work" tokio::sync::AcquireError,
}

impl From<exo_index::name::NameError> for Failure {
    fn from(error: exo_index::name::NameError) -> Self {
        Self::new(error.message)
    }
}

impl From<exo_index::version::VersionError> for Failure {
    fn from(error: exo_index::version::VersionError) -> Self {
        Self::new(error.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disks_are_found_below_other_errors() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(Failure::from(full()).cause, Cause::DiskFull);
        let wrapped = object_store::Error::Generic { store: "files", source: Box::new(full()) };
        assert_eq!(Failure::from(wrapped).cause, Cause::DiskFull);
        assert_eq!(Failure::from(sqlx::Error::PoolTimedOut).cause, Cause::NoDatabase);
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::NotFound)).cause, Cause::Inner);
    }
}
