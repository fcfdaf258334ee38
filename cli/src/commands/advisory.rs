//! `exo advisory`: known weaknesses of versions of a pack, as its owners publish, change and withdraw them.

use clap::ValueEnum as _;
use exo_index::name::PackName;
use exo_index::registry::layout::name_in_url;
use exo_index::visible::shown;
use serde_json::{Map, Value, json};

use crate::arguments::{Advisory, AdvisoryAction, AdvisoryText, PublishAdvisory, WhichAdvisory};
use crate::commands::new::pack_name;
use crate::commands::token::open;
use crate::failure::{Exit, Failure, Outcome};
use crate::install::summary::columns;
use crate::registry::api::{Api, Body, encoded};
use crate::registry::configuration::Registries;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// The keys of what an advisory says.
const SAID: [&str; 6] = ["versions", "severity", "summary", "patched", "remedy", "url"];

pub(super) fn run(arguments: &Advisory, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    match &arguments.action {
        AdvisoryAction::List { pack, at } => {
            // Anybody may know.
            let registry = Registries::read(settings)?.asked(at.registry.as_deref())?;
            list(&pack_name(pack)?, &Api::anonymous(settings, &registry)?, terminal)
        }
        AdvisoryAction::Publish(wanted) => publish(wanted, &open(settings, &wanted.at)?, terminal),
        AdvisoryAction::Change { which, says } => change(which, says, &open(settings, &which.at)?, terminal),
        AdvisoryAction::Withdraw(which) => withdraw(which, &open(settings, &which.at)?, terminal),
    }
}

fn path(name: &PackName) -> String {
    format!("packs/{}/advisories", name_in_url(name))
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).map(|text| shown(text).replace('\n', " ")).unwrap_or_default()
}

fn all(name: &PackName, api: &Api) -> Outcome<Vec<Value>> {
    let answer = api.ask("GET", &path(name), Body::Nothing)?;
    Ok(answer.get("advisories").and_then(Value::as_array).cloned().unwrap_or_default())
}

fn list(name: &PackName, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let advisories = all(name, api)?;
    terminal.answer(
        || {
            if advisories.is_empty() {
                return format!("{name} has no advisories\n");
            }
            let mut table = vec![["id", "severity", "versions", "patched", "summary"].map(str::to_string)];
            table.extend(advisories.iter().map(|one| {
                let withdrawn = one.get("withdrawn").is_some_and(|time| !time.is_null());
                let state = if withdrawn { "withdrawn: " } else { "" };
                let cell = |key: &str| match text(one, key) {
                    cell if cell.is_empty() => "-".to_string(),
                    cell => cell,
                };
                [cell("id"), cell("severity"), cell("versions"), cell("patched"), format!("{state}{}", cell("summary"))]
            }));
            columns(&table, 5)
        },
        || json!({ "name": name.as_str(), "advisories": advisories }),
    );
    Ok(Exit::Done)
}

/// What was given of an advisory.
fn given(says: &AdvisoryText) -> Map<String, Value> {
    let AdvisoryText { versions, severity, summary, patched, remedy, url } = says;
    let severity = severity.and_then(|severity| severity.to_possible_value());
    let severity = severity.map(|value| value.get_name().to_string());
    let values = [versions.clone(), severity, summary.clone(), patched.clone(), remedy.clone(), url.clone()];
    let given = SAID.into_iter().zip(values).filter_map(|(key, value)| Some((key.to_string(), json!(value?))));
    given.collect()
}

fn publish(wanted: &PublishAdvisory, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let name = pack_name(&wanted.pack)?;
    let mut body = given(&wanted.says);
    let missing: Vec<String> =
        SAID.into_iter().take(3).filter(|key| !body.contains_key(*key)).map(|key| format!("--{key}")).collect();
    if !missing.is_empty() {
        return Err(Failure::usage(format!("an advisory needs {}", missing.join(", "))).hint(format!(
            "for example `exo advisory publish {name} --versions '<1.2.1' --patched '>=1.2.1' --severity high --summary 'wrong sums'`"
        )));
    }
    if let Some(id) = &wanted.id {
        body.insert("id".to_string(), json!(id));
    }
    let advisory = api.ask("POST", &path(&name), Body::Json(&Value::Object(body)))?;
    told(&name, &advisory, "published", terminal)
}

fn change(which: &WhichAdvisory, says: &AdvisoryText, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let name = pack_name(&which.pack)?;
    let new = given(says);
    if new.is_empty() {
        return Err(
            Failure::usage("nothing is to be changed").hint("give what it is to say now, such as --patched '>=1.2.1'")
        );
    }
    let found = all(&name, api)?.into_iter().find(|one| text(one, "id") == which.id);
    let before = found.ok_or_else(|| {
        Failure::refused(format!("`{name}` has no advisory `{}` at {}", which.id, api.url))
            .hint(format!("`exo advisory list {name}` lists those there are"))
    })?;
    let mut body: Map<String, Value> = SAID
        .into_iter()
        .filter_map(|key| Some((key.to_string(), before.get(key).filter(|value| !value.is_null())?.clone())))
        .collect();
    body.extend(new);
    let advisory =
        api.ask("PUT", &format!("{}/{}", path(&name), encoded(&which.id)), Body::Json(&Value::Object(body)))?;
    told(&name, &advisory, "changed", terminal)
}

fn told(name: &PackName, advisory: &Value, done: &str, terminal: &Terminal) -> Outcome<Exit> {
    let (id, versions) = (text(advisory, "id"), text(advisory, "versions"));
    terminal.answer(
        || format!("{done} {id} of {name}: who has {versions} locked is warned, and nobody newly chooses it\n"),
        || json!({ "name": name.as_str(), "advisory": advisory }),
    );
    Ok(Exit::Done)
}

fn withdraw(which: &WhichAdvisory, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let name = pack_name(&which.pack)?;
    api.ask("DELETE", &format!("{}/{}", path(&name), encoded(&which.id)), Body::Nothing)?;
    let id = &which.id;
    terminal.answer(|| format!("{id} of {name} is withdrawn\n"), || json!({ "name": name.as_str(), "withdrawn": id }));
    Ok(Exit::Done)
}
