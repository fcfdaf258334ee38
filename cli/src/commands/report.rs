//! `exo report`: tells the administrators of a registry that something is wrong with a pack.

use clap::ValueEnum as _;
use exo_index::registry::layout::name_in_url;
use serde_json::json;

use crate::arguments::Report;
use crate::commands::add::split;
use crate::commands::new::pack_name;
use crate::commands::token::open;
use crate::failure::{Exit, Outcome};
use crate::registry::api::Body;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Report, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let (name, version) = split(&arguments.pack);
    let name = pack_name(name)?;
    let api = open(settings, &arguments.at)?;
    let kind = arguments.kind.to_possible_value().map(|value| value.get_name().to_string());
    let body = json!({ "kind": kind, "text": arguments.text, "version": version });
    let answer = api.ask("POST", &format!("packs/{}/report", name_in_url(&name)), Body::Json(&body))?;
    terminal.answer(
        || format!("reported {}: the administrators of {} were told, and nobody else\n", arguments.pack, api.url),
        || json!({ "name": name.as_str(), "version": version, "report": answer.get("id") }),
    );
    Ok(Exit::Done)
}
