//! A kernel and its algorithm as one program that times both.

use std::sync::Arc;

use crate::codegen::context::Context;
use crate::codegen::timing::{Given, Side, program};
use crate::codegen::{Options, header};
use crate::contract::{KernelRequest, Timing, TimingProtocol};
use crate::diagnostic::{Diagnostic, codes};
use crate::interpret::frame::{Binding, ControlValue, Frame, View, dense_strides};
use crate::loop_ir::{ArgType, Control, Proc};
use crate::schedule::Procedure;
use crate::schedule::argument::RawValue;
use crate::script::errors::{failed, refused};
use crate::script::host::Host;
use crate::script::{build, c_text, machine};
use crate::world::CProgram;

/// Elements of all buffers of one function together: more would not fit where the program keeps them.
const LARGEST: i64 = 1 << 27;

const KERNEL_HEADER: &str = "kernel.h";
const ALGORITHM_HEADER: &str = "algorithm.h";

/// A size of the user's, by the name of the argument.
type Sizes = [(String, i64)];

/// The program for one kernel on one set of sizes.
pub(crate) fn timing(
    host: &Host,
    request: &KernelRequest,
    sizes: &Sizes,
    protocol: &TimingProtocol,
) -> Result<Timing, Vec<Diagnostic>> {
    build::composed(host, request, |start, scheduled, target, eval| {
        let kernel = renamed(host, scheduled, &request.name)?;
        let algorithm = renamed(host, start.clone(), &format!("{}_algorithm", request.name))?;
        known(start.ir(), request, sizes).map_err(|diagnostic| failed(vec![diagnostic]))?;
        let given = |procedure: &Procedure| {
            arguments(procedure.ir(), request, sizes).map_err(|diagnostic| failed(vec![diagnostic]))
        };
        let sides = [
            Side { proc: kernel.ir(), header: KERNEL_HEADER, given: given(&kernel)? },
            Side { proc: algorithm.ir(), header: ALGORITHM_HEADER, given: given(&algorithm)? },
        ];
        let (flags, machine) = machine::of(target).map_err(|wrong| failed(vec![wrong]))?;
        let mut files = Vec::new();
        for side in &sides {
            if Context::of_proc(side.proc, header::library(side.header)).type_name() != "void" {
                return Ok(Timing::Unsupported("it reads or writes configuration state".to_string()));
            }
            let options = Options { header_name: side.header.to_string(), emulate: false, checked: false };
            let output = c_text::compile(std::slice::from_ref(side.proc), &options, eval).map_err(refused)?;
            files.push((side.header.to_string(), output.header));
            files.push((side.header.replace(".h", ".c"), output.c));
        }
        files.push(("main.c".to_string(), program(&sides, protocol)));
        // A target that says nothing of it would be timed without optimisation.
        let flags = std::iter::once("-O2".to_string()).chain(flags).collect();
        Ok(Timing::Program(CProgram { files, flags, machine }))
    })
}

fn renamed(host: &Host, procedure: Procedure, name: &str) -> starlark::Result<Procedure> {
    match *procedure.ir().name == *name {
        true => Ok(procedure),
        false => host.apply_named("rename", &procedure, vec![RawValue::Text(name.to_string())], Vec::new()),
    }
}

/// # Errors
/// A size that is no control argument of the algorithm.
#[allow(clippy::result_large_err, reason = "made once for a kernel")]
fn known(proc: &Proc, request: &KernelRequest, sizes: &Sizes) -> Result<(), Diagnostic> {
    let names: Vec<&str> = controls(proc).collect();
    match sizes.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some((name, _)) => {
            let message = format!("kernel `{}` has no size `{name}`", request.name);
            Err(Diagnostic::error(codes::KERNEL, message).hint(match names.is_empty() {
                true => "it takes none".to_string(),
                false => format!("it takes `{}`", names.join("`, `")),
            }))
        }
    }
}

fn controls(proc: &Proc) -> impl Iterator<Item = &str> {
    proc.args.iter().filter(|arg| matches!(arg.ty, ArgType::Control(_))).map(|arg| arg.name.name())
}

/// What each argument is called with.
///
/// # Errors
/// Sizes that are missing, that break an assert, or whose buffers are too large.
#[allow(clippy::result_large_err, reason = "made once for a kernel")]
fn arguments(proc: &Arc<Proc>, request: &KernelRequest, sizes: &Sizes) -> Result<Vec<Given>, Diagnostic> {
    let size = |name: &str| sizes.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let missing: Vec<&str> = controls(proc).filter(|name| size(name).is_none()).collect();
    if !missing.is_empty() {
        let message =
            format!("kernel `{}` is timed on sizes, and none is given for `{}`", request.name, missing.join("`, `"));
        let values: Vec<String> = missing.iter().map(|name| format!("{name} = 1024")).collect();
        let options: Vec<String> = missing.iter().map(|name| format!("--size {name}=1024")).collect();
        return Err(Diagnostic::error(codes::KERNEL, message).hint(format!(
            "add `bench = [{{ {} }}]` to its [[kernel]], or pass {}",
            values.join(", "),
            options.join(" ")
        )));
    }
    let mut frame = Frame::default();
    let mut given = vec![None; proc.args.len()];
    for (slot, arg) in given.iter_mut().zip(&proc.args) {
        let ArgType::Control(control) = &arg.ty else { continue };
        let number = size(arg.name.name()).unwrap_or_default();
        if *control == Control::Size && number < 1 {
            let message =
                format!("kernel `{}` cannot be timed with {} = {number}: a size is positive", request.name, arg.name);
            return Err(Diagnostic::error(codes::KERNEL, message));
        }
        let value = match control {
            Control::Bool => ControlValue::Bool(number != 0),
            Control::Size | Control::Index | Control::Int | Control::Stride => ControlValue::Int(number),
        };
        frame.bind(&arg.name, Binding::Control(value));
        *slot = Some(Given::Control(value));
    }
    let mut elements = 0i64;
    for (slot, arg) in given.iter_mut().zip(&proc.args) {
        let ArgType::Data(ty) = &arg.ty else { continue };
        let extents = ty.shape.iter().map(|extent| frame.int(extent)).collect::<Result<Vec<i64>, _>>();
        let extents =
            extents.map_err(|fault| Diagnostic::error(codes::KERNEL, fault.message.clone()).at(&fault.span, "here"))?;
        elements = elements.saturating_add(extents.iter().copied().fold(1, i64::saturating_mul));
        let view = View { buffer: 0, offset: 0, strides: dense_strides(&extents), extents: extents.clone() };
        frame.bind(&arg.name, Binding::View(view));
        *slot = Some(Given::Data(extents));
    }
    let with = described(proc, sizes);
    if elements > LARGEST {
        let message =
            format!("kernel `{}` with {with} has {elements} elements, and at most {LARGEST} are timed", request.name);
        return Err(Diagnostic::error(codes::KERNEL, message).hint("take smaller sizes"));
    }
    if let Some(broken) = proc.preds.iter().find(|pred| !matches!(frame.boolean(pred), Ok(true))) {
        let message = format!("kernel `{}` cannot be timed with {with}: an assert does not hold", request.name);
        return Err(Diagnostic::error(codes::KERNEL, message)
            .at(&broken.span, "this one")
            .note("windows are timed without gaps between their rows"));
    }
    Ok(given.into_iter().flatten().collect())
}

/// Such as `n = 4, m = 8`, as far as the proc takes them.
fn described(proc: &Proc, sizes: &Sizes) -> String {
    let known = sizes.iter().filter(|(name, _)| controls(proc).any(|control| control == name));
    known.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}
