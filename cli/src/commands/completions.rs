//! `exo completions SHELL`: the script that completes commands and options in a shell.

use clap::CommandFactory;
use serde_json::json;

use crate::arguments::{Arguments, Completions};
use crate::failure::{Exit, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Completions, terminal: &Terminal) -> Outcome<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "exo", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    terminal.answer(|| script.clone(), || json!({ "script": script }));
    Ok(Exit::Done)
}
