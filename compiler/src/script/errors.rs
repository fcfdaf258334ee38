//! Refusals as Starlark errors, and Starlark errors as diagnostics.

use starlark::ErrorKind;

use crate::diagnostic::{Code, Diagnostic, Frame, Refusal, codes};
use crate::script::manual;
use crate::script::wording::{self, Origin, Words};
use crate::source::Span;
use crate::syntax::module::{self, source_name};

/// A refusal on its way through the evaluator. `attempt` catches exactly this.
#[derive(Debug)]
pub(crate) struct RefusalError(pub Refusal);

impl std::fmt::Display for RefusalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.message())
    }
}

impl std::error::Error for RefusalError {}

/// Diagnostics on their way through the evaluator: an import that failed, say. Not caught by `attempt`.
#[derive(Debug)]
pub(crate) struct DiagnosticsError(pub Vec<Diagnostic>);

impl std::fmt::Display for DiagnosticsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.first().map_or("", |diagnostic| diagnostic.message.as_str()))
    }
}

impl std::error::Error for DiagnosticsError {}

pub(crate) fn refused(refusal: Refusal) -> starlark::Error {
    starlark::Error::new_other(RefusalError(refusal))
}

pub(crate) fn failed(diagnostics: Vec<Diagnostic>) -> starlark::Error {
    starlark::Error::new_other(DiagnosticsError(diagnostics))
}

/// The error inside a Starlark error, whatever kind it was wrapped as.
fn inner(error: &starlark::Error) -> &anyhow::Error {
    match error.kind() {
        ErrorKind::Fail(inner)
        | ErrorKind::StackOverflow(inner)
        | ErrorKind::Value(inner)
        | ErrorKind::Function(inner)
        | ErrorKind::Scope(inner)
        | ErrorKind::Parser(inner)
        | ErrorKind::Freeze(inner)
        | ErrorKind::Internal(inner)
        | ErrorKind::Native(inner)
        | ErrorKind::Other(inner) => inner,
        _ => unknown_kind(error),
    }
}

/// `ErrorKind` may grow; a kind we do not know has no payload that we could show.
fn unknown_kind(_: &starlark::Error) -> &'static anyhow::Error {
    static UNKNOWN: std::sync::OnceLock<anyhow::Error> = std::sync::OnceLock::new();
    UNKNOWN.get_or_init(|| anyhow::anyhow!("evaluation failed"))
}

/// The refusal inside an error, if it is one.
pub(crate) fn as_refusal(error: &starlark::Error) -> Option<&Refusal> {
    inner(error).downcast_ref::<RefusalError>().map(|refusal| &refusal.0)
}

/// The diagnostics inside an error that is no refusal and has some of its own.
pub(crate) fn as_failure(error: &starlark::Error) -> Option<&[Diagnostic]> {
    inner(error).downcast_ref::<DiagnosticsError>().map(|failure| failure.0.as_slice())
}

/// An error of evaluation as diagnostics. `locate` turns a Starlark place into one of the user's text.
pub(crate) fn diagnostics(
    error: &starlark::Error,
    locate: &dyn Fn(&starlark::codemap::FileSpan) -> Option<Span>,
) -> Vec<Diagnostic> {
    let stack = host_stack(error, locate);
    // A limit has no place of its own; the innermost call that has one is where it was exceeded.
    let innermost = || stack.iter().rev().map(|frame| &frame.span).find(|span| span.file.is_some()).cloned();
    let place = error.span().and_then(locate).or_else(innermost);
    let written = place.as_ref().and_then(text_of).unwrap_or_default();
    let mut found = match (inner(error).downcast_ref::<DiagnosticsError>(), as_refusal(error)) {
        (Some(DiagnosticsError(found)), _) => found.clone(),
        (None, Some(refusal)) => refusal.diagnostics.clone(),
        (None, None) => vec![host_error(error, written)],
    };
    for diagnostic in &mut found {
        let calls = place.iter().chain(stack.iter().rev().map(|frame| &frame.span));
        point_into_call(diagnostic, calls);
        // A step of a schedule leaves statements that stand in no text; where it was asked for is better than nowhere.
        if diagnostic.primary.as_ref().is_none_or(|label| label.span.file.is_none())
            && let Some(place) = &place
        {
            *diagnostic = diagnostic.clone().at(place, "");
        }
        if diagnostic.host_stack.is_empty() {
            diagnostic.host_stack = stack.clone();
        }
    }
    found
}

/// A pattern or fragment is read as a text of its own. Where a call spells it out, the caret belongs there.
fn point_into_call<'a>(diagnostic: &mut Diagnostic, calls: impl Iterator<Item = &'a Span>) {
    let Some(label) = &mut diagnostic.primary else { return };
    let Some(passed) = label.span.file.clone().filter(|file| file.is_passed_text()) else { return };
    let Span { start, end, .. } = label.span;
    let found = calls.filter_map(|call| {
        let file = call.file.as_ref().filter(|file| !file.is_passed_text())?;
        let written = file.text.get(call.start as usize..call.end as usize)?;
        // A text of one letter may occur in other words, so it must open a string.
        let opens = |at: usize| written.get(..at).is_some_and(|before| before.trim_end().ends_with(['"', '\'']));
        let (at, _) = written.match_indices(passed.text.as_str()).find(|(at, _)| opens(*at))?;
        let at = call.start + at as u32;
        Some(Span::new(file, at + start, at + end))
    });
    if let Some(span) = { found }.next().filter(|_| !passed.text.is_empty()) {
        label.span = span;
        return;
    }
    // The text was put together by host code.
    let (text, column) = (passed.text.clone(), passed.line_column(start).1 + 1);
    diagnostic.primary = None;
    diagnostic.notes.insert(0, format!("read from the text `{text}`, at character {column}"));
}

