//! Names, versions, manifests, lockfiles, archives, digests, the resolver and the wire formats of registries: what a
//! pack is, without doing any I/O.
//!
//! Bytes and text go in, values come out. Whoever calls this crate reads the disk, keeps the cache and
//! talks to people; the crate decides what the bytes mean, and refuses what it cannot vouch for.
//!
//! Modules stand in reading order and use only those above them.

pub mod visible;
pub mod calendar;
pub mod name;
pub mod version;

pub mod digest;

pub mod candidates;

pub mod manifest;

pub mod lockfile;
pub mod package_map;

pub mod archive;
pub mod publication;

pub mod resolve;

pub mod registry;
