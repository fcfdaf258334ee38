//! The front end against the interpreter: a definition that is accepted must run without a fault.

use exo_compiler::analysis::Solver;
use exo_compiler::interpret::compare::describe;
use exo_compiler::interpret::random::{Random, mix};
use exo_compiler::interpret::{Comparison, FaultKind, Options, compare};

use super::front::Scope;
use super::program::generate_careless;

/// Totals over many definitions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Definitions {
    pub untyped: u64,
    pub refused: u64,
    /// Refused although no run that was tried goes wrong: what precision costs.
    pub refused_but_clean: u64,
    pub accepted: u64,
}

impl Definitions {
    pub fn add(&mut self, other: &Definitions) {
        self.untyped += other.untyped;
        self.refused += other.refused;
        self.refused_but_clean += other.refused_but_clean;
        self.accepted += other.accepted;
    }
}

/// Checks one random definition. An error is a definition that was accepted and then went wrong.
pub fn definition(
    scope: &Scope,
    seed: u64,
    solver: &mut Solver,
    totals: &mut Definitions,
    refused: &mut dyn FnMut(&str, &str),
) -> Result<(), String> {
    let mut random = Random::new(mix(seed));
    let text = generate_careless(&mut random);
    let Ok(proc) = scope.typed(&text) else {
        totals.untyped += 1;
        return Ok(());
    };
    let verdict = scope.checked(&proc, solver);
    let options = Options { seed, rounds: 8, budget: 100_000, ..Options::default() };
    let outcome = compare(&proc, &proc, &options);
    let clean = match &outcome {
        Comparison::Equal { .. } | Comparison::NoDraw { .. } => true,
        // What was never written is not the front end's to find, and long runs say nothing.
        Comparison::Fault { fault, .. } => matches!(fault.kind, FaultKind::Budget | FaultKind::Uninitialised),
        Comparison::Unequal { .. } | Comparison::BadSizes { .. } | Comparison::Incomparable { .. } => false,
    };
    match verdict {
        Err(message) => {
            totals.refused += 1;
            totals.refused_but_clean += u64::from(clean);
            if clean {
                refused(&text, &message);
            }
            Ok(())
        }
        Ok(()) => {
            totals.accepted += 1;
            if clean {
                return Ok(());
            }
            let problem = match outcome {
                Comparison::Fault { sizes, fault, .. } => format!("with {}: {}", describe(&sizes), fault.message),
                other => format!("{other:?}"),
            };
            Err(format!("seed {seed}: the front end accepts, the interpreter does not: {problem}\n{text}"))
        }
    }
}
