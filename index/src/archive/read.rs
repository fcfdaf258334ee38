//! Reads archives: decompresses under limits, then takes only what the writer could have written.

use std::io::{BufRead as _, Read as _};

use super::header::{BLOCK, EntryKind, Header};
use super::paths::{PathProblem, PathSet, check_path, is_pack_directory, is_pack_file};
use super::{ArchiveError, Limits, PackFiles, Refusal};
use crate::digest::{Blake3, Sha256};
use crate::manifest::MANIFEST_FILE;

/// Reads the files of an archive.
///
/// # Errors
/// The archive is not one that [`super::build()`] writes (directories apart, which are accepted and ignored), or
/// exceeds a limit. Nothing is returned of an archive that is refused.
pub fn read(archive: &[u8], limits: &Limits) -> Result<PackFiles, ArchiveError> {
    let tar = decompress(archive, limits)?;
    read_tar(&tar, limits)
}

/// Reads the files of an archive after comparing its digest, and compares the digest of the files.
///
/// # Errors
/// As [`read()`], or a digest is not the expected one. The digest of the archive is compared before anything is decompressed.
pub fn read_verified(
    archive: &[u8],
    expected: &Sha256,
    tree: &Blake3,
    limits: &Limits,
) -> Result<PackFiles, ArchiveError> {
    let found = Sha256::of(archive);
    if &found != expected {
        return Err(Refusal::ArchiveDigest { expected: *expected, found }.into());
    }
    let files = read(archive, limits)?;
    let found = files.tree();
    if &found != tree {
        return Err(Refusal::TreeDigest { expected: *tree, found }.into());
    }
    Ok(files)
}

/// Expands the archive, which must be exactly one frame of zstd.
fn decompress(archive: &[u8], limits: &Limits) -> Result<Vec<u8>, ArchiveError> {
    let damaged = |error: std::io::Error| ArchiveError::from(Refusal::Compression(error.to_string()));
    let compressed = archive.len() as u64;
    if compressed > limits.archive_bytes {
        return Err(Refusal::TooLarge { what: "the archive", limit: limits.archive_bytes }.into());
    }
    let (expansion, by_ratio) = limits.expansion(compressed);
    let mut decoder = zstd::stream::read::Decoder::with_buffer(archive).map_err(damaged)?.single_frame();
    decoder.window_log_max(limits.window_log).map_err(damaged)?;
    let mut tar = Vec::new();
    (&mut decoder).take(expansion.saturating_add(1)).read_to_end(&mut tar).map_err(damaged)?;
    if tar.len() as u64 > expansion {
        return Err(if by_ratio {
            Refusal::Ratio { limit: limits.ratio }.into()
        } else {
            Refusal::TooLarge { what: "the expanded archive", limit: limits.total_bytes }.into()
        });
    }
    let mut rest = decoder.finish();
    if !rest.fill_buf().map_err(damaged)?.is_empty() {
        return Err(Refusal::TrailingBytes.into());
    }
    Ok(tar)
}

/// Reads the tar.
fn read_tar(tar: &[u8], limits: &Limits) -> Result<PackFiles, ArchiveError> {
    let mut rest = tar;
    let mut files = PackFiles::default();
    let mut paths = PathSet::default();
    let mut previous: Option<String> = None;
    let mut entries = 0;
    loop {
        let block = take_block(&mut rest)?;
        if block.iter().all(|&byte| byte == 0) {
            if take_block(&mut rest)?.iter().any(|&byte| byte != 0) {
                return Err(Refusal::TrailingBytes.into());
            }
            break;
        }
        entries += 1;
        if entries > limits.entries {
            return Err(Refusal::TooLarge { what: "the number of entries", limit: limits.entries }.into());
        }
        let header = Header::read(block)?;
        let path = header.path.clone();
        check_entry(&header, limits).map_err(|refusal| refusal.at(&path))?;
        paths.add(&path, header.kind == EntryKind::Directory).map_err(|refusal| refusal.at(&path))?;
        if previous.as_ref().is_some_and(|previous| previous.as_bytes() > path.as_bytes()) {
            return Err(Refusal::Order.at(&path));
        }
        let contents = take_contents(&mut rest, header.size).map_err(|refusal| refusal.at(&path))?;
        previous = Some(path.clone());
        match header.kind {
            EntryKind::File => {
                files.files.insert(path, contents.to_vec());
            }
            EntryKind::Directory => {}
        }
    }
    if !rest.is_empty() {
        return Err(Refusal::TrailingBytes.into());
    }
    if !files.files.contains_key(MANIFEST_FILE) {
        return Err(Refusal::NoManifest.into());
    }
    Ok(files)
}

/// Checks path and size of an entry by itself.
fn check_entry(header: &Header, limits: &Limits) -> Result<(), Refusal> {
    check_path(&header.path).map_err(Refusal::Path)?;
    let belongs = match header.kind {
        EntryKind::File => is_pack_file(&header.path),
        EntryKind::Directory => is_pack_directory(&header.path),
    };
    if !belongs {
        return Err(Refusal::Path(PathProblem::NotInPacks));
    }
    if header.size > limits.file_bytes {
        return Err(Refusal::TooLarge { what: "a file", limit: limits.file_bytes });
    }
    Ok(())
}

/// Takes the next block.
fn take_block<'t>(rest: &mut &'t [u8]) -> Result<&'t [u8; BLOCK], Refusal> {
    let (block, after) = rest.split_first_chunk::<BLOCK>().ok_or(Refusal::Truncated)?;
    *rest = after;
    Ok(block)
}

/// Takes contents of some size and the zeros that fill their last block.
fn take_contents<'t>(rest: &mut &'t [u8], size: u64) -> Result<&'t [u8], Refusal> {
    let size = usize::try_from(size).map_err(|_| Refusal::Truncated)?;
    let whole = size.checked_next_multiple_of(BLOCK).ok_or(Refusal::Truncated)?;
    let (blocks, after) = rest.split_at_checked(whole).ok_or(Refusal::Truncated)?;
    let (contents, padding) = blocks.split_at_checked(size).ok_or(Refusal::Truncated)?;
    if padding.iter().any(|&byte| byte != 0) {
        return Err(Refusal::Padding);
    }
    *rest = after;
    Ok(contents)
}
