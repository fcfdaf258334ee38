//! Finds the manifest of the project that a folder belongs to.

use std::path::{Path, PathBuf};

/// The file that makes a folder a project.
pub(crate) const MANIFEST: &str = "Exo.toml";

/// The nearest `Exo.toml`, from `folder` upwards.
pub(crate) fn manifest_above(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|above| above.join(MANIFEST)).find(|path| path.is_file())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_manifest_wins() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(folder.path().join(MANIFEST), "").unwrap();
        assert_eq!(manifest_above(&inner).unwrap(), folder.path().join(MANIFEST));
        std::fs::write(folder.path().join("a").join(MANIFEST), "").unwrap();
        assert_eq!(manifest_above(&inner).unwrap(), folder.path().join("a").join(MANIFEST));
    }
}
