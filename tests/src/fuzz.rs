//! Random procs and random schedules, held against the reference interpreter.

pub mod program;
pub mod front;

#[cfg(test)]
mod tests;
