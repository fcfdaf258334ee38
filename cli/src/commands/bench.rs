//! `exo bench [FILTER]`: times kernels beside their algorithms, by a protocol that the answer states.

use exo_compiler::diagnostic::{Diagnostic, codes};
use exo_compiler::pipeline::{Timing, TimingProtocol};
use exo_compiler::world::{CProgram, CRun, CRunner as _};
use serde_json::json;

use crate::arguments::Bench;
use crate::c_toolchain::CToolchain;
use crate::commands::composition::{self, Form, Job};
use crate::commands::ready::{Ready, ready};
use crate::evaluation::{refused, with_compiler};
use crate::failure::{Exit, Failure, Outcome, count};
use crate::report::text::{WIDTH, wrapped};
use crate::settings::Settings;
use crate::terminal::Terminal;

/// Enough rounds for quartiles, and at most about a second for one row of the answer, where a call is short.
const PROTOCOL: TimingProtocol =
    TimingProtocol { least_rounds: 15, most_rounds: 2000, seconds: 1.0, batch_microseconds: 20, most_calls: 64 };

/// One kernel for one target on one set of sizes.
struct Row {
    /// Such as `gemm::avx2`.
    name: String,
    sizes: Vec<(String, i64)>,
    result: Result<Times, String>,
}

/// What a program printed, in seconds for one call.
struct Times {
    kernel: Spread,
    algorithm: Spread,
    /// Time of the algorithm over that of the kernel, round by round.
    ratio: Spread,
    rounds: usize,
    /// Calls in a batch of the kernel and of the algorithm.
    calls: (u64, u64),
}

/// Median and quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

pub(super) fn run(arguments: &Bench, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let jobs = composition::jobs(settings, &ready, &[], &[], Form::default())?;
    let passes = |job: &&Job| arguments.filter.as_ref().is_none_or(|filter| name(job).contains(filter));
    let jobs: Vec<&Job> = jobs.iter().filter(passes).collect();
    if let (true, Some(filter)) = (jobs.is_empty(), &arguments.filter) {
        return Err(Failure::refused(format!("no kernel has `{filter}` in its name"))
            .hint("names look like `gemm::avx2`; `exo bench` times all"));
    }
    let toolchain = CToolchain::new(&settings.environment);
    let runs: Vec<(&Job, Vec<(String, i64)>)> = jobs
        .into_iter()
        .flat_map(|job| sizes(arguments, &ready, job).into_iter().map(move |sizes| (job, sizes)))
        .collect();
    let progress = terminal.progress("Timing", runs.len());
    let mut rows = Vec::new();
    // One after the other: what runs beside it would be timed too.
    for (job, sizes) in runs {
        progress.message(&name(job));
        let result = time(settings, &ready, job, &sizes, &toolchain)?;
        progress.step(&name(job));
        rows.push(Row { name: name(job), sizes, result });
    }
    drop(progress);
    terminal.answer(
        || text(&rows),
        || json!({ "protocol": stated(), "kernels": rows.iter().map(Row::json).collect::<Vec<_>>() }),
    );
    let untimed = rows.iter().filter(|row| row.result.is_err()).count();
    if untimed < rows.len() {
        return Ok(Exit::Done);
    }
    if terminal.is_json() {
        return Ok(Exit::Environment);
    }
    Err(Failure::environment(format!("nothing was timed: {} cannot run here", count(untimed, "kernel")))
        .hint("times are taken on a machine that has what the target needs; `exo doctor` says what this one has"))
}

fn name(job: &Job) -> String {
    format!("{}::{}", job.request.name, job.target)
}

/// The sets of sizes for a kernel. One without any is right for a kernel that takes none.
fn sizes(arguments: &Bench, ready: &Ready, job: &Job) -> Vec<Vec<(String, i64)>> {
    if !arguments.sizes.is_empty() {
        return vec![arguments.sizes.clone()];
    }
    let kernels = &ready.project.manifest.kernels;
    let bench = kernels.iter().find(|kernel| kernel.name.value == job.request.name).map(|kernel| &kernel.bench);
    match bench {
        Some(bench) if !bench.is_empty() => {
            bench.iter().map(|sizes| sizes.iter().map(|(name, value)| (name.clone(), *value)).collect()).collect()
        }
        Some(_) | None => vec![Vec::new()],
    }
}

/// The inner error says why it cannot be timed on this machine.
fn time(
    settings: &Settings,
    ready: &Ready,
    job: &Job,
    sizes: &[(String, i64)],
    toolchain: &CToolchain,
) -> Outcome<Result<Times, String>> {
    let made = with_compiler(ready.world.clone(), &settings.limits, None, |compilation| {
        compilation.timing(&job.request, sizes, &PROTOCOL)
    })?;
    let what = || format!("`{}` for `{}` was not timed", job.request.name, job.target);
    let program = match made.map_err(|diagnostics| refused(diagnostics, &what()))? {
        Timing::Program(program) => program,
        Timing::Unsupported(reason) => return Ok(Err(reason)),
    };
    match toolchain.toolchain(&program.machine) {
        Ok(found) if found.is_native() => {}
        Ok(found) => {
            return Ok(Err(format!("this machine is another; times under {} say nothing of it", found.runner_name())));
        }
        Err(reason) => return Ok(Err(reason)),
    }
    ran(toolchain, &program).map(Ok).map_err(|diagnostic| refused(vec![*diagnostic], &what()))
}

