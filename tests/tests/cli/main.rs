//! End-to-end tests of the command line: one module for each area.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod atomicity;
mod conventions;
mod projects;
mod resolving;
