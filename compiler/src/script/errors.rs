//! Refusals as Starlark errors, and Starlark errors as diagnostics.

use starlark::ErrorKind;

use crate::diagnostic::{Code, Diagnostic, Frame, Refusal, codes};
use crate::schedule::registry;
use crate::source::Span;
use crate::syntax::module::{host_name, source_name};

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

/// An error of evaluation as diagnostics. `locate` turns a Starlark place into one of the user's text.
pub(crate) fn diagnostics(
    error: &starlark::Error,
    locate: &dyn Fn(&starlark::codemap::FileSpan) -> Option<Span>,
) -> Vec<Diagnostic> {
    let stack = host_stack(error, locate);
    // A limit has no place of its own; the innermost call that has one is where it was exceeded.
    let innermost = || stack.iter().rev().map(|frame| &frame.span).find(|span| span.file.is_some()).cloned();
    let place = error.span().and_then(locate).or_else(innermost);
    let mut found = match (inner(error).downcast_ref::<DiagnosticsError>(), as_refusal(error)) {
        (Some(DiagnosticsError(found)), _) => found.clone(),
        (None, Some(refusal)) => refusal.diagnostics.clone(),
        (None, None) => vec![host_error(error)],
    };
    for diagnostic in &mut found {
        let calls = place.iter().chain(stack.iter().rev().map(|frame| &frame.span));
        point_into_call(diagnostic, calls);
        if diagnostic.primary.is_none()
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
    frames
        .map(|frame| Frame {
            function: written_name(&frame.name),
            span: frame.location.as_ref().and_then(locate).unwrap_or_default(),
        })
        .collect()
}

/// The name of a function as the user wrote it.
fn written_name(name: &str) -> String {
    match name.starts_with("__python_") {
        true => "with python".to_string(),
        false => source_name(name).to_string(),
    }
}

/// An error that no code of ours raised: the evaluator's own, with limits told apart.
fn host_error(error: &starlark::Error) -> Diagnostic {
    let text = inner(error).to_string().replace(host_name("load"), "load");
    let message = lower_first(text.lines().next().unwrap_or("evaluation failed"));
    match error.kind() {
        ErrorKind::StackOverflow(_) => limit("call depth", "recursion without end, or deeper than the limit"),
        ErrorKind::Fail(_) => failed_on_purpose(&text),
        _ if text.contains("tick") => limit("steps", "a loop or recursion that does not end"),
        _ if text.to_lowercase().contains("heap memory limit") => limit("memory", "a value that keeps growing"),
        _ if text.contains("ancel") => limit("time", "a loop or recursion that does not end"),
        _ => with_remedy(Diagnostic::error(code_of(error), message)),
    }
}

/// Adds what to write instead, for mistakes about the names of operators.
fn with_remedy(diagnostic: Diagnostic) -> Diagnostic {
    let message = diagnostic.message.clone();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.as_slice() {
        ["proc", method] if registry::find(method).is_some() => {
            diagnostic.hint(format!("operators are functions: write `{method}(p, ...)` instead of `p.{method}(...)`"))
        }
        [unknown] if diagnostic.code == codes::UNDEFINED_NAME => match registry::known_as(unknown) {
            Some(operator) => diagnostic.hint(format!("the operator is called `{operator}`")),
            None => diagnostic.hint(
                "operators are listed by `exo help operators`; names of packs are imported: `from PACK import NAME`",
            ),
        },
        _ => diagnostic,
    }
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
        ErrorKind::Parser(_) => codes::SYNTAX,
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
