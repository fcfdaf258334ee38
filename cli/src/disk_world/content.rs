//! The files of one pack: an installed tree, a folder as it is, or bytes in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use exo_compiler::diagnostic::codes;
use exo_index::archive::{Limits, check_path, is_pack_file};
use exo_index::digest::{Blake3, FileDigest, tree_digest};
use serde::{Deserialize, Serialize};

use crate::builtin_packs::RegistryPack;
use crate::cache::tree::Tree;
use crate::failure::{Failure, Outcome};
use crate::filesystem;

/// Where a pack is. Digests are in hexadecimal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Location {
    /// A tree of the cache; every file is hashed when opened.
    Tree { folder: PathBuf, digest: String },
    /// A folder; with a digest it is read whole and must be what the digest says.
    Folder { folder: PathBuf, digest: Option<String> },
    /// A pack of this binary, unpacked when the first module of it is asked for.
    #[serde(skip)]
    Embedded(Arc<RegistryPack>),
    /// Files in memory.
    #[cfg(test)]
    #[serde(skip)]
    Memory(BTreeMap<String, Vec<u8>>),
}

/// An opened [`Location`].
pub(crate) enum Content {
    Tree(Tree),
    Live(PathBuf),
    Memory(BTreeMap<String, Vec<u8>>),
    Embedded(Arc<RegistryPack>, OnceLock<BTreeMap<String, Vec<u8>>>),
}

/// All files of a folder that are part of the pack in it.
pub(crate) fn read_folder(folder: &Path) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let most = Limits::default().total_bytes;
    let mut files = BTreeMap::new();
    let mut total = 0;
    for path in pack_files(folder)? {
        let bytes = filesystem::read_bytes(&folder.join(&path))?;
        total += bytes.len() as u64;
        if total > most {
            let message = format!("the files in `{}` are more than {} MiB", folder.display(), most >> 20);
            return Err(Failure::refused(message).hint("a pack holds source text; keep data elsewhere"));
        }
        files.insert(path, bytes);
    }
    Ok(files)
}

/// Whether a part of a pack is there. What a link points to is outside of what is checked, so a link is refused.
fn is_there(place: &Path) -> Outcome<bool> {
    if place.is_symlink() {
        return Err(Failure::refused(format!("`{}` is a symbolic link", place.display()))
            .hint("packs hold regular files only; replace the link by what it points to"));
    }
    Ok(place.exists())
}

/// Two paths that differ in case only are one file on some systems.
fn case_collision(paths: &[String]) -> Option<(&String, &String)> {
    let mut seen = BTreeMap::new();
    paths.iter().find_map(|path| seen.insert(path.to_ascii_lowercase(), path).map(|before| (before, path)))
}

/// Paths of a folder's pack, sorted; does not descend into anything else.
pub(crate) fn pack_files(folder: &Path) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    for name in ["Exo.toml", "README.md", "CHANGELOG.md", "LICENSE"] {
        let place = folder.join(name);
        if is_there(&place)? && place.is_file() {
            found.push(name.to_string());
        }
    }
    for part in ["src", "tests"] {
        let inner = folder.join(part);
        if is_there(&inner)? && inner.is_dir() {
            found.extend(filesystem::files_below(&inner)?.into_iter().map(|path| format!("{part}/{path}")));
        }
    }
    // Editors leave hidden files about; a module that can never be packed is worth saying, everything else is not ours.
    let hidden = |path: &str| path.split('/').any(|part| part.starts_with('.'));
    found.retain(|path| is_pack_file(path) || (path.ends_with(".exo") && !hidden(path)));
    for path in &found {
        if let Err(problem) = check_path(path) {
            return Err(Failure::refused(format!(
                "`{}` cannot be part of a pack: {problem}",
                folder.join(path).display()
            ))
            .hint("rename it: ASCII letters, digits, `_`, `-`, and `.exo` at the end"));
        }
    }
    if let Some((one, two)) = case_collision(&found) {
        return Err(Failure::refused(format!("`{one}` and `{two}` in `{}` differ in case only", folder.display()))
            .hint("rename one of them: some systems keep only one of the two"));
    }
    found.sort();
    Ok(found)
}

