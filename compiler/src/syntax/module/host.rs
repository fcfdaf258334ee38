//! Host code: what Starlark lacks is refused with a remedy, what it only spells differently is rewritten.

use std::sync::Arc;

use ruff_python_ast::{
    Arguments, Decorator, ElifElseClause, Expr, Operator, Parameters, Stmt, StmtAnnAssign, StmtFor, StmtFunctionDef,
    StmtIf,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::diagnostic::{Diagnostic, codes, nearest};
use crate::source::{SourceFile, Span};
use crate::syntax::module::edits::{Edit, Piece, flatten};
use crate::syntax::module::imports::Import;
use crate::syntax::module::object_names::{Found, HostParts, Mention, Need, is_with, names_in, of_definition};
use crate::syntax::module::scopes::{HostScope, is_bound};
use crate::syntax::module::{DEFINE, Definition, DefinitionKind, Quote, SplitModule, host_name};
use crate::typecheck::span_of;

/// The state of taking one module apart.
pub(crate) struct Host<'a> {
    file: &'a Arc<SourceFile>,
    pub(crate) imports: Vec<Import>,
    definitions: Vec<Definition>,
    pub(crate) quotes: Vec<Quote>,
    captures: Vec<Vec<Mention>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Edits of the text that is being walked.
    edits: Vec<Edit>,
    /// The module and the functions around the current statement.
    pub(crate) scopes: Vec<HostScope>,
    /// Where the current statement stands with respect to `with python:`.
    pub(crate) python: Python,
    /// How many blocks and functions enclose the current statement.
    blocks: usize,
}

/// Where host code stands with respect to the object code around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Python {
    Outside,
    /// Directly in a `with python:` block.
    Block,
    /// In a function inside of such a block.
    Function,
}

pub(crate) fn split(file: &Arc<SourceFile>, body: &[Stmt]) -> Result<SplitModule, Vec<Diagnostic>> {
    let mut host = Host {
        file,
        imports: Vec::new(),
        definitions: Vec::new(),
        quotes: Vec::new(),
        captures: Vec::new(),
        python: Python::Outside,
        diagnostics: Vec::new(),
        edits: Vec::new(),
        scopes: vec![HostScope::of_body(body)],
        blocks: 0,
    };
    host.block(body);
    if !host.diagnostics.is_empty() {
        return Err(host.diagnostics);
    }
    Ok(SplitModule {
        file: file.clone(),
        imports: host.imports,
        definitions: host.definitions,
        quotes: host.quotes,
        captures: host.captures,
        edits: host.edits,
    })
}

