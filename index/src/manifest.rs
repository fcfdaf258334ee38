//! The manifest `Exo.toml`: what a pack says about itself, read into types with the place of every mistake.
//!
//! Reading collects all mistakes instead of stopping at the first, and an unknown key is a mistake
//! (except under `[metadata]`), since a misspelt key that is silently ignored is a setting that silently does nothing.

mod dependencies;
mod edit;
mod git;
mod kernels;
mod policy;
mod published;
mod table;
mod value;
mod workspace;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use toml_edit::Document;

use crate::candidates::PolicySection;
use crate::name::PackName;
use crate::version::{Requirement, Version};

pub use dependencies::{Dependency, DependencySource};
pub use edit::{
    DependencyKind, EditError, NewDependency, add_dependency, add_dependency_in, remove_dependency,
    remove_dependency_in,
};
pub use git::{GitProblem, GitReference, GitSource, git_path, git_url, is_commit};
pub use kernels::{Kernel, Reference, Schedule, TargetReference};
pub use published::{published, published_in};
use table::Section;
pub use value::Value;
pub use workspace::{Inherited, Workspace};

/// The file name of a manifest.
pub const MANIFEST_FILE: &str = "Exo.toml";

/// The newest manifest format this library reads, the value of the top-level key `format` (1 when absent).
pub const MANIFEST_FORMAT: i64 = 1;

/// A mistake in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestError {
    /// What is wrong, in one phrase.
    pub message: String,
    /// Where: a range of bytes of the manifest's text (empty at the end of the text for something missing altogether).
    pub span: Range<usize>,
    /// How to put it right, where that is known.
    pub hint: Option<String>,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ManifestError {}

/// What a pack is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackKind {
    /// Describes hardware: memories, instructions, and one value `target`.
    Target,
    /// A library of scheduling functions.
    Schedule,
    /// Kernels to build.
    Kernel,
}

impl PackKind {
    /// All kinds, in the order in which they are listed to people.
    pub const ALL: [Self; 3] = [Self::Target, Self::Schedule, Self::Kernel];

    /// The word in the manifest.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Schedule => "schedule",
            Self::Kernel => "kernel",
        }
    }
}

impl fmt::Display for PackKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PackKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not a kind of pack"))
    }
}

/// A value of the manifest and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its range of bytes in the manifest's text.
    pub span: Range<usize>,
}

/// The section `[pack]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackSection {
    /// The pack's name (required).
    pub name: Spanned<PackName>,
    /// The pack's version (required).
    pub version: Spanned<Version>,
    /// What the pack is for (required).
    pub kind: PackKind,
    /// The versions of the compiler it works with; any, when absent.
    pub exo: Requirement,
    /// One line for people.
    pub description: Option<String>,
    /// An SPDX expression, not checked here.
    pub license: Option<String>,
    /// Where the source is kept.
    pub repository: Option<String>,
    /// Words to find the pack by.
    pub keywords: Vec<String>,
}

/// A whole manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// `[pack]`.
    pub pack: PackSection,
    /// `[dependencies]`, in the order of the text.
    pub dependencies: Vec<Dependency>,
    /// `[dev-dependencies]`, in the order of the text: seen by this pack's own tests only, never by those who depend on it.
    pub dev_dependencies: Vec<Dependency>,
    /// `[[kernel]]`, in the order of the text.
    pub kernels: Vec<Kernel>,
    /// `[verify] allow-unsafe`: the dependencies whose waived obligations this pack accepts.
    pub allow_unsafe: Vec<Spanned<PackName>>,
    /// `[policy]`: what the project asks of the versions it uses. That of a dependency has no say.
    pub policy: PolicySection,
    /// Whether the pack is also the root of a workspace.
    pub is_workspace: bool,
    /// `[metadata]`: free, and without meaning here.
    pub metadata: BTreeMap<String, Value>,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// All mistakes found, in the order of the text; there is at least one.
    pub fn parse(text: &str) -> Result<Self, Vec<ManifestError>> {
        Self::parse_in(text, None)
    }

    /// Reads the manifest of a member of a workspace, which may take values from there.
    ///
    /// # Errors
    /// As [`Manifest::parse`].
    pub fn parse_in(text: &str, inherited: Option<Inherited<'_>>) -> Result<Self, Vec<ManifestError>> {
        let document = Document::parse(text).map_err(|error| vec![syntax_error(&error, text)])?;
        let mut errors = Vec::new();
        let manifest = read_root(&document, text, inherited, &mut errors);
        match manifest {
            Some(manifest) if errors.is_empty() => Ok(manifest),
            Some(_) | None => {
                errors.sort_by_key(|error| (error.span.start, error.span.end));
                Err(errors)
            }
        }
    }

    /// The dependency of this name, of either kind; `[dependencies]` first.
    pub fn dependency(&self, name: &PackName) -> Option<&Dependency> {
        self.all_dependencies().find(|dependency| &dependency.name == name)
    }

    /// `[dependencies]`, then `[dev-dependencies]`.
    pub fn all_dependencies(&self) -> impl Iterator<Item = &Dependency> {
        self.dependencies.iter().chain(&self.dev_dependencies)
    }
}

