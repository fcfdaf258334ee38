//! Conformance of instructions: the C of each is run against its own body.

use std::sync::Arc;

use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::{OwnedFrozenValue, Value};

use crate::checks;
use crate::codegen::conformance::{OPAQUE_REGISTERS, WRAPPER_SUFFIX, wrapper};
use crate::contract::{TestOutcome, TestResult};
use crate::diagnostic::codes;
use crate::hardware::precision::Precision;
use crate::interpret::assignments::assignments;
use crate::interpret::random::Random;
use crate::loop_ir::Proc;
use crate::script::host::{Host, Record};
use crate::script::load;
use crate::script::report::field;
use crate::script::rounds::Effort;
use crate::script::run_c::{self, Machine, Outcome};
use crate::script::testing_run::result;
use crate::script::values::procedure::ProcedureValue;

/// Assignments of sizes and indices that each instruction is tried with.
const ASSIGNMENTS: usize = 16;

/// Runs every instruction of a target.
pub(crate) fn run(
    host: &Host,
    target: &OwnedFrozenValue,
    filter: &dyn Fn(&str) -> bool,
    on_result: &mut dyn FnMut(TestResult),
) {
    let machine = match Machine::of(target.value()) {
        Ok(machine) => machine,
        Err(wrong) => return on_result(result("conformance".into(), Err(vec![wrong]), Record::default())),
    };
    for instruction in instructions(target.value()) {
        let name = format!("conformance::{}", instruction.name);
        if !filter(&name) {
            continue;
        }
        on_result(match wrapper(&instruction) {
            Ok(wrapper) => run_wrapper(host, name, &wrapper, &machine),
            Err(reason) => skipped(name, reason),
        });
    }
}

pub(crate) fn skipped(name: String, reason: String) -> TestResult {
    TestResult { outcome: TestOutcome::Skipped(reason), ..result(name, Ok(()), Record::default()) }
}

fn run_wrapper(host: &Host, name: String, wrapper: &Arc<Proc>, machine: &Machine) -> TestResult {
    if let Err(diagnostics) = checks::check_proc(wrapper, &mut host.solver.borrow_mut()) {
        return result(name, Err(diagnostics), Record::default());
    }
    let given = assignments(wrapper, ASSIGNMENTS, &mut Random::new(1));
    let outcome = load::quietly(host, |eval| Ok(run_c::run(host, wrapper, machine, &given, Effort::INSTRUCTION, eval)));
    match outcome {
        Err(diagnostics) => result(name, Err(diagnostics), Record::default()),
        Ok(Err(mut refusal)) => {
            for diagnostic in &mut refusal.diagnostics {
                diagnostic.message =
                    diagnostic.message.replace(&format!("`{}`", wrapper.name), &instruction_word(wrapper));
            }
            result(name, Err(refusal.diagnostics), Record::default())
        }
        Ok(Ok(Outcome::Unavailable { reason })) => skipped(name, reason),
        Ok(Ok(Outcome::Agreed { runner })) => {
            result(name, Ok(()), Record { runners: vec![runner], ..Record::default() })
        }
        Ok(Ok(Outcome::Wrong(diagnostic))) if diagnostic.notes.iter().any(|note| note.contains(OPAQUE_REGISTERS)) => {
            skipped(name, OPAQUE_REGISTERS.to_string())
        }
        Ok(Ok(Outcome::Wrong(mut diagnostic))) => {
            diagnostic.code = codes::CONFORMANCE;
            // The author knows the instruction, not the proc around it.
            diagnostic.message = diagnostic.message.replace(&format!("`{}`", wrapper.name), &instruction_word(wrapper));
            if diagnostic.primary.is_none() {
                diagnostic = diagnostic.at(&wrapper.span, "");
            }
            result(name, Err(vec![diagnostic]), Record::default())
        }
    }
}

/// The instruction that a wrapper calls, in backquotes.
fn instruction_word(wrapper: &Proc) -> String {
    format!("`{}`", wrapper.name.strip_suffix(WRAPPER_SUFFIX).unwrap_or(&wrapper.name))
}

/// All instructions that a target names, in its order, each once.
pub(crate) fn instructions(target: Value<'_>) -> Vec<Arc<Proc>> {
    let mut found: Vec<Arc<Proc>> = Vec::new();
    let mut add = |value: Value<'_>| {
        let items = match ListRef::from_value(value) {
            Some(list) => list.content().to_vec(),
            None => vec![value],
        };
        for item in items {
            if let Some(procedure) = ProcedureValue::from_value(item)
                && procedure.0.ir().instr.is_some()
                && !found.iter().any(|known| Arc::ptr_eq(known, procedure.0.ir()))
            {
                found.push(procedure.0.ir().clone());
            }
        }
    };
    for (_, vector) in vector_table(target) {
        if let Some(operations) = field(vector, "operations").and_then(DictRef::from_value) {
            operations.values().for_each(&mut add);
        }
    }
    if let Some(others) = field(target, "all_instructions") {
        add(others);
    }
    found
}

fn vector_table<'v>(target: Value<'v>) -> Vec<(Precision, Value<'v>)> {
    let Some(table) = field(target, "vectors").and_then(DictRef::from_value) else { return Vec::new() };
    table.iter().filter_map(|(word, vector)| Some((Precision::from_word(word.unpack_str()?)?, vector))).collect()
}
