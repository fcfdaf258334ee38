//! Computing over tiles of a log that lie elsewhere: it stops at a missing one and starts again when that was fetched.

use std::collections::BTreeMap;

use exo_index::registry::layout;
use exo_index::registry::log::append::ReadLog;
use exo_index::registry::log::tile::{ReadTile, Tile};
use exo_index::registry::malformed::Malformed;

use crate::failure::Failure;

/// The tiles that were fetched.
#[derive(Default)]
pub(crate) struct Fetched(BTreeMap<String, Vec<u8>>);

/// Why computing stopped.
pub(crate) enum Stop {
    /// A file is not here yet.
    Missing(String),
    /// A file is not what it must be.
    Malformed(Malformed),
}

impl From<Malformed> for Stop {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

impl ReadTile for Fetched {
    type Error = Stop;

    fn read_tile(&self, tile: &Tile) -> Result<Vec<u8>, Stop> {
        let path = layout::tile(tile);
        self.0.get(&path).cloned().ok_or(Stop::Missing(path))
    }
}

impl ReadLog for Fetched {
    fn read_entries(&self, index: u64, width: u16) -> Result<Vec<u8>, Stop> {
        let path = layout::entries(index, width);
        self.0.get(&path).cloned().ok_or(Stop::Missing(path))
    }
}

/// A place that has files of a log.
pub(crate) trait Source: Sync {
    /// A file that must be there.
    fn file(&self, path: &str) -> impl Future<Output = Result<Vec<u8>, Failure>> + Send;
}

/// What comes of a computation, with the files that it asks for.
///
/// # Errors
/// A file cannot be had, or is malformed.
pub(crate) async fn computed<T>(
    source: &impl Source,
    compute: impl Fn(&Fetched) -> Result<T, Stop> + Send,
) -> Result<T, Failure> {
    let mut fetched = Fetched::default();
    loop {
        match compute(&fetched) {
            Ok(done) => return Ok(done),
            Err(Stop::Malformed(error)) => return Err(error.into()),
            Err(Stop::Missing(path)) => {
                let bytes = source.file(&path).await?;
                fetched.0.insert(path, bytes);
            }
        }
    }
}
