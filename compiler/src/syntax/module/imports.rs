//! Imports: what a module names of others.

use ruff_python_ast::{Stmt, StmtImport, StmtImportFrom};
use ruff_text_size::Ranged;

use crate::diagnostic::{Diagnostic, codes};
use crate::source::Span;
use crate::syntax::module::edits::{Edit, Piece};
use crate::syntax::module::host::Host;

/// One import statement, or one module of `import a, b`.
#[derive(Clone, Debug)]
pub struct Import {
    /// The module as written: `a`, `a.b`, `.sibling`.
    pub module: String,
    pub names: ImportedNames,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ImportedNames {
    /// `from a import *`: every public name.
    All,
    Named(Vec<ImportedName>),
    /// `import a`: the module as a value.
    Module {
        local: String,
    },
}

/// `name as local`; `local` equals `name` without `as`.
#[derive(Clone, Debug)]
pub struct ImportedName {
    pub name: String,
    pub local: String,
    pub span: Span,
}

impl Host<'_> {
    pub(crate) fn import(&mut self, import: &StmtImport, node: &Stmt) {
        if !self.imports_allowed(node) {
            return;
        }
        let mut pieces = Vec::new();
        for alias in &import.names {
            let module = alias.name.to_string();
            if module == "exo" {
                continue;
            }
            let local = match &alias.asname {
                Some(local) => local.to_string(),
                None if module.contains('.') => {
                    let (_, last) = module.rsplit_once('.').unwrap_or(("", &module));
                    let hint = format!("write `import {module} as {last}`");
                    self.refuse(alias, "`import` of a dotted module needs `as`", hint);
                    continue;
                }
                None => module.clone(),
            };
            if !pieces.is_empty() {
                pieces.push(Piece::Text("; ".to_string()));
            }
            pieces.push(Piece::Import(self.imports.len()));
            let span = self.span(alias);
            self.imports.push(Import { module, names: ImportedNames::Module { local }, span });
        }
        self.replace_import(node, pieces);
    }

    pub(crate) fn import_from(&mut self, import: &StmtImportFrom, node: &Stmt) {
        if !self.imports_allowed(node) {
            return;
        }
        if import.level > 1 {
            self.refuse(node, "an import from above the pack", "`.` is this pack; other packs are imported by name");
            return;
        }
        let module = import.module.as_ref().map_or("", |module| module.as_str());
        if import.level == 0 && matches!(module, "exo" | "__future__") {
            return self.replace_import(node, Vec::new());
        }
        if module.is_empty() {
            return self.siblings(import, node);
        }
        let module = if import.level == 1 { format!(".{module}") } else { module.to_string() };
        let star = import.names.iter().any(|alias| alias.name.as_str() == "*");
        let names = if star {
            ImportedNames::All
        } else {
            let mut names = Vec::new();
            for alias in &import.names {
                if alias.name.starts_with('_') {
                    let message = format!("`{}` is private to its module", alias.name);
                    self.diagnostics.push(
                        Diagnostic::error(codes::IMPORT, message)
                            .at(&self.span(alias), "here")
                            .hint("names with a leading underscore are not exported; rename it there"),
                    );
                    continue;
                }
                names.push(ImportedName {
                    name: alias.name.to_string(),
                    local: alias.asname.as_ref().unwrap_or(&alias.name).to_string(),
                    span: self.span(alias),
                });
            }
            ImportedNames::Named(names)
        };
        let piece = Piece::Import(self.imports.len());
        let span = self.span(node);
        self.imports.push(Import { module, names, span });
        self.replace_import(node, vec![piece]);
    }

    /// `from . import a, b as c`: modules of this pack.
    fn siblings(&mut self, import: &StmtImportFrom, node: &Stmt) {
        let mut pieces = Vec::new();
        for alias in &import.names {
            if alias.name.as_str() == "*" {
                self.refuse(alias, "`from . import *`", "name the module: `from .module import *`");
                continue;
            }
            if !pieces.is_empty() {
                pieces.push(Piece::Text("; ".to_string()));
            }
            pieces.push(Piece::Import(self.imports.len()));
            let local = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
            let (module, span) = (format!(".{}", alias.name), self.span(alias));
            self.imports.push(Import { module, names: ImportedNames::Module { local }, span });
        }
        self.replace_import(node, pieces);
    }

    fn imports_allowed(&mut self, node: &Stmt) -> bool {
        if self.at_top() {
            return true;
        }
        self.refuse(node, "an import inside a block", "move it to the top level of the module");
        false
    }

    fn replace_import(&mut self, node: &Stmt, mut pieces: Vec<Piece>) {
        if pieces.is_empty() {
            pieces.push(Piece::Text("pass".to_string()));
        }
        self.edit(Edit { range: node.range(), pieces, tail: "" });
    }
}
