//! Every path of a project, in one place.

use std::path::{Path, PathBuf};

/// Where things are in a project (and in any pack).
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
    /// Where the lockfile is: the root of the workspace, or the pack's own folder.
    pub(crate) lock_root: PathBuf,
    /// The manifest's file name; `Exo.toml` unless `--manifest-path` says otherwise.
    pub(crate) manifest_name: String,
}

impl Layout {
    pub(crate) fn of_manifest(manifest: &Path) -> Self {
        let root = manifest.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
        let manifest_name = manifest
            .file_name()
            .map_or_else(|| super::find_root::MANIFEST.to_string(), |name| name.to_string_lossy().into_owned());
        Layout { lock_root: root.clone(), root, manifest_name }
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.root.join(&self.manifest_name)
    }

    /// The path of a file of the pack as seen from the folder of the lockfile.
    pub(crate) fn from_lock_root(&self, name: &str) -> String {
        match self.root.strip_prefix(&self.lock_root) {
            Ok(path) if !path.as_os_str().is_empty() => format!("{}/{name}", path.to_string_lossy().replace('\\', "/")),
            _ => name.to_string(),
        }
    }

    /// The lockfile as seen from the pack.
    pub(crate) fn lock_from_root(&self) -> String {
        let depth = self.root.strip_prefix(&self.lock_root).map_or(0, |path| path.components().count());
        format!("{}{}", "../".repeat(depth), exo_index::lockfile::LOCK_FILE)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.lock_root.join(exo_index::lockfile::LOCK_FILE)
    }

    pub(crate) fn build(&self) -> PathBuf {
        self.root.join("build")
    }
}
