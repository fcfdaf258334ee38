//! `exo test [FILTER]`: the tests of this pack, and for targets each instruction's C against its body.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use exo_compiler::pipeline::{TestOutcome, TestResult};
use exo_compiler::source::ModuleId;
use exo_compiler::world::CMachine;
use exo_index::manifest::PackKind;
use serde_json::json;

use crate::arguments::Test;
use crate::c_toolchain::CToolchain;
use crate::commands::ready::{Ready, ready};
use crate::evaluation::with_compiler;
use crate::failure::{Exit, Failure, Outcome, count};
use crate::settings::Settings;
use crate::terminal::{Progress, Terminal};

/// What one worker does at a time.
enum Work {
    /// The tests of one module.
    Tests(ModuleId),
    /// Every `parts`-th instruction of the target, from the `part`-th on: each needs a C compiler and a run.
    Conformance { module: ModuleId, part: usize, parts: usize },
}

impl Work {
    fn title(&self) -> String {
        match self {
            Work::Tests(module) => module.path.to_string(),
            Work::Conformance { .. } => "instructions".to_string(),
        }
    }

    /// Whether the `at`-th test that passes the user's filter is part of this piece of work.
    fn takes(&self, at: usize) -> bool {
        match self {
            Work::Tests(_) => true,
            Work::Conformance { part, parts, .. } => at % parts == *part,
        }
    }

    /// Where the `at`-th result of this piece, which is the `index`-th, stands among all.
    fn place(&self, index: usize, at: usize) -> (usize, usize) {
        match self {
            Work::Tests(_) => (index, at),
            Work::Conformance { part, parts, .. } => (index - part, at * parts + part),
        }
    }

    /// The name of a test as it is shown and as filters see it.
    fn qualified(&self, name: &str) -> String {
        match self {
            Work::Tests(module) => TestResult::qualified(module, name),
            Work::Conformance { module, .. } if name.is_empty() => TestResult::qualified(module, name),
            Work::Conformance { .. } => name.to_string(),
        }
    }
}

pub(super) fn run(arguments: &Test, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let (sources, tests) = ready.world.modules(&ready.id)?;
    let mut work: Vec<Work> = tests.into_iter().map(Work::Tests).collect();
    if ready.project.manifest.pack.kind == PackKind::Target {
        let parts = settings.jobs;
        for module in sources.into_iter().filter(|module| &*module.path == "lib") {
            work.extend((0..parts).map(|part| Work::Conformance { module: module.clone(), part, parts }));
        }
    }
    if work.is_empty() {
        terminal.warning("this pack has no tests; put modules with `test_…` functions into tests/");
    }
    let runner = Arc::new(CToolchain::new(&settings.environment));
    let results = run_all(arguments, settings, terminal, &ready, &work, &runner)?;
    let all: Vec<(String, &TestResult)> =
        results.iter().map(|(work, result)| (work.qualified(&result.name), result)).collect();
    if let (true, Some(filter)) = (all.is_empty(), &arguments.filter) {
        return Err(Failure::refused(format!("no test has `{filter}` in its name"))
            .hint("names look like `tests.basic::test_some_sizes`; `exo test` runs all"));
    }
    terminal.answer(
        || text(&all),
        || json!({ "tests": all.iter().map(|(name, result)| one_json(name, result)).collect::<Vec<_>>() }),
    );
    let failed = all.iter().filter(|(_, result)| result.outcome == TestOutcome::Failed).count();
    let missing = missing_compiler(&all, &runner);
    if terminal.is_json() {
        // The document on stdout says everything already; a second one would not be JSON any more.
        return Ok(match (failed, missing) {
            (0, None) => Exit::Done,
            (0, Some(_)) => Exit::Environment,
            _ => Exit::Refused,
        });
    }
    match (failed, missing) {
        (0, None) => Ok(Exit::Done),
        (0, Some(failure)) => Err(failure),
        _ => Err(Failure::refused(format!("{} failed", count(failed, "test")))),
    }
}

/// Tests that wanted C on a machine without any C compiler have shown nothing, which must not look like success.
fn missing_compiler(all: &[(String, &TestResult)], runner: &CToolchain) -> Option<Box<Failure>> {
    let skipped =
        |result: &TestResult| matches!(result.outcome, TestOutcome::Skipped(_)) || !result.skipped_parts.is_empty();
    let skipped = all.iter().filter(|(_, result)| skipped(result)).count();
    let reason = runner.toolchain(&CMachine::default()).err().filter(|_| skipped > 0)?;
    Some(Failure::environment(reason).note(format!("{} could not run all of its parts", count(skipped, "test"))))
}

/// A result with the positions of its part and of itself, which order the report.
type Finished<'a> = ((usize, usize), &'a Work, TestResult);

/// Does the work, several pieces at a time; the order of the results does not depend on which ended first.
fn run_all<'a>(
    arguments: &Test,
    settings: &Settings,
    terminal: &Terminal,
    ready: &Ready,
    work: &'a [Work],
    runner: &Arc<CToolchain>,
) -> Outcome<Vec<(&'a Work, TestResult)>> {
    let progress = terminal.progress("Testing", work.len());
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::<Finished>::new());
    let worker = || -> Outcome<()> {
        loop {
            let index = next.fetch_add(1, Ordering::SeqCst);
            let Some(work) = work.get(index) else { return Ok(()) };
            let found = run_one(arguments, settings, ready, work, runner.clone(), &progress)?;
            progress.step(&work.title());
            if let Ok(mut results) = results.lock() {
                results.extend(found.into_iter().enumerate().map(|(at, result)| (work.place(index, at), work, result)));
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
    results.sort_by_key(|(place, _, _)| *place);
    // A module that cannot be evaluated says so in each part.
    results.dedup_by(|again, first| again.2.name == first.2.name && again.1.title() == first.1.title());
    if !terminal.is_json() {
        for (_, _, result) in results.iter().filter(|(_, _, result)| result.outcome == TestOutcome::Failed) {
            terminal.diagnostics(&result.diagnostics);
        }
    }
    Ok(results.into_iter().map(|(_, work, result)| (work, result)).collect())
}

fn run_one(
    arguments: &Test,
    settings: &Settings,
    ready: &Ready,
    work: &Work,
    runner: Arc<CToolchain>,
    progress: &Progress,
) -> Outcome<Vec<TestResult>> {
    let counted = AtomicUsize::new(0);
    let passes = |name: &str| {
        if arguments.filter.as_ref().is_some_and(|text| !work.qualified(name).contains(text)) {
            return false;
        }
        work.takes(counted.fetch_add(1, Ordering::SeqCst))
    };
    let mut seen = |result: &TestResult| progress.message(&work.qualified(&result.name));
    let limits = &settings.limits;
    with_compiler(ready.world.clone(), limits, Some(runner), |compilation| match work {
        Work::Tests(module) => compilation.test(module, &passes, &mut seen),
        Work::Conformance { module, .. } => compilation.conformance(module, &passes, &mut seen),
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
            text.push_str(&format!("    waived {waived}\n"));
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
        "waived": result.waived.iter().map(ToString::to_string).collect::<Vec<_>>(), "diagnostics": crate::report::json::diagnostics(&result.diagnostics),
    })
}
