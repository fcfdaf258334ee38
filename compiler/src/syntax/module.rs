//! A module taken apart: object definitions and imports on one side, Starlark text with the same lines on the other.

mod edits;
mod object_names;
mod scopes;
mod strings;
mod host;
mod quotes;
mod configs;
mod values;
mod imports;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};

pub use edits::Rendered;
pub use imports::{Import, ImportedName, ImportedNames};

use crate::diagnostic::Diagnostic;
use crate::source::{SourceFile, Span};
use crate::syntax::module::edits::{Edit, Renderer};
use crate::syntax::module::object_names::Mention;
use crate::typecheck::{nesting, syntax_error};

/// The function that a rendered definition calls: `f = __define__(index, captures, instruction arguments...)`.
///
/// `index` counts [`SplitModule::definitions`]; `captures` is a dict from host expressions, as written in the source, to
/// their values. Names of the prelude are not in it. Under the byte offset of each `{...}` and `with python:` stands
/// `(names, function)`: the code there as a function of the definition's names that it mentions.
pub const DEFINE: &str = "__define__";

/// The function that a rendered quote calls: `__quote__(index, captures, emit)`.
///
/// `index` counts [`SplitModule::quotes`]; `captures` is as for [`DEFINE`], except that for the `{...}` of a quoted
/// expression it holds their values. With `emit` the statements go where the quote stands, otherwise they are the result.
pub const QUOTE: &str = "__quote__";

/// The function that a rendered config calls: `C = __config__(name, [(field, type)], readwrite)`.
pub const CONFIG: &str = "__config__";

/// The function that a rendered `import a` calls with the module's name as written; it gives a struct of its names.
pub const MODULE: &str = "__module__";

/// How a name is spelled in Starlark text: `load` is a keyword there and nothing in Python.
pub fn host_name(name: &str) -> &str {
    match name {
        "load" => "load__exo",
        other => other,
    }
}

/// The name in the source that [`host_name`] made `host` from.
pub fn source_name(host: &str) -> &str {
    match host {
        "load__exo" => "load",
        other => other,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    Proc,
    /// The arguments of `@instr(...)` follow the captures in the call of [`DEFINE`].
    Instr,
}

/// An object definition, cut out of the module.
#[derive(Clone, Debug)]
pub struct Definition {
    pub name: String,
    pub kind: DefinitionKind,
    pub function: StmtFunctionDef,
    /// The name where it is defined.
    pub span: Span,
}

/// Object code inside host code: `with exo:` and `~{...}`.
#[derive(Clone, Debug)]
pub enum Quote {
    Statements(Vec<Stmt>),
    Expression(Box<Expr>),
}

/// A module whose object definitions are cut out.
#[derive(Debug)]
pub struct SplitModule {
    pub file: Arc<SourceFile>,
    /// In source order; `from exo import ...` is left out, the prelude is always in scope.
    pub imports: Vec<Import>,
    /// In source order.
    pub definitions: Vec<Definition>,
    pub quotes: Vec<Quote>,
    /// What each definition and quote mentions of the host code around it.
    captures: Vec<Vec<Mention>>,
    edits: Vec<Edit>,
}

impl SplitModule {
    /// The Starlark text. `exported` gives the public names of the module that a star import names.
    pub fn render(&self, exported: &dyn Fn(&Import) -> Vec<String>) -> Rendered {
        let exports: Vec<Vec<String>> = self
            .imports
            .iter()
            .map(|import| match &import.names {
                ImportedNames::All => exported(import),
                ImportedNames::Named(_) | ImportedNames::Module { .. } => Vec::new(),
            })
            .collect();
        Renderer::new(self, &exports).module(&self.edits)
    }
}

/// Parses a module and takes it apart; all mistakes are reported together.
pub fn split(file: &Arc<SourceFile>) -> Result<SplitModule, Vec<Diagnostic>> {
    host::split(file, &parsed_body(file)?)
}

/// The errors that are no consequence of one before: the first of each statement at the top level.
fn independent(text: &str, errors: impl Iterator<Item = Diagnostic>) -> Vec<Diagnostic> {
    let mut kept: Vec<(usize, Diagnostic)> = Vec::new();
    for error in errors {
        let at = error.primary.as_ref().map_or(0, |label| label.span.start as usize);
        let before = text.get(..at).unwrap_or(text);
        let mut lines = before.match_indices('\n').map(|(end, _)| end + 1);
        let statement = lines.rfind(|start| is_statement_start(text, *start)).unwrap_or(0);
        // That the text ends too soon follows from whatever was not closed.
        let is_at_end = text.get(at..).is_none_or(|rest| rest.trim().is_empty());
        if kept.iter().all(|(known, _)| *known != statement && !is_at_end) {
            kept.push((statement, error));
        }
    }
    kept.into_iter().map(|(_, error)| error).collect()
}

fn is_statement_start(text: &str, line: usize) -> bool {
    text.get(line..).and_then(|rest| rest.chars().next()).is_some_and(|first| !first.is_whitespace() && first != '#')
}

/// The statements of a module.
///
/// # Errors
/// The syntax errors of the text.
pub(crate) fn parsed_body(file: &Arc<SourceFile>) -> Result<Vec<Stmt>, Vec<Diagnostic>> {
    nesting::check(file).map_err(|error| vec![error])?;
    let options = ruff_python_parser::ParseOptions::from(ruff_python_parser::Mode::Module);
    let parsed = ruff_python_parser::parse_unchecked(&file.text, options);
    if !parsed.errors().is_empty() {
        return Err(independent(&file.text, parsed.errors().iter().map(|error| syntax_error(file, error))));
    }
    let Some(module) = parsed.try_into_module() else { return Err(Vec::new()) };
    Ok(module.into_syntax().body.into_iter().collect())
}
