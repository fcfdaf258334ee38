//! Starts the compiler: on a thread whose stack is large enough for deep programs.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use exo_compiler::diagnostic::{Diagnostic, Severity};
use exo_compiler::pipeline::{Compilation, Limits};
use exo_compiler::profile::Profile;
use exo_compiler::source::{ModuleId, SourceFile};
use exo_compiler::world::{CRunner, ImportError, World};

use crate::failure::{Failure, Outcome};
use crate::memory_limit::last_words;
use crate::timings;

/// Nested host calls are bounded by `Limits::call_depth`; this is what that many of them need, with room to spare.
const STACK_BYTES: usize = 256 << 20;

/// Time that one step of evaluation may take to notice that the time is over: it is asked between steps only.
const GRACE: Duration = Duration::from_secs(5);

/// A world whose time is over at some moment.
struct Timed {
    world: Arc<dyn World>,
    until: Option<Instant>,
}

impl World for Timed {
    fn resolve(&self, from: &ModuleId, import: &str) -> Result<ModuleId, ImportError> {
        self.world.resolve(from, import)
    }

    fn source(&self, module: &ModuleId) -> Result<Arc<SourceFile>, ImportError> {
        self.world.source(module)
    }

    fn denies_waivers_of(&self, pack: &str) -> Option<String> {
        self.world.denies_waivers_of(pack)
    }

    fn expired(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() > until) || self.world.expired()
    }

    fn profile(&self) -> Option<Arc<dyn Profile>> {
        timings::profile()
    }
}

/// Ends the process when `work` does not end in time, which a single step (a number of a billion digits, say) can cause.
/// Files of the project are replaced as a whole, so none is left half-written.
fn watch(done: &mpsc::Receiver<()>, limit: Duration) {
    if done.recv_timeout(limit.saturating_add(GRACE)) == Err(RecvTimeoutError::Timeout) {
        crate::memory_limit::end(&last_words!(
            "evaluation exceeded the limit on time",
            "the usual cause is a step that does not end",
            "if the program is right, raise the limit with `--limit seconds=N`"
        ))
    }
}

/// Runs `work` with a compilation of its own. A panic in it continues in the caller.
pub(crate) fn with_compiler<T: Send>(
    world: Arc<dyn World>,
    limits: &Limits,
    runner: Option<Arc<dyn CRunner>>,
    work: impl FnOnce(&mut Compilation) -> T + Send,
) -> Outcome<T> {
    let limit = Duration::from_secs(limits.seconds);
    crate::memory_limit::set_largest_allocation(limits.heap_bytes);
    let world = Arc::new(Timed { world, until: Instant::now().checked_add(limit) });
    // Dropped with the scope, also on a panic; that ends the watching thread.
    let (running, done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let running = running;
        let watching = std::thread::Builder::new().name("watch".into()).spawn_scoped(scope, || {
            let done = done;
            watch(&done, limit);
        });
        watching.map_err(|error| Failure::environment(format!("cannot start a thread: {error}")))?;
        let thread = std::thread::Builder::new()
            .name("compiler".into())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || {
                let start = Instant::now();
                let mut compilation = Compilation::new(world, limits.clone(), runner);
                let result = work(&mut compilation);
                timings::compiled(start.elapsed(), compilation.solver_stats());
                result
            })
            .map_err(|error| {
                Failure::environment(format!("cannot start the compiler's thread: {error}"))
                    .hint("it needs 256 MiB of address space; raise the limit (`ulimit -v`)")
            })?;
        let result = thread.join();
        drop(running);
        result.map_err(|panic| std::panic::resume_unwind(panic))
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
