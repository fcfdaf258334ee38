//! Adding and removing dependencies in the text of a manifest, leaving comments and order as they are.

use std::fmt;

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{DependencySource, Inherited, Manifest, ManifestError};
use crate::name::PackName;

/// Which section an edit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependencyKind {
    /// `[dependencies]`.
    Normal,
    /// `[dev-dependencies]`.
    Dev,
}

impl DependencyKind {
    /// The section's key.
    pub const fn section(self) -> &'static str {
        match self {
            Self::Normal => "dependencies",
            Self::Dev => "dev-dependencies",
        }
    }
}

/// A dependency to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDependency {
    /// The pack.
    pub name: PackName,
    /// The requirement's text, as it is to stand in the manifest; `None` for a path or git dependency without one.
    pub requirement: Option<String>,
    /// Where it comes from.
    pub source: DependencySource,
}

/// Why an edit was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The text was no sound manifest before the edit.
    Before(Vec<ManifestError>),
    /// The text would be no sound manifest after the edit; the spans are those of the edited text.
    After(Vec<ManifestError>),
    /// There is no such dependency in the section.
    Absent {
        /// The dependency that was to be removed.
        name: PackName,
        /// The section that was looked at.
        kind: DependencyKind,
        /// Whether the other section has it.
        in_other_section: bool,
        /// The nearest names that the section has.
        nearest: Vec<String>,
    },
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before(errors) | Self::After(errors) => match errors.first() {
                Some(error) => error.fmt(f),
                None => f.write_str("the manifest is not sound"),
            },
            Self::Absent { name, kind, .. } => write!(f, "`{name}` is not in `[{}]`", kind.section()),
        }
    }
}

impl std::error::Error for EditError {}

/// The text with a dependency added, or with its requirement and source replaced when it is there already.
///
/// A section whose names were sorted stays sorted; otherwise the new line goes last. Everything else
/// stays byte for byte, including comments beside a replaced value.
///
/// # Errors
/// The text is no sound manifest before or after the edit.
pub fn add_dependency(text: &str, kind: DependencyKind, new: &NewDependency) -> Result<String, EditError> {
    add_dependency_in(text, kind, new, None)
}

/// [`add_dependency`] for a member of a workspace.
///
/// # Errors
/// As there.
pub fn add_dependency_in(
    text: &str,
    kind: DependencyKind,
    new: &NewDependency,
    inherited: Option<Inherited<'_>>,
) -> Result<String, EditError> {
    Manifest::parse_in(text, inherited).map_err(EditError::Before)?;
    let mut document = parse_mutable(text)?;
    let section = document.entry(kind.section()).or_insert_with(|| Item::Table(Table::new()));
    let Some(table) = section.as_table_like_mut() else {
        // `Manifest::parse` accepted the text, so the section is a table.
        return Ok(text.to_owned());
    };
    if let Some(existing) = table.get_mut(new.name.as_str()) {
        replace(existing, new);
    } else {
        insert(table, new);
    }
    checked(&document, inherited)
}

/// The text without a dependency.
///
/// A comment on lines of its own directly above the dependency goes with it. An emptied section stays.
///
/// # Errors
/// The text is no sound manifest, or has no such dependency in the section.
pub fn remove_dependency(text: &str, kind: DependencyKind, name: &PackName) -> Result<String, EditError> {
    remove_dependency_in(text, kind, name, None)
}

/// [`remove_dependency`] for a member of a workspace.
///
/// # Errors
/// As there.
pub fn remove_dependency_in(
    text: &str,
    kind: DependencyKind,
    name: &PackName,
    inherited: Option<Inherited<'_>>,
) -> Result<String, EditError> {
    let manifest = Manifest::parse_in(text, inherited).map_err(EditError::Before)?;
    let mut document = parse_mutable(text)?;
    let removed = document
        .get_mut(kind.section())
        .and_then(Item::as_table_like_mut)
        .and_then(|table| table.remove(name.as_str()))
        .is_some();
    if removed {
        return checked(&document, inherited);
    }
    let (own, other) = match kind {
        DependencyKind::Normal => (&manifest.dependencies, &manifest.dev_dependencies),
        DependencyKind::Dev => (&manifest.dev_dependencies, &manifest.dependencies),
    };
    let nearest = crate::name::nearest(name.as_str(), own.iter().map(|dependency| dependency.name.as_str()));
    Err(EditError::Absent {
        name: name.clone(),
        kind,
        in_other_section: other.iter().any(|dependency| &dependency.name == name),
        nearest: nearest.into_iter().map(str::to_owned).collect(),
    })
}

/// The document to edit.
pub(super) fn parse_mutable(text: &str) -> Result<DocumentMut, EditError> {
    text.parse::<DocumentMut>().map_err(|error| EditError::Before(vec![super::syntax_error(&error, text)]))
}

/// The text of an edited document, provided it still is a manifest.
pub(super) fn checked(document: &DocumentMut, inherited: Option<Inherited<'_>>) -> Result<String, EditError> {
    let text = document.to_string();
    Manifest::parse_in(&text, inherited).map_err(EditError::After)?;
    Ok(text)
}

/// The value of a dependency: a plain requirement where that says everything.
fn value_of(new: &NewDependency) -> Value {
    let mut table = InlineTable::new();
    if let Some(requirement) = &new.requirement {
        table.insert("version", Value::from(requirement.as_str()));
    }
    match &new.source {
        DependencySource::Default => return Value::from(new.requirement.as_deref().unwrap_or("*")),
        DependencySource::Registry(url) => {
            table.insert("registry", Value::from(url.as_str()));
        }
        DependencySource::Path(path) => {
            table.insert("path", Value::from(path.as_str()));
        }
        DependencySource::Git(git) => {
            table.insert("git", Value::from(git.url.as_str()));
            table.insert(git.reference.key(), Value::from(git.reference.value()));
            if let Some(path) = &git.path {
                table.insert("path", Value::from(path.as_str()));
            }
        }
    }
    Value::InlineTable(table)
}

/// Puts a new value where an old one stood, keeping what stands around it.
fn replace(existing: &mut Item, new: &NewDependency) {
    let mut value = value_of(new);
    if let Some(old) = existing.as_value() {
        *value.decor_mut() = old.decor().clone();
    }
    if let Some(table) = existing.as_table_mut() {
        // A `[dependencies.name]` section keeps its form: only its keys change.
        for key in ["version", "registry", "path", "git", "rev", "tag", "branch", "workspace"] {
            table.remove(key);
        }
        match value {
            Value::InlineTable(keys) => {
                for (key, item) in keys {
                    table.insert(&key, Item::Value(item));
                }
            }
            plain => {
                table.insert("version", Item::Value(plain));
            }
        }
        return;
    }
    *existing = Item::Value(value);
}

/// Adds a line, in its place when the section is sorted.
fn insert(table: &mut dyn TableLike, new: &NewDependency) {
    let names: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    let sorted = names.is_sorted();
    table.insert(new.name.as_str(), Item::Value(value_of(new)));
    if sorted {
        table.sort_values();
    }
}
