//! `exo update` and `exo lock`: newer versions within what Exo.toml asks for, verified before they are locked.

use std::collections::BTreeSet;

use exo_compiler::diagnostic::codes;
use exo_index::calendar;
use exo_index::lockfile::{LOCK_FILE, LockedSource};
use exo_index::name::PackName;
use exo_index::version::Version;
use serde_json::json;

use crate::arguments::Update;
use crate::commands::new::pack_name;
use crate::commands::tree::not_in_project;
use crate::failure::{Exit, Failure, Outcome};
use crate::install::changes::NewC;
use crate::install::standing::{self, Ask};
use crate::install::{self, changes, plan};
use crate::project::Project;
use crate::registry::reach::same_registries;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Update, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    settings.may_change_lock("exo update")?;
    let (held, mut project) = Project::hold(settings, terminal)?;
    if let Some(time) = &arguments.as_of {
        project.manifest.policy.as_of = Some(as_of(time)?);
    }
    let before = project.lock.clone();
    let moved = moved(arguments, &project)?;
    if let Some(lock) = &mut project.lock {
        lock.packs.retain(|name, pack| !moved.contains(name) && !matches!(pack.source, LockedSource::Path(_)));
    }
    if let Some(version) = &arguments.precise {
        let version =
            Version::parse(version).map_err(|error| Failure::usage(format!("--precise: {}", error.message)))?;
        project.pinned.extend(moved.iter().map(|name| (name.clone(), version.clone())));
    }
    let installed = match install::install(settings, terminal, &project, &project.manifest, true) {
        // A version that was taken back without a successor stays, as it does without an update.
        Err(failed) if failed.code == Some(codes::RESOLUTION) && arguments.precise.is_none() => {
            let kept = match &before {
                Some(before) => standing::keep_withdrawn(settings, terminal, &mut project, before)?,
                None => false,
            };
            if !kept {
                return Err(failed);
            }
            install::install(settings, terminal, &project, &project.manifest, true).map_err(|_| failed)?
        }
        other => other?,
    };
    let lock = &installed.plan.lock;
    same_registries(before.as_ref(), lock)?;
    let changes = changes::lines(before.as_ref(), lock);
    let new_c = changes::raw_c(before.as_ref(), lock);
    changes::accept_raw_c(&new_c, arguments.accept_raw_c)?;
    project.write(&held, None, Some(&lock.to_string()))?;
    standing::warn(settings, terminal, &project, lock, Ask::Memory);
    terminal.answer(
        || match changes.as_slice() {
            [] if arguments.exo => format!("{LOCK_FILE} is of this exo already\n"),
            [] => "everything is at the newest version that Exo.toml allows\n".to_string(),
            some => format!("{}\n\n{}", some.join("\n"), installed.summary.text()),
        },
        || json!({ "changes": changes, "raw_c": new_c.iter().map(NewC::line).collect::<Vec<_>>(), "installed": installed.summary.json() }),
    );
    Ok(Exit::Done)
}

/// `exo lock`: settles versions without installing anything.
pub(super) fn lock(settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let (held, project) = Project::hold(settings, terminal)?;
    let mut lock = plan::resolve(settings, terminal, &project, &project.manifest)?;
    changes::keep_accepted(project.lock.as_ref(), &mut lock);
    let changes = changes::lines(project.lock.as_ref(), &lock);
    let written = project.write(&held, None, Some(&lock.to_string()))?;
    if written {
        terminal.status("Locked", LOCK_FILE);
    }
    terminal.answer(
        || changes.iter().map(|line| format!("{line}\n")).collect(),
        || json!({ "changes": changes, "written": written }),
    );
    Ok(Exit::Done)
}

/// The time of `--as-of`.
fn as_of(text: &str) -> Outcome<u64> {
    let seconds = calendar::parse(text).map_err(|message| Failure::usage(format!("--as-of: {message}")))?;
    u64::try_from(seconds).map_err(|_| Failure::usage(format!("--as-of: `{text}` is before there were packs")))
}

/// The packs that may move: those named, or all.
fn moved(arguments: &Update, project: &Project) -> Outcome<BTreeSet<PackName>> {
    let Some(lock) = &project.lock else { return Ok(BTreeSet::new()) };
    if arguments.exo {
        return Ok(BTreeSet::new());
    }
    if arguments.packs.is_empty() {
        return Ok(lock.packs.keys().cloned().collect());
    }
    let mut moved = BTreeSet::new();
    for text in &arguments.packs {
        let name = pack_name(text)?;
        if !lock.packs.contains_key(&name) {
            return Err(not_in_project(&name, lock));
        }
        moved.insert(name);
    }
    Ok(moved)
}
