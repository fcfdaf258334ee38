//! Which paths a pack may have: names that mean the same on every file system, and only the files a pack is made of.

use std::collections::BTreeMap;
use std::fmt;

use super::Refusal;
use crate::name::is_windows_device;

/// The files that may stand at the top of a pack.
const TOP_FILES: [&str; 4] = ["CHANGELOG.md", "Exo.toml", "LICENSE", "README.md"];

/// The directories of a pack, which hold `.exo` files at any depth.
const SOURCE_DIRECTORIES: [&str; 2] = ["src", "tests"];

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathProblem {
    /// The path is empty.
    Empty,
    /// It starts with `/`.
    Absolute,
    /// It contains `\`.
    Backslash,
    /// It contains a NUL before its end.
    Nul,
    /// It is not UTF-8.
    NotUtf8,
    /// It has a part `..`.
    Parent,
    /// It has an empty part or a part `.`.
    NotNormal,
    /// It contains a character that is no ASCII letter, digit, `_`, `-` or `.`.
    Character(char),
    /// A part starts with `.`.
    Hidden,
    /// A part ends with `.`, which Windows drops.
    TrailingDot,
    /// A part is the name of a device on Windows.
    WindowsDevice,
    /// The path does not fit into a header of ustar.
    TooLong,
    /// Packs have no such file.
    NotInPacks,
}

impl fmt::Display for PathProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("path is empty"),
            Self::Absolute => f.write_str("path is absolute"),
            Self::Backslash => f.write_str("path contains `\\`"),
            Self::Nul => f.write_str("path contains a NUL"),
            Self::NotUtf8 => f.write_str("path is not UTF-8"),
            Self::Parent => f.write_str("path contains `..`"),
            Self::NotNormal => f.write_str("path has an empty part or a part `.`"),
            Self::Character(c) => write!(f, "path contains `{}`", c.escape_debug()),
            Self::Hidden => f.write_str("a part of the path starts with `.`"),
            Self::TrailingDot => f.write_str("a part of the path ends with `.`"),
            Self::WindowsDevice => f.write_str("a part of the path is the name of a device on Windows"),
            Self::TooLong => f.write_str("path is too long"),
            Self::NotInPacks => f.write_str(
                "a pack holds only Exo.toml, README.md, CHANGELOG.md, LICENSE and .exo files under src and tests",
            ),
        }
    }
}

impl std::error::Error for PathProblem {}

/// Checks that a relative path means the same on every file system.
///
/// # Errors
/// The first problem found.
pub fn check_path(path: &str) -> Result<(), PathProblem> {
    if path.is_empty() {
        return Err(PathProblem::Empty);
    }
    if path.starts_with('/') {
        return Err(PathProblem::Absolute);
    }
    if path.contains('\\') {
        return Err(PathProblem::Backslash);
    }
    if path.contains('\0') {
        return Err(PathProblem::Nul);
    }
    for part in path.split('/') {
        if part == ".." {
            return Err(PathProblem::Parent);
        }
        if part.is_empty() || part == "." {
            return Err(PathProblem::NotNormal);
        }
        if let Some(bad) = part.chars().find(|&c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))) {
            return Err(PathProblem::Character(bad));
        }
        if part.starts_with('.') {
            return Err(PathProblem::Hidden);
        }
        if part.ends_with('.') {
            return Err(PathProblem::TrailingDot);
        }
        if is_windows_device(part) {
            return Err(PathProblem::WindowsDevice);
        }
    }
    Ok(())
}

/// Whether a file of this path belongs into a pack's archive.
pub fn is_pack_file(path: &str) -> bool {
    check_path(path).is_ok()
        && (TOP_FILES.contains(&path)
            || (path.len() > 4
                && path.ends_with(".exo")
                && path.split_once('/').is_some_and(|(top, _)| is_source(top))))
}

/// Whether a directory of this path may occur in a pack's archive.
pub(super) fn is_pack_directory(path: &str) -> bool {
    check_path(path).is_ok() && is_source(path.split('/').next().unwrap_or(path))
}

fn is_source(top: &str) -> bool {
    SOURCE_DIRECTORIES.contains(&top)
}

