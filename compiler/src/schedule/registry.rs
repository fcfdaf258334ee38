//! The operators in the order of the reference. A new operator is one file and one line here.

use crate::schedule::operator::{Default, Operator};

/// Every operator.
pub static OPERATORS: &[&dyn Operator] = &[];

/// The operator of this name.
pub fn find(name: &str) -> Option<&'static dyn Operator> {
    OPERATORS.iter().copied().find(|operator| operator.name() == name)
}

/// `name(proc, parameter, other = default)`.
pub fn signature(operator: &dyn Operator) -> String {
    let parameters = operator.parameters().iter().map(|parameter| match parameter.default {
        None => parameter.name.to_string(),
        Some(default) => format!("{} = {}", parameter.name, default_text(default)),
    });
    let all: Vec<String> = std::iter::once("proc".to_string()).chain(parameters).collect();
    format!("{}({})", operator.name(), all.join(", "))
}

fn default_text(default: Default) -> String {
    match default {
        Default::None => "None".to_string(),
        Default::Bool(true) => "True".to_string(),
        Default::Bool(false) => "False".to_string(),
        Default::Int(value) => value.to_string(),
        Default::Text(text) => format!("\"{text}\""),
    }
}