/// The tree digest of files in memory.
pub(crate) fn digest_of(files: &BTreeMap<String, Vec<u8>>) -> Blake3 {
    let listing: Vec<FileDigest> = files.iter().map(|(path, bytes)| FileDigest::of(path, bytes)).collect();
    tree_digest(&listing)
}

/// The files of an embedded pack, unpacked and checked once.
fn unpacked<'a>(
    pack: &RegistryPack,
    files: &'a OnceLock<BTreeMap<String, Vec<u8>>>,
) -> Outcome<&'a BTreeMap<String, Vec<u8>>> {
    match files.get() {
        Some(files) => Ok(files),
        None => {
            let found = pack.unpack()?;
            Ok(files.get_or_init(|| found))
        }
    }
}

impl Content {
    pub(crate) fn open(location: Location) -> Outcome<Self> {
        let parsed = |digest: &str| {
            digest.parse::<Blake3>().map_err(|error| Failure::bug(format!("a location carries `{digest}`: {error}")))
        };
        match location {
            Location::Embedded(pack) => Ok(Content::Embedded(pack, OnceLock::new())),
            #[cfg(test)]
            Location::Memory(files) => Ok(Content::Memory(files)),
            Location::Folder { folder, digest: None } => Ok(Content::Live(folder)),
            Location::Folder { folder, digest: Some(digest) } => {
                let files = read_folder(&folder)?;
                if digest_of(&files) != parsed(&digest)? {
                    return Err(Failure::refused(format!(
                        "`{}` changed while it was being verified",
                        folder.display()
                    ))
                    .code(codes::DIGEST)
                    .hint("save your files and run the command again"));
                }
                Ok(Content::Memory(files))
            }
            Location::Tree { folder, digest } => match Tree::open(&folder, &parsed(&digest)?)? {
                Some(tree) => Ok(Content::Tree(tree)),
                None => Err(Failure::refused(format!("`{}` is not in the cache any more", folder.display()))
                    .hint("run `exo install`, which unpacks it again")),
            },
        }
    }

    pub(crate) fn files(&self) -> Outcome<Vec<String>> {
        match self {
            Content::Tree(tree) => Ok(tree.files.keys().cloned().collect()),
            Content::Live(folder) => pack_files(folder),
            Content::Memory(files) => Ok(files.keys().cloned().collect()),
            Content::Embedded(pack, files) => Ok(unpacked(pack, files)?.keys().cloned().collect()),
        }
    }

    pub(crate) fn contains(&self, path: &str) -> Outcome<bool> {
        match self {
            Content::Tree(tree) => Ok(tree.files.contains_key(path)),
            Content::Live(folder) => Ok(folder.join(path).is_file()),
            Content::Memory(files) => Ok(files.contains_key(path)),
            Content::Embedded(pack, files) => Ok(unpacked(pack, files)?.contains_key(path)),
        }
    }

    pub(crate) fn read(&self, path: &str) -> Outcome<Option<Vec<u8>>> {
        match self {
            Content::Tree(tree) => tree.read(path),
            Content::Memory(files) => Ok(files.get(path).cloned()),
            Content::Embedded(pack, files) => Ok(unpacked(pack, files)?.get(path).cloned()),
            Content::Live(folder) => {
                let place = folder.join(path);
                if place.is_file() { filesystem::read_bytes(&place).map(Some) } else { Ok(None) }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pack() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/a.exo"), "").unwrap();
        folder
    }

    #[test]
    fn links_to_folders_are_refused_like_links_to_files() {
        let (pack, other) = (pack(), pack());
        std::os::unix::fs::symlink(other.path().join("src"), pack.path().join("tests")).unwrap();
        assert!(pack_files(pack.path()).unwrap_err().message.contains("symbolic link"));
    }

    #[test]
    fn paths_that_differ_in_case_are_refused() {
        let pack = pack();
        std::fs::write(pack.path().join("src/A.exo"), "").unwrap();
        assert!(pack_files(pack.path()).unwrap_err().message.contains("differ in case only"));
    }
}
