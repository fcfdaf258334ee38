//! The sections `[dependencies]` and `[dev-dependencies]`.

use std::collections::BTreeMap;
use std::ops::Range;

use toml_edit::{Item, Table};

use super::Spanned;
use super::git::{GitReference, GitSource, git_path, git_url};
use super::table::{Section, describe};
use super::workspace::{Inherited, is_inherited, nothing_to_inherit};
use crate::name::PackName;
use crate::version::{Requirement, Version};

/// One dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The pack needed.
    pub name: PackName,
    /// The versions that will do; any, when a path or git dependency states none.
    pub requirement: Requirement,
    /// Where the pack comes from.
    pub source: DependencySource,
    /// Where the name stands in the manifest.
    pub name_span: Range<usize>,
    /// Where the value (requirement or table) stands in the manifest.
    pub span: Range<usize>,
}

/// Where a dependency comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DependencySource {
    /// The registry in use.
    Default,
    /// A registry named here.
    Registry(String),
    /// A directory, relative to that of the manifest, with `/` between its parts.
    Path(String),
    /// A git repository at one commit.
    Git(GitSource),
}

impl Dependency {
    /// Whether a version will do. From a path or a git commit without a requirement, every version will, prereleases too:
    /// there is one version to be had, and the manifest chose it.
    pub fn accepts(&self, version: &Version) -> bool {
        let fixed = match self.source {
            DependencySource::Path(_) | DependencySource::Git(_) => true,
            DependencySource::Default | DependencySource::Registry(_) => false,
        };
        (fixed && self.requirement.is_any()) || self.requirement.matches(version)
    }
}

/// Reads one of the two sections, of a pack that is no member of a workspace.
pub(super) fn read(root: &mut Section<'_, '_>, key: &'static str, own_name: Option<&PackName>) -> Vec<Dependency> {
    read_in(root, key, own_name, None)
}

/// Reads one of the two sections.
pub(super) fn read_in(
    root: &mut Section<'_, '_>,
    key: &'static str,
    own_name: Option<&PackName>,
    inherited: Option<Inherited<'_>>,
) -> Vec<Dependency> {
    let Some(mut section) = root.subsection(key) else {
        return Vec::new();
    };
    let mut dependencies = Vec::new();
    for (text, item, name_span) in section.entries() {
        let name = match PackName::parse(text) {
            Ok(name) => name,
            Err(error) => {
                section.error(error.message, name_span, error.hint);
                continue;
            }
        };
        if own_name == Some(&name) {
            section.error(format!("`{name}` depends on itself"), name_span, None);
            continue;
        }
        let span = item.span().unwrap_or_else(|| name_span.clone());
        if !is_inherited(item) {
            dependencies.extend(read_one(&mut section, name, item, name_span, span));
            continue;
        }
        match inherited.and_then(|inherited| inherited.dependency(name.as_str())) {
            Some(taken) => dependencies.extend(read_taken(&mut section, name, &taken, name_span, span)),
            None => {
                let error = nothing_to_inherit(name.as_str(), "dependencies", span);
                section.error(error.message, error.span, error.hint);
            }
        }
    }
    dependencies
}

/// Reads a value of the workspace, in which places mean nothing here: mistakes stand where it is taken.
fn read_taken(
    section: &mut Section<'_, '_>,
    name: PackName,
    item: &Item,
    name_span: Range<usize>,
    span: Range<usize>,
) -> Option<Dependency> {
    let mut errors = Vec::new();
    let empty = Table::new();
    let mut apart = Section::new(String::new(), &empty, span.clone(), &mut errors);
    let read = read_one(&mut apart, name, item, name_span, span.clone());
    for error in errors {
        section.error(error.message, span.clone(), error.hint);
    }
    read
}

/// Reads the value of one dependency.
fn read_one(
    section: &mut Section<'_, '_>,
    name: PackName,
    item: &Item,
    name_span: Range<usize>,
    span: Range<usize>,
) -> Option<Dependency> {
    if let Some(text) = item.as_str() {
        return match Requirement::parse(text) {
            Ok(requirement) => {
                Some(Dependency { name, requirement, source: DependencySource::Default, name_span, span })
            }
            Err(error) => {
                section.error(error.message, span, error.hint);
                None
            }
        };
    }
    let Some(table) = item.as_table_like() else {
        let message = format!("dependency `{name}` must be a version requirement or a table, not {}", describe(item));
        section.error(message, span, Some(format!("write `{name} = \"1.0\"`")));
        return None;
    };
    // A `[dependencies.name]` table points at its own header, an inline table at itself.
    let place = if item.is_table() { name_span.clone() } else { span.clone() };
    let mut errors = Vec::new();
    let mut entry = Section::new(format!("dependency `{name}`"), table, place, &mut errors);
    let requirement = entry.optional("version", |text| Requirement::parse(text).map_err(|e| (e.message, e.hint)));
    let source = read_source(&mut entry);
    entry.finish();
    let complete = requirement.is_some() || !entry.has("version");
    if complete
        && requirement.is_none()
        && matches!(source, Some(DependencySource::Default | DependencySource::Registry(_)))
    {
        entry.error_at_start(
            format!("dependency `{name}` says neither which version nor where it is"),
            Some("add `version`, `path` or `git`".to_owned()),
        );
    }
    let refused = !errors.is_empty();
    for error in errors {
        section.error(error.message, error.span, error.hint);
    }
    if refused {
        return None;
    }
    let requirement = requirement.map_or(Requirement::ANY, |found| found.value);
    Some(Dependency { name, requirement, source: source?, name_span, span })
}

