//! LoopIR as C: one source text and one header for procs that are compiled together.
//!
//! Order: reach (which procs, which names) → prepare (what has no C is refused) → function (C trees) → files.

pub mod c_tree;
pub mod names;
pub mod reach;
pub mod usage;
pub mod liveness;
pub mod assigned;
pub mod intervals;
pub mod problems;
pub mod precision;
pub mod prepare;
pub mod template;
pub mod context;
pub mod unit;
pub mod memory;
pub mod bfloat;
pub mod externs;
pub mod access;
pub mod index;
pub mod literals;
pub mod magnitude;
pub mod wrapping;
pub mod data;
pub mod call;
pub mod checked;
pub mod function;
pub mod foreign_words;
pub mod scope;
pub mod header;
pub mod shadowing;
pub mod source_file;
pub mod harness;
pub mod conformance;
pub mod timing;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::codegen::context::Context;
use crate::codegen::foreign_words::ForeignWords;
use crate::codegen::function::FunctionText;
use crate::codegen::reach::{Function, Reach};
use crate::codegen::unit::Unit;
use crate::diagnostic::{Diagnostic, codes};
use crate::hardware::memory::Hooks;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::procedure::{Proc, Waiver};

/// How C is to be made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name that the source includes, such as `lib.h`.
    pub header_name: String,
    /// Emit the bodies of instructions as functions, and plain arrays for the memories of users.
    pub emulate: bool,
    /// Exported functions check what their callers in C must hold to, and end the program where it does not hold.
    pub checked: bool,
}

/// The two files, and every raw piece of C of user code that went into them, in order of first use.
#[derive(Clone, Debug)]
pub struct Output {
    pub c: String,
    pub header: String,
    pub raw_c: Vec<String>,
    /// Checks that were left out on the way to what the files hold, each once.
    pub waived: Vec<Waiver>,
}

/// Compiles `procs`, which become public functions, with everything that they call.
///
/// # Errors
/// Clashing or impossible exported names, a header that would hide another, precisions that disagree, memories that cannot do what is asked, windows
/// passed as dense tensors, malformed templates. All that are found are reported.
pub fn compile(procs: &[Arc<Proc>], options: &Options, hooks: &dyn Hooks) -> Result<Output, Vec<Diagnostic>> {
    let parts = parts(procs, header::library(&options.header_name), options, hooks)?;
    if let Some(problem) = shadowing::problem(&options.header_name, &[&parts.header, &parts.source]) {
        return Err(vec![problem]);
    }
    Ok(Output {
        c: format!("{}{}", source_file::include(&options.header_name), parts.source),
        header: header::file(&options.header_name, &parts.header),
        raw_c: parts.raw_c,
        waived: parts.waived,
    })
}

/// The C of one proc for a reader: declarations and definitions without include guards.
///
/// # Errors
/// As [`compile`].
pub fn proc_text(proc: &Arc<Proc>, hooks: &dyn Hooks) -> Result<String, Vec<Diagnostic>> {
    let options = Options { header_name: String::new(), emulate: false, checked: false };
    let parts = parts(std::slice::from_ref(proc), &proc.name, &options, hooks)?;
    Ok(format!("{}\n{}", parts.header, parts.source))
}

struct Parts {
    header: String,
    source: String,
    raw_c: Vec<String>,
    waived: Vec<Waiver>,
}

fn waivers(reach: &Reach) -> Vec<Waiver> {
    let mut waived: Vec<Waiver> = Vec::new();
    for waiver in reach.functions.iter().flat_map(|function| function.proc.lineage.waived.iter()) {
        if !waived.contains(waiver) {
            waived.push(waiver.clone());
        }
    }
    waived
}

fn unsettled(function: &str) -> Diagnostic {
    let message = format!(
        "the C that memories and externs give for `{function}` depends on the names of its variables in ways that cannot be followed"
    );
    Diagnostic::error(codes::TEMPLATE, message)
        .hint("write the name as it is given, with a fixed text before or after it: `name + \"_store\"`")
}

fn parts(procs: &[Arc<Proc>], library: &str, options: &Options, hooks: &dyn Hooks) -> Result<Parts, Vec<Diagnostic>> {
    let emulate = options.emulate;
    let reach = Reach::of(procs, emulate)?;
    let mut unit = Unit::new(hooks, emulate, &reach, Context::of(&reach, library, emulate));
    unit.checked = options.checked;
    let emitted: Vec<(&Function, Declarations)> =
        reach.functions.iter().map(|function| (function, Declarations::of(&function.proc))).collect();
    let in_c: Vec<&Proc> =
        reach.functions.iter().map(|function| &*function.proc).filter(|proc| proc.instr.is_none() || emulate).collect();
    unit.context.check(&in_c, &mut unit.errors);
    for (function, declarations) in &emitted {
        if function.proc.instr.is_none() || emulate {
            prepare::check(&function.proc, declarations, &mut unit.errors);
            if !emulate {
                prepare::check_leaf(&function.proc, &mut unit.errors);
            }
        }
    }
    magnitude::check(&reach, emulate, &mut unit.errors);
    if !unit.errors.is_empty() {
        return Err(unit.errors.into_diagnostics());
    }
    unit.foreign = ForeignWords::of(hooks, emulate, &reach, &unit.context);
    if let Some(function) = &unit.foreign.unsettled {
        return Err(vec![unsettled(function)]);
    }
    let mut public = Vec::new();
    let mut forward = Vec::new();
    let mut definitions = Vec::new();
    for (function, declarations) in emitted {
        if let Some(instruction) = function.proc.instr.as_ref().filter(|_| !emulate) {
            definitions.push(source_file::instruction_comment(&function.proc, instruction));
            continue;
        }
        let text: FunctionText = function::lower(&mut unit, function, declarations);
        let declarations = if function.exported { &mut public } else { &mut forward };
        declarations.push(source_file::declaration(function, &text));
        definitions.push(source_file::definition(function, &text));
    }
    // Folding may have dropped the only use of a helper, and compilers warn about static functions without one.
    unit.helpers.retain(|helper| definitions.iter().any(|text| text.contains(helper.name())));
    let sections = source_file::preamble(&mut unit);
    let raw_c = unit.take_raw();
    unit.context.check_text(&raw_c, &mut unit.errors);
    reach.check_text(&raw_c, emulate, &mut unit.errors);
    if !unit.errors.is_empty() {
        return Err(unit.errors.into_diagnostics());
    }
    Ok(Parts {
        header: header::contents(
            &unit.context,
            unit.windows.iter().copied(),
            bfloat::is_used(&reach.functions, &unit.context),
            &public,
        ),
        source: source_file::contents(&sections, &forward, &definitions),
        raw_c,
        waived: waivers(&reach),
    })
}
