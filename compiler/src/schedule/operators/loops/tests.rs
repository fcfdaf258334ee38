//! Tests of the loop operators.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod division;
mod order;
mod repetition;
