//! The child process that verifies one pack: limits itself, evaluates, and answers on stdout.
//!
//! The child is this same binary. It takes its limits before it reads a byte of the pack: CPU time, address space, and no
//! writing to files at all. The parent ends it when the wall time is over.

use std::io::Read;
use std::sync::Arc;

use exo_compiler::diagnostic::Diagnostic;
use exo_compiler::pipeline::{Compilation, Limits, TestOutcome, TestResult};
use exo_compiler::source::ModuleId;
use exo_compiler::world::World;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::disk_world::{DiskWorld, WorldPack};
use crate::evaluation::{has_errors, with_compiler};
use crate::failure::{Exit, Failure, Outcome};
use crate::install::verdict::{Subject, Verdict, digest_of_report};
use crate::report;
use crate::terminal::Terminal;

/// Address space beyond the heap of host code: the solver, object code, the compiler's 256 MiB stack and the binary.
const ADDRESS_SPACE_BEYOND_HEAP: u64 = 4 << 30;

/// CPU seconds beyond the evaluation limit, so that the limit itself speaks first, with a place.
const CPU_BEYOND_LIMIT: u64 = 10;

/// What the parent asks for; one JSON document on stdin.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) subject: Subject,
    /// The pack to verify, which is among `packs`.
    pub(crate) id: String,
    pub(crate) packs: Vec<WorldPack>,
    pub(crate) steps: u64,
    pub(crate) heap_bytes: usize,
    pub(crate) call_depth: usize,
    pub(crate) seconds: u64,
    pub(crate) solver_units: u32,
    /// Lay out diagnostics with colour.
    pub(crate) color: bool,
}

/// What the child answers; one JSON document on stdout.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    Verified(Box<Verdict>),
    Refused {
        /// One phrase: which test or how many errors.
        message: String,
        /// Diagnostics as text and as JSON.
        diagnostics: Vec<(String, serde_json::Value)>,
    },
    /// The pack could not be looked at.
    Failed {
        exit: u8,
        message: String,
        hints: Vec<String>,
    },
}

impl Request {
    fn limits(&self) -> Limits {
        Limits {
            steps: self.steps,
            heap_bytes: self.heap_bytes,
            call_depth: self.call_depth,
            seconds: self.seconds,
            solver_units: self.solver_units,
        }
    }
}

/// The whole child.
pub(crate) fn run(terminal: &Terminal) -> Outcome<Exit> {
    end_with_parent();
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::environment(format!("cannot read the request on stdin: {error}")))?;
    let request: Request = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("stdin is no verification request: {error}")).hint("exo starts this command itself")
    })?;
    limit_resources(&request)?;
    let answer = verify(&request).unwrap_or_else(|failed| Answer::Failed {
        exit: failed.exit.code(),
        message: failed.message.clone(),
        hints: failed.hints.clone(),
    });
    let answer =
        serde_json::to_string(&answer).map_err(|error| Failure::bug(format!("cannot write an answer: {error}")))?;
    terminal.line(&answer);
    Ok(Exit::Done)
}

/// Nobody waits for the answer when the command that asked is gone. Only Linux tells; elsewhere the limits end the child.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

fn limit_resources(request: &Request) -> Outcome<()> {
    let address_space = request.heap_bytes as u64 + ADDRESS_SPACE_BEYOND_HEAP;
    for (resource, name, value) in [
        (Resource::Cpu, "CPU time", request.seconds + CPU_BEYOND_LIMIT),
        (Resource::As, "address space", address_space),
        (Resource::Fsize, "file size", 0),
        (Resource::Core, "core size", 0),
    ] {
        // A limit that is already lower stays.
        let maximum = rustix::process::getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
        setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })
            .map_err(|error| Failure::environment(format!("cannot limit {name} of the verification: {error}")))?;
    }
    Ok(())
}

fn verify(request: &Request) -> Outcome<Answer> {
    let world = Arc::new(DiskWorld::new(request.packs.clone(), Default::default())?);
    let (sources, tests) = world.modules(&request.id)?;
    let limits = request.limits();
    let shared: Arc<dyn World> = world.clone();
    with_compiler(shared, &limits, None, |compilation| examine(request, &world, compilation, &sources, &tests))?
}

