//! Verifies packs in limited child processes, several at a time, and keeps the verdicts.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use exo_compiler::diagnostic::codes;

use crate::c_toolchain::process;
use crate::cache::Cache;
use crate::environment;
use crate::failure::{Exit, Failure, Outcome};
use crate::install::plan::Instance;
use crate::install::reach::Reach;
use crate::install::verdict::{self, Key, Verdict};
use crate::install::verification_child::{Answer, Request};
use crate::settings::Settings;
use crate::terminal::{Progress, Terminal};

/// Wall time of a child beyond the evaluation limit; machines under load run slower than the CPU limit says.
const WALL_FACTOR: u64 = 3;

/// One pack's verdict and how it was come by.
pub(crate) struct Verified {
    pub(crate) verdict: Verdict,
    pub(crate) cached: bool,
    pub(crate) took: Duration,
}

/// Verifies all instances; the order of the result is theirs. The first failure, in that order, is the answer.
pub(crate) fn verify_all(
    settings: &Settings,
    terminal: &Terminal,
    cache: &Cache,
    instances: &[Instance],
    use_cached: bool,
) -> Outcome<Vec<Verified>> {
    verify_among(settings, terminal, cache, (&[], instances), use_cached)
}

/// Verifies instances that may use others, which are not verified here; where both have a name, the one to verify is used.
pub(crate) fn verify_among(
    settings: &Settings,
    terminal: &Terminal,
    cache: &Cache,
    (others, instances): (&[Instance], &[Instance]),
    use_cached: bool,
) -> Outcome<Vec<Verified>> {
    let reach = Reach::new(others.iter().chain(instances));
    let progress = terminal.progress("Verifying", instances.len());
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(usize::MAX);
    let results: Mutex<BTreeMap<usize, Outcome<Verified>>> = Mutex::new(BTreeMap::new());
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::SeqCst);
            let Some(instance) = instances.get(index) else { break };
            // Packs before a failed one are still worth knowing about, so that the answer does not depend on timing.
            if index > failed.load(Ordering::SeqCst) {
                break;
            }
            let result = verify_one(settings, terminal, cache, instance, &reach, use_cached, &progress);
            if result.is_err() {
                failed.fetch_min(index, Ordering::SeqCst);
            }
            if let Ok(mut results) = results.lock() {
                results.insert(index, result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..settings.jobs.min(instances.len()) {
            scope.spawn(worker);
        }
        worker();
    });
    drop(progress);
    let results = results.into_inner().map_err(|_| Failure::bug("a verification thread died"))?;
    results.into_values().collect()
}

#[allow(clippy::too_many_arguments, reason = "called once; a struct would only rename the arguments")]
fn verify_one<'a>(
    settings: &Settings,
    terminal: &Terminal,
    cache: &Cache,
    instance: &'a Instance,
    reach: &Reach<'a>,
    use_cached: bool,
    progress: &Progress,
) -> Outcome<Verified> {
    let start = Instant::now();
    let name = format!("{} {}", instance.name, instance.version);
    progress.message(&name);
    // Packs that reach themselves are refused before they get here.
    let digest = reach.digest(instance).ok_or_else(|| Failure::bug(format!("`{name}` depends on itself")))?;
    let (version, tree) = (instance.version.to_string(), instance.tree.to_string());
    let key = Key::new(instance.name.as_str(), &version, &tree, digest.to_string());
    let subject = |reach: &[&Instance]| {
        let others = reach.iter().filter(|other| other.name != instance.name);
        key.subject(others.map(|other| (other.name.to_string(), other.tree.to_string())).collect())
    };
    if use_cached && let Some(mut verdict) = verdict::load(cache, &key)? {
        terminal.detail(&format!("verdict of {name} is cached"));
        // What a registry signed is compared by its dependencies too.
        if instance.signed.is_some() {
            verdict.subject = subject(&reach.list(instance));
        }
        progress.step(&name);
        return Ok(Verified { verdict, cached: true, took: start.elapsed() });
    }
    let reach = reach.list(instance);
    terminal.detail(&format!("verifying {name}"));
    let limits = &settings.limits;
    let request = Request {
        subject: subject(&reach),
        id: instance.id(),
        packs: reach.iter().map(|pack| pack.world_pack()).collect(),
        steps: limits.steps,
        heap_bytes: limits.heap_bytes,
        call_depth: limits.call_depth,
        seconds: limits.seconds,
        solver_units: limits.solver_units,
        color: terminal.is_colored(),
    };
    let verdict = judge(&name, run_child(&name, &request)?)?;
    verdict::store(cache, &key, &verdict)?;
    progress.step(&name);
    Ok(Verified { verdict, cached: false, took: start.elapsed() })
}

