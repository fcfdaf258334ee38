//! Operators on conditions and scopes.

pub mod lift_scope;
pub mod add_unsafe_guard;
pub mod eliminate_dead_code;
pub mod specialize;

#[cfg(test)]
mod tests;
