//! Hashes of a log's leaves and nodes, and its root hash from the leaves one by one.

use sha2::Digest as _;

use crate::digest::Sha256;

/// The hash of a leaf: `SHA-256(0x00 leaf)`.
pub fn leaf_hash(leaf: &[u8]) -> Sha256 {
    let mut hasher = sha2::Sha256::new();
    hasher.update([0]);
    hasher.update(leaf);
    Sha256::from_bytes(hasher.finalize().into())
}

/// The hash of a node: `SHA-256(0x01 left right)`.
pub fn node_hash(left: &Sha256, right: &Sha256) -> Sha256 {
    let mut hasher = sha2::Sha256::new();
    hasher.update([1]);
    hasher.update(left.as_bytes());
    hasher.update(right.as_bytes());
    Sha256::from_bytes(hasher.finalize().into())
}

/// The root hash of a log without leaves.
pub fn empty_root() -> Sha256 {
    Sha256::of(b"")
}

/// A log of which only the roots of its whole subtrees are kept: enough to add leaves and to know the root hash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    /// Roots of the whole subtrees, largest first: one for each bit set in `size`.
    subtrees: Vec<Sha256>,
}

impl Frontier {
    /// The number of leaves.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Adds a leaf by its hash.
    pub fn append(&mut self, leaf: Sha256) {
        let mut subtree = leaf;
        let mut bits = self.size;
        while bits & 1 == 1 {
            let Some(left) = self.subtrees.pop() else { break };
            subtree = node_hash(&left, &subtree);
            bits >>= 1;
        }
        self.subtrees.push(subtree);
        self.size += 1;
    }

    /// The root hash.
    pub fn root(&self) -> Sha256 {
        let mut from_the_right = self.subtrees.iter().rev();
        let Some(last) = from_the_right.next() else {
            return empty_root();
        };
        from_the_right.fold(*last, |right, left| node_hash(left, &right))
    }
}