fn host_stack(error: &starlark::Error, locate: &dyn Fn(&starlark::codemap::FileSpan) -> Option<Span>) -> Vec<Frame> {
    let frames = error.call_stack().clone().into_frames();
    // The evaluator starts each call from outside with a frame of its own, which calls nothing.
    let frames = frames.into_iter().filter(|frame| frame.name != "None");
    let mut stack: Vec<Frame> = Vec::new();
    for frame in frames {
        // Host code between braces is called by the definition around it.
        let is_splice =
            frame.name.ends_with("lambda") && stack.last().is_some_and(|last| last.function == "definition");
        stack.push(Frame {
            function: if is_splice { "{...}".to_string() } else { written_name(&frame.name) },
            span: frame.location.as_ref().and_then(locate).unwrap_or_default(),
        });
    }
    stack
}

/// The user's text at a place.
fn text_of(span: &Span) -> Option<&str> {
    span.file.as_ref()?.text.get(span.start as usize..span.end as usize)
}

/// The name of a function as the user wrote it. Values that cannot be called have no name, only their text.
fn written_name(name: &str) -> String {
    if name == module::CONFIG {
        return "a config".to_string();
    }
    if name.starts_with("__python_") {
        return "with python".to_string();
    }
    if let Some((proc, _)) = name.strip_prefix("def ").and_then(|text| text.split_once('(')) {
        return proc.to_string();
    }
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ' '));
    if is_name && !name.starts_with(|c: char| c.is_ascii_digit()) {
        source_name(name).to_string()
    } else {
        "a call".to_string()
    }
}

/// An error that no code of ours raised: the evaluator's own, with limits told apart. `written` is the text it is about.
fn host_error(error: &starlark::Error, written: &str) -> Diagnostic {
    let text = inner(error).to_string();
    match error.kind() {
        ErrorKind::StackOverflow(_) => limit("call depth", "recursion without end, or deeper than the limit"),
        ErrorKind::Fail(_) => failed_on_purpose(&text),
        _ if text.contains("tick") => limit("steps", "a loop or recursion that does not end"),
        _ if text.to_lowercase().contains("heap memory limit") => limit("memory", "a value that keeps growing"),
        _ if text.contains("ancel") => limit("time", "a loop or recursion that does not end"),
        _ => {
            let Words { message, hint } = words(error, written);
            let diagnostic = Diagnostic::error(code_of(error), message);
            hint.into_iter().fold(diagnostic, Diagnostic::hint)
        }
    }
}

/// What a user is told about an error of the evaluator.
pub(crate) fn words(error: &starlark::Error, written: &str) -> Words {
    let text = inner(error).to_string();
    if let ErrorKind::Fail(_) = error.kind() {
        return Words { message: text.strip_prefix("fail:").unwrap_or(&text).trim().to_string(), hint: None };
    }
    let first = text.lines().next().unwrap_or("evaluation failed");
    let frames = error.call_stack().clone().into_frames();
    let callee = frames.last().map(|frame| written_name(&frame.name));
    let origin = Origin { written, callee: callee.as_deref(), parameters: &manual::parameters };
    wording::of(first, &origin).unwrap_or_else(|| Words { message: lower_first(first), hint: None })
}

/// What `fail(...)` said: its first line is the message, the others explain.
fn failed_on_purpose(text: &str) -> Diagnostic {
    let text = text.strip_prefix("fail:").unwrap_or(text).trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let diagnostic = Diagnostic::error(codes::FAILED, if first.is_empty() { "`fail` was called" } else { first });
    if rest.trim().is_empty() { diagnostic } else { diagnostic.note(rest) }
}

fn code_of(error: &starlark::Error) -> Code {
    match error.kind() {
        // `int("x")` counts as parsing too.
        ErrorKind::Parser(_) if error.call_stack().is_empty() => codes::SYNTAX,
        ErrorKind::Scope(_) => codes::UNDEFINED_NAME,
        _ => codes::HOST,
    }
}

pub(crate) fn limit(what: &str, cause: &str) -> Diagnostic {
    Diagnostic::error(codes::LIMIT, format!("evaluation exceeded the limit on {what}"))
        .note(format!("the usual cause is {cause}"))
        .hint("if the program is right, raise the limit with `--limit steps=N,depth=N,memory=MiB,seconds=N`")
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        // `ABC` and the like stay as they are.
        (Some(first), second) if second.is_none_or(|c| !c.is_uppercase()) => {
            first.to_lowercase().collect::<String>() + chars.as_str()
        }
        _ => text.to_string(),
    }
}
