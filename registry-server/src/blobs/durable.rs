//! Writing many files into a directory so that all of them outlive a power cut, with as few waits for the disk as possible.
//!
//! A disk takes milliseconds to say that something is on it, and takes no longer for several requests that wait at the same time. So all
//! files are written and get their names first; then they, and the directories that have new names, are synced together. In between
//! a power cut can leave a name of an empty file: nothing refers to it before all is synced, and it is written again by then.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::failure::Failure;
use crate::parallel::each;

/// Waits for the disk at the same time.
const SYNCS: usize = 24;

/// Files that are open at the same time.
const OPEN: usize = 200;

/// Tells drafts of this process from one another.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// What has to be synced.
#[derive(Default)]
struct Unsynced {
    files: Vec<File>,
    folders: BTreeSet<PathBuf>,
}

/// Writes files below a folder, each by its path there.
///
/// # Errors
/// One of them cannot be written; others may be there then.
pub(super) async fn write_all(folder: &Path, files: Vec<(String, Vec<u8>)>) -> Result<(), Failure> {
    let mut files = files.into_iter().peekable();
    while files.peek().is_some() {
        write_some(folder, files.by_ref().take(OPEN).collect()).await?;
    }
    Ok(())
}

/// The same, of as many files as may be open at the same time.
async fn write_some(folder: &Path, files: Vec<(String, Vec<u8>)>) -> Result<(), Failure> {
    let folder = folder.to_owned();
    let unsynced = tokio::task::spawn_blocking(move || {
        let mut unsynced = Unsynced::default();
        for (path, bytes) in files {
            write(&folder, &path, &bytes, &mut unsynced)?;
        }
        Ok::<_, std::io::Error>(unsynced)
    });
    let unsynced = unsynced.await??;
    let mut open = unsynced.files;
    for folder in unsynced.folders {
        open.push(File::open(folder)?);
    }
    each(SYNCS, open, |file| async move {
        tokio::task::spawn_blocking(move || file.sync_all()).await??;
        Ok(())
    })
    .await?;
    Ok(())
}

/// Writes a file under its name.
fn write(folder: &Path, path: &str, bytes: &[u8], unsynced: &mut Unsynced) -> Result<(), std::io::Error> {
    let name = folder.join(path);
    let parent = name.parent().unwrap_or(folder);
    let (draft, mut file) = match draft_of(&name) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(parent)?;
            // Each folder on the way may be new, and stands in the one above it.
            let above = parent.ancestors().take_while(|above| above.starts_with(folder));
            unsynced.folders.extend(above.map(Path::to_owned));
            draft_of(&name)?
        }
        other => other?,
    };
    if let Err(error) = file.write_all(bytes).and_then(|()| fs::rename(&draft, &name)) {
        // What cannot be removed now is removed as a draft later.
        let _ = fs::remove_file(&draft);
        return Err(error);
    }
    unsynced.folders.insert(parent.to_owned());
    unsynced.files.push(file);
    Ok(())
}

/// A new file beside the one of a name, which is called as the library calls its drafts.
fn draft_of(name: &Path) -> Result<(PathBuf, File), std::io::Error> {
    loop {
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let mut draft = name.as_os_str().to_owned();
        draft.push(format!("#{number}"));
        match OpenOptions::new().write(true).create_new(true).open(&draft) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return Ok((draft.into(), opened?)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_files_are_there_and_no_drafts() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            |text: &str| (0..60).map(|n| (format!("a/{}/{n}", n % 3), format!("{text} {n}").into_bytes())).collect();
        write_all(folder.path(), files("old")).await.unwrap();
        fs::write(folder.path().join("a/1/4#3"), "of a killed process").unwrap();
        write_all(folder.path(), files("new")).await.unwrap();
        for n in 0..60 {
            assert_eq!(fs::read_to_string(folder.path().join(format!("a/{}/{n}", n % 3))).unwrap(), format!("new {n}"));
        }
        let number: usize = (0..3).map(|n| fs::read_dir(folder.path().join(format!("a/{n}"))).unwrap().count()).sum();
        assert_eq!(number, 61);
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        let files = vec![("x".to_owned(), vec![1]), ("a/b".to_owned(), vec![2])];
        assert!(write_all(folder.path(), files).await.is_err());
        assert!(fs::read_dir(folder.path().join("a")).unwrap().count() == 1);
    }
}
