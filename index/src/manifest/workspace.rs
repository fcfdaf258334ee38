//! The section `[workspace]`: several packs in one repository, with one lockfile and with values that they share.

use std::ops::Range;

use toml_edit::{Document, InlineTable, Item, TableLike, Value};

use super::table::Section;
use super::{ManifestError, Spanned, dependencies, format_is_known, policy, syntax_error};
use crate::candidates::PolicySection;
use crate::version::{Requirement, Version};

/// The keys of `[pack]` that members may take from `[workspace.pack]`.
pub(super) const SHARED: [&str; 5] = ["version", "exo", "description", "license", "repository"];

/// The `[workspace]` of the manifest at the root.
#[derive(Debug)]
pub struct Workspace {
    document: Document<String>,
    /// Folders of members relative to the root; `*` stands for any name of a folder.
    pub members: Vec<Spanned<String>>,
    /// The rules about versions, which hold for all members.
    pub policy: PolicySection,
    /// Whether the root is a pack too.
    pub has_pack: bool,
}

/// What a member may take from its workspace.
#[derive(Clone, Copy)]
pub struct Inherited<'t> {
    pub(super) pack: Option<&'t dyn TableLike>,
    pub(super) dependencies: Option<&'t dyn TableLike>,
    /// The root as seen from the member: empty, or parts `../`.
    pub(super) up: &'t str,
}

impl Workspace {
    /// Reads the workspace of a manifest; `None` for one without `[workspace]`.
    ///
    /// # Errors
    /// All mistakes in what concerns the workspace; those in `[pack]` and the rest are found by
    /// [`Manifest::parse`](super::Manifest::parse).
    pub fn parse(text: &str) -> Result<Option<Self>, Vec<ManifestError>> {
        let document = Document::parse(text.to_owned()).map_err(|error| vec![syntax_error(&error, text)])?;
        let mut errors = Vec::new();
        let mut root = Section::root(document.as_table(), text.len()..text.len(), &mut errors);
        let has_pack = root.has("pack");
        let found = if format_is_known(&mut root) { read(&mut root) } else { None };
        let policy = policy::read(&mut root);
        if found.is_some() && !has_pack {
            root.free_table("metadata");
            root.finish();
        }
        if !errors.is_empty() {
            errors.sort_by_key(|error| (error.span.start, error.span.end));
            return Err(errors);
        }
        Ok(found.map(|members| Self { document, members, policy, has_pack }))
    }

    /// What a member takes from here; `up` leads from its folder to the root (`../../`, empty for the root itself).
    pub fn inherited<'t>(&'t self, up: &'t str) -> Inherited<'t> {
        let section = self.document.as_table().get("workspace").and_then(Item::as_table_like);
        let table = |key: &str| section.and_then(|table| table.get(key)).and_then(Item::as_table_like);
        Inherited { pack: table("pack"), dependencies: table("dependencies"), up }
    }
}

/// Reads `[workspace]` and checks what is in it; the members' folders.
pub(super) fn read(root: &mut Section<'_, '_>) -> Option<Vec<Spanned<String>>> {
    let mut section = root.subsection("workspace")?;
    let members = section.strings("members");
    if members.is_empty() {
        section.error_at_start(
            "`[workspace]` has no members".to_owned(),
            Some("add `members = [\"packs/*\"]`, the folders of the packs".to_owned()),
        );
    }
    for member in &members {
        if let Some(problem) = path_problem(&member.value) {
            section.error(problem, member.span.clone(), Some("write it as `packs/*` or `packs/neon`".to_owned()));
        }
    }
    dependencies::read(&mut section, "dependencies", None);
    if let Some(mut pack) = section.subsection("pack") {
        pack.optional("version", |text| Version::parse(text).map_err(|e| (e.message, e.hint)));
        pack.optional("exo", |text| Requirement::parse(text).map_err(|e| (e.message, e.hint)));
        for key in SHARED.iter().skip(2) {
            pack.string(key);
        }
        pack.finish();
    }
    section.finish();
    Some(members)
}

fn path_problem(path: &str) -> Option<String> {
    let bad = path.split('/').any(|part| part.is_empty() || part.starts_with('.')) || path.contains('\\');
    bad.then(|| format!("`{}` is no folder below the workspace", path.escape_debug()))
}

/// Whether an item is `{ workspace = true }`.
pub(super) fn is_inherited(item: &Item) -> bool {
    item.as_table_like()
        .is_some_and(|table| table.len() == 1 && table.get("workspace").and_then(Item::as_bool) == Some(true))
}

