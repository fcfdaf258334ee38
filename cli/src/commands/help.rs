//! `exo help TOPIC`: the page of a command, of a scheduling operator, of another function of the prelude, of a pack, or of
//! the environment.

use clap::CommandFactory;
use exo_compiler::pipeline::{FunctionHelp, OperatorHelp, functions, operators};
use serde_json::json;

use crate::arguments::{Arguments, Help};
use crate::builtin_packs::Registry;
use crate::commands::pack_page;
use crate::environment::VARIABLES;
use crate::failure::{Exit, Failure, Outcome, did_you_mean, nearest};
use crate::project::Project;
use crate::report::text::{WIDTH, wrapped};
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Help, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let mut root = Arguments::command();
    root.build();
    let Some(topic) = &arguments.topic else {
        let page = root.render_help().to_string();
        terminal.answer(|| page, || command_json(&root));
        return Ok(Exit::Done);
    };
    if let Some(command) = root.find_subcommand_mut(topic).filter(|command| !command.is_hide_set()) {
        let page = command.render_long_help().to_string();
        terminal.answer(|| page, || command_json(command));
        return Ok(Exit::Done);
    }
    match topic.as_str() {
        "environment" => environment(terminal),
        "operators" => list(
            terminal,
            operators().iter().map(|operator| (&operator.name, &operator.summary, operator_json(operator))),
        ),
        "functions" => list(
            terminal,
            functions().iter().map(|function| (&function.name, &function.summary, function_json(function))),
        ),
        _ => {
            let operators = operators();
            if let Some(operator) = operators.iter().find(|operator| operator.name == *topic) {
                page(terminal, operator);
                return Ok(Exit::Done);
            }
            let functions = functions();
            if let Some(function) = functions.iter().find(|function| function.name == *topic) {
                function_page(terminal, function);
                return Ok(Exit::Done);
            }
            let of_project = pack_page::print_of_project(terminal, settings, topic);
            if matches!(of_project, Ok(true)) {
                return Ok(Exit::Done);
            }
            let registry = Registry::open(settings)?;
            match registry.newest().find(|pack| pack_page::is_named(pack.name(), topic)) {
                Some(pack) => pack_page::print(terminal, pack)?,
                None => {
                    of_project?;
                    let mut known: Vec<String> = registry.names().map(ToString::to_string).collect();
                    known.extend(functions.into_iter().map(|function| function.name));
                    if let Ok(Some(project)) = Project::find(settings) {
                        known.push(project.manifest.pack.name.value.to_string());
                        known.extend(pack_page::names_of_project(&project).iter().map(ToString::to_string));
                    }
                    return Err(unknown(topic, &root, &operators, &known));
                }
            }
        }
    }
    Ok(Exit::Done)
}

fn command_json(command: &clap::Command) -> serde_json::Value {
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string);
    let visible = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    json!({
        "name": command.get_name(),
        "about": about(command),
        "commands": visible.map(|inner| json!({ "name": inner.get_name(), "about": about(inner) })).collect::<Vec<_>>(),
    })
}

fn environment(terminal: &Terminal) {
    let width = VARIABLES.iter().map(|variable| variable.name.len()).max().unwrap_or(0);
    terminal.answer(
        || VARIABLES.iter().map(|variable| format!("{:width$}  {}\n", variable.name, variable.meaning)).collect(),
        || VARIABLES.iter().map(|variable| json!({ "name": variable.name, "meaning": variable.meaning })).collect(),
    );
}

/// Names with their summaries and what `--format json` says of them.
fn list<'a>(terminal: &Terminal, topics: impl Iterator<Item = (&'a String, &'a String, serde_json::Value)>) {
    let topics: Vec<_> = topics.collect();
    let width = topics.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    terminal.answer(
        || topics.iter().map(|(name, summary, _)| format!("{name:width$}  {summary}\n")).collect(),
        || topics.iter().map(|(.., value)| value.clone()).collect(),
    );
}

fn function_json(function: &FunctionHelp) -> serde_json::Value {
    json!({
        "name": function.name, "signature": function.signature, "summary": function.summary, "text": function.text,
    })
}

fn function_page(terminal: &Terminal, function: &FunctionHelp) {
    terminal.answer(
        || {
            let text = prose(&function.text);
            let rest = if text.is_empty() { String::new() } else { format!("\n{text}\n") };
            format!("{}\n\n{}\n{rest}", wrapped(&function.signature, WIDTH), wrapped(&function.summary, WIDTH))
        },
        || function_json(function),
    );
}

/// Prose is wrapped; indented lines are examples and stay as they are.
fn prose(text: &str) -> String {
    let lines = text.trim_end().lines();
    let lines = lines.map(|line| if line.starts_with(' ') { line.to_string() } else { wrapped(line, WIDTH) });
    lines.collect::<Vec<_>>().join("\n")
}

fn operator_json(operator: &OperatorHelp) -> serde_json::Value {
    json!({
        "name": operator.name, "signature": operator.signature,
        "summary": operator.summary, "text": operator.text,
        "results": operator.results.iter().map(|(name, meaning)| json!({ "name": name, "meaning": meaning })).collect::<Vec<_>>(),
    })
}

fn page(terminal: &Terminal, operator: &OperatorHelp) {
    terminal.answer(
        || {
            let text = prose(&operator.text);
            let rest = if text.is_empty() { String::new() } else { format!("\n{text}\n") };
            let results: String =
                operator.results.iter().map(|(name, meaning)| format!("  {name}: {meaning}\n")).collect();
            let results =
                if results.is_empty() { results } else { format!("\nwith rc = True also returns\n{results}") };
            format!("{}\n\n{}\n{rest}{results}", operator.signature, operator.summary)
        },
        || operator_json(operator),
    );
}

/// `others`: packs and functions.
fn unknown(topic: &str, root: &clap::Command, operators: &[OperatorHelp], others: &[String]) -> Box<Failure> {
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let names = commands
        .chain(operators.iter().map(|operator| operator.name.as_str()))
        .chain(others.iter().map(String::as_str))
        .chain(["environment", "functions", "operators"]);
    let near = nearest(topic, names);
    Failure::refused(format!("there is no help about `{topic}`")).hint(
        did_you_mean(&near)
            .unwrap_or_else(|| "`exo help` lists the commands, `exo help operators` the operators".into()),
    )
}
