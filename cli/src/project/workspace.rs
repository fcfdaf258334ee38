//! The workspace that a pack belongs to: its root, its members, and everything they need together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use exo_compiler::diagnostic::codes;
use exo_compiler::source::SourceFile;
use exo_index::manifest::{Dependency, DependencySource, MANIFEST_FILE, Manifest, Workspace};
use exo_index::name::PackName;

use crate::failure::{Failure, Outcome};
use crate::filesystem;
use crate::project::read;

/// The name under which the root of a workspace takes part in a resolution; nobody can publish it.
const ROOT_NAME: &str = "@workspace/root";

/// One pack of a workspace.
#[derive(Clone)]
pub(crate) struct Member {
    /// Its folder relative to the root, with `/` between its parts; empty for the root itself.
    pub(crate) path: String,
    pub(crate) manifest: Manifest,
    /// Its folder without links; `None` where that cannot be told.
    place: Option<PathBuf>,
}

/// A workspace as it was read at one moment.
#[derive(Clone)]
pub(crate) struct Members {
    pub(crate) root: PathBuf,
    workspace: Arc<Workspace>,
    /// In the order of their names.
    pub(crate) members: BTreeMap<PackName, Member>,
}

/// The root as seen from a folder below it.
fn up(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty()).map(|_| "../").collect()
}

/// A path of a manifest in `folder`, as seen from the root.
pub(crate) fn joined(outer: &str, inner: &str) -> String {
    if inner.starts_with('/') || outer.is_empty() {
        return inner.to_string();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in outer.split('/').chain(inner.split('/')).filter(|part| !matches!(*part, "" | ".")) {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let rest = parts.join("/");
    if outer.starts_with('/') { format!("/{rest}") } else { rest }
}

/// The workspace that the pack in `folder` is a member or the root of; `None` for a pack by itself.
pub(crate) fn around(folder: &Path) -> Outcome<Option<Members>> {
    for root in folder.ancestors() {
        let Some((file, workspace)) = root_in(root)? else {
            continue;
        };
        let path = folder.strip_prefix(root).unwrap_or(folder).to_string_lossy().replace('\\', "/");
        let folders = folders(root, &file, &workspace)?;
        if path.is_empty() || folders.contains(&path) {
            return open(root, &file, workspace, folders).map(Some);
        }
    }
    Ok(None)
}

/// The workspace whose root is this folder, with the text it stands in.
fn root_in(root: &Path) -> Outcome<Option<(Arc<SourceFile>, Workspace)>> {
    let Some(text) = filesystem::read_optional(&root.join(MANIFEST_FILE))?.filter(|text| text.contains("workspace"))
    else {
        return Ok(None);
    };
    let file = SourceFile::new(root.join(MANIFEST_FILE).display().to_string(), text);
    match Workspace::parse(&file.text) {
        Ok(found) => Ok(found.map(|workspace| (file, workspace))),
        Err(errors) => Err(read::manifest_failure(&file, &errors)),
    }
}

fn mistake(file: &Arc<SourceFile>, message: String, hint: &str) -> Box<Failure> {
    Failure::refused(message).code(codes::MANIFEST).note(format!("in `{}`", file.display_name)).hint(hint)
}

/// The folders that the patterns of `members` name, sorted.
fn folders(root: &Path, file: &Arc<SourceFile>, workspace: &Workspace) -> Outcome<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for pattern in &workspace.members {
        let mut reached = vec![String::new()];
        for part in pattern.value.split('/') {
            let mut next = Vec::new();
            for folder in reached {
                let names =
                    if part.contains('*') { matching(&root.join(&folder), part)? } else { vec![part.to_string()] };
                next.extend(names.into_iter().map(|name| joined(&folder, &name)));
            }
            reached = next;
        }
        let with_manifest: Vec<String> =
            reached.into_iter().filter(|path| root.join(path).join(MANIFEST_FILE).is_file()).collect();
        if with_manifest.is_empty() {
            let message = format!("the workspace names `{}`, where there is no pack", pattern.value);
            return Err(mistake(file, message, "every member is a folder with an Exo.toml; `exo new` makes one"));
        }
        found.extend(with_manifest);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Names of folders that match a pattern with one or more `*`.
fn matching(folder: &Path, pattern: &str) -> Outcome<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(filesystem::failure("list", folder, &error)),
    };
    let names = entries.flatten().filter(|entry| entry.path().is_dir());
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| !name.starts_with('.') && matches(pattern, name)).collect())
}

/// Whether a name is what a pattern says, in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name
            .strip_prefix(start)
            .is_some_and(|name| (0..=name.len()).filter_map(|at| name.get(at..)).any(|tail| matches(rest, tail))),
    }
}

