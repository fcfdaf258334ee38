//! Arguments that name a place: cursors (of this version or an ancestor), patterns, and name shorthands.

use crate::cursor::path::{self, ExprList};
use crate::cursor::{BlockPlace, Path, Place};
use crate::diagnostic::{Refusal, RefusalKind, counted};
use crate::loop_ir::{Stmt, StmtKind};
use crate::print::Names;
use crate::schedule::argument::{RawValue, Reader, nests};
use crate::schedule::operator::{Kind, Matches, Value};
use crate::schedule::procedure::{Cursor, ForwardError};
use crate::schedule::unrelated;
use crate::syntax::pattern::{Pattern, name_count, nested_names};

/// What a place parameter accepts, for messages.
fn accepted(kind: &Kind) -> &'static str {
    match kind {
        Kind::Stmt => "a statement: a cursor or a pattern",
        Kind::Block(_) => "a block: a cursor to statements or a pattern",
        Kind::Gap => "a gap cursor such as `p.find(...).after()`",
        Kind::For => "a loop: a cursor, a pattern, or its name as in \"i\" or \"i #1\"",
        Kind::ForOrIf => "a loop or an if: a cursor, a pattern, or a loop's name",
        Kind::NestedFor => "two nested loops: a cursor, a pattern, or their names as in \"i j\"",
        Kind::Alloc => "an allocation: a cursor, a pattern, or its name as in \"x\" or \"x #1\"",
        Kind::Arg => "an argument of the procedure: a cursor or its name",
        Kind::ArgOrAlloc => "an argument or allocation: a cursor, a pattern, or its name",
        Kind::Assign => "an assignment: a cursor or a pattern",
        Kind::AssignOrReduce => "an assignment or reduction: a cursor or a pattern",
        Kind::Call => "a call: a cursor, a pattern, a procedure, or its name",
        Kind::WindowStmt => "a window statement: a cursor or a pattern",
        Kind::Expr => "an expression: a cursor or a pattern",
        Kind::Exprs(Matches::All) => "expressions: a cursor, a list of cursors, or a pattern for all of them",
        Kind::Exprs(Matches::First) => "expressions: a cursor, a list of cursors, or a pattern for the first",
        Kind::Name
        | Kind::Int
        | Kind::PositiveInt
        | Kind::Bool
        | Kind::Text
        | Kind::Word(_)
        | Kind::Optional(_)
        | Kind::List(..)
        | Kind::ListOrOne(_)
        | Kind::Memory
        | Kind::Precision
        | Kind::Procedure
        | Kind::Config
        | Kind::ConfigField(_)
        | Kind::NewExpr(_)
        | Kind::NewExprOrWindow(_)
        | Kind::Window(_) => "a place",
    }
}

