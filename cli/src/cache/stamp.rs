//! What the files of a tree looked like when all of them were last hashed, so that an install that changes nothing need not
//! read them again.
//!
//! Git decides in the same way which files of its index to read. It is no more than a shortcut for `exo install`: whatever is
//! compiled is hashed when it is read. Whoever can write to the cache could forge a stamp, and could not forge a digest.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime};

use exo_index::digest::FileDigest;

use crate::filesystem;

const STAMP: &str = "stamp";

/// A file that changed within this time of the stamp can have changed again without a new time: file systems count in steps of up to
/// two seconds.
const STEP: Duration = Duration::from_secs(2);

/// Whether every file is as it was when the stamp was made, as far as the file system says.
pub(super) fn holds(tree: &Path, folder: &Path, files: &BTreeMap<String, FileDigest>) -> bool {
    let path = tree.join(STAMP);
    let made = std::fs::metadata(&path).and_then(|data| data.modified());
    let (Ok(made), Ok(text)) = (made, std::fs::read_to_string(&path)) else { return false };
    text == stamp(folder, files, made).unwrap_or_default() && !files.is_empty()
}

/// What the stamp says, where every file is as it was when it was made.
pub(super) fn text(tree: &Path, folder: &Path, files: &BTreeMap<String, FileDigest>) -> Option<String> {
    holds(tree, folder, files).then(|| std::fs::read_to_string(tree.join(STAMP)).ok()).flatten()
}

/// Whether the files look as a stamp that once held says.
pub(super) fn describes(text: &str, folder: &Path) -> bool {
    let as_said = |line: &str| {
        let (said, path) = line.rsplit_once(' ')?;
        let data = std::fs::symlink_metadata(folder.join(path)).ok().filter(Metadata::is_file)?;
        Some(look(&data)?.1 == said)
    };
    !text.is_empty() && text.lines().all(|line| as_said(line).unwrap_or(false))
}

/// Notes how the files look now, all of which have just been hashed. A cache that cannot be written is still good to read from.
pub(super) fn make(tree: &Path, folder: &Path, files: &BTreeMap<String, FileDigest>) {
    if let Some(text) = stamp(folder, files, SystemTime::now()) {
        let _ = filesystem::write_cached(&tree.join(STAMP), text.as_bytes());
    }
}

/// One line a file; `None` where a file changed so shortly before `made` that its times say nothing, or cannot be looked at.
fn stamp(folder: &Path, files: &BTreeMap<String, FileDigest>, made: SystemTime) -> Option<String> {
    files.keys().map(|path| line(folder, path, made)).collect()
}

/// How one file looks, as a line.
pub(super) fn line(folder: &Path, path: &str, made: SystemTime) -> Option<String> {
    let data = std::fs::symlink_metadata(folder.join(path)).ok().filter(Metadata::is_file)?;
    let (changed, line) = look(&data)?;
    (changed.checked_add(STEP)? <= made).then(|| format!("{line} {path}\n"))
}

/// When a file or its name changed last, and what tells it from what it was before.
#[cfg(unix)]
fn look(data: &Metadata) -> Option<(SystemTime, String)> {
    use std::os::unix::fs::MetadataExt;
    let (seconds, nanoseconds) = (u64::try_from(data.ctime()).ok()?, u32::try_from(data.ctime_nsec()).ok()?);
    let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))?;
    Some((changed, format!("{seconds}.{nanoseconds:09} {} {} {}", data.dev(), data.ino(), data.len())))
}

/// Times of other systems can be set by anyone, and say nothing here.
#[cfg(not(unix))]
fn look(_: &Metadata) -> Option<(SystemTime, String)> {
    None
}
