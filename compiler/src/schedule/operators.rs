//! The operators, one file each, grouped by what they rewrite.

pub mod annotations;
pub mod buffers;
pub mod configuration;
pub mod expressions;
pub mod guards;
pub mod loops;
pub mod procedures;
pub mod simplify;
pub mod statements;

#[cfg(test)]
mod tests;
