//! End-to-end tests of the command line: one module for each area.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod atomicity;
mod benching;
mod building;
mod conforming;
mod conventions;
mod emitting;
mod git;
mod installing;
mod interruption;
mod merging;
mod packaging;
mod policy;
mod projects;
mod resolving;
mod updating;
mod vendoring;
mod workspaces;
