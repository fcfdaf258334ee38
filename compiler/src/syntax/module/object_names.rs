//! What a definition mentions of the host code around it: names, memories, procs, spliced expressions.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{ElifElseClause, Expr, Operator, Stmt, StmtFunctionDef, StmtWith};
use ruff_text_size::TextRange;

use crate::hardware::precision::Precision;
use crate::typecheck::control_word;

/// A host expression that a definition may need the value of.
#[derive(Clone, Debug)]
pub(crate) struct Mention {
    /// The source text, by which object code asks for it.
    pub(crate) key: String,
    /// Where it stands first.
    pub(crate) range: TextRange,
    /// Starlark text of the same expression.
    pub(crate) value: String,
    /// Names that must come from a star import, or else the expression has no value here.
    pub(crate) unbound: Vec<String>,
}

/// How sure it is that an expression is one of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// It stands where only a host value can stand.
    Required,
    /// It is a host value when its names are bound there.
    Possible,
    /// It is an item of a host collection, unless the host knows a symbol by the collection's name.
    Item,
    /// It stands on the left of an assignment; a symbol that the host knows by this name is meant there.
    Target,
}

/// A host expression found in a definition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) node: &'a Expr,
    pub(crate) need: Need,
}

/// Host code that runs while the definition is read, and the names of the definition that it mentions.
#[derive(Clone, Debug)]
pub(crate) struct Embedded<'a, T> {
    pub(crate) node: &'a T,
    pub(crate) names: Vec<&'a str>,
}

/// What a piece of object code needs of the host.
#[derive(Debug, Default)]
pub(crate) struct HostParts<'a> {
    pub(crate) found: Vec<Found<'a>>,
    /// `with python:` statements.
    pub(crate) blocks: Vec<Embedded<'a, StmtWith>>,
    /// The insides of `{...}`.
    pub(crate) splices: Vec<Embedded<'a, Expr>>,
}

/// The host parts of a definition. Names that the definition binds itself are left out where they are visible.
pub(crate) fn of_definition(function: &StmtFunctionDef) -> HostParts<'_> {
    let mut walk = Walk::default();
    for parameter in function.parameters.iter() {
        if let Some(annotation) = parameter.annotation() {
            walk.annotation(annotation);
        }
        walk.bound.push(parameter.name().as_str());
    }
    walk.block(&function.body);
    walk.parts
}

/// The host parts of a quoted block.
pub(crate) fn of_block(body: &[Stmt]) -> HostParts<'_> {
    let mut walk = Walk { quoted: true, ..Walk::default() };
    walk.block(body);
    walk.parts
}

/// The host parts of a quoted expression.
pub(crate) fn of_expression(node: &Expr) -> HostParts<'_> {
    let mut walk = Walk { quoted: true, ..Walk::default() };
    walk.expr(node);
    walk.parts
}

/// Whether a statement is `with WORD:` or, for `exo`, `with exo as NAME:`.
pub(crate) fn is_with(node: &StmtWith, word: &str) -> bool {
    let [item] = node.items.as_slice() else { return false };
    let named = matches!(&item.context_expr, Expr::Name(name) if name.id.as_str() == word);
    named && !node.is_async && (word == "exo" || item.optional_vars.is_none())
}

/// Whether something is spliced into an expression.
fn has_braces(node: &Expr) -> bool {
    struct Braces(bool);
    impl<'a> Visitor<'a> for Braces {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.0 |= expr.is_set_expr();
            walk_expr(self, expr);
        }
    }
    let mut braces = Braces(false);
    braces.visit_expr(node);
    braces.0
}

/// Every identifier in statements, whatever it stands for.
#[derive(Default)]
struct Identifiers(BTreeSet<String>);

impl<'a> Visitor<'a> for Identifiers {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            self.0.insert(name.id.to_string());
        }
        walk_expr(self, expr);
    }
}