impl Host<'_> {
    pub(crate) fn span(&self, node: &impl Ranged) -> Span {
        span_of(self.file, node)
    }

    pub(crate) fn text(&self, range: TextRange) -> &str {
        self.file.text.get(range.start().to_usize()..range.end().to_usize()).unwrap_or("")
    }

    pub(crate) fn at_top(&self) -> bool {
        self.blocks == 0
    }

    pub(crate) fn edit(&mut self, edit: Edit) {
        self.edits.push(edit);
    }

    pub(crate) fn edits_len(&self) -> usize {
        self.edits.len()
    }

    pub(crate) fn insert(&mut self, at: TextSize, text: &str) {
        self.edits.push(Edit::text(TextRange::empty(at), text));
    }

    /// Inserts before edits that were made since `position`.
    pub(crate) fn insert_at(&mut self, position: usize, at: TextSize, text: &str) {
        self.edits.insert(position.min(self.edits.len()), Edit::text(TextRange::empty(at), text));
    }

    /// The edits that a walk makes, kept apart.
    pub(crate) fn nested(&mut self, walk: impl FnOnce(&mut Self)) -> Vec<Edit> {
        let outer = std::mem::take(&mut self.edits);
        walk(self);
        std::mem::replace(&mut self.edits, outer)
    }

    /// Records that Starlark has no such construct.
    pub(crate) fn refuse(&mut self, node: &impl Ranged, what: &str, hint: impl Into<String>) {
        self.diagnostics.push(
            Diagnostic::error(codes::NOT_IN_DIALECT, format!("{what} is not available in host code"))
                .at(&self.span(node), "here")
                .hint(hint),
        );
    }

    /// Overwrites text with blanks, so that everything else keeps its column.
    fn blank(&mut self, range: TextRange, breaks_allowed: bool) {
        let text = self.text(range);
        if text.contains('\n') && !breaks_allowed {
            return self.refuse(&range, "a type annotation over several lines", "write it on one line or leave it out");
        }
        let blanks = text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect::<String>();
        self.edit(Edit::text(range, blanks));
    }

    fn block(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }

    pub(crate) fn inner(&mut self, body: &[Stmt]) {
        self.blocks += 1;
        self.block(body);
        self.blocks -= 1;
    }

    fn stmt(&mut self, node: &Stmt) {
        match node {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::Return(_) if self.python == Python::Block => {
                self.refuse(node, "`return` in a `with python:` block", "return from a function inside of the block");
            }
            Stmt::Return(node) => node.value.iter().for_each(|value| self.right_side(value)),
            Stmt::Assign(assign) => {
                if assign.targets.len() > 1 {
                    self.refuse(node, "a chained assignment", "write one assignment for each name");
                }
                assign.targets.iter().for_each(|target| self.target(target));
                self.right_side(&assign.value);
            }
            Stmt::AugAssign(assign) => {
                if matches!(assign.op, Operator::Pow | Operator::MatMult) {
                    self.refuse(node, &format!("`{}=`", assign.op.as_str()), "write the operation out");
                }
                self.expr(&assign.target);
                self.right_side(&assign.value);
            }
            Stmt::AnnAssign(assign) => self.annotated(assign, node),
            Stmt::For(node) => self.for_loop(node),
            Stmt::If(node) => self.branch(node),
            Stmt::Import(import) => self.import(import, node),
            Stmt::ImportFrom(import) => self.import_from(import, node),
            Stmt::Expr(expr) => self.expr(&expr.value),
            Stmt::Pass(_) | Stmt::Break(_) | Stmt::Continue(_) => {}
            Stmt::While(_) => self.refuse(
                node,
                "`while`",
                "use a bounded `for i in range(n)` with `break`, or `repeat(f)` to apply an operator until it is refused",
            ),
            Stmt::Try(_) => self.refuse(node, "`try`", "`attempt(f, ...)` returns a record with `.ok`, `.value` and `.error`"),
            Stmt::Raise(_) => self.refuse(node, "`raise`", "call `fail(message)`, or `refuse(message)` to be caught by `attempt`"),
            Stmt::ClassDef(class) => self.class(class, node),
            Stmt::With(with) if self.python != Python::Outside && is_with(with, "exo") => self.quoted_block(with),
            Stmt::With(with) if is_with(with, "exo") => self.refuse(
                node,
                "`with exo:` outside of a definition",
                "quoted code stands in a `with python:` block of a `@proc`; outside, make procs in functions and loops",
            ),
            Stmt::With(with) if is_with(with, "python") => {
                self.refuse(node, "`with python:` outside of object code", "host code stands here as it is");
            }
            Stmt::With(_) => self.refuse(node, "`with`", "there are no resources to close; call the functions directly"),
            Stmt::Match(_) => self.refuse(node, "`match`", "use `if` and `elif`"),
            Stmt::Delete(_) => self.refuse(node, "`del`", "use `pop`, or let the name go out of scope"),
            Stmt::Assert(_) => self.refuse(
                node,
                "`assert`",
                "write `if not condition: fail(message)`; tests have `assert_true` and `assert_eq`",
            ),
            Stmt::Global(_) => self.refuse(node, "`global`", "return the value, or keep it in a dict"),
            Stmt::Nonlocal(_) => self.refuse(node, "`nonlocal`", "return the value, or keep it in a dict"),
            Stmt::TypeAlias(_) => self.refuse(node, "`type`", "leave it out; annotations are not checked"),
            Stmt::IpyEscapeCommand(_) => self.refuse(node, "an escape command", "leave it out"),
        }
    }

    fn annotated(&mut self, assign: &StmtAnnAssign, node: &Stmt) {
        match &assign.value {
            None => self.edit(Edit::text(node.range(), "pass")),
            Some(value) => {
                self.expr(&assign.target);
                self.blank(TextRange::new(assign.target.end(), assign.annotation.end()), false);
                self.right_side(value);
            }
        }
    }

    fn for_loop(&mut self, node: &StmtFor) {
        if node.is_async {
            self.refuse(&*node.iter, "`async`", "leave it out");
        }
        if let Some(first) = node.orelse.first() {
            self.refuse(first, "the `else` of a loop", "set a flag before `break` and test it after the loop");
        }
        self.target(&node.target);
        self.right_side(&node.iter);
        self.inner(&node.body);
    }

    fn branch(&mut self, node: &StmtIf) {
        self.expr(&node.test);
        self.inner(&node.body);
        for ElifElseClause { test, body, .. } in &node.elif_else_clauses {
            test.iter().for_each(|test| self.expr(test));
            self.inner(body);
        }
    }

    fn function(&mut self, function: &StmtFunctionDef) {
        match function.decorator_list.as_slice() {
            [] => {}
            [decorator] => match object_decorator(decorator) {
                Some((kind, arguments)) => return self.definition(function, kind, arguments),
                None => self.unknown_decorator(decorator, function),
            },
            [_, second, ..] => {
                self.refuse(second, "a second decorator", "apply it as a function: `f = g(f)`");
            }
        }
        if function.is_async {
            self.refuse(&function.name, "`async`", "leave it out");
        }
        if let Some(params) = &function.type_params {
            self.refuse(&**params, "a type parameter", "leave it out; annotations are not checked");
        }
        self.rename(function.name.range(), &function.name);
        self.parameters(&function.parameters);
        if let Some(returns) = &function.returns {
            self.blank(TextRange::new(function.parameters.end(), returns.end()), false);
        }
        self.scopes.push(HostScope::of_function(&function.parameters, &function.body));
        let around = self.python;
        if around == Python::Block {
            self.python = Python::Function;
        }
        self.inner(&function.body);
        self.python = around;
        self.scopes.pop();
    }

    fn unknown_decorator(&mut self, decorator: &Decorator, function: &StmtFunctionDef) {
        let name = self.text(decorator.expression.range()).to_string();
        let (what, hint) = match name.as_str() {
            "instr" => (
                "`@instr` without arguments".to_string(),
                "give the C template: `@instr(\"vadd({dst_data}, {src_data});\")`".to_string(),
            ),
            "config" => ("`@config` on a function".to_string(), "a config is a class of fields".to_string()),
            other => {
                let f = &function.name;
                let hint = match nearest(other, ["proc", "instr", "config"].into_iter()).first() {
                    Some(near) => format!("there is a similar name: `@{near}`"),
                    None => format!("write `{f} = {other}({f})` after the definition"),
                };
                (format!("the decorator `@{other}`"), hint)
            }
        };
        self.refuse(decorator, &what, hint);
    }

    pub(crate) fn parameters(&mut self, parameters: &Parameters) {
        if let Some(first) = parameters.posonlyargs.first() {
            self.refuse(first, "a positional-only parameter", "leave the `/` out");
        }
        for parameter in parameters.iter() {
            self.rename(parameter.name().range(), parameter.name());
            if let Some(annotation) = parameter.annotation() {
                self.blank(TextRange::new(parameter.name().end(), annotation.end()), true);
            }
            parameter.default().into_iter().for_each(|default| self.expr(default));
        }
    }

    /// Cuts an object definition out: one assignment, then blank lines.
    fn definition(&mut self, function: &StmtFunctionDef, kind: DefinitionKind, arguments: Option<&Arguments>) {
        let parts = of_definition(function);
        let (mut pieces, functions) = self.host_functions(&parts, function.range());
        let head = format!("{} = {DEFINE}({}, {{", host_name(&function.name), self.definitions.len());
        pieces.push(Piece::Text(head));
        pieces.extend(functions);
        pieces.push(self.captured(&parts, function.range()));
        if let Some(arguments) = arguments {
            let edits = self.nested(|host| host.arguments(arguments));
            let inner = TextRange::new(
                arguments.range().start() + TextSize::from(1),
                arguments.range().end() - TextSize::from(1),
            );
            pieces.push(Piece::Text("}, ".to_string()));
            pieces.push(Piece::Source { range: inner, edits });
            pieces.push(Piece::Text(")".to_string()));
        } else {
            pieces.push(Piece::Text("})".to_string()));
        }
        self.edit(Edit { range: function.range(), pieces, tail: "" });
        self.definitions.push(Definition {
            name: function.name.to_string(),
            kind,
            function: function.clone(),
            span: self.span(&function.name),
        });
    }

    /// The entries of the dict of captures of a piece of object code.
    pub(crate) fn captured(&mut self, parts: &HostParts<'_>, range: TextRange) -> Piece {
        let mentions = self.mentions(&parts.found, range.start().to_u32());
        self.captures.push(mentions);
        Piece::Captures(self.captures.len() - 1)
    }

    fn mentions(&mut self, found: &[Found<'_>], offset: u32) -> Vec<Mention> {
        let mut mentions: Vec<Mention> = Vec::new();
        for found in found {
            let range = found.node.range();
            let key = self.text(range).to_string();
            if mentions.iter().any(|mention| mention.key == key) {
                continue;
            }
            let names = match found.need {
                Need::Required => Default::default(),
                Need::Possible | Need::Item => names_in(found.node),
                Need::Target => std::iter::once(key.clone()).collect(),
            };
            let unbound: Vec<String> = names.into_iter().filter(|name| !is_bound(&self.scopes, name, offset)).collect();
            if key.contains('\n') {
                if found.need == Need::Required {
                    self.refuse(
                        found.node,
                        "a host expression over several lines",
                        "give it a name before the definition",
                    );
                }
                continue;
            }
            let edits = self.nested(|host| host.expr(found.node));
            let mut value = flatten(&self.file.text, range, &edits);
            if let (Need::Item, Expr::Subscript(item)) = (found.need, found.node) {
                let base = host_name(self.text(item.value.range())).to_string();
                value = format!("({value} if type({base}) != \"symbol\" else None)");
            }
            mentions.push(Mention { key, range, value, unbound });
        }
        mentions
    }

    /// Renames what Starlark reserves.
    pub(crate) fn rename(&mut self, range: TextRange, name: &str) {
        if host_name(name) != name {
            self.edit(Edit::text(range, host_name(name)));
        }
    }

    /// An expression where Python allows a bare tuple and Starlark does not in all forms.
    pub(crate) fn right_side(&mut self, node: &Expr) {
        match node {
            Expr::Tuple(tuple) if !tuple.parenthesized => {
                self.insert(node.start(), "(");
                self.expr(node);
                self.insert(node.end(), ")");
            }
            _ => self.expr(node),
        }
    }

    /// A target; Starlark reads bare tuples there unless they end in a comma.
    fn target(&mut self, node: &Expr) {
        match self.text(node.range()).ends_with(',') {
            true => self.right_side(node),
            false => self.expr(node),
        }
    }
}

/// The kind of object definition that a decorator makes, with the arguments of `@instr(...)`.
fn object_decorator(decorator: &Decorator) -> Option<(DefinitionKind, Option<&Arguments>)> {
    let (head, arguments) = match &decorator.expression {
        Expr::Call(call) => (&*call.func, Some(&call.arguments)),
        other => (other, None),
    };
    let Expr::Name(name) = head else { return None };
    match (name.id.as_str(), arguments) {
        ("proc", None) => Some((DefinitionKind::Proc, None)),
        ("proc", Some(arguments)) if arguments.is_empty() => Some((DefinitionKind::Proc, None)),
        ("instr", Some(arguments)) if !arguments.is_empty() => Some((DefinitionKind::Instr, Some(arguments))),
        _ => None,
    }
}
