//! `exo why PACK`: every chain of requirements that brings a pack into the project, shortest first.

use exo_index::lockfile::Lockfile;
use exo_index::manifest::Manifest;
use exo_index::name::PackName;
use serde_json::json;

use crate::commands::new::pack_name;
use crate::commands::tree::not_in_project;
use crate::failure::{Exit, Outcome};
use crate::install::plan;
use crate::project::Project;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// Chains that are printed; a pack that everything uses has too many to read.
const MOST: usize = 10;

pub(super) fn run(pack: &str, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let project = Project::open(settings)?;
    let lock = plan::resolve(settings, terminal, &project, &project.manifest)?;
    let name = pack_name(pack)?;
    if !lock.packs.contains_key(&name) {
        return Err(not_in_project(&name, &lock));
    }
    let (chains, left_out) = chains(&project.roots(), &lock, &name);
    let line = |chain: &Chain| {
        let steps = chain.packs.iter().map(|step| match lock.packs.get(step) {
            Some(pack) => format!("{step} {}", pack.version),
            None => step.to_string(),
        });
        let dev = if chain.dev { " (dev)" } else { "" };
        format!("{}{dev} -> {}\n", chain.root, steps.collect::<Vec<_>>().join(" -> "))
    };
    terminal.answer(
        || {
            let mut text: String = chains.iter().map(line).collect();
            if left_out {
                text.push_str(&format!("and more; `exo tree -i {name}` shows all\n"));
            }
            text
        },
        || {
            let chains = chains.iter().map(|chain| {
                json!({ "root": chain.root.as_str(), "dev": chain.dev, "packs": chain.packs.iter().map(ToString::to_string).collect::<Vec<_>>() })
            });
            json!({ "name": name.to_string(), "chains": chains.collect::<Vec<_>>(), "more": left_out })
        },
    );
    Ok(Exit::Done)
}

/// From a direct dependency of one of the project's packs to the pack in question.
struct Chain {
    root: PackName,
    packs: Vec<PackName>,
    dev: bool,
}

/// Breadth first, so that short chains come first; whether some were left out.
fn chains(roots: &[&Manifest], lock: &Lockfile, wanted: &PackName) -> (Vec<Chain>, bool) {
    let start = |manifest: &Manifest, dev: bool| -> Vec<Chain> {
        let section = if dev { &manifest.dev_dependencies } else { &manifest.dependencies };
        let root = &manifest.pack.name.value;
        section.iter().map(|needed| Chain { root: root.clone(), packs: vec![needed.name.clone()], dev }).collect()
    };
    let mut open: std::collections::VecDeque<Chain> =
        [false, true].into_iter().flat_map(|dev| roots.iter().flat_map(move |root| start(root, dev))).collect();
    let mut found = Vec::new();
    while let Some(chain) = open.pop_front() {
        let Some(last) = chain.packs.last() else { continue };
        if last == wanted {
            if found.len() == MOST {
                return (found, true);
            }
            found.push(chain);
            continue;
        }
        let needs = lock.packs.get(last).into_iter().flat_map(|pack| pack.dependencies.iter());
        for next in needs.filter(|next| reaches(lock, next, wanted)) {
            let packs = chain.packs.iter().chain([next]).cloned().collect();
            open.push_back(Chain { root: chain.root.clone(), packs, dev: chain.dev });
        }
    }
    (found, false)
}

/// Whether a pack is the wanted one or depends on it. Dependencies have no cycles.
fn reaches(lock: &Lockfile, from: &PackName, wanted: &PackName) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        if name == wanted {
            return true;
        }
        if seen.insert(name) {
            open.extend(lock.packs.get(name).into_iter().flat_map(|pack| pack.dependencies.iter()));
        }
    }
    false
}
