//! What the project's own pack shows: its modules, claims, tests and kernels, without running C and without writing.

use exo_compiler::pipeline::{CheckReport, Compilation, TestOutcome, TestResult, Waiver};
use exo_compiler::source::ModuleId;

use crate::commands::composition::{self, Form};
use crate::commands::ready::Ready;
use crate::evaluation::{has_errors, refused, with_compiler};
use crate::failure::{Outcome, count};
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) struct Examination {
    pub(super) sources: Vec<ModuleId>,
    pub(super) report: CheckReport,
    pub(super) claims: Vec<String>,
    /// Tests that passed.
    pub(super) tests: usize,
    /// Tests, or parts of them, that need C.
    pub(super) left_out: usize,
    /// Pairs of a kernel and a target that were composed.
    pub(super) kernels: usize,
    /// Checks that modules, tests or kernels leave out, in code of this pack or of one that may, each once.
    pub(super) waived: Vec<Waiver>,
}

impl Examination {
    fn add_waived(&mut self, waived: impl IntoIterator<Item = Waiver>) {
        for waiver in waived {
            if !self.waived.contains(&waiver) {
                self.waived.push(waiver);
            }
        }
    }
}

/// Evaluates and checks the pack, proves its claims, and composes its kernels.
///
/// # Errors
/// The pack is refused: a definition, a test, a kernel.
pub(super) fn examine(settings: &Settings, terminal: &Terminal, ready: &Ready) -> Outcome<Examination> {
    let (sources, tests) = ready.world.modules(&ready.id)?;
    terminal
        .status("Checking", &format!("{} {}", ready.project.manifest.pack.name.value, count(sources.len(), "module")));
    let mut found = with_compiler(ready.world.clone(), &settings.limits, None, |compilation| {
        modules_and_tests(compilation, sources, &tests)
    })??;
    kernels(settings, terminal, ready, &mut found)?;
    Ok(found)
}

fn modules_and_tests(
    compilation: &mut Compilation,
    sources: Vec<ModuleId>,
    tests: &[ModuleId],
) -> Outcome<Examination> {
    let report = compilation.check(&sources);
    if has_errors(&report.diagnostics) {
        return Err(refused(report.diagnostics, "this pack was refused"));
    }
    let waived = report.waived.clone();
    let mut found =
        Examination { sources, report, claims: Vec::new(), tests: 0, left_out: 0, kernels: 0, waived: Vec::new() };
    found.add_waived(waived);
    for module in tests {
        for result in compilation.test(module, &|_| true, &mut |_| ()) {
            match result.outcome {
                TestOutcome::Passed => found.tests += 1,
                TestOutcome::Skipped(_) => found.left_out += 1,
                TestOutcome::Failed => {
                    let message = format!("`{}` failed", TestResult::qualified(module, &result.name));
                    return Err(refused(result.diagnostics, &message));
                }
            }
            found.left_out += result.skipped_parts.len();
            found.claims.extend(result.claims);
            found.add_waived(result.waived);
        }
    }
    Ok(found)
}

/// Composes every kernel with each of its targets.
fn kernels(settings: &Settings, terminal: &Terminal, ready: &Ready, found: &mut Examination) -> Outcome<()> {
    if ready.project.manifest.kernels.is_empty() {
        return Ok(());
    }
    let jobs = composition::jobs(settings, ready, &[], &[], Form::default())?;
    let results = composition::build(settings, terminal, ready, &jobs)?;
    for (_, output) in composition::all_built(&jobs, results)? {
        found.kernels += 1;
        found.add_waived(output.waived);
    }
    Ok(())
}
