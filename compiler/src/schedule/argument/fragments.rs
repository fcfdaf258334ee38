//! Arguments that are new object code: expressions and windows, read in the scope of a place.

use crate::cursor::{Path, Place, path};
use crate::diagnostic::{Diagnostic, Refusal, codes};
use crate::loop_ir::{Block, Expr, Stmt, StmtKind, build, visit};
use crate::print::Names;
use crate::schedule::argument::{RawValue, Reader};
use crate::schedule::operator::{Kind, Value};
use crate::syntax::fragment;

const EXPRESSION: &str = "an expression: a number, text, a cursor to one, or FormattedExprStr";

impl Reader<'_> {
    pub(super) fn new_expr(&self, context: &str, raw: &RawValue) -> Result<Value, Refusal> {
        match raw {
            RawValue::Int(value) => Ok(Value::Expr(build::int(*value))),
            RawValue::Float(value) => Ok(Value::Expr(build::real(*value))),
            RawValue::Bool(value) => Ok(Value::Expr(build::boolean(*value))),
            RawValue::Text(text) => {
                let at = self.context(context)?;
                let expr =
                    fragment::expr(text, self.proc(), &at).map_err(|error| self.unknown(error, context, text))?;
                Ok(Value::Expr(expr))
            }
            RawValue::Cursor(cursor) => {
                let hole = self.hole(cursor)?;
                let expr = fragment::formatted("_", &[hole], self.proc(), &self.context(context)?);
                expr.map(Value::Expr).map_err(|error| self.unreadable(error))
            }
            RawValue::Formatted { text, holes } => {
                let at = self.context(context)?;
                let holes = holes.iter().map(|hole| self.hole(hole)).collect::<Result<Vec<Expr>, Refusal>>()?;
                let expr = fragment::formatted(text, &holes, self.proc(), &at);
                expr.map(Value::Expr).map_err(|error| self.unreadable(error))
            }
            other => Err(self.wrong_kind(EXPRESSION, other)),
        }
    }

    /// An argument of a new call: an expression, or a window.
    pub(super) fn new_argument(&self, context: &str, raw: &RawValue) -> Result<Value, Refusal> {
        match raw {
            RawValue::Text(text) if text.contains(':') => match self.window(context, raw)? {
                Value::Window { name, idx } => Ok(Value::Expr(build::window(&name, idx))),
                other => Ok(other),
            },
            other => self.new_expr(context, other),
        }
    }

    /// The expression that fills a hole; cursors of earlier versions are carried forward.
    fn hole(&self, cursor: &crate::schedule::procedure::Cursor) -> Result<Expr, Refusal> {
        match self.forwarded(cursor)? {
            Place::Node(at) => path::expr(self.proc(), &at).cloned(),
            _ => None,
        }
        .ok_or_else(|| self.wrong_value("has a hole that is not filled by an expression"))
    }

    pub(super) fn window(&self, context: &str, raw: &RawValue) -> Result<Value, Refusal> {
        let RawValue::Text(text) = raw else {
            return Err(self.wrong_kind("a window as text, such as \"x[0:8, i]\"", raw));
        };
        let at = self.context(context)?;
        let (name, idx) =
            fragment::window(text, self.proc(), &at).map_err(|error| self.unknown(error, context, text))?;
        Ok(Value::Window { name, idx })
    }

    /// A fragment that cannot be read at the place of `parameter`. Names that only mean something further inside are a common
    /// reason.
    fn unknown(&self, error: Diagnostic, parameter: &str, text: &str) -> Refusal {
        let is_name = error.code == codes::UNDEFINED_NAME;
        let mut refusal = self.unreadable(error);
        // Host code is no part of what a text may name.
        let label = refusal.diagnostics.first_mut().and_then(|first| first.primary.as_mut());
        if let Some(label) = label.filter(|_| is_name) {
            label.text = format!("no name of the proc that is visible at `{parameter}`");
        }
        let Some(inner) = self.inner_loop(parameter, text).filter(|_| is_name) else { return refusal };
        let names = Names::of(self.proc());
        let StmtKind::For { iter, lo, hi, .. } = &inner.kind else { return refusal };
        let (iter, lo, hi) = (names.get(iter), names.expr(lo), names.expr(hi));
        let whole = match (&self.parameter.kind, text.split_once('[')) {
            (Kind::Window(_), Some((buffer, indices))) if indices.trim_end_matches(']').trim() == iter => {
                format!("write its whole range, `{buffer}[{lo}:{hi}]`")
            }
            (Kind::Window(_), _) => {
                format!("write the whole range of what it reaches; `{iter}` runs from {lo} to {hi}")
            }
            _ => format!("write it without `{iter}`, or choose a place inside of that loop"),
        };
        refusal.hint(format!(
            "`{iter}` is known only inside of `{}`, and the text is read before: {whole}",
            names.headline(&inner)
        ))
    }

    /// The first loop in the value of `parameter` whose iterator is a word of the text.
    fn inner_loop(&self, parameter: &str, text: &str) -> Option<Stmt> {
        let names = Names::of(self.proc());
        let block = match self.done.get(parameter).ok()? {
            Value::Block(block) => path::block(self.proc(), block)?,
            Value::Path(at) => Block::from(vec![path::stmt(self.proc(), &at.statement()?)?.clone()]),
            _ => return None,
        };
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let mut found = None;
        visit::each_stmt(&block, &mut |stmt| {
            if let StmtKind::For { iter, .. } = &stmt.kind
                && found.is_none()
                && words.contains(&names.get(iter))
            {
                found = Some(stmt.clone());
            }
        });
        found
    }

    /// The statement before which a fragment is read, given by an earlier parameter.
    fn context(&self, parameter: &str) -> Result<Path, Refusal> {
        let mut value = self.done.get(parameter)?;
        while let Value::List(values) = value {
            value = values.first().ok_or_else(|| self.wrong_value(format!("needs a place in `{parameter}`")))?;
        }
        let at = match value {
            Value::Path(at) => at.statement(),
            Value::Block(block) => Some(block.statement(0)),
            // What stands before the gap is visible in it, the anchor too where the gap is behind it.
            Value::Gap(gap) => {
                gap.insertion().map(|(parent, orelse, at)| parent.child(crate::cursor::Step::statement(orelse, at)))
            }
            // The declaration of an argument: the scope before the first statement.
            Value::Arg(_) => Some(Path::root().child(crate::cursor::Step::Body(0))),
            Value::None
            | Value::Text(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::List(_)
            | Value::Memory(_)
            | Value::Config(_)
            | Value::ConfigField(_)
            | Value::Precision(_)
            | Value::Procedure(_)
            | Value::Expr(_)
            | Value::Window { .. } => None,
        };
        at.ok_or_else(|| self.wrong_value(format!("is read at the place of `{parameter}`, which is not one")))
    }
}
