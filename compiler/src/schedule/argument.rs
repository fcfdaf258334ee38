//! From what a script passes to what an operator receives: forwarding, patterns, fragments, kinds.

mod describe;
mod fragments;
pub(crate) mod missing;
mod names;
mod nests;
mod places;
mod search;

use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Refusal, RefusalKind, codes, counted, nearest};
use crate::hardware::config::Config;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::loop_ir::Proc;
use crate::schedule::apply::RawArguments;
use crate::schedule::operator::{Arguments, Default, Kind, Operator, Parameter, Value};
use crate::schedule::procedure::{Cursor, Procedure};

pub use describe::written;
pub use names::is_name;

/// A value as the script host hands it over.
#[derive(Clone, Debug)]
pub enum RawValue {
    None,
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    List(Vec<RawValue>),
    Cursor(Cursor),
    Procedure(Procedure),
    Memory(Memory),
    Precision(Precision),
    Config(Config),
    /// `FormattedExprStr(text, *cursors)`: text with `_` holes and the expressions that fill them.
    Formatted {
        text: String,
        holes: Vec<Cursor>,
    },
    /// Anything else: what messages call it, with an article.
    Other(String),
}

/// Binds and processes all arguments of one call, left to right, so that later ones can refer to earlier ones.
pub fn process(
    operator: &'static dyn Operator,
    procedure: &Procedure,
    raw: &RawArguments,
) -> Result<Arguments, Refusal> {
    let mut done = Arguments { operator: operator.name(), values: Vec::new() };
    let bound = bind(operator, raw)?;
    for (at, (parameter, given)) in operator.parameters().iter().zip(bound).enumerate() {
        let given = match given {
            Some(value) => value.clone(),
            None => default_value(operator, at, parameter)?,
        };
        let reader = Reader { procedure, position: at + 1, parameter, done: &done };
        let value = match (&given, parameter.default) {
            // A parameter whose default is `None` accepts `None`, whatever its kind.
            (RawValue::None, Some(Default::None)) => Value::None,
            _ => reader.value(&parameter.kind, &given)?,
        };
        done.values.push((parameter.name, value));
    }
    Ok(done)
}

fn default_value(operator: &dyn Operator, at: usize, parameter: &Parameter) -> Result<RawValue, Refusal> {
    match parameter.default {
        Some(Default::None) => Ok(RawValue::None),
        Some(Default::Bool(value)) => Ok(RawValue::Bool(value)),
        Some(Default::Int(value)) => Ok(RawValue::Int(value)),
        Some(Default::Text(text)) => Ok(RawValue::Text(text.to_string())),
        None => {
            let name = operator.name();
            let message = format!("`{name}` needs an argument for `{}` (argument {})", parameter.name, at + 1);
            Err(refusal(name, RefusalKind::Argument, codes::ARGUMENT, message, &signature(operator)))
        }
    }
}

/// Which value each parameter got.
fn bind<'a>(operator: &dyn Operator, raw: &'a RawArguments) -> Result<Vec<Option<&'a RawValue>>, Refusal> {
    let name = operator.name();
    let parameters = operator.parameters();
    let refuse =
        |message: String| Err(refusal(name, RefusalKind::Argument, codes::ARGUMENT, message, &signature(operator)));
    if raw.positional.len() > parameters.len() {
        return refuse(format!(
            "`{name}` takes at most {} after the procedure, but got {}",
            counted(parameters.len(), "argument"),
            raw.positional.len()
        ));
    }
    let mut bound: Vec<Option<&RawValue>> = raw.positional.iter().map(Some).collect();
    bound.resize(parameters.len(), None);
    for (key, value) in &raw.named {
        let slot = parameters.iter().zip(&mut bound).find(|(parameter, _)| parameter.name == key);
        match slot {
            None if key.starts_with("unsafe_") && parameters.iter().any(|p| p.name == "unsafe_skip_check") => {
                return refuse(format!("`{name}` has no parameter `{key}`: it is called `unsafe_skip_check`"));
            }
            None => return refuse(format!("`{name}` has no parameter `{key}`")),
            Some((_, Some(_))) => return refuse(format!("`{name}` got two values for `{key}`")),
            Some((_, slot)) => *slot = Some(value),
        }
    }
    Ok(bound)
}

