//! Tiles (C2SP tlog-tiles): the log's hashes and leaves in files of up to 256, of which only the last of each level changes.

use super::hash::node_hash;
use crate::digest::Sha256;
use crate::registry::malformed::Malformed;

/// How many hashes a whole tile holds.
pub const WIDTH: u16 = 256;

/// How many levels of the tree one level of tiles spans.
pub const HEIGHT: u32 = 8;

/// One tile: the hashes of `width` neighbouring nodes at level `8 * level` of the tree, from node `index * 256` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tile {
    /// The level of tiles.
    pub level: u8,
    /// The place in the level.
    pub index: u64,
    /// How many hashes it holds: 1 to 256.
    pub width: u16,
}

/// Gives the bytes of tiles. Nothing it gives is believed before a proof made of it holds.
pub trait ReadTile {
    /// Why a tile could not be had.
    type Error: From<Malformed>;

    /// The bytes of a tile, [`Tile::bytes`] long.
    ///
    /// # Errors
    /// The tile could not be had.
    fn read_tile(&self, tile: &Tile) -> Result<Vec<u8>, Self::Error>;
}

impl Tile {
    /// The tile of a log of a size that holds a node of a level of tiles, as wide as that log has it; `None` when
    /// the log has no such node.
    pub fn holding(level: u8, node: u64, log_size: u64) -> Option<Self> {
        let nodes = log_size.checked_shr(HEIGHT * u32::from(level)).unwrap_or(0);
        if node >= nodes {
            return None;
        }
        let index = node / u64::from(WIDTH);
        let width = (nodes - index * u64::from(WIDTH)).min(u64::from(WIDTH));
        // At most 256 by the line above.
        Some(Self { level, index, width: u16::try_from(width).unwrap_or(WIDTH) })
    }

    /// The path below `/v1/`: `tile/0/x001/x234/067` or `tile/0/x001/x234/067.p/8`.
    pub fn path(&self) -> String {
        format!("tile/{}/{}", self.level, place(self.index, self.width))
    }

    /// The length of its bytes.
    pub fn bytes(&self) -> usize {
        usize::from(self.width) * 32
    }

    /// The hashes of its bytes.
    ///
    /// # Errors
    /// There are not as many as the tile is wide.
    pub fn hashes(&self, bytes: &[u8]) -> Result<Vec<Sha256>, Malformed> {
        let (hashes, rest) = bytes.as_chunks::<32>();
        if hashes.len() != usize::from(self.width) || !rest.is_empty() {
            return Err(Malformed::new("a tile of the log", format!("{} is {} bytes long", self.path(), bytes.len())));
        }
        Ok(hashes.iter().map(|hash| Sha256::from_bytes(*hash)).collect())
    }
}

/// The path below `/v1/` of a tile of leaves.
pub fn entries_path(index: u64, width: u16) -> String {
    format!("tile/entries/{}", place(index, width))
}

/// A tile's number in groups of three digits, all but the last marked by `x`, and its width when it is not whole.
fn place(index: u64, width: u16) -> String {
    let mut text = format!("{:03}", index % 1000);
    let mut rest = index / 1000;
    while rest > 0 {
        text = format!("x{:03}/{text}", rest % 1000);
        rest /= 1000;
    }
    if width < WIDTH { format!("{text}.p/{width}") } else { text }
}

/// The root of a whole subtree: a power of two of hashes.
pub(crate) fn subtree_root(hashes: &[Sha256]) -> Option<Sha256> {
    match hashes {
        [] => None,
        [one] => Some(*one),
        more => {
            let (left, right) = more.split_at(more.len() / 2);
            Some(node_hash(&subtree_root(left)?, &subtree_root(right)?))
        }
    }
}

/// The bytes of a tile of leaves: each with its length in two bytes, big-endian, before it.
///
/// # Errors
/// A leaf is longer than 65 535 bytes.
pub fn entries_bytes(leaves: &[Vec<u8>]) -> Result<Vec<u8>, Malformed> {
    let mut bytes = Vec::new();
    for leaf in leaves {
        let length = u16::try_from(leaf.len())
            .map_err(|_| Malformed::new("a leaf of the log", format!("it is {} bytes long", leaf.len())))?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(leaf);
    }
    Ok(bytes)
}

/// Reads a tile of leaves.
///
/// # Errors
/// It does not hold exactly `width` leaves.
pub fn read_entries(mut bytes: &[u8], width: u16) -> Result<Vec<Vec<u8>>, Malformed> {
    let wrong = || Malformed::new("a tile of leaves", format!("it does not hold {width} leaves"));
    let mut leaves = Vec::new();
    for _ in 0..width {
        let (length, rest) = bytes.split_first_chunk::<2>().ok_or_else(wrong)?;
        let (leaf, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length))).ok_or_else(wrong)?;
        leaves.push(leaf.to_vec());
        bytes = rest;
    }
    if bytes.is_empty() { Ok(leaves) } else { Err(wrong()) }
}
