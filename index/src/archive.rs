//! The archive of a pack: a `.tar.zst` of which every byte is decided by the files in it.
//!
//! The tar inside is the smallest subset of ustar that can hold files. The writer fixes order, times, owners and modes; the
//! reader accepts only headers that the writer could have written, byte for byte, so what tar implementations disagree
//! about (links, devices, extended headers, sparse files, number encodings) cannot be expressed.
//! Decompression is limited before anything is looked at. Nothing here touches a file system. The format carries no version of its own:
//! the manifest, which must be in every archive, states one.

mod build;
mod header;
mod limits;
mod paths;
mod read;

#[cfg(test)]
mod hostile_tests;

use std::collections::BTreeMap;
use std::fmt;

use crate::digest::{Blake3, FileDigest, Sha256, tree_digest};

pub use build::{BuiltArchive, build};
pub use limits::Limits;
pub use paths::{PathProblem, check_path, is_pack_file};
pub use read::{read, read_verified};

/// The ending of an archive's file name.
pub const ARCHIVE_EXTENSION: &str = "tar.zst";

/// The files of a pack: path with `/` between its parts, and contents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackFiles {
    /// The contents by path, in byte order of the paths.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl PackFiles {
    /// The digest of each file, in byte order of the paths.
    pub fn digests(&self) -> Vec<FileDigest> {
        self.files.iter().map(|(path, contents)| FileDigest::of(path, contents)).collect()
    }

    /// The tree digest.
    pub fn tree(&self) -> Blake3 {
        tree_digest(&self.digests())
    }
}

/// An archive that is refused, or files that cannot be made one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveError {
    /// Why.
    pub refusal: Refusal,
    /// The entry at fault, escaped so that it can be printed.
    pub entry: Option<String>,
}

/// Why an archive is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The bytes are not one zstd frame, or the frame is damaged.
    Compression(String),
    /// Something is larger than the limit, in bytes or in entries.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The archive expands by more than a pack ever would.
    Ratio {
        /// The largest allowed ratio of expanded to compressed bytes.
        limit: u64,
    },
    /// Bytes follow the end of the archive.
    TrailingBytes,
    /// The archive ends inside an entry or without its end mark.
    Truncated,
    /// The header is not one of ustar.
    NotUstar,
    /// The header's checksum is wrong.
    Checksum,
    /// The entry is neither a regular file nor a directory; the type flag.
    EntryKind(u8),
    /// A field of the header is not as the writer of archives leaves it.
    Field(&'static str),
    /// Bytes other than zero fill the last block of a file.
    Padding,
    /// The path is not one a pack may have.
    Path(PathProblem),
    /// The entry stands after one that should follow it.
    Order,
    /// The same entry twice.
    Duplicate,
    /// Two entries, or directories of entries, that differ only in case; the other one.
    CaseCollision(String),
    /// A path is a file in one entry and a directory in another.
    FileAndDirectory,
    /// No `Exo.toml`.
    NoManifest,
    /// The digest of the archive is not the expected one.
    ArchiveDigest {
        /// The digest expected.
        expected: Sha256,
        /// The digest found.
        found: Sha256,
    },
    /// The digest of the files is not the expected one.
    TreeDigest {
        /// The digest expected.
        expected: Blake3,
        /// The digest found.
        found: Blake3,
    },
}

impl Refusal {
    /// A short name that stays the same when the message changes, for programs and tests.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Compression(_) => "compression",
            Self::TooLarge { .. } => "too-large",
            Self::Ratio { .. } => "ratio",
            Self::TrailingBytes => "trailing-bytes",
            Self::Truncated => "truncated",
            Self::NotUstar => "not-ustar",
            Self::Checksum => "checksum",
            Self::EntryKind(_) => "entry-kind",
            Self::Field(_) => "field",
            Self::Padding => "padding",
            Self::Path(_) => "path",
            Self::Order => "order",
            Self::Duplicate => "duplicate",
            Self::CaseCollision(_) => "case-collision",
            Self::FileAndDirectory => "file-and-directory",
            Self::NoManifest => "no-manifest",
            Self::ArchiveDigest { .. } => "archive-digest",
            Self::TreeDigest { .. } => "tree-digest",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compression(reason) => write!(f, "archive is not one sound zstd frame: {reason}"),
            Self::TooLarge { what, limit } => write!(f, "{what} exceeds the limit of {limit}"),
            Self::Ratio { limit } => write!(f, "archive expands to more than {limit} times its size"),
            Self::TrailingBytes => f.write_str("bytes follow the end of the archive"),
            Self::Truncated => f.write_str("archive ends too early"),
            Self::NotUstar => f.write_str("header is not of the ustar format"),
            Self::Checksum => f.write_str("header checksum is wrong"),
            Self::EntryKind(flag) => write!(f, "entry is {}, not a regular file or directory", kind_name(*flag)),
            Self::Field(field) => write!(f, "header field `{field}` is not as `exo package` writes it"),
            Self::Padding => f.write_str("bytes other than zero follow the contents of a file"),
            Self::Path(problem) => problem.fmt(f),
            Self::Order => f.write_str("entries are not in order"),
            Self::Duplicate => f.write_str("entry occurs twice"),
            Self::CaseCollision(other) => write!(f, "path differs from `{other}` only in case"),
            Self::FileAndDirectory => f.write_str("path is both a file and a directory"),
            Self::NoManifest => f.write_str("archive has no `Exo.toml`"),
            Self::ArchiveDigest { expected, found } => {
                write!(f, "archive has sha256 {found}, but {expected} was expected")
            }
            Self::TreeDigest { expected, found } => write!(f, "files have blake3 {found}, but {expected} was expected"),
        }
    }
}

/// What a type flag of tar stands for.
const fn kind_name(flag: u8) -> &'static str {
    match flag {
        b'1' => "a hard link",
        b'2' => "a symbolic link",
        b'3' => "a character device",
        b'4' => "a block device",
        b'6' => "a FIFO",
        b'7' => "a contiguous file",
        b'g' | b'x' => "an extended (pax) header",
        b'L' | b'K' => "a long-name (GNU) header",
        b'S' => "a sparse file",
        _ => "of an unknown kind",
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entry {
            Some(entry) => write!(f, "{} (entry `{entry}`)", self.refusal),
            None => self.refusal.fmt(f),
        }
    }
}

impl std::error::Error for ArchiveError {}

impl From<Refusal> for ArchiveError {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, entry: None }
    }
}

impl Refusal {
    /// The error that blames an entry.
    fn at(self, path: impl AsRef<[u8]>) -> ArchiveError {
        ArchiveError { refusal: self, entry: Some(path.as_ref().escape_ascii().to_string()) }
    }
}