/// What a path is in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// A file with an entry.
    File,
    /// A directory with an entry.
    Directory,
    /// A directory known only because something is in it.
    Implied,
}

/// The paths seen so far, to find those that would meet on some file system.
#[derive(Debug, Default)]
pub(super) struct PathSet {
    /// Spelling and meaning by lower-case path.
    seen: BTreeMap<String, (String, Seen)>,
}

impl PathSet {
    /// Adds a file or directory that passed [`check_path`].
    pub(super) fn add(&mut self, path: &str, is_directory: bool) -> Result<(), Refusal> {
        for (end, _) in path.match_indices('/') {
            // The index is that of a `/`, so it is a boundary.
            self.note(path.get(..end).unwrap_or(path), Seen::Implied)?;
        }
        self.note(path, if is_directory { Seen::Directory } else { Seen::File })
    }

    fn note(&mut self, path: &str, kind: Seen) -> Result<(), Refusal> {
        let Some((spelling, before)) = self.seen.get_mut(&path.to_ascii_lowercase()) else {
            self.seen.insert(path.to_ascii_lowercase(), (path.to_owned(), kind));
            return Ok(());
        };
        if spelling != path {
            return Err(Refusal::CaseCollision(spelling.clone()));
        }
        match (*before, kind) {
            (Seen::File, Seen::File) | (Seen::Directory, Seen::Directory) => Err(Refusal::Duplicate),
            (Seen::File, Seen::Directory | Seen::Implied) | (Seen::Directory | Seen::Implied, Seen::File) => {
                Err(Refusal::FileAndDirectory)
            }
            (Seen::Directory | Seen::Implied, Seen::Implied) => Ok(()),
            (Seen::Implied, Seen::Directory) => {
                *before = Seen::Directory;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_hold_these_files() {
        for path in ["Exo.toml", "README.md", "LICENSE", "src/lib.exo", "src/a/b-c.exo", "tests/x.exo", "src/a.b.exo"] {
            assert!(is_pack_file(path), "{path}");
        }
    }

    #[test]
    fn packs_hold_no_others() {
        for path in [
            "",
            "exo.toml",
            "build.sh",
            "src/lib.py",
            "src",
            "src/",
            "lib.exo",
            "docs/a.exo",
            "src/.exo",
            "src/../a.exo",
            "/src/a.exo",
            "src//a.exo",
            "./src/a.exo",
            "src\\a.exo",
            "src/con.exo",
            "src/nul/a.exo",
            "src/a.exo.",
            "src/é.exo",
            "src/a b.exo",
            "src/a:b.exo",
            "src/.git/a.exo",
            "src/a.exo/",
            "SRC/a.exo",
            "src/a.EXO",
            "README.md/x.exo",
        ] {
            assert!(!is_pack_file(path), "{path}");
        }
    }

    #[test]
    fn directories_lie_under_the_sources() {
        assert!(is_pack_directory("src") && is_pack_directory("tests/deep/er"));
        assert!(!is_pack_directory("docs") && !is_pack_directory("src/..") && !is_pack_directory("Exo.toml"));
    }

    #[test]
    fn paths_that_meet_are_refused() {
        let mut set = PathSet::default();
        assert_eq!(set.add("src", true), Ok(()));
        assert_eq!(set.add("src/a.exo", false), Ok(()));
        assert_eq!(set.add("src", true), Err(Refusal::Duplicate));
        assert_eq!(set.add("src/a.exo", false), Err(Refusal::Duplicate));
        assert_eq!(set.add("src/A.exo", false), Err(Refusal::CaseCollision("src/a.exo".into())));
        assert_eq!(set.add("src/a.exo/b.exo", false), Err(Refusal::FileAndDirectory));
        assert_eq!(set.add("src/d/b.exo", false), Ok(()));
        assert_eq!(set.add("src/D/c.exo", false), Err(Refusal::CaseCollision("src/d".into())));
        assert_eq!(set.add("src/d", false), Err(Refusal::FileAndDirectory));
        assert_eq!(set.add("src/d", true), Ok(()));
    }
}
