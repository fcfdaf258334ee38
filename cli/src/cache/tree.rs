//! One unpacked pack in the cache; every file is hashed when it is read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use exo_compiler::diagnostic::codes;
use exo_index::digest::{Blake3, FileDigest, tree_digest};

use crate::cache::{Cache, stamp};
use crate::failure::{Failure, Outcome};
use crate::filesystem;

/// Use of an entry is recorded at most this often, so that a hash check does not become a write.
const RECORD_USE_EVERY: Duration = Duration::from_secs(24 * 60 * 60);

const LISTING: &str = "listing";
const FILES: &str = "files";

/// A tree whose listing has been checked against its digest.
#[derive(Debug)]
pub(crate) struct Tree {
    folder: PathBuf,
    pub(crate) files: BTreeMap<String, FileDigest>,
}

/// The failure for content that is not what was installed.
fn damaged(path: &Path, what: &str) -> Box<Failure> {
    Failure::refused(format!("`{}` {what}", path.display())).code(codes::DIGEST).hint(
        "the file is damaged or was changed; `exo cache verify --repair` removes the entry, and `exo install` makes it again",
    )
}

fn listing_text(files: &[FileDigest]) -> String {
    files.iter().map(|file| format!("{} {} {}\n", file.digest, file.length, file.path)).collect()
}

fn parse_listing(text: &str) -> Option<Vec<FileDigest>> {
    text.lines()
        .map(|line| {
            let (digest, rest) = line.split_once(' ')?;
            let (length, path) = rest.split_once(' ')?;
            Some(FileDigest { path: path.to_string(), length: length.parse().ok()?, digest: digest.parse().ok()? })
        })
        .collect()
}

impl Tree {
    /// The folder of a tree, whether it is there or not.
    pub(crate) fn folder_of(cache: &Cache, digest: &Blake3) -> PathBuf {
        cache.trees().join(digest.to_string())
    }

    /// The tree of this digest, or `None` when it is not in the cache. Its listing is checked, files are when read.
    pub(crate) fn open(folder: &Path, digest: &Blake3) -> Outcome<Option<Self>> {
        let path = folder.join(LISTING);
        let Some(text) = filesystem::read_optional(&path)? else {
            return Ok(None);
        };
        let files = parse_listing(&text).ok_or_else(|| damaged(&path, "is not a listing of files"))?;
        if tree_digest(&files) != *digest {
            return Err(damaged(&path, "does not have the digest of its tree"));
        }
        record_use(&path);
        let files = files.into_iter().map(|file| (file.path.clone(), file)).collect();
        Ok(Some(Tree { folder: folder.to_path_buf(), files }))
    }

    /// Puts a tree into the cache. Another process may have done the same in the meantime.
    pub(crate) fn store(cache: &Cache, digest: &Blake3, files: &[(String, Vec<u8>)]) -> Outcome<Self> {
        let listing: Vec<FileDigest> = files.iter().map(|(path, bytes)| FileDigest::of(path, bytes)).collect();
        if tree_digest(&listing) != *digest {
            return Err(Failure::bug("a tree was to be stored under another digest than its own"));
        }
        let folder = Tree::folder_of(cache, digest);
        filesystem::create_directory(&cache.trees())?;
        let temporary = filesystem::beside(&folder);
        let stored = write_tree(&temporary, &listing, files).and_then(|()| filesystem::rename(&temporary, &folder));
        if let Err(failed) = stored {
            let _ = fs::remove_dir_all(&temporary);
            // The rename fails where the entry exists by now.
            if !folder.join(LISTING).exists() {
                return Err(failed);
            }
        }
        Tree::open(&folder, digest)?.ok_or_else(|| {
            Failure::environment(format!("`{}` disappeared while it was made", folder.display()))
                .hint("another process cleaned the cache; run the command again")
        })
    }

    /// Checks every file: those of a tree that looks as it did when it was last checked are not read again.
    ///
    /// # Errors
    /// One was changed or is gone.
    pub(crate) fn check(&self) -> Outcome<()> {
        let files = self.folder.join(FILES);
        if stamp::holds(&self.folder, &files, &self.files) {
            return Ok(());
        }
        self.files.keys().try_for_each(|path| self.read(path).map(|_| ()))?;
        stamp::make(&self.folder, &files, &self.files);
        Ok(())
    }

    /// How the files look that [`Tree::check`] has just found as they were; `None` where their times say nothing yet.
    pub(crate) fn look(folder: &Path, digest: &Blake3) -> Option<String> {
        let tree = Tree::open(folder, digest).ok().flatten()?;
        // The listing stands beside the files.
        let listing = stamp::line(&folder.join(FILES), &format!("../{LISTING}"), SystemTime::now())?;
        Some(stamp::text(folder, &folder.join(FILES), &tree.files)? + &listing)
    }

    /// Whether the files of a tree look so still.
    pub(crate) fn looks(folder: &Path, look: &str) -> bool {
        stamp::describes(look, &folder.join(FILES))
    }

