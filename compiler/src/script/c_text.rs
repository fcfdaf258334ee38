//! C as text for host code: `p.c_code_str()` and `compile_procs_to_strings`.

use std::cell::RefCell;
use std::sync::Arc;

use starlark::eval::Evaluator;

use crate::codegen;
use crate::diagnostic::{Refusal, RefusalKind};
use crate::loop_ir::Proc;
use crate::profile::{Phase, during};
use crate::schedule::Procedure;
use crate::script::errors::refused;
use crate::script::hooks::ScriptHooks;
use crate::script::host::Host;

/// The C of one proc without file-level guards.
pub(crate) fn proc_text(procedure: &Procedure, eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<String> {
    let profile = Host::of(eval)?.world.profile();
    let hooks = ScriptHooks { eval: RefCell::new(eval) };
    during(profile.as_ref(), Phase::Codegen, || codegen::proc_text(procedure.ir(), &hooks)).map_err(|diagnostics| {
        refused(Refusal { kind: RefusalKind::Memory, operator: "c_code_str".into(), diagnostics })
    })
}

/// C and header of several procs compiled together.
pub(crate) fn compile(
    procs: &[Arc<Proc>],
    options: &codegen::Options,
    eval: &mut Evaluator<'_, '_, '_>,
) -> Result<codegen::Output, Refusal> {
    let profile = Host::of(eval).ok().and_then(|host| host.world.profile());
    let hooks = ScriptHooks { eval: RefCell::new(eval) };
    during(profile.as_ref(), Phase::Codegen, || codegen::compile(procs, options, &hooks))
        .map_err(|diagnostics| Refusal { kind: RefusalKind::Memory, operator: "compile".into(), diagnostics })
}
