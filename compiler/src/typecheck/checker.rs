//! The state of typing one definition: what is visible, and what was found wrong so far.

use std::collections::VecDeque;
use std::sync::Arc;

use ruff_text_size::Ranged;

use crate::diagnostic::{Code, Diagnostic, codes};
use crate::loop_ir::Expr;
use crate::source::{SourceFile, Span};
use crate::typecheck::captures::Captures;
use crate::typecheck::scope::Scope;
use crate::typecheck::span_of;

/// Something was refused and the diagnostic is recorded; what depends on it is skipped silently.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported;

/// Expressions that the quotes of one definition may come to: each splice of a quote types its code again.
const MAX_SPLICED: usize = 1_000_000;

pub(crate) type Checked<T> = Result<T, Reported>;

pub(crate) struct Checker<'a> {
    pub(crate) file: &'a Arc<SourceFile>,
    pub(crate) captures: &'a dyn Captures,
    pub(crate) scope: Scope,
    /// Levels of nesting at the node being typed.
    pub(crate) depth: usize,
    /// What the holes `_` of a fragment stand for, in order.
    pub(crate) holes: VecDeque<Expr>,
    /// The proc that is being defined.
    pub(crate) defining: Option<String>,
    /// How many expressions quotes may still add.
    pub(crate) budget: usize,
    /// Whether code was quoted or spliced, so that scopes have to be looked at again.
    pub(crate) quoted: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(file: &'a Arc<SourceFile>, captures: &'a dyn Captures) -> Self {
        Checker {
            file,
            captures,
            scope: Scope::default(),
            depth: 0,
            holes: VecDeque::new(),
            defining: None,
            budget: MAX_SPLICED,
            quoted: false,
            diagnostics: Vec::new(),
        }
    }

    pub(crate) fn span(&self, node: &impl Ranged) -> Span {
        span_of(self.file, node)
    }

    /// The source text of a node.
    pub(crate) fn text(&self, node: &impl Ranged) -> &'a str {
        let range = node.range();
        self.file.text.get(range.start().to_usize()..range.end().to_usize()).unwrap_or("")
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.diagnostics.push(diagnostic);
        Reported
    }

    /// Records an error at a node.
    pub(crate) fn refuse<T>(&mut self, code: Code, node: &impl Ranged, message: impl Into<String>) -> Checked<T> {
        let diagnostic = Diagnostic::error(code, message).at(&self.span(node), "here");
        Err(self.report(diagnostic))
    }

    /// Records an error at a node, with a remedy.
    pub(crate) fn refuse_hint<T>(
        &mut self,
        code: Code,
        node: &impl Ranged,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Checked<T> {
        let diagnostic = Diagnostic::error(code, message).at(&self.span(node), "here").hint(hint);
        Err(self.report(diagnostic))
    }

    /// Records that the object language has no such construct.
    pub(crate) fn outside<T>(&mut self, node: &impl Ranged, what: &str, hint: &str) -> Checked<T> {
        self.refuse_hint(codes::OBJECT_SYNTAX, node, format!("{what} is not part of the object language"), hint)
    }

    /// The result, unless anything was recorded.
    pub(crate) fn finish<T>(self, result: Checked<T>) -> Result<T, Vec<Diagnostic>> {
        match (result, self.diagnostics.is_empty()) {
            (Ok(value), true) => Ok(value),
            (Ok(_) | Err(Reported), _) => Err(self.diagnostics),
        }
    }
}
