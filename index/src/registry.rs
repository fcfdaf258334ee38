//! The wire formats of a registry and what a client checks of them; `docs/registry-protocol.md` is their description.
//!
//! Server and client use the same types: what one writes, the other reads with every check. Nothing here does I/O or reads a
//! clock; times are whole seconds since 1970-01-01 UTC and are given by the caller.

pub mod malformed;
pub mod text_form;
pub mod rights;

pub mod keys;
pub mod note;
pub mod envelope;

pub mod pointer;
pub mod root;

pub mod shard;
pub mod snapshot;
pub mod layout;

pub mod log;

pub mod verdict;
pub mod trust;
pub mod evidence;
pub mod look_alike;
pub mod build;
