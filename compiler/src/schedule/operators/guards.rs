//! Operators on conditions and scopes.

pub mod lift_scope;
pub mod eliminate_dead_code;
pub mod specialize;

#[cfg(test)]
mod tests;
