//! Failures as data: what went wrong, where, why, and what to do about it. Rendering is the caller's.

use crate::source::Span;

/// A stable error code with a page of its own (`exo explain E0101`).
///
/// Codes are declared once, in `diagnostic/codes.rs`.
pub use codes::Code;

pub mod codes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

/// A place that belongs to a diagnostic, with what is to be said about it.
#[derive(Clone, Debug)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// One frame of the host (Starlark) call stack at the time of a refusal, innermost last.
#[derive(Clone, Debug)]
pub struct Frame {
    pub function: String,
    pub span: Span,
}

/// One message for a person. Lower-case start, one phrase, no final stop; remedies go into `hints`.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    pub message: String,
    /// Where it happened.
    pub primary: Option<Label>,
    pub labels: Vec<Label>,
    /// Facts that explain: the condition that could not be shown, a counterexample, the proc with a caret.
    pub notes: Vec<String>,
    /// What the user can do.
    pub hints: Vec<String>,
    pub host_stack: Vec<Frame>,
}

impl Diagnostic {
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            primary: None,
            labels: Vec::new(),
            notes: Vec::new(),
            hints: Vec::new(),
            host_stack: Vec::new(),
        }
    }

    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message) }
    }

    pub fn at(mut self, span: &Span, text: impl Into<String>) -> Self {
        self.primary = Some(Label { span: span.clone(), text: text.into() });
        self
    }

    pub fn label(mut self, span: &Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span: span.clone(), text: text.into() });
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hints.push(text.into());
        self
    }
}

/// What a library sees of a refusal (`attempt(...).error`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    Scheduling,
    InvalidCursor,
    Parse,
    Type,
    Bounds,
    Memory,
    Argument,
    Unequal,
}

impl RefusalKind {
    pub fn name(self) -> &'static str {
        match self {
            RefusalKind::Scheduling => "scheduling",
            RefusalKind::InvalidCursor => "invalid_cursor",
            RefusalKind::Parse => "parse",
            RefusalKind::Type => "type",
            RefusalKind::Bounds => "bounds",
            RefusalKind::Memory => "memory",
            RefusalKind::Argument => "argument",
            RefusalKind::Unequal => "unequal",
        }
    }
}

/// A step or definition that was refused: an expected outcome that a library can react to.
///
/// `diagnostics` has at least one entry; the first one is the headline.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub kind: RefusalKind,
    /// The operator that refused, or the name of the refused proc.
    pub operator: String,
    pub diagnostics: Vec<Diagnostic>,
}

impl Refusal {
    pub fn new(kind: RefusalKind, operator: impl Into<String>, diagnostic: Diagnostic) -> Self {
        Refusal { kind, operator: operator.into(), diagnostics: vec![diagnostic] }
    }

    /// Adds what the user can do to the headline.
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.diagnostics.first_mut() {
            first.hints.push(text.into());
        }
        self
    }

    pub fn message(&self) -> &str {
        self.diagnostics.first().map_or("", |d| d.message.as_str())
    }
}

/// A number of things: `1 dimension`, `2 dimensions`, `2 indices`.
pub fn counted(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix("ex")) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ices"),
        (_, None) => format!("{number} {noun}s"),
    }
}

/// Up to three known names that a mistyped one may have meant, nearest first.
pub fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let length = wanted.chars().count();
    // A name of which nothing is left is not near.
    let limit = (length / 3 + 1).min(length.saturating_sub(1));
    // Nor is one of which less than half is the same: `min` and `i`.
    let is_near = |distance: usize, name: &str| distance <= limit && 2 * distance <= length.max(name.chars().count());
    let mut near: Vec<(usize, &str)> =
        known.map(|name| (distance(wanted, name), name)).filter(|(d, name)| is_near(*d, name)).collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name.to_string()).collect()
}

/// Edit distance: insertions, deletions and substitutions (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, up) in b.iter().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(x != *y)).min(up + 1).min(left + 1);
            diagonal = *up;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{counted, nearest};

    #[test]
    fn one_thing_is_not_plural() {
        assert_eq!(counted(0, "argument"), "0 arguments");
        assert_eq!(counted(1, "argument"), "1 argument");
        assert_eq!(counted(2, "index"), "2 indices");
    }

    #[test]
    fn names_are_near_when_most_of_them_is_the_same() {
        assert_eq!(nearest("divide_lop", ["divide_loop", "i"].into_iter()), ["divide_loop"]);
        assert_eq!(nearest("rage", ["range", "x"].into_iter()), ["range"]);
        assert_eq!(nearest("x1", ["x", "y"].into_iter()), ["x"]);
        for (wanted, known) in [("min", "i"), ("exp", "x"), ("len", "n"), ("z", "x")] {
            assert!(nearest(wanted, [known].into_iter()).is_empty(), "{wanted} and {known}");
        }
    }
}
