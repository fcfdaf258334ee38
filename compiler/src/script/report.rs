//! Evaluating modules for `exo run` and `exo check`, and what is reported of them.

use std::cell::RefCell;

use starlark::environment::FrozenModule;
use starlark::values::structs::StructRef;
use starlark::values::{OwnedFrozenValue, Value};

use crate::checks::{definition, fit, literals};
use crate::contract::{CheckReport, InstructionSummary};
use crate::diagnostic::Diagnostic;
use crate::print;
use crate::script::host::Host;
use crate::script::raw_c::{self, Writer};
use crate::script::testing::digest;
use crate::script::{load, machine, offers};
use crate::source::ModuleId;

/// Evaluates one module for what it prints.
pub(crate) fn run(host: &Host, module: &ModuleId, print: &mut dyn FnMut(&str)) -> Vec<Diagnostic> {
    load::module(host, module, &RefCell::new(print)).err().unwrap_or_default()
}

/// Evaluates modules without printing and reports what they define.
pub(crate) fn check(host: &Host, modules: &[ModuleId]) -> CheckReport {
    let mut report = CheckReport::default();
    for id in modules {
        match load::quiet_module(host, id) {
            Ok(module) => {
                for (name, target) in targets(&module) {
                    report.diagnostics.extend(machine::of(target.value()).err());
                    report.targets.push(name);
                }
            }
            Err(diagnostics) => report.diagnostics.extend(diagnostics),
        }
    }
    report.targets.sort();
    report.targets.dedup();
    describe(host, modules, &mut report);
    report
}

fn describe(host: &Host, modules: &[ModuleId], report: &mut CheckReport) {
    let record = host.record.borrow();
    for (module, proc) in &record.defined {
        if !modules.contains(module) {
            continue;
        }
        report.procs.push((proc.name.to_string(), digest(proc)));
        report.diagnostics.extend(definition::unwritten_reads(proc, &mut host.solver.borrow_mut()));
        report.diagnostics.extend(literals::wrapping(proc));
        report.diagnostics.extend(fit::warnings(proc));
    }
    report.procs.sort();
    report.procs.dedup();
    for (_, proc) in record.instructions.iter().filter(|(module, _)| modules.contains(module)) {
        let Some(instr) = &proc.instr else { continue };
        report.instructions.push(InstructionSummary {
            name: proc.name.to_string(),
            c_template: instr.template.clone(),
            c_global: instr.global.clone(),
            means: print::proc(proc),
        });
    }
    let memories =
        record.writers.iter().filter(|(module, writer, _)| *writer == Writer::Memory && modules.contains(module));
    report.memories = memories.map(|(_, _, name)| name.clone()).collect();
    report.raw_c = raw_c::of(host, modules);
    report.offers = offers::of(host, modules);
    let waived = record.waived.iter().filter(|(module, _)| module.as_ref().is_some_and(|id| modules.contains(id)));
    report.waived = waived.map(|(_, line)| line.clone()).collect();
}

/// The targets that a module exports.
pub(crate) fn targets(module: &FrozenModule) -> Vec<(String, OwnedFrozenValue)> {
    load::exports(module)
        .into_iter()
        .filter_map(|name| {
            let value = module.get(&name).ok()?;
            is_target(value.value()).then_some((name, value))
        })
        .collect()
}

/// Whether a value was made by `target(...)`.
pub(crate) fn is_target(value: Value<'_>) -> bool {
    field(value, "kind").and_then(|kind| kind.unpack_str()) == Some("target")
}

/// A field of a struct.
pub(crate) fn field<'v>(value: Value<'v>, name: &str) -> Option<Value<'v>> {
    let fields = StructRef::from_value(value)?;
    fields.iter().find(|(key, _)| key.as_str() == name).map(|(_, value)| value)
}