/// The names that an expression mentions freely.
pub(crate) fn names_in(node: &Expr) -> BTreeSet<String> {
    struct Names(BTreeSet<String>, BTreeSet<String>);
    impl<'a> Visitor<'a> for Names {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Name(name) = expr {
                match name.ctx.is_store() {
                    true => self.1.insert(name.id.to_string()),
                    false => self.0.insert(name.id.to_string()),
                };
            }
            if let Expr::Lambda(lambda) = expr {
                for parameter in lambda.parameters.iter().flat_map(|parameters| parameters.iter()) {
                    self.1.insert(parameter.name().to_string());
                }
            }
            walk_expr(self, expr);
        }
    }
    let mut names = Names(BTreeSet::new(), BTreeSet::new());
    names.visit_expr(node);
    let Names(read, own) = names;
    read.into_iter().filter(|name| !own.contains(name)).collect()
}

#[derive(Default)]
struct Walk<'a> {
    bound: Vec<&'a str>,
    /// Inside a quote, where a name on the left of an assignment may be a symbol from around it.
    quoted: bool,
    parts: HostParts<'a>,
}

impl<'a> Walk<'a> {
    fn is_bound(&self, name: &str) -> bool {
        self.bound.contains(&name)
    }

    fn host(&mut self, node: &'a Expr, need: Need) {
        let need = if node.is_name_expr() { Need::Possible } else { need };
        self.parts.found.push(Found { node, need });
    }

