//! Tests of the buffer operators.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod layout;
mod placement;
mod staging;
