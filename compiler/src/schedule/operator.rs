//! What an operator is: a name, parameters, a manual page, and a function from arguments to a proposal.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::{BlockPlace, GapPlace, Path, Place};
use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::hardware::config::{Config, ConfigField};
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::loop_ir::{Access, Expr, Proc};
use crate::schedule::obligation::Proposal;
use crate::symbol::Sym;

/// A scheduling operator. One file under `operators/`, one line in `registry.rs`; the Starlark binding, the help text and
/// the reference page come from here.
pub trait Operator: Sync {
    /// The name users write; also the file name.
    fn name(&self) -> &'static str;

    /// Parameters after the procedure, in order.
    fn parameters(&self) -> &'static [Parameter];

    fn help(&self) -> Help;

    /// Proposes edits and what must hold for them. Must not assume that the obligation will be met.
    ///
    /// `solver` is for deciding *which* edit to propose (is a guard needed, is an access inside the window); the proof
    /// that the edit is right belongs into the obligation.
    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal>;

    /// Name and meaning of the cursors that `rc = True` hands back, in order; the proposal gives the places. An operator
    /// that only moves or changes what it was given needs none: its place arguments are handed back, carried forward.
    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// A further procedure that a committed step made, which users get beside the result. Most operators make none.
    fn further(&self, before: &Proc, after: &Proc) -> Option<Arc<Proc>> {
        let _ = (before, after);
        None
    }
}

/// The manual page of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Help {
    /// One line.
    pub summary: &'static str,
    /// What it does, what must hold, where cursors go.
    pub text: &'static str,
    /// A runnable example: a module that prints; run by the tests.
    pub example: &'static str,
    /// What the example prints.
    pub prints: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    /// `None` for a required parameter.
    pub default: Option<Default>,
}

/// Default value of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    None,
    Bool(bool),
    Int(i64),
    Text(&'static str),
}

/// Which of its matches a pattern stands for where several expressions are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matches {
    First,
    All,
}

