//! `exo search` and `exo info`: what packs there are, and what one of them is.

use clap::ValueEnum as _;
use exo_index::candidates::Span;
use exo_index::manifest::{Manifest, PackKind};
use exo_index::name::PackName;
use exo_index::visible::shown;
use serde_json::{Value, json};

use crate::arguments::{Info, Kind, Search};
use crate::builtin_packs::{Registry, RegistryPack};
use crate::commands::add::unknown_pack;
use crate::commands::new::pack_name;
use crate::failure::{Exit, Outcome};
use crate::install::summary::columns;
use crate::policy::{self, Offered};
use crate::project::Project;
use crate::registry::api::{Api, Body, encoded};
use crate::registry::configuration::Registries;
use crate::registry::reach::Place;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// `exo search`: packs whose name, description or keywords have every word; best first.
pub(super) fn run(arguments: &Search, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let words = &arguments.words;
    let registry = Registry::open(settings)?;
    let offered = Offered::here(&registry, settings)?;
    // A pack of which nothing may be chosen is shown all the same: `exo info` says why.
    let newest = registry.newest().map(|pack| offered.newest(pack.name()).unwrap_or(pack));
    let mut found: Vec<(usize, &RegistryPack)> = newest
        .filter(|pack| fits(pack, arguments))
        .filter_map(|pack| Some((score(&pack.manifest, words)?, pack)))
        .collect();
    found.sort_by(|(left, a), (right, b)| right.cmp(left).then_with(|| a.name().cmp(b.name())));
    let found: Vec<&RegistryPack> = found.into_iter().map(|(_, pack)| pack).collect();
    let elsewhere = elsewhere(arguments, settings, terminal)?;
    let nothing = found.is_empty() && elsewhere.as_ref().is_none_or(|found| found.packs.is_empty());
    terminal.answer(
        || {
            if nothing {
                return format!("no pack is {}\n", asked_for(arguments));
            }
            let mut text = columns(&found.iter().map(|pack| row(pack)).collect::<Vec<_>>(), 4);
            if let Some(elsewhere) = elsewhere.as_ref().filter(|found| !found.packs.is_empty()) {
                let gap = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{gap}in registry {}:\n{}", elsewhere.url, columns(&elsewhere.rows(), 4)));
            }
            text
        },
        || {
            let own = found.iter().map(|pack| summary(pack));
            own.chain(elsewhere.iter().flat_map(Elsewhere::summaries)).collect()
        },
    );
    Ok(if nothing { Exit::Refused } else { Exit::Done })
}

/// What was looked for, as a phrase.
fn asked_for(arguments: &Search) -> String {
    let about = (!arguments.words.is_empty()).then(|| format!("about {}", arguments.words.join(" ")));
    let kind = arguments.kind.map(|kind| format!("of kind {}", word(kind)));
    let target = arguments.target.as_ref().map(|target| format!("for the target {target}"));
    [about, kind, target].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn word(kind: Kind) -> String {
    kind.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
}

/// Whether a pack is of the kind that is asked for, and made for the target: it is that target, or depends on it.
fn fits(pack: &RegistryPack, arguments: &Search) -> bool {
    let of_kind = arguments.kind.is_none_or(|wanted| word(wanted) == kind(pack));
    let needs = |target: &String| pack.manifest.dependencies.iter().any(|needed| needed.name.as_str() == target);
    of_kind && arguments.target.as_ref().is_none_or(|target| pack.name().as_str() == target || needs(target))
}

/// The most words that a registry is asked about; it looks at no more.
const MOST_WORDS: usize = 8;

/// What a registry says that it has. Nothing of it is checked before the pack is added.
struct Elsewhere {
    url: String,
    packs: Vec<Value>,
}

impl Elsewhere {
    fn text(pack: &Value, key: &str) -> String {
        shown(pack.get(key).and_then(Value::as_str).unwrap_or_default()).replace('\n', " ")
    }

    fn rows(&self) -> Vec<[String; 4]> {
        let row = |pack: &Value| ["name", "version", "kind", "description"].map(|key| Self::text(pack, key));
        self.packs.iter().map(row).collect()
    }

    fn summaries(&self) -> impl Iterator<Item = Value> {
        self.rows().into_iter().map(|[name, version, kind, description]| {
            json!({
                "name": name, "version": version, "kind": kind, "description": description, "registry": self.url,
            })
        })
    }
}

/// What a registry has about all of the words; `None` without one. One that does not answer is warned of.
fn elsewhere(arguments: &Search, settings: &Settings, terminal: &Terminal) -> Outcome<Option<Elsewhere>> {
    let registries = Registries::read(settings)?;
    let registry = match &arguments.registry {
        Some(text) => Some(registries.find(text)?),
        None => registries.in_use()?,
    };
    let Some(registry) = registry else { return Ok(None) };
    if settings.offline {
        terminal.warning(&format!("--offline: registry `{}` is not asked", registry.url));
        return Ok(None);
    }
    let mut filter = String::new();
    filter.extend(arguments.kind.map(|kind| format!("&kind={}", word(kind))));
    filter.extend(arguments.target.as_ref().map(|target| format!("&target={}", encoded(target))));
    let words = arguments.words.iter().take(MOST_WORDS).map(|word| encoded(word)).collect::<Vec<_>>().join("+");
    let asked = Api::anonymous(settings, &registry)
        .and_then(|api| api.ask("GET", &format!("search?per_page=100&q={words}{filter}"), Body::Nothing));
    let answer = match asked {
        Ok(answer) => answer,
        Err(failed) => {
            terminal.warning(&format!("{}; only the packs that come with exo are shown", failed.message));
            return Ok(None);
        }
    };
    let packs = answer.get("packs").and_then(Value::as_array).cloned().unwrap_or_default();
    Ok(Some(Elsewhere { url: registry.url, packs }))
}

/// How well a pack fits all of the words; `None` when one of them is nowhere.
fn score(manifest: &Manifest, words: &[String]) -> Option<usize> {
    let pack = &manifest.pack;
    let name = pack.name.value.to_string();
    let description = pack.description.as_deref().unwrap_or_default().to_lowercase();
    let mut score = 0;
    for word in words.iter().map(|word| word.to_lowercase()) {
        score += match () {
            () if name == word => 100,
            () if name.contains(&word) => 30,
            () if pack.keywords.iter().any(|keyword| keyword.to_lowercase() == word) => 20,
            () if description.contains(&word) => 10,
            () => return None,
        };
    }
    Some(score)
}

fn kind(pack: &RegistryPack) -> &'static str {
    match pack.manifest.pack.kind {
        PackKind::Target => "target",
        PackKind::Schedule => "schedule",
        PackKind::Kernel => "kernel",
    }
}

