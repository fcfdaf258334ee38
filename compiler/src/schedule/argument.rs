//! From what a script passes to what an operator receives: forwarding, patterns, fragments, kinds.

use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::schedule::procedure::{Cursor, Procedure};

/// A value as the script host hands it over.
#[derive(Clone, Debug)]
pub enum RawValue {
    None,
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    List(Vec<RawValue>),
    Cursor(Cursor),
    Procedure(Procedure),
    Memory(Memory),
    Precision(Precision),
    /// `FormattedExprStr(text, *cursors)`: text with `_` holes and the expressions that fill them.
    Formatted {
        text: String,
        holes: Vec<Cursor>,
    },
    /// Anything else, by the name of its type, for messages.
    Other(String),
}
