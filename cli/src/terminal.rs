//! The only writer to stdout and stderr: data on stdout, everything else on stderr, colour and progress on request.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::Format;
use crate::failure::{Exit, Failure};
use crate::report;
use crate::settings::Settings;

/// How much goes to stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loudness {
    /// Errors only.
    Quiet,
    Normal,
    /// Also what was looked at, cached and started.
    Verbose,
}

/// The terminal of one process. Shared by reference; writes are whole lines.
pub(crate) struct Terminal {
    format: Format,
    loudness: Loudness,
    color: bool,
    progress: bool,
    /// Answers in JSON that are to come out as one document.
    collected: Mutex<Option<Vec<serde_json::Value>>>,
    /// The first failure of writing to stdout; checked once at the end, so that a full disk is not silent.
    stdout_failure: Mutex<Option<std::io::Error>>,
}

const GREEN: &str = "\x1b[1;32m";
const YELLOW: &str = "\x1b[1;33m";
const RED: &str = "\x1b[1;31m";
const CYAN: &str = "\x1b[1;36m";
const PLAIN: &str = "\x1b[0m";

impl Terminal {
    pub(crate) fn new(settings: &Settings) -> Self {
        let on_terminal = std::io::stderr().is_terminal() && !settings.environment.plain;
        Terminal {
            format: settings.format,
            loudness: settings.loudness,
            color: on_terminal && !settings.environment.no_color,
            progress: on_terminal && settings.format == Format::Text && settings.loudness != Loudness::Quiet,
            collected: Mutex::new(None),
            stdout_failure: Mutex::new(None),
        }
    }

