//! Source text and the places in it: file ids, byte spans, line and column look-up.

use std::sync::Arc;

/// The name of a module as the compiler sees it: the pack it belongs to and its path inside that pack.
///
/// `pack` is the import name of the pack (`neon_conv2d`), or empty for a file that is run on its own.
/// `path` is the dotted path below `src/` (`lib` is the face of the pack), or a test's `tests.name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId {
    pub pack: Arc<str>,
    pub path: Arc<str>,
}

impl ModuleId {
    pub fn new(pack: &str, path: &str) -> Self {
        ModuleId { pack: pack.into(), path: path.into() }
    }
}

impl std::fmt::Display for ModuleId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&*self.pack, &*self.path) {
            ("", path) => f.write_str(path),
            (pack, "lib") => f.write_str(pack),
            (pack, path) => write!(f, "{pack}.{path}"),
        }
    }
}

/// One module's text, with what a reader calls it.
#[derive(Debug)]
pub struct SourceFile {
    /// What diagnostics print before the line number: a path relative to the project, or `pack/src/lib.exo`.
    pub display_name: String,
    pub text: String,
    line_starts: Vec<u32>,
}

impl SourceFile {
    pub fn new(display_name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at as u32 + 1))
            .collect();
        Arc::new(SourceFile { display_name: display_name.into(), text, line_starts })
    }

    /// Whether the text was handed to a function, such as a pattern, rather than read from a file.
    pub fn is_passed_text(&self) -> bool {
        self.display_name.starts_with('<')
    }

    /// One-based line and zero-based column (in characters) of a byte offset.
    pub fn line_column(&self, offset: u32) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0) as usize;
        let end = (offset as usize).min(self.text.len());
        let column = self.text.get(start..end).map_or(0, |before| before.chars().count());
        (line, column)
    }

    /// Byte offset at which a one-based line starts; the end of the text for a line past it.
    pub fn line_start(&self, line: usize) -> u32 {
        self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len() as u32)
    }
}

/// A byte range of one source file. A span without file marks code that the compiler made.
#[derive(Clone, Default)]
pub struct Span {
    pub file: Option<Arc<SourceFile>>,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(file: &Arc<SourceFile>, start: u32, end: u32) -> Self {
        Span { file: Some(file.clone()), start, end }
    }

    /// The span of code that has no text of its own.
    pub fn none() -> Self {
        Span::default()
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.file {
            None => f.write_str("<made>"),
            Some(file) => {
                let (line, column) = file.line_column(self.start);
                write!(f, "{}:{line}:{column}", file.display_name)
            }
        }
    }
}
