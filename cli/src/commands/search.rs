//! `exo search` and `exo info`: what packs there are, and what one of them is.

mod elsewhere;

use std::cmp::Reverse;

use clap::ValueEnum as _;
use exo_index::candidates::{Removal, Span};
use exo_index::lockfile::LockedSource;
use exo_index::manifest::{Manifest, PackKind};
use exo_index::name::PackName;
use exo_index::version::Version;
use serde_json::json;

use crate::arguments::{Info, Kind, Search};
use crate::builtin_packs::{Registry, RegistryPack};
use crate::commands::add::{split, unknown_pack};
use crate::commands::new::pack_name;
use crate::failure::{Exit, Failure, Outcome, count};
use crate::install::summary::columns;
use crate::policy::{self, Offered};
use crate::project::Project;
use crate::registry::reach::Place;
use crate::registry::stewards::Stewards;
use crate::registry::tombstone::Tombstone;
use crate::settings::Settings;
use crate::terminal::Terminal;
use elsewhere::Elsewhere;

/// `exo search`: packs whose name, description or keywords have every word; best first.
pub(super) fn run(arguments: &Search, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    if arguments.words.is_empty() && arguments.kind.is_none() && arguments.target.is_none() {
        return Err(Failure::usage("nothing was said that packs are to be looked for by")
            .hint("give a word, --kind or --target: `exo search conv`, `exo search --kind target`"));
    }
    let registry = Registry::open(settings)?;
    let offered = Offered::here(&registry, settings)?;
    let found = best(arguments, &registry, &offered);
    let asked = elsewhere::ask(arguments, settings, terminal)?;
    let elsewhere = asked.found.as_ref();
    let nothing = found.is_empty() && elsewhere.is_none_or(|found| found.packs.is_empty());
    terminal.answer(
        || {
            if nothing {
                let whose = if asked.failed { " of those that come with exo" } else { "" };
                return format!("no pack{whose} is {}\n", asked_for(arguments));
            }
            let mut text = columns(&found.iter().map(|pack| row(pack)).collect::<Vec<_>>(), 4);
            if let Some(elsewhere) = elsewhere.filter(|found| !found.packs.is_empty()) {
                let gap = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{gap}in registry {}:\n{}", elsewhere.url, columns(&elsewhere.rows(), 4)));
            }
            text
        },
        || {
            let own = found.iter().map(|pack| summary(pack));
            own.chain(elsewhere.into_iter().flat_map(Elsewhere::summaries)).collect()
        },
    );
    Ok(match (asked.failed, nothing) {
        // Whether there is such a pack is not known then, which must not look like an answer.
        (true, _) => Exit::Environment,
        (false, true) => Exit::Refused,
        (false, false) => Exit::Done,
    })
}

/// The packs of a registry that fit, best first.
pub(super) fn best<'r>(arguments: &Search, registry: &'r Registry, offered: &Offered<'r>) -> Vec<&'r RegistryPack> {
    // A pack of which nothing may be chosen is shown all the same: `exo info` says why.
    let newest = registry.newest().map(|pack| offered.newest(pack.name()).unwrap_or(pack));
    let mut found: Vec<(bool, Reverse<usize>, &RegistryPack)> = newest
        .filter(|pack| fits(pack, arguments))
        .filter_map(|pack| {
            let score = score(&pack.manifest, &arguments.words)?;
            Some((is_behind(pack, &arguments.words), Reverse(score), pack))
        })
        .collect();
    found.sort_by_key(|(behind, score, pack)| (*behind, *score, pack.name()));
    found.into_iter().map(|(_, _, pack)| pack).collect()
}

/// Whether a pack comes after all others: it is archived, and not the one that is named.
fn is_behind(pack: &RegistryPack, words: &[String]) -> bool {
    pack.archived.is_some() && words.join(" ").to_lowercase() != pack.name().as_str()
}

