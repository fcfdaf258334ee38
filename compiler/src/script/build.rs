//! Composing kernels with targets, and compiling the exported procs of modules.

use std::sync::Arc;

use starlark::environment::FrozenModule;
use starlark::eval::Evaluator;
use starlark::values::list::AllocList;
use starlark::values::{OwnedFrozenValue, Value};

use crate::codegen::Options;
use crate::contract::{COutput, KernelArgument, KernelOutput, KernelRequest, TraceStep};
use crate::diagnostic::{Diagnostic, codes, nearest};
use crate::print;
use crate::schedule::Procedure;
use crate::schedule::argument::RawValue;
use crate::script::errors::{failed, refused};
use crate::script::host::Host;
use crate::script::values::procedure::ProcedureValue;
use crate::script::wording::kind;
use crate::script::{c_text, load, machine, report, testing};
use crate::source::ModuleId;

/// A name of a module that a kernel entry refers to.
fn lookup(
    host: &Host,
    request: &KernelRequest,
    what: &str,
    reference: &(ModuleId, String),
) -> Result<OwnedFrozenValue, Vec<Diagnostic>> {
    let (id, name) = reference;
    let module = load::quiet_module(host, id)?;
    module.get(name).map_err(|_| {
        let message = format!("kernel `{}`: its {what} `{name}` is not defined in `{id}`", request.name);
        let exported = load::exports(&module);
        let near = nearest(name, exported.iter().map(String::as_str));
        let diagnostic = Diagnostic::error(codes::KERNEL, message);
        vec![match near.is_empty() {
            true => diagnostic.hint(format!("`{id}` defines {}", exported.join(", "))),
            false => diagnostic.hint(format!("similar names: {}", near.join(", "))),
        }]
    })
}

fn wrong_kind(request: &KernelRequest, what: &str, name: &str, wanted: &str, got: &str) -> Vec<Diagnostic> {
    let message = format!("kernel `{}`: its {what} `{name}` must be {wanted}, but it is {got}", request.name);
    vec![Diagnostic::error(codes::KERNEL, message)]
}

/// Composes one kernel with one target.
pub(crate) fn kernel(host: &Host, request: &KernelRequest) -> Result<KernelOutput, Vec<Diagnostic>> {
    composed(host, request, |start, scheduled, target, eval| finish(host, request, start, scheduled, target, eval))
}

/// Schedules one kernel for one target and does something with its algorithm, what came of it, and the target.
pub(crate) fn composed<T>(
    host: &Host,
    request: &KernelRequest,
    work: impl FnOnce(&Procedure, Procedure, Value<'_>, &mut Evaluator<'_, '_, '_>) -> starlark::Result<T>,
) -> Result<T, Vec<Diagnostic>> {
    let algorithm = lookup(host, request, "algorithm", &request.algorithm)?;
    let Some(start) = ProcedureValue::from_value(algorithm.value()).map(|value| value.0.clone()) else {
        let got = &kind(algorithm.value().get_type());
        return Err(wrong_kind(request, "algorithm", &request.algorithm.1, "a proc", got));
    };
    let target = lookup(host, request, "target", &request.target)?;
    if !report::is_target(target.value()) {
        let got = &kind(target.value().get_type());
        return Err(wrong_kind(request, "target", &request.target.1, "a target", got));
    }
    let schedule =
        request.schedule.as_ref().map(|reference| lookup(host, request, "schedule", reference)).transpose()?;
    load::quietly(host, |eval| {
        let scheduled = match &schedule {
            Some(schedule) => schedule_kernel(request, &start, [&algorithm, &target, schedule], eval)?,
            None => start.clone(),
        };
        if scheduled.ir().instr.is_some() {
            return Err(no_function(request, &scheduled));
        }
        work(&start, scheduled, target.value(), eval)
    })
}

fn no_function(request: &KernelRequest, scheduled: &Procedure) -> starlark::Error {
    let name = &scheduled.ir().name;
    let message = format!("kernel `{}`: `{name}` is an instruction, of which no function is made", request.name);
    failed(vec![Diagnostic::error(codes::KERNEL, message).hint("compose a proc that calls it")])
}

