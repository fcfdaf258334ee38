//! What names of the host code around a definition mean inside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::hardware::config::{Config, ConfigField};
use crate::hardware::extern_function::ExternFunction;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::loop_ir::Proc;

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
            HostValue::Other(what) => format!("a {what}"),
        }
    }
}

/// The host scope of a definition.
pub trait Captures {
    /// The value of a host expression, given as it is written in the source: `f`, `mems[0]`, `lib.proc`.
    /// `None` when the name is unknown there.
    fn get(&self, expression: &str) -> Option<HostValue>;
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
