//! Which two procs they are, when a cursor belongs to one and is used with another.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, codes};
use crate::schedule::procedure::Procedure;
use crate::source::{SourceFile, Span};

/// The message for a cursor into `of` that is used with `given`, which does not derive from it.
pub(crate) fn diagnostic(of: &Procedure, given: &Procedure, lead: &str) -> Diagnostic {
    let (mine, theirs) = (&of.ir().name, &given.ir().name);
    let another = if mine == theirs { "another " } else { "" };
    let message =
        format!("{lead}the cursor belongs to {another}`{mine}`, which is no earlier version of this `{theirs}`");
    let mut diagnostic = Diagnostic::error(codes::UNRELATED_CURSOR, message);
    let (from, to) = (&of.ir().span, &given.ir().span);
    if place(from) == place(to) && from.file.is_some() {
        diagnostic = diagnostic.label(from, "both began here");
    } else {
        diagnostic = labelled(diagnostic, from, "the proc of the cursor");
        diagnostic = labelled(diagnostic, to, "the proc that is given");
    }
    diagnostic
        .note(format!("the cursor is of the `{mine}` {}", made(of)))
        .note(format!("given is the `{theirs}` {}", made(given)))
        .hint("find the place again in the proc that is given")
        .hint(
            "a step carries cursors from the version it is given to the one it returns; `partial_eval`, `add_assertion` \
             and `transpose` begin a new history",
        )
}

fn place(span: &Span) -> (Option<*const SourceFile>, u32) {
    (span.file.as_ref().map(Arc::as_ptr), span.start)
}

fn labelled(diagnostic: Diagnostic, span: &Span, text: &str) -> Diagnostic {
    if span.file.is_some() { diagnostic.label(span, text) } else { diagnostic }
}

/// How a version came to be, with its place.
fn made(version: &Procedure) -> String {
    match version.step() {
        Some(step) if step.arguments.place.is_empty() => format!("that `{}` made", step.operator),
        Some(step) => format!("that `{}` made at {}", step.operator, step.arguments.place),
        None => match &version.ir().span {
            Span { file: Some(file), start, .. } => {
                format!("that is defined at {}:{}", file.display_name, file.line_column(*start).0)
            }
            Span { file: None, .. } => "that began a history".to_string(),
        },
    }
}
