//! Propose, discharge, commit: the only place where a new version of a procedure is made.

use crate::analysis::solver::Solver;
use crate::diagnostic::Refusal;
use crate::schedule::argument::RawValue;
use crate::schedule::operator::Operator;
use crate::schedule::procedure::Procedure;

/// Arguments of one call as the script wrote them.
#[derive(Clone, Debug, Default)]
pub struct RawArguments {
    pub positional: Vec<RawValue>,
    pub named: Vec<(String, RawValue)>,
}

/// Applies an operator: the new version, or a refusal that leaves everything as it was.
pub fn apply(
    operator: &'static dyn Operator,
    procedure: &Procedure,
    arguments: RawArguments,
    solver: &mut Solver,
) -> Result<Procedure, Refusal> {
    let _ = (operator, procedure, arguments, solver);
    unreachable!("written by the schedule helper")
}
