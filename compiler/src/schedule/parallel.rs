//! `par` loops around an edit, whose iterations must still be independent after it.

use crate::analysis::conditions::{Question, Side};
use crate::cursor::path::{self, Path};
use crate::loop_ir::{LoopMode, Proc, StmtKind};

/// One question for each `par` loop at or above a place. Edits inside those loops do not move them, so their places are
/// the same before and after.
pub fn around(proc: &Proc, place: &Path) -> Vec<Question> {
    let question = |scope| Question::IndependentIterations { side: Side::After, scope };
    scopes(proc, place).into_iter().map(question).collect()
}

/// The `par` loops at or above a place, innermost first.
pub fn scopes(proc: &Proc, place: &Path) -> Vec<Path> {
    let mut found = Vec::new();
    let mut at = Some(place.clone());
    while let Some(scope) = at {
        if let Some(StmtKind::For { mode: LoopMode::Par, .. }) = path::stmt(proc, &scope).map(|stmt| &stmt.kind) {
            found.push(scope.clone());
        }
        at = scope.parent();
    }
    found
}