fn schedule_kernel<'v>(
    request: &KernelRequest,
    start: &Procedure,
    [algorithm, target, schedule]: [&OwnedFrozenValue; 3],
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Procedure> {
    let heap = eval.heap();
    let access = |value: &OwnedFrozenValue| heap.access_owned_frozen_value(value);
    let positional = [access(algorithm), access(target)];
    let named: Vec<(&str, Value<'v>)> =
        request.args.iter().map(|(name, value)| (name.as_str(), argument(value, eval))).collect();
    let host = Host::of(eval)?;
    host.composing.set(true);
    let result = eval.eval_function(access(schedule), &positional, &named);
    host.composing.set(false);
    let result = result?;
    let Some(scheduled) = ProcedureValue::from_value(result) else {
        let got = format!("a function that returned {}", kind(result.get_type()));
        let name = request.schedule.as_ref().map_or("", |(_, name)| name);
        let diagnostics = wrong_kind(request, "schedule", name, "a function that returns a proc", &got);
        return Err(failed(diagnostics));
    };
    testing::derives("build", start, &scheduled.0).map_err(|refusal| failed(refusal.diagnostics))?;
    Ok(scheduled.0.clone())
}

fn argument<'v>(value: &KernelArgument, eval: &Evaluator<'v, '_, '_>) -> Value<'v> {
    let heap = eval.heap();
    match value {
        KernelArgument::Int(number) => heap.alloc(*number),
        KernelArgument::Float(number) => heap.alloc(*number),
        KernelArgument::Bool(flag) => Value::new_bool(*flag),
        KernelArgument::Text(text) => heap.alloc(text.as_str()),
        KernelArgument::List(items) => heap.alloc(AllocList(items.iter().map(|item| argument(item, eval)))),
    }
}

fn finish(
    host: &Host,
    request: &KernelRequest,
    start: &Procedure,
    scheduled: Procedure,
    target: Value<'_>,
    eval: &mut Evaluator<'_, '_, '_>,
) -> starlark::Result<KernelOutput> {
    let trace = trace(&scheduled);
    let named = match *scheduled.ir().name == *request.name {
        true => scheduled,
        false => host.apply_named("rename", &scheduled, vec![RawValue::Text(request.name.clone())], Vec::new())?,
    };
    let options =
        Options { header_name: format!("{}.h", request.name), emulate: request.emulate, checked: request.checked };
    let output = c_text::compile(&[named.ir().clone()], &options, eval).map_err(refused)?;
    let (cc_flags, machine) = machine::of(target).map_err(|wrong| failed(vec![wrong]))?;
    Ok(KernelOutput {
        c: output.c,
        header: output.header,
        algorithm: print::proc(start.ir()),
        trace,
        waived: output.waived,
        up_to_precision: named.ir().lineage.precision_class != start.ir().lineage.precision_class,
        up_to_config: named.ir().lineage.modulo(&start.ir().lineage).iter().map(ToString::to_string).collect(),
        raw_c: output.raw_c,
        modules: evaluated(host),
        cc_flags,
        cc_triple: machine.triple,
        cc_features: machine.features,
        cc_compiler: machine.compiler,
    })
}

/// The steps from the algorithm to a proc, oldest first.
fn trace(procedure: &Procedure) -> Vec<TraceStep> {
    let history = procedure.history();
    history
        .iter()
        .rev()
        .filter_map(|version| {
            let step = version.step()?;
            Some(TraceStep {
                operator: step.operator.to_string(),
                arguments: step.arguments.written(),
                place: step.arguments.place.clone(),
                proc: print::proc(version.ir()),
            })
        })
        .collect()
}

fn evaluated(host: &Host) -> Vec<ModuleId> {
    host.modules.borrow().keys().cloned().collect()
}

/// Compiles the procs that modules export: those of `__all__` in its order, or all by name.
pub(crate) fn compile(
    host: &Host,
    modules: &[ModuleId],
    header_name: &str,
    checked: bool,
) -> Result<COutput, Vec<Diagnostic>> {
    let mut procs: Vec<Procedure> = Vec::new();
    for id in modules {
        for procedure in exported_procs(&load::quiet_module(host, id)?) {
            if !procs.iter().any(|known| Arc::ptr_eq(known.ir(), procedure.ir())) {
                procs.push(procedure);
            }
        }
    }
    if procs.is_empty() {
        let names: Vec<String> = modules.iter().map(|id| format!("`{id}`")).collect();
        let message = format!("{} defines no procs to compile", names.join(" and "));
        return Err(vec![
            Diagnostic::error(codes::EXPORT, message)
                .hint("procs at the top level whose names do not start with an underscore are compiled"),
        ]);
    }
    let options = Options { header_name: header_name.to_string(), emulate: false, checked };
    let irs: Vec<_> = procs.iter().map(|procedure| procedure.ir().clone()).collect();
    let output = load::quietly(host, |eval| c_text::compile(&irs, &options, eval).map_err(refused))?;
    Ok(COutput { c: output.c, header: output.header, waived: output.waived, modules: evaluated(host) })
}

fn exported_procs(module: &FrozenModule) -> Vec<Procedure> {
    load::listed(module)
        .unwrap_or_else(|| load::exports(module))
        .iter()
        .filter_map(|name| module.get(name).ok())
        .filter_map(|value| ProcedureValue::from_value(value.value()).map(|procedure| procedure.0.clone()))
        .filter(|procedure| procedure.ir().instr.is_none())
        .collect()
}
