//! Folders in which packs are laid out for the checker, used again by the next pack.
//!
//! Packs have files of the same names, so that little is made and removed from one to the next: a file system takes longer for a new
//! file the more were removed a moment ago. The checker reads a folder as a whole and compares its digest, so that nothing of an
//! earlier pack could go unnoticed in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use crate::failure::Failure;

/// Bytes above which a folder is removed rather than used again.
const LARGEST: usize = 1 << 20;

/// Folders that nobody uses.
#[derive(Clone, Default)]
pub(crate) struct Folders(Arc<Mutex<Vec<Folder>>>);

/// How the names of folders begin in which work is done.
const PREFIXES: [&str; 2] = ["check-", "bundled-"];

/// How old a folder is that is looked at as one that may have been left: a younger one may not be locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// A folder in which work is done, which goes when it is dropped. It is locked while its process lives.
pub(crate) struct Workplace {
    folder: TempDir,
    /// Held, not read; the system gives it back when the process is killed.
    _lock: Option<File>,
}

impl Workplace {
    /// A new one in the data directory.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn new(data: &Path, prefix: &'static str) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(data)?;
        // Where the file system knows no locks, nobody finds it unlocked either.
        let lock = File::open(folder.path()).ok().filter(|lock| lock.try_lock().is_ok());
        Ok(Self { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders that killed processes left in the data directory; says how many.
///
/// # Errors
/// They cannot be read or removed.
pub(crate) fn remove_left(data: &Path) -> std::io::Result<u64> {
    let mut removed = 0;
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_ours = PREFIXES.iter().any(|prefix| name.to_string_lossy().starts_with(prefix));
        // What is gone by now was somebody's who lives.
        let Ok(found) = entry.metadata() else { continue };
        let age = found.modified().ok().and_then(|at| at.elapsed().ok());
        if !is_ours || !found.is_dir() || age.is_none_or(|age| age < YOUNG) {
            continue;
        }
        let Ok(lock) = File::open(entry.path()) else { continue };
        if lock.try_lock().is_ok() {
            fs::remove_dir_all(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// A folder for packs, which goes when it is dropped.
pub(crate) struct Folder {
    folder: Workplace,
    /// Bytes of the files in it.
    size: Mutex<usize>,
}

impl Folders {
    /// A folder for one use.
    ///
    /// # Errors
    /// None is free, and none can be made.
    pub(super) fn take(&self, data: &Path) -> Result<Folder, Failure> {
        // A thread that panicked left a list of whole folders.
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match free {
            Some(folder) => Ok(folder),
            None => Ok(Folder { folder: Workplace::new(data, "check-")?, size: Mutex::default() }),
        }
    }

    /// Keeps a folder for the next use, unless what is in it takes much room.
    pub(super) fn give_back(&self, folder: Folder) {
        if *folder.size.lock().unwrap_or_else(PoisonError::into_inner) <= LARGEST {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(folder);
        }
    }
}

impl Folder {
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Has the folder hold these files and nothing else.
    ///
    /// # Errors
    /// Files cannot be written or removed.
    pub(super) fn fill<'a>(&self, files: impl Iterator<Item = (String, &'a [u8])>) -> Result<(), Failure> {
        let files: Vec<(PathBuf, &[u8])> = files.map(|(path, bytes)| (self.path().join(path), bytes)).collect();
        let names = files.iter().map(|(path, _)| path.as_path()).collect();
        let folders = files.iter().flat_map(|(path, _)| path.ancestors().skip(1)).collect();
        remove_others(self.path(), &names, &folders)?;
        for (path, bytes) in &files {
            match fs::write(path, bytes) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    path.parent().map_or(Ok(()), fs::create_dir_all)?;
                    fs::write(path, bytes)?;
                }
                written => written?,
            }
        }
        let size = files.iter().map(|(_, bytes)| bytes.len()).sum();
        *self.size.lock().unwrap_or_else(PoisonError::into_inner) = size;
        Ok(())
    }
}

/// Removes what is below a folder and neither one of these files nor one of these folders.
fn remove_others(folder: &Path, files: &BTreeSet<&Path>, folders: &BTreeSet<&Path>) -> Result<(), std::io::Error> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        match entry.file_type()?.is_dir() {
            true if folders.contains(path.as_path()) => remove_others(&path, files, folders)?,
            true => fs::remove_dir_all(&path)?,
            false if files.contains(path.as_path()) => {}
            false => fs::remove_file(&path)?,
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_used_again_holds_nothing_else() {
        let data = tempfile::tempdir().unwrap();
        let folders = Folders::default();
        let mut used = Vec::new();
        let contents: [&[(&str, &str)]; 4] = [
            &[("0/a", "one"), ("0/src/b", "two"), ("1/a", "three")],
            &[("0/a", "1"), ("0/src", "a file now")],
            &[("0/a/b", "a folder now"), ("0/src/c/d", "x")],
            &[],
        ];
        for files in contents {
            let folder = folders.take(data.path()).unwrap();
            folder.fill(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes()))).unwrap();
            let mut found = Vec::new();
            below(folder.path(), folder.path(), &mut found);
            found.sort();
            let expected: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
            assert_eq!(found, expected);
            used.push(folder.path().to_owned());
            folders.give_back(folder);
        }
        assert!(used.iter().all(|path| *path == used[0]));
        let folder = folders.take(data.path()).unwrap();
        folder.fill([("0/a".to_owned(), &vec![7; LARGEST + 1][..])].into_iter()).unwrap();
        folders.give_back(folder);
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_killed_processes_left_goes_and_what_others_use_stays() {
        let data = tempfile::tempdir().unwrap();
        let folders = Folders::default();
        let used = folders.take(data.path()).unwrap();
        let old = fs::FileTimes::new().set_modified(std::time::SystemTime::now() - 2 * YOUNG);
        let age = |path: &Path| File::open(path).unwrap().set_times(old).unwrap();
        for name in ["check-left", "bundled-left", "check-young", "files", "keys"] {
            fs::create_dir(data.path().join(name)).unwrap();
            fs::write(data.path().join(name).join("a"), "").unwrap();
            if name != "check-young" {
                age(&data.path().join(name));
            }
        }
        age(used.path());
        assert_eq!(remove_left(data.path()).unwrap(), 2);
        let there = |name: &str| data.path().join(name).exists();
        assert!(used.path().exists() && there("check-young") && there("files") && there("keys"));
        assert!(!there("check-left") && !there("bundled-left"));
    }

    fn below(top: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(top, &path, found);
            } else {
                let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
}