/// The mistake of taking something from a workspace that does not have it.
pub(super) fn nothing_to_inherit(key: &str, section: &str, span: Range<usize>) -> ManifestError {
    ManifestError {
        message: format!("`{key}` is taken from the workspace, where there is none"),
        span,
        hint: Some(format!(
            "add it to `[workspace.{section}]` of the Exo.toml at the root of the workspace, or write it here"
        )),
    }
}

impl<'t> Inherited<'t> {
    /// The value of a dependency with its path as seen from the member.
    pub(super) fn dependency(&self, name: &str) -> Option<Item> {
        let mut item = self.dependencies?.get(name)?.clone();
        let path = item.as_table_like().filter(|table| table.get("git").is_none()).and_then(|table| table.get("path"));
        let path =
            path.and_then(Item::as_str).filter(|path| !path.starts_with('/')).map(|path| format!("{}{path}", self.up));
        if let (Some(path), Some(table)) = (path, item.as_table_like_mut()) {
            table.insert("path", Item::Value(Value::from(path)));
        }
        // A section of its own would not fit into the place of a value.
        if let Item::Table(table) = &item {
            let values = table.iter().filter_map(|(key, item)| Some((key.to_owned(), item.as_value()?.clone())));
            item = Item::Value(Value::InlineTable(values.collect::<InlineTable>()));
        }
        Some(item)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Manifest, published_in};
    use super::*;

    const ROOT: &str = "[workspace]\nmembers = [\"packs/*\"]\n[workspace.pack]\nversion = \"1.2.0\"\nlicense = \"MIT\"\n\
                        [workspace.dependencies]\nstd = \"1\"\nnear = { path = \"packs/near\", version = \"1.2\" }\n[workspace.dependencies.far]\npath = \"../far\"\n";

    const MEMBER: &str = "[pack]\nname = \"p\"\nversion = { workspace = true }\nkind = \"kernel\"\nlicense.workspace = true\n\n\
                          [dependencies]\nstd = { workspace = true }\nnear.workspace = true\nfar = { workspace = true }\n";

    #[test]
    fn members_take_values_from_their_workspace() {
        let workspace = Workspace::parse(ROOT).unwrap().unwrap();
        assert!(!workspace.has_pack);
        let manifest = Manifest::parse_in(MEMBER, Some(workspace.inherited("../../"))).unwrap();
        assert_eq!(manifest.pack.version.value, Version::new(1, 2, 0));
        assert_eq!(manifest.pack.license.as_deref(), Some("MIT"));
        let sources: Vec<String> = manifest
            .dependencies
            .iter()
            .map(|found| format!("{} {} {:?}", found.name, found.requirement, found.source))
            .collect();
        assert_eq!(sources, ["std ^1 Default", "near ^1.2 Path(\"../../packs/near\")", "far * Path(\"../../../far\")"]);
        let text = published_in(MEMBER, Some(workspace.inherited("../../")), &|_| false).unwrap();
        assert!(text.contains("version = \"1.2.0\"") && text.contains("std = \"1\"\nnear = \"1.2\"\n"), "{text}");
        assert!(!text.contains("workspace"), "{text}");
    }

    #[test]
    fn what_is_not_there_cannot_be_taken() {
        let messages = |text: &str, workspace: Option<&Workspace>| -> Vec<String> {
            let inherited = workspace.map(|workspace| workspace.inherited(""));
            Manifest::parse_in(text, inherited).unwrap_err().into_iter().map(|error| error.message).collect()
        };
        let bare = Workspace::parse("[workspace]\nmembers = [\"a\"]\n").unwrap().unwrap();
        for workspace in [None, Some(&bare)] {
            let found = messages(MEMBER, workspace);
            assert_eq!(found.len(), 5, "{found:?}");
            assert!(
                found.iter().all(|text| text.contains("is taken from the workspace, where there is none")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn mistakes_in_a_workspace_are_found() {
        let first = |text: &str| Workspace::parse(text).unwrap_err().remove(0).message;
        assert_eq!(first("[workspace]\n"), "`[workspace]` has no members");
        assert!(first("[workspace]\nmembers = [\"../x\"]\n").contains("is no folder below the workspace"));
        assert!(first("[workspace]\nmembers = [\"a\"]\nmember = []\n").contains("unknown key `member`"));
        assert!(first("[workspace]\nmembers = [\"a\"]\n[dependencies]\n").contains("unknown key `dependencies`"));
        assert!(first("[workspace]\nmembers = [\"a\"]\n[workspace.pack]\nversion = \"1\"\n").contains("not a version"));
        assert!(Workspace::parse("[pack]\nname = 3\n").unwrap().is_none());
    }
}
