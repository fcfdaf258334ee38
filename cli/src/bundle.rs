//! A bundle: one file with a lockfile and the archives of its packs, from which a machine without a network installs.
//!
//! The first line says what it is, the second is JSON that lists the packs, and their archives follow one after the other.
//! Nothing in it is believed: archives go through the one strict decoder, with the digests of the lockfile.

use exo_compiler::diagnostic::codes;
use exo_index::archive::{self, Limits, PackFiles};
use exo_index::digest::Sha256;
use exo_index::lockfile::Lockfile;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::cache::tree::Tree;
use crate::failure::{Failure, Outcome};
use crate::install::plan::Instance;
use crate::vendor::{comes_from_elsewhere, files_of};

const FIRST_LINE: &[u8] = b"exo bundle 1\n";

/// The second line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    /// The text of the lockfile.
    lock: String,
    packs: Vec<Entry>,
}

/// One archive of the rest of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    version: String,
    /// In bytes.
    size: usize,
    sha256: String,
}

/// A bundle that was read, with archives still as they came.
pub(crate) struct Bundle {
    pub(crate) lock: Lockfile,
    packs: Vec<(Entry, Vec<u8>)>,
}

/// The bytes of a bundle; equal locks and packs give equal bytes.
pub(crate) fn make(lock: &Lockfile, instances: &[Instance]) -> Outcome<Vec<u8>> {
    let mut contents = Contents { lock: lock.to_string(), packs: Vec::new() };
    let mut archives = Vec::new();
    for instance in instances.iter().filter(|instance| comes_from_elsewhere(&instance.locked)) {
        let files = PackFiles { files: files_of(instance)? };
        let built = archive::build(&files, &Limits::default()).map_err(|error| {
            Failure::refused(format!("`{} {}` cannot be archived: {error}", instance.name, instance.version))
        })?;
        contents.packs.push(Entry {
            name: instance.name.to_string(),
            version: instance.version.to_string(),
            size: built.bytes.len(),
            sha256: built.sha256.to_string(),
        });
        archives.extend(built.bytes);
    }
    let listing =
        serde_json::to_vec(&contents).map_err(|error| Failure::bug(format!("cannot write a bundle: {error}")))?;
    Ok([FIRST_LINE, &listing, b"\n", &archives].concat())
}

/// Reads a bundle's list. Archives are looked at by [`Bundle::unpack`].
pub(crate) fn read(bytes: &[u8]) -> Outcome<Bundle> {
    let damaged = |why: &str| {
        Failure::refused(format!("this is no sound bundle: {why}"))
            .code(codes::DIGEST)
            .hint("make it again with `exo bundle`")
    };
    let rest = bytes.strip_prefix(FIRST_LINE).ok_or_else(|| damaged("it does not start as one of this exo does"))?;
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("it ends too early"))?;
    let (listing, archives) = rest.split_at(end);
    let contents: Contents =
        serde_json::from_slice(listing).map_err(|_| damaged("its list of packs cannot be read"))?;
    let lock = Lockfile::parse(&contents.lock).map_err(|error| damaged(&error.message))?;
    let mut archives = archives.get(1..).unwrap_or_default();
    let mut packs = Vec::new();
    for entry in contents.packs {
        let (archive, others) = archives.split_at_checked(entry.size).ok_or_else(|| damaged("it ends too early"))?;
        archives = others;
        packs.push((entry, archive.to_vec()));
    }
    if !archives.is_empty() {
        return Err(damaged("bytes follow its last archive"));
    }
    Ok(Bundle { lock, packs })
}

impl Bundle {
    /// Puts the packs that a lockfile names into the cache, each checked against it; how many those are.
    pub(crate) fn unpack(&self, cache: &Cache, lock: &Lockfile) -> Outcome<usize> {
        let mut number = 0;
        for (entry, bytes) in &self.packs {
            let locked = lock.packs.values().find(|pack| {
                pack.name.as_str() == entry.name
                    && pack.version.to_string() == entry.version
                    && comes_from_elsewhere(pack)
            });
            let Some((locked, digest)) = locked.and_then(|pack| Some((pack, pack.tree?))) else { continue };
            let refuse = |why: String| {
                Failure::refused(format!("`{} {}` in the bundle is refused: {why}", locked.name, locked.version))
                    .code(codes::DIGEST)
                    .hint("the bundle is damaged or was made for another Exo.lock; make it again with `exo bundle`")
            };
            let sha256: Sha256 = entry.sha256.parse().map_err(|error| refuse(format!("{error}")))?;
            let files = archive::read_verified(bytes, &sha256, &digest, &Limits::default())
                .map_err(|error| refuse(error.to_string()))?;
            if Tree::open(&Tree::folder_of(cache, &digest), &digest)?.is_none() {
                Tree::store(cache, &digest, &files.files.into_iter().collect::<Vec<_>>())?;
            }
            number += 1;
        }
        Ok(number)
    }
}
