//! Prints how time and memory grow with the number of steps and of statements, and where the time of the largest goes.
//!
//! `growth [--runs N] [--largest N] [--strict] [KIND...]`. Whole processes of `exo run`, the best of N runs, less the time of an empty
//! module. Ratios are per decade: 10 is linear. Absolute times say something about the machine only. With `--strict` it ends
//! with 1 where the last decade of a kind grows by more than `TOLERATED`.

use std::path::Path;
use std::process::{Command, ExitCode};

use exo_tests::exo::binary;
use exo_tests::growth::{Axis, KINDS, Kind};
use exo_tests::measure::{Run, measure};

/// Work per decade that is still called linear: cold caches and the allocator take their part, squares would be 100.
const TOLERATED: f64 = 25.0;

struct Options {
    strict: bool,
    runs: usize,
    largest: usize,
    /// Names of kinds; all where empty.
    kinds: Vec<String>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { strict: false, runs: 3, largest: 10_000, kinds: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<usize, String> {
            let text = arguments.next().ok_or(format!("{argument} needs a number"))?;
            text.parse().map_err(|error| format!("{argument}: {error}"))
        };
        match argument.as_str() {
            "--runs" => options.runs = number()?.max(1),
            "--strict" => options.strict = true,
            "--largest" => options.largest = number()?,
            kind if KINDS.iter().any(|known| known.name == kind) => options.kinds.push(argument),
            _ => {
                let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
                return Err(format!(
                    "unknown argument `{argument}`; known: --runs N, --largest N, --strict, and {}",
                    known.join(", ")
                ));
            }
        }
    }
    Ok(options)
}

/// The fastest of several runs of one module.
fn best(module: &str, file: &Path, runs: usize) -> Result<Run, String> {
    std::fs::write(file, module).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut best: Option<Run> = None;
    for _ in 0..runs {
        let limits = ["--limit", "steps=1000000000,memory=8192,seconds=1200", "--timings"];
        let run = measure(Command::new(binary()).args(limits).arg("run").arg(file))?;
        if best.as_ref().is_none_or(|known| run.wall < known.wall) {
            best = Some(run);
        }
    }
    best.ok_or("no runs".to_string())
}

fn sizes(largest: usize) -> Vec<usize> {
    std::iter::successors(Some(10), |size| Some(size * 10)).take_while(|size| *size <= largest).collect()
}

/// What was seen of one kind.
struct Seen {
    name: &'static str,
    /// Growth in the last decade.
    last: f64,
    /// Where the time of the largest size goes.
    breakdown: Vec<String>,
}

fn report(kind: &Kind, options: &Options, file: &Path, empty: f64) -> Result<Seen, String> {
    let mut line = format!("{:<16}", kind.name);
    let mut before: Option<f64> = None;
    let mut seen = Seen { name: kind.name, last: 0.0, breakdown: Vec::new() };
    for size in sizes(options.largest) {
        let run = best(&(kind.module)(size), file, options.runs)?;
        let seconds = (run.wall.as_secs_f64() - empty).max(1e-4);
        seen.last = before.map_or(0.0, |before| seconds / before);
        let ratio = before.map_or(String::new(), |_| format!("{:.1}x", seen.last));
        line.push_str(&format!(" {:>10.1} ms {ratio:>6}", seconds * 1000.0));
        before = Some(seconds);
        seen.breakdown = run.stderr.lines().map(str::to_string).collect();
        if size * 10 > options.largest {
            line.push_str(&format!(" {:>6} MiB", run.peak_bytes >> 20));
        }
    }
    println!("{line}");
    Ok(seen)
}

/// Whether everything grew as it should, where that was asked.
fn run() -> Result<bool, String> {
    let options = options()?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("module.exo");
    let empty = best("pass\n", &file, options.runs.max(5))?.wall.as_secs_f64();
    println!("best of {}, less {:.1} ms for an empty module; ratio to the size before", options.runs, empty * 1000.0);
    let mut all = Vec::new();
    for (axis, title) in [
        (Axis::Steps, "steps on one small proc"),
        (Axis::Statements, "statements of one proc"),
        (Axis::Both, "as many steps as statements"),
    ] {
        let heads: Vec<String> = sizes(options.largest).iter().map(|size| format!("{size:>13} {:>6}", "")).collect();
        println!("\n{title}\n{:<16} {}", "", heads.join(" "));
        for kind in KINDS.iter().filter(|kind| kind.axis == axis) {
            if options.kinds.is_empty() || options.kinds.iter().any(|name| name == kind.name) {
                all.push(report(kind, &options, &file, empty)?);
            }
        }
    }
    println!("\nwhere the time of the largest goes");
    for seen in &all {
        println!("{}", seen.name);
        seen.breakdown.iter().for_each(|line| println!("  {line}"));
    }
    let steep: Vec<&str> = all.iter().filter(|seen| seen.last > TOLERATED).map(|seen| seen.name).collect();
    let verdict = if steep.is_empty() { "none".to_string() } else { steep.join(", ") };
    println!("\ngrows more than {TOLERATED}x in the last decade: {verdict}");
    Ok(steep.is_empty() || !options.strict)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("growth: {message}");
            ExitCode::from(3)
        }
    }
}
