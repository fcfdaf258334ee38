//! The pointer `/v1/latest`: the one file of a registry that changes, from which everything else is reached by hash.

use super::keys::{self, SecretKey};
use super::malformed::{Malformed, number};
use super::note::Note;
use crate::digest::Sha256;

/// What a pointer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// The registry's name, which is also that of its log: a URL without scheme, such as `packs.example.org`.
    pub origin: String,
    /// The number of leaves of the log.
    pub log_size: u64,
    /// The root hash of the log of that size.
    pub log_root: Sha256,
    /// Counts up with every pointer.
    pub version: u64,
    /// The SHA-256 of the snapshot.
    pub snapshot: Sha256,
    /// The number of the newest root.
    pub root: u64,
    /// When it was signed.
    pub issued: u64,
    /// When it ceases to be believed.
    pub expires: u64,
}

const WHAT: &str = "the pointer";

impl Pointer {
    /// The text that is signed.
    pub fn text(&self) -> String {
        format!(
            "{}\n{}\n{}\npointer {}\nsnapshot {}\nroot {}\nissued {}\nexpires {}\n",
            self.origin,
            self.log_size,
            keys::encode(self.log_root.as_bytes()),
            self.version,
            self.snapshot,
            self.root,
            self.issued,
            self.expires
        )
    }

    /// Signs the pointer.
    ///
    /// # Errors
    /// The origin cannot name a key (white space, `+`).
    pub fn sign(&self, signers: &[&SecretKey]) -> Result<Note, Malformed> {
        Note::sign(&self.text(), &self.origin, signers)
    }

    /// Reads the text of a pointer. Further extension lines after the known ones are left to later versions.
    ///
    /// # Errors
    /// A line is missing or is not what it must be.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let mut lines = text.lines();
        let mut line = |what: &str| lines.next().ok_or_else(|| Malformed::new(WHAT, format!("it has no {what}")));
        let origin = line("origin")?.to_owned();
        if origin.is_empty() {
            return Err(Malformed::new(WHAT, "its origin is empty"));
        }
        let log_size = number(WHAT, line("log size")?)?;
        let log_root = Sha256::from_bytes(keys::array(WHAT, line("log root hash")?)?);
        let mut extension = |key: &str| {
            let line = line(key)?;
            let value = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(' '));
            value.ok_or_else(|| Malformed::new(WHAT, format!("`{}` is not the line `{key}`", line.escape_debug())))
        };
        let version = number(WHAT, extension("pointer")?)?;
        let snapshot =
            extension("snapshot")?.parse().map_err(|error| Malformed::new(WHAT, format!("snapshot: {error}")))?;
        let root = number(WHAT, extension("root")?)?;
        let issued = number(WHAT, extension("issued")?)?;
        let expires = number(WHAT, extension("expires")?)?;
        Ok(Self { origin, log_size, log_root, version, snapshot, root, issued, expires })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    fn pointer() -> Pointer {
        Pointer {
            origin: "packs.example.org".into(),
            log_size: 12,
            log_root: Sha256::of(b"root"),
            version: 7,
            snapshot: Sha256::of(b"snapshot"),
            root: 1,
            issued: 1000,
            expires: 2000,
        }
    }

    #[test]
    fn reads_back_what_it_writes() {
        assert_eq!(Pointer::parse(&pointer().text()).unwrap(), pointer());
        let later = format!("{}later something\n", pointer().text());
        assert_eq!(Pointer::parse(&later).unwrap(), pointer());
    }

    #[test]
    fn refuses_every_damaged_line() {
        let text = pointer().text();
        for missing in 0..8 {
            let lines: Vec<&str> = text.lines().enumerate().filter(|(i, _)| *i != missing).map(|(_, l)| l).collect();
            assert!(Pointer::parse(&(lines.join("\n") + "\n")).is_err(), "without line {missing}");
        }
        for (from, to) in
            [("\n12\n", "\n012\n"), ("pointer 7", "pointer +7"), ("root 1", "root -1"), ("issued 1000", "issued x")]
        {
            assert!(Pointer::parse(&text.replace(from, to)).is_err(), "{to}");
        }
    }
}
