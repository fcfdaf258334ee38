//! What the outside asks of the compiler: run, check, test, build. Read this first.

use std::sync::Arc;

use crate::analysis;
pub use crate::contract::{
    COutput, CheckReport, FunctionHelp, InstructionSummary, KernelArgument, KernelOutput, KernelRequest, Limits,
    OperatorHelp, TestOutcome, TestResult, Timing, TimingProtocol, TraceStep, Waiver,
};
use crate::diagnostic::Diagnostic;
use crate::schedule::registry;
use crate::schedule::results::described;
use crate::script::host::Host;
use crate::script::{build, manual, report, testing_run, timing};
use crate::source::ModuleId;
pub use crate::syntax::outline::{Item, ItemKind, Outline, outline};
use crate::world::{CRunner, World};

/// One compilation: a cache of evaluated modules, one solver, one set of limits.
///
/// Not shared between threads; make one per thread for parallel work. Evaluation is recursive: run it on a thread with a
/// stack of at least 64 MiB.
pub struct Compilation {
    host: Host,
}

impl Compilation {
    pub fn new(world: Arc<dyn World>, limits: Limits, runner: Option<Arc<dyn CRunner>>) -> Self {
        Compilation { host: Host::new(world, limits, runner) }
    }

    /// Evaluates one module; `print` receives each text that it prints, at once. Errors come back as diagnostics.
    pub fn run(&mut self, module: &ModuleId, print: &mut dyn FnMut(&str)) -> Vec<Diagnostic> {
        report::run(&self.host, module, print)
    }

    /// What `arguments()` gives to the modules that are evaluated from here on. Nothing that others verify may depend on it, so only
    /// `exo run` hands something over.
    pub fn set_arguments(&mut self, arguments: Vec<String>) {
        self.host.arguments.replace(arguments);
    }

    /// Evaluates modules and checks every object definition in them; refused definitions are reported together.
    pub fn check(&mut self, modules: &[ModuleId]) -> CheckReport {
        report::check(&self.host, modules)
    }

    /// Runs the test functions of one test module whose name passes `filter`.
    pub fn test(
        &mut self,
        module: &ModuleId,
        filter: &dyn Fn(&str) -> bool,
        on_result: &mut dyn FnMut(&TestResult),
    ) -> Vec<TestResult> {
        testing_run::test(&self.host, module, filter, on_result)
    }

    /// Runs every instruction of the targets that `module` exports against its own body.
    pub fn conformance(
        &mut self,
        module: &ModuleId,
        filter: &dyn Fn(&str) -> bool,
        on_result: &mut dyn FnMut(&TestResult),
    ) -> Vec<TestResult> {
        testing_run::conformance(&self.host, module, filter, on_result)
    }

    /// Composes one kernel with one target into C. The result is proven to derive from the algorithm.
    pub fn kernel(&mut self, request: &KernelRequest) -> Result<KernelOutput, Vec<Diagnostic>> {
        build::kernel(&self.host, request)
    }

    /// A program that times one kernel beside its algorithm, both compiled with the flags of the target, on these sizes.
    pub fn timing(
        &mut self,
        request: &KernelRequest,
        sizes: &[(String, i64)],
        protocol: &TimingProtocol,
    ) -> Result<Timing, Vec<Diagnostic>> {
        timing::timing(&self.host, request, sizes, protocol)
    }

    /// Compiles the exported procs of modules into one C file and header, as `exocc` does. With `checked` the functions
    /// check at run time what callers in C must hold to.
    pub fn compile(
        &mut self,
        modules: &[ModuleId],
        header_name: &str,
        checked: bool,
    ) -> Result<COutput, Vec<Diagnostic>> {
        build::compile(&self.host, modules, header_name, checked)
    }

    /// How the solver was used so far.
    pub fn solver_stats(&self) -> analysis::Stats {
        self.host.solver.borrow().stats()
    }
}

/// Version of the checker's rules; verdicts of different versions are not comparable.
pub fn checker_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Name and version of the solver in use, such as `z3 4.8.12`.
pub fn solver_version() -> String {
    analysis::solver::version()
}

/// Names that host code finds: natives of the prelude that are no operators, and methods of procs and cursors; sorted.
pub fn host_names() -> Vec<String> {
    crate::script::prelude::names()
}

/// The functions that every module finds in scope, by name, operators left out.
pub fn functions() -> Vec<FunctionHelp> {
    manual::functions()
}

/// The manual: every operator, in the order of the reference.
pub fn operators() -> Vec<OperatorHelp> {
    registry::OPERATORS
        .iter()
        .map(|operator| {
            let help = operator.help();
            OperatorHelp {
                name: operator.name().to_string(),
                signature: registry::signature(*operator),
                summary: help.summary.to_string(),
                text: help.text.to_string(),
                results: described(*operator).into_iter().map(|(name, meaning)| (name.to_string(), meaning)).collect(),
                example: help.example.to_string(),
                prints: help.prints.to_string(),
            }
        })
        .collect()
}

#[cfg(test)]
mod mutation;