/// Names of packs that a test imports although only the pack's own developers have them.
fn dev_imports(request: &Request, world: &DiskWorld, test: &ModuleId) -> Vec<String> {
    let Some(pack) = request.packs.iter().find(|pack| pack.id == request.id) else {
        return Vec::new();
    };
    let Ok(source) = world.source(test) else {
        return Vec::new();
    };
    let imported = source.text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let keyword = words.next()?;
        let module = words.next().filter(|_| keyword == "from" || keyword == "import")?;
        let first = module.split(['.', ',']).next()?;
        let id = pack.dev_dependencies.get(first).filter(|_| !pack.dependencies.contains_key(first))?;
        let missing = !request.packs.iter().any(|other| other.id == *id);
        missing.then(|| first.to_string())
    });
    imported.collect()
}

fn examine(
    request: &Request,
    world: &DiskWorld,
    compilation: &mut Compilation,
    sources: &[ModuleId],
    tests: &[ModuleId],
) -> Outcome<Answer> {
    let report = compilation.check(sources);
    if has_errors(&report.diagnostics) {
        return Ok(refused(request, "its modules were refused".into(), &report.diagnostics));
    }
    let raw_c_digest = digest_of_report(&report);
    let mut verdict = Verdict {
        subject: request.subject.checked_here(),
        claims: Vec::new(),
        tests: 0,
        procs: report.procs,
        claimed_procs: Vec::new(),
        instructions: report.instructions.iter().map(|instruction| instruction.name.clone()).collect(),
        templates: report.instructions.into_iter().map(|shown| (shown.c_template, shown.c_global)).collect(),
        c_modules: c_modules(world, sources, &report.raw_c),
        targets: report.targets,
        waived: report.waived.iter().map(ToString::to_string).collect(),
        raw_c: report.raw_c.len(),
        raw_c_digest,
        offers: report.offers,
        skipped: Vec::new(),
    };
    for test in tests {
        let missing = dev_imports(request, world, test);
        if !missing.is_empty() {
            verdict.skipped.push(format!("{test}: needs the dev-dependency {}", missing.join(", ")));
            continue;
        }
        for result in compilation.test(test, &|_| true, &mut |_| ()) {
            if result.outcome == TestOutcome::Failed {
                return Ok(refused(
                    request,
                    format!("`{}` failed", TestResult::qualified(test, &result.name)),
                    &result.diagnostics,
                ));
            }
            count(&mut verdict, test, result);
        }
    }
    Ok(Answer::Verified(Box::new(verdict)))
}

/// The modules whose whole text counts as raw C.
fn c_modules(world: &DiskWorld, sources: &[ModuleId], raw_c: &[String]) -> Vec<String> {
    let writes_c = |id: &&ModuleId| world.source(id).is_ok_and(|source| raw_c.contains(&source.text));
    sources.iter().filter(writes_c).map(|id| id.path.to_string()).collect()
}

fn count(verdict: &mut Verdict, test: &ModuleId, result: TestResult) {
    let name = TestResult::qualified(test, &result.name);
    match result.outcome {
        TestOutcome::Passed => verdict.tests += 1,
        TestOutcome::Skipped(reason) => verdict.skipped.push(format!("{name}: {reason}")),
        // Ends the verification before it gets here.
        TestOutcome::Failed => {}
    }
    verdict.claims.extend(result.claims);
    verdict.claimed_procs.extend(result.proc_digests);
    for waived in result.waived.iter().map(ToString::to_string) {
        if !verdict.waived.contains(&waived) {
            verdict.waived.push(waived);
        }
    }
    verdict.skipped.extend(result.skipped_parts.into_iter().map(|part| format!("{name}: {part}")));
}

fn refused(request: &Request, message: String, diagnostics: &[Diagnostic]) -> Answer {
    let laid_out = diagnostics
        .iter()
        .map(|diagnostic| (report::text::render(diagnostic, request.color), report::json::diagnostic(diagnostic)));
    Answer::Refused { message, diagnostics: laid_out.collect() }
}