/// The call as the manual shows it.
pub fn signature(operator: &dyn Operator) -> String {
    let mut text = format!("{}(p", operator.name());
    for parameter in operator.parameters() {
        text.push_str(", ");
        text.push_str(parameter.name);
        match parameter.default {
            None => {}
            Some(Default::None) => text.push_str(" = None"),
            Some(Default::Bool(true)) => text.push_str(" = True"),
            Some(Default::Bool(false)) => text.push_str(" = False"),
            Some(Default::Int(value)) => text.push_str(&format!(" = {value}")),
            Some(Default::Text(word)) => text.push_str(&format!(" = {word:?}")),
        }
    }
    text.push(')');
    text
}

fn refusal(operator: &str, kind: RefusalKind, code: Code, message: String, hint: &str) -> Refusal {
    let mut diagnostic = Diagnostic::error(code, message);
    if !hint.is_empty() {
        diagnostic = diagnostic.hint(hint);
    }
    Refusal::new(kind, operator, diagnostic)
}

/// Processes the value of one parameter.
struct Reader<'a> {
    procedure: &'a Procedure,
    /// The procedure itself is argument 0.
    position: usize,
    parameter: &'a Parameter,
    /// The arguments before this one.
    done: &'a Arguments,
}

impl Reader<'_> {
    fn proc(&self) -> &Arc<Proc> {
        self.procedure.ir()
    }

    fn lead(&self) -> String {
        format!("argument {} (`{}`) of `{}`", self.position, self.parameter.name, self.done.operator)
    }

    /// A value of the wrong kind.
    fn wrong_kind(&self, accepted: &str, found: &RawValue) -> Refusal {
        self.wrong_value(format!("needs {accepted}, not {}", describe::kind(found)))
    }

    /// A value that is not acceptable for the reason given.
    fn wrong_value(&self, reason: impl std::fmt::Display) -> Refusal {
        let message = format!("{} {reason}", self.lead());
        refusal(self.done.operator, RefusalKind::Argument, codes::ARGUMENT, message, "")
    }

    /// A search that found nothing.
    fn no_match(&self, what: impl std::fmt::Display) -> Refusal {
        let message = format!("{}: no {what} in `{}`", self.lead(), self.proc().name);
        let diagnostic = Diagnostic::error(codes::NO_MATCH, message).note(crate::print::proc(self.proc()));
        Refusal::new(RefusalKind::Scheduling, self.done.operator, diagnostic)
    }

    /// A cursor that does not point into this procedure.
    fn invalid_cursor(&self, reason: &str) -> Refusal {
        let message = format!("{}: {reason}", self.lead());
        refusal(self.done.operator, RefusalKind::InvalidCursor, codes::INVALID_CURSOR, message, "")
    }

    fn value(&self, kind: &Kind, raw: &RawValue) -> Result<Value, Refusal> {
        match kind {
            Kind::Name => match raw {
                RawValue::Text(text) if is_name(text) => Ok(Value::Text(text.clone())),
                RawValue::Text(text) => Err(self.wrong_value(format!("needs a name, and `{text}` is not one"))),
                other => Err(self.wrong_kind("a name", other)),
            },
            Kind::Int => match raw {
                RawValue::Int(value) => Ok(Value::Int(*value)),
                other => Err(self.wrong_kind("an integer", other)),
            },
            Kind::PositiveInt => match raw {
                RawValue::Int(value) if *value >= 1 => Ok(Value::Int(*value)),
                RawValue::Int(value) => Err(self.wrong_value(format!("needs an integer of at least 1, not {value}"))),
                other => Err(self.wrong_kind("an integer of at least 1", other)),
            },
            Kind::Bool => match raw {
                RawValue::Bool(value) => Ok(Value::Bool(*value)),
                other => Err(self.wrong_kind("True or False", other)),
            },
            Kind::Text => match raw {
                RawValue::Text(text) => Ok(Value::Text(text.clone())),
                other => Err(self.wrong_kind("text", other)),
            },
            Kind::Word(words) => self.word(words, raw),
            Kind::Optional(inner) => match raw {
                RawValue::None => Ok(Value::None),
                other => self.value(inner, other),
            },
            Kind::List(inner, length) => self.list(inner, *length, raw),
            Kind::ListOrOne(inner) => match raw {
                RawValue::List(_) => self.list(inner, None, raw),
                one => Ok(Value::List(vec![self.value(inner, one)?])),
            },
            Kind::Memory => self.memory(raw),
            Kind::Precision => self.precision(raw),
            Kind::Procedure => self.procedure_value(raw),
            Kind::Config => match raw {
                RawValue::Config(config) => Ok(Value::Config(config.clone())),
                other => Err(self.wrong_kind("a config", other)),
            },
            Kind::ConfigField(config) => self.config_field(config, raw),
            Kind::NewExpr(context) => self.new_expr(context, raw),
            Kind::NewExprOrWindow(context) => self.new_argument(context, raw),
            Kind::Window(context) => self.window(context, raw),
            Kind::Stmt
            | Kind::Block(_)
            | Kind::Gap
            | Kind::For
            | Kind::ForOrIf
            | Kind::NestedFor
            | Kind::Alloc
            | Kind::Arg
            | Kind::ArgOrAlloc
            | Kind::Assign
            | Kind::AssignOrReduce
            | Kind::Call
            | Kind::WindowStmt
            | Kind::Expr
            | Kind::Exprs(_) => self.place(kind, raw),
        }
    }

    fn word(&self, words: &[&str], raw: &RawValue) -> Result<Value, Refusal> {
        let accepted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let accepted = accepted.join(", ");
        match raw {
            RawValue::Text(text) if words.contains(&text.as_str()) => Ok(Value::Text(text.clone())),
            RawValue::Text(text) => {
                let refusal = self.wrong_value(format!("needs one of {accepted}, not {text:?}"));
                let near = nearest(text, words.iter().copied());
                Err(near.first().into_iter().fold(refusal, |refusal, near| refusal.hint(format!("write {near:?}"))))
            }
            other => Err(self.wrong_kind(&format!("one of {accepted}"), other)),
        }
    }

    fn list(&self, inner: &Kind, length: Option<usize>, raw: &RawValue) -> Result<Value, Refusal> {
        let RawValue::List(values) = raw else {
            let refusal = self.wrong_kind("a list", raw);
            return Err(match raw {
                RawValue::Text(_) if matches!(inner, Kind::Name) => {
                    let names = match length {
                        Some(1) => "[\"a\"]",
                        Some(3) => "[\"a\", \"b\", \"c\"]",
                        Some(_) | None => "[\"a\", \"b\"]",
                    };
                    refusal.hint(format!("names go between brackets, as in `{names}`"))
                }
                _ => refusal,
            });
        };
        if let Some(length) = length.filter(|length| *length != values.len()) {
            return Err(self.wrong_value(format!(
                "needs a list of {}, not of {}",
                counted(length, "value"),
                values.len()
            )));
        }
        values.iter().map(|value| self.value(inner, value)).collect::<Result<_, _>>().map(Value::List)
    }

    fn config_field(&self, parameter: &str, raw: &RawValue) -> Result<Value, Refusal> {
        let RawValue::Text(name) = raw else {
            return Err(self.wrong_kind("the name of a field", raw));
        };
        let Value::Config(config) = self.done.get(parameter)? else {
            return Err(self.wrong_value(format!("is a field of `{parameter}`, which is no config")));
        };
        config.field(name).map(Value::ConfigField).ok_or_else(|| {
            let known: Vec<String> = config.fields().iter().map(|field| format!("`{}`", field.name())).collect();
            self.wrong_value(format!("needs a field of `{}`: {}", config.name(), known.join(", ")))
        })
    }

    fn memory(&self, raw: &RawValue) -> Result<Value, Refusal> {
        match raw {
            RawValue::Memory(memory) => Ok(Value::Memory(memory.clone())),
            RawValue::Text(_) => Err(self.wrong_kind("a memory", raw).hint(
                "memories are values: write `DRAM_STACK` without quotes, and import others from their pack, \
                 `from avx2 import AVX2`",
            )),
            other => Err(self.wrong_kind("a memory", other)),
        }
    }

    fn procedure_value(&self, raw: &RawValue) -> Result<Value, Refusal> {
        match raw {
            RawValue::Procedure(procedure) => Ok(Value::Procedure(procedure.ir().clone())),
            RawValue::Text(_) => {
                Err(self.wrong_kind("a procedure", raw).hint("procedures are values: write the name without quotes"))
            }
            other => Err(self.wrong_kind("a procedure", other)),
        }
    }

    fn precision(&self, raw: &RawValue) -> Result<Value, Refusal> {
        match raw {
            RawValue::Precision(precision) => Ok(Value::Precision(*precision)),
            RawValue::Text(text) => match Precision::from_word(text) {
                Some(precision) => Ok(Value::Precision(precision)),
                None => {
                    let words: Vec<&str> = Precision::ALL.iter().map(|precision| precision.word()).collect();
                    let refusal = self.wrong_value(format!("needs a precision such as \"f32\", not {text:?}"));
                    Err(refusal.hint(format!("the precisions are {}", words.join(", "))))
                }
            },
            other => Err(self.wrong_kind("a precision such as f32", other)),
        }
    }
}

#[cfg(test)]
mod tests;
