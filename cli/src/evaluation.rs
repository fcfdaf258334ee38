//! Starts the compiler: on a thread whose stack is large enough for deep programs.

use std::sync::Arc;

use exo_compiler::diagnostic::{Diagnostic, Severity};
use exo_compiler::pipeline::{Compilation, Limits};
use exo_compiler::world::{CRunner, World};

use crate::failure::{Failure, Outcome};

/// Nested host calls are bounded by `Limits::call_depth`; this is what that many of them need, with room to spare.
const STACK_BYTES: usize = 256 << 20;

/// Runs `work` with a compilation of its own. A panic in it continues in the caller.
pub(crate) fn with_compiler<T: Send>(
    world: Arc<dyn World>,
    limits: &Limits,
    runner: Option<Arc<dyn CRunner>>,
    work: impl FnOnce(&mut Compilation) -> T + Send,
) -> Outcome<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("compiler".into())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || work(&mut Compilation::new(world, limits.clone(), runner)))
            .map_err(|error| {
                Failure::environment(format!("cannot start the compiler's thread: {error}"))
                    .hint("it needs 256 MiB of address space; raise the limit (`ulimit -v`)")
            })?;
        thread.join().map_err(|panic| std::panic::resume_unwind(panic))
    })
}

/// True when one of the diagnostics is an error.
pub(crate) fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}

/// The failure that a command ends with when the compiler refused its input.
pub(crate) fn refused(diagnostics: Vec<Diagnostic>, what: &str) -> Box<Failure> {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    Failure::refused(format!("{what}: {}", crate::failure::count(errors, "error"))).diagnostics(diagnostics)
}