/// A mistake in the TOML itself.
fn syntax_error(error: &toml_edit::TomlError, text: &str) -> ManifestError {
    if let Some((at, line)) = text
        .lines()
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len() + 1;
            Some((start, line))
        })
        .find(|(_, line)| line.starts_with("<<<<<<< "))
    {
        let hint =
            Some("decide what it shall say and remove the markers; Exo.lock is then merged by itself".to_owned());
        return ManifestError {
            message: "the manifest contains a merge conflict".to_owned(),
            span: at..at + line.len(),
            hint,
        };
    }
    let message = error.message().lines().next().unwrap_or("invalid TOML").trim_end_matches('.');
    ManifestError {
        message: format!("not valid TOML: {message}"),
        span: error.span().unwrap_or(text.len()..text.len()),
        hint: None,
    }
}

/// Reads the document; `None` only together with an error.
fn read_root(
    document: &Document<&str>,
    text: &str,
    inherited: Option<Inherited<'_>>,
    errors: &mut Vec<ManifestError>,
) -> Option<Manifest> {
    let end = text.len()..text.len();
    let mut root = Section::root(document.as_table(), end, errors);
    if !format_is_known(&mut root) {
        return None;
    }
    let pack = match root.subsection("pack") {
        Some(mut section) => {
            section.inherit(inherited.and_then(|inherited| inherited.pack), &workspace::SHARED);
            read_pack(&mut section)
        }
        None => {
            if !root.has("pack") {
                let hint = "add `[pack]` with `name`, `version` and `kind`".to_owned();
                root.error_at_start("section `[pack]` is missing".to_owned(), Some(hint));
            }
            None
        }
    };
    let own_name = pack.as_ref().map(|pack| &pack.name.value);
    let dependencies = dependencies::read_in(&mut root, "dependencies", own_name, inherited);
    let dev_dependencies = dependencies::read_in(&mut root, "dev-dependencies", own_name, inherited);
    dependencies::check_import_names(&mut root, own_name, &dependencies, &dev_dependencies);
    let kernels = kernels::read(&mut root);
    let allow_unsafe = match root.subsection("verify") {
        Some(mut verify) => {
            let names = read_allow_unsafe(&mut verify);
            verify.finish();
            names
        }
        None => Vec::new(),
    };
    let policy = policy::read(&mut root);
    let is_workspace = workspace::read(&mut root).is_some();
    let metadata = root.free_table("metadata");
    root.finish();
    Some(Manifest {
        pack: pack?,
        dependencies,
        dev_dependencies,
        kernels,
        allow_unsafe,
        policy,
        is_workspace,
        metadata,
    })
}

/// Whether the manifest is of a format this library knows; says so when it is not.
fn format_is_known(root: &mut Section<'_, '_>) -> bool {
    let Some(format) = root.integer("format") else {
        return !root.has("format");
    };
    if (1..=MANIFEST_FORMAT).contains(&format.value) {
        return true;
    }
    root.error(
        format!(
            "manifest format {} is not known to this version of exo, which reads up to {MANIFEST_FORMAT}",
            format.value
        ),
        format.span,
        Some("update exo".to_owned()),
    );
    false
}

/// Reads `[pack]`.
fn read_pack(section: &mut Section<'_, '_>) -> Option<PackSection> {
    let name = section.required("name", |text| PackName::parse(text).map_err(|e| (e.message, e.hint)));
    let version = section.required("version", |text| Version::parse(text).map_err(|e| (e.message, e.hint)));
    let kind = section.required("kind", |text| {
        text.parse::<PackKind>()
            .map_err(|message| (message, Some("a pack is a `target`, a `schedule` or a `kernel`".to_owned())))
    });
    let exo = section.optional("exo", |text| Requirement::parse(text).map_err(|e| (e.message, e.hint)));
    let description = section.string("description").map(|text| text.value);
    let license = section.string("license").map(|text| text.value);
    let repository = section.string("repository").map(|text| text.value);
    let keywords = section.strings("keywords").into_iter().map(|word| word.value).collect();
    section.finish();
    Some(PackSection {
        name: name?,
        version: version?,
        kind: kind?.value,
        exo: exo.map_or(Requirement::ANY, |exo| exo.value),
        description,
        license,
        repository,
        keywords,
    })
}

/// Reads `allow-unsafe`. A name need not be a direct dependency: what is waived deeper down is accepted here too.
fn read_allow_unsafe(verify: &mut Section<'_, '_>) -> Vec<Spanned<PackName>> {
    let mut names: Vec<Spanned<PackName>> = Vec::new();
    for text in verify.strings("allow-unsafe") {
        match PackName::parse(&text.value) {
            Ok(name) if names.iter().any(|seen| seen.value == name) => {
                verify.error(format!("`{name}` is listed twice"), text.span, None);
            }
            Ok(name) => names.push(Spanned { value: name, span: text.span }),
            Err(error) => verify.error(error.message, text.span, error.hint),
        }
    }
    names
}
