//! `exo token`: tokens of the user's account, each with its rights, its packs and its end.

use exo_index::candidates::Span;
use exo_index::visible::shown;
use serde_json::{Value, json};

use crate::arguments::{At, CreateToken, Token, TokenAction};
use crate::failure::{Exit, Failure, Outcome, count};
use crate::install::summary::columns;
use crate::policy::now;
use crate::registry::api::{Api, Body, encoded};
use crate::registry::configuration::Registries;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Token, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    match &arguments.action {
        TokenAction::List { at } => list(&open(settings, at)?, terminal),
        TokenAction::Create(wanted) => create(wanted, &open(settings, &wanted.at)?, terminal),
        TokenAction::Revoke { token, at } => revoke(token, &open(settings, at)?, terminal),
    }
}

/// The registry that was asked for, with the token for it.
pub(super) fn open(settings: &Settings, at: &At) -> Outcome<Api> {
    let registries = Registries::read(settings)?;
    let registry = registries.asked(at.registry.as_deref())?;
    Api::open(settings, &registries, &registry)
}

/// One token as the registry lists it; the token itself is not known to it.
struct Listed {
    id: String,
    name: String,
    rights: Vec<String>,
    packs: Vec<String>,
    expires: u64,
}

fn listed(api: &Api) -> Outcome<Vec<Listed>> {
    let answer = api.ask("GET", "tokens", Body::Nothing)?;
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).map(|text| shown(text).replace('\n', " ")).unwrap_or_default()
    };
    let words = |value: &Value, key: &str| {
        let list = value.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(shown).collect::<Vec<_>>()
    };
    let tokens = answer.get("tokens").and_then(Value::as_array).into_iter().flatten();
    Ok(tokens
        .map(|token| Listed {
            id: text(token, "id"),
            name: text(token, "name"),
            rights: words(token, "rights"),
            packs: words(token, "packs"),
            expires: token.get("expires").and_then(Value::as_u64).unwrap_or(0),
        })
        .collect())
}

/// How long something lasts that ends at a time, to the minute.
pub(super) fn left(expires: u64) -> String {
    match expires.saturating_sub(now()) {
        0 => "no longer".to_string(),
        left => Span(left + 59).to_string(),
    }
}

fn list(api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let tokens = listed(api)?;
    terminal.answer(
        || {
            if tokens.is_empty() {
                return "no tokens; `exo token create` makes one\n".to_string();
            }
            let mut table = vec![["id", "name", "rights", "packs", "lasts"].map(str::to_string)];
            table.extend(tokens.iter().map(|token| {
                [
                    token.id.clone(),
                    token.name.clone(),
                    token.rights.join(","),
                    token.packs.join(","),
                    left(token.expires),
                ]
            }));
            columns(&table, 5)
        },
        || {
            let one = |token: &Listed| {
                json!({
                    "id": token.id, "name": token.name, "rights": token.rights, "packs": token.packs,
                    "expires": token.expires,
                })
            };
            tokens.iter().map(one).collect()
        },
    );
    Ok(Exit::Done)
}

fn create(wanted: &CreateToken, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let rights: Vec<&str> = wanted.rights.iter().map(|right| right.as_str()).collect();
    // Between names are commas or, as on the registry's page, spaces, which no name holds.
    let packs: Vec<&str> = wanted.packs.iter().flat_map(|list| list.split_whitespace()).collect();
    let body = json!({ "name": wanted.name, "rights": rights, "packs": packs, "expires_days": wanted.days });
    let answer = api.ask_proven(terminal, wanted.proof.code(), "POST", "tokens", Body::Json(&body))?;
    let text = |key: &str| answer.get(key).and_then(Value::as_str).map(shown).unwrap_or_default();
    let (id, token) = (text("id"), text("token"));
    terminal.note(&format!(
        "token {id} may {} for {}, and lasts {}; it is shown this once:",
        rights.join(", "),
        packs.join(", "),
        count(usize::try_from(wanted.days).unwrap_or(usize::MAX), "day")
    ));
    terminal.answer(
        || format!("{token}\n"),
        || json!({ "id": id, "token": token, "expires": answer.get("expires"), "registry": api.url }),
    );
    Ok(Exit::Done)
}

fn revoke(wanted: &str, api: &Api, terminal: &Terminal) -> Outcome<Exit> {
    let tokens = listed(api)?;
    let named: Vec<&Listed> = tokens.iter().filter(|token| token.id == wanted || token.name == wanted).collect();
    let token = match named.as_slice() {
        [token] => token,
        [] => {
            return Err(Failure::refused(format!("you have no token `{wanted}` at {}", api.url))
                .hint("`exo token list` lists those there are"));
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|token| token.id.as_str()).collect();
            return Err(Failure::refused(format!("{} tokens are called `{wanted}`", several.len()))
                .hint(format!("name one by its id: {}", ids.join(", "))));
        }
    };
    api.ask("DELETE", &format!("tokens/{}", encoded(&token.id)), Body::Nothing)?;
    terminal.answer(
        || format!("token {} ({}) is good for nothing now\n", token.id, token.name),
        || json!({ "revoked": token.id, "name": token.name }),
    );
    Ok(Exit::Done)
}
