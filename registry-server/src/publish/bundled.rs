//! The packs that come with the checker's `exo`: every pack may depend on them, and nobody may publish under their names.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use exo_index::archive::{self, Limits, PackFiles};
use exo_index::manifest::{MANIFEST_FILE, Manifest};
use exo_index::name::PackName;

use super::folders::Workplace;
use crate::failure::Failure;

/// How long `exo` may take to write them.
const TIME: Duration = Duration::from_secs(60);

/// One of them.
#[derive(Debug)]
pub(crate) struct BundledPack {
    pub(crate) manifest: Manifest,
    pub(crate) files: PackFiles,
}

/// All of them, by name.
#[derive(Debug, Default)]
pub(crate) struct Bundled(pub(crate) BTreeMap<PackName, BundledPack>);

impl Bundled {
    /// Whether one of them has a name, in words that may be no name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.keys().any(|known| known.as_str() == name)
    }

    /// Asks a program for its packs.
    ///
    /// # Errors
    /// It cannot be started, is no `exo` of this version, or the folder for its answer cannot be written.
    pub(crate) async fn of(exo: &Path, data: &Path) -> Result<Self, Failure> {
        let folder = Workplace::new(data, "bundled-")?;
        let child = tokio::process::Command::new(exo)
            .arg("__packs")
            .arg(folder.path().canonicalize()?)
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .output();
        let Ok(ended) = tokio::time::timeout(TIME, child).await else {
            return Err(Failure::new(format!("`{}` did not end in {} seconds", exo.display(), TIME.as_secs())));
        };
        let ended = ended.map_err(|error| {
            Failure::new(format!("cannot start `{}`, which checks packs: {error}; --exo names another", exo.display()))
        })?;
        if !ended.status.success() {
            return Err(Failure::new(format!(
                "`{}` does not tell its packs, so it is not of this version: {}",
                exo.display(),
                String::from_utf8_lossy(&ended.stderr).trim()
            )));
        }
        let mut packs = BTreeMap::new();
        for entry in std::fs::read_dir(folder.path())? {
            let bytes = std::fs::read(entry?.path())?;
            let unsound = |why: String| Failure::new(format!("a pack of `{}` is unsound: {why}", exo.display()));
            let files = archive::read(&bytes, &Limits::default()).map_err(|error| unsound(error.to_string()))?;
            let text = files.files.get(MANIFEST_FILE).map(|bytes| String::from_utf8_lossy(bytes)).unwrap_or_default();
            let manifest = Manifest::parse(&text).map_err(|_| unsound(MANIFEST_FILE.to_owned()))?;
            packs.insert(manifest.pack.name.value.clone(), BundledPack { manifest, files });
        }
        if packs.is_empty() {
            return Err(Failure::new(format!(
                "`{}` tells of no pack that comes with it, so it is no `exo`; name the one of this release with --exo",
                exo.display()
            )));
        }
        Ok(Self(packs))
    }
}
