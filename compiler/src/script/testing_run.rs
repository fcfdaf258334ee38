//! Running the tests of a module and the conformance tests of a target.

use starlark::values::OwnedFrozenValue;

use crate::contract::{TestOutcome, TestResult};
use crate::diagnostic::Diagnostic;
use crate::script::host::{Host, Record};
use crate::script::{conformance, load, report};
use crate::source::ModuleId;

/// Runs the functions `test_*` of a module, in the order of their definition.
pub(crate) fn test(
    host: &Host,
    id: &ModuleId,
    filter: &dyn Fn(&str) -> bool,
    on_result: &mut dyn FnMut(&TestResult),
) -> Vec<TestResult> {
    let module = match load::quiet_module(host, id) {
        Ok(module) => module,
        Err(diagnostics) => {
            let result = result(String::new(), Err(diagnostics), Record::default());
            on_result(&result);
            return vec![result];
        }
    };
    let names = module.names().map(|name| name.as_str().to_string());
    let names: Vec<String> = names.filter(|name| name.starts_with("test_")).collect();
    let mut results = Vec::new();
    for name in in_source_order(host, id, names) {
        let Some(function) = module.get(&name).ok().filter(|_| filter(&name)) else { continue };
        let result = run_one(host, id, name, &function);
        on_result(&result);
        results.push(result);
    }
    results
}

/// Test functions in the order of the text; the evaluator keeps names in an order of its own.
fn in_source_order(host: &Host, id: &ModuleId, mut names: Vec<String>) -> Vec<String> {
    if let Some(source) = host.sources.borrow().get(&id.to_string()) {
        names.sort_by_key(|name| source.file.text.find(&format!("def {name}(")).unwrap_or(usize::MAX));
    }
    names
}

fn run_one(host: &Host, id: &ModuleId, name: String, function: &OwnedFrozenValue) -> TestResult {
    let before = std::mem::take(&mut *host.record.borrow_mut());
    *host.testing.borrow_mut() = Some(id.clone());
    let outcome = load::quietly(host, |eval| {
        let function = eval.heap().access_owned_frozen_value(function);
        eval.eval_function(function, &[], &[])?;
        Ok(())
    });
    *host.testing.borrow_mut() = None;
    let left = std::mem::replace(&mut *host.record.borrow_mut(), before);
    result(name, outcome, left)
}

/// A result from the outcome of a run and what it left behind.
pub(crate) fn result(name: String, outcome: Result<(), Vec<Diagnostic>>, left: Record) -> TestResult {
    let diagnostics = outcome.err().unwrap_or_default();
    TestResult {
        name,
        outcome: if diagnostics.is_empty() { TestOutcome::Passed } else { TestOutcome::Failed },
        diagnostics,
        claims: left.claims,
        runners: left.runners,
        skipped_parts: left.skipped,
        proc_digests: left.claimed.into_iter().map(|(_, after)| after).collect(),
        waived: left.waived.into_iter().map(|(_, line)| line).collect(),
    }
}

/// Why an instruction was not run: only a target says how its C is compiled.
const UNLISTED: &str = "no exported target lists it, so its C was not run; add it to `vectors` or `instructions`";

/// Runs every instruction of the targets that a module exports against its own body. Instructions that the module's
/// pack defines and none of those targets lists are named as skipped: their C is as unproven as before.
pub(crate) fn conformance(
    host: &Host,
    id: &ModuleId,
    filter: &dyn Fn(&str) -> bool,
    on_result: &mut dyn FnMut(&TestResult),
) -> Vec<TestResult> {
    let module = match load::quiet_module(host, id) {
        Ok(module) => module,
        Err(diagnostics) => {
            let result = result(String::new(), Err(diagnostics), Record::default());
            on_result(&result);
            return vec![result];
        }
    };
    let mut results = Vec::new();
    let targets = report::targets(&module);
    for (_, target) in &targets {
        conformance::run(host, target, filter, &mut |result| {
            on_result(&result);
            results.push(result);
        });
    }
    let listed: Vec<_> = targets.iter().flat_map(|(_, target)| conformance::instructions(target.value())).collect();
    let made = host.record.borrow().instructions.clone();
    let own = made.iter().filter(|(module, _)| module.pack == id.pack);
    for (_, proc) in own.filter(|(_, proc)| !listed.iter().any(|known| known.name == proc.name)) {
        let name = format!("conformance::{}", proc.name);
        if filter(&name) {
            let result = conformance::skipped(name, UNLISTED.to_string());
            on_result(&result);
            results.push(result);
        }
    }
    results
}
