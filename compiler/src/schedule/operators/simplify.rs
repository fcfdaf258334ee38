//! `simplify`: index arithmetic in normal form, constants folded, dead code dropped; never changes meaning.

pub mod linear;
pub mod ranges;
pub mod rules;
pub mod decisions;
pub mod operator;

#[cfg(test)]
mod tests;
