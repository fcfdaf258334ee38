//! `exo new NAME`: a project in a new folder, made whole or not at all.

use exo_index::name::PackName;
use serde_json::json;

use crate::arguments::New;
use crate::commands::templates;
use crate::failure::{Exit, Failure, Outcome};
use crate::filesystem;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// The name, or a usage error with the nearest valid one.
pub(super) fn pack_name(text: &str) -> Outcome<PackName> {
    PackName::parse(text).map_err(|error| {
        let failure = Failure::usage(error.message);
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}

pub(super) fn run(arguments: &New, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let name = pack_name(&arguments.name)?;
    let folder = settings.directory.join(name.base());
    if folder.symlink_metadata().is_ok() {
        return Err(Failure::refused(format!("`{}` is already there", folder.display()))
            .hint("take another name, or run `exo init` in that folder"));
    }
    // Made beside the place and moved there, so that an interrupted run leaves no half of a project.
    filesystem::sweep(&settings.directory);
    let temporary = filesystem::beside(&folder);
    let made = make(&temporary, &templates::files(&name, arguments.kind, false))
        .and_then(|()| filesystem::rename(&temporary, &folder));
    if let Err(failed) = made {
        let _ = std::fs::remove_dir_all(&temporary);
        return Err(failed);
    }
    terminal.status("Created", &format!("{} in `{}`", name, folder.display()));
    terminal.note(&format!("  next: cd {} && exo test", name.base()));
    if terminal.is_json() {
        terminal.json(&json!({ "name": name.as_str(), "folder": folder }));
    }
    Ok(Exit::Done)
}

fn make(folder: &std::path::Path, files: &[(String, String)]) -> Outcome<()> {
    for (path, text) in files {
        let place = folder.join(path);
        if let Some(parent) = place.parent() {
            filesystem::create_directory(parent)?;
        }
        filesystem::write_synced(&place, text.as_bytes())?;
    }
    Ok(())
}