    /// A terminal for messages before the settings are known.
    pub(crate) fn plain(format: Format) -> Self {
        Terminal {
            format,
            loudness: Loudness::Normal,
            color: false,
            progress: false,
            collected: Mutex::new(None),
            stdout_failure: Mutex::new(None),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    pub(crate) fn is_colored(&self) -> bool {
        self.color
    }

    /// Whether it is told what a command does.
    pub(crate) fn tells(&self) -> bool {
        self.loudness >= Loudness::Normal
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.loudness == Loudness::Verbose
    }

    /// Data: what the command was asked for, with its own line ends.
    pub(crate) fn data(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        if let (Err(failure), Ok(mut first)) = (written, self.stdout_failure.lock()) {
            first.get_or_insert(failure);
        }
    }

    /// One line of data.
    pub(crate) fn line(&self, text: &str) {
        self.data(&format!("{text}\n"));
    }

    /// The JSON form of an answer, as one document.
    pub(crate) fn json(&self, value: &serde_json::Value) {
        if let Ok(mut collected) = self.collected.lock()
            && let Some(collected) = collected.as_mut()
        {
            collected.push(value.clone());
            return;
        }
        self.line(&format!("{value:#}"));
    }

    /// From here on answers in JSON are kept, since stdout is one document also where a command does its work several times.
    pub(crate) fn collect(&self, on: bool) {
        if let Ok(mut collected) = self.collected.lock() {
            *collected = on.then(Vec::new);
        }
    }

    /// Writes the answers that were kept, as one list.
    pub(crate) fn finish_collecting(&self) {
        let collected = self.collected.lock().ok().and_then(|mut collected| collected.take());
        if let (true, Some(collected)) = (self.is_json(), collected) {
            self.json(&serde_json::Value::Array(collected));
        }
    }

    /// An answer in the form that was asked for.
    pub(crate) fn answer(&self, text: impl FnOnce() -> String, value: impl FnOnce() -> serde_json::Value) {
        match self.format {
            Format::Text => self.data(&text()),
            Format::Json => self.json(&value()),
        }
    }

    fn error_text(&self, text: &str) {
        // Nowhere is left to report a failure of stderr itself.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    fn painted(&self, color: &str, text: &str) -> String {
        if self.color { format!("{color}{text}{PLAIN}") } else { text.to_string() }
    }

    /// A question, after which the answer is typed on the same line.
    pub(crate) fn prompt(&self, text: &str) {
        self.error_text(text);
    }

    /// What is being done: a verb and its object.
    pub(crate) fn status(&self, verb: &str, what: &str) {
        if self.loudness >= Loudness::Normal {
            self.error_text(&format!("{} {what}\n", self.painted(GREEN, &format!("{verb:>10}"))));
        }
    }

    /// That a command waits for somebody who may not come: said however quiet it is to be, since it would look dead.
    pub(crate) fn waiting(&self, what: &str) {
        self.error_text(&format!("{} {what}\n", self.painted(YELLOW, &format!("{:>10}", "Waiting"))));
    }

    /// Lines of a summary for people, on stderr.
    pub(crate) fn note(&self, text: &str) {
        if self.loudness >= Loudness::Normal {
            self.error_text(&format!("{text}\n"));
        }
    }

    /// Details that only `-v` shows.
    pub(crate) fn detail(&self, text: &str) {
        if self.is_verbose() {
            self.error_text(&format!("{}{text}\n", self.painted(CYAN, "    detail ")));
        }
    }

    pub(crate) fn warning(&self, text: &str) {
        if self.loudness >= Loudness::Normal {
            self.error_text(&format!("{}: {text}\n", self.painted(YELLOW, "warning")));
        }
    }

    /// What can be done about what was just warned of.
    pub(crate) fn hint(&self, text: &str) {
        if self.loudness >= Loudness::Normal {
            self.error_text(&format!("{}: {}\n", self.painted(CYAN, "  hint"), report::text::indented(text, 8)));
        }
    }

    /// Diagnostics that do not end the command (warnings, failures of single tests).
    pub(crate) fn diagnostics(&self, diagnostics: &[exo_compiler::diagnostic::Diagnostic]) {
        // What to do about one of them need not be said again for the next.
        let mut said = BTreeSet::new();
        for diagnostic in diagnostics {
            let mut diagnostic = diagnostic.clone();
            diagnostic.hints.retain(|hint| said.insert(hint.clone()));
            self.error_text(&report::text::render(&diagnostic, self.color));
        }
    }

    /// Everything about a failed command, in the form that was asked for.
    pub(crate) fn failure(&self, failure: &Failure) {
        if self.is_json() {
            // What was kept of other members is not the answer any more.
            self.collect(false);
            self.json(&report::json::failure(failure));
            return;
        }
        self.diagnostics(&failure.diagnostics);
        for (text, _) in &failure.rendered {
            self.error_text(text);
        }
        let code = failure.code.map(|code| format!("[{code}]")).unwrap_or_default();
        let mut text = format!("{}: {}\n", self.painted(RED, &format!("error{code}")), failure.message);
        for note in &failure.notes {
            text.push_str(&format!("  note: {}\n", report::text::indented(note, 8)));
        }
        for hint in &failure.hints {
            text.push_str(&format!("{}: {}\n", self.painted(CYAN, "  hint"), report::text::indented(hint, 8)));
        }
        self.error_text(&text);
    }

    /// Help and usage text of the argument parser, which is data only when it was asked for.
    pub(crate) fn usage(&self, text: &str, asked_for: bool) {
        if asked_for { self.data(text) } else { self.error_text(text) }
    }

    /// A progress bar of `length` steps; invisible unless stderr is a terminal.
    pub(crate) fn progress(&self, verb: &str, length: usize) -> Progress {
        let target = if self.progress { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(length as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{prefix:>10} [{bar:24}] {pos}/{len} {wide_msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(verb.to_string());
        if self.progress {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Progress { bar }
    }

    /// The exit code after all output: a stdout that could not be written is an environment failure.
    ///
    /// A closed pipe is how `exo … | head` ends and no failure.
    pub(crate) fn finish(&self, exit: Exit) -> Exit {
        let failure = self.stdout_failure.lock().ok().and_then(|mut first| first.take());
        match failure {
            Some(failure) if failure.kind() != std::io::ErrorKind::BrokenPipe => {
                self.error_text(&format!("{}: cannot write to stdout: {failure}\n", self.painted(RED, "error")));
                if exit == Exit::Done { Exit::Environment } else { exit }
            }
            _ => exit,
        }
    }
}

/// A running progress bar; gone from the screen when dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn step(&self, what: &str) {
        self.bar.set_message(what.to_string());
        self.bar.inc(1);
    }

    pub(crate) fn message(&self, what: &str) {
        self.bar.set_message(what.to_string());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Does some work; where it takes longer than `told`, says for whom it waits.
pub(crate) fn while_waiting<T>(told: Option<Duration>, what: &str, work: impl FnOnce() -> T) -> T {
    let Some(told) = told else { return work() };
    std::thread::scope(|scope| {
        let (done, end) = channel::<()>();
        scope.spawn(move || {
            if end.recv_timeout(told) == Err(RecvTimeoutError::Timeout) {
                waiting(what);
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// That a command waits for somebody else; told from a thread beside it, which has no terminal.
pub(crate) fn waiting(what: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{:>10} {what}\n", "Waiting").as_bytes());
}

/// A bug of ours, for `main` to tell of when nothing else is left; written without any state of ours.
pub(crate) fn bug(message: &str) {
    let _ = std::io::stderr().lock().write_all(
        format!(
            "error: internal error: {message}\n  hint: this is a bug in exo, not in your code; please report it with this \
             message,\n        the command, the output of `exo doctor --format json` and, if you can, the files it read\n"
        )
        .as_bytes(),
    );
}
