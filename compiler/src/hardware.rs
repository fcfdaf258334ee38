//! What a pack may teach the compiler: precisions, memories, instructions, externs, targets.

pub mod precision;
pub mod memory;
pub mod config;
pub mod extern_function;
pub mod instruction;
