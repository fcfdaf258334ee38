//! Time and memory of whole processes.

#![allow(unsafe_code, reason = "wait4 is the only way to the peak memory of one child")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One measured process.
pub struct Run {
    pub wall: Duration,
    /// Largest resident memory.
    pub peak_bytes: u64,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a process to its end; a process that fails is an error with what it said.
pub fn measure(command: &mut Command) -> Result<Run, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    // A file rather than a pipe: a full pipe would make the child wait for us inside the measured time.
    let out = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let err = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let reopen = |file: &tempfile::NamedTempFile| file.reopen().map_err(|error| error.to_string());
    command.stdin(Stdio::null()).stdout(reopen(&out)?).stderr(reopen(&err)?);
    let start = Instant::now();
    let child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
    let (status, usage) = wait(child.id())?;
    let wall = start.elapsed();
    let read = |file: &tempfile::NamedTempFile| std::fs::read_to_string(file.path()).map_err(|error| error.to_string());
    if status != 0 {
        return Err(format!("{name} failed:\n{}{}", read(&out)?, read(&err)?));
    }
    Ok(Run { wall, peak_bytes: usage, stdout: read(&out)?, stderr: read(&err)? })
}

/// Raw status and peak resident bytes of a child.
fn wait(id: u32) -> Result<(i32, u64), String> {
    let id = libc::pid_t::try_from(id).map_err(|error| error.to_string())?;
    let mut status = 0;
    // SAFETY: `rusage` is plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals, and the child is ours and not yet waited for.
    if unsafe { libc::wait4(id, &mut status, 0, &mut usage) } != id {
        return Err(format!("wait4: {}", std::io::Error::last_os_error()));
    }
    let peak = u64::try_from(usage.ru_maxrss).unwrap_or(0);
    // Linux counts in KiB, macOS in bytes.
    Ok((status, if cfg!(target_os = "macos") { peak } else { peak * 1024 }))
}

/// Median, smallest and largest.
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

pub fn spread(values: impl Iterator<Item = f64>) -> Spread {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    let last = sorted.len().saturating_sub(1);
    let median = (at(last / 2) + at(sorted.len() / 2)) / 2.0;
    Spread { median, low: at(0), high: at(last) }
}