fn open(root: &Path, file: &Arc<SourceFile>, workspace: Workspace, folders: Vec<String>) -> Outcome<Members> {
    let mut opened = Members { root: root.to_path_buf(), workspace: Arc::new(workspace), members: BTreeMap::new() };
    let own = opened.workspace.has_pack.then(String::new);
    for path in own.into_iter().chain(folders) {
        let place = if path.is_empty() { MANIFEST_FILE.to_string() } else { format!("{path}/{MANIFEST_FILE}") };
        let member = SourceFile::new(place.clone(), filesystem::read_text(&root.join(&place))?);
        let manifest = opened.parse(&path, &member)?;
        if !path.is_empty() && manifest.is_workspace {
            return Err(mistake(
                file,
                format!("`{path}` is a workspace inside of this one"),
                "a workspace has no other inside: remove `[workspace]` there",
            ));
        }
        if !path.is_empty() && manifest.policy != Default::default() {
            return Err(mistake(
                &member,
                "a member has a `[policy]` of its own".to_string(),
                "put it into the Exo.toml at the root of the workspace, where it holds for all members",
            ));
        }
        let name = manifest.pack.name.value.clone();
        if let Some(other) = opened.members.get(&name) {
            let message = format!("two members are called `{name}`: `{}` and `{path}`", other.path);
            return Err(mistake(file, message, "rename one of them: a name means one pack"));
        }
        let place = root.join(&path).canonicalize().ok();
        opened.members.insert(name, Member { path, manifest, place });
    }
    Ok(opened)
}

impl Members {
    /// Reads the manifest of the member in a folder (relative to the root), with what it takes from here.
    pub(crate) fn parse(&self, path: &str, file: &Arc<SourceFile>) -> Outcome<Manifest> {
        let up = up(path);
        Manifest::parse_in(&file.text, Some(self.workspace.inherited(&up)))
            .map_err(|errors| read::manifest_failure(file, &errors))
    }

    /// Does something with what the member in a folder takes from here.
    pub(crate) fn with_inherited<T>(&self, path: &str, act: impl FnOnce(exo_index::manifest::Inherited<'_>) -> T) -> T {
        act(self.workspace.inherited(&up(path)))
    }

    /// The member whose folder this is.
    pub(crate) fn member_in(&self, folder: &Path) -> Option<&Member> {
        let folder = folder.canonicalize().ok()?;
        self.members.values().find(|member| member.place.as_ref() == Some(&folder))
    }

    /// Everything that all members need, as one manifest at the root; `changed` stands for the member of its name.
    pub(crate) fn union(&self, changed: Option<&Manifest>) -> Outcome<Manifest> {
        let seen = |list: &[Dependency], path: &str| -> Vec<Dependency> {
            list.iter()
                .map(|dependency| match &dependency.source {
                    DependencySource::Path(inner) => {
                        Dependency { source: DependencySource::Path(joined(path, inner)), ..dependency.clone() }
                    }
                    _ => dependency.clone(),
                })
                .collect()
        };
        let text = format!("[pack]\nname = \"{ROOT_NAME}\"\nversion = \"0.0.0\"\nkind = \"kernel\"\n");
        let mut all = Manifest::parse(&text).map_err(|_| Failure::bug("a manifest of our own making is none"))?;
        all.policy.clone_from(&self.workspace.policy);
        for (name, member) in &self.members {
            let manifest = changed.filter(|changed| changed.pack.name.value == *name).unwrap_or(&member.manifest);
            all.dependencies.extend(seen(&manifest.dependencies, &member.path));
            all.dev_dependencies.extend(seen(&manifest.dev_dependencies, &member.path));
            all.allow_unsafe.extend(manifest.allow_unsafe.iter().cloned());
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::{joined, matches, up};

    #[test]
    fn paths_are_seen_from_the_project() {
        assert_eq!(joined("", "../std"), "../std");
        assert_eq!(joined("../neon", "../std"), "../std");
        assert_eq!(joined("packs/neon", "../std"), "packs/std");
        assert_eq!(joined("..", "../std"), "../../std");
        assert_eq!(joined("/abs/neon", "../std"), "/abs/std");
        assert_eq!(joined("x", "/abs"), "/abs");
        assert_eq!((up("packs/neon"), up("")), ("../../".to_string(), String::new()));
    }

    #[test]
    fn stars_stand_for_anything() {
        assert!(matches("*", "neon") && matches("a-*-c", "a-b-c") && matches("neon", "neon"));
        assert!(!matches("a-*", "b-a") && !matches("*-x", "x") && !matches("neon", "neon2"));
    }
}
