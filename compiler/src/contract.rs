//! What is asked of a compilation and what it answers: limits, reports, kernels, tests.

pub use crate::codegen::timing::TimingProtocol;
use crate::diagnostic::Diagnostic;
pub use crate::loop_ir::Waiver;
use crate::source::ModuleId;
use crate::world::CProgram;

/// Bounds of one evaluation. Exceeding one is a diagnostic that names it, never a crash.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Starlark evaluation steps, over all modules of the compilation.
    pub steps: u64,
    pub heap_bytes: usize,
    pub call_depth: usize,
    /// Wall time of the whole compilation in seconds; a safety net, not a verdict.
    pub seconds: u64,
    /// Z3 resource units for one query; deterministic, so that a verdict does not depend on load.
    pub solver_units: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { steps: 200_000_000, heap_bytes: 4 << 30, call_depth: 1000, seconds: 600, solver_units: 5_000_000 }
    }
}

/// One instruction that a module defines.
#[derive(Clone, Debug)]
pub struct InstructionSummary {
    pub name: String,
    pub c_template: String,
    pub c_global: String,
    /// What it is trusted to do: signature, asserts and body as object code.
    pub means: String,
}

/// What `exo check` and verification report of a pack's modules.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    pub diagnostics: Vec<Diagnostic>,
    /// Names of all checked procs with the digest (hex) of their printed text, sorted.
    pub procs: Vec<(String, String)>,
    pub instructions: Vec<InstructionSummary>,
    pub memories: Vec<String>,
    pub targets: Vec<String>,
    /// Obligations that were waived while the modules were evaluated.
    pub waived: Vec<Waiver>,
    /// Every piece of raw C in the modules (templates, globals, and the source of C-producing functions), in order.
    pub raw_c: Vec<String>,
    /// What the modules offer to others, one line each: see `script/offers.rs`.
    pub offers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestOutcome {
    Passed,
    Failed,
    /// The whole test could not run here, for this reason.
    Skipped(String),
}

/// One test function, or one instruction of a target pack's conformance test.
#[derive(Clone, Debug)]
pub struct TestResult {
    /// Empty where the module could not be evaluated, so that none of its tests was found.
    pub name: String,
    pub outcome: TestOutcome,
    pub diagnostics: Vec<Diagnostic>,
    /// Claims proven while it ran: `algorithm -> schedule`.
    pub claims: Vec<String>,
    /// How C was run, where it was (`native`, `qemu-aarch64`).
    pub runners: Vec<String>,
    /// Parts that could not run here, with the reason.
    pub skipped_parts: Vec<String>,
    /// Digest (hex) of every proc that a claim produced.
    pub proc_digests: Vec<String>,
    pub waived: Vec<Waiver>,
}

impl TestResult {
    /// A name with that of its module: `tests.basic::test_sizes`.
    pub fn qualified(module: &ModuleId, name: &str) -> String {
        if name.is_empty() { module.path.to_string() } else { format!("{}::{name}", module.path) }
    }
}

/// A value that a kernel entry passes to its schedule.
#[derive(Clone, Debug)]
pub enum KernelArgument {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    List(Vec<KernelArgument>),
}

/// One kernel for one target. References are resolved: module and name.
#[derive(Clone, Debug)]
pub struct KernelRequest {
    /// C symbol and file stem.
    pub name: String,
    pub algorithm: (ModuleId, String),
    /// `None` compiles the algorithm as it stands.
    pub schedule: Option<(ModuleId, String)>,
    pub target: (ModuleId, String),
    pub args: Vec<(String, KernelArgument)>,
    /// Emit instruction bodies as C functions and plain arrays for memories.
    pub emulate: bool,
    /// Check at run time what callers in C must hold to.
    pub checked: bool,
}

/// One step of a schedule: the operator, its arguments as printed, the host line, and the proc after it.
#[derive(Clone, Debug)]
pub struct TraceStep {
    pub operator: String,
    pub arguments: String,
    pub place: String,
    pub proc: String,
}

#[derive(Clone, Debug)]
pub struct KernelOutput {
    pub c: String,
    pub header: String,
    /// The algorithm before any step, printed.
    pub algorithm: String,
    pub trace: Vec<TraceStep>,
    pub waived: Vec<Waiver>,
    /// The kernel equals its algorithm only up to a change of precision.
    pub up_to_precision: bool,
    /// Configuration fields, as `Config.field`, that the kernel may leave different from its algorithm.
    pub up_to_config: Vec<String>,
    /// Every raw piece of C that went into the output.
    pub raw_c: Vec<String>,
    /// All modules that were evaluated, sorted; the depfile.
    pub modules: Vec<ModuleId>,
    /// C compiler of the target: flags and GNU triple.
    pub cc_flags: Vec<String>,
    pub cc_triple: String,
    pub cc_features: Vec<String>,
    /// `gcc` or `clang` where the target needs that one; empty for any.
    pub cc_compiler: String,
}

/// What times a kernel beside its algorithm.
#[derive(Clone, Debug)]
pub enum Timing {
    Program(CProgram),
    /// It cannot be timed, for this reason.
    Unsupported(String),
}

/// C and header text of procs that were compiled together.
#[derive(Clone, Debug)]
pub struct COutput {
    pub c: String,
    pub header: String,
    pub waived: Vec<Waiver>,
    pub modules: Vec<ModuleId>,
}

/// A function of the prelude for `exo help NAME`.
#[derive(Clone, Debug)]
pub struct FunctionHelp {
    pub name: String,
    pub signature: String,
    /// One line.
    pub summary: String,
    /// What its arguments mean and what comes of it.
    pub text: String,
}

/// The manual page of one scheduling operator or prelude function.
#[derive(Clone, Debug)]
pub struct OperatorHelp {
    pub name: String,
    pub signature: String,
    /// One line.
    pub summary: String,
    /// What it does, what must hold, where cursors go.
    pub text: String,
    /// Name and meaning of the cursors that `rc = True` returns, in order.
    pub results: Vec<(String, String)>,
    /// A module that shows it.
    pub example: String,
    /// What the example prints.
    pub prints: String,
}
