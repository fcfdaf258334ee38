//! `exo explain CODE`: what an error code means and what to do about it.

use exo_compiler::diagnostic::codes;
use serde_json::json;

use crate::arguments::Explain;
use crate::failure::{Exit, Failure, Outcome, did_you_mean, nearest};
use crate::report::text::{WIDTH, wrapped};
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Explain, terminal: &Terminal) -> Outcome<Exit> {
    let entry_json =
        |entry: &codes::Entry| json!({ "code": entry.code.0, "title": entry.title, "explanation": entry.explanation });
    let Some(wanted) = &arguments.code else {
        terminal.answer(
            || codes::ALL.iter().map(|entry| format!("{}  {}\n", entry.code, entry.title)).collect(),
            || codes::ALL.iter().map(entry_json).collect(),
        );
        return Ok(Exit::Done);
    };
    let Some(entry) = codes::explain(wanted) else {
        let failure = Failure::refused(format!("there is no error code `{wanted}`"));
        let near = nearest(&wanted.to_uppercase(), codes::ALL.iter().map(|entry| entry.code.0));
        return Err(failure.hint(did_you_mean(&near).unwrap_or_else(|| "`exo explain` lists all codes".into())));
    };
    terminal.answer(
        || {
            let text = wrapped(entry.explanation, WIDTH);
            format!("{}: {}\n\n{text}\n", entry.code, entry.title)
        },
        || entry_json(entry),
    );
    Ok(Exit::Done)
}
