//! Writes archives: the same files give the same bytes, whatever their order, times, owners and modes were.
//!
//! (The bytes also depend on the version of the zstd library; the tree digest does not.)

use std::io::Write as _;

use super::header::{BLOCK, EntryKind, Header};
use super::paths::{PathProblem, PathSet, check_path, is_pack_file};
use super::{ArchiveError, Limits, PackFiles, Refusal};
use crate::digest::{Blake3, FileDigest, Sha256, tree_digest};
use crate::manifest::MANIFEST_FILE;

/// The compression level: packs are small and compressed once, so time is cheap.
const LEVEL: i32 = 15;

/// An archive that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltArchive {
    /// The bytes of the `.tar.zst`.
    pub bytes: Vec<u8>,
    /// Their SHA-256.
    pub sha256: Sha256,
    /// The tree digest of the files.
    pub tree: Blake3,
    /// The digests of the files, in byte order of the paths.
    pub files: Vec<FileDigest>,
}

/// Writes the archive of some files.
///
/// # Errors
/// A path is not one a pack may have, two paths meet on some file system, the manifest is missing, or a limit is
/// exceeded: whatever [`super::read()`] would refuse.
pub fn build(files: &PackFiles, limits: &Limits) -> Result<BuiltArchive, ArchiveError> {
    let tar = write_tar(files, limits)?;
    let bytes = compress(&tar).map_err(|error| Refusal::Compression(error.to_string()))?;
    let compressed = bytes.len() as u64;
    if compressed > limits.archive_bytes {
        return Err(Refusal::TooLarge { what: "the archive", limit: limits.archive_bytes }.into());
    }
    let (expansion, by_ratio) = limits.expansion(compressed);
    if tar.len() as u64 > expansion {
        return Err(if by_ratio {
            Refusal::Ratio { limit: limits.ratio }.into()
        } else {
            Refusal::TooLarge { what: "the expanded archive", limit: limits.total_bytes }.into()
        });
    }
    let digests = files.digests();
    Ok(BuiltArchive { sha256: Sha256::of(&bytes), tree: tree_digest(&digests), files: digests, bytes })
}

/// Writes the tar.
fn write_tar(files: &PackFiles, limits: &Limits) -> Result<Vec<u8>, ArchiveError> {
    if files.files.len() as u64 > limits.entries {
        return Err(Refusal::TooLarge { what: "the number of entries", limit: limits.entries }.into());
    }
    if !files.files.contains_key(MANIFEST_FILE) {
        return Err(Refusal::NoManifest.into());
    }
    let mut paths = PathSet::default();
    let mut tar = Vec::new();
    // The map is ordered by path, byte by byte.
    for (path, contents) in &files.files {
        check_path(path).map_err(|problem| Refusal::Path(problem).at(path))?;
        if !is_pack_file(path) {
            return Err(Refusal::Path(PathProblem::NotInPacks).at(path));
        }
        paths.add(path, false).map_err(|refusal| refusal.at(path))?;
        let size = contents.len() as u64;
        if size > limits.file_bytes {
            return Err(Refusal::TooLarge { what: "a file", limit: limits.file_bytes }.at(path));
        }
        let header = Header { path: path.clone(), kind: EntryKind::File, size };
        tar.extend(header.write().map_err(|refusal| refusal.at(path))?);
        tar.extend(contents);
        tar.resize(tar.len().next_multiple_of(BLOCK), 0);
    }
    tar.resize(tar.len() + 2 * BLOCK, 0);
    Ok(tar)
}

/// Compresses into one frame that states its size and ends in a checksum.
fn compress(tar: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.include_contentsize(true)?;
    encoder.set_pledged_src_size(Some(tar.len() as u64))?;
    encoder.write_all(tar)?;
    encoder.finish()
}