    /// The bytes of a file, checked; `None` when the tree has no such file.
    pub(crate) fn read(&self, path: &str) -> Outcome<Option<Vec<u8>>> {
        let Some(expected) = self.files.get(path) else {
            return Ok(None);
        };
        let place = self.folder.join(FILES).join(path);
        let bytes = match fs::read(&place) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(damaged(&place, "is missing from an installed pack"));
            }
            Err(error) => return Err(filesystem::failure("read", &place, &error)),
        };
        let found = Blake3::of(&bytes);
        if bytes.len() as u64 != expected.length || found != expected.digest {
            let what = format!("is not what was installed: its BLAKE3 is {found}, recorded was {}", expected.digest);
            return Err(damaged(&place, &what));
        }
        Ok(Some(bytes))
    }
}

fn write_tree(folder: &Path, listing: &[FileDigest], files: &[(String, Vec<u8>)]) -> Outcome<()> {
    for (path, bytes) in files {
        let place = folder.join(FILES).join(path);
        if let Some(parent) = place.parent() {
            filesystem::create_directory(parent)?;
        }
        filesystem::write_plain(&place, bytes)?;
    }
    filesystem::create_directory(folder)?;
    filesystem::write_plain(&folder.join(LISTING), listing_text(listing).as_bytes())
}

/// Notes that an entry was used, for `exo cache prune`. A cache that cannot be written is still good to read from.
pub(crate) fn record_use(path: &Path) {
    let now = SystemTime::now();
    let recent = fs::metadata(path)
        .and_then(|data| data.modified())
        .is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age < RECORD_USE_EVERY));
    if !recent && let Ok(file) = fs::File::options().append(true).open(path) {
        let _ = file.set_modified(now);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn stored() -> (tempfile::TempDir, Cache, Blake3) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { root: folder.path().to_path_buf() };
        let files = vec![("Exo.toml".to_string(), b"x".to_vec()), ("src/lib.exo".to_string(), b"y".to_vec())];
        let listing: Vec<FileDigest> = files.iter().map(|(path, bytes)| FileDigest::of(path, bytes)).collect();
        let digest = tree_digest(&listing);
        Tree::store(&cache, &digest, &files).unwrap();
        Tree::store(&cache, &digest, &files).unwrap();
        (folder, cache, digest)
    }

    #[test]
    fn reads_what_was_stored_and_leaves_no_temporary_folder() {
        let (_folder, cache, digest) = stored();
        let tree = Tree::open(&Tree::folder_of(&cache, &digest), &digest).unwrap().unwrap();
        assert_eq!(tree.read("src/lib.exo").unwrap().unwrap(), b"y");
        assert!(tree.read("src/none.exo").unwrap().is_none());
        assert_eq!(fs::read_dir(cache.trees()).unwrap().count(), 1);
    }

    #[test]
    fn a_changed_file_is_named_with_the_remedy() {
        let (_folder, cache, digest) = stored();
        let folder = Tree::folder_of(&cache, &digest);
        fs::write(folder.join("files/src/lib.exo"), "z").unwrap();
        let tree = Tree::open(&folder, &digest).unwrap().unwrap();
        let failed = tree.read("src/lib.exo").unwrap_err();
        assert!(failed.message.contains("src/lib.exo") && failed.message.contains("is not what was installed"));
        assert!(failed.hints[0].contains("exo cache verify --repair"));
        fs::remove_file(folder.join("files/src/lib.exo")).unwrap();
        assert!(tree.read("src/lib.exo").unwrap_err().message.contains("is missing"));
    }

    #[cfg(unix)]
    #[test]
    fn a_tree_that_looks_the_same_is_not_read_again_and_any_change_is_noticed() {
        let (_folder, cache, digest) = stored();
        let folder = Tree::folder_of(&cache, &digest);
        let tree = Tree::open(&folder, &digest).unwrap().unwrap();
        // Files that have just been written may change again within one step of the clock of the file system.
        tree.check().unwrap();
        assert!(!stamp::holds(&folder, &folder.join(FILES), &tree.files));
        std::thread::sleep(Duration::from_millis(2100));
        tree.check().unwrap();
        assert!(stamp::holds(&folder, &folder.join(FILES), &tree.files));
        let place = folder.join("files/src/lib.exo");
        let before = fs::metadata(&place).unwrap().modified().unwrap();
        fs::write(&place, "z").unwrap();
        // The time of its content can be set back, that of the change cannot.
        fs::File::options().append(true).open(&place).unwrap().set_modified(before).unwrap();
        assert!(tree.check().unwrap_err().message.contains("is not what was installed"));
        fs::remove_file(&place).unwrap();
        assert!(tree.check().unwrap_err().message.contains("is missing"));
    }

    #[test]
    fn a_changed_listing_is_noticed() {
        let (_folder, cache, digest) = stored();
        let folder = Tree::folder_of(&cache, &digest);
        let listing = fs::read_to_string(folder.join(LISTING)).unwrap();
        fs::write(folder.join(LISTING), listing.replace("src/lib.exo", "src/bil.exo")).unwrap();
        assert!(Tree::open(&folder, &digest).unwrap_err().message.contains("digest of its tree"));
        fs::write(folder.join(LISTING), "nonsense\n").unwrap();
        assert!(Tree::open(&folder, &digest).is_err());
    }
}
