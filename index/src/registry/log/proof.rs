//! Proofs that a leaf is in the log and that one log continues another: made from tiles, checked as RFC 9162 says.

use super::hash::{empty_root, node_hash};
use super::tile::{HEIGHT, ReadTile, Tile, WIDTH, subtree_root};
use crate::digest::Sha256;
use crate::registry::malformed::Malformed;

/// The root hash of a log of a size, from its tiles.
///
/// # Errors
/// A tile could not be had.
pub fn root_from_tiles<R: ReadTile>(tiles: &R, size: u64) -> Result<Sha256, R::Error> {
    if size == 0 { Ok(empty_root()) } else { range(tiles, size, 0, size) }
}

/// The hashes that prove a leaf to be at an index of a log of a size.
///
/// # Errors
/// A tile could not be had, or the log has no such leaf.
pub fn inclusion_proof<R: ReadTile>(tiles: &R, index: u64, size: u64) -> Result<Vec<Sha256>, R::Error> {
    if index >= size {
        return Err(outside(index, size).into());
    }
    let (mut start, mut end) = (0, size);
    let mut proof = Vec::new();
    while end - start > 1 {
        let middle = start + split(end - start);
        if index < middle {
            proof.push(range(tiles, size, middle, end)?);
            end = middle;
        } else {
            proof.push(range(tiles, size, start, middle)?);
            start = middle;
        }
    }
    proof.reverse();
    Ok(proof)
}

/// The hashes that prove the first `old` leaves of a log of `new` leaves to be those of an earlier log.
///
/// # Errors
/// A tile could not be had, or the earlier log is the larger one.
pub fn consistency_proof<R: ReadTile>(tiles: &R, old: u64, new: u64) -> Result<Vec<Sha256>, R::Error> {
    if old > new {
        return Err(outside(old, new).into());
    }
    if old == 0 || old == new {
        return Ok(Vec::new());
    }
    let (mut start, mut end) = (0, new);
    let mut proof = Vec::new();
    let mut known = true;
    // RFC 6962, 2.1.2: follow the edge of the old log downwards, and give what stands beside the way.
    while end != old {
        let middle = start + split(end - start);
        if old <= middle {
            proof.push(range(tiles, new, middle, end)?);
            end = middle;
        } else {
            proof.push(range(tiles, new, start, middle)?);
            start = middle;
            known = false;
        }
    }
    if !known {
        proof.push(range(tiles, new, start, end)?);
    }
    proof.reverse();
    Ok(proof)
}

/// Whether a proof shows a leaf's hash to be at an index of the log of this size and root (RFC 9162, 2.1.3.2).
pub fn inclusion_holds(leaf: &Sha256, index: u64, size: u64, proof: &[Sha256], root: &Sha256) -> bool {
    if index >= size {
        return false;
    }
    let (mut node, mut last) = (index, size - 1);
    let mut hash = *leaf;
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

/// Whether a proof shows the log of the old size and root to be the beginning of the new one (RFC 9162, 2.1.4.2).
pub fn consistency_holds(old: (u64, &Sha256), new: (u64, &Sha256), proof: &[Sha256]) -> bool {
    let ((old_size, old_root), (new_size, new_root)) = (old, new);
    if old_size > new_size {
        return false;
    }
    if old_size == new_size {
        return proof.is_empty() && old_root == new_root;
    }
    if old_size == 0 {
        return proof.is_empty() && *old_root == empty_root();
    }
    // A log whose size is a power of two is a node of the new one itself, and is left out of the proof.
    let (first, rest) = match (old_size.is_power_of_two(), proof) {
        (true, rest) => (*old_root, rest),
        (false, [first, rest @ ..]) => (*first, rest),
        (false, []) => return false,
    };
    let (mut node, mut last) = (old_size - 1, new_size - 1);
    while node & 1 == 1 {
        node >>= 1;
        last >>= 1;
    }
    let (mut old_hash, mut new_hash) = (first, first);
    for sibling in rest {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            old_hash = node_hash(sibling, &old_hash);
            new_hash = node_hash(sibling, &new_hash);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            new_hash = node_hash(&new_hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && old_hash == *old_root && new_hash == *new_root
}

/// The largest power of two below a number above one.
const fn split(length: u64) -> u64 {
    let half = length.next_power_of_two() >> 1;
    if half == 0 { 1 } else { half }
}

/// The hash of the leaves from `start` to before `end`, a range as the splits make them: its start is a multiple of the
/// smallest power of two that is not below its length.
fn range<R: ReadTile>(tiles: &R, size: u64, start: u64, end: u64) -> Result<Sha256, R::Error> {
    let length = end - start;
    if length.is_power_of_two() {
        let height = length.trailing_zeros();
        return node(tiles, size, height, start >> height);
    }
    let middle = start + split(length);
    Ok(node_hash(&range(tiles, size, start, middle)?, &range(tiles, size, middle, end)?))
}

/// The hash of a whole subtree of `2^height` leaves.
fn node<R: ReadTile>(tiles: &R, size: u64, height: u32, place: u64) -> Result<Sha256, R::Error> {
    let above = height % HEIGHT;
    let level = u8::try_from(height / HEIGHT).unwrap_or(u8::MAX);
    let first = place << above;
    let tile = Tile::holding(level, first, size).ok_or_else(|| outside(first, size))?;
    let hashes = tile.hashes(&tiles.read_tile(&tile)?)?;
    let within = usize::try_from(first % u64::from(WIDTH)).unwrap_or(usize::MAX);
    let part = hashes.get(within..).and_then(|rest| rest.get(..1 << above));
    Ok(part.and_then(subtree_root).ok_or_else(|| outside(first, size))?)
}

/// A question about what the log does not have.
fn outside(index: u64, size: u64) -> Malformed {
    Malformed::new("the log", format!("it has {size} leaves, and {index} was asked for"))
}
