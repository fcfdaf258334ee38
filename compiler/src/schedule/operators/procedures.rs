//! Operators on whole procedures and calls.

pub mod add_assertion;
pub mod call_eqv;
pub mod extract_subproc;
pub mod inline;
pub mod make_instr;
pub mod partial_eval;
pub mod rename;
pub mod replace;
pub mod replace_all;
pub mod transpose;

pub use replace_all::replace_all;

#[cfg(test)]
mod tests;
