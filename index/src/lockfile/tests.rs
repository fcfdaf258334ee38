//! Tests of the lockfile.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
