//! `exo remove PACK…`: takes packs out of Exo.toml and out of Exo.lock what nothing needs any more.

use std::sync::Arc;

use exo_compiler::source::SourceFile;
use exo_index::manifest::{DependencyKind, EditError, remove_dependency_in};
use serde_json::json;

use crate::arguments::Remove;
use crate::commands::members;
use crate::commands::new::pack_name;
use crate::failure::{Exit, Failure, Outcome, did_you_mean};
use crate::install::{self, changes};
use crate::project::Project;
use crate::project::read;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Remove, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    settings.may_change_lock("exo remove")?;
    let (held, project) = Project::hold(settings, terminal)?;
    members::refuse_virtual(&project)?;
    let kind = if arguments.dev { DependencyKind::Dev } else { DependencyKind::Normal };
    let mut text = project.manifest_file.text.clone();
    for pack in &arguments.packs {
        let name = pack_name(pack)?;
        text = project
            .with_inherited(|inherited| remove_dependency_in(&text, kind, &name, inherited))
            .map_err(|error| edit_failure(&project.manifest_file, &text, error))?;
    }
    let manifest = project.parse(text.clone())?;
    let installed = install::install(settings, terminal, &project, &manifest, true)?;
    changes::by_the_way(project.lock.as_ref(), &installed.plan.lock)?;
    project.write(&held, Some(&text), Some(&installed.plan.lock.to_string()))?;
    let before = project.lock.iter().flat_map(|lock| lock.packs.values());
    let gone: Vec<String> = before
        .filter(|pack| !installed.plan.lock.packs.contains_key(&pack.name))
        .map(|pack| format!("{} {}", pack.name, pack.version))
        .collect();
    terminal.answer(
        || {
            let mut text = format!("removed {}\n", arguments.packs.join(", "));
            if !gone.is_empty() {
                text.push_str(&format!("not needed any more: {}\n", gone.join(", ")));
            }
            text
        },
        || json!({ "removed": arguments.packs, "not_needed": gone }),
    );
    Ok(Exit::Done)
}

/// The failure for an edit of a manifest that could not be made; `text` is the manifest before it.
pub(super) fn edit_failure(file: &Arc<SourceFile>, text: &str, error: EditError) -> Box<Failure> {
    match error {
        EditError::Before(errors) | EditError::After(errors) => {
            read::manifest_failure(&SourceFile::new(file.display_name.clone(), text), &errors)
        }
        EditError::Absent { name, kind, in_other_section, nearest } => {
            let failure = Failure::refused(format!("`{name}` is not in `[{}]`", kind.section()));
            if in_other_section {
                let option = if kind == DependencyKind::Dev { "without --dev" } else { "with --dev" };
                return failure.hint(format!("it is in the other section; run the command {option}"));
            }
            match did_you_mean(&nearest) {
                Some(suggestion) => failure.hint(suggestion),
                None => failure.hint("`exo tree` shows what the project depends on"),
            }
        }
    }
}
