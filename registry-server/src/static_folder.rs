//! A folder of static files as any file server serves them: each is there whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use exo_index::registry::layout;
use exo_index::registry::log::append::ReadLog;
use exo_index::registry::log::tile::{ReadTile, Tile};

use crate::failure::Failure;

/// The folder.
#[derive(Debug, Clone)]
pub(crate) struct StaticFolder(PathBuf);

impl StaticFolder {
    /// A folder, which is made by the first file that is written.
    pub(crate) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Writes one file below the folder. What is written is on the disk before it has its name, so that a power cut leaves no file that
    /// is empty but looks complete.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        let file = self.0.join(path);
        let failed = |error: io::Error| Failure::new(format!("cannot write `{}`: {error}", file.display()));
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let draft = file.with_extension("part");
        let write = || {
            let mut open = File::create(&draft)?;
            open.write_all(bytes)?;
            open.sync_all()?;
            fs::rename(&draft, &file)
        };
        write().map_err(failed)
    }

    /// Reads a file; `None` where there is none.
    pub(crate) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        let file = self.0.join(path);
        match fs::read(&file) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::new(format!("cannot read `{}`: {error}", file.display()))),
        }
    }

    /// Reads a file that must be there.
    pub(crate) fn need(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.read(path)?.ok_or_else(|| Failure::new(format!("`{}` is missing", self.0.join(path).display())))
    }

    /// Whether a file is there.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.join(path).is_file()
    }
}

impl ReadTile for StaticFolder {
    type Error = Failure;

    fn read_tile(&self, tile: &Tile) -> Result<Vec<u8>, Failure> {
        self.need(&layout::tile(tile))
    }
}

impl ReadLog for StaticFolder {
    fn read_entries(&self, index: u64, width: u16) -> Result<Vec<u8>, Failure> {
        self.need(&layout::entries(index, width))
    }
}
