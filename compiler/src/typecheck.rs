//! From the syntax of an object definition to a typed proc: names, types, affine rules, windows, calls.
//!
//! What needs a solver (bounds, extents, asserts, aliasing, races) comes later; a proc made here is well formed only.

pub mod nesting;
pub mod captures;
pub mod scope;
mod checker;
pub(crate) mod literal;
mod negation;
pub(crate) mod remedies;
mod expressions;
mod accesses;
mod signature;
mod statements;
mod calls;
mod quotes;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ruff_python_ast::{Stmt as SyntaxStmt, StmtFunctionDef};
use ruff_python_parser::ParseError;
use ruff_text_size::Ranged;

pub use captures::{Captures, HostFailed, HostValue, NoCaptures, QuotedBlock, QuotedExpr, TooDeep};
pub(crate) use checker::{Checker, Reported};
pub(crate) use signature::control_word;

use crate::diagnostic::{Diagnostic, codes};
use crate::hardware::instruction::Instruction;
use crate::hardware::precision::Precision;
use crate::loop_ir::{Block, Proc};
use crate::source::{SourceFile, Span};

/// Types the definition `function` of `file`; decorators are the caller's.
///
/// `captures` gives the names of the host code around it. Every mistake is reported, not only the first.
pub fn definition(
    file: &Arc<SourceFile>,
    function: &StmtFunctionDef,
    instruction: Option<Instruction>,
    captures: &dyn Captures,
) -> Result<Proc, Vec<Diagnostic>> {
    let mut checker = Checker::new(file, captures);
    let proc = checker.definition(function, instruction);
    checker.finish(proc)
}

/// Types the statements of `with exo:`; their names mean what `captures` says.
pub fn quoted_block(
    file: &Arc<SourceFile>,
    statements: &[SyntaxStmt],
    captures: &dyn Captures,
) -> Result<Block, Vec<Diagnostic>> {
    let mut checker = Checker::new(file, captures);
    let block = checker.block(statements);
    checker.finish(block)
}

/// Types one bare `def` given as text: what `print::proc` prints.
pub fn proc_from_text(text: &str, known: &dyn Captures) -> Result<Proc, Vec<Diagnostic>> {
    let file = SourceFile::new("<text>", text);
    nesting::check(&file).map_err(|error| vec![error])?;
    let module =
        ruff_python_parser::parse_module(text).map_err(|error| vec![syntax_error(&file, &error)])?.into_syntax();
    match module.body.as_slice() {
        [SyntaxStmt::FunctionDef(function)] => definition(&file, function, None, known),
        _ => Err(vec![
            Diagnostic::error(codes::OBJECT_SYNTAX, "expected exactly one `def`")
                .at(&Span::new(&file, 0, text.len() as u32), "this text"),
        ]),
    }
}

/// A parser's error as a diagnostic.
pub fn syntax_error(file: &Arc<SourceFile>, error: &ParseError) -> Diagnostic {
    let message = error.error.to_string();
    let message = lower_first(message.trim_end_matches('.'));
    let diagnostic = Diagnostic::error(codes::SYNTAX, message).at(&span_of(file, error), "here");
    match layout(file, error, &diagnostic.message) {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}

/// What to change in the layout of the line of a syntax error.
fn layout(file: &Arc<SourceFile>, error: &ParseError, message: &str) -> Option<String> {
    let at = error.range().start().to_usize();
    let start = file.text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = file.text.get(start..)?.lines().next()?;
    let indent = line.get(..line.len() - line.trim_start().len())?;
    if message.contains("indent") && indent.contains('\t') {
        return Some("this line begins with a tab: use spaces only".to_string());
    }
    if message.starts_with("unindent") || message == "unexpected indentation" {
        return Some("the lines of one block begin in the same column".to_string());
    }
    if message.starts_with("expected an indented block") {
        return Some("what belongs to it stands further to the right, by four spaces".to_string());
    }
    if message == "expected `:`, found newline" {
        return Some("a line that opens a block ends with `:`".to_string());
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    if let [ty, name, ..] = words.as_slice()
        && message.starts_with("simple statements")
        && (Precision::from_word(ty).is_some() || matches!(*ty, "float" | "double" | "int"))
    {
        return Some(format!("a buffer is declared with its name first: `{name}: f32`"));
    }
    // Brackets may be closed in later lines, which begin no statement then.
    let code = line.split('#').next()?;
    let open = |opening: char, closing: char| code.matches(opening).count() > code.matches(closing).count();
    let (opening, _) =
        [('[', ']'), ('(', ')'), ('{', '}')].into_iter().find(|(opening, closing)| open(*opening, *closing))?;
    (!code.contains(['"', '\''])).then(|| format!("`{opening}` is not closed in this line"))
}

/// The span of a syntax node.
pub(crate) fn span_of(file: &Arc<SourceFile>, node: &impl Ranged) -> Span {
    let range = node.range();
    Span::new(file, range.start().to_u32(), range.end().to_u32())
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}
