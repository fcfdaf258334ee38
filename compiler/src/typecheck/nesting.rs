//! A bound on nesting, checked before parsing: deeper text would overflow the stack of recursive parsers and walks.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, codes};
use crate::source::{SourceFile, Span};

/// Levels that one place may be nested: blocks, brackets and operators together. Well above what a definition may
/// nest, since its printed text counts brackets besides operators and must be readable again.
pub const MAX_NESTING: usize = 1000;

/// Refuses text that may parse to a tree deeper than [`MAX_NESTING`]. The estimate never is too low; chains of
/// operators without a comma count as nesting.
pub fn check(file: &Arc<SourceFile>) -> Result<(), Diagnostic> {
    match too_deep(&file.text) {
        None => Ok(()),
        Some(offset) => {
            let offset = offset as u32;
            Err(Diagnostic::error(codes::SYNTAX, format!("more than {MAX_NESTING} levels of nesting"))
                .at(&Span::new(file, offset, offset + 1), "too deep here")
                .hint("name parts of the expression, or build long sums and concatenations in a loop"))
        }
    }
}

/// Operators seen in one pair of brackets since the last separator.
#[derive(Clone, Copy, Default)]
struct Level {
    operators: usize,
    /// Not reset by separators: parameters and bodies of lambdas contain them.
    lambdas: usize,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Enclosing brackets; the first entry is the statement itself.
    levels: Vec<Level>,
    /// Indentation of the enclosing blocks, each with the `elif`s seen at it.
    blocks: Vec<(usize, usize)>,
}

/// The byte offset at which the text is nested too deeply.
fn too_deep(text: &str) -> Option<usize> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, levels: vec![Level::default()], blocks: vec![(0, 0)] };
    scanner.line_start();
    while scanner.at < scanner.bytes.len() {
        let start = scanner.at;
        let inside = scanner.token();
        if scanner.depth() + inside > MAX_NESTING {
            return Some(start);
        }
    }
    None
}

impl Scanner<'_> {
    fn peek(&self, offset: usize) -> u8 {
        self.bytes.get(self.at + offset).copied().unwrap_or(0)
    }

    fn depth(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(|(_, elifs)| 1 + elifs).sum();
        let levels: usize = self.levels.iter().map(|level| 1 + level.operators + level.lambdas).sum();
        blocks + levels
    }

    fn count(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.operators += 1;
        }
    }

    /// Moves past one token and says how deep the text inside of it may be (f-strings).
    fn token(&mut self) -> usize {
        let byte = self.peek(0);
        match byte {
            b'#' => self.comment(),
            b'"' | b'\'' => return self.string(false),
            b'\\' => self.at += 2,
            b'\n' => {
                self.at += 1;
                if self.levels.len() == 1 {
                    self.levels = vec![Level::default()];
                    self.line_start();
                }
            }
            b'(' | b'[' | b'{' => {
                self.at += 1;
                self.count();
                self.levels.push(Level::default());
            }
            b')' | b']' | b'}' => {
                self.at += 1;
                if self.levels.len() > 1 {
                    self.levels.pop();
                }
            }
            b',' | b';' | b':' => {
                self.at += 1;
                if let Some(level) = self.levels.last_mut() {
                    level.operators = 0;
                }
            }
            _ if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 => return self.word(),
            _ => {
                self.at += 1;
                if !byte.is_ascii_whitespace() {
                    self.count();
                }
            }
        }
        0
    }

    fn comment(&mut self) {
        while self.at < self.bytes.len() && self.peek(0) != b'\n' {
            self.at += 1;
        }
    }

    fn word(&mut self) -> usize {
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' || self.peek(0) >= 0x80 {
            self.at += 1;
        }
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        if matches!(self.peek(0), b'"' | b'\'') && word.len() <= 2 {
            return self.string(word.iter().any(|letter| matches!(letter, b'f' | b'F' | b't' | b'T')));
        }
        match word {
            b"lambda" => {
                if let Some(level) = self.levels.last_mut() {
                    level.lambdas += 1;
                }
            }
            b"not" | b"and" | b"or" | b"if" | b"else" | b"in" | b"is" | b"for" | b"await" | b"yield" => self.count(),
            _ => {}
        }
        0
    }

    /// Moves past a string. Of an f-string: the number of brackets and operators inside its braces.
    fn string(&mut self, formatted: bool) -> usize {
        let quote = self.peek(0);
        let triple = self.peek(1) == quote && self.peek(2) == quote;
        self.at += if triple { 3 } else { 1 };
        let (mut braces, mut inside) = (0usize, 0usize);
        while self.at < self.bytes.len() {
            let byte = self.peek(0);
            if byte == b'\\' {
                self.at += 2;
                continue;
            }
            if byte == quote && (!triple || (self.peek(1) == quote && self.peek(2) == quote)) {
                self.at += if triple { 3 } else { 1 };
                break;
            }
            if byte == b'\n' && !triple && braces == 0 {
                break;
            }
            match byte {
                b'{' => braces += 1,
                b'}' => braces = braces.saturating_sub(1),
                _ => {}
            }
            if formatted && braces > 0 && !byte.is_ascii_alphanumeric() && !byte.is_ascii_whitespace() {
                inside += 1;
            }
            self.at += 1;
        }
        inside
    }

    /// Reads the indentation of the line that starts here.
    fn line_start(&mut self) {
        let mut width = 0;
        while matches!(self.peek(width), b' ' | b'\t') {
            width += 1;
        }
        if matches!(self.peek(width), b'\n' | b'\r' | b'#' | 0) {
            return;
        }
        while self.blocks.len() > 1 && self.blocks.last().is_some_and(|(indent, _)| *indent > width) {
            self.blocks.pop();
        }
        if self.blocks.last().is_none_or(|(indent, _)| *indent < width) {
            self.blocks.push((width, 0));
        }
        let rest = self.bytes.get(self.at + width..).unwrap_or_default();
        if let Some((_, elifs)) = self.blocks.last_mut() {
            if rest.starts_with(b"elif") {
                *elifs += 1;
            } else if !rest.starts_with(b"else") {
                *elifs = 0;
            }
        }
        self.at += width;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn deep_text_is_found() {
        for text in [
            "(".repeat(3000),
            "-".repeat(3000),
            "not ".repeat(3000),
            vec!["1"; 3000].join(" + "),
            "f".to_string() + &"()".repeat(3000),
            "lambda: ".repeat(3000),
            "lambda a, b: ".repeat(3000),
            "a if b else ".repeat(3000),
            format!("f\"{{{}1}}\"", "-".repeat(3000)),
            (0..3000).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect(),
            format!("if x:\n    pass\n{}", "elif y:\n    pass\n".repeat(3000)),
        ] {
            assert!(too_deep(&text).is_some(), "{text}");
        }
    }

    #[test]
    fn ordinary_text_is_not() {
        for text in [
            format!("x = [{}]", vec!["(1, -2)"; 1000].join(", ")),
            format!("x = {{{}}}", vec!["'a': b + 1"; 1000].join(", ")),
            "x = 1 + 2\n".repeat(1000),
            "# ((((((((((\n".repeat(100),
            format!("x = \"{}\"\n", "(".repeat(3000)),
            format!("x = f\"{}\"\n", "-".repeat(3000)),
            format!("x = '''{}\n'''\n", "(\n".repeat(3000)),
            "def f():\n    if x:\n        pass\n    elif y:\n        pass\n".repeat(3000),
        ] {
            assert_eq!(too_deep(&text), None, "{text}");
        }
    }
}
