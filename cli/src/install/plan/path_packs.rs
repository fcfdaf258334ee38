//! Packs that are used from folders: those of the project's manifest, and those of their manifests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use exo_compiler::diagnostic::codes;
use exo_compiler::source::SourceFile;
use exo_index::manifest::{DependencySource, MANIFEST_FILE, Manifest};
use exo_index::name::PackName;

use crate::failure::{Failure, Outcome};
use crate::filesystem;
use crate::project::read;

/// One such pack.
#[derive(Debug)]
pub(super) struct PathPack {
    /// The path as the lockfile has it: relative to the project.
    pub(super) text: String,
    /// The folder itself.
    pub(super) folder: PathBuf,
    pub(super) manifest: Manifest,
}

/// All of them, by name.
#[derive(Debug, Default)]
pub(super) struct PathPacks {
    pub(super) packs: BTreeMap<PackName, PathPack>,
}

/// `inner` as seen from where `outer` is seen from, without `a/..` in it.
fn joined(outer: &str, inner: &str) -> String {
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

/// Reads the manifests of all path dependencies, those for development of the project included.
pub(super) fn collect(root: &Path, manifest_name: &str, manifest: &Manifest) -> Outcome<PathPacks> {
    let mut found = PathPacks::default();
    // Who asks, relative to the project, and what for.
    let mut open: Vec<(String, PackName, String)> = Vec::new();
    for dependency in manifest.all_dependencies() {
        enqueue(&mut open, "", manifest_name, &dependency.name, &dependency.source)?;
    }
    while let Some((asking, name, text)) = open.pop() {
        let folder = root.join(&text);
        if let Some(known) = found.packs.get(&name) {
            if same(&known.folder, &folder) {
                continue;
            }
            return Err(Failure::refused(format!("`{name}` comes from two folders, `{}` and `{text}`", known.text))
                .code(codes::RESOLUTION)
                .hint("one version of a pack is used in one project; name the same folder in both manifests"));
        }
        let pack = read_pack(&asking, &name, &text, &folder)?;
        for dependency in &pack.manifest.dependencies {
            enqueue(&mut open, &text, &format!("{text}/{MANIFEST_FILE}"), &dependency.name, &dependency.source)?;
        }
        found.packs.insert(name, pack);
    }
    Ok(found)
}

fn enqueue(
    open: &mut Vec<(String, PackName, String)>,
    outer: &str,
    asking: &str,
    name: &PackName,
    source: &DependencySource,
) -> Outcome<()> {
    let cannot = |what: String| {
        Failure::refused(format!("`{asking}` takes `{name}` from {what}, which this exo cannot fetch"))
            .code(codes::RESOLUTION)
            .hint("take it from the packs that come with exo (`exo add NAME`) or from a folder (`path = \"…\"`)")
    };
    match source {
        DependencySource::Default => Ok(()),
        DependencySource::Path(path) => {
            open.push((asking.to_string(), name.clone(), joined(outer, path)));
            Ok(())
        }
        DependencySource::Registry(url) => Err(cannot(format!("the registry `{url}`"))),
        DependencySource::Git { url, .. } => Err(cannot(format!("the git repository `{url}`"))),
    }
}

fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

fn read_pack(asking: &str, name: &PackName, text: &str, folder: &Path) -> Outcome<PathPack> {
    let path = folder.join(MANIFEST_FILE);
    let Some(content) = filesystem::read_optional(&path)? else {
        return Err(Failure::refused(format!(
            "`{asking}` takes `{name}` from `{text}`, where there is no {MANIFEST_FILE}"
        ))
        .code(codes::RESOLUTION)
        .hint("the path is relative to the folder of the manifest that names it"));
    };
    let manifest = read::manifest(&SourceFile::new(format!("{text}/{MANIFEST_FILE}"), content))?;
    if manifest.pack.name.value != *name {
        return Err(Failure::refused(format!(
            "`{asking}` takes `{name}` from `{text}`, where the pack is called `{}`",
            manifest.pack.name.value
        ))
        .code(codes::RESOLUTION)
        .hint("use the name that the pack gives itself"));
    }
    Ok(PathPack { text: text.to_string(), folder: folder.to_path_buf(), manifest })
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn paths_are_seen_from_the_project() {
        assert_eq!(joined("", "../std"), "../std");
        assert_eq!(joined("../neon", "../std"), "../std");
        assert_eq!(joined("packs/neon", "../std"), "packs/std");
        assert_eq!(joined("..", "../std"), "../../std");
        assert_eq!(joined("/abs/neon", "../std"), "/abs/std");
        assert_eq!(joined("x", "/abs"), "/abs");
    }
}
