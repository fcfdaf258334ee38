//! Changes to a module's text that keep its lines, and the map from the changed text back to the source.

use std::collections::BTreeSet;
use std::sync::Arc;

use ruff_text_size::TextRange;

use crate::source::{SourceFile, Span};
use crate::syntax::module::imports::ImportedNames;
use crate::syntax::module::object_names::Mention;
use crate::syntax::module::strings::quoted;
use crate::syntax::module::{SplitModule, host_name};

/// One replacement. The lines of `range` are kept: newlines that `pieces` lack are added before `tail`.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) range: TextRange,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) tail: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text(String),
    /// Source text with edits of its own.
    Source {
        range: TextRange,
        edits: Vec<Edit>,
    },
    /// Entries of a dict: what a definition or quote mentions of the host, as far as it is visible there.
    Captures(usize),
    Import(usize),
}

impl Edit {
    pub(crate) fn text(range: TextRange, text: impl Into<String>) -> Self {
        Edit { range, pieces: vec![Piece::Text(text.into())], tail: "" }
    }
}

/// Starlark text and where each byte of it comes from.
#[derive(Debug)]
pub struct Rendered {
    pub text: String,
    file: Arc<SourceFile>,
    segments: Vec<Segment>,
}

/// A run of rendered text: copied from `source`, or made for it.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u32,
    source: TextRange,
    copied: bool,
}

impl Rendered {
    /// The source span of a byte range of the Starlark text.
    pub fn span(&self, begin: u32, end: u32) -> Span {
        let start = self.source(begin).map_or(0, |(start, _)| start);
        let end = self.source(end.saturating_sub(1).max(begin)).map_or(start, |(_, end)| end);
        Span::new(&self.file, start, end.max(start))
    }

    /// The source span of the character at a zero-based line and column of the Starlark text.
    pub fn span_at(&self, line: usize, column: usize) -> Span {
        let mut lines = self.text.split_inclusive('\n');
        let before: usize = lines.by_ref().take(line).map(str::len).sum();
        let within: usize = lines.next().unwrap_or("").chars().take(column).map(char::len_utf8).sum();
        let offset = (before + within) as u32;
        self.span(offset, offset + 1)
    }

    /// First byte and end in the source of what stands at a rendered byte.
    fn source(&self, offset: u32) -> Option<(u32, u32)> {
        let at = self.segments.partition_point(|segment| segment.start <= offset).checked_sub(1)?;
        let segment = self.segments.get(at)?;
        let (start, end) = (segment.source.start().to_u32(), segment.source.end().to_u32());
        match segment.copied {
            true => {
                let start = (start + (offset - segment.start)).min(end);
                Some((start, (start + 1).min(end)))
            }
            false => Some((start, end)),
        }
    }
}

/// Writes the changed text.
pub(crate) struct Renderer<'a> {
    module: &'a SplitModule,
    /// Names that each star import brings.
    exports: &'a [Vec<String>],
    star_names: BTreeSet<&'a str>,
    text: String,
    segments: Vec<Segment>,
}

impl<'a> Renderer<'a> {
    pub(crate) fn new(module: &'a SplitModule, exports: &'a [Vec<String>]) -> Self {
        let star_names = exports.iter().flatten().map(String::as_str).collect();
        Renderer { module, exports, star_names, text: String::new(), segments: Vec::new() }
    }

    pub(crate) fn module(mut self, edits: &[Edit]) -> Rendered {
        let end = ruff_text_size::TextSize::try_from(self.module.file.text.len()).unwrap_or_default();
        self.source(TextRange::new(0.into(), end), edits);
        Rendered { text: self.text, file: self.module.file.clone(), segments: self.segments }
    }

    fn push(&mut self, text: &str, source: TextRange, copied: bool) {
        if !text.is_empty() {
            self.segments.push(Segment { start: self.text.len() as u32, source, copied });
            self.text.push_str(text);
        }
    }