    /// Names of the object code that are visible here and that `identifiers` mention, each once.
    fn visible(&self, identifiers: &Identifiers) -> Vec<&'a str> {
        let mut names: Vec<&'a str> = Vec::new();
        for name in &self.bound {
            if identifiers.0.contains(*name) && !names.contains(name) {
                names.push(name);
            }
        }
        names
    }

    fn splice(&mut self, node: &'a Expr) {
        let mut identifiers = Identifiers::default();
        identifiers.visit_expr(node);
        let names = self.visible(&identifiers);
        self.parts.splices.push(Embedded { node, names });
    }

    fn python(&mut self, node: &'a StmtWith) {
        let mut identifiers = Identifiers::default();
        node.body.iter().for_each(|stmt| identifiers.visit_stmt(stmt));
        let names = self.visible(&identifiers);
        self.parts.blocks.push(Embedded { node, names });
    }

    fn scoped(&mut self, body: &'a [Stmt]) {
        let mark = self.bound.len();
        self.block(body);
        self.bound.truncate(mark);
    }

    fn block(&mut self, body: &'a [Stmt]) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::AnnAssign(alloc) => {
                self.annotation(&alloc.annotation);
                if let Expr::Name(name) = &*alloc.target {
                    self.bound.push(&name.id);
                }
            }
            Stmt::Assign(assign) => {
                self.expr(&assign.value);
                for target in &assign.targets {
                    self.target(target);
                }
            }
            Stmt::AugAssign(reduce) => {
                self.expr(&reduce.value);
                self.target(&reduce.target);
            }
            Stmt::For(node) => {
                if let Expr::Call(call) = &*node.iter {
                    call.arguments.args.iter().for_each(|arg| self.expr(arg));
                }
                let mark = self.bound.len();
                if let Expr::Name(name) = &*node.target {
                    self.bound.push(&name.id);
                }
                self.block(&node.body);
                self.bound.truncate(mark);
            }
            Stmt::If(node) => {
                self.expr(&node.test);
                self.scoped(&node.body);
                for ElifElseClause { test, body, .. } in &node.elif_else_clauses {
                    test.iter().for_each(|test| self.expr(test));
                    self.scoped(body);
                }
            }
            Stmt::Assert(assert) => self.expr(&assert.test),
            Stmt::Expr(expr) => self.expr(&expr.value),
            Stmt::With(with) if is_with(with, "python") => self.python(with),
            // Whatever else stands there is refused when the definition is typed.
            _ => {}
        }
    }

    fn target(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(name) if !self.is_bound(&name.id) => {
                if self.quoted {
                    self.parts.found.push(Found { node: target, need: Need::Target });
                }
                self.bound.push(&name.id);
            }
            Expr::Subscript(subscript) => {
                if let Expr::Name(name) = &*subscript.value
                    && self.quoted
                    && !self.is_bound(&name.id)
                {
                    self.parts.found.push(Found { node: &subscript.value, need: Need::Target });
                }
                self.expr(&subscript.slice);
            }
            // A configuration field.
            Expr::Attribute(_) => self.expr(target),
            _ => {}
        }
    }

    fn annotation(&mut self, node: &'a Expr) {
        if let Expr::BinOp(binary) = node
            && binary.op == Operator::MatMult
        {
            self.data_type(&binary.left);
            return self.host(&binary.right, Need::Required);
        }
        self.data_type(node);
    }

    fn data_type(&mut self, ty: &'a Expr) {
        match ty {
            Expr::Subscript(subscript) => {
                match &*subscript.value {
                    Expr::List(list) => list.elts.iter().for_each(|precision| self.precision(precision)),
                    precision => self.precision(precision),
                }
                self.expr(&subscript.slice);
            }
            precision => self.precision(precision),
        }
    }

    fn precision(&mut self, node: &'a Expr) {
        match node {
            Expr::Set(set) => set.elts.iter().for_each(|inner| self.splice(inner)),
            Expr::Name(name) if Precision::from_word(&name.id).is_some() || control_word(node).is_some() => {}
            Expr::Name(_) | Expr::Attribute(_) => self.host(node, Need::Possible),
            _ => {}
        }
    }

    fn expr(&mut self, node: &'a Expr) {
        match node {
            Expr::Name(_) | Expr::Attribute(_) if self.mentions_bound(node) => {}
            Expr::Name(_) | Expr::Attribute(_) => self.host(node, Need::Possible),
            Expr::Set(set) => set.elts.iter().for_each(|inner| self.splice(inner)),
            Expr::Call(call) => {
                match &*call.func {
                    Expr::Name(_) => self.expr(&call.func),
                    func if !self.mentions_bound(func) => self.host(func, Need::Required),
                    _ => {}
                }
                call.arguments.args.iter().for_each(|arg| self.expr(arg));
                call.arguments.keywords.iter().for_each(|keyword| self.expr(&keyword.value));
            }
            Expr::Subscript(subscript) => {
                if let Expr::Name(name) = &*subscript.value {
                    if self.quoted && !self.is_bound(&name.id) {
                        self.host(&subscript.value, Need::Possible);
                        if !self.mentions_bound(node) && !has_braces(&subscript.slice) {
                            self.host(node, Need::Item);
                        }
                        return self.expr(&subscript.slice);
                    }
                    if !self.is_bound(&name.id) && !self.mentions_bound(node) && !has_braces(&subscript.slice) {
                        return self.host(node, Need::Possible);
                    }
                    self.expr(&subscript.value);
                }
                self.expr(&subscript.slice);
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| self.expr(item)),
            Expr::Slice(slice) => {
                [&slice.lower, &slice.upper, &slice.step].into_iter().flatten().for_each(|bound| self.expr(bound));
            }
            Expr::UnaryOp(unary) => self.expr(&unary.operand),
            Expr::BinOp(binary) => {
                self.expr(&binary.left);
                self.expr(&binary.right);
            }
            Expr::BoolOp(connective) => connective.values.iter().for_each(|value| self.expr(value)),
            Expr::Compare(compare) => {
                self.expr(&compare.left);
                compare.comparators.iter().for_each(|operand| self.expr(operand));
            }
            _ => {}
        }
    }

    /// Whether an expression mentions a name of the definition, so that the host could not evaluate it.
    fn mentions_bound(&self, node: &Expr) -> bool {
        names_in(node).iter().any(|name| self.is_bound(name))
    }
}
