//! Tests that drive the compiler, the index and the binaries from outside.

pub mod command_line;
pub mod exo;
pub mod fuzz;
pub mod reference;