    fn slice(&self, range: TextRange) -> &'a str {
        self.module.file.text.get(range.start().to_usize()..range.end().to_usize()).unwrap_or("")
    }

    fn source(&mut self, range: TextRange, edits: &[Edit]) {
        let mut edits: Vec<&Edit> = edits.iter().collect();
        // Stable: edits of one place stay in the order in which they were found, outer ones first.
        edits.sort_by_key(|edit| edit.range.start());
        let mut at = range.start();
        for edit in edits {
            if edit.range.start() > at {
                let copied = TextRange::new(at, edit.range.start());
                self.push(self.slice(copied), copied, true);
            }
            self.edit(edit);
            at = at.max(edit.range.end());
        }
        if range.end() > at {
            let copied = TextRange::new(at, range.end());
            self.push(self.slice(copied), copied, true);
        }
    }

    fn edit(&mut self, edit: &Edit) {
        let before = self.text.len();
        for piece in &edit.pieces {
            match piece {
                Piece::Text(text) => self.push(text, edit.range, false),
                Piece::Source { range, edits } => self.source(*range, edits),
                Piece::Captures(index) => self.captures(*index, edit.range),
                Piece::Import(index) => {
                    let line = self.import(*index);
                    self.push(&line, edit.range, false);
                }
            }
        }
        let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
        let written = lines(self.text.get(before..).unwrap_or(""));
        let missing = lines(self.slice(edit.range)).saturating_sub(written);
        self.push(&"\n".repeat(missing), edit.range, false);
        self.push(edit.tail, edit.range, false);
    }

    /// `"n": n, "mems[0]": mems[0]`, with the names that are visible there.
    /// Each value has the place where the object code mentions it.
    fn captures(&mut self, index: usize, range: TextRange) {
        let Some(mentions) = self.module.captures.get(index) else { return };
        let mut separator = "";
        for mention in mentions {
            if self.is_visible(mention) {
                self.push(&format!("{separator}{}: ", quoted(&mention.key)), range, false);
                self.push(&mention.value, mention.range, false);
                separator = ", ";
            }
        }
    }

    fn is_visible(&self, mention: &Mention) -> bool {
        let needed = |name: &String| self.star_names.contains(name.as_str());
        mention.unbound.iter().all(needed)
    }

    fn import(&self, index: usize) -> String {
        let Some(import) = self.module.imports.get(index) else { return "pass".to_string() };
        let names: Vec<String> = match &import.names {
            ImportedNames::Module { local } => {
                return format!("{} = {}({})", host_name(local), super::MODULE, quoted(&import.module));
            }
            ImportedNames::Named(names) => names
                .iter()
                .map(|name| format!("{} = {}", host_name(&name.local), quoted(host_name(&name.name))))
                .collect(),
            ImportedNames::All => {
                let exported = self.exports.get(index).map_or([].as_slice(), Vec::as_slice);
                exported.iter().map(|name| format!("{} = {}", host_name(name), quoted(host_name(name)))).collect()
            }
        };
        match names.is_empty() {
            true => "pass".to_string(),
            false => format!("load({}, {})", quoted(&import.module), names.join(", ")),
        }
    }
}

/// Source text with edits applied, on one line. The edits hold no definitions or imports.
pub(crate) fn flatten(source: &str, range: TextRange, edits: &[Edit]) -> String {
    let slice = |range: TextRange| source.get(range.start().to_usize()..range.end().to_usize()).unwrap_or("");
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.range.start());
    let mut text = String::new();
    let mut at = range.start();
    for edit in edits {
        if edit.range.start() > at {
            text.push_str(slice(TextRange::new(at, edit.range.start())));
        }
        for piece in &edit.pieces {
            match piece {
                Piece::Text(made) => text.push_str(made),
                Piece::Source { range, edits } => text.push_str(&flatten(source, *range, edits)),
                Piece::Captures(_) | Piece::Import(_) => {}
            }
        }
        text.push_str(edit.tail);
        at = at.max(edit.range.end());
    }
    if range.end() > at {
        text.push_str(slice(TextRange::new(at, range.end())));
    }
    text
}
