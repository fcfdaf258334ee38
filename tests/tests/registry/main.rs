//! End-to-end tests of the registry server, as a user meets it: over HTTP, and by the files it serves.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod access;
mod advisories;
mod archiving;
mod auditing;
mod authors;
mod browser;
mod bundling;
mod choosing;
mod client;
mod contract;
mod deletion;
mod description;
mod fairness;
mod faults;
mod generations;
mod guarding;
mod limiting;
mod memory;
mod interruptions;
mod mirroring;
mod operations;
mod organisations;
mod pages;
mod pages_in_browser;
mod postgres;
mod privacy;
mod pruning;
mod publishing;
mod quarantine;
mod refusals;
mod reverifying;
mod scopes;
mod searching;
mod second_factor;
mod second_factor_in_browser;
mod sending;
mod server;
mod site;
mod store;
mod upgrading;
mod settling;
mod several;
mod turns;
mod verdicts;
