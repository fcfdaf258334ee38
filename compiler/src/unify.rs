//! Unification: whether a block of code is an instance of a procedure's body, and with which arguments.
//!
//! Statements and data expressions must agree node by node. Index expressions become linear equations over the
//! integers: each control parameter of the callee, and each offset of a window argument, is an unknown affine form over
//! the caller's variables. The equations are solved exactly; which dimensions of a window argument are points is found
//! by trying the choices in lexicographic order.

mod affine;
mod arguments;
mod integers;
mod ranks;
mod matcher;
mod shape;
mod solutions;
mod strides;

#[cfg(test)]
mod tests;

use crate::cursor::path::{self, BlockPlace};
use crate::diagnostic::counted;
use crate::loop_ir::{Expr, Proc};

pub use shape::could_match;

/// How many ways of writing the call are looked at, at most.
const MOST_SOLUTIONS: usize = 16;

/// Why a block is not an instance of a callee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// One phrase.
    pub reason: String,
    /// What would make it one, where that is known.
    pub hint: Option<String>,
}

impl Mismatch {
    fn new(text: impl Into<String>) -> Self {
        Mismatch { reason: text.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Mismatch { hint: Some(hint.into()), ..self }
    }
}

/// The argument lists with which a call of `callee` does exactly what the block does, best first; never empty.
///
/// Equality of the computation is all that is shown here. Whether the call is a legal one (assertions, sizes, window
/// bounds, memories, precisions, aliasing) is the call checker's to say.
///
/// # Errors
/// The first difference found.
pub fn unify(callee: &Proc, proc: &Proc, place: &BlockPlace) -> Result<Vec<Vec<Expr>>, Mismatch> {
    let block = path::block(proc, place).ok_or_else(|| Mismatch::new("the block does not exist"))?;
    if block.len() != callee.body.len() {
        return Err(Mismatch::new(format!(
            "the block has {}, the body of `{}` has {}",
            counted(block.len(), "statement"),
            callee.name,
            callee.body.len()
        )));
    }
    let rest = path::list(proc, &place.parent, place.orelse).and_then(|list| list.part(place.hi..)).unwrap_or_default();
    let mut matcher = matcher::Matcher::new(callee, proc, &block);
    matcher.check_nothing_escapes(&block, &rest)?;
    matcher.block(&callee.body, &block)?;
    solutions::solve(matcher, MOST_SOLUTIONS)
}
