//! The log of everything that happened to a registry: a Merkle tree as in RFC 6962, kept in tiles as in C2SP tlog-tiles.

pub mod hash;
pub mod leaf;
pub mod tile;
pub mod proof;
pub mod append;

#[cfg(test)]
mod tests;
