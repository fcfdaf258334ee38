//! Running C for tests: `check_c` compares a proc with the interpreter on a target's runner.

use std::collections::BTreeMap;
use std::sync::Arc;

use starlark::eval::Evaluator;
use starlark::values::Value;

use crate::codegen::{Options, harness};
use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::interpret::draw::Given;
use crate::interpret::frame::ControlValue;
use crate::interpret::{Fault, FaultKind};
use crate::loop_ir::{ArgType, Control, Proc};
use crate::schedule::Procedure;
use crate::script::errors::refused;
use crate::script::host::Host;
use crate::script::rounds::{Effort, NoRound, Plan, Round};
use crate::script::{c_failure, c_text, machine};
use crate::world::{CMachine, CProgram, CRun};

/// Runs of one proc when the test does not name sizes.
const DRAWS: u64 = 3;

/// What came of one proc's runs.
pub(crate) enum Outcome {
    /// All runs agreed, on this runner.
    Agreed { runner: String },
    /// It cannot run here, for this reason.
    Unavailable { reason: String },
    /// C and interpreter differ, or the C does not compile or crashes.
    Wrong(Diagnostic),
}

/// The C side of a target.
pub(crate) struct Machine {
    pub flags: Vec<String>,
    pub runs_on: CMachine,
}

impl Machine {
    /// # Errors
    /// What [`machine::of`] refuses.
    pub(crate) fn of(target: Value<'_>) -> Result<Self, Diagnostic> {
        let (flags, runs_on) = machine::of(target)?;
        Ok(Machine { flags, runs_on })
    }
}

/// `check_c(p, target, sizes = {...})`.
pub(crate) fn check<'v>(
    procedure: &Procedure,
    target: Value<'v>,
    sizes: &BTreeMap<String, Vec<i64>>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<()> {
    let host = Host::of(eval)?;
    let wrong = |diagnostic| refused(Refusal::new(RefusalKind::Argument, "check_c", diagnostic));
    if !crate::script::report::is_target(target) {
        let message = "`check_c` needs a target as its second argument";
        return Err(wrong(Diagnostic::error(codes::ARGUMENT, message)));
    }
    let given =
        combinations(procedure.ir(), sizes).map_err(|message| wrong(Diagnostic::error(codes::ARGUMENT, message)))?;
    let machine = Machine::of(target).map_err(wrong)?;
    let outcome = run(host, procedure.ir(), &machine, &given, Effort::PROC, eval).map_err(refused)?;
    let mut record = host.record.borrow_mut();
    match outcome {
        Outcome::Agreed { runner } => record.runners.push(runner),
        Outcome::Unavailable { reason } => record.skipped.push(format!("C of `{}`: {reason}", procedure.ir().name)),
        Outcome::Wrong(diagnostic) => {
            return Err(refused(Refusal::new(RefusalKind::Unequal, "check_c", diagnostic)));
        }
    }
    Ok(())
}

/// Every combination of the given control arguments; several draws where none are given.
fn combinations(proc: &Proc, sizes: &BTreeMap<String, Vec<i64>>) -> Result<Vec<Given>, String> {
    let mut all: Vec<Given> = vec![Given::new()];
    for (name, values) in sizes {
        let Some(at) = proc.args.iter().position(|arg| arg.name.name() == name) else {
            return Err(format!("`{}` has no control argument `{name}`", proc.name));
        };
        let is_bool = match proc.args.get(at).map(|arg| &arg.ty) {
            Some(ArgType::Control(control)) => *control == Control::Bool,
            Some(ArgType::Data(_)) | None => return Err(format!("`{name}` of `{}` is no control argument", proc.name)),
        };
        let value = |number: &i64| if is_bool { ControlValue::Bool(*number != 0) } else { ControlValue::Int(*number) };
        all = all
            .into_iter()
            .flat_map(|given| {
                values.iter().map(move |number| {
                    let mut given = given.clone();
                    given.insert(at, value(number));
                    given
                })
            })
            .collect();
    }
    match sizes.is_empty() {
        true => Ok((0..DRAWS).map(|_| Given::new()).collect()),
        false => Ok(all),
    }
}

fn wrong_with(sizes: &str, diagnostic: Diagnostic) -> Outcome {
    Outcome::Wrong(match sizes {
        "" => diagnostic,
        sizes => diagnostic.note(format!("with {sizes}")),
    })
}

