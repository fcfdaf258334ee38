//! What `exo cache` does: count, check and remove entries.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use exo_index::digest::Blake3;

use crate::cache::Cache;
use crate::cache::tree::Tree;
use crate::failure::Outcome;
use crate::filesystem;

/// A temporary entry of a process that died is removed once it is this old.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// How much there is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) trees: usize,
    pub(crate) verdicts: usize,
    pub(crate) bytes: u64,
}

/// The entries of one part of the cache; none where it does not exist.
fn entries(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(filesystem::failure("list", folder, &error)),
    };
    let mut paths = Vec::new();
    for entry in listed {
        paths.push(entry.map_err(|error| filesystem::failure("list", folder, &error))?.path());
    }
    paths.sort();
    Ok(paths)
}

fn is_temporary(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "exo-tmp")
}

pub(crate) fn size(cache: &Cache) -> Outcome<Size> {
    let mut size = Size::default();
    for path in entries(&cache.trees())?.into_iter().filter(|path| !is_temporary(path)) {
        size.trees += 1;
        for file in filesystem::files_below(&path)? {
            size.bytes += fs::metadata(path.join(file)).map_or(0, |data| data.len());
        }
    }
    for path in entries(&cache.verdicts())?.into_iter().filter(|path| !is_temporary(path)) {
        size.verdicts += 1;
        size.bytes += fs::metadata(path).map_or(0, |data| data.len());
    }
    size.bytes += entries(&cache.settled())?
        .iter()
        .filter_map(|path| fs::metadata(path).ok())
        .map(|data| data.len())
        .sum::<u64>();
    Ok(size)
}

/// Removes an entry so that a parallel reader sees it whole or not at all.
fn remove(path: &Path) -> Outcome<()> {
    if path.is_dir() {
        let aside = filesystem::beside(path);
        filesystem::rename(path, &aside)?;
        filesystem::remove_directory(&aside)
    } else {
        filesystem::remove_file(path)
    }
}

fn age(path: &Path) -> Duration {
    let used = fs::metadata(path).and_then(|data| data.modified());
    used.ok().and_then(|used| SystemTime::now().duration_since(used).ok()).unwrap_or_default()
}

/// Removes what has not been used for `older_than`. Returns the number of removed entries.
pub(crate) fn prune(cache: &Cache, older_than: Duration) -> Outcome<usize> {
    let mut removed = 0;
    let settled = entries(&cache.settled())?;
    for path in entries(&cache.trees())?.into_iter().chain(entries(&cache.verdicts())?).chain(settled) {
        let (marker, limit) = if is_temporary(&path) {
            (path.clone(), ABANDONED)
        } else if path.is_dir() {
            (path.join("listing"), older_than)
        } else {
            (path.clone(), older_than)
        };
        if age(&marker) >= limit {
            remove(&path)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// One damaged entry and what is wrong with it.
pub(crate) struct Damage {
    pub(crate) entry: PathBuf,
    pub(crate) reason: String,
}

/// Hashes every file of every tree. Returns how many trees were looked at and what is damaged.
pub(crate) fn verify(cache: &Cache, looked_at: &mut dyn FnMut(&Path)) -> Outcome<(usize, Vec<Damage>)> {
    let mut damage = Vec::new();
    let mut trees = 0;
    for entry in entries(&cache.trees())?.into_iter().filter(|path| !is_temporary(path)) {
        trees += 1;
        looked_at(&entry);
        if let Err(reason) = verify_tree(&entry) {
            damage.push(Damage { entry, reason });
        }
    }
    for entry in entries(&cache.verdicts())?.into_iter().filter(|path| !is_temporary(path)) {
        let text = filesystem::read_text(&entry).map_err(|failed| failed.message);
        let read = text.and_then(|text| crate::install::verdict::check_kept(&text));
        if let Err(reason) = read {
            damage.push(Damage { entry, reason: format!("is not a verdict: {reason}") });
        }
    }
    Ok((trees, damage))
}

fn verify_tree(entry: &Path) -> Result<(), String> {
    let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let digest: Blake3 = name.parse().map_err(|_| "its name is no digest".to_string())?;
    let tree = Tree::open(entry, &digest).map_err(|failed| failed.message)?;
    let tree = tree.ok_or_else(|| "it has no listing".to_string())?;
    for path in tree.files.keys() {
        tree.read(path).map_err(|failed| failed.message)?;
    }
    Ok(())
}

/// Removes damaged entries.
pub(crate) fn repair(damage: &[Damage]) -> Outcome<()> {
    damage.iter().try_for_each(|damaged| remove(&damaged.entry))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use exo_index::digest::{FileDigest, tree_digest};

    use super::*;

    fn cache_with_tree() -> (tempfile::TempDir, Cache, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { root: folder.path().to_path_buf() };
        let files = vec![("src/lib.exo".to_string(), b"y".to_vec())];
        let digest = tree_digest(&[FileDigest::of("src/lib.exo", b"y")]);
        Tree::store(&cache, &digest, &files).unwrap();
        let entry = Tree::folder_of(&cache, &digest);
        (folder, cache, entry)
    }

    #[test]
    fn damage_is_found_and_repaired() {
        let (_folder, cache, entry) = cache_with_tree();
        assert!(verify(&cache, &mut |_| ()).unwrap().1.is_empty());
        fs::write(entry.join("files/src/lib.exo"), "changed").unwrap();
        let (trees, damage) = verify(&cache, &mut |_| ()).unwrap();
        assert_eq!((trees, damage.len()), (1, 1));
        assert!(damage[0].reason.contains("is not what was installed"), "{}", damage[0].reason);
        repair(&damage).unwrap();
        assert_eq!(size(&cache).unwrap(), Size::default());
    }

    #[test]
    fn prune_goes_by_age() {
        let (_folder, cache, _) = cache_with_tree();
        assert_eq!(prune(&cache, Duration::from_secs(3600)).unwrap(), 0);
        assert_eq!(size(&cache).unwrap().trees, 1);
        assert_eq!(prune(&cache, Duration::ZERO).unwrap(), 1);
        assert_eq!(size(&cache).unwrap().trees, 0);
    }
}
