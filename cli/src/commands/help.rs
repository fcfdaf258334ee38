//! `exo help TOPIC`: the page of a command, of a scheduling operator, of a pack, or of the environment.

use clap::CommandFactory;
use exo_compiler::pipeline::{OperatorHelp, operators};
use exo_index::name::PackName;
use serde_json::json;

use crate::arguments::{Arguments, Help};
use crate::builtin_packs::Registry;
use crate::commands::pack_page;
use crate::environment::VARIABLES;
use crate::failure::{Exit, Failure, Outcome, did_you_mean, nearest};
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
        "operators" => list(terminal, &operators()),
        _ => {
            let operators = operators();
            if let Some(operator) = operators.iter().find(|operator| operator.name == *topic) {
                page(terminal, operator);
                return Ok(Exit::Done);
            }
            let registry = Registry::open(settings)?;
            // As it is installed or as it is imported: `neon-conv2d`, `neon_conv2d`.
            let named = |name: &PackName| name.to_string() == *topic || name.import_name() == *topic;
            match registry.newest().find(|pack| named(pack.name())) {
                Some(pack) => pack_page::print(terminal, pack)?,
                None => return Err(unknown(topic, &root, &operators, &registry)),
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

fn list(terminal: &Terminal, operators: &[OperatorHelp]) {
    let width = operators.iter().map(|operator| operator.name.len()).max().unwrap_or(0);
    terminal.answer(
        || operators.iter().map(|operator| format!("{:width$}  {}\n", operator.name, operator.summary)).collect(),
        || operators.iter().map(operator_json).collect(),
    );
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
            // Prose is wrapped; indented lines are examples and stay as they are.
            let lines = operator.text.trim_end().lines();
            let lines = lines.map(|line| if line.starts_with(' ') { line.to_string() } else { wrapped(line, WIDTH) });
            let text = lines.collect::<Vec<_>>().join("\n");
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

fn unknown(topic: &str, root: &clap::Command, operators: &[OperatorHelp], registry: &Registry) -> Box<Failure> {
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let packs: Vec<String> = registry.names().map(ToString::to_string).collect();
    let names = commands
        .chain(operators.iter().map(|operator| operator.name.as_str()))
        .chain(packs.iter().map(String::as_str))
        .chain(["environment", "operators"]);
    let near = nearest(topic, names);
    Failure::usage(format!("there is no help about `{topic}`")).hint(
        did_you_mean(&near)
            .unwrap_or_else(|| "`exo help` lists the commands, `exo help operators` the operators".into()),
    )
}
