//! A diagnostic as text: the source excerpt, the host call stack, notes and hints.

use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Renderer, Snippet};
use exo_compiler::diagnostic::{Diagnostic, Label, Severity};
use exo_compiler::source::{SourceFile, Span};

/// Frames shown at each end of a long host call stack; the middle is counted.
const FRAMES_AT_EACH_END: usize = 8;

/// Lays out one diagnostic, ending with a line end.
pub(crate) fn render(diagnostic: &Diagnostic, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let stack = stack(diagnostic);
    let notes = stack.iter().chain(&diagnostic.notes).map(|note| (Level::NOTE, note));
    let hints = diagnostic.hints.iter().map(|hint| (Level::HELP.with_name("hint"), hint));
    let remarks = notes.chain(hints);
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.0);
    let snippets = snippets(diagnostic);
    let groups: Vec<Group<'_>> = if snippets.is_empty() {
        // Without an excerpt there is no margin to align the remarks with, so each stands by itself.
        let remarks = remarks.map(|(level, text)| Group::with_title(level.secondary_title(text.trim_end())));
        std::iter::once(Group::with_title(title)).chain(remarks).collect()
    } else {
        let remarks = remarks.map(|(level, text)| Element::from(level.message(text.trim_end())));
        vec![title.elements(snippets.into_iter().map(Element::from).chain(remarks))]
    };
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let rendered: Vec<String> = groups.into_iter().map(|group| renderer.render(&[group])).collect();
    format!("{}\n\n", rendered.join("\n"))
}

/// One snippet for each file that the diagnostic points into, the primary one first.
fn snippets(diagnostic: &Diagnostic) -> Vec<Snippet<'_, Annotation<'_>>> {
    let primary = diagnostic.primary.iter().map(|label| (label, AnnotationKind::Primary));
    let others = diagnostic.labels.iter().map(|label| (label, AnnotationKind::Context));
    let mut files: Vec<(&Arc<SourceFile>, Vec<Annotation<'_>>)> = Vec::new();
    for (label, kind) in primary.chain(others) {
        let Some(file) = &label.span.file else { continue };
        let annotation = annotation(label, kind, file);
        match files.iter_mut().find(|(known, _)| Arc::ptr_eq(known, file)) {
            Some((_, annotations)) => annotations.push(annotation),
            None => files.push((file, vec![annotation])),
        }
    }
    files
        .into_iter()
        .map(|(file, annotations)| {
            Snippet::source(file.text.as_str()).path(file.display_name.as_str()).annotations(annotations)
        })
        .collect()
}

fn annotation<'a>(label: &'a Label, kind: AnnotationKind, file: &SourceFile) -> Annotation<'a> {
    let span = kind.span(range(&label.span, file));
    if label.text.is_empty() { span } else { span.label(label.text.as_str()) }
}

/// The span inside its text, at character boundaries: a wrong span must not lose the message.
fn range(span: &Span, file: &SourceFile) -> std::ops::Range<usize> {
    let boundary = |mut at: usize| {
        at = at.min(file.text.len());
        while !file.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = boundary(span.start as usize);
    // A definition's span can be long; its first line is the place, the excerpt shows no more.
    let end = boundary(span.end.max(span.start) as usize);
    let first_line = file.text.get(start..end).and_then(|text| text.find('\n')).map_or(end, |at| start + at);
    start..first_line.max(start)
}

fn stack(diagnostic: &Diagnostic) -> Option<String> {
    if diagnostic.host_stack.is_empty() {
        return None;
    }
    let frames: Vec<String> =
        diagnostic.host_stack.iter().map(|frame| format!("  {}in {}", place(&frame.span), frame.function)).collect();
    let lines = if frames.len() > 2 * FRAMES_AT_EACH_END {
        let left_out = frames.len() - 2 * FRAMES_AT_EACH_END;
        let first = frames.iter().take(FRAMES_AT_EACH_END).cloned();
        let last = frames.iter().skip(frames.len() - FRAMES_AT_EACH_END).cloned();
        first.chain(std::iter::once(format!("  … {left_out} more calls"))).chain(last).collect()
    } else {
        frames
    };
    Some(format!("host calls, innermost last:\n{}", lines.join("\n")))
}

/// `file:line:column ` with both numbers from one, as in the excerpts; empty for calls that no text of the user made.
fn place(span: &Span) -> String {
    match &span.file {
        Some(file) => {
            let (line, column) = file.line_column(span.start);
            format!("{}:{line}:{} ", file.display_name, column + 1)
        }
        None => String::new(),
    }
}

/// Text whose lines after the first are indented by `columns`.
pub(crate) fn indented(text: &str, columns: usize) -> String {
    text.trim_end().replace('\n', &format!("\n{}", " ".repeat(columns)))
}

/// Characters in a line of prose.
pub(crate) const WIDTH: usize = 100;

/// Text in lines of at most `width` characters.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use exo_compiler::diagnostic::{Frame, codes};

    use super::*;

    fn file() -> Arc<SourceFile> {
        SourceFile::new("src/lib.exo", "@proc\ndef f(n: size, x: f32[n]):\n    x[n] = 0.0\n")
    }

    #[test]
    fn shows_place_reason_and_remedy() {
        let file = file();
        let at = file.text.find("x[n]").unwrap() as u32;
        let diagnostic = Diagnostic::error(codes::BOUNDS, "access may be out of bounds")
            .at(&Span::new(&file, at, at + 4), "index n of x, which has n elements")
            .note("n < n does not hold for n = 1")
            .hint("write x[n - 1]");
        let text = render(&diagnostic, false);
        assert!(text.contains("error[E0201]: access may be out of bounds"), "{text}");
        assert!(text.contains("src/lib.exo:3:5"), "{text}");
        assert!(text.contains("index n of x, which has n elements"), "{text}");
        assert!(text.contains("hint: write x[n - 1]"), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
    }

    #[test]
    fn a_span_outside_the_text_keeps_the_message() {
        let file = file();
        let diagnostic = Diagnostic::error(codes::TYPE, "wrong").at(&Span::new(&file, 9000, 9001), "here");
        assert!(render(&diagnostic, false).contains("error[E0101]: wrong"));
    }

    #[test]
    fn a_long_stack_is_shortened_in_the_middle() {
        let file = file();
        let mut diagnostic = Diagnostic::error(codes::LIMIT, "call depth reached");
        diagnostic.host_stack =
            (0..100).map(|i| Frame { function: format!("f{i}"), span: Span::new(&file, 0, 1) }).collect();
        let text = render(&diagnostic, false);
        assert!(text.contains("… 84 more calls"), "{text}");
        assert!(text.contains("in f0") && text.contains("in f99") && !text.contains("in f50"), "{text}");
    }

    #[test]
    fn prose_is_wrapped_at_words() {
        assert_eq!(wrapped("aa bb  cc\ndd", 5), "aa bb\ncc dd");
        assert_eq!(wrapped("", 5), "");
    }
}