fn ran(toolchain: &CToolchain, program: &CProgram) -> Result<Times, Box<Diagnostic>> {
    let wrong = |message: String, note: String| Err(Box::new(Diagnostic::error(codes::KERNEL, message).note(note)));
    match toolchain.run(program) {
        CRun::Ran { exit_code: 0, stdout, .. } => match Times::read(&String::from_utf8_lossy(&stdout)) {
            Some(times) => Ok(times),
            None => wrong("the program that times it printed something else than times".to_string(), String::new()),
        },
        CRun::Ran { exit_code, stderr, .. } => {
            wrong(format!("the program that times it ended with code {exit_code}"), stderr)
        }
        CRun::CompileFailed { command, stderr } => wrong(format!("its C does not compile: {command}"), stderr),
        CRun::Unavailable { reason } => wrong("it could not be run".to_string(), reason),
    }
}

impl Times {
    /// `None` for what is not the output of a timing program.
    fn read(printed: &str) -> Option<Times> {
        let mut seconds: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        let mut calls = None;
        for line in printed.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["calls", kernel, algorithm] => calls = Some((kernel.parse().ok()?, algorithm.parse().ok()?)),
                [side, time] => seconds.get_mut(side.parse::<usize>().ok()?)?.push(time.parse().ok()?),
                _ => return None,
            }
        }
        let [kernel, algorithm] = seconds;
        if kernel.len() != algorithm.len() {
            return None;
        }
        // A kernel that the compiler made nothing of takes less than the clock can tell.
        let ratios = kernel.iter().zip(&algorithm).map(|(kernel, algorithm)| algorithm / kernel.max(1e-12)).collect();
        let rounds = kernel.len();
        Some(Times {
            kernel: Spread::of(kernel)?,
            algorithm: Spread::of(algorithm)?,
            ratio: Spread::of(ratios)?,
            rounds,
            calls: calls?,
        })
    }
}

impl Spread {
    /// `None` of nothing.
    fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |quarter: usize| values.get((last * quarter + 2) / 4).copied();
        Some(Spread { low: at(1)?, median: at(2)?, high: at(3)? })
    }

    fn json(&self) -> serde_json::Value {
        json!({ "low": self.low, "median": self.median, "high": self.high })
    }
}

impl Row {
    fn sizes(&self) -> String {
        self.sizes.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    fn json(&self) -> serde_json::Value {
        let sizes: serde_json::Map<String, serde_json::Value> =
            self.sizes.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        match &self.result {
            Ok(times) => json!({
                "name": self.name, "sizes": sizes, "kernel_seconds": times.kernel.json(),
                "algorithm_seconds": times.algorithm.json(), "times_faster": times.ratio.json(),
                "rounds": times.rounds, "calls": [times.calls.0, times.calls.1],
            }),
            Err(reason) => json!({ "name": self.name, "sizes": sizes, "skipped": reason }),
        }
    }
}

/// A time in the unit that suits it.
fn shown(seconds: f64) -> String {
    let (factor, unit) = match seconds {
        s if s < 1e-6 => (1e9, "ns"),
        s if s < 1e-3 => (1e6, "us"),
        s if s < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{:.3} {unit}", seconds * factor)
}

fn text(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("kernel".len());
    let sizes = rows.iter().map(|row| row.sizes().len()).max().unwrap_or(0).max("sizes".len());
    let mut text = format!(
        "{:width$}  {:sizes$}  {:>12}  {:>12}  times faster (quartiles)\n",
        "kernel", "sizes", "a call", "algorithm"
    );
    for row in rows {
        let line = match &row.result {
            Ok(times) => format!(
                "{:>12}  {:>12}  {:.2} ({:.2} to {:.2})",
                shown(times.kernel.median),
                shown(times.algorithm.median),
                times.ratio.median,
                times.ratio.low,
                times.ratio.high
            ),
            Err(reason) => format!("skipped: {reason}"),
        };
        text.push_str(&format!("{:width$}  {:sizes$}  {line}\n", row.name, row.sizes()));
    }
    text.push_str(&format!("\n{}\n", wrapped(&stated(), WIDTH)));
    text
}

/// The protocol in words.
fn stated() -> String {
    let TimingProtocol { least_rounds, most_rounds, seconds, batch_microseconds, most_calls } = PROTOCOL;
    format!(
        "medians of {least_rounds} to {most_rounds} rounds (no new one after {seconds} s); a round times one batch of calls of the kernel and one of \
         its algorithm, in turn, as C with -O2 and the flags of the target, on one thread; a batch takes {batch_microseconds} us or is {most_calls} \
         calls; data is put back before each batch, and is warm as far as caches hold it"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_median_and_quartiles() {
        let spread = Spread::of(vec![5.0, 1.0, 2.0, 4.0, 3.0]).unwrap();
        assert_eq!(spread, Spread { low: 2.0, median: 3.0, high: 4.0 });
        assert_eq!(Spread::of(vec![7.0]).unwrap(), Spread { low: 7.0, median: 7.0, high: 7.0 });
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn the_ratio_is_taken_round_by_round() {
        let times = Times::read("0 1e-6\n1 2e-6\n1 8e-6\n0 2e-6\n0 1e-6\n1 3e-6\ncalls 16 8\n").unwrap();
        assert_eq!((times.rounds, times.calls), (3, (16, 8)));
        assert_eq!((times.ratio.low.round(), times.ratio.median.round(), times.ratio.high.round()), (3.0, 3.0, 4.0));
        for wrong in ["", "0 1\n", "0 1\n1 2\n", "2 1\n", "0 x\n", "calls 1 1\n"] {
            assert!(Times::read(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn times_have_a_unit_that_suits_them() {
        assert_eq!(shown(1.5e-8), "15.000 ns");
        assert_eq!(shown(2.5e-5), "25.000 us");
        assert_eq!(shown(0.5), "500.000 ms");
        assert_eq!(shown(3.0), "3.000 s");
    }
}
