//! Random procs and random schedules, held against the reference interpreter.

pub mod program;
pub mod front;
pub mod definition;
pub mod places;
mod shape;
pub mod arguments;
mod reproduction;
pub mod schedule;
pub mod generated_c;
mod shrink;

#[cfg(test)]
mod tests;
