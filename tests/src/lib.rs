//! Tests that drive the compiler, the index and the binaries from outside.

pub mod command_line;
pub mod exo;
pub mod faults;
pub mod fuzz;
pub mod growth;
pub mod measure;
pub mod reference;
