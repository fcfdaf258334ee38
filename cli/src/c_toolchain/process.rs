//! Runs one command with a time limit and collects what it prints.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Output past this many bytes is read and dropped, so that a program that prints without end cannot fill the memory.
const OUTPUT_BYTES: usize = 256 << 20;

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) timed_out: bool,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

fn drain(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let _ = (&mut from).take(OUTPUT_BYTES as u64).read_to_end(&mut kept);
        let _ = std::io::copy(&mut from, &mut std::io::sink());
        kept
    })
}

/// Waits until the child ends or the time is over; then it is killed. The pause grows, so short runs end at once.
pub(crate) fn wait(child: &mut Child, time: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= time {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Runs `program` in `folder` without input. An error says why it could not be started.
pub(crate) fn run(program: &str, arguments: &[String], folder: &Path, time: Duration) -> Result<Ended, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_remove(crate::environment::TOKEN)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start `{program}`: {error}"))?;
    let stdout = child.stdout.take().map(drain);
    let stderr = child.stderr.take().map(drain);
    let status = wait(&mut child, time).map_err(|error| format!("cannot wait for `{program}`: {error}"))?;
    let collected = |reader: Option<std::thread::JoinHandle<Vec<u8>>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    Ok(Ended {
        exit_code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        timed_out: status.is_none(),
        stdout: collected(stdout),
        stderr: String::from_utf8_lossy(&collected(stderr)).into_owned(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_end_is_stopped() {
        let ended = run("sleep", &["30".into()], Path::new("/"), Duration::from_millis(100)).unwrap();
        assert!(ended.timed_out && ended.exit_code.is_none());
    }

    #[test]
    fn much_output_does_not_block() {
        let ended = run("head", &["-c".into(), "3000000".into(), "/dev/zero".into()], Path::new("/"), RUN).unwrap();
        assert_eq!((ended.exit_code, ended.stdout.len()), (Some(0), 3_000_000));
    }

    const RUN: Duration = Duration::from_secs(20);
}
