//! `exo update` and `exo lock`: newer versions within what Exo.toml asks for, verified before they are locked.

use std::collections::BTreeSet;

use exo_compiler::diagnostic::codes;
use exo_index::calendar;
use exo_index::lockfile::{LOCK_FILE, LockedSource, Lockfile};
use exo_index::name::PackName;
use exo_index::version::Version;
use serde_json::json;

use crate::arguments::Update;
use crate::commands::new::pack_name;
use crate::commands::tree::not_in_project;
use crate::failure::{Exit, Failure, Outcome};
use crate::install::standing::{self, Ask};
use crate::install::{self, plan};
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
    let changes = changes(before.as_ref(), lock);
    let new_c = changed_c(before.as_ref(), lock);
    if !new_c.is_empty() && !arguments.accept_raw_c {
        return Err(refuse_new_c(&new_c));
    }
    project.write(&held, None, Some(&lock.to_string()))?;
    standing::warn(settings, terminal, &project, lock, Ask::Memory);
    terminal.answer(
        || match changes.as_slice() {
            [] if arguments.exo => format!("{LOCK_FILE} is of this exo already\n"),
            [] => "everything is at the newest version that Exo.toml allows\n".to_string(),
            some => format!("{}\n\n{}", some.join("\n"), installed.summary.text()),
        },
        || json!({ "changes": changes, "raw_c": new_c, "installed": installed.summary.json() }),
    );
    Ok(Exit::Done)
}

/// `exo lock`: settles versions without installing anything.
pub(super) fn lock(settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let (held, project) = Project::hold(settings, terminal)?;
    let lock = plan::resolve(settings, terminal, &project, &project.manifest)?;
    let changes = changes(project.lock.as_ref(), &lock);
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

/// One line for each pack that is new, gone or at another version.
fn changes(before: Option<&Lockfile>, after: &Lockfile) -> Vec<String> {
    let empty = Lockfile::new(after.exo.clone());
    let before = before.unwrap_or(&empty);
    let names: BTreeSet<&PackName> = before.packs.keys().chain(after.packs.keys()).collect();
    let line = |name: &PackName| match (before.packs.get(name), after.packs.get(name)) {
        (None, Some(new)) => Some(format!("added {name} {}", new.version)),
        (Some(old), None) => Some(format!("removed {name} {}", old.version)),
        (Some(old), Some(new)) if old.version != new.version => {
            Some(format!("{name} {} -> {}", old.version, new.version))
        }
        (Some(old), Some(new)) => match (&old.source, &new.source) {
            (LockedSource::Git { commit: before, .. }, LockedSource::Git { commit: after, .. }) if before != after => {
                Some(format!("{name} {}: commit {before} -> {after}", new.version))
            }
            _ => None,
        },
        (None, None) => None,
    };
    let exo = (before.exo != after.exo).then(|| format!("exo {} -> {}", before.exo, after.exo));
    exo.into_iter().chain(names.into_iter().filter_map(line)).collect()
}

/// Packs whose raw C is not what the lockfile accepted. Raw C is trusted, so a change of it is the user's to accept.
fn changed_c(before: Option<&Lockfile>, after: &Lockfile) -> Vec<String> {
    let Some(before) = before else { return Vec::new() };
    let changed = |name: &PackName| {
        let (old, new) = (before.packs.get(name)?, after.packs.get(name)?);
        let text =
            |digest: Option<exo_index::digest::Blake3>| digest.map_or("none".to_string(), |digest| digest.to_string());
        (old.raw_c != new.raw_c).then(|| {
            format!("{name} {} -> {}: raw C {} -> {}", old.version, new.version, text(old.raw_c), text(new.raw_c))
        })
    };
    after.packs.keys().filter_map(changed).collect()
}

fn refuse_new_c(changed: &[String]) -> Box<Failure> {
    let mut failure =
        Failure::refused("the update changes raw C, which is trusted and cannot be proven").code(codes::UNSAFE);
    for line in changed {
        failure = failure.note(line.clone());
    }
    failure
        .note(format!("{LOCK_FILE} is as it was"))
        .hint("read what the new version changed, run `exo test` of that pack, then repeat with --accept-raw-c")
}
