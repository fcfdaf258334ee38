//! Packs of a registry elsewhere that fit a search: by the server's own search, or, where files are all there is, by the index.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exo_index::visible::shown;
use serde_json::{Value, json};

use crate::arguments::Search;
use crate::builtin_packs::{Registry, RegistryPack};
use crate::commands::search::{best, row, word};
use crate::failure::{Failure, Outcome};
use crate::policy::Offered;
use crate::registry::api::{Api, Body, encoded};
use crate::registry::configuration::{Configured, Registries};
use crate::registry::packs_of;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// The most words that a registry is asked about; it looks at no more.
const MOST_WORDS: usize = 8;

/// What owners say of a pack as a whole.
const STANDING: [&str; 2] = ["deprecated", "archived"];

/// How long the names of an index are gathered, and how long what it says of each pack.
const TIME: Duration = Duration::from_secs(10);

/// What a registry says that it has. Nothing of a server's search is checked before the pack is added.
pub(super) struct Elsewhere {
    pub(super) url: String,
    pub(super) packs: Vec<Value>,
}

/// What came of asking a registry.
pub(super) struct Asked {
    /// `None` without a registry, or without an answer.
    pub(super) found: Option<Elsewhere>,
    /// There is a registry, and it gave no answer.
    pub(super) failed: bool,
}

impl Elsewhere {
    fn text(pack: &Value, key: &str) -> String {
        shown(pack.get(key).and_then(Value::as_str).unwrap_or_default()).replace('\n', " ")
    }

    fn row(pack: &Value) -> [String; 4] {
        ["name", "version", "kind", "description"].map(|key| Self::text(pack, key))
    }

    /// Whether something holds of a pack, which older registries do not say.
    fn is(pack: &Value, what: &str) -> bool {
        pack.get(what).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn rows(&self) -> Vec<[String; 4]> {
        let marked = |pack: &Value| {
            let [name, version, kind, description] = Self::row(pack);
            let marks = STANDING.into_iter().filter(|what| Self::is(pack, what)).map(|what| format!("[{what}] "));
            [name, version, kind, format!("{}{description}", marks.collect::<String>())]
        };
        self.packs.iter().map(marked).collect()
    }

    pub(super) fn summaries(&self) -> impl Iterator<Item = Value> {
        self.packs.iter().map(|pack| {
            let [name, version, kind, description] = Self::row(pack);
            let [deprecated, archived] = STANDING.map(|what| Self::is(pack, what));
            json!({
                "name": name, "version": version, "kind": kind, "description": description, "registry": self.url,
                "deprecated": deprecated, "archived": archived,
            })
        })
    }
}

/// Asks the registry in use, or the one that is named. One that does not answer is warned of.
pub(super) fn ask(arguments: &Search, settings: &Settings, terminal: &Terminal) -> Outcome<Asked> {
    let registries = Registries::read(settings)?;
    let registry = match &arguments.registry {
        Some(text) => Some(registries.find(text)?),
        None => registries.in_use()?,
    };
    let Some(registry) = registry else { return Ok(Asked { found: None, failed: false }) };
    if settings.offline {
        terminal.warning(&format!("--offline: registry `{}` is not asked", registry.url));
        return Ok(Asked { found: None, failed: false });
    }
    let found = match registry.url.starts_with("file://") {
        true => in_index(arguments, settings, terminal, (&registry, "has no search")),
        false => by_server(arguments, settings, &registry).or_else(|unsearched| match unsearched {
            Unsearched::NoSearch => in_index(arguments, settings, terminal, (&registry, "has no search")),
            // A mirror has the files, whatever keeps the registry from answering.
            Unsearched::Failed(failed) if registry.mirror.is_some() => {
                terminal.warning(&failed.message);
                in_index(arguments, settings, terminal, (&registry, "does not answer, and its mirror has no search"))
            }
            Unsearched::Failed(failed) => Err(failed),
        }),
    };
    match found {
        Ok(packs) => Ok(Asked { found: Some(Elsewhere { url: registry.url, packs }), failed: false }),
        Err(failed) => {
            terminal.warning(&format!("{}; only the packs that come with exo are shown", failed.message));
            failed.hints.iter().for_each(|hint| terminal.hint(hint));
            Ok(Asked { found: None, failed: true })
        }
    }
}

/// Why a server's search found nothing out.
enum Unsearched {
    /// It has none: files behind a plain web server, or an older registry.
    NoSearch,
    Failed(Box<Failure>),
}

impl From<Box<Failure>> for Unsearched {
    fn from(failure: Box<Failure>) -> Self {
        Unsearched::Failed(failure)
    }
}

fn by_server(arguments: &Search, settings: &Settings, registry: &Configured) -> Result<Vec<Value>, Unsearched> {
    let mut filter = String::new();
    filter.extend(arguments.kind.map(|kind| format!("&kind={}", word(kind))));
    filter.extend(arguments.target.as_ref().map(|target| format!("&target={}", encoded(target))));
    let words = arguments.words.iter().take(MOST_WORDS).map(|word| encoded(word)).collect::<Vec<_>>().join("+");
    let api = Api::anonymous(settings, registry)?;
    let answer = match api.deliver(None, "GET", &format!("search?per_page=100&q={words}{filter}"), Body::Nothing) {
        Ok(Ok(answer)) => answer,
        Ok(Err(refused)) if refused.is_for_want_of_the_operation() => return Err(Unsearched::NoSearch),
        Ok(Err(refused)) => return Err(api.failure(refused).into()),
        Err(unanswered) if unanswered.is_for_want_of_the_operation() => return Err(Unsearched::NoSearch),
        Err(unanswered) => return Err(unanswered.failure.into()),
    };
    match answer.get("packs").and_then(Value::as_array) {
        Some(packs) => Ok(packs.clone()),
        None => Err(Failure::environment(format!("registry `{}` answers a search with something else", registry.url))
            .hint("check the registry's URL")
            .into()),
    }
}

/// Looks through the signed index, which holds names, kinds, descriptions and dependencies.
fn in_index(
    arguments: &Search,
    settings: &Settings,
    terminal: &Terminal,
    (registry, why): (&Configured, &str),
) -> Outcome<Vec<Value>> {
    let client = Arc::new(registry.open(settings, terminal)?);
    let names = client.names(TIME)?;
    let start = Instant::now();
    let mut packs = Registry::default();
    let mut unread = 0;
    for name in &names {
        // What is left when the time is over is searched by name only, and read where that fits.
        let of_interest = || arguments.words.iter().any(|word| name.as_str().contains(&word.to_lowercase()));
        if start.elapsed() > TIME && !of_interest() {
            unread += 1;
            continue;
        }
        for pack in packs_of(&client, name)? {
            packs.add(pack);
        }
    }
    terminal.note(&format!(
        "registry `{}` {why}: names, kinds and descriptions in its index were looked through, which has no keywords",
        registry.url
    ));
    if unread > 0 {
        terminal
            .warning(&format!("only the names of {unread} of its packs were looked at, which took too long to read"));
    }
    let offered = Offered::here(&packs, settings)?;
    let value = |pack: &RegistryPack| {
        let [name, version, kind, description] = row(pack);
        json!({
            "name": name, "version": version, "kind": kind, "description": description,
            "deprecated": pack.deprecated.is_some(), "archived": pack.archived.is_some(),
        })
    };
    Ok(best(arguments, &packs, &offered).into_iter().map(value).collect())
}
