//! The user's project: where it is, its manifest and lockfile, and changing both as one.

pub(crate) mod find_root;
pub(crate) mod layout;
pub(crate) mod read;
pub(crate) mod workspace;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use exo_compiler::source::SourceFile;
use exo_index::lockfile::{Lockfile, Merge};
use exo_index::manifest::{Inherited, Manifest};
use exo_index::name::PackName;
use exo_index::version::Version;

use crate::failure::{Failure, Outcome};
use crate::filesystem::journal::{self, ProjectLock};
use crate::project::layout::Layout;
use crate::project::workspace::Members;
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
    /// The workspace it is a member of, with everything that its members need together.
    pub(crate) workspace: Option<(Members, Manifest)>,
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
        let Some(path) = manifest else { return Ok(None) };
        let mut layout = Layout::of_manifest(&path);
        let members = workspace::around(&layout.root)?;
        if let Some(members) = &members {
            layout.lock_root.clone_from(&members.root);
        }
        read::read(layout, members).map(Some)
    }

    /// Another member of the same workspace, which was read with this one and is not read again.
    pub(crate) fn member_beside(&self, settings: &Settings) -> Outcome<Self> {
        if let (Some((members, _)), Some(path)) = (&self.workspace, &settings.manifest_path) {
            let mut layout = Layout::of_manifest(path);
            if members.member_in(&layout.root).is_some() {
                layout.lock_root.clone_from(&members.root);
                return read::read(layout, Some(members.clone()));
            }
        }
        Self::open(settings)
    }

    /// Reads another text for this project's manifest.
    pub(crate) fn parse(&self, text: String) -> Outcome<Manifest> {
        let file = SourceFile::new(self.layout.manifest_name.clone(), text);
        match &self.workspace {
            Some((members, _)) => members.parse(&self.member_path(), &file),
            None => read::manifest(&file),
        }
    }

    /// Where the pack is in its workspace; empty at its root.
    fn member_path(&self) -> String {
        self.layout.seen_from_lock("").trim_end_matches('/').to_string()
    }

    /// Does something with what this pack takes from its workspace.
    pub(crate) fn with_inherited<T>(&self, act: impl FnOnce(Option<Inherited<'_>>) -> T) -> T {
        match &self.workspace {
            Some((members, _)) => members.with_inherited(&self.member_path(), |inherited| act(Some(inherited))),
            None => act(None),
        }
    }

    /// Whether this is the root of a workspace and no pack.
    pub(crate) fn is_virtual(&self) -> bool {
        self.workspace.as_ref().is_some_and(|(_, all)| all.pack.name == self.manifest.pack.name)
    }

    /// The packs whose needs the lockfile answers here: this one, or all members at the root of a workspace that is no pack.
    pub(crate) fn roots(&self) -> Vec<&Manifest> {
        match &self.workspace {
            Some((members, _)) if self.is_virtual() => {
                members.members.values().map(|member| &member.manifest).collect()
            }
            Some(_) | None => vec![&self.manifest],
        }
    }

    /// What the lockfile is for: the manifest, or in a workspace everything that its members need. `manifest` may be the
    /// pack's with a change that is not written yet.
    pub(crate) fn locked_for(&self, manifest: &Manifest) -> Outcome<Manifest> {
        match &self.workspace {
            Some((members, _)) => members.union(Some(manifest)),
            None => Ok(manifest.clone()),
        }
    }

    pub(crate) fn root(&self) -> &PathBuf {
        &self.layout.root
    }

    /// Takes the project for a change and reads it again, since another process may just have changed it.
    pub(crate) fn hold(settings: &Settings, terminal: &Terminal) -> Outcome<(ProjectLock, Self)> {
        let root = Self::open(settings)?.layout.lock_root;
        let held = ProjectLock::take(&root, || terminal.status("Waiting", "for another exo process in this project"))?;
        Ok((held, Self::open(settings)?))
    }

    /// Replaces manifest and lockfile together; what does not change is not written.
    pub(crate) fn write(&self, held: &ProjectLock, manifest: Option<&str>, lock: Option<&str>) -> Outcome<bool> {
        let mut files = Vec::new();
        if let Some(text) = manifest.filter(|text| *text != self.manifest_file.text) {
            files.push((self.layout.seen_from_lock(&self.layout.manifest_name), text.to_string()));
        }
        if let Some(text) = lock.filter(|text| Some(*text) != self.lock_text.as_deref()) {
            files.push((exo_index::lockfile::LOCK_FILE.to_string(), text.to_string()));
        }
        if files.is_empty() {
            return Ok(false);
        }
        journal::commit(held, &self.layout.lock_root, &files)?;
        Ok(true)
    }
}
