//! Copies of locked packs inside of a project, for machines without a network: written by `exo vendor`, checked whenever they are used.
//!
//! `Exo.vendor` beside the lockfile names the folder. What is in it is hashed against Exo.lock at every use, so a copy that
//! somebody changed is an error, never another version of a pack.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use exo_compiler::diagnostic::codes;
use exo_index::lockfile::{LOCK_FILE, LockedPack, LockedSource};
use exo_index::name::PackName;
use exo_index::version::Version;

use crate::cache::Cache;
use crate::cache::tree::Tree;
use crate::disk_world::{Content, content_of_folder, digest_of};
use crate::failure::{Failure, Outcome};
use crate::filesystem;
use crate::install::plan::Instance;
use crate::project::Project;
use crate::settings::Settings;

/// The file that names the folder of the copies; its only line.
pub(crate) const VENDOR_FILE: &str = "Exo.vendor";

/// Stands in a folder of copies, so that no other folder is ever replaced by one.
const MARKER: &str = "vendored-by-exo.txt";

/// What the marker says to people.
const MARKER_TEXT: &str = "Copies of the packs in Exo.lock, written by `exo vendor`. Changed files are refused.\n";

/// The folder of a pack's copy inside of that of all copies.
fn folder_name(name: &PackName, version: &Version) -> String {
    format!("{name}-{version}")
}

/// The files of an installed pack, each checked as it is read.
pub(crate) fn files_of(instance: &Instance) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let content = Content::open(instance.location.clone())?;
    let mut files = BTreeMap::new();
    for path in content.files()? {
        let bytes = content.read(&path)?.ok_or_else(|| Failure::bug(format!("`{path}` is listed but not there")))?;
        files.insert(path, bytes);
    }
    Ok(files)
}

/// Whether a locked pack comes from elsewhere; those in folders of the project are there anyway.
pub(crate) fn comes_from_elsewhere(pack: &LockedPack) -> bool {
    !matches!(pack.source, LockedSource::Path(_))
}

/// Brings vendored copies of what is locked into the cache, from where all packs are used.
pub(crate) fn provide(settings: &Settings, project: &Project) -> Outcome<()> {
    let root = &project.layout.lock_root;
    let (Some(text), Some(lock)) = (filesystem::read_optional(&root.join(VENDOR_FILE))?, &project.lock) else {
        return Ok(());
    };
    let folder = inside(root, text.trim())?;
    let cache = Cache::open(settings)?;
    for pack in lock.packs.values().filter(|pack| comes_from_elsewhere(pack)) {
        let copy = folder.join(folder_name(&pack.name, &pack.version));
        let (Some(digest), true) = (&pack.tree, copy.is_dir()) else { continue };
        let files = content_of_folder(&copy)?;
        let found = digest_of(&files);
        if found != *digest {
            return Err(Failure::refused(format!("`{}` is not what {LOCK_FILE} recorded", copy.display()))
                .code(codes::DIGEST)
                .note(format!("its files have BLAKE3 {found}\nthe lockfile says    {digest}"))
                .hint("vendored copies are not edited: `exo vendor` writes them again, and a pack of your own is used with `path = \"…\"`"));
        }
        if Tree::open(&Tree::folder_of(&cache, digest), digest)?.is_none() {
            Tree::store(&cache, digest, &files.into_iter().collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

/// A folder below the root, which may have come with a cloned project.
pub(crate) fn inside(root: &Path, text: &str) -> Outcome<PathBuf> {
    let sound = !text.is_empty() && text.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    if sound && !text.contains(['\\', '\n']) {
        return Ok(root.join(text));
    }
    Err(Failure::refused(format!("`{text}` is no folder inside of the project"))
        .hint("vendored packs stand below the folder of Exo.lock, for example in `vendor`"))
}

/// Writes the copies in place of those of before; the number of packs.
pub(crate) fn write(folder: &Path, instances: &[Instance]) -> Outcome<usize> {
    let occupied = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if occupied && !folder.join(MARKER).is_file() {
        return Err(Failure::refused(format!("`{}` holds something else than vendored packs", folder.display()))
            .hint("name another folder: `exo vendor DIR`"));
    }
    if let Some(parent) = folder.parent() {
        filesystem::sweep(parent);
    }
    let fresh = filesystem::beside(folder);
    let made = write_all(&fresh, instances);
    let number = match made {
        Ok(number) => number,
        Err(failed) => {
            let _ = std::fs::remove_dir_all(&fresh);
            return Err(failed);
        }
    };
    // Between the two renames there are no copies, and packs come from the cache.
    let old = filesystem::beside(folder);
    let replaced = folder.exists();
    if replaced {
        filesystem::rename(folder, &old)?;
    }
    filesystem::rename(&fresh, folder)?;
    if replaced {
        filesystem::remove_directory(&old)?;
    }
    Ok(number)
}

fn write_all(folder: &Path, instances: &[Instance]) -> Outcome<usize> {
    filesystem::create_directory(folder)?;
    let mut number = 0;
    for instance in instances.iter().filter(|instance| comes_from_elsewhere(&instance.locked)) {
        let copy = folder.join(folder_name(&instance.name, &instance.version));
        for (path, bytes) in files_of(instance)? {
            let place = copy.join(path);
            if let Some(parent) = place.parent() {
                filesystem::create_directory(parent)?;
            }
            filesystem::write_synced(&place, &bytes)?;
        }
        number += 1;
    }
    filesystem::write_synced(&folder.join(MARKER), MARKER_TEXT.as_bytes())?;
    Ok(number)
}
