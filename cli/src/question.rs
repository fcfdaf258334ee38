//! What a person types when asked: a login, and a password that the terminal does not show.

use std::io::{BufRead as _, IsTerminal as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::failure::{Failure, Outcome};
use crate::registry::credentials::Secret;
use crate::terminal::Terminal;

/// Whether there is somebody to ask.
pub(crate) fn somebody() -> bool {
    std::io::stdin().is_terminal()
}

/// One line that may be seen.
pub(crate) fn visible(terminal: &Terminal, what: &str) -> Outcome<String> {
    terminal.prompt(what);
    line()
}

/// One line that is not to be seen: typed without an echo, or what standard input begins with.
pub(crate) fn hidden(terminal: &Terminal, what: &str) -> Outcome<Secret> {
    if !somebody() {
        return line().map(Secret::new);
    }
    terminal.prompt(what);
    let silence = Silence::begin()?;
    let typed = line();
    drop(silence);
    terminal.prompt("\n");
    typed.map(Secret::new)
}

/// One line that may be seen; `None` where nobody is there and standard input has no further line.
pub(crate) fn code(terminal: &Terminal, what: &str) -> Outcome<Option<String>> {
    if somebody() {
        return visible(terminal, what).map(Some);
    }
    Ok(read()?.filter(|text| !text.is_empty()))
}

/// The next line, or `None` at the end.
fn read() -> Outcome<Option<String>> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_line(&mut text);
    let read = read.map_err(|error| Failure::environment(format!("cannot read standard input: {error}")))?;
    Ok((read > 0).then(|| text.trim_end_matches(['\n', '\r']).to_string()))
}

fn line() -> Outcome<String> {
    read()?
        .filter(|text| !text.is_empty())
        .ok_or_else(|| Failure::usage("nothing was given on standard input").hint("type it, or pipe it in as one line"))
}

/// A terminal that does not show what is typed, until this is dropped.
struct Silence {
    before: Termios,
}

impl Silence {
    fn begin() -> Outcome<Self> {
        let failed = |error| Failure::environment(format!("cannot keep the terminal from showing a password: {error}"));
        let before = tcgetattr(std::io::stdin()).map_err(failed)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Now, &silent).map_err(failed)?;
        Ok(Silence { before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