/// What a parameter accepts (spec/02, 1.2). Cursors of ancestor versions are forwarded first.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Name,
    Int,
    /// An integer of at least 1.
    PositiveInt,
    Bool,
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `None` or the inner kind.
    Optional(&'static Kind),
    /// A list of exactly `n` values, or of any number.
    List(&'static Kind, Option<usize>),
    /// One value or a list of them; the result is always a list.
    ListOrOne(&'static Kind),
    Memory,
    Precision,
    Procedure,
    /// A config.
    Config,
    /// The name of a field of the config given by the parameter of this name.
    ConfigField(&'static str),
    /// Statement cursors, or patterns for them.
    Stmt,
    /// A block, a statement, or a pattern; of exactly `n` statements where given.
    Block(Option<usize>),
    /// A gap cursor.
    Gap,
    /// A loop: cursor, pattern, or `name`/`name #k`.
    For,
    ForOrIf,
    /// A loop whose body is exactly one loop; also `"outer inner"`.
    NestedFor,
    Alloc,
    /// A formal argument: cursor or name.
    Arg,
    ArgOrAlloc,
    Assign,
    AssignOrReduce,
    Call,
    WindowStmt,
    /// One expression: cursor or pattern (first match).
    Expr,
    /// Several expressions: a list of cursors, or a pattern; also a single cursor.
    Exprs(Matches),
    /// A new expression (number, text, or `FormattedExprStr`) in the scope before the statement given by the parameter of
    /// this name.
    NewExpr(&'static str),
    /// What `NewExpr` accepts, or a window as text: an argument of a new call.
    NewExprOrWindow(&'static str),
    /// A window as text (`"x[0:8, i]"`) in the scope before the statement given by the parameter of this name.
    Window(&'static str),
}

/// A processed argument.
#[derive(Clone, Debug)]
pub enum Value {
    None,
    Text(String),
    Int(i64),
    Bool(bool),
    List(Vec<Value>),
    Memory(Memory),
    Precision(Precision),
    Procedure(Arc<Proc>),
    Config(Config),
    ConfigField(ConfigField),
    /// A statement or an expression.
    Path(Path),
    Block(BlockPlace),
    Gap(GapPlace),
    /// Position of a formal argument.
    Arg(usize),
    Expr(Expr),
    Window {
        name: Sym,
        idx: Vec<Access>,
    },
}

impl Value {
    /// The place that the value is; the first one of a list.
    pub fn place(&self) -> Option<Place> {
        match self {
            Value::Path(at) => Some(Place::Node(at.clone())),
            Value::Block(block) => Some(Place::Block(block.clone())),
            Value::Gap(gap) => Some(Place::Gap(gap.clone())),
            Value::Arg(at) => Some(Place::Arg(*at)),
            Value::List(values) => values.iter().find_map(Value::place),
            Value::None
            | Value::Text(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::Memory(_)
            | Value::Config(_)
            | Value::ConfigField(_)
            | Value::Precision(_)
            | Value::Procedure(_)
            | Value::Expr(_)
            | Value::Window { .. } => None,
        }
    }
}

/// The processed arguments of one call, by parameter name. Kinds were checked, so a missing or ill-typed one is a bug
/// of the operator and reported as a refusal rather than a panic.
#[derive(Clone, Debug)]
pub struct Arguments {
    pub operator: &'static str,
    pub values: Vec<(&'static str, Value)>,
}

impl Arguments {
    pub fn get(&self, name: &str) -> Result<&Value, Refusal> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, value)| value).ok_or_else(|| self.wrong(name))
    }

    fn wrong(&self, name: &str) -> Refusal {
        self.refuse(RefusalKind::Argument, format!("`{}` has no usable argument `{name}`", self.operator))
    }

    /// A refusal by this operator.
    pub fn refuse(&self, kind: RefusalKind, message: impl Into<String>) -> Refusal {
        let code = match kind {
            RefusalKind::InvalidCursor => codes::INVALID_CURSOR,
            RefusalKind::Argument => codes::ARGUMENT,
            RefusalKind::Scheduling
            | RefusalKind::Parse
            | RefusalKind::Type
            | RefusalKind::Bounds
            | RefusalKind::Memory
            | RefusalKind::Unequal => codes::REFUSED,
        };
        Refusal::new(kind, self.operator, Diagnostic::error(code, message))
    }

    /// A refusal because the code does not have the shape or property that the operator needs.
    pub fn scheduling(&self, message: impl Into<String>) -> Refusal {
        self.refuse(RefusalKind::Scheduling, message)
    }

    /// A refusal because a value is wrong.
    pub fn argument(&self, message: impl Into<String>) -> Refusal {
        self.refuse(RefusalKind::Argument, message)
    }

    /// The refusal that stands for an edit at a place that does not exist, which only a bug of the operator can cause.
    pub fn bug(&self, _: NoSuchPlace) -> Refusal {
        self.scheduling(format!(
            "`{}` edited a place that does not exist; this is a bug of the operator",
            self.operator
        ))
    }

    pub fn path(&self, name: &str) -> Result<&Path, Refusal> {
        match self.get(name)? {
            Value::Path(path) => Ok(path),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn block(&self, name: &str) -> Result<&BlockPlace, Refusal> {
        match self.get(name)? {
            Value::Block(block) => Ok(block),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn gap(&self, name: &str) -> Result<&GapPlace, Refusal> {
        match self.get(name)? {
            Value::Gap(gap) => Ok(gap),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn text(&self, name: &str) -> Result<&str, Refusal> {
        match self.get(name)? {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn int(&self, name: &str) -> Result<i64, Refusal> {
        match self.get(name)? {
            Value::Int(value) => Ok(*value),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn bool(&self, name: &str) -> Result<bool, Refusal> {
        match self.get(name)? {
            Value::Bool(value) => Ok(*value),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn list(&self, name: &str) -> Result<&[Value], Refusal> {
        match self.get(name)? {
            Value::List(values) => Ok(values),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn expr(&self, name: &str) -> Result<&Expr, Refusal> {
        match self.get(name)? {
            Value::Expr(expr) => Ok(expr),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn memory(&self, name: &str) -> Result<&Memory, Refusal> {
        match self.get(name)? {
            Value::Memory(memory) => Ok(memory),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn precision(&self, name: &str) -> Result<Precision, Refusal> {
        match self.get(name)? {
            Value::Precision(precision) => Ok(*precision),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn procedure(&self, name: &str) -> Result<&Arc<Proc>, Refusal> {
        match self.get(name)? {
            Value::Procedure(proc) => Ok(proc),
            _ => Err(self.wrong(name)),
        }
    }

    pub fn config_field(&self, name: &str) -> Result<&ConfigField, Refusal> {
        match self.get(name)? {
            Value::ConfigField(field) => Ok(field),
            _ => Err(self.wrong(name)),
        }
    }

    /// The texts of a list of names.
    pub fn texts(&self, name: &str) -> Result<Vec<&str>, Refusal> {
        self.list(name)?
            .iter()
            .map(|value| match value {
                Value::Text(text) => Ok(text.as_str()),
                _ => Err(self.wrong(name)),
            })
            .collect()
    }

    /// The paths of a list of statements or expressions.
    pub fn paths(&self, name: &str) -> Result<Vec<&Path>, Refusal> {
        self.list(name)?
            .iter()
            .map(|value| match value {
                Value::Path(path) => Ok(path),
                _ => Err(self.wrong(name)),
            })
            .collect()
    }
}
