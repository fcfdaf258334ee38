//! `exo install`: brings the cache and Exo.lock to what Exo.toml asks for; with `--bundle` out of one file.

use std::path::Path;

use exo_compiler::diagnostic::codes;
use exo_index::lockfile::{Disagreement, LOCK_FILE, Lockfile};
use exo_index::manifest::MANIFEST_FILE;

use crate::arguments::Install;
use crate::bundle::{self, Proved};
use crate::cache::Cache;
use crate::commands::ready;
use crate::failure::{Exit, Failure, Outcome, count};
use crate::filesystem;
use crate::install::settled::Question;
use crate::install::standing::{self, Ask};
use crate::install::summary::Summary;
use crate::install::{Installed, changes};
use crate::project::Project;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Install, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    match &arguments.bundle {
        Some(file) => {
            let (installed, proved) = from_bundle(file, settings, terminal)?;
            installed.plan.check_trees(settings)?;
            tell(&installed.summary, Some(&proved), terminal);
        }
        None => tell(&as_locked(settings, terminal)?, None, terminal),
    }
    Ok(Exit::Done)
}

/// Installs what the project needs; where nothing has changed since the last time, only looks at the files of the packs.
fn as_locked(settings: &Settings, terminal: &Terminal) -> Outcome<Summary> {
    let cache = Cache::open(settings)?;
    let question = Question::of(settings, &cache);
    if let Some(summary) = question.as_ref().and_then(Question::answer) {
        return Ok(summary);
    }
    let (project, installed) = ready::installed(settings, terminal)?;
    let warned = standing::warn(settings, terminal, &project, &installed.plan.lock, Ask::Registries);
    installed.plan.check_trees(settings)?;
    // What decides may have changed while the packs were installed, by this very command too.
    if let Some(question) = Question::of(settings, &cache).filter(|now| !warned && question.as_ref() == Some(now)) {
        question.keep(&installed);
    }
    Ok(installed.summary)
}

fn tell(summary: &Summary, proved: Option<&Proved>, terminal: &Terminal) {
    for skipped in summary.skipped() {
        terminal.detail(&skipped);
    }
    terminal.answer(
        || summary.text(),
        || {
            let mut json = summary.json();
            if let (Some(object), Some(proved)) = (json.as_object_mut(), proved) {
                object.insert("bundle".into(), proved.json());
            }
            json
        },
    );
}

/// Installs without a network. A project's own lockfile decides; one without takes that of the bundle.
fn from_bundle(file: &Path, settings: &Settings, terminal: &Terminal) -> Outcome<(Installed, Proved)> {
    let bundle = bundle::read(&filesystem::read_bytes(&settings.directory.join(file))?)?;
    let (held, mut project) = Project::hold(settings, terminal)?;
    if project.lock.is_none() {
        settings.may_change_lock("exo install --bundle")?;
        project.lock = Some(bundle.lock.clone());
    }
    fits(&project, &bundle.lock)?;
    let cache = Cache::open(settings)?;
    let lock = project.lock.clone().unwrap_or_else(|| bundle.lock.clone());
    let proved = bundle.prove(settings, &lock)?;
    proved.tell(terminal);
    let number = bundle.unpack(&cache, &lock)?;
    terminal.status("Unpacked", &format!("{} of the bundle", count(number, "pack")));
    let offline = Settings { offline: true, ..settings.clone() };
    let installed = crate::install::install(&offline, terminal, &project, &project.manifest, true)?;
    let text = installed.plan.lock.to_string();
    if settings.locked && project.lock_text.as_deref() != Some(text.as_str()) {
        return Err(Failure::refused(format!("--locked: {LOCK_FILE} does not fit"))
            .code(codes::LOCK)
            .hint("run it without --locked and look at what changes"));
    }
    let moved = changes::by_the_way(project.lock.as_ref(), &installed.plan.lock)?;
    if project.write(&held, None, Some(&text))? {
        changes::tell(terminal, &moved);
    }
    Ok((installed, proved))
}

/// Refuses what would need a network: a lockfile, of the project or else of the bundle, that is not what the manifest asks for.
fn fits(project: &Project, of_bundle: &Lockfile) -> Outcome<()> {
    let manifest = project.locked_for(&project.manifest)?;
    let lock = project.lock.as_ref().unwrap_or(of_bundle);
    // What nothing needs any more is left out without a network; what folders of the project need is in their manifests.
    let lacks = lock.disagreements(&manifest).into_iter().filter(|one| !matches!(one, Disagreement::Unneeded { .. }));
    let lacks: Vec<Disagreement> = lacks.collect();
    if lacks.is_empty() {
        return Ok(());
    }
    let whose = match project.lock_text {
        Some(_) => format!("{LOCK_FILE} does not fit {MANIFEST_FILE}, and a bundle resolves nothing"),
        None => format!("the bundle does not fit {MANIFEST_FILE}"),
    };
    let failure =
        lacks.iter().fold(Failure::refused(whose).code(codes::LOCK), |failure, one| failure.note(one.to_string()));
    Err(failure.hint(format!(
        "where there is a network, run `exo install` and `exo bundle` with this {MANIFEST_FILE}; nothing was unpacked"
    )))
}
