//! Random schedules over random procs, held against three oracles: the interpreter before and after every step, the front
//! end on the printed text of every result, and compiled C. Exits with 1 on a disagreement.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use exo_compiler::schedule::registry::OPERATORS;
use exo_tests::fuzz::definition::{Definitions, definition};
use exo_tests::fuzz::generated_c::{Compiled, generated_c};
use exo_tests::fuzz::schedule::{Bench, Count, Failure, Tally};

struct Settings {
    schedules: u64,
    seed: u64,
    minutes: f64,
    jobs: u64,
    /// Only this operator in focus.
    only: Option<String>,
    /// Failures after which to stop.
    failures: usize,
    refusals: bool,
    /// Compile and run one scheduled proc as C for every so many schedules; 0 for none.
    c_every: u64,
    /// Compile and run this many procs as C instead.
    c: u64,
    compiler: String,
}

const USAGE: &str =
    "usage: fuzz [--schedules N] [--seed S] [--minutes M] [--jobs J] [--only OPERATOR] [--failures F] [--refusals] [--c-every N]
       fuzz --c N [--compiler CC] [--seed S] [--minutes M] [--jobs J]";

fn settings() -> Result<Settings, String> {
    let mut settings = Settings {
        schedules: 20_000,
        seed: 1,
        minutes: 60.0,
        jobs: 2,
        only: None,
        failures: 1,
        refusals: false,
        c_every: 0,
        c: 0,
        compiler: "gcc".to_string(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--refusals" {
            settings.refusals = true;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"))?;
        let wrong = |_| format!("{word} cannot be {value}\n{USAGE}");
        match word.as_str() {
            "--schedules" => settings.schedules = value.parse().map_err(wrong)?,
            "--seed" => settings.seed = value.parse().map_err(wrong)?,
            "--jobs" => settings.jobs = value.parse().map_err(wrong)?,
            "--failures" => settings.failures = value.parse().map_err(wrong)?,
            "--minutes" => {
                settings.minutes = value.parse().map_err(|_| format!("{word} cannot be {value}\n{USAGE}"))?
            }
            "--c-every" => settings.c_every = value.parse().map_err(wrong)?,
            "--c" => settings.c = value.parse().map_err(wrong)?,
            "--compiler" => settings.compiler = value,
            "--only" => settings.only = Some(value),
            _ => return Err(USAGE.to_string()),
        }
    }
    Ok(settings)
}

/// What one job did.
#[derive(Default)]
struct Work {
    tally: Tally,
    definitions: Definitions,
    compiled: Compiled,
    failures: Vec<Failure>,
    problems: Vec<String>,
}

impl Work {
    fn add(&mut self, other: Work) {
        self.tally.add(&other.tally);
        self.definitions.add(&other.definitions);
        self.compiled.add(&other.compiled);
        self.failures.extend(other.failures);
        self.problems.extend(other.problems);
    }

    fn failed(&self) -> usize {
        self.failures.len() + self.problems.len()
    }
}

/// Every `jobs`-th schedule, from `job` on. The schedule of a seed is the same whoever runs it.
fn work(settings: &Settings, job: u64, until: Instant) -> Work {
    let mut done = Work::default();
    let mut bench = Bench::new();
    let focus: Vec<_> =
        OPERATORS.iter().copied().filter(|op| settings.only.as_ref().is_none_or(|only| op.name() == only)).collect();
    let directory = match tempfile::tempdir() {
        Ok(directory) => directory,
        Err(error) => return Work { problems: vec![error.to_string()], ..Work::default() },
    };
    let mut at = job;
    while at < settings.schedules && Instant::now() < until && done.failed() < settings.failures {
        let seed = settings.seed.wrapping_add(at);
        // The focus follows from the seed, so that a failure is found again by its seed alone.
        let Some(operator) = focus.get(seed as usize % focus.len().max(1)) else { break };
        if let Err(failure) = bench.schedule(seed, *operator, &mut done.tally) {
            done.failures.push(*failure);
        }
        let outcome = bench
            .with_front_end(|scope, solver| definition(scope, seed, solver, &mut done.definitions, &mut |_, _| {}));
        done.problems.extend(outcome.err());
        if settings.c_every > 0 && (at / settings.jobs.max(1)).is_multiple_of(settings.c_every) {
            let outcome = generated_c(&mut bench, seed, &settings.compiler, directory.path(), &mut done.compiled);
            done.problems.extend(outcome.err());
        }
        at += settings.jobs.max(1);
    }
    done
}

/// Every `jobs`-th proc as C.
fn compile_and_run(settings: &Settings, job: u64, until: Instant) -> (Compiled, Vec<String>) {
    let (mut totals, mut problems) = (Compiled::default(), Vec::new());
    let mut bench = Bench::new();
    let directory = match tempfile::tempdir() {
        Ok(directory) => directory,
        Err(error) => return (totals, vec![error.to_string()]),
    };
    let mut at = job;
    while at < settings.c && Instant::now() < until && problems.len() < settings.failures {
        let seed = settings.seed.wrapping_add(at);
        if let Err(problem) = generated_c(&mut bench, seed, &settings.compiler, directory.path(), &mut totals) {
            problems.push(problem);
        }
        at += settings.jobs.max(1);
    }
    (totals, problems)
}

/// Runs `job` for every job on a thread of its own, with the stack that deep trees need.
fn in_threads<T: Send>(jobs: u64, job: impl Fn(u64) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let job = &job;
        let workers: Vec<_> = (0..jobs.max(1))
            .filter_map(|at| {
                std::thread::Builder::new().stack_size(256 << 20).spawn_scoped(scope, move || job(at)).ok()
            })
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.join().map_err(|_| eprintln!("a worker panicked outside of any operator")).ok())
            .collect()
    })
}

