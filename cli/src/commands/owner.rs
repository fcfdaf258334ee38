//! `exo owner`: who may publish versions of a pack and change what is said of it, and who is in an organisation.

use exo_index::name::PackName;
use exo_index::registry::layout::name_in_url;
use exo_index::visible::shown;
use serde_json::{Value, json};

use crate::arguments::{Owned, Owner, OwnerAction, Proof, Whom};
use crate::commands::new::pack_name;
use crate::commands::token::open;
use crate::failure::{Exit, Failure, Outcome};
use crate::registry::api::{Api, Body, encoded};
use crate::registry::configuration::Registries;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// What has owners.
enum Subject {
    /// The path of a pack in the API.
    Pack(String),
    /// The path of an organisation in the API.
    Organisation(String),
}

impl Subject {
    fn of(owned: &Owned) -> Outcome<Self> {
        match owned.pack.strip_prefix('@').filter(|scope| !scope.contains('/')) {
            Some(scope) => Ok(Subject::Organisation(format!("organisations/{}", encoded(scope)))),
            None => Ok(Subject::Pack(format!("packs/{}", name_in_url(&pack_name(&owned.pack)?)))),
        }
    }
}

pub(super) fn run(arguments: &Owner, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    match &arguments.action {
        OwnerAction::List(owned) => {
            // Anybody may know who owns a pack.
            let registry = Registries::read(settings)?.asked(owned.at.registry.as_deref())?;
            list(owned, &Api::anonymous(settings, &registry)?, terminal)
        }
        OwnerAction::Add { whom, publisher, proof } => {
            in_order("add", whom)?;
            let api = open(settings, &whom.of.at)?;
            add((whom, proof), *publisher, &api, terminal).map_err(|failed| with_order(failed, "add", whom, &api))
        }
        OwnerAction::Remove { whom, proof } => {
            in_order("remove", whom)?;
            let api = open(settings, &whom.of.at)?;
            remove(whom, proof, &api, terminal).map_err(|failed| with_order(failed, "remove", whom, &api))
        }
        OwnerAction::Create(owned) => create(owned, &open(settings, &owned.at)?, terminal),
    }
}

/// Refuses a login that can only be the name of a pack or an organisation.
fn in_order(verb: &str, whom: &Whom) -> Outcome<()> {
    match whom.login.starts_with('@') {
        true => Err(Failure::usage(format!("`{}` is no login", shown(&whom.login))).hint(other_order(verb, whom))),
        false => Ok(()),
    }
}

/// A refusal with what to write instead, where the registry has a pack of the login's name and none of the pack's.
fn with_order(failed: Box<Failure>, verb: &str, whom: &Whom, api: &Api) -> Box<Failure> {
    let is_pack = |text: &str| {
        let name = PackName::parse(text).ok()?;
        let answer = api.attempt("GET", &format!("packs/{}/owners", name_in_url(&name)), Body::Nothing).ok()?;
        Some(answer.is_ok())
    };
    match failed.exit == Exit::Refused && is_pack(&whom.login) == Some(true) && is_pack(&whom.of.pack) == Some(false) {
        true => failed.hint(other_order(verb, whom)),
        false => failed,
    }
}

fn other_order(verb: &str, whom: &Whom) -> String {
    format!("the pack comes first: `exo owner {verb} {} {}`", shown(&whom.login), shown(&whom.of.pack))
}

fn list(owned: &Owned, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(shown).unwrap_or_default();
    let (path, key) = match Subject::of(owned)? {
        Subject::Pack(path) => (format!("{path}/owners"), "owners"),
        Subject::Organisation(path) => (path, "members"),
    };
    let answer = api.ask("GET", &path, Body::Nothing)?;
    let lines: Vec<String> = answer
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|one| match one.as_str() {
            Some(login) => shown(login),
            None => format!("{} ({})", text(one, "login"), text(one, "role")),
        })
        .collect();
    terminal.answer(
        || lines.iter().map(|line| format!("{line}\n")).collect(),
        || json!({ "name": owned.pack, key: answer.get(key) }),
    );
    Ok(Exit::Done)
}

fn add((whom, proof): (&Whom, &Proof), publisher: bool, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let ask = |path: &str, body: Body<'_>| {
        api.ask_proven(terminal, proof.code(), "PUT", &format!("{path}/{}", encoded(&whom.login)), body)
    };
    match Subject::of(&whom.of)? {
        Subject::Pack(_) if publisher => {
            return Err(Failure::usage("--publisher is for organisations").hint("a pack has owners only"));
        }
        Subject::Pack(path) => ask(&format!("{path}/owners"), Body::Nothing)?,
        Subject::Organisation(path) => {
            let body = json!({ "role": if publisher { "publisher" } else { "owner" } });
            ask(&format!("{path}/members"), Body::Json(&body))?
        }
    };
    told(whom, api, terminal, true, if publisher { "may publish in" } else { "owns" })
}

fn remove(whom: &Whom, proof: &Proof, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let (path, now) = match Subject::of(&whom.of)? {
        Subject::Pack(path) => (format!("{path}/owners"), "does not own"),
        Subject::Organisation(path) => (format!("{path}/members"), "is no member of"),
    };
    api.ask_proven(terminal, proof.code(), "DELETE", &format!("{path}/{}", encoded(&whom.login)), Body::Nothing)?;
    told(whom, api, terminal, false, now)
}

fn told(whom: &Whom, api: &Api, terminal: &Terminal, owner: bool, now: &str) -> Outcome<Exit> {
    let (pack, login) = (&whom.of.pack, &whom.login);
    terminal.answer(
        || format!("{login} {now} {pack} at {} now\n", api.url),
        || json!({ "name": pack, "login": login, "owner": owner }),
    );
    Ok(Exit::Done)
}

fn create(owned: &Owned, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let Subject::Organisation(path) = Subject::of(owned)? else {
        return Err(Failure::usage(format!("`{}` is not the name of an organisation", owned.pack))
            .hint("write it as its scope: `exo owner create @NAME`"));
    };
    api.ask("PUT", &path, Body::Nothing)?;
    let name = &owned.pack;
    terminal.answer(
        || format!("made the organisation {name} at {}; `exo owner add {name} LOGIN` lets others in\n", api.url),
        || json!({ "name": name, "created": true }),
    );
    Ok(Exit::Done)
}
