//! Safety of definitions and of calls: bounds, extents, asserts, aliasing, races.

pub mod claim;
pub mod bounds;
pub mod call;
pub mod fit;
mod precondition;
pub mod literals;
mod strides;
pub mod definition;
mod answer;

use crate::analysis::Solver;
use crate::cursor::Path;
use crate::diagnostic::Diagnostic;
use crate::loop_ir::Proc;

/// Checks a definition: asserts can hold, sizes and extents are positive, loops do not run backwards, every access stays
/// in its buffer and in the window it goes through, calls fit, `par` loops have no races, asserted strides keep written
/// elements apart, and no read surely sees what nothing wrote.
///
/// Callees were checked on their own, with their own asserts; a call has to establish those asserts and nothing more.
pub fn check_proc(proc: &Proc, solver: &mut Solver) -> Result<(), Vec<Diagnostic>> {
    definition::check(proc, solver)
}

/// Checks the call statement at `call`. The one call checker: the front end and every rewrite that builds, moves or
/// changes a call use it.
pub fn check_call(proc: &Proc, call: &Path, solver: &mut Solver) -> Result<(), Vec<Diagnostic>> {
    call::check_at(proc, call, solver)
}

#[cfg(test)]
mod tests;
