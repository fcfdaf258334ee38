//! User scheduling: operators propose edits and an obligation; only `apply` discharges and commits.

pub mod procedure;
pub(crate) mod unrelated;
pub mod obligation;
pub mod operator;
pub mod results;
pub mod target;
pub mod reads;
pub mod conversions;
pub mod divisions;
pub mod argument;
pub mod apply;
pub mod parallel;
pub mod operators;
pub mod registry;

pub use apply::apply;
pub use obligation::{Obligation, Proposal};
pub use operator::{Arguments, Default, Help, Kind, Operator, Parameter, Value};
pub use procedure::{Cursor, Procedure};
pub use results::Returned;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod random;