impl Reader<'_> {
    pub(super) fn place(&self, kind: &Kind, raw: &RawValue) -> Result<Value, Refusal> {
        match kind {
            Kind::Exprs(matches) => return self.exprs(*matches, raw),
            Kind::Arg => {
                if let RawValue::Text(text) = raw {
                    return self.arg_named(text);
                }
            }
            Kind::Call => {
                if let RawValue::Procedure(callee) = raw {
                    return self.call_named(&callee.ir().name);
                }
            }
            _ => {}
        }
        match raw {
            RawValue::Cursor(cursor) => {
                let place = self.forwarded(cursor)?;
                self.checked(kind, &place, raw)
            }
            RawValue::Text(text) if !matches!(kind, Kind::Gap) => {
                if let Some(value) = self.shorthand(kind, text)? {
                    return Ok(value);
                }
                let place = self.first(text)?;
                self.checked(kind, &place, raw)
            }
            other => Err(self.wrong_kind(accepted(kind), other)),
        }
    }

    /// The place of a cursor in this version.
    pub(super) fn forwarded(&self, cursor: &Cursor) -> Result<Place, Refusal> {
        if cursor.place == Place::Invalid {
            return Err(self.invalid_cursor("the cursor points to nothing"));
        }
        match self.procedure.forward(cursor) {
            Ok(cursor) => Ok(cursor.place),
            Err(ForwardError::Unrelated) => {
                let lead = format!("{}: ", self.lead());
                let diagnostic = unrelated::diagnostic(&cursor.procedure, self.procedure, &lead);
                Err(Refusal::new(RefusalKind::InvalidCursor, self.done.operator, diagnostic))
            }
            Err(ForwardError::Gone) => {
                Err(self.invalid_cursor("what the cursor pointed to was removed by an earlier step"))
            }
        }
    }

    /// Name shorthands of the kinds that have them.
    fn shorthand(&self, kind: &Kind, text: &str) -> Result<Option<Value>, Refusal> {
        let raw = RawValue::Text(text.to_string());
        if let Kind::NestedFor = kind
            && let Some((outer, inner, nth)) = nested_names(text)
        {
            let found = self.named(&Pattern::nested_loops(outer, inner, nth))?;
            let at = found.ok_or_else(|| self.no_nest(outer, inner))?;
            return self.checked(kind, &at, &raw).map(Some);
        }
        let Some((name, nth)) = name_count(text) else { return Ok(None) };
        let (pattern, what) = match kind {
            Kind::For | Kind::ForOrIf | Kind::NestedFor => (Pattern::loop_named(name, nth), "loop"),
            Kind::Alloc | Kind::ArgOrAlloc => (Pattern::alloc_named(name, nth), "allocation"),
            Kind::Call => (Pattern::call_named(name, nth), "call of"),
            _ => return Ok(None),
        };
        match (self.named(&pattern)?, kind) {
            (Some(at), _) => self.checked(kind, &at, &raw).map(Some),
            (None, Kind::ArgOrAlloc) => match self.arg_position(name) {
                Some(at) if nth.unwrap_or(0) == 0 => Ok(Some(Value::Arg(at))),
                _ => Err(self.no_name("argument or allocation", text, name, kind)),
            },
            (None, _) => Err(self.no_name(what, text, name, kind)),
        }
    }

    pub(super) fn arg_position(&self, name: &str) -> Option<usize> {
        self.proc().args.iter().position(|arg| arg.name.name() == name)
    }

    fn arg_named(&self, name: &str) -> Result<Value, Refusal> {
        let at = self.arg_position(name.trim());
        at.map(Value::Arg).ok_or_else(|| self.no_name("argument", name, name.trim(), &Kind::Arg))
    }

    fn call_named(&self, name: &str) -> Result<Value, Refusal> {
        match self.named(&Pattern::call_named(name, None))? {
            Some(Place::Node(at)) => Ok(Value::Path(at)),
            _ => Err(self.no_match(format!("call of `{name}`"))),
        }
    }

    /// A place that must fit the kind.
    fn checked(&self, kind: &Kind, place: &Place, raw: &RawValue) -> Result<Value, Refusal> {
        let wrong = || self.wrong_place(kind, place, raw);
        match kind {
            Kind::Gap => match place {
                Place::Gap(gap) => Ok(Value::Gap(gap.clone())),
                _ => Err(wrong()),
            },
            Kind::Arg | Kind::ArgOrAlloc if matches!(place, Place::Arg(_)) => match place {
                Place::Arg(at) => Ok(Value::Arg(*at)),
                _ => Err(wrong()),
            },
            Kind::Block(length) => self.block(*length, place).ok_or_else(wrong)?,
            Kind::Expr => match place {
                // The extents of arguments belong to no statement that could be changed.
                Place::Node(at) if at.statement().is_some() && path::expr(self.proc(), at).is_some() => {
                    Ok(Value::Path(at.clone()))
                }
                _ => Err(wrong()),
            },
            _ => {
                let Place::Node(at) = place else { return Err(wrong()) };
                let stmt = path::stmt(self.proc(), at).ok_or_else(wrong)?;
                if !fits(kind, stmt) {
                    return Err(wrong());
                }
                if let Kind::NestedFor = kind {
                    self.check_nest(stmt)?;
                }
                Ok(Value::Path(at.clone()))
            }
        }
    }

    fn block(&self, length: Option<usize>, place: &Place) -> Option<Result<Value, Refusal>> {
        let block = match place {
            Place::Block(block) => block.clone(),
            Place::Node(at) => {
                path::stmt(self.proc(), at)?;
                BlockPlace::of_statement(at)?
            }
            _ => return None,
        };
        if let Some(length) = length.filter(|length| *length != block.len()) {
            let wanted = counted(length, "statement");
            return Some(Err(self.wrong_value(format!("needs a block of {wanted}, not of {}", block.len()))));
        }
        Some(Ok(Value::Block(block)))
    }

    fn check_nest(&self, outer: &Stmt) -> Result<(), Refusal> {
        let StmtKind::For { body, .. } = &outer.kind else { return Ok(()) };
        match body.only() {
            Some(only) if matches!(only.kind, StmtKind::For { .. }) => Ok(()),
            _ => Err(self.wrong_value("needs a loop whose body is exactly one loop").hint(nests::remedy(
                outer,
                None,
                &Names::of(self.proc()),
            ))),
        }
    }

    fn wrong_place(&self, kind: &Kind, place: &Place, raw: &RawValue) -> Refusal {
        let found = match raw {
            RawValue::Text(text) => {
                let cursor = Cursor { procedure: self.procedure.clone(), place: place.clone() };
                format!("{text:?}, which matches `{}`", super::describe::target(&cursor))
            }
            other => super::describe::kind(other),
        };
        let refusal = self.wrong_value(format!("needs {}, not {found}", accepted(kind)));
        match raw {
            RawValue::Text(text) => self.named_statement(text).into_iter().fold(refusal, Refusal::hint),
            _ => refusal,
        }
    }

    fn exprs(&self, matches: Matches, raw: &RawValue) -> Result<Value, Refusal> {
        match raw {
            RawValue::Text(pattern) => {
                let found = self.find(pattern)?;
                let meant = match matches {
                    Matches::First => found.get(..1).unwrap_or_default(),
                    Matches::All => found.as_slice(),
                };
                let paths = meant.iter().map(|place| self.checked(&Kind::Expr, place, raw));
                paths.collect::<Result<_, _>>().map(Value::List)
            }
            RawValue::List(values) => {
                let mut paths = Vec::new();
                for value in values {
                    match self.exprs(matches, value)? {
                        Value::List(more) => paths.extend(more),
                        other => paths.push(other),
                    }
                }
                Ok(Value::List(paths))
            }
            RawValue::Cursor(cursor) => match self.forwarded(cursor)? {
                Place::Exprs { parent, list, lo, hi } => Ok(Value::List(elements(&parent, list, lo, hi))),
                place => Ok(Value::List(vec![self.checked(&Kind::Expr, &place, raw)?])),
            },
            other => Err(self.wrong_kind(accepted(&Kind::Exprs(matches)), other)),
        }
    }
}

