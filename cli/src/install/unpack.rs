//! Brings a locked pack of the registry into the cache.

use exo_compiler::diagnostic::codes;
use exo_index::digest::{Blake3, Sha256};
use exo_index::name::PackName;
use exo_index::version::Version;

use crate::builtin_packs::Registry;
use crate::cache::Cache;
use crate::cache::tree::Tree;
use crate::failure::{Failure, Outcome};
use crate::registry::tombstone::Tombstone;
use crate::settings::Settings;

/// The tree of a locked pack: from the cache, else unpacked from the registry's archive.
///
/// What the lock says decides; a registry that has other bytes under that version is refused.
pub(crate) fn unpack(
    settings: &Settings,
    cache: &Cache,
    registry: &Registry,
    (name, version): (&PackName, &Version),
    (locked_archive, locked_tree): (&Sha256, &Blake3),
) -> Outcome<Tree> {
    let pack = registry.get(name, version);
    if let Some(pack) = pack
        && (pack.sha256 != *locked_archive || pack.tree != *locked_tree)
    {
        // Whichever differs: the other may be equal.
        let (have, locked) = match pack.sha256 != *locked_archive {
            true => (format!("archive has SHA-256 {}", pack.sha256), format!("      {locked_archive}")),
            false => (format!("files have BLAKE3 {}", pack.tree), format!("   {locked_tree}")),
        };
        return Err(Failure::refused(format!("`{name} {version}` is not what Exo.lock recorded"))
            .code(codes::DIGEST)
            .note(format!("its {have}\nthe lockfile says {locked}"))
            .hint("the pack or the lockfile was changed; if you trust what the registry has, run `exo remove` and `exo add` for it"));
    }
    if let Some(tree) = Tree::open(&Tree::folder_of(cache, locked_tree), locked_tree)? {
        return Ok(tree);
    }
    let Some(pack) = pack else {
        return Err(absent(settings, registry, name, version));
    };
    let files: Vec<(String, Vec<u8>)> = pack.unpack()?.into_iter().collect();
    Tree::store(cache, locked_tree, &files)
}

/// The failure for a locked version that is nowhere to be had.
fn absent(settings: &Settings, registry: &Registry, name: &PackName, version: &Version) -> Box<Failure> {
    let versions: Vec<String> = registry.versions(name).map(|pack| pack.version().to_string()).collect();
    let there = (!versions.is_empty()).then(|| format!("there is {}", versions.join(", ")));
    if let Some(tombstone) = Tombstone::among(settings, registry.reached.asked_for(name), name, Some(version)) {
        let failure = tombstone.failure().note("Exo.lock names it, and it is not in the cache");
        return match there {
            Some(there) => {
                failure.note(there).hint(format!("`exo update {name}` takes a version that is there, if one fits"))
            }
            None => {
                failure.hint(format!("use another pack: `exo search` finds some, `exo remove {name}` takes it out"))
            }
        };
    }
    let failure = Failure::refused(format!(
        "`{name} {version}`, which Exo.lock names, is neither in the cache nor in this exo or the registry in use"
    ))
    .code(codes::RESOLUTION);
    match there {
        Some(there) => failure
            .note(there)
            .hint("delete its entry from Exo.lock and run `exo install` to take a version that is there"),
        None => failure.hint("use the exo version that wrote the lockfile, or run `exo remove` for the pack"),
    }
}