/// Reads where a dependency comes from; `None` only together with an error.
fn read_source(entry: &mut Section<'_, '_>) -> Option<DependencySource> {
    let registry = entry.string("registry");
    let path = entry.string("path");
    let git = entry.string("git");
    let references: Vec<(&'static str, Spanned<String>)> =
        ["rev", "tag", "branch"].into_iter().filter_map(|key| Some((key, entry.string(key)?))).collect();
    let given: Vec<(&str, &Spanned<String>)> = [("registry", &registry), ("git", &git), ("path", &path)]
        .into_iter()
        // The path of a git dependency is a folder in the repository.
        .filter(|(key, value)| *key != "path" || git.is_none() || value.is_none())
        .filter_map(|(key, value)| value.as_ref().map(|value| (key, value)))
        .collect();
    if let [(first, _), (second, value), ..] = given.as_slice() {
        let message = format!("a dependency comes from one place, but both `{first}` and `{second}` are given");
        entry.error(message, value.span.clone(), Some(format!("remove `{first}` or `{second}`")));
        return None;
    }
    for (key, value) in &given {
        if value.value.is_empty() {
            entry.error(format!("`{key}` is empty"), value.span.clone(), None);
            return None;
        }
    }
    if let Some(url) = git {
        return read_git(entry, url, references, path).map(DependencySource::Git);
    }
    if let Some((key, value)) = references.into_iter().next() {
        entry.error(format!("`{key}` without `git` has no meaning"), value.span, None);
        return None;
    }
    match (path, registry) {
        (Some(path), _) if path.value.contains('\\') => {
            let hint = format!("write `{}`, which works everywhere", path.value.replace('\\', "/"));
            entry.error("the path of a dependency contains `\\`".to_owned(), path.span, Some(hint));
            None
        }
        (Some(path), _) => Some(DependencySource::Path(path.value)),
        (None, Some(registry)) => Some(DependencySource::Registry(registry.value)),
        (None, None) => Some(DependencySource::Default),
    }
}

/// Reads a repository and what of it; `None` only together with an error.
fn read_git(
    entry: &mut Section<'_, '_>,
    url: Spanned<String>,
    references: Vec<(&'static str, Spanned<String>)>,
    path: Option<Spanned<String>>,
) -> Option<GitSource> {
    if let Err((message, hint)) = git_url(&url.value) {
        entry.error(message, url.span, hint);
        return None;
    }
    if let Some(path) = &path
        && let Err((message, hint)) = git_path(&path.value)
    {
        entry.error(message, path.span.clone(), hint);
        return None;
    }
    let mut references = references.into_iter();
    let Some((key, value)) = references.next() else {
        let hint = "add `rev = \"…\"` (a commit), `tag = \"…\"` or `branch = \"…\"`".to_owned();
        entry.error("a git dependency does not say which commit".to_owned(), url.span, Some(hint));
        return None;
    };
    if let Some((other, value)) = references.next() {
        entry.error(
            format!("both `{key}` and `{other}` say which commit"),
            value.span,
            Some("keep one of them".to_owned()),
        );
        return None;
    }
    match GitReference::parse(key, &value.value) {
        Ok(reference) => Some(GitSource { url: url.value, reference, path: path.map(|path| path.value) }),
        Err((message, hint)) => {
            entry.error(message, value.span, hint);
            None
        }
    }
}

/// Refuses two dependencies that modules would import by the same name, and one from two places.
pub(super) fn check_import_names(
    root: &mut Section<'_, '_>,
    own_name: Option<&PackName>,
    dependencies: &[Dependency],
    dev_dependencies: &[Dependency],
) {
    let mut seen: BTreeMap<String, &PackName> = BTreeMap::new();
    if let Some(own) = own_name {
        seen.insert(own.import_name(), own);
    }
    for dependency in dependencies.iter().chain(dev_dependencies) {
        let import = dependency.name.import_name();
        match seen.get(&import) {
            Some(&other) if other != &dependency.name => root.error(
                format!("`{}` and `{other}` would both be imported as `{import}`", dependency.name),
                dependency.name_span.clone(),
                None,
            ),
            Some(_) => {}
            None => {
                seen.insert(import, &dependency.name);
            }
        }
    }
    for dev in dev_dependencies {
        if dependencies.iter().any(|normal| normal.name == dev.name && normal.source != dev.source) {
            root.error(
                format!("`{}` comes from two places, in `[dependencies]` and in `[dev-dependencies]`", dev.name),
                dev.span.clone(),
                Some("one version of a pack is used in one resolution: remove one of the two".to_owned()),
            );
        }
    }
}
