//! Reading and writing files: errors carry the path, writes are whole or not at all.

pub(crate) mod journal;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::environment;
use crate::failure::{Failure, Outcome};

/// What messages call it when a file is made or changed.
const WRITES: [&str; 2] = ["write", "replace"];

/// A failed file operation in our words: the path, the reason, and what helps.
pub(crate) fn failure(verb: &str, path: &Path, error: &io::Error) -> Box<Failure> {
    let failure = Failure::environment(format!("cannot {verb} `{}`: {}", path.display(), reason(error)));
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            failure.hint("free some space on that disk and run the command again; nothing was left half-written")
        }
        io::ErrorKind::PermissionDenied => failure.hint("check the owner and the permissions of that path"),
        io::ErrorKind::NotFound if WRITES.contains(&verb) => {
            failure.hint("make the folder first, or name a file in one that is there")
        }
        io::ErrorKind::IsADirectory | io::ErrorKind::ResourceBusy if WRITES.contains(&verb) => {
            failure.hint("that is a folder: name a file in it")
        }
        io::ErrorKind::NotADirectory if WRITES.contains(&verb) => {
            failure.hint("something on the way there is a file: name a folder that is there")
        }
        io::ErrorKind::ReadOnlyFilesystem => failure.hint("that file system is mounted read-only; work in a copy"),
        _ => failure,
    }
}

/// The reason without Rust's `(os error N)`.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    let mut text = text.get(..end).unwrap_or(&text).to_string();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    text
}

static STEPS: AtomicU64 = AtomicU64::new(0);

/// Counts one file-system step that changes something, and is where tests let the process die or the disk fill up.
///
/// The two variables are documented in `environment` as for tests; without them this is one counter.
fn step() -> io::Result<()> {
    static KILL_AT: OnceLock<Option<u64>> = OnceLock::new();
    static FULL_AT: OnceLock<Option<u64>> = OnceLock::new();
    let now = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
    if KILL_AT.get_or_init(|| environment::test_step("EXO_TEST_KILL_AT")).is_some_and(|at| now == at) {
        std::process::abort();
    }
    if FULL_AT.get_or_init(|| environment::test_step("EXO_TEST_FULL_AT")).is_some_and(|at| now >= at) {
        return Err(io::Error::from(io::ErrorKind::StorageFull));
    }
    Ok(())
}

/// Counts a request to a registry as a step, so that tests can let the process die before and after each.
pub(crate) fn count_request() {
    // A full disk is no matter of the network's.
    let _ = step();
}

/// The largest file that is read, in bytes: a manifest, a module, an archive. What is larger is none of these.
const LARGEST_FILE: u64 = 64 << 20;

pub(crate) fn read_bytes(path: &Path) -> Outcome<Vec<u8>> {
    read_limited(path).map_err(|error| failure("read", path, &error))
}

/// Devices and pipes have no length that could be looked at first, so the reading itself is limited.
fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > LARGEST_FILE {
        return Err(too_large());
    }
    // One byte more, so that the end is found without another place for the bytes.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {} MiB", LARGEST_FILE >> 20))
}

pub(crate) fn read_text(path: &Path) -> Outcome<String> {
    text_of(path, read_bytes(path)?)
}

/// The text of a file, or `None` where there is no such file.
pub(crate) fn read_optional(path: &Path) -> Outcome<Option<String>> {
    match read_limited(path) {
        Ok(bytes) => text_of(path, bytes).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failure("read", path, &error)),
    }
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Outcome<String> {
    String::from_utf8(bytes).map_err(|error| {
        Failure::refused(format!(
            "`{}` is not UTF-8: the byte at offset {} is no part of a character",
            path.display(),
            error.utf8_error().valid_up_to()
        ))
        .hint("save the file as UTF-8")
    })
}

pub(crate) fn create_directory(path: &Path) -> Outcome<()> {
    if path.is_dir() {
        return Ok(());
    }
    step().and_then(|()| fs::create_dir_all(path)).map_err(|error| failure("create the folder", path, &error))
}

