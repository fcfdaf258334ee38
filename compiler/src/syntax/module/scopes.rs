//! Which names host code binds where, so that a definition captures exactly what it can see.

use std::collections::BTreeMap;

use ruff_python_ast::{Expr, Parameters, Stmt};
use ruff_text_size::Ranged;

/// Names that one function or the module binds, each with the offset of its first binding.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostScope {
    bound: BTreeMap<String, u32>,
}

impl HostScope {
    /// What the statements of a module or function body bind; nested functions have scopes of their own.
    pub(crate) fn of_body(body: &[Stmt]) -> Self {
        let mut scope = HostScope::default();
        scope.block(body);
        scope
    }

    pub(crate) fn of_function(parameters: &Parameters, body: &[Stmt]) -> Self {
        let mut scope = HostScope::of_body(body);
        for parameter in parameters.iter() {
            scope.bound.insert(parameter.name().to_string(), 0);
        }
        scope
    }

    /// What a `with python:` block sees first: the names of the object code that it gets, and those that it binds.
    pub(crate) fn of_python(names: &[&str], body: &[Stmt]) -> Self {
        let mut scope = HostScope::of_body(body);
        for name in names {
            scope.bound.insert(name.to_string(), 0);
        }
        scope
    }

    fn bind(&mut self, name: &str, offset: u32) {
        let first = self.bound.entry(name.to_string()).or_insert(offset);
        *first = (*first).min(offset);
    }

    fn block(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let start = stmt.range().start().to_u32();
        match stmt {
            Stmt::FunctionDef(function) => self.bind(&function.name, start),
            Stmt::ClassDef(class) => self.bind(&class.name, start),
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.target(target)),
            Stmt::AugAssign(assign) => self.target(&assign.target),
            Stmt::AnnAssign(assign) if assign.value.is_some() => self.target(&assign.target),
            Stmt::For(node) => {
                self.target(&node.target);
                self.block(&node.body);
            }
            Stmt::If(node) => {
                self.block(&node.body);
                node.elif_else_clauses.iter().for_each(|clause| self.block(&clause.body));
            }
            Stmt::With(with) => {
                with.items.iter().filter_map(|item| item.optional_vars.as_deref()).for_each(|name| self.target(name));
            }
            Stmt::Import(import) => import.names.iter().for_each(|alias| {
                let local = alias.asname.as_ref().unwrap_or(&alias.name);
                self.bind(local, start);
            }),
            Stmt::ImportFrom(import) => import.names.iter().for_each(|alias| {
                let from_exo = import.level == 0 && import.module.as_ref().is_some_and(|m| m.as_str() == "exo");
                if alias.name.as_str() != "*" && !from_exo {
                    self.bind(alias.asname.as_ref().unwrap_or(&alias.name), start);
                }
            }),
            // The rest binds nothing or is refused.
            _ => {}
        }
    }

    fn target(&mut self, target: &Expr) {
        match target {
            Expr::Name(name) => self.bind(&name.id, target.range().start().to_u32()),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| self.target(item)),
            Expr::List(list) => list.elts.iter().for_each(|item| self.target(item)),
            _ => {}
        }
    }
}

/// Whether a definition at `offset` sees a name that the scopes around it (innermost last) bind.
///
/// In the scope of the definition itself a later binding does not count: the name has no value yet.
pub(crate) fn is_bound(scopes: &[HostScope], name: &str, offset: u32) -> bool {
    let mut innermost = true;
    for scope in scopes.iter().rev() {
        if let Some(first) = scope.bound.get(name) {
            return !innermost || *first < offset;
        }
        innermost = false;
    }
    false
}
