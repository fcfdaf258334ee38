//! Folders in which packs are laid out for the checker, used again by the next pack.
//!
//! Packs have files of the same names, so that little is made and removed from one to the next: a file system takes longer for a new
//! file the more were removed a moment ago. The checker reads a folder as a whole and compares its digest, so that nothing of an
//! earlier pack could go unnoticed in it.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use crate::failure::Failure;

/// Bytes above which a folder is removed rather than used again.
const LARGEST: usize = 1 << 20;

/// Folders that nobody uses.
#[derive(Clone, Default)]
pub(crate) struct Folders(Arc<Mutex<Vec<Folder>>>);

/// A folder, which goes when it is dropped.
pub(crate) struct Folder {
    folder: TempDir,
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
            None => {
                let folder = tempfile::Builder::new().prefix("check-").tempdir_in(data)?;
                Ok(Folder { folder, size: Mutex::default() })
            }
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
