//! Text that is read besides definitions: patterns, fragments given to operators, whole modules, and what a module offers.

mod malformed;
pub mod pattern;
pub mod find;
pub mod fragment;
pub mod module;
pub mod outline;

#[cfg(test)]
mod tests;