/// What was looked for, as a phrase.
fn asked_for(arguments: &Search) -> String {
    let about = (!arguments.words.is_empty()).then(|| format!("about {}", arguments.words.join(" ")));
    let kind = arguments.kind.map(|kind| format!("of kind {}", word(kind)));
    let target = arguments.target.as_ref().map(|target| format!("for the target {target}"));
    [about, kind, target].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(super) fn word(kind: Kind) -> String {
    kind.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
}

/// Whether a pack is of the kind that is asked for, and made for the target: it is that target, or depends on it.
fn fits(pack: &RegistryPack, arguments: &Search) -> bool {
    let of_kind = arguments.kind.is_none_or(|wanted| word(wanted) == kind(pack));
    let needs = |target: &String| pack.manifest.dependencies.iter().any(|needed| needed.name.as_str() == target);
    of_kind && arguments.target.as_ref().is_none_or(|target| pack.name().as_str() == target || needs(target))
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
    let (name, version) = split(&arguments.pack);
    let (name, version) = (pack_name(name)?, version.map(one_version).transpose()?);
    let mut registry = Registry::open(settings)?;
    let lock = Project::find(settings)?.and_then(|project| project.lock);
    let place = arguments.registry.as_deref().map_or(Place::Unsaid, Place::Named);
    registry.reach(settings, terminal, [(&name, place)], lock.as_ref())?;
    let Some(pack) = registry.newest().find(|pack| *pack.name() == name) else {
        return Err(unknown_pack(settings, &name, &registry));
    };
    let offered = Offered::here(&registry, settings)?;
    let (can_be_added, pack) = match &version {
        Some(version) => {
            let found = registry.get(&name, version).ok_or_else(|| no_version(settings, &registry, &name, version))?;
            (offered.judge(found).iter().all(Removal::is_of_requirements), found)
        }
        None => {
            let chosen = offered.newest(&name);
            (chosen.is_some(), chosen.map_or(pack, |chosen| registry.get(&name, chosen.version()).unwrap_or(pack)))
        }
    };
    let checked = Checked::of(settings, pack)?;
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
        || {
            format!(
                "{}{}\n{}\n",
                page(pack, &versions, &held_back, &needs),
                checked.lines(),
                invitation(&name, version.as_ref(), can_be_added)
            )
        },
        || {
            let mut value = summary(pack);
            if let Some(object) = value.as_object_mut() {
                object.insert("versions".into(), json!(versions));
                object.insert("held_back".into(), json!(held_back));
                object.insert("can_be_added".into(), json!(can_be_added));
                object.insert("deprecated".into(), json!(pack.deprecated));
                object.insert("archived".into(), json!(pack.archived));
                object.insert("published".into(), json!(pack.published()));
                object.insert("source".into(), json!(pack.source().to_string()));
                let needs = needs.iter().map(|(name, requirement)| (name.to_string(), json!(requirement)));
                object.insert("dependencies".into(), serde_json::Value::Object(needs.collect()));
                object.insert("license".into(), json!(pack.manifest.pack.license));
                object.insert("repository".into(), json!(pack.manifest.pack.repository));
                object.insert("sha256".into(), json!(pack.sha256.to_string()));
                object.insert("tree".into(), json!(pack.tree.to_string()));
                checked.add_to(object);
            }
            value
        },
    );
    Ok(Exit::Done)
}

/// The version after `NAME@`.
fn one_version(text: &str) -> Outcome<Version> {
    Version::parse(text).map_err(|_| {
        Failure::usage(format!("`{text}` is no version")).hint("one version is looked at: `exo info neon@1.1.0`")
    })
}

fn no_version(settings: &Settings, registry: &Registry, name: &PackName, version: &Version) -> Box<Failure> {
    let all: Vec<String> = registry.versions(name).rev().map(|found| found.version().to_string()).collect();
    let tombstone = Tombstone::among(settings, registry.reached.asked_for(name), name, Some(version));
    let failure = match tombstone {
        Some(tombstone) => tombstone.failure(),
        None => Failure::refused(format!("`{name}` has no version {version}"))
            .code(exo_compiler::diagnostic::codes::RESOLUTION),
    };
    failure.hint(format!("it has {}", all.join(", ")))
}

/// What a registry says of a version beyond the index: what its checker signed, and what its server tells.
struct Checked {
    signed: Option<std::sync::Arc<crate::registry::Signed>>,
    stewards: Option<Stewards>,
}

impl Checked {
    fn of(settings: &Settings, pack: &RegistryPack) -> Outcome<Self> {
        let stewards = match pack.source() {
            LockedSource::Registry(url) => Stewards::of(settings, &url, pack.name())?,
            LockedSource::Builtin | LockedSource::Path(_) | LockedSource::Git { .. } => None,
        };
        Ok(Checked { signed: pack.signed()?, stewards })
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        if let Some(signed) = &self.signed {
            let verdict = &signed.verdict;
            let raw_c = if verdict.raw_c.is_some() { "raw C" } else { "no raw C" };
            text.push_str(&format!(
                "{:<13} {}, {}, {}, {}, {raw_c}\n",
                "checked",
                count(verdict.claims.len(), "claim"),
                count(usize::try_from(verdict.tests).unwrap_or(usize::MAX), "test"),
                count(verdict.instructions.len(), "instruction"),
                count(verdict.waived.len(), "waived check"),
            ));
        }
        if let Some(stewards) = &self.stewards {
            text.push_str(&format!("{:<13} {}\n", "owners", stewards.owners.join(", ")));
            text.push_str(&format!("{:<13} {}\n", "downloads", stewards.downloads));
        }
        text
    }

    fn add_to(&self, object: &mut serde_json::Map<String, serde_json::Value>) {
        if let Some(signed) = &self.signed {
            let verdict = &signed.verdict;
            let checked = json!({
                "claims": verdict.claims.len(), "tests": verdict.tests, "instructions": verdict.instructions.len(),
                "waived": verdict.waived.len(), "raw_c": verdict.raw_c.is_some(),
            });
            object.insert("checked".into(), checked);
        }
        if let Some(stewards) = &self.stewards {
            object.insert("registry".into(), stewards.json());
        }
    }
}

/// What can be done with a pack, or with one version of it.
fn invitation(name: &PackName, version: Option<&Version>, can_be_added: bool) -> String {
    match (can_be_added, version) {
        (true, Some(version)) => format!("`exo add {name}@={version}` adds this version"),
        (true, None) => format!("`exo add {name}` adds it, `exo help {name}` lists what it offers"),
        (false, Some(version)) => format!("version {version} is not to be chosen; who has it locked keeps it"),
        (false, None) => format!("no version of `{name}` is to be chosen; who has one locked keeps it"),
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
    for said in pack.deprecated.iter().chain(&pack.archived) {
        line("standing", said);
    }
    for held in held_back {
        line("held back", held);
    }
    let needs: Vec<String> = needs.iter().map(|(name, requirement)| format!("{name} {requirement}")).collect();
    line("dependencies", &needs.join(", "));
    line("sha256", &pack.sha256.to_string());
    line("tree", &pack.tree.to_string());
    text
}
