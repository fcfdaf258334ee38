//! Why a command ended without success: the exit code, the message, and what the user can do.

use exo_compiler::diagnostic::{Code, Diagnostic};

/// The exit codes of `exo`, each with one meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// The user's input was refused, with a diagnostic.
    Refused,
    /// The command line itself is wrong.
    Usage,
    /// Disk, missing C compiler, unreadable files.
    Environment,
    /// A pack did not verify.
    VerificationFailed,
    /// A bug of ours.
    Bug,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Refused => 1,
            Exit::Usage => 2,
            Exit::Environment => 3,
            Exit::VerificationFailed => 4,
            Exit::Bug => 101,
        }
    }
}

/// A failed command. `message` starts lower-case and is one phrase; remedies are in `hints`.
///
/// Diagnostics of the compiler come first in the output, then the message.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) code: Option<Code>,
    pub(crate) message: String,
    pub(crate) notes: Vec<String>,
    pub(crate) hints: Vec<String>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Diagnostics of a child process, already laid out as text, with their JSON form.
    pub(crate) rendered: Vec<(String, serde_json::Value)>,
}

/// What every fallible function of the command line returns.
pub(crate) type Outcome<T> = Result<T, Box<Failure>>;

impl Failure {
    fn new(exit: Exit, message: impl Into<String>) -> Box<Self> {
        Box::new(Failure {
            exit,
            code: None,
            message: message.into(),
            notes: Vec::new(),
            hints: Vec::new(),
            diagnostics: Vec::new(),
            rendered: Vec::new(),
        })
    }

    pub(crate) fn refused(message: impl Into<String>) -> Box<Self> {
        Failure::new(Exit::Refused, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Box<Self> {
        Failure::new(Exit::Usage, message)
    }

    pub(crate) fn environment(message: impl Into<String>) -> Box<Self> {
        Failure::new(Exit::Environment, message)
    }

    pub(crate) fn verification(message: impl Into<String>) -> Box<Self> {
        Failure::new(Exit::VerificationFailed, message)
    }

    pub(crate) fn bug(message: impl Into<String>) -> Box<Self> {
        Failure::new(Exit::Bug, message)
            .hint("this is a bug in exo; please report it with the command, the message and `exo doctor --format json`")
    }

    pub(crate) fn code(mut self: Box<Self>, code: Code) -> Box<Self> {
        self.code = Some(code);
        self
    }

    pub(crate) fn note(mut self: Box<Self>, note: impl Into<String>) -> Box<Self> {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn diagnostics(mut self: Box<Self>, diagnostics: Vec<Diagnostic>) -> Box<Self> {
        self.diagnostics.extend(diagnostics);
        self
    }
}

/// "did you mean `a`, `b` or `c`?", or nothing when there is nothing near.
pub(crate) fn did_you_mean(nearest: &[String]) -> Option<String> {
    let quoted: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
    let (last, rest) = quoted.split_last()?;
    Some(match rest {
        [] => format!("did you mean {last}?"),
        _ => format!("did you mean {} or {last}?", rest.join(", ")),
    })
}

/// The names most similar to `wanted`, best first, at most three.
pub(crate) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    exo_index::name::nearest(wanted, known).into_iter().map(str::to_string).collect()
}

/// `1 claim`, `2 claims`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn suggestion_reads_as_a_sentence() {
        assert_eq!(did_you_mean(&[]), None);
        assert_eq!(did_you_mean(&["a".into()]).unwrap(), "did you mean `a`?");
        assert_eq!(did_you_mean(&["a".into(), "b".into(), "c".into()]).unwrap(), "did you mean `a`, `b` or `c`?");
    }
}
