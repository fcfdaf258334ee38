//! Text that is read besides definitions: patterns, fragments given to operators, and whole modules.

pub mod pattern;
pub mod find;
pub mod module;
pub mod fragment;

#[cfg(test)]
mod tests;
