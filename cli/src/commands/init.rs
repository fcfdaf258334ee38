//! `exo init`: a project in a folder that is already there; what is there stays.

use exo_index::manifest::MANIFEST_FILE;
use serde_json::json;

use crate::arguments::Init;
use crate::commands::{new, templates};
use crate::failure::{Exit, Failure, Outcome};
use crate::filesystem::journal::{self, ProjectLock};
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Init, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let root = &settings.directory;
    journal::recover(root)?;
    if root.join(MANIFEST_FILE).exists() {
        return Err(Failure::refused(format!("`{}` already is a project", root.display()))
            .hint("edit its Exo.toml, or make another project with `exo new NAME`"));
    }
    let folder_name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let given = arguments.name.as_deref().unwrap_or(&folder_name);
    let name = new::pack_name(given).map_err(|failed| match &arguments.name {
        Some(_) => failed,
        None => failed.hint("name the pack with --name NAME"),
    })?;
    let has_library = has_sources(&root.join("src"));
    let files: Vec<(String, String)> = templates::files(&name, arguments.kind, has_library)
        .into_iter()
        .filter(|(path, _)| !root.join(path).exists())
        .collect();
    let held = ProjectLock::take(root, || terminal.status("Waiting", "for another exo process in this folder"))?;
    journal::commit(&held, root, &files)?;
    terminal.status("Created", &format!("{name} in `{}`", root.display()));
    if terminal.is_json() {
        let made: Vec<&String> = files.iter().map(|(path, _)| path).collect();
        terminal.json(&json!({ "name": name.as_str(), "folder": root, "files": made }));
    }
    Ok(Exit::Done)
}

/// Whether a folder holds anything of the user's; what an interrupted `init` left there is hidden and does not count.
fn has_sources(folder: &std::path::Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| !name.to_string_lossy().starts_with('.'))
}
