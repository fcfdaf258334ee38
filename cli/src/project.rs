//! The user's project: where it is, its manifest and lockfile, and changing both as one.

pub(crate) mod find_root;
pub(crate) mod layout;
pub(crate) mod read;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use exo_compiler::source::SourceFile;
use exo_index::lockfile::{Lockfile, Merge};
use exo_index::manifest::Manifest;
use exo_index::name::PackName;
use exo_index::version::Version;

use crate::failure::{Failure, Outcome};
use crate::filesystem::journal::{self, ProjectLock};
use crate::project::layout::Layout;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// A project as it was read at one moment.
pub(crate) struct Project {
    pub(crate) layout: Layout,
    pub(crate) manifest: Manifest,
    /// The manifest's text, for spans in messages and for editing.
    pub(crate) manifest_file: Arc<SourceFile>,
    /// `None` when there is no lockfile yet.
    pub(crate) lock: Option<Lockfile>,
    /// The lockfile's text as found, to tell whether it changes.
    pub(crate) lock_text: Option<String>,
    /// The two sides of a lockfile that was left in the middle of a merge; `lock` is then what to prefer of them.
    pub(crate) merge: Option<Merge>,
    /// Versions that must be chosen, whatever else would do: those of `exo update --precise`.
    pub(crate) pinned: BTreeMap<PackName, Version>,
}

impl Project {
    /// The project that the command is about: `--manifest-path`, or the nearest `Exo.toml` upwards.
    pub(crate) fn open(settings: &Settings) -> Outcome<Self> {
        match Self::find(settings)? {
            Some(project) => Ok(project),
            None => Err(Failure::refused(format!(
                "no Exo.toml in `{}` or in any folder above it",
                settings.directory.display()
            ))
            .hint("create a project with `exo new NAME` or `exo init`, or name one with -C or --manifest-path")),
        }
    }

    /// Like [`Project::open`], for commands that also work outside of a project.
    pub(crate) fn find(settings: &Settings) -> Outcome<Option<Self>> {
        let manifest = match &settings.manifest_path {
            Some(path) => Some(path.clone()),
            None => find_root::manifest_above(&settings.directory),
        };
        manifest.map(|path| read::read(Layout::of_manifest(&path))).transpose()
    }

    pub(crate) fn root(&self) -> &PathBuf {
        &self.layout.root
    }

    /// Takes the project for a change and reads it again, since another process may just have changed it.
    pub(crate) fn hold(settings: &Settings, terminal: &Terminal) -> Outcome<(ProjectLock, Self)> {
        let root = Self::open(settings)?.layout.root;
        let held = ProjectLock::take(&root, || terminal.status("Waiting", "for another exo process in this project"))?;
        Ok((held, Self::open(settings)?))
    }

    /// Replaces manifest and lockfile together; what does not change is not written.
    pub(crate) fn write(&self, held: &ProjectLock, manifest: Option<&str>, lock: Option<&str>) -> Outcome<bool> {
        let mut files = Vec::new();
        if let Some(text) = manifest.filter(|text| *text != self.manifest_file.text) {
            files.push((self.layout.manifest_name.clone(), text.to_string()));
        }
        if let Some(text) = lock.filter(|text| Some(*text) != self.lock_text.as_deref()) {
            files.push((exo_index::lockfile::LOCK_FILE.to_string(), text.to_string()));
        }
        if files.is_empty() {
            return Ok(false);
        }
        journal::commit(held, &self.layout.root, &files)?;
        Ok(true)
    }
}
