//! Text that is read besides definitions: patterns, fragments given to operators, and whole modules.

pub mod pattern;
pub mod find;
pub mod fragment;
pub mod module;

#[cfg(test)]
mod tests;