fn elements(parent: &Path, list: ExprList, lo: usize, hi: usize) -> Vec<Value> {
    (lo..hi).map(|at| Value::Path(parent.child(list.step(at)))).collect()
}

/// Whether a statement is of the kind that a parameter asks for.
fn fits(kind: &Kind, stmt: &Stmt) -> bool {
    match kind {
        Kind::Stmt => true,
        Kind::For | Kind::NestedFor => matches!(stmt.kind, StmtKind::For { .. }),
        Kind::ForOrIf => matches!(stmt.kind, StmtKind::For { .. } | StmtKind::If { .. }),
        Kind::Alloc | Kind::ArgOrAlloc => matches!(stmt.kind, StmtKind::Alloc { .. }),
        Kind::Assign => matches!(stmt.kind, StmtKind::Assign { .. }),
        Kind::AssignOrReduce => matches!(stmt.kind, StmtKind::Assign { .. } | StmtKind::Reduce { .. }),
        Kind::Call => matches!(stmt.kind, StmtKind::Call { .. }),
        Kind::WindowStmt => matches!(stmt.kind, StmtKind::Window { .. }),
        Kind::Block(_)
        | Kind::Gap
        | Kind::Arg
        | Kind::Expr
        | Kind::Exprs(_)
        | Kind::Name
        | Kind::Int
        | Kind::PositiveInt
        | Kind::Bool
        | Kind::Text
        | Kind::Word(_)
        | Kind::Optional(_)
        | Kind::List(..)
        | Kind::ListOrOne(_)
        | Kind::Memory
        | Kind::Precision
        | Kind::Procedure
        | Kind::Config
        | Kind::ConfigField(_)
        | Kind::NewExpr(_)
        | Kind::NewExprOrWindow(_)
        | Kind::Window(_) => false,
    }
}
