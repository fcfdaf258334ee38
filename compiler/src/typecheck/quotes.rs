//! Where host code and object code meet inside a definition: `{...}`, `with python:`, and what they splice.
//!
//! Names of a quote mean what they meant where it was quoted, whatever is visible where it is spliced. A symbol that is
//! spliced outside of the scope that binds it is found at the end of the definition.

use ruff_python_ast::{Expr as Syntax, ExprSet, Identifier, Stmt as SyntaxStmt, StmtWith};
use ruff_text_size::Ranged;

use crate::diagnostic::codes;
use crate::loop_ir::validate::validate;
use crate::loop_ir::{Block, Const, Expr, ExprKind, Proc, StmtKind, build, configuration};
use crate::typecheck::captures::{HostValue, QuotedExpr};
use crate::typecheck::checker::{Checked, Checker, Reported};
use crate::typecheck::expressions::{MAX_DEPTH, fields_of};
use crate::typecheck::literal::Position;
use crate::typecheck::scope::Binding;

impl Checker<'_> {
    /// The binding of a visible name, or of the symbol that host code knows by that name.
    pub(crate) fn lookup(&mut self, name: &str) -> Option<Binding> {
        if let Some(binding) = self.scope.get(name) {
            return Some(binding.clone());
        }
        match self.captures.get(name)? {
            HostValue::Symbol(binding) => {
                self.quoted = true;
                self.scope.import(&binding);
                Some(binding)
            }
            _ => None,
        }
    }

    /// What host code inside the definition gets for one of the names that it mentions.
    fn host_name(&mut self, name: &str) -> HostValue {
        match self.lookup(name) {
            Some(binding) => HostValue::Symbol(binding),
            None => self.captures.get(name).unwrap_or(HostValue::Other("undefined name".to_string())),
        }
    }

    /// The value of `{...}`; `None` in text that belongs to no host code, such as an operator's argument.
    pub(crate) fn spliced(&mut self, set: &ExprSet, node: &Syntax) -> Checked<Option<HostValue>> {
        let [inner] = set.elts.as_slice() else {
            return self.outside(node, "a set", "`{...}` splices exactly one host value");
        };
        self.quoted = true;
        let captures = self.captures;
        let value = captures.splice(inner.range().start().to_u32(), &mut |name| self.host_name(name));
        value.transpose().map_err(|_| Reported)
    }

    /// `{...}` in an expression.
    pub(crate) fn braces(&mut self, set: &ExprSet, node: &Syntax, position: Position) -> Checked<Expr> {
        let value = self.spliced(set, node)?;
        let inner = set.elts.first().unwrap_or(node);
        match value {
            Some(value) => self.host_expression(&value, inner, node, position),
            None if self.captures.get(self.text(inner)).is_some() => self.host_constant(inner, node, position),
            // Names of the proc; the braces mean nothing there.
            None => self.expression(inner, position),
        }
    }

    /// A host value as an expression.
    pub(crate) fn host_expression(
        &mut self,
        value: &HostValue,
        inner: &Syntax,
        node: &Syntax,
        position: Position,
    ) -> Checked<Expr> {
        let value = match value {
            HostValue::Int(value) => Const::Int(*value),
            HostValue::Float(value) if value.is_nan() => {
                return self.refuse(codes::TYPE, node, format!("`{}` is not a number", self.text(inner)));
            }
            HostValue::Float(value) => Const::Real(*value),
            HostValue::Bool(value) => Const::Bool(*value),
            HostValue::Symbol(binding) => {
                self.scope.import(binding);
                return self.read_of(binding.clone(), node);
            }
            HostValue::Expression(quoted) => return self.quoted_expression(quoted, node, position),
            HostValue::ConfigField(field) => {
                let ty = configuration::ty(field);
                return Ok(build::expr(ExprKind::ReadConfig(field.clone()), ty, &self.span(node)));
            }
            HostValue::Config(config) => {
                return self.refuse_hint(
                    codes::TYPE,
                    node,
                    format!("`{}` is a config, not a value", self.text(inner)),
                    format!("name one of its fields, such as {}", fields_of(config)),
                );
            }
            HostValue::Precision(_)
            | HostValue::Memory(_)
            | HostValue::Proc(_)
            | HostValue::Extern(_)
            | HostValue::Text(_)
            | HostValue::Statements(_)
            | HostValue::Slice(..)
            | HostValue::Tuple(_)
            | HostValue::Other(_) => {
                let (written, what) = (self.text(inner), value.describe());
                let message = format!("`{written}` is {what}, not a number");
                let hint = match what.as_str() {
                    "a slice" | "a tuple" => {
                        format!("it gives the indices of an access, in braces: `x[{{{written}}}]`")
                    }
                    _ => "object code reads numbers, bools and quoted expressions of the host code; compute them there"
                        .to_string(),
                };
                return self.refuse_hint(codes::TYPE, node, message, hint);
            }
        };
        Ok(self.constant(value, node, position))
    }

    /// A host value as an index.
    pub(crate) fn host_index(&mut self, value: &HostValue, node: &Syntax) -> Checked<Expr> {
        let inner = match node {
            Syntax::Set(set) => set.elts.first().unwrap_or(node),
            other => other,
        };
        let index = self.host_expression(value, inner, node, Position::Control)?;
        match index.ty.is_indexable() {
            true => Ok(index),
            false => {
                self.refuse(codes::TYPE, node, format!("expected an index, found what `{}` gives", self.text(inner)))
            }
        }
    }

    /// Types a quoted expression where it is spliced, with the names that it was quoted with.
    fn quoted_expression(&mut self, quoted: &QuotedExpr, node: &Syntax, position: Position) -> Checked<Expr> {
        if self.depth >= MAX_DEPTH {
            return self.refuse(codes::OBJECT_SYNTAX, node, format!("more than {MAX_DEPTH} levels of nesting"));
        }
        let mut inner = Checker::new(&quoted.file, quoted);
        inner.depth = self.depth + 1;
        inner.budget = self.budget;
        let result = inner.expression(&quoted.syntax, position);
        self.budget = inner.budget;
        self.quoted = true;
        self.diagnostics.append(&mut inner.diagnostics);
        self.scope.import_all(inner.scope);
        result
    }

    /// `with python:`; everything else that starts with `with` is refused.
    pub(crate) fn with_statement(&mut self, with: &StmtWith, node: &SyntaxStmt) -> Checked<Block> {
        let hint =
            "host code inside of a proc stands in a `with python:` block, and object code in there in `with exo:`";
        let [item] = with.items.as_slice() else { return self.outside(node, "`with`", hint) };
        if self.text(&item.context_expr) != "python" || item.optional_vars.is_some() {
            return self.outside(node, "this `with`", hint);
        }
        self.quoted = true;
        let captures = self.captures;
        match captures.run(with.range().start().to_u32(), &mut |name| self.host_name(name)) {
            Some(Ok(block)) => self.fitting(block, node),
            Some(Err(_)) => Err(Reported),
            None => self.outside(node, "`with python:` in this text", "write it in a `@proc` of a module"),
        }
    }

    /// `{...}` as a statement.
    pub(crate) fn spliced_statements(&mut self, set: &ExprSet, node: &Syntax) -> Checked<Block> {
        match self.spliced(set, node)? {
            Some(HostValue::Statements(quoted)) => {
                let block = quoted.take();
                self.fitting(block, node)
            }
            Some(other) => self.refuse_hint(
                codes::TYPE,
                node,
                format!("expected quoted statements, found {}", other.describe()),
                "`with exo as NAME:` in a `with python:` block quotes statements",
            ),
            None => self.outside(node, "an expression as a statement", "assign it, or call a proc"),
        }
    }

    /// The block, unless it makes the definition too deep or too large.
    fn fitting(&mut self, block: Block, node: &impl Ranged) -> Checked<Block> {
        let mut size = 0;
        let depth = depth(&block, &mut size);
        if self.depth + depth > MAX_DEPTH {
            return self.refuse(codes::OBJECT_SYNTAX, node, format!("more than {MAX_DEPTH} levels of nesting"));
        }
        match self.budget.checked_sub(size) {
            Some(left) => {
                self.budget = left;
                Ok(block)
            }
            None => self.refuse_hint(
                codes::OBJECT_SYNTAX,
                node,
                "the quoted code becomes too large",
                "use a loop of the object language, or call a proc",
            ),
        }
    }

    /// Whether every symbol that quotes brought somewhere is bound around that place.
    pub(crate) fn scopes_hold(&mut self, proc: &Proc, node: &Identifier) -> Checked<()> {
        if !self.quoted {
            return Ok(());
        }
        match validate(proc) {
            Ok(()) => Ok(()),
            Err(problem) => self.refuse_hint(
                codes::UNDEFINED_NAME,
                node,
                format!("quoted code is spliced where a name of it means nothing: {problem}"),
                "splice it inside of the loop or block that declares the name",
            ),
        }
    }
}

/// Levels of nesting of a block; adds the number of its statements to `size`.
fn depth(block: &Block, size: &mut usize) -> usize {
    let mut deepest = 0;
    for stmt in block {
        *size += 1;
        deepest = deepest.max(match &stmt.kind {
            StmtKind::For { body, .. } => 1 + depth(body, size),
            StmtKind::If { body, orelse, .. } => 1 + depth(body, size).max(depth(orelse, size)),
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::Alloc { .. }
            | StmtKind::Call { .. }
            | StmtKind::WriteConfig { .. }
            | StmtKind::Window { .. } => 0,
        });
    }
    deepest
}
