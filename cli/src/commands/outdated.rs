//! `exo outdated`: packs of the project for which there is something newer.

use exo_compiler::diagnostic::codes;
use exo_index::lockfile::LockedSource;
use exo_index::version::Version;
use serde_json::json;

use crate::builtin_packs::Registry;
use crate::failure::{Exit, Outcome};
use crate::install::plan;
use crate::install::standing;
use crate::install::summary::layout;
use crate::policy::Offered;
use crate::project::Project;
use crate::registry::reach::{locked_place, same_registries, with_urls};
use crate::settings::Settings;
use crate::terminal::Terminal;

/// A pack that is behind: what is locked, what `exo update` would lock, what the registry has.
struct Row {
    name: String,
    locked: Version,
    allowed: Version,
    newest: Version,
    /// What stands against the locked version.
    against: Vec<String>,
    /// Newer versions that are not to be chosen, and why.
    held_back: Vec<String>,
}

pub(super) fn run(settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let mut project = Project::open(settings)?;
    let young = too_young(settings, &project)?;
    // What is locked is told of also where the policy would refuse it: that is what the command is there to say.
    let locked = match (plan::resolve(settings, terminal, &project, &project.manifest), &project.lock) {
        (Err(failed), Some(lock)) if young && failed.code == Some(codes::RESOLUTION) => lock.clone(),
        (resolved, _) => resolved?,
    };
    // What a branch has by now is asked by `exo update`; this command fetches nothing.
    if let Some(lock) = &mut project.lock {
        lock.packs.retain(|_, pack| matches!(pack.source, LockedSource::Git { .. }));
    }
    let unlocked = Settings { locked: false, ..settings.clone() };
    let allowed = match plan::resolve(&unlocked, terminal, &project, &project.manifest) {
        // A version that was taken back without a successor stays.
        Err(failed) if failed.code == Some(codes::RESOLUTION) => {
            if !standing::keep_withdrawn(settings, terminal, &mut project, &locked)? {
                if young {
                    locked.clone()
                } else {
                    return Err(failed);
                }
            } else {
                plan::resolve(&unlocked, terminal, &project, &project.manifest).map_err(|_| failed)?
            }
        }
        other => other?,
    };
    same_registries(Some(&locked), &allowed)?;
    let mut registry = Registry::open(settings)?;
    let manifest = with_urls(settings, project.locked_for(&project.manifest)?)?;
    let elsewhere = locked.packs.values().filter(|pack| matches!(pack.source, LockedSource::Registry(_)));
    registry.reach(
        settings,
        terminal,
        elsewhere.map(|pack| (&pack.name, locked_place(pack, [&manifest]))),
        Some(&locked),
    )?;
    let offered = Offered::new(&registry, project.manifest.policy.clone())?;
    let mut rows = Vec::new();
    for (name, pack) in &locked.packs {
        if matches!(pack.source, LockedSource::Path(_) | LockedSource::Git { .. }) {
            continue;
        }
        let against: Vec<String> = match registry.get(name, &pack.version) {
            Some(found) => {
                let withdrawn = offered.judge(found).into_iter().filter(|removal| !removal.is_of_requirements());
                let of_version = withdrawn.map(|removal| format!("{name} {} {removal}", pack.version));
                let of_pack = found.deprecated.iter().chain(&found.archived).map(|said| format!("{name} is {said}"));
                of_version.chain(of_pack).collect()
            }
            None => Vec::new(),
        };
        let newest = offered.newest(name).map_or(&pack.version, |found| found.version()).clone();
        let allowed = allowed.packs.get(name).map_or(&pack.version, |found| &found.version).clone();
        let held = offered.held_back(name, &newest.clone().max(pack.version.clone()));
        let held_back: Vec<String> =
            held.iter().map(|(version, removal)| format!("{name} {version} {removal}")).collect();
        if newest > pack.version || allowed != pack.version || !held_back.is_empty() || !against.is_empty() {
            let (name, locked) = (name.to_string(), pack.version.clone());
            rows.push(Row { name, locked, allowed, newest, against, held_back });
        }
    }
    terminal.answer(|| text(&rows), || rows.iter().map(json).collect());
    Ok(Exit::Done)
}

/// Whether a locked version is one that the policy refuses also where it is locked already.
fn too_young(settings: &Settings, project: &Project) -> Outcome<bool> {
    let policy = project.locked_for(&project.manifest)?.policy;
    let registry = Registry::open(settings)?;
    let offered = Offered::new(&registry, policy)?;
    let mut packs = project.lock.iter().flat_map(|lock| lock.packs.values());
    Ok(packs.any(|pack| offered.removal_of_locked(pack).is_some_and(|removal| removal.holds_when_locked())))
}

fn text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "all packs are at their newest version\n".to_string();
    }
    let mut table = vec![["pack", "locked", "allowed", "newest"].map(str::to_string)];
    table.extend(
        rows.iter()
            .map(|row| [row.name.clone(), row.locked.to_string(), row.allowed.to_string(), row.newest.to_string()]),
    );
    let mut text = layout(&table);
    for line in rows.iter().flat_map(|row| &row.against) {
        text.push_str(&format!("locked: {line}\n"));
    }
    for line in rows.iter().flat_map(|row| &row.held_back) {
        text.push_str(&format!("held back: {line}\n"));
    }
    text
}

fn json(row: &Row) -> serde_json::Value {
    json!({
        "name": row.name, "locked": row.locked.to_string(),
        "allowed": row.allowed.to_string(), "newest": row.newest.to_string(),
        "against": row.against, "held_back": row.held_back,
    })
}
