//! Error codes: each is raised somewhere and explained.

use exo_compiler::diagnostic::codes::ALL;
use syn::visit::Visit;

use crate::none;
use crate::sources::sources;

/// Constant names of the table, in its order.
fn names(text: &str) -> Vec<String> {
    let entries = text.lines().filter_map(|line| line.trim().split_once(" = \"E"));
    entries.map(|(name, _)| name.to_string()).collect()
}

/// Names that code mentions.
#[derive(Default)]
struct Names {
    found: Vec<String>,
}

impl<'a> Visit<'a> for Names {
    fn visit_ident(&mut self, ident: &'a syn::Ident) {
        self.found.push(ident.to_string());
    }

    fn visit_macro(&mut self, invocation: &'a syn::Macro) {
        // Arguments of macros are no syntax tree; their words are enough here.
        let text = invocation.tokens.to_string();
        self.found.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_string));
    }
}

#[test]
fn each_code_is_raised() {
    let sources = sources();
    let table = sources.iter().find(|source| source.path == "compiler/src/diagnostic/codes.rs");
    let table = table.unwrap_or_else(|| panic!("the table of codes has moved"));
    let names = names(&table.text);
    assert_eq!(names.len(), ALL.len(), "the table is read wrongly");
    let mut mentioned = Names::default();
    let users = sources.iter().filter(|source| source.path != table.path && source.crate_name() != "tests");
    users.for_each(|source| source.visit_production(&mut mentioned));
    let unused = names.into_iter().filter(|name| !mentioned.found.contains(name));
    none("codes that nothing raises", unused.collect());
}

#[test]
fn each_code_is_explained() {
    let short = ALL.iter().filter(|entry| entry.explanation.len() < 40 || !entry.explanation.ends_with('.'));
    none("codes without an explanation", short.map(|entry| entry.code.to_string()).collect());
    let mut codes: Vec<_> = ALL.iter().map(|entry| entry.code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), ALL.len(), "two entries have one code");
}
