//! Every path of a project, in one place.

use std::path::{Path, PathBuf};

/// Where things are in a project (and in any pack).
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
    /// The manifest's file name; `Exo.toml` unless `--manifest-path` says otherwise.
    pub(crate) manifest_name: String,
}

impl Layout {
    pub(crate) fn of_manifest(manifest: &Path) -> Self {
        let root = manifest.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
        let manifest_name = manifest
            .file_name()
            .map_or_else(|| super::find_root::MANIFEST.to_string(), |name| name.to_string_lossy().into_owned());
        Layout { root, manifest_name }
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.root.join(&self.manifest_name)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join(exo_index::lockfile::LOCK_FILE)
    }

    pub(crate) fn build(&self) -> PathBuf {
        self.root.join("build")
    }
}
