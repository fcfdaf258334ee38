//! Which module may use which, and what the compiler may not touch.

use std::collections::BTreeMap;

use exo_tests::exo::repository;
use syn::visit::Visit;

use crate::allowed::{UNORDERED_MAPS, UPWARD_USES};
use crate::none;
use crate::sources::{Source, line_range, only_for_tests, sources};

/// Crates whose modules stand in reading order.
const ORDERED: [&str; 2] = ["compiler", "index"];
/// What a crate without I/O does not mention.
const OUTSIDE: [&str; 6] = ["std::fs", "std::env", "std::process", "std::net", "std::time", "std::thread"];

/// Paths that code mentions, `use` trees spelt out, with their lines.
#[derive(Default)]
struct Paths {
    found: Vec<(usize, String)>,
}

impl Paths {
    fn of(source: &Source) -> Vec<(usize, String)> {
        let mut paths = Paths::default();
        source.visit_production(&mut paths);
        paths.found
    }

    fn spell_out(&mut self, tree: &syn::UseTree, prefix: &str) {
        let join = |name: &syn::Ident| if prefix.is_empty() { name.to_string() } else { format!("{prefix}::{name}") };
        match tree {
            syn::UseTree::Path(path) => self.spell_out(&path.tree, &join(&path.ident)),
            syn::UseTree::Name(name) => self.found.push((line_range(name).0, join(&name.ident))),
            syn::UseTree::Rename(name) => self.found.push((line_range(name).0, join(&name.ident))),
            syn::UseTree::Glob(glob) => self.found.push((line_range(glob).0, format!("{prefix}::*"))),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.spell_out(item, prefix)),
        }
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !only_for_tests(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if !only_for_tests(&item.attrs) {
            self.spell_out(&item.tree, "");
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.found.push((line_range(path).0, names.join("::")));
        syn::visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {
        // `pub(in crate::x)` says who may look, not what is used.
    }
}

/// Modules of a crate with their place in `lib.rs`.
fn order(folder: &str) -> BTreeMap<String, usize> {
    let path = repository().join(folder).join("src/lib.rs");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let modules = tree.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) => Some(module.ident.to_string()),
        _ => None,
    });
    modules.enumerate().map(|(place, name)| (name, place)).collect()
}

/// The module below the crate's root that a file belongs to.
fn top_module(path: &str) -> Option<&str> {
    let below = path.split_once("/src/")?.1;
    let name = below.split('/').next()?;
    Some(name.strip_suffix(".rs").unwrap_or(name)).filter(|name| *name != "lib")
}

#[test]
fn modules_use_only_those_above_them() {
    let sources = sources();
    let mut upward = Vec::new();
    for folder in ORDERED {
        let order = order(folder);
        assert!(order.len() > 5, "the modules of {folder} were not found");
        for source in sources.iter().filter(|source| source.crate_name() == folder) {
            let Some(own) = top_module(&source.path).and_then(|name| order.get(name)) else { continue };
            for (line, path) in Paths::of(source) {
                let used = path.strip_prefix("crate::").and_then(|rest| rest.split("::").next());
                if let Some((name, place)) = used.and_then(|name| order.get_key_value(name))
                    && place > own
                {
                    upward.push((source.path.clone(), line, name.clone()));
                }
            }
        }
    }
    let excused = |path: &str, module: &str| UPWARD_USES.iter().any(|(file, name, _)| *file == path && *name == module);
    let wrong = upward.iter().filter(|(path, _, module)| !excused(path, module));
    none(
        "uses of a module that stands below",
        wrong.map(|(path, line, name)| format!("{path}:{line}: {name}")).collect(),
    );
    let unused = UPWARD_USES
        .iter()
        .filter(|(file, name, _)| !upward.iter().any(|(path, _, module)| path == file && module == name));
    none("excused uses that are gone", unused.map(|(file, name, _)| format!("{file}: {name}")).collect());
}

/// Paths in production code of a crate that satisfy `wrong`.
fn mentions(folder: &str, wrong: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for source in sources().iter().filter(|source| source.crate_name() == folder) {
        let paths = Paths::of(source).into_iter().filter(|(_, path)| wrong(path));
        findings.extend(paths.map(|(line, path)| format!("{}:{line}: {path}", source.path)));
    }
    findings
}

#[test]
fn compiler_and_index_touch_nothing_outside() {
    let outside = |path: &str| OUTSIDE.iter().any(|name| path == *name || path.starts_with(&format!("{name}::")));
    none("the compiler reaches outside", mentions("compiler", outside));
    none("the index reaches outside", mentions("index", outside));
}

#[test]
fn compiler_has_no_unordered_maps() {
    let unordered = |path: &str| path.split("::").any(|name| matches!(name, "HashMap" | "HashSet" | "RandomState"));
    let mentioned = mentions("compiler", unordered);
    let file = |mention: &String| mention.split(':').next().unwrap_or_default().to_string();
    let excused = |mention: &&String| UNORDERED_MAPS.iter().any(|(path, _)| *path == file(mention));
    none("maps without an order", mentioned.iter().filter(|mention| !excused(mention)).cloned().collect());
    let unused = UNORDERED_MAPS.iter().filter(|(path, _)| !mentioned.iter().any(|mention| file(mention) == *path));
    none("excused files without such a map", unused.map(|(path, _)| (*path).to_string()).collect());
}

#[test]
fn compiler_and_index_do_not_know_each_other() {
    none("the compiler knows the index", mentions("compiler", |path| path.starts_with("exo_index")));
    none("the index knows the compiler", mentions("index", |path| path.starts_with("exo_compiler")));
}

#[test]
fn paths_are_spelt_out() {
    let text = "use std::{fs, io::{self, Read as _}};\nfn f() { crate::a::b(); }\n#[cfg(test)]\nuse std::env;\n";
    let tree = syn::parse_file(text).unwrap_or_else(|error| panic!("{error}"));
    let source = Source { path: "compiler/src/x.rs".into(), text: text.into(), tree, test: false };
    let paths: Vec<String> = Paths::of(&source).into_iter().map(|(_, path)| path).collect();
    assert_eq!(paths, ["std::fs", "std::io::self", "std::io::Read", "crate::a::b"]);
}
