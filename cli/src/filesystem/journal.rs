//! Changes several files of a project as one: killed at any point, all of them are as before or as after.
//!
//! The new contents are written beside the old files and synced; then a journal that names the renames is moved into
//! place, which is the moment of commitment; then the renames are made and the journal is removed. A journal that is
//! found at the next start is finished. Renames need no disk space, so a full disk shows before the commitment.

use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{create_directory, failure, remove_file, rename, sync_directory, write_synced};
use crate::failure::{Failure, Outcome};

/// Name of the journal in the root of a project.
pub(crate) const JOURNAL: &str = ".exo-journal";

const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Journal {
    format: u32,
    moves: Vec<Move>,
}

/// Both names are relative to the root; `from` stands beside `to`.
#[derive(Serialize, Deserialize)]
struct Move {
    from: String,
    to: String,
}

/// An exclusive hold on a project: other `exo` processes that change it wait.
pub(crate) struct ProjectLock {
    _root: File,
}

impl ProjectLock {
    /// Waits for other processes, calling `waiting` once when there is one.
    pub(crate) fn take(root: &Path, waiting: impl FnOnce()) -> Outcome<Self> {
        let handle = File::open(root).map_err(|error| failure("open", root, &error))?;
        match handle.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                waiting();
                handle.lock().map_err(|error| failure("lock", root, &error))?;
            }
            Err(fs::TryLockError::Error(error)) => return Err(failure("lock", root, &error)),
        }
        Ok(ProjectLock { _root: handle })
    }
}

/// Where the new content of `to` waits for its rename.
fn pending_name(to: &str) -> String {
    match to.rsplit_once('/') {
        Some((folder, name)) => format!("{folder}/.{name}.exo-new"),
        None => format!(".{to}.exo-new"),
    }
}

/// Replaces the files (paths relative to `root`, `/`-separated) together. The caller holds the project.
pub(crate) fn commit(_held: &ProjectLock, root: &Path, files: &[(String, String)]) -> Outcome<()> {
    let moves: Vec<Move> = files.iter().map(|(to, _)| Move { from: pending_name(to), to: to.clone() }).collect();
    let prepared = prepare(root, &moves, files);
    if let Err(failed) = prepared {
        for entry in &moves {
            let _ = fs::remove_file(root.join(&entry.from));
        }
        let _ = fs::remove_file(root.join(pending_name(JOURNAL)));
        return Err(failed);
    }
    finish(root, &moves).map_err(|failed| {
        failed.note(format!("the change is complete in `{JOURNAL}`; the next exo command in this project finishes it"))
    })
}

fn prepare(root: &Path, moves: &[Move], files: &[(String, String)]) -> Outcome<()> {
    for (entry, (_, content)) in moves.iter().zip(files) {
        let path = root.join(&entry.from);
        if let Some(folder) = path.parent() {
            create_directory(folder)?;
        }
        write_synced(&path, content.as_bytes())?;
    }
    let journal = Journal {
        format: FORMAT,
        moves: moves.iter().map(|entry| Move { from: entry.from.clone(), to: entry.to.clone() }).collect(),
    };
    let text =
        serde_json::to_string(&journal).map_err(|error| Failure::bug(format!("cannot write a journal: {error}")))?;
    let pending = root.join(pending_name(JOURNAL));
    write_synced(&pending, text.as_bytes())?;
    rename(&pending, &root.join(JOURNAL))
}

fn finish(root: &Path, moves: &[Move]) -> Outcome<()> {
    sync_directory(root)?;
    for entry in moves {
        let from = root.join(&entry.from);
        // Gone means that an earlier start has already made this rename.
        if from.exists() {
            rename(&from, &root.join(&entry.to))?;
        }
    }
    sync_directory(root)?;
    remove_file(&root.join(JOURNAL))
}

/// Finishes a change that a killed process had committed. True when there was one.
pub(crate) fn recover(root: &Path) -> Outcome<bool> {
    let path = root.join(JOURNAL);
    if !path.exists() {
        return Ok(false);
    }
    let _held = ProjectLock::take(root, || ())?;
    let Some(text) = super::read_optional(&path)? else {
        // The process that wrote it was alive and has finished while this one waited.
        return Ok(false);
    };
    let damaged = |why: String| {
        Failure::refused(format!("`{}` is not a journal of exo: {why}", path.display()))
            .hint("an interrupted change left it, or it came with the project; compare Exo.toml with your history, then delete it")
    };
    let journal: Journal = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    if journal.format != FORMAT {
        return Err(damaged(format!("it has format {}, this exo knows {FORMAT}", journal.format)));
    }
    for entry in &journal.moves {
        // A journal that came with a cloned project must not reach outside of it.
        if !is_inside(&entry.to) || entry.from != pending_name(&entry.to) {
            return Err(damaged(format!("it moves `{}` to `{}`", entry.from, entry.to)));
        }
    }
    finish(root, &journal.moves)?;
    Ok(true)
}

fn is_inside(relative: &str) -> bool {
    let path = PathBuf::from(relative);
    path.components().next().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn names(root: &Path) -> Vec<String> {
        crate::filesystem::files_below(root).unwrap()
    }

    #[test]
    fn commits_all_files_and_leaves_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let held = ProjectLock::take(folder.path(), || ()).unwrap();
        let files = [("a".to_string(), "1".to_string()), ("src/b".to_string(), "2".to_string())];
        commit(&held, folder.path(), &files).unwrap();
        assert_eq!(names(folder.path()), ["a", "src/b"]);
        assert_eq!(fs::read_to_string(folder.path().join("src/b")).unwrap(), "2");
    }

    #[test]
    fn a_found_journal_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Exo.toml"), "old").unwrap();
        fs::write(folder.path().join(".Exo.lock.exo-new"), "new lock").unwrap();
        let moves = r#"{"format":1,"moves":[{"from":".Exo.toml.exo-new","to":"Exo.toml"},{"from":".Exo.lock.exo-new","to":"Exo.lock"}]}"#;
        fs::write(folder.path().join(JOURNAL), moves).unwrap();
        fs::write(folder.path().join(".Exo.toml.exo-new"), "new").unwrap();
        assert!(recover(folder.path()).unwrap());
        assert_eq!(names(folder.path()), ["Exo.lock", "Exo.toml"]);
        assert_eq!(fs::read_to_string(folder.path().join("Exo.toml")).unwrap(), "new");
        assert!(!recover(folder.path()).unwrap());
    }

    #[test]
    fn a_journal_that_reaches_outside_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let moves = r#"{"format":1,"moves":[{"from":"../.x.exo-new","to":"../x"}]}"#;
        fs::write(folder.path().join(JOURNAL), moves).unwrap();
        let failed = recover(folder.path()).unwrap_err();
        assert!(failed.message.contains("is not a journal of exo"), "{}", failed.message);
    }
}
