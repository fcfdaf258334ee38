//! Adding leaves to a log kept in tiles: which tiles are written, and the root hash that comes out.

use std::collections::BTreeMap;

use super::hash::leaf_hash;
use super::proof::root_from_tiles;
use super::tile::{HEIGHT, ReadTile, Tile, WIDTH, entries_bytes, read_entries, subtree_root};
use crate::digest::Sha256;
use crate::registry::malformed::Malformed;

/// What a log became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The number of leaves now.
    pub size: u64,
    /// The root hash now.
    pub root: Sha256,
    /// The new tiles of hashes.
    pub tiles: BTreeMap<Tile, Vec<u8>>,
    /// The new tiles of leaves: number and width, and bytes.
    pub entries: BTreeMap<(u64, u16), Vec<u8>>,
}

/// A log as it is on disk, or wherever its tiles are kept.
pub trait ReadLog: ReadTile {
    /// The bytes of a tile of leaves.
    ///
    /// # Errors
    /// The tile could not be had.
    fn read_entries(&self, index: u64, width: u16) -> Result<Vec<u8>, Self::Error>;
}

/// Adds leaves to a log of a size. Nothing of the log is changed: tiles are written under new names.
///
/// # Errors
/// A tile of the log could not be had, or a leaf is too long.
pub fn append<L: ReadLog>(log: &L, size: u64, leaves: &[Vec<u8>]) -> Result<Appended, L::Error> {
    let new_size = size + leaves.len() as u64;
    let entries = append_entries(log, size, leaves)?;
    let mut tiles = BTreeMap::new();
    let mut added: Vec<Sha256> = leaves.iter().map(|leaf| leaf_hash(leaf)).collect();
    let mut level = 0u8;
    while !added.is_empty() {
        added = append_level(log, level, size, &added, &mut tiles)?;
        level += 1;
    }
    let root = root_from_tiles(&Overlay { tiles: &tiles, below: log }, new_size)?;
    Ok(Appended { size: new_size, root, tiles, entries })
}

/// Adds hashes to a level of tiles; gives the hashes that are thereby added to the level above.
fn append_level<L: ReadLog>(
    log: &L,
    level: u8,
    size: u64,
    added: &[Sha256],
    tiles: &mut BTreeMap<Tile, Vec<u8>>,
) -> Result<Vec<Sha256>, L::Error> {
    let nodes = size.checked_shr(HEIGHT * u32::from(level)).unwrap_or(0);
    let first = nodes - nodes % u64::from(WIDTH);
    let mut hashes = match nodes.checked_sub(1).filter(|last| *last >= first) {
        Some(last) => match Tile::holding(level, last, size) {
            Some(tile) => tile.hashes(&log.read_tile(&tile)?)?,
            None => Vec::new(),
        },
        None => Vec::new(),
    };
    hashes.extend(added);
    let mut above = Vec::new();
    for (part, index) in hashes.chunks(usize::from(WIDTH)).zip(first / u64::from(WIDTH)..) {
        let width = u16::try_from(part.len()).unwrap_or(WIDTH);
        let bytes = part.iter().flat_map(|hash| *hash.as_bytes()).collect();
        tiles.insert(Tile { level, index, width }, bytes);
        if width == WIDTH {
            above.extend(subtree_root(part));
        }
    }
    Ok(above)
}

/// Tiles of leaves by index and width.
type Entries = BTreeMap<(u64, u16), Vec<u8>>;

/// The new tiles of leaves.
fn append_entries<L: ReadLog>(log: &L, size: u64, leaves: &[Vec<u8>]) -> Result<Entries, L::Error> {
    if leaves.is_empty() {
        return Ok(BTreeMap::new());
    }
    let whole = size / u64::from(WIDTH);
    let width = u16::try_from(size % u64::from(WIDTH)).unwrap_or(0);
    let mut all = if width == 0 { Vec::new() } else { read_entries(&log.read_entries(whole, width)?, width)? };
    all.extend(leaves.iter().cloned());
    let mut entries = BTreeMap::new();
    for (part, index) in all.chunks(usize::from(WIDTH)).zip(whole..) {
        let width = u16::try_from(part.len()).unwrap_or(WIDTH);
        entries.insert((index, width), entries_bytes(part)?);
    }
    Ok(entries)
}

/// The tiles just made, over those that were there.
struct Overlay<'a, L> {
    tiles: &'a BTreeMap<Tile, Vec<u8>>,
    below: &'a L,
}

impl<L: ReadTile> ReadTile for Overlay<'_, L> {
    type Error = L::Error;

    fn read_tile(&self, tile: &Tile) -> Result<Vec<u8>, L::Error> {
        match self.tiles.get(tile) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.below.read_tile(tile),
        }
    }
}

/// A log that is held in memory whole.
#[derive(Debug, Clone, Default)]
pub struct MemoryLog {
    tiles: BTreeMap<Tile, Vec<u8>>,
    entries: BTreeMap<(u64, u16), Vec<u8>>,
    size: u64,
}

impl MemoryLog {
    /// The number of leaves.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Adds leaves, keeps the tiles, and gives what was written.
    ///
    /// # Errors
    /// A leaf is too long.
    pub fn append(&mut self, leaves: &[Vec<u8>]) -> Result<Appended, Malformed> {
        let appended = append(self, self.size, leaves)?;
        self.tiles.extend(appended.tiles.clone());
        self.entries.extend(appended.entries.clone());
        self.size = appended.size;
        Ok(appended)
    }
}

impl ReadTile for MemoryLog {
    type Error = Malformed;

    fn read_tile(&self, tile: &Tile) -> Result<Vec<u8>, Malformed> {
        self.tiles.get(tile).cloned().ok_or_else(|| Malformed::new("the log", format!("it has no {}", tile.path())))
    }
}

impl ReadLog for MemoryLog {
    fn read_entries(&self, index: u64, width: u16) -> Result<Vec<u8>, Malformed> {
        let found = self.entries.get(&(index, width)).cloned();
        found.ok_or_else(|| Malformed::new("the log", format!("it has no leaves {index}, {width} wide")))
    }
}