/// The answer as the result of the command.
fn judge(name: &str, answer: Answer) -> Outcome<Verdict> {
    match answer {
        Answer::Verified(verdict) => Ok(*verdict),
        Answer::Refused { message, diagnostics } => {
            let mut failure = Failure::verification(format!("`{name}` does not verify: {message}"))
                .code(codes::CLAIM)
                .note("nothing was installed; Exo.toml and Exo.lock are as they were");
            failure.rendered = diagnostics;
            Err(failure.hint("take another version, or tell the pack's author what is shown above"))
        }
        Answer::Failed { exit, message, hints } => {
            let mut failure = match exit {
                3 => Failure::environment(format!("cannot verify `{name}`: {message}")),
                _ => Failure::verification(format!("cannot verify `{name}`: {message}")),
            };
            failure.hints = hints;
            Err(failure)
        }
    }
}

fn start_child() -> Outcome<Child> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find the exo program itself: {error}")))?;
    Command::new(&program)
        .arg("__verify")
        .current_dir("/")
        .env_remove(environment::TOKEN)
        .env_remove("EXO_TEST_KILL_AT")
        .env_remove("EXO_TEST_FULL_AT")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::environment(format!("cannot start `{}`: {error}", program.display())))
}

fn reader(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            let _ = from.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn run_child(name: &str, request: &Request) -> Outcome<Answer> {
    let text =
        serde_json::to_string(request).map_err(|error| Failure::bug(format!("cannot write a request: {error}")))?;
    let mut child = start_child()?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    if let Some(mut stdin) = child.stdin.take() {
        // A child that died early says why by its status, so a broken pipe is no message of its own.
        let _ = stdin.write_all(text.as_bytes());
    }
    let wall = Duration::from_secs(request.seconds.saturating_mul(WALL_FACTOR).max(30));
    let status = process::wait(&mut child, wall)
        .map_err(|error| Failure::environment(format!("cannot wait for the verification of `{name}`: {error}")))?;
    let stdout = stdout.join().unwrap_or_default();
    let stderr = String::from_utf8_lossy(&stderr.join().unwrap_or_default()).into_owned();
    let Some(status) = status else {
        return Err(Failure::verification(format!("`{name}` did not verify within {} seconds", wall.as_secs()))
            .hint("set EXO_LIMIT_SECONDS higher if the pack is known to be slow"));
    };
    if status.success() {
        return serde_json::from_slice(&stdout)
            .map_err(|error| Failure::bug(format!("the verification of `{name}` gave no answer: {error}")));
    }
    Err(died(name, request, status, &stderr))
}

/// Signals that the kernel sends for an exceeded limit, by number: XCPU, KILL (hard CPU limit), XFSZ.
const SIGNAL_CPU: i32 = 24;
const SIGNAL_KILL: i32 = 9;
const SIGNAL_FILE_SIZE: i32 = 25;

fn died(name: &str, request: &Request, status: ExitStatus, stderr: &str) -> Box<Failure> {
    let failure = match status.signal() {
        Some(SIGNAL_CPU | SIGNAL_KILL) => Failure::verification(format!(
            "the verification of `{name}` used up its {} seconds of CPU time",
            request.seconds
        ))
        .hint("set EXO_LIMIT_SECONDS higher if the pack is known to be slow"),
        Some(SIGNAL_FILE_SIZE) => Failure::verification(format!("the verification of `{name}` tried to write a file"))
            .hint("packs must not write; this is a defect of the pack or of exo, please report it"),
        Some(signal) => Failure::verification(format!("the verification of `{name}` was ended by signal {signal}"))
            .hint("if it ran out of memory, set EXO_LIMIT_HEAP to a number of bytes; otherwise please report it"),
        // A limit on memory or time that ends the process; its diagnostic is what the child said.
        None if status.code() == Some(i32::from(Exit::Refused.code())) => {
            Failure::verification(format!("`{name}` does not verify: it exceeds a limit"))
                .code(codes::CLAIM)
                .hint("take another version, or tell the pack's author what is shown above")
        }
        None => Failure::bug(format!(
            "the verification of `{name}` ended with exit code {}",
            status.code().unwrap_or_default()
        )),
    };
    match stderr.trim() {
        "" => failure,
        said => failure.note(format!("it said:\n{said}")),
    }
}
