//! Texts that are passed to operators and are not well-formed: why they cannot be read, where, and what is read instead.

use std::sync::Arc;

use ruff_python_parser::ParseError;

use crate::diagnostic::{Diagnostic, codes};
use crate::source::{SourceFile, Span};
use crate::typecheck::syntax_error;

/// What a text is read as.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    Expression,
    Window,
    Assertion,
    Pattern,
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Wanted::Expression => "an expression",
            Wanted::Window => "a window",
            Wanted::Assertion => "an assertion",
            Wanted::Pattern => "a pattern",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Wanted::Expression => "an expression is written as in object code, such as `i + 1` or `n / 8 * 8`",
            Wanted::Window => "a window is a buffer with one index or slice for each dimension, such as `x[0:8, i]`",
            Wanted::Assertion => "an assertion is a condition over parameters, such as `n % 8 == 0`",
            Wanted::Pattern => {
                "a pattern is a piece of object code with `_` for anything, such as `for i in _: _`, `x[_] = _`, `x: _` \
                 or `_ + _`"
            }
        }
    }
}

/// The message for a text that the parser does not take.
pub(super) fn malformed(file: &Arc<SourceFile>, wanted: Wanted, error: &ParseError) -> Diagnostic {
    let text = file.text.trim_end();
    let quoted = match text.trim_start().split_once('\n') {
        _ if text.is_empty() => "an empty text".to_string(),
        Some((first, _)) => format!("`{} ...`", first.trim_end()),
        None => format!("`{}`", text.trim_start()),
    };
    let lead = format!("{quoted} cannot be read as {}", wanted.name());
    let at = |place: usize| Span::new(file, place as u32, place as u32 + 1);
    match bracket(text) {
        _ if text.is_empty() => Diagnostic::error(codes::PATTERN, lead).at(&Span::new(file, 0, 0), "here"),
        Some(Bracket::Unclosed { place, opened, closing }) => {
            let closed = format!("{text}{closing}");
            let diagnostic = Diagnostic::error(codes::PATTERN, format!("{lead}: `{opened}` is not closed"))
                .at(&at(place), "opened here");
            match reads(&closed, wanted) {
                true => diagnostic.hint(format!("write `{closed}`")),
                false => diagnostic,
            }
        }
        Some(Bracket::Stray { place, found }) => {
            Diagnostic::error(codes::PATTERN, format!("{lead}: nothing is open that `{found}` closes"))
                .at(&at(place), "here")
        }
        None => {
            let mut diagnostic = syntax_error(file, error);
            diagnostic.code = codes::PATTERN;
            diagnostic.hints.clear();
            let filled = format!("{text} _");
            if text.ends_with(':') && reads(&filled, wanted) {
                diagnostic.message = format!("{lead}: nothing stands after the `:`");
                return diagnostic.hint(format!("write `{filled}`, where `_` is any body"));
            }
            diagnostic.message = format!("{lead}: {}", reason(&diagnostic.message));
            diagnostic
        }
    }
    .hint(wanted.remedy())
}

/// The parser's words, where they speak of Python.
fn reason(said: &str) -> &str {
    match said {
        "unexpected EOF while parsing" => "the text ends too early",
        "unexpected token at the end of an expression" => "something follows the expression",
        "simple statements must be separated by newlines or semicolons" => "something follows where it could end",
        "expected an expression" => "an expression is missing here",
        other => other,
    }
}

fn reads(text: &str, wanted: Wanted) -> bool {
    match wanted {
        Wanted::Pattern => ruff_python_parser::parse_module(text).is_ok(),
        Wanted::Expression | Wanted::Window | Wanted::Assertion => ruff_python_parser::parse_expression(text).is_ok(),
    }
}

enum Bracket {
    /// The innermost bracket that is still open at the end, and what closes all that are.
    Unclosed { place: usize, opened: char, closing: String },
    /// A closing bracket without its opening one.
    Stray { place: usize, found: char },
}

/// What is wrong with the brackets of a text; object code has no strings that could hold some.
fn bracket(text: &str) -> Option<Bracket> {
    let mut open: Vec<(usize, char)> = Vec::new();
    for (place, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => open.push((place, letter)),
            ')' | ']' | '}' if open.last().map(|(_, opened)| closing(*opened)) == Some(letter) => {
                open.pop();
            }
            ')' | ']' | '}' => return Some(Bracket::Stray { place, found: letter }),
            _ => {}
        }
    }
    let (place, opened) = open.last().copied()?;
    let closing = open.iter().rev().map(|(_, opened)| closing(*opened)).collect();
    Some(Bracket::Unclosed { place, opened, closing })
}

fn closing(opened: char) -> char {
    match opened {
        '(' => ')',
        '{' => '}',
        _ => ']',
    }
}
