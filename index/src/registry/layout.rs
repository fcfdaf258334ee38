//! Where things stand below a registry's URL.

use super::log::tile::Tile;
use crate::digest::Sha256;
use crate::name::PackName;

/// The pointer, the one file that changes.
pub const LATEST: &str = "v1/latest";

/// The root of a number.
pub fn root(number: u64) -> String {
    format!("v1/root/{number}.json")
}

/// The snapshot of a hash.
pub fn snapshot(digest: &Sha256) -> String {
    format!("v1/snap/{digest}")
}

/// The bucket of a hash.
pub fn bucket(digest: &Sha256) -> String {
    format!("v1/bucket/{digest}")
}

/// The shard of a hash.
pub fn shard(digest: &Sha256) -> String {
    format!("v1/shard/{digest}")
}

/// The archive of a hash.
pub fn blob(digest: &Sha256) -> String {
    format!("v1/blob/{digest}")
}

/// The verdict of a hash.
pub fn verdict(digest: &Sha256) -> String {
    format!("v1/verdict/{digest}")
}

/// A tile of the log's hashes.
pub fn tile(tile: &Tile) -> String {
    format!("v1/{}", tile.path())
}

/// A tile of the log's leaves, of the same numbers as the tile of hashes at level 0.
pub fn entries(index: u64, width: u16) -> String {
    format!("v1/{}", super::log::tile::entries_path(index, width))
}

/// A name as one part of a URL's path: `%40vendor%2Fneon`.
pub fn name_in_url(name: &PackName) -> String {
    name.as_str().replace('@', "%40").replace('/', "%2F")
}
