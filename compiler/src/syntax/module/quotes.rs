//! Quoted fragments: object code inside host code (`with exo:`, `~{...}`) and host code inside object code.
//!
//! A `with python:` block becomes a function before the statement that holds the object code; a `{...}` becomes a lambda,
//! or its value where the code around it is an expression that is quoted at once. Both take the names of the object code
//! that they mention, so that host code sees exactly the symbols that are visible at its place.

use ruff_python_ast::{Expr, ExprUnaryOp, StmtWith};
use ruff_text_size::{Ranged, TextRange};

use crate::syntax::module::edits::{Edit, Piece};
use crate::syntax::module::host::{Host, Python};
use crate::syntax::module::object_names::{Embedded, HostParts, of_block, of_expression};
use crate::syntax::module::scopes::HostScope;
use crate::syntax::module::strings::quoted;
use crate::syntax::module::{QUOTE, Quote, host_name};

impl Host<'_> {
    /// Definitions that go before the statement at `at`, and entries of the dict of captures, each with a comma behind.
    pub(crate) fn host_functions(&mut self, parts: &HostParts<'_>, at: TextRange) -> (Vec<Piece>, Vec<Piece>) {
        let (mut before, mut entries) = (Vec::new(), Vec::new());
        let indentation = self.indentation(at);
        for block in &parts.blocks {
            let offset = block.node.start().to_u32();
            let name = format!("__python_{offset}__");
            before.push(Piece::Text(format!("def {name}({}):", parameters(block))));
            before.extend(self.python_body(block));
            before.push(Piece::Text(format!("\n{indentation}")));
            entries.push(Piece::Text(format!("{offset}: ({}, {name}), ", names_list(block))));
        }
        for splice in &parts.splices {
            let offset = splice.node.start().to_u32();
            entries.push(Piece::Text(format!("{offset}: ({}, lambda {}: (", names_list(splice), parameters(splice))));
            let scope = HostScope::of_python(&splice.names, &[]);
            entries.push(self.host_source(splice.node, scope));
            entries.push(Piece::Text(")), ".to_string()));
        }
        (before, entries)
    }

    /// The blanks before what starts a line.
    fn indentation(&self, at: TextRange) -> String {
        let before = self.text(TextRange::new(0.into(), at.start()));
        let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
        line.chars().take_while(|c| c.is_whitespace()).collect()
    }

    /// An expression of host code with a scope of its own.
    fn host_source(&mut self, node: &Expr, scope: HostScope) -> Piece {
        let around = std::mem::replace(&mut self.python, Python::Function);
        self.scopes.push(scope);
        let edits = self.nested(|host| host.expr(node));
        self.scopes.pop();
        self.python = around;
        Piece::Source { range: node.range(), edits }
    }

    /// The statements of a `with python:` block, with their own indentation.
    fn python_body(&mut self, block: &Embedded<'_, StmtWith>) -> Vec<Piece> {
        let (Some(first), Some(last)) = (block.node.body.first(), block.node.body.last()) else { return Vec::new() };
        let around = std::mem::replace(&mut self.python, Python::Block);
        self.scopes.push(HostScope::of_python(&block.names, &block.node.body));
        let edits = self.nested(|host| host.inner(&block.node.body));
        self.scopes.pop();
        self.python = around;
        let head = self.text(TextRange::new(block.node.start(), first.start()));
        let (break_line, start) = match head.rfind('\n') {
            Some(newline) => {
                let offset = u32::try_from(newline + 1).unwrap_or(0);
                ("\n", block.node.start() + ruff_text_size::TextSize::from(offset))
            }
            None => (" ", first.start()),
        };
        let range = TextRange::new(start, last.end());
        vec![Piece::Text(break_line.to_string()), Piece::Source { range, edits }]
    }

    /// `with exo:` and `with exo as NAME:` in host code.
    pub(crate) fn quoted_block(&mut self, node: &StmtWith) {
        let name = match node.items.first().and_then(|item| item.optional_vars.as_deref()) {
            None => None,
            Some(Expr::Name(name)) => Some(host_name(&name.id).to_string()),
            Some(other) => {
                return self.refuse(
                    other,
                    "this target of `with exo`",
                    "give the statements one name: `with exo as s:`",
                );
            }
        };
        let parts = of_block(&node.body);
        let (mut pieces, functions) = self.host_functions(&parts, node.range());
        let target = name.as_ref().map_or(String::new(), |name| format!("{name} = "));
        pieces.push(Piece::Text(format!("{target}{QUOTE}({}, {{", self.quotes.len())));
        self.quotes.push(Quote::Statements(node.body.to_vec()));
        pieces.extend(functions);
        pieces.push(self.captured(&parts, node.range()));
        let emit = if name.is_none() { "True" } else { "False" };
        pieces.push(Piece::Text(format!("}}, {emit})")));
        self.edit(Edit { range: node.range(), pieces, tail: "" });
    }

    /// `~{...}` in host code.
    pub(crate) fn quoted_expression(&mut self, node: &ExprUnaryOp, whole: &Expr) {
        let Expr::Set(set) = &*node.operand else {
            return self.refuse(whole, "a quote without code", "`~{...}` quotes one expression of object code");
        };
        let [inner] = set.elts.as_slice() else {
            return self.refuse(whole, "a quote of several expressions", "quote each: `~{a}`, `~{b}`");
        };
        if self.python == Python::Outside {
            return self.refuse(
                whole,
                "a quote outside of a definition",
                "quoted code stands in a `with python:` block or a `{...}` of a `@proc`",
            );
        }
        let parts = of_expression(inner);
        let mut pieces = vec![Piece::Text(format!("{QUOTE}({}, {{", self.quotes.len()))];
        self.quotes.push(Quote::Expression(Box::new(inner.clone())));
        for splice in &parts.splices {
            pieces.push(Piece::Text(format!("{}: (", splice.node.start().to_u32())));
            let edits = self.nested(|host| host.expr(splice.node));
            pieces.push(Piece::Source { range: splice.node.range(), edits });
            pieces.push(Piece::Text("), ".to_string()));
        }
        pieces.push(self.captured(&parts, node.range()));
        pieces.push(Piece::Text("}, False)".to_string()));
        self.edit(Edit { range: node.range(), pieces, tail: "" });
    }
}

/// The parameters of the function that runs a piece of host code.
fn parameters<T>(embedded: &Embedded<'_, T>) -> String {
    let names: Vec<&str> = embedded.names.iter().map(|name| host_name(name)).collect();
    names.join(", ")
}

/// The names that the function gets, as a list of strings.
fn names_list<T>(embedded: &Embedded<'_, T>) -> String {
    let names: Vec<String> = embedded.names.iter().map(|name| quoted(name)).collect();
    format!("[{}]", names.join(", "))
}
