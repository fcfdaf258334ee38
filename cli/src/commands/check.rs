//! `exo check`: evaluates and checks this pack, proves its claims, composes its kernels, and writes nothing.

use exo_compiler::pipeline::{CheckReport, Compilation, TestOutcome};
use exo_compiler::source::ModuleId;
use serde_json::json;

use crate::commands::composition::{self, Form};
use crate::commands::ready::{Ready, ready};
use crate::evaluation::{has_errors, refused, with_compiler};
use crate::failure::{Exit, Outcome, count};
use crate::install::verdict::raw_c_digest;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// What the tests of the pack showed without running C.
#[derive(Default)]
struct Proven {
    claims: Vec<String>,
    tests: usize,
    /// Tests, or parts of them, that need C.
    left_out: usize,
}

pub(super) fn run(settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let (sources, tests) = ready.world.modules(&ready.id)?;
    terminal
        .status("Checking", &format!("{} {}", ready.project.manifest.pack.name.value, count(sources.len(), "module")));
    let (report, proven) = with_compiler(ready.world.clone(), &settings.limits, None, |compilation| {
        examine(compilation, &sources, &tests)
    })??;
    terminal.diagnostics(&report.diagnostics);
    let kernels = kernels(settings, terminal, &ready)?;
    let digest = raw_c_digest(&report.raw_c);
    terminal.answer(
        || text(&report, &proven, kernels, sources.len(), digest.as_deref()),
        || {
            json!({
                "procs": report.procs.iter().map(|(name, digest)| json!({"name": name, "digest": digest})).collect::<Vec<_>>(),
                "instructions": report.instructions.iter().map(|instruction| &instruction.name).collect::<Vec<_>>(),
                "memories": report.memories,
                "targets": report.targets,
                "waived": report.waived,
                "claims": proven.claims,
                "tests": proven.tests,
                "kernels": kernels,
                "raw_c": { "pieces": report.raw_c.len(), "digest": digest },
                "modules": sources.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "diagnostics": crate::report::json::diagnostics(&report.diagnostics),
            })
        },
    );
    if proven.left_out > 0 {
        let parts = count(proven.left_out, "part");
        terminal.detail(&format!("{parts} of tests need C and were not run; `exo test` runs them"));
    }
    Ok(Exit::Done)
}

fn examine(compilation: &mut Compilation, sources: &[ModuleId], tests: &[ModuleId]) -> Outcome<(CheckReport, Proven)> {
    let report = compilation.check(sources);
    if has_errors(&report.diagnostics) {
        return Err(refused(report.diagnostics, "this pack was refused"));
    }
    let mut proven = Proven::default();
    for module in tests {
        for result in compilation.test(module, &|_| true, &mut |_| ()) {
            match result.outcome {
                TestOutcome::Passed => proven.tests += 1,
                TestOutcome::Skipped(_) => proven.left_out += 1,
                TestOutcome::Failed => {
                    let message = format!("`{}::{}` failed", module.path, result.name);
                    return Err(refused(result.diagnostics, &message));
                }
            }
            proven.left_out += result.skipped_parts.len();
            proven.claims.extend(result.claims);
        }
    }
    Ok((report, proven))
}

/// Composes every kernel with each of its targets; the number of pairs.
fn kernels(settings: &Settings, terminal: &Terminal, ready: &Ready) -> Outcome<usize> {
    if ready.project.manifest.kernels.is_empty() {
        return Ok(0);
    }
    let jobs = composition::jobs(settings, ready, &[], &[], Form::default())?;
    let results = composition::build(settings, terminal, ready, &jobs)?;
    let built = composition::all_built(&jobs, results)?;
    Ok(built.len())
}

fn text(report: &CheckReport, proven: &Proven, kernels: usize, modules: usize, digest: Option<&str>) -> String {
    let mut text = format!(
        "{} in {}, {}, {}, {}\n{} proven, {} passed, {} composed\n{}, {} of raw C\n",
        count(report.procs.len(), "proc"),
        count(modules, "module"),
        count(report.instructions.len(), "instruction"),
        count(report.memories.len(), "memory").replace("memorys", "memories"),
        count(report.targets.len(), "target"),
        count(proven.claims.len(), "claim"),
        count(proven.tests, "test"),
        count(kernels, "kernel"),
        count(report.waived.len(), "waived check"),
        count(report.raw_c.len(), "piece"),
    );
    for waived in &report.waived {
        text.push_str(&format!("  waived: {waived}\n"));
    }
    if let Some(digest) = digest {
        text.push_str(&format!("  raw C digest: blake3:{digest}\n"));
    }
    text
}
