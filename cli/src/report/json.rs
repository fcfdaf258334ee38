//! Diagnostics and failures as JSON, with places as file, line and column.

use exo_compiler::diagnostic::{Diagnostic, Label, Severity};
use exo_compiler::source::Span;
use serde_json::{Value, json};

use crate::failure::Failure;

/// A span as file, one-based start line, zero-based column in characters, and the same for its end.
fn place(span: &Span) -> Value {
    match &span.file {
        None => Value::Null,
        Some(file) => {
            let (line, column) = file.line_column(span.start);
            let (end_line, end_column) = file.line_column(span.end);
            json!({
                "file": file.display_name, "line": line, "column": column,
                "end_line": end_line, "end_column": end_column,
            })
        }
    }
}

fn label(label: &Label) -> Value {
    json!({ "place": place(&label.span), "text": label.text })
}

pub(crate) fn diagnostic(diagnostic: &Diagnostic) -> Value {
    json!({
        "severity": match diagnostic.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "code": diagnostic.code.0,
        "message": diagnostic.message,
        "primary": diagnostic.primary.as_ref().map(label),
        "labels": diagnostic.labels.iter().map(label).collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "hints": diagnostic.hints,
        "host_stack": diagnostic.host_stack.iter()
            .map(|frame| json!({ "function": frame.function, "place": place(&frame.span) })).collect::<Vec<_>>(),
    })
}

pub(crate) fn diagnostics(list: &[Diagnostic]) -> Value {
    Value::Array(list.iter().map(diagnostic).collect())
}

/// A failed command: `{"error": {...}}` on stdout, so that a program always gets one document.
pub(crate) fn failure(failure: &Failure) -> Value {
    let own = failure.diagnostics.iter().map(diagnostic);
    let children = failure.rendered.iter().map(|(_, value)| value.clone());
    json!({
        "error": {
            "exit": failure.exit.code(),
            "code": failure.code.map(|code| code.0),
            "message": failure.message,
            "notes": failure.notes,
            "hints": failure.hints,
            "diagnostics": own.chain(children).collect::<Vec<_>>(),
        }
    })
}
