//! What names of the host code around a definition mean inside it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ruff_python_ast::Expr as Syntax;

use crate::hardware::config::{Config, ConfigField};
use crate::hardware::extern_function::ExternFunction;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::loop_ir::substitute::alpha_rename;
use crate::loop_ir::{Block, Proc};
use crate::source::SourceFile;
use crate::typecheck::expressions::MAX_DEPTH;
use crate::typecheck::scope::Binding;

/// A host value as object code sees it.
#[derive(Clone, Debug)]
pub enum HostValue {
    Int(i64),
    Float(f64),
    Bool(bool),
    Precision(Precision),
    Memory(Memory),
    Proc(Arc<Proc>),
    Extern(ExternFunction),
    Config(Config),
    ConfigField(ConfigField),
    /// Stands for a precision when it is the word of one.
    Text(String),
    /// A name of object code, as `with python:` blocks see it.
    Symbol(Binding),
    /// What `~{...}` made.
    Expression(Arc<QuotedExpr>),
    /// What `with exo as NAME` made.
    Statements(Arc<QuotedBlock>),
    /// `slice(lo, hi)`; it stands for a slice between brackets.
    Slice(Option<Box<HostValue>>, Option<Box<HostValue>>),
    /// Several indices between brackets.
    Tuple(Vec<HostValue>),
    /// Anything else; the text says what it is (`list`, `function`).
    Other(String),
}

impl HostValue {
    /// What a message calls the value.
    pub fn describe(&self) -> String {
        match self {
            HostValue::Int(value) => format!("the number {value}"),
            HostValue::Float(value) => format!("the number {value:?}"),
            HostValue::Bool(_) => "a bool".to_string(),
            HostValue::Precision(precision) => format!("the precision {}", precision.word()),
            HostValue::Memory(memory) => format!("the memory {}", memory.name()),
            HostValue::Proc(proc) => format!("the proc {}", proc.name),
            HostValue::Extern(function) => format!("the extern {}", function.name),
            HostValue::Config(config) => format!("the config {}", config.name()),
            HostValue::ConfigField(field) => format!("the configuration field {field}"),
            HostValue::Text(_) => "a string".to_string(),
            HostValue::Symbol(binding) => format!("the name {}", binding.symbol.name()),
            HostValue::Expression(_) => "a quoted expression".to_string(),
            HostValue::Statements(_) => "quoted statements".to_string(),
            HostValue::Slice(..) => "a slice".to_string(),
            HostValue::Tuple(_) => "a tuple".to_string(),
            HostValue::Other(what) => format!("a {what}"),
        }
    }
}

impl HostValue {
    /// How many quotes are inside of each other.
    fn depth(&self) -> usize {
        match self {
            HostValue::Expression(quoted) => quoted.depth,
            HostValue::Slice(lo, hi) => {
                let bounds = [lo, hi].into_iter().flatten();
                bounds.map(|bound| bound.depth()).max().unwrap_or(0)
            }
            HostValue::Tuple(items) => items.iter().map(HostValue::depth).max().unwrap_or(0),
            HostValue::Int(_)
            | HostValue::Float(_)
            | HostValue::Bool(_)
            | HostValue::Precision(_)
            | HostValue::Memory(_)
            | HostValue::Proc(_)
            | HostValue::Extern(_)
            | HostValue::Text(_)
            | HostValue::Config(_)
            | HostValue::ConfigField(_)
            | HostValue::Symbol(_)
            | HostValue::Statements(_)
            | HostValue::Other(_) => 0,
        }
    }
}

/// The host scope of a definition.
pub trait Captures {
    /// The value of a host expression, given as it is written in the source: `f`, `mems[0]`, `lib.proc`.
    /// `None` when the name is unknown there.
    fn get(&self, expression: &str) -> Option<HostValue>;

    /// The value of the host code in `{...}` whose code starts at a byte offset; `names` gives what names of the object
    /// code stand for there. `None` where the braces hold no host code.
    fn splice(&self, _offset: u32, _names: &mut dyn FnMut(&str) -> HostValue) -> Option<Result<HostValue, HostFailed>> {
        None
    }

    /// Runs the `with python:` block at a byte offset and gives the statements that it emitted.
    fn run(&self, _offset: u32, _names: &mut dyn FnMut(&str) -> HostValue) -> Option<Result<Block, HostFailed>> {
        None
    }
}

/// Host code inside a definition failed. Whoever had the definition typed knows the reason.
#[derive(Clone, Copy, Debug)]
pub struct HostFailed;

/// An expression of object code with what its names and splices stood for when it was quoted. It gets its types where it
/// is spliced.
#[derive(Debug)]
pub struct QuotedExpr {
    pub file: Arc<SourceFile>,
    pub syntax: Syntax,
    pub names: BTreeMap<String, HostValue>,
    /// Values of the `{...}` inside, by the byte offset of their code.
    pub splices: BTreeMap<u32, HostValue>,
    /// How many quotes are inside of each other.
    depth: usize,
}

impl QuotedExpr {
    /// # Errors
    /// More quotes inside of each other than a definition may nest.
    pub fn new(
        file: Arc<SourceFile>,
        syntax: Syntax,
        names: BTreeMap<String, HostValue>,
        splices: BTreeMap<u32, HostValue>,
    ) -> Result<Self, TooDeep> {
        let inner = names.values().chain(splices.values()).map(HostValue::depth).max();
        let depth = 1 + inner.unwrap_or(0);
        if depth > MAX_DEPTH { Err(TooDeep) } else { Ok(QuotedExpr { file, syntax, names, splices, depth }) }
    }
}

/// Quotes are nested deeper than [`MAX_DEPTH`].
#[derive(Clone, Copy, Debug)]
pub struct TooDeep;

impl Captures for QuotedExpr {
    fn get(&self, expression: &str) -> Option<HostValue> {
        self.names.get(expression).cloned()
    }

    fn splice(&self, offset: u32, _names: &mut dyn FnMut(&str) -> HostValue) -> Option<Result<HostValue, HostFailed>> {
        self.splices.get(&offset).cloned().map(Ok)
    }
}

/// Typed statements that host code holds. The first splice keeps the symbols that they bind, so that what host code
/// knows of them stays true; each further one gets symbols of its own.
#[derive(Debug)]
pub struct QuotedBlock {
    pub statements: Block,
    spliced: AtomicBool,
}

impl QuotedBlock {
    pub fn new(statements: Block) -> Self {
        QuotedBlock { statements, spliced: AtomicBool::new(false) }
    }

    /// The statements for one more place.
    pub fn take(&self) -> Block {
        match self.spliced.swap(true, Ordering::Relaxed) {
            false => self.statements.clone(),
            true => alpha_rename(&self.statements),
        }
    }
}

/// A host scope without names.
pub struct NoCaptures;

impl Captures for NoCaptures {
    fn get(&self, _: &str) -> Option<HostValue> {
        None
    }
}

impl Captures for BTreeMap<String, HostValue> {
    fn get(&self, expression: &str) -> Option<HostValue> {
        BTreeMap::get(self, expression).cloned()
    }
}