fn row(pack: &RegistryPack) -> [String; 4] {
    let description = pack.manifest.pack.description.clone().unwrap_or_default();
    [pack.name().to_string(), pack.version().to_string(), kind(pack).to_string(), description]
}

fn summary(pack: &RegistryPack) -> serde_json::Value {
    json!({
        "name": pack.name().to_string(), "version": pack.version().to_string(), "kind": kind(pack),
        "description": pack.manifest.pack.description, "keywords": pack.manifest.pack.keywords,
    })
}

/// `exo info PACK`.
pub(super) fn info(arguments: &Info, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let name = pack_name(&arguments.pack)?;
    let mut registry = Registry::open(settings)?;
    let lock = Project::find(settings)?.and_then(|project| project.lock);
    let place = arguments.registry.as_deref().map_or(Place::Unsaid, Place::Named);
    registry.reach(settings, terminal, [(&name, place)], lock.as_ref())?;
    let Some(pack) = registry.newest().find(|pack| *pack.name() == name) else {
        return Err(unknown_pack(&name, &registry));
    };
    let offered = Offered::here(&registry, settings)?;
    let chosen = offered.newest(&name);
    let (can_be_added, pack) = (chosen.is_some(), chosen.unwrap_or(pack));
    let versions: Vec<String> = registry.versions(&name).rev().map(|found| found.version().to_string()).collect();
    let held_back: Vec<String> = registry
        .versions(&name)
        .rev()
        .filter_map(|found| Some(format!("{} {}", found.version(), offered.judge(found).first()?)))
        .collect();
    let needs: Vec<(PackName, String)> = pack
        .manifest
        .dependencies
        .iter()
        .map(|dependency| (dependency.name.clone(), dependency.requirement.to_string()))
        .collect();
    terminal.answer(
        || format!("{}\n{}\n", page(pack, &versions, &held_back, &needs), invitation(&name, can_be_added)),
        || {
            let mut value = summary(pack);
            if let Some(object) = value.as_object_mut() {
                object.insert("versions".into(), json!(versions));
                object.insert("held_back".into(), json!(held_back));
                object.insert("can_be_added".into(), json!(can_be_added));
                object.insert("deprecated".into(), json!(pack.deprecated));
                object.insert("published".into(), json!(pack.published()));
                object.insert("source".into(), json!(pack.source().to_string()));
                let needs = needs.iter().map(|(name, requirement)| (name.to_string(), json!(requirement)));
                object.insert("dependencies".into(), serde_json::Value::Object(needs.collect()));
                object.insert("license".into(), json!(pack.manifest.pack.license));
                object.insert("repository".into(), json!(pack.manifest.pack.repository));
                object.insert("sha256".into(), json!(pack.sha256.to_string()));
                object.insert("tree".into(), json!(pack.tree.to_string()));
            }
            value
        },
    );
    Ok(Exit::Done)
}

/// What can be done with a pack.
fn invitation(name: &PackName, can_be_added: bool) -> String {
    match can_be_added {
        true => format!("`exo add {name}` adds it, `exo help {name}` lists what it offers"),
        false => format!("no version of `{name}` is to be chosen; who has one locked keeps it"),
    }
}

fn page(pack: &RegistryPack, versions: &[String], held_back: &[String], needs: &[(PackName, String)]) -> String {
    let about = &pack.manifest.pack;
    let mut text = format!("{} {} ({})\n", pack.name(), pack.version(), kind(pack));
    let mut line = |label: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("{label:<13} {value}\n"));
        }
    };
    line("description", about.description.as_deref().unwrap_or_default());
    line("license", about.license.as_deref().unwrap_or_default());
    line("repository", about.repository.as_deref().unwrap_or_default());
    line("keywords", &about.keywords.join(", "));
    line("versions", &versions.join(", "));
    let age = pack.published().map(|at| format!("{} ago", Span(policy::now().saturating_sub(at))));
    line("published", &age.unwrap_or_default());
    line("source", &pack.source().to_string());
    line("standing", pack.deprecated.as_deref().unwrap_or_default());
    for held in held_back {
        line("held back", held);
    }
    let needs: Vec<String> = needs.iter().map(|(name, requirement)| format!("{name} {requirement}")).collect();
    line("dependencies", &needs.join(", "));
    line("sha256", &pack.sha256.to_string());
    line("tree", &pack.tree.to_string());
    text
}
