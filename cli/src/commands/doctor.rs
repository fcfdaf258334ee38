//! `exo doctor`: what this machine offers and what state things are in, with a remedy for what is missing.

use std::time::Duration;

use exo_compiler::pipeline;
use exo_compiler::world::CMachine;
use serde_json::{Value, json};

use crate::builtin_packs::Registry;
use crate::c_toolchain::{CToolchain, machine_features};
use crate::cache::{Cache, maintenance};
use crate::failure::{Exit, Outcome, count};
use crate::install::verdict::CHECKER_DIGEST;
use crate::project::Project;
use crate::registry::configuration::Registries;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// Triples that packs are commonly written for.
const TRIPLES: [&str; 3] = ["x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu"];

/// How long all names of a registry may take.
const TIME_FOR_NAMES: Duration = Duration::from_secs(20);

/// One thing that was looked at.
struct Finding {
    topic: String,
    good: bool,
    text: String,
}

pub(super) fn run(settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let mut findings = vec![
        finding("exo", true, format!("{} (checker {})", env!("CARGO_PKG_VERSION"), checker())),
        finding("solver", true, pipeline::solver_version()),
    ];
    findings.extend(c_compilers(settings));
    findings.push(cache(settings));
    findings.push(packs(settings));
    findings.push(registry(settings, terminal));
    findings.push(project(settings));
    terminal.answer(
        || {
            findings
                .iter()
                .map(|finding| {
                    let mark = if finding.good { "ok" } else { "--" };
                    format!("{mark}  {:<26} {}\n", finding.topic, finding.text)
                })
                .collect()
        },
        || json!({ "findings": findings.iter().map(to_json).collect::<Vec<_>>(), "features": machine_features() }),
    );
    Ok(Exit::Done)
}

fn finding(topic: &str, good: bool, text: String) -> Finding {
    Finding { topic: topic.to_string(), good, text }
}

fn to_json(finding: &Finding) -> Value {
    json!({ "topic": finding.topic, "good": finding.good, "text": finding.text })
}

fn checker() -> String {
    let digest = CHECKER_DIGEST.get(..12).unwrap_or(CHECKER_DIGEST);
    format!("{} {digest}", pipeline::checker_version())
}

fn c_compilers(settings: &Settings) -> Vec<Finding> {
    let toolchain = CToolchain::new(&settings.environment);
    let look = |topic: String, triple: &str| match toolchain
        .toolchain(&CMachine { triple: triple.to_string(), ..CMachine::default() })
    {
        Ok(found) => finding(&topic, true, format!("{}, runs {}", found.compiler.join(" "), found.runner_name())),
        Err(reason) => finding(&topic, false, reason),
    };
    let here = std::iter::once(look("C for this machine".into(), ""));
    let others = TRIPLES.iter().filter(|triple| !triple.starts_with(std::env::consts::ARCH));
    here.chain(others.map(|triple| look(format!("C for {triple}"), triple))).collect()
}

fn cache(settings: &Settings) -> Finding {
    let looked_at = Cache::open(settings).and_then(|cache| {
        let size = maintenance::size(&cache)?;
        Ok(format!("{}: {}, {}", cache.root.display(), count(size.trees, "pack"), count(size.verdicts, "verdict")))
    });
    match looked_at {
        Ok(text) => finding("cache", true, text),
        Err(failed) => finding("cache", false, failed.message.clone()),
    }
}

fn packs(settings: &Settings) -> Finding {
    match Registry::open(settings) {
        Ok(registry) => {
            let names: Vec<String> =
                registry.newest().map(|pack| format!("{} {}", pack.name(), pack.version())).collect();
            finding("packs in this binary", true, names.join(", "))
        }
        Err(failed) => finding("packs in this binary", false, failed.message.clone()),
    }
}

/// Whether the registry in use answers, and what it shows is to be believed.
fn registry(settings: &Settings, terminal: &Terminal) -> Finding {
    let looked_at = Registries::read(settings).and_then(|registries| {
        let Some(registry) = registries.in_use()? else {
            return Ok(
                "none is configured; `EXO_REGISTRY`, or `[registry]` in the configuration, names one".to_string()
            );
        };
        if settings.offline {
            return Ok(format!("{}: not asked, --offline", registry.url));
        }
        let names = registry.open(settings, terminal)?.names(TIME_FOR_NAMES)?;
        Ok(format!("{}: {}, signatures and log are in order", registry.url, count(names.len(), "pack")))
    });
    match looked_at {
        Ok(text) => finding("registry", true, text),
        Err(failed) => {
            let hints = failed.hints.iter().map(|hint| format!("; {hint}")).collect::<String>();
            finding("registry", false, format!("{}{hints}", failed.message))
        }
    }
}

fn project(settings: &Settings) -> Finding {
    match Project::find(settings) {
        Ok(None) => finding("project", true, "none here".into()),
        Ok(Some(project)) => {
            let pack = &project.manifest.pack;
            let state = match &project.lock {
                None => "no Exo.lock yet; `exo install` makes it".to_string(),
                Some(lock) => match lock
                    .disagreements(project.workspace.as_ref().map_or(&project.manifest, |(_, all)| all))
                    .first()
                {
                    None => "Exo.lock is up to date".to_string(),
                    Some(first) => format!("Exo.lock is out of date ({first}); `exo install` updates it"),
                },
            };
            finding(
                "project",
                true,
                format!("{} {} in {}: {state}", pack.name.value, pack.version.value, project.root().display()),
            )
        }
        Err(failed) => finding("project", false, failed.message.clone()),
    }
}
