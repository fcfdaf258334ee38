//! The registry server `exo-registry`.

fn main() {}
