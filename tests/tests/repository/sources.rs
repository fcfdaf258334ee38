//! The Rust files of the repository, parsed, with the code that only tests see told apart.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use exo_tests::exo::repository;
use syn::spanned::Spanned;
use syn::visit::Visit;

/// Folders of crates.
pub(crate) const CRATES: [&str; 4] = ["compiler", "index", "cli", "tests"];

/// One Rust file.
pub(crate) struct Source {
    /// From the repository's root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) tree: syn::File,
    /// Only tests see it: below a `tests` folder, or declared under `#[cfg(test)]`.
    pub(crate) test: bool,
}

impl Source {
    pub(crate) fn crate_name(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }

    /// Lines outside `#[cfg(test)]` items; none in a file that only tests see.
    pub(crate) fn production_lines(&self) -> usize {
        if self.test {
            return 0;
        }
        let hidden = self.tree.items.iter().filter(|item| only_for_tests(attributes(item)));
        let lines: usize = hidden.map(line_range).map(|(first, last)| last + 1 - first).sum();
        self.text.lines().count() - lines
    }

    /// Walks the code that is compiled without tests.
    pub(crate) fn visit_production<'a>(&'a self, visitor: &mut impl Visit<'a>) {
        if self.test {
            return;
        }
        for item in self.tree.items.iter().filter(|item| !only_for_tests(attributes(item))) {
            visitor.visit_item(item);
        }
    }
}

/// First and last line, 1-based.
pub(crate) fn line_range(node: &impl Spanned) -> (usize, usize) {
    (node.span().start().line, node.span().end().line)
}

pub(crate) fn only_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        attribute.path().is_ident("test")
            || is_cfg && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

pub(crate) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// All files below a folder with this ending, sorted, without build folders.
pub(crate) fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())).path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    open.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Path from the repository's root, with `/`.
pub(crate) fn relative(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Files of modules declared by `mod x;` under `#[cfg(test)]`, and the folders below them.
fn hidden_modules(path: &str, tree: &syn::File) -> Vec<String> {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let (parent, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let folder = if matches!(name, "lib" | "main" | "mod") { parent } else { stem };
    let declared = tree.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && only_for_tests(&module.attrs) => Some(&module.ident),
        _ => None,
    });
    declared.map(|name| format!("{folder}/{name}")).collect()
}

/// Every Rust file of the workspace.
pub(crate) fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    let mut hidden = BTreeSet::new();
    for folder in CRATES {
        for file in files_below(&repository().join(folder), ".rs") {
            let path = relative(&file);
            let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
            let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
            hidden.extend(hidden_modules(&path, &tree));
            let test = path.split('/').skip(1).any(|part| part == "tests");
            sources.push(Source { path, text, tree, test });
        }
    }
    for source in &mut sources {
        let is_hidden = |module: &String| {
            source.path.strip_prefix(module.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        source.test |= hidden.iter().any(is_hidden);
    }
    assert!(sources.len() > 50, "only {} files found: the search is wrong", sources.len());
    sources
}

#[test]
fn test_code_is_told_apart() {
    let sources = sources();
    let is_test = |path: &str| sources.iter().find(|source| source.path == path).map(|source| source.test);
    assert_eq!(is_test("compiler/src/testing.rs"), Some(true));
    assert_eq!(is_test("compiler/src/lib.rs"), Some(false));
    assert_eq!(is_test("index/src/manifest/tests.rs"), Some(true));
    assert_eq!(is_test("tests/tests/repository/sources.rs"), Some(true));
    let text = "//! x\nfn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
    let tree = syn::parse_file(text).unwrap_or_else(|error| panic!("{error}"));
    let source = Source { path: "x/y.rs".into(), text: text.into(), tree, test: false };
    assert_eq!(source.production_lines(), 2);
}