/// Compiles a proc once and runs it on drawn inputs, at least once for each entry of `given` as far as `effort` allows,
/// all in one program.
pub(crate) fn run(
    host: &Host,
    proc: &Arc<Proc>,
    machine: &Machine,
    given: &[Given],
    effort: Effort,
    eval: &mut Evaluator<'_, '_, '_>,
) -> Result<Outcome, Refusal> {
    let Some(runner) = host.runner.clone() else {
        return Ok(Outcome::Unavailable { reason: "C is not run during verification".to_string() });
    };
    let options = Options { header_name: "kernel.h".to_string(), emulate: false, checked: false };
    let output = c_text::compile(std::slice::from_ref(proc), &options, eval)?;
    let malformed =
        |message: String| Refusal::new(RefusalKind::Argument, "check_c", Diagnostic::error(codes::ARGUMENT, message));
    let mut plan = Plan::new(proc, effort);
    let rounds = match plan.rounds(given) {
        Ok(rounds) => rounds,
        Err(NoRound::NoArguments) => {
            return Err(malformed(format!("no arguments were found that satisfy the asserts of `{}`", proc.name)));
        }
        Err(NoRound::Fault { fault, .. }) if fault.kind == FaultKind::Unsupported => {
            return Err(uncheckable(proc, &fault));
        }
        Err(NoRound::Fault { sizes, fault }) => {
            let message = format!("`{}` goes wrong: {}", proc.name, fault.message);
            let diagnostic = Diagnostic::error(codes::UNEQUAL, message).at(&fault.span, "here");
            return Ok(wrong_with(&sizes, diagnostic));
        }
    };
    let all_inputs: Vec<_> = rounds.iter().map(|round| round.inputs.clone()).collect();
    let main = harness::program(proc, "kernel.h", &all_inputs).map_err(malformed)?;
    let program = CProgram {
        files: vec![
            ("kernel.h".to_string(), output.header),
            ("kernel.c".to_string(), output.c),
            ("main.c".to_string(), main),
        ],
        flags: machine.flags.iter().cloned().chain(["-lm".to_string()]).collect(),
        machine: machine.runs_on.clone(),
    };
    Ok(judge(proc, runner.run(&program), &rounds))
}

/// The refusal for a proc whose values only C knows.
fn uncheckable(proc: &Proc, fault: &Fault) -> Refusal {
    let message = format!("`check_c` cannot check `{}`: {}", proc.name, fault.message);
    let diagnostic = Diagnostic::error(codes::ARGUMENT, message).at(&fault.span, "called here").hint(
        "`check_c` compares C with the interpreter; check a proc without that call, and test the whole from a C program",
    );
    Refusal::new(RefusalKind::Argument, "check_c", diagnostic)
}

fn judge(proc: &Proc, run: CRun, rounds: &[Round]) -> Outcome {
    let wrong = |message: String| Diagnostic::error(codes::UNEQUAL, message);
    match run {
        CRun::Unavailable { reason } => Outcome::Unavailable { reason },
        CRun::CompileFailed { command, stderr } => {
            let diagnostic = wrong(format!("the C of `{}` does not compile", proc.name));
            let remedy = c_failure::remedy(&stderr);
            Outcome::Wrong(remedy.into_iter().fold(diagnostic.note(command).note(stderr), Diagnostic::hint))
        }
        CRun::Ran { runner, exit_code, stdout, stderr } => {
            let stdout = String::from_utf8_lossy(&stdout);
            let mut printed = harness::runs(&stdout);
            for round in rounds {
                match harness::parse(printed.next().unwrap_or_default()) {
                    Ok(buffers) => {
                        if let Some(difference) = harness::first_difference(&round.expected, &buffers) {
                            let message = format!("the C of `{}` computes something else", proc.name);
                            return wrong_with(&round.sizes, wrong(message).note(difference));
                        }
                    }
                    Err(_) if exit_code != 0 => {
                        let message = format!("the C of `{}` ended with code {exit_code} on {runner}", proc.name);
                        return wrong_with(&round.sizes, wrong(message).note(stderr));
                    }
                    Err(problem) => {
                        let message = format!("the C of `{}` goes wrong: {problem}", proc.name);
                        return wrong_with(&round.sizes, wrong(message));
                    }
                }
            }
            match exit_code {
                0 => Outcome::Agreed { runner },
                _ => {
                    let message = format!("the C of `{}` ended with code {exit_code} on {runner}", proc.name);
                    Outcome::Wrong(wrong(message).note(stderr))
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
