//! A bundle: one file with a lockfile and the archives of its packs, from which a machine without a network installs.
//!
//! The first line says what it is, the second is JSON that lists the packs, and their archives follow one after the other.
//! Nothing in it is believed: archives go through the one strict decoder, with the digests of the lockfile, and what registries are said to
//! have published is proven by what they signed.

mod proofs;

use exo_compiler::diagnostic::codes;
use exo_index::archive::{self, Limits, PackFiles};
use exo_index::digest::Sha256;
use exo_index::lockfile::{LockedPack, Lockfile};
use exo_index::registry::evidence::Evidence;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::cache::tree::Tree;
use crate::failure::{Failure, Outcome};
use crate::install::plan::Instance;
use crate::settings::Settings;
use crate::vendor::{comes_from_elsewhere, files_of};

pub(crate) use proofs::{Proved, gather};

const FIRST_LINE: &[u8] = b"exo bundle 2\n";

/// The second line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    /// The text of the lockfile.
    lock: String,
    packs: Vec<Entry>,
    /// What was taken along of each registry that a pack comes from.
    registries: Vec<Evidence>,
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
    registries: Vec<Evidence>,
}

/// The bytes of a bundle; equal locks, packs and evidence give equal bytes.
pub(crate) fn make(lock: &Lockfile, instances: &[Instance], registries: Vec<Evidence>) -> Outcome<Vec<u8>> {
    let mut contents = Contents { lock: lock.to_string(), packs: Vec::new(), registries };
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
    Ok(Bundle { lock, packs, registries: contents.registries })
}

impl Bundle {
    /// The packs of a lockfile that the bundle has.
    fn carried<'l>(&self, lock: &'l Lockfile) -> impl Iterator<Item = (&'l LockedPack, &(Entry, Vec<u8>))> {
        self.packs.iter().filter_map(|pack| {
            let (entry, _) = pack;
            let mut locked = lock.packs.values();
            let locked = locked.find(|locked| {
                locked.name.as_str() == entry.name
                    && locked.version.to_string() == entry.version
                    && comes_from_elsewhere(locked)
            });
            Some((locked?, pack))
        })
    }

    /// Proves that the packs of a lockfile that it takes from registries were published there as they are locked.
    pub(crate) fn prove(&self, settings: &Settings, lock: &Lockfile) -> Outcome<Proved> {
        let carried: Vec<&LockedPack> = self.carried(lock).map(|(locked, _)| locked).collect();
        proofs::prove(settings, &self.registries, &carried)
    }

    /// Puts the packs that a lockfile names into the cache, each checked against it; how many those are.
    pub(crate) fn unpack(&self, cache: &Cache, lock: &Lockfile) -> Outcome<usize> {
        let mut number = 0;
        for (locked, (entry, bytes)) in self.carried(lock) {
            let Some(digest) = locked.tree else { continue };
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
