//! `exo owner`: who may publish versions of a pack and change what is said of it.

use exo_index::name::PackName;
use exo_index::registry::layout::name_in_url;
use exo_index::visible::shown;
use serde_json::{Value, json};

use crate::arguments::{Owner, OwnerAction};
use crate::commands::new::pack_name;
use crate::commands::token::open;
use crate::failure::{Exit, Outcome};
use crate::registry::api::{Api, Body, encoded};
use crate::registry::configuration::Registries;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Owner, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    match &arguments.action {
        OwnerAction::List { pack, at } => {
            // Anybody may know who owns a pack.
            let registry = Registries::read(settings)?.asked(at.registry.as_deref())?;
            list(&pack_name(pack)?, &Api::anonymous(settings, &registry)?, terminal)
        }
        OwnerAction::Add { pack, login, at } => {
            change("PUT", &pack_name(pack)?, login, &open(settings, at)?, terminal, "owns")
        }
        OwnerAction::Remove { pack, login, at } => {
            change("DELETE", &pack_name(pack)?, login, &open(settings, at)?, terminal, "does not own")
        }
    }
}

fn list(pack: &PackName, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let answer = api.ask("GET", &format!("packs/{}/owners", name_in_url(pack)), Body::Nothing)?;
    let owners = answer.get("owners").and_then(Value::as_array).into_iter().flatten();
    let owners: Vec<String> = owners.filter_map(Value::as_str).map(shown).collect();
    terminal.answer(
        || owners.iter().map(|login| format!("{login}\n")).collect(),
        || json!({ "name": pack.as_str(), "owners": owners }),
    );
    Ok(Exit::Done)
}

fn change(method: &str, pack: &PackName, login: &str, api: &Api, terminal: &Terminal, now: &str) -> Outcome<Exit> {
    api.ask(method, &format!("packs/{}/owners/{}", name_in_url(pack), encoded(login)), Body::Nothing)?;
    terminal.answer(
        || format!("{login} {now} {pack} at {} now\n", api.url),
        || json!({ "name": pack.as_str(), "login": login, "owner": method == "PUT" }),
    );
    Ok(Exit::Done)
}
