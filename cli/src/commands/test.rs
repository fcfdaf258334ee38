//! `exo test [FILTER]`: the tests of this pack, and for targets each instruction's C against its body.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use exo_compiler::pipeline::{TestOutcome, TestResult};
use exo_compiler::source::ModuleId;
use exo_index::manifest::PackKind;
use serde_json::json;

use crate::arguments::Test;
use crate::c_toolchain::CToolchain;
use crate::commands::ready::{Ready, ready};
use crate::evaluation::with_compiler;
use crate::failure::{Exit, Failure, Outcome, count};
use crate::settings::Settings;
use crate::terminal::{Progress, Terminal};

/// One module's worth of work.
enum Work {
    Tests(ModuleId),
    Conformance(ModuleId),
}

impl Work {
    fn title(&self) -> String {
        match self {
            Work::Tests(module) => module.path.to_string(),
            Work::Conformance(_) => "instructions".to_string(),
        }
    }

    /// The name of a test as it is shown and as filters see it.
    fn qualified(&self, name: &str) -> String {
        match self {
            Work::Tests(module) => format!("{}::{name}", module.path),
            Work::Conformance(_) => name.to_string(),
        }
    }
}

pub(super) fn run(arguments: &Test, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let (sources, tests) = ready.world.modules(&ready.id)?;
    let mut work: Vec<Work> = tests.into_iter().map(Work::Tests).collect();
    if ready.project.manifest.pack.kind == PackKind::Target {
        work.extend(sources.into_iter().filter(|module| &*module.path == "lib").map(Work::Conformance));
    }
    if work.is_empty() {
        terminal.warning("this pack has no tests; put modules with `test_…` functions into tests/");
    }
    let runner = Arc::new(CToolchain::new(&settings.environment));
    let results = run_all(arguments, settings, terminal, &ready, &work, &runner)?;
    let all: Vec<(String, &TestResult)> = work
        .iter()
        .zip(&results)
        .flat_map(|(work, results)| results.iter().map(|result| (work.qualified(&result.name), result)))
        .collect();
    terminal.answer(
        || text(&all),
        || json!({ "tests": all.iter().map(|(name, result)| one_json(name, result)).collect::<Vec<_>>() }),
    );
    let failed = all.iter().filter(|(_, result)| result.outcome == TestOutcome::Failed).count();
    if all.is_empty() && arguments.filter.is_some() {
        return Err(Failure::usage(format!(
            "no test has `{}` in its name",
            arguments.filter.as_deref().unwrap_or_default()
        ))
        .hint("names look like `tests.basic::test_some_sizes`; `exo test` runs all"));
    }
    if failed == 0 {
        return missing_compiler(&all, &runner);
    }
    if terminal.is_json() {
        // The document on stdout already says everything; a second one would not be JSON any more.
        return Ok(Exit::Refused);
    }
    Err(Failure::refused(format!("{} failed", count(failed, "test"))))
}

/// Tests that wanted C on a machine without any C compiler have shown nothing, which must not look like success.
fn missing_compiler(all: &[(String, &TestResult)], runner: &CToolchain) -> Outcome<Exit> {
    let skipped =
        |result: &TestResult| matches!(result.outcome, TestOutcome::Skipped(_)) || !result.skipped_parts.is_empty();
    let skipped = all.iter().filter(|(_, result)| skipped(result)).count();
    match runner.toolchain("", &[]) {
        Err(reason) if skipped > 0 => {
            Err(Failure::environment(reason).note(format!("{} could not run all of its parts", count(skipped, "test"))))
        }
        _ => Ok(Exit::Done),
    }
}

/// Runs the modules, several at a time. Failures are shown as they come, results are in the order of the modules.
fn run_all(
    arguments: &Test,
    settings: &Settings,
    terminal: &Terminal,
    ready: &Ready,
    work: &[Work],
    runner: &Arc<CToolchain>,
) -> Outcome<Vec<Vec<TestResult>>> {
    let progress = terminal.progress("Testing", work.len());
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Vec<TestResult>)>> = Mutex::new(Vec::new());
    let worker = || -> Outcome<()> {
        loop {
            let index = next.fetch_add(1, Ordering::SeqCst);
            let Some(work) = work.get(index) else { return Ok(()) };
            let found = run_one(arguments, settings, ready, work, runner.clone(), &progress)?;
            progress.step(&work.title());
            if let Ok(mut results) = results.lock() {
                results.push((index, found));
            }
        }
    };
    let ended: Vec<Outcome<()>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..settings.jobs.min(work.len())).map(|_| scope.spawn(worker)).collect();
        let mut ended = vec![worker()];
        for other in others {
            ended.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        ended
    });
    ended.into_iter().collect::<Outcome<Vec<()>>>()?;
    drop(progress);
    let mut results = results.into_inner().map_err(|_| Failure::bug("a test thread died"))?;
    results.sort_by_key(|(index, _)| *index);
    let results: Vec<Vec<TestResult>> = results.into_iter().map(|(_, found)| found).collect();
    if !terminal.is_json() {
        for result in results.iter().flatten().filter(|result| result.outcome == TestOutcome::Failed) {
            terminal.diagnostics(&result.diagnostics);
        }
    }
    Ok(results)
}

fn run_one(
    arguments: &Test,
    settings: &Settings,
    ready: &Ready,
    work: &Work,
    runner: Arc<CToolchain>,
    progress: &Progress,
) -> Outcome<Vec<TestResult>> {
    let passes = |name: &str| arguments.filter.as_ref().is_none_or(|text| work.qualified(name).contains(text));
    let mut seen = |result: &TestResult| progress.message(&work.qualified(&result.name));
    with_compiler(ready.world.clone(), &settings.limits, Some(runner), |compilation| match work {
        Work::Tests(module) => compilation.test(module, &passes, &mut seen),
        Work::Conformance(module) => compilation.conformance(module, &passes, &mut seen),
    })
}

fn text(all: &[(String, &TestResult)]) -> String {
    let mut text = String::new();
    let (mut passed, mut failed, mut skipped, mut claims) = (0, 0, 0, 0);
    for (name, result) in all {
        let word = match &result.outcome {
            TestOutcome::Passed => {
                passed += 1;
                "ok".to_string()
            }
            TestOutcome::Failed => {
                failed += 1;
                "FAILED".to_string()
            }
            TestOutcome::Skipped(reason) => {
                skipped += 1;
                format!("skipped: {reason}")
            }
        };
        claims += result.claims.len();
        let runners =
            if result.runners.is_empty() { String::new() } else { format!(" ({})", result.runners.join(", ")) };
        text.push_str(&format!("{name} ... {word}{runners}\n"));
        for part in &result.skipped_parts {
            text.push_str(&format!("    skipped: {part}\n"));
        }
        for waived in &result.waived {
            text.push_str(&format!("    waived: {waived}\n"));
        }
    }
    text.push_str(&format!(
        "\n{passed} passed, {failed} failed, {skipped} skipped, {} proven\n",
        count(claims, "claim")
    ));
    text
}

fn one_json(name: &str, result: &TestResult) -> serde_json::Value {
    let (outcome, reason) = match &result.outcome {
        TestOutcome::Passed => ("passed", None),
        TestOutcome::Failed => ("failed", None),
        TestOutcome::Skipped(reason) => ("skipped", Some(reason)),
    };
    json!({
        "name": name, "outcome": outcome, "reason": reason,
        "claims": result.claims, "runners": result.runners, "skipped_parts": result.skipped_parts,
        "waived": result.waived, "diagnostics": crate::report::json::diagnostics(&result.diagnostics),
    })
}