/// Schedules after which an operator that was never accepted, or never refused, is a fault of the fuzzer.
const ENOUGH: u64 = 5000;

/// Prints the table. Whether every operator was tried both ways, as far as that can be expected.
fn report(done: &Work, settings: &Settings) -> bool {
    let tally = &done.tally;
    println!("{:<24} {:>9} {:>9} {:>9}", "operator", "accepted", "refused", "unchecked");
    let mut complete = true;
    let mut total = Count::default();
    for operator in OPERATORS {
        let count = tally.operators.get(operator.name()).copied().unwrap_or_default();
        println!("{:<24} {:>9} {:>9} {:>9}", operator.name(), count.accepted, count.refused, count.unchecked);
        complete &= count.accepted > 0 && count.refused > 0;
        total.accepted += count.accepted;
        total.refused += count.refused;
        total.unchecked += count.unchecked;
    }
    println!("{:<24} {:>9} {:>9} {:>9}", "all", total.accepted, total.refused, total.unchecked);
    println!("{} schedules, {} generated programs discarded", tally.schedules, tally.discarded);
    println!("definitions: {:?}\nas C: {:?}", done.definitions, done.compiled);
    if settings.refusals {
        for ((operator, reason), count) in &tally.refusals {
            println!("{count:>7}  {operator}: {reason}");
        }
    }
    let expected = settings.only.is_none() && tally.schedules >= ENOUGH;
    if expected && !complete {
        println!("an operator was never accepted or never refused");
    }
    complete || !expected
}

fn main() -> ExitCode {
    let settings = match settings() {
        Ok(settings) => settings,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    // Panics are caught, reported as failures and need no second message.
    std::panic::set_hook(Box::new(|_| {}));
    let started = Instant::now();
    let until = started + Duration::from_secs_f64(settings.minutes * 60.0);
    if settings.c > 0 {
        let mut problems = Vec::new();
        let mut totals = Compiled::default();
        for (part, found) in in_threads(settings.jobs, |job| compile_and_run(&settings, job, until)) {
            totals.add(&part);
            problems.extend(found);
        }
        println!("{totals:?}, {:.1} s", started.elapsed().as_secs_f64());
        problems.iter().for_each(|problem| println!("\n{problem}"));
        return if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut done = Work::default();
    for part in in_threads(settings.jobs, |job| work(&settings, job, until)) {
        done.add(part);
    }
    let complete = report(&done, &settings);
    println!("{:.1} s", started.elapsed().as_secs_f64());
    done.failures.sort_by_key(|failure| failure.seed);
    for failure in &done.failures {
        println!("\n{failure}");
    }
    done.problems.iter().for_each(|problem| println!("\n{problem}"));
    if done.failed() == 0 && complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
