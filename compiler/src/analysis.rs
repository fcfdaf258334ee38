//! What a procedure does and what follows from it: linear logic, effects, and one safety question a file.

pub(crate) mod mutation;
pub mod linear;
pub mod formula;
pub mod lift;
pub mod conjunction;
pub mod cases;
pub mod numbering;
pub mod z3_backend;
pub mod effects;
pub mod config_flow;
pub mod callees;
pub mod solver;
pub mod facts;
pub mod ranges;
pub mod witness;
pub mod overlap;
pub mod regions;
pub mod commute;
pub mod iterations;
pub mod filling;
pub mod idempotence;
pub mod stationary;
pub mod fission;
pub mod folding;
pub mod liveness;
pub mod stability;
pub mod config_change;
pub mod steady;
pub mod untouched;
pub mod unwritten;
pub mod recompute;
pub mod conditions;

pub use conditions::{Question, Side, Unproven};
pub use facts::{Facts, prove};
pub use ranges::constant_range;
pub use solver::{Answer, Counterexample, Solver, Stats};

#[cfg(test)]
mod tests;
