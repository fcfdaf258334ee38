//! The functions of the prelude, described: for `exo help NAME`, and for hints about their arguments.

use starlark::docs::{DocFunction, DocItem, DocMember, DocParam, DocType};

use crate::contract::FunctionHelp;
use crate::schedule::registry;
use crate::script::prelude;
use crate::script::values::cursor::CursorValue;
use crate::script::values::procedure::ProcedureValue;

/// All functions that every module finds in scope, by name, operators left out.
pub(crate) fn functions() -> Vec<FunctionHelp> {
    let own = prelude::names();
    let natives = natives().filter(|(name, _)| own.contains(name));
    let mut all: Vec<FunctionHelp> = natives.map(|(name, function)| described(name, &function)).collect();
    all.extend(hosted());
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The parameters of a function of the prelude, or of a method of procs or cursors.
pub(crate) fn parameters(name: &str) -> Option<Vec<String>> {
    let plain = |params: Vec<(String, &DocParam)>| params.into_iter().map(|(name, _)| name).collect();
    if let Some((_, function)) = natives().find(|(known, _)| known == name) {
        return Some(plain(in_order(&function)));
    }
    if let Some(function) = hosted().into_iter().find(|function| function.name == name) {
        let written = function.signature.split_once('(')?.1.trim_end_matches(')').to_string();
        let names = written.split(',').map(|part| part.split('=').next().unwrap_or(part).trim().to_string());
        // Values such as lists have commas of their own.
        let is_name = |name: &String| name.trim_start_matches('*').starts_with(|c: char| c.is_alphabetic());
        return Some(names.filter(is_name).collect());
    }
    let methods = [DocType::from_starlark_value::<ProcedureValue>(), DocType::from_starlark_value::<CursorValue>()];
    methods.iter().find_map(|kind| match kind.members.get(name) {
        Some(DocMember::Function(function)) => Some(plain(in_order(function))),
        Some(DocMember::Property(_)) | None => None,
    })
}

/// Functions written in Rust.
fn natives() -> impl Iterator<Item = (String, DocFunction)> {
    let members = prelude::globals().documentation().members.into_iter();
    members.filter_map(|(name, item)| match item {
        DocItem::Member(DocMember::Function(function)) if !name.starts_with('_') && registry::find(&name).is_none() => {
            Some((name, function))
        }
        DocItem::Member(_) | DocItem::Module(_) | DocItem::Type(_) => None,
    })
}

fn in_order(function: &DocFunction) -> Vec<(String, &DocParam)> {
    let params = &function.params;
    let positional = params.pos_only.iter().chain(&params.pos_or_named);
    let mut all: Vec<(String, &DocParam)> = positional.map(|param| (param.name.clone(), param)).collect();
    all.extend(params.args.iter().map(|param| (format!("*{}", param.name), param)));
    all.extend(params.named_only.iter().map(|param| (param.name.clone(), param)));
    all.extend(params.kwargs.iter().map(|param| (format!("**{}", param.name), param)));
    all
}

fn described(name: String, function: &DocFunction) -> FunctionHelp {
    let params = in_order(function).into_iter().map(|(name, param)| match &param.default_value {
        Some(_) if !name.starts_with('*') => format!("{name} = ..."),
        Some(_) | None => name,
    });
    let signature = format!("{name}({})", params.collect::<Vec<_>>().join(", "));
    let summary = function.docs.as_ref().map(|docs| docs.summary.clone()).unwrap_or_default();
    let text = function.docs.as_ref().and_then(|docs| docs.details.clone()).unwrap_or_default();
    FunctionHelp { name, signature, summary: paragraphs(&summary), text: paragraphs(&text) }
}

/// Each paragraph on one line; indented lines are examples and stay as they are.
fn paragraphs(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.trim().lines() {
        match lines.last_mut() {
            Some(last) if !last.is_empty() && !last.starts_with(' ') && !line.is_empty() && !line.starts_with(' ') => {
                last.push(' ');
                last.push_str(line.trim_end());
            }
            _ => lines.push(line.trim_end().to_string()),
        }
    }
    lines.join("\n")
}

/// Functions of the part of the prelude that is written in host code.
fn hosted() -> Vec<FunctionHelp> {
    let definitions = prelude::SOURCE.split("\ndef ").skip(1);
    definitions.filter(|text| !text.starts_with('_')).filter_map(written_in_host_code).collect()
}

fn written_in_host_code(definition: &str) -> Option<FunctionHelp> {
    let (head, body) = definition.split_once("):\n")?;
    let (name, parameters) = head.split_once('(')?;
    let parameters: Vec<&str> = parameters.split_whitespace().collect();
    let signature = format!("{name}({})", parameters.join(" ").trim_end_matches(','));
    let docs = body.trim_start().strip_prefix("\"\"\"").and_then(|docs| docs.split_once("\"\"\""));
    let docs = docs.map_or("", |(docs, _)| docs);
    let (summary, text) = docs.split_once("\n\n").unwrap_or((docs, ""));
    let prose = |text: &str| paragraphs(&text.lines().map(str::trim_start).collect::<Vec<_>>().join("\n"));
    Some(FunctionHelp { name: name.to_string(), signature, summary: prose(summary), text: prose(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_prelude_says_what_it_does() {
        let functions = functions();
        let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
        for name in ["attempt", "cc", "extend", "extern", "memory", "repeat", "target", "vector"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        for function in &functions {
            assert!(!function.summary.is_empty(), "`{}` has no description", function.name);
            assert!(function.signature.starts_with(&format!("{}(", function.name)), "{}", function.signature);
        }
    }

    #[test]
    fn parameters_are_those_that_users_write() {
        assert_eq!(parameters("repeat").unwrap(), ["f", "times"]);
        assert_eq!(parameters("cc").unwrap(), ["flags", "triple", "features", "compiler", "cpu", "model"]);
        assert_eq!(parameters("extern").unwrap(), ["name", "c", "arity", "typecheck", "globals"]);
        assert_eq!(parameters("attempt").unwrap(), ["f", "*args", "**kwargs"]);
        assert!(parameters("find").unwrap().contains(&"pattern".to_string()));
        assert_eq!(parameters("nothing_of_the_kind"), None);
    }
}
