//! Runs the peer-checked examples here and in Exo, alternating, and prints ratios of time and memory with their spread.
//!
//! Protocol: whole processes, one after the other, A B A B, after one uncounted run of each; wall time from start to exit,
//! peak resident memory from `wait4`. Both must print the same program (blanks aside, since Exo wraps long lines), or
//! nothing is reported. Absolute times mean nothing on a shared machine; the ratio of the medians does.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use exo_tests::exo::{binary, repository};
use exo_tests::measure::{Run, measure, spread};

/// The examples that both sides have.
const EXAMPLES: [&str; 6] = ["systolic_gemm", "avx2_microkernel", "avx512_microkernel", "conv3x3", "blur", "unrolled"];
/// Times that Exo must take for each of ours.
const TARGET_RATIO: f64 = 50.0;
const DEFAULT_RUNS: usize = 7;

/// How often Exo may print another program before that counts.
const ASKED_AGAIN: usize = 12;

/// What the command line asks for.
struct Options {
    python: PathBuf,
    runs: usize,
    /// Exit with 1 where the target is missed.
    strict: bool,
}

fn options() -> Result<Options, String> {
    let mut options =
        Options { python: repository().join("target/bench-venv/bin/python"), runs: DEFAULT_RUNS, strict: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--python" => options.python = PathBuf::from(value()?),
            "--runs" => options.runs = value()?.parse().map_err(|error| format!("--runs: {error}"))?,
            "--strict" => options.strict = true,
            _ => return Err(format!("unknown argument `{argument}`; known: --python FILE, --runs N, --strict")),
        }
    }
    if options.runs == 0 {
        return Err("--runs must be at least 1".to_string());
    }
    Ok(options)
}

/// The printed program without blanks.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Runs of Exo and of ours, alternating.
fn alternate(example: &str, options: &Options, cache: &Path) -> Result<(Vec<Run>, Vec<Run>), String> {
    let script = repository().join("tests/benches/exo").join(format!("{example}.py"));
    let module = repository().join("tests/examples").join(format!("{example}.exo"));
    let peer = || measure(Command::new(&options.python).arg(&script));
    let ours = || measure(Command::new(binary()).arg("run").arg(&module).env("XDG_CACHE_HOME", cache));
    let (mut first_peer, first_ours) = (peer()?, ours()?);
    // Of equal windows, such as `A[0:1, k]` and `A[0, k:k + 1]`, Exo takes another one from run to run.
    for _ in 0..ASKED_AGAIN {
        if squeezed(&first_peer.stdout) == squeezed(&first_ours.stdout) {
            break;
        }
        first_peer = peer()?;
    }
    if squeezed(&first_peer.stdout) != squeezed(&first_ours.stdout) {
        return Err(format!(
            "{example}: the two print different programs\nExo:\n{}\nhere:\n{}",
            first_peer.stdout, first_ours.stdout
        ));
    }
    let (mut peers, mut own) = (Vec::new(), Vec::new());
    for _ in 0..options.runs {
        peers.push(peer()?);
        own.push(ours()?);
    }
    Ok((peers, own))
}

/// Prints one line of the table; whether the target is reached.
fn report(example: &str, peers: &[Run], own: &[Run]) -> bool {
    let seconds = |runs: &[Run]| spread(runs.iter().map(|run| run.wall.as_secs_f64()));
    let mebibytes = |runs: &[Run]| spread(runs.iter().map(|run| run.peak_bytes as f64 / f64::from(1 << 20)));
    let (peer_time, own_time) = (seconds(peers), seconds(own));
    let (peer_memory, own_memory) = (mebibytes(peers), mebibytes(own));
    let pairs = spread(peers.iter().zip(own).map(|(a, b)| a.wall.as_secs_f64() / b.wall.as_secs_f64()));
    let ratio = peer_time.median / own_time.median;
    println!(
        "{example:<18} {:>8.3} s {:>9.4} s {ratio:>7.1}x ({:.1} to {:.1}) {:>8.1} MiB {:>7.1} MiB {:>6.1}x",
        peer_time.median,
        own_time.median,
        pairs.low,
        pairs.high,
        peer_memory.median,
        own_memory.median,
        peer_memory.median / own_memory.median,
    );
    ratio >= TARGET_RATIO && own_memory.median <= peer_memory.median
}

fn main() -> ExitCode {
    let outcome = options().and_then(|options| {
        let cache = tempfile::tempdir().map_err(|error| error.to_string())?;
        println!("median of {} alternating runs, whole process; spread of the ratio over pairs", options.runs);
        println!(
            "{:<18} {:>10} {:>11} {:>8} {:<15} {:>12} {:>11} {:>7}",
            "example", "Exo", "here", "faster", "(spread)", "Exo memory", "here", "less"
        );
        let mut reached = true;
        for example in EXAMPLES {
            let (peers, own) = alternate(example, &options, cache.path())?;
            reached &= report(example, &peers, &own);
        }
        println!("target: {TARGET_RATIO}x on each, with less memory: {}", if reached { "reached" } else { "missed" });
        Ok(reached || !options.strict)
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::from(3)
        }
    }
}