/// The permissions of most files; the user's mask takes from them.
const PUBLIC: u32 = 0o666;
/// The permissions of a file with secrets.
const PRIVATE: u32 = 0o600;

/// Writes a file and waits until it is on the disk; leaves nothing when that fails.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Outcome<()> {
    write_file(path, bytes, PUBLIC).map_err(|error| failure("write", path, &error))
}

fn write_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let write = || {
        step()?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
        step()?;
        file.write_all(bytes)?;
        step()?;
        file.sync_all()
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Writes a file without forcing it to the disk, for caches whose content is checked when it is read.
pub(crate) fn write_plain(path: &Path, bytes: &[u8]) -> Outcome<()> {
    step().and_then(|()| fs::write(path, bytes)).map_err(|error| failure("write", path, &error))
}

pub(crate) fn rename(from: &Path, to: &Path) -> Outcome<()> {
    step().and_then(|()| fs::rename(from, to)).map_err(|error| failure("replace", to, &error))
}

pub(crate) fn remove_file(path: &Path) -> Outcome<()> {
    match step().and_then(|()| fs::remove_file(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failure("remove", path, &error)),
        _ => Ok(()),
    }
}

pub(crate) fn remove_directory(path: &Path) -> Outcome<()> {
    match step().and_then(|()| fs::remove_dir_all(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failure("remove", path, &error)),
        _ => Ok(()),
    }
}

/// Makes a rename in `directory` durable. Some file systems refuse to sync folders; they order renames themselves.
pub(crate) fn sync_directory(directory: &Path) -> Outcome<()> {
    step().map_err(|error| failure("write", directory, &error))?;
    if let Ok(handle) = File::open(directory) {
        let _ = handle.sync_all();
    }
    Ok(())
}

/// A name beside `path` that no other process uses.
pub(crate) fn beside(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let unique = COUNTER.fetch_add(1, Ordering::SeqCst);
    path.with_file_name(format!(".{name}.{}-{unique}.exo-tmp", std::process::id()))
}

/// Removes from a folder what processes that were killed left under names of [`beside`]. What cannot be removed stays: it is in nobody's way.
pub(crate) fn sweep(folder: &Path) {
    // Without this, nobody can tell whether a process still works on its file.
    let processes = Path::new("/proc");
    if !processes.join("self").exists() {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if owner_of(&name).is_some_and(|process| !processes.join(process).exists()) {
            let path = entry.path();
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

/// Writes a file that a command was asked for, and tidies up beside it.
pub(crate) fn write_output(path: &Path, bytes: &[u8]) -> Outcome<()> {
    if let Some(folder) = path.parent() {
        sweep(folder);
    }
    write_atomic(path, bytes)
}

/// The number of the process that made a name of [`beside`].
fn owner_of(name: &str) -> Option<&str> {
    let (rest, counter) = name.strip_prefix('.')?.strip_suffix(".exo-tmp")?.rsplit_once('-')?;
    let process = rest.rsplit_once('.')?.1;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(counter) && is_number(process)).then_some(process)
}

/// Replaces a file: readers see the old content or the new one, also when the process is killed.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8]) -> Outcome<()> {
    replace(path, bytes, PUBLIC)
}

/// Like [`write_atomic`], for secrets: the file is its owner's from its first moment on.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Outcome<()> {
    replace(path, bytes, PRIVATE)
}

/// Whether a file is anybody's but its owner's to read or write.
pub(crate) fn is_open_to_others(path: &Path) -> Outcome<bool> {
    let metadata = fs::metadata(path).map_err(|error| failure("look at", path, &error))?;
    Ok(metadata.permissions().mode() & 0o077 != 0)
}

fn replace(path: &Path, bytes: &[u8], mode: u32) -> Outcome<()> {
    let temporary = beside(path);
    // It is the file that was asked for that cannot be written, not the one beside it.
    write_file(&temporary, bytes, mode).map_err(|error| failure("write", path, &error))?;
    if let Err(failed) = rename(&temporary, path) {
        let _ = fs::remove_file(&temporary);
        return Err(failed);
    }
    if let Some(directory) = path.parent() {
        sync_directory(if directory.as_os_str().is_empty() { Path::new(".") } else { directory })?;
    }
    Ok(())
}

/// Like [`write_atomic`], for content that can be made again: no wait for the disk.
pub(crate) fn write_cached(path: &Path, bytes: &[u8]) -> Outcome<()> {
    let temporary = beside(path);
    let written = write_plain(&temporary, bytes).and_then(|()| rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// All regular files below `directory` with their paths relative to it (`/`-separated), sorted. Symbolic links are
/// reported as an error, since what they point to is outside of what is checked.
pub(crate) fn files_below(directory: &Path) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![(directory.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| failure("list", &folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| failure("list", &folder, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let relative = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(|error| failure("look at", &entry.path(), &error))?;
            if kind.is_dir() {
                open.push((entry.path(), format!("{relative}/")));
            } else if kind.is_file() {
                found.push(relative);
            } else {
                return Err(Failure::refused(format!("`{}` is not a regular file", entry.path().display()))
                    .hint("packs hold regular files only; replace the link or device by a file"));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_path() {
        let failed = read_text(Path::new("/nowhere/at-all")).unwrap_err();
        assert_eq!(failed.message, "cannot read `/nowhere/at-all`: no such file or directory");
    }

    #[test]
    fn atomic_write_replaces_and_leaves_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(files_below(folder.path()).unwrap(), ["a"]);
    }

    #[test]
    fn only_what_dead_processes_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let own = beside(&folder.path().join("a"));
        // No process has a number this high.
        let dead = format!(".a.{}-0.exo-tmp", u32::MAX);
        fs::write(&own, "mine").unwrap();
        fs::create_dir(folder.path().join(&dead)).unwrap();
        fs::write(folder.path().join(&dead).join("x"), "").unwrap();
        for kept in [".a.4294967295-0.exo-new", "a.4294967295-0.exo-tmp", ".a.x-0.exo-tmp", ".4294967295-0.exo-tmp"] {
            fs::write(folder.path().join(kept), "").unwrap();
        }
        sweep(folder.path());
        assert!(own.exists() && !folder.path().join(dead).exists());
        assert_eq!(files_below(folder.path()).unwrap().len(), 5);
    }

    #[test]
    fn a_private_file_is_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_private(&path, b"one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!is_open_to_others(&path).unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(is_open_to_others(&path).unwrap());
    }

    #[test]
    fn a_full_disk_says_what_to_do() {
        let failed = failure("write", Path::new("x"), &io::Error::from(io::ErrorKind::StorageFull));
        assert!(failed.hints[0].contains("free some space"));
        assert_eq!(failed.exit, crate::failure::Exit::Environment);
    }

    #[test]
    fn what_cannot_be_written_is_named_as_it_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        for (name, why, remedy) in [
            ("none/x", "no such file or directory", "make the folder first"),
            ("file/x", "not a directory", "a folder that is there"),
            ("folder", "is a directory", "name a file in it"),
        ] {
            let path = folder.path().join(name);
            let failed = write_output(&path, b"x").unwrap_err();
            let place = format!("`{}`: {why}", path.display());
            assert!(failed.message.ends_with(&place), "{}", failed.message);
            assert!(failed.hints.concat().contains(remedy), "{:?} {:?}", failed.message, failed.hints);
            assert_eq!(failed.exit, crate::failure::Exit::Environment);
        }
    }

    #[test]
    fn no_file_is_read_without_end() {
        assert!(read_bytes(Path::new("/dev/zero")).unwrap_err().message.contains("larger than 64 MiB"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("Exo.toml");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read_optional(&path).unwrap_err().message.contains("larger than 64 MiB"));
    }

    #[test]
    fn links_are_no_files() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("l")).unwrap();
        assert!(files_below(folder.path()).unwrap_err().message.contains("not a regular file"));
    }
}
