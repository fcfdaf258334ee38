//! `exo vendor` and `exo bundle`: all locked packs as copies in the project, or in one file, for machines without a network.

use exo_index::lockfile::LOCK_FILE;
use serde_json::json;

use crate::arguments::{Bundle, Vendor};
use crate::bundle;
use crate::commands::ready::ready;
use crate::failure::{Exit, Outcome, count};
use crate::filesystem;
use crate::filesystem::journal;
use crate::project::Project;
use crate::settings::Settings;
use crate::terminal::Terminal;
use crate::vendor::{self, VENDOR_FILE};

pub(super) fn run(arguments: &Vendor, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let (held, project) = Project::hold(settings, terminal)?;
    let root = &project.layout.lock_root;
    let name = arguments.folder.to_string_lossy().trim_end_matches('/').to_string();
    let folder = vendor::inside(root, &name)?;
    let number = vendor::write(&folder, &ready.installed.plan.instances)?;
    journal::commit(&held, root, &[(VENDOR_FILE.to_string(), format!("{name}\n"))])?;
    terminal.answer(
        || {
            format!(
                "{} in {name}/, named by {VENDOR_FILE}; keep both with {LOCK_FILE}, and packs are used from there\n",
                count(number, "pack")
            )
        },
        || json!({ "directory": name, "packs": number }),
    );
    Ok(Exit::Done)
}

pub(super) fn bundle(arguments: &Bundle, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let plan = &ready.installed.plan;
    let evidence = bundle::gather(settings, terminal, &plan.lock)?;
    let bytes = bundle::make(&plan.lock, &plan.instances, evidence)?;
    let pack = &ready.project.manifest.pack;
    let path = match &arguments.output {
        Some(given) => settings.directory.join(given),
        None => settings.directory.join(format!("{}-{}.exo-bundle", pack.name.value.base(), pack.version.value)),
    };
    filesystem::write_output(&path, &bytes)?;
    terminal.answer(
        || {
            format!(
                "{}\n`exo install --bundle FILE` in this project installs from it without a network\n",
                path.display()
            )
        },
        || json!({ "bundle": path, "size": bytes.len() }),
    );
    Ok(Exit::Done)
}
