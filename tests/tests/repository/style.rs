//! What a file looks like: its first line, its length and its functions', its name, and calls that can panic.

use syn::visit::Visit;

use crate::allowed::{LONG_FILES, LONG_FUNCTIONS};
use crate::none;
use crate::sources::{Source, line_range, only_for_tests, sources};

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;
const VAGUE_NAMES: [&str; 8] = ["utils", "util", "helpers", "helper", "common", "misc", "new", "old"];

#[test]
fn each_file_says_what_it_is_for() {
    let says = |source: &Source| {
        let first = source.text.lines().next().unwrap_or_default();
        first.strip_prefix("//! ").is_some_and(|sentence| sentence.len() > 10)
    };
    none("files without a `//!` sentence at the top", paths(sources().iter().filter(|source| !says(source))));
}

fn paths<'a>(sources: impl Iterator<Item = &'a Source>) -> Vec<String> {
    sources.map(|source| source.path.clone()).collect()
}

#[test]
fn files_are_short() {
    let sources = sources();
    let long = sources.iter().filter(|source| source.production_lines() > FILE_LINES);
    let (excused, too_long): (Vec<_>, Vec<_>) =
        long.partition(|source| LONG_FILES.iter().any(|(path, _)| *path == source.path));
    none("files over 600 lines", paths(too_long.into_iter()));
    let unused = LONG_FILES.iter().filter(|(path, _)| !excused.iter().any(|source| source.path == *path));
    none("excused files that are short, or gone", unused.map(|(path, _)| (*path).to_string()).collect());
}

/// Functions outside test code, with their lengths.
#[derive(Default)]
struct Functions {
    found: Vec<(String, usize)>,
}

impl Functions {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block, attributes: &[syn::Attribute]) {
        // Such a function is a module of functions in disguise; those inside it are measured.
        if attributes.iter().any(|attribute| attribute.path().is_ident("starlark_module")) {
            return;
        }
        let (first, last) = (line_range(signature).0, line_range(block).1);
        self.found.push((signature.ident.to_string(), last + 1 - first));
    }
}

impl<'a> Visit<'a> for Functions {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        if !only_for_tests(&function.attrs) {
            self.add(&function.sig, &function.block, &function.attrs);
            syn::visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        if !only_for_tests(&function.attrs) {
            self.add(&function.sig, &function.block, &function.attrs);
            syn::visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block, &function.attrs);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for source in sources() {
        let mut functions = Functions::default();
        source.visit_production(&mut functions);
        let over = functions.found.into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES);
        long.extend(over.map(|(name, lines)| (source.path.clone(), name, lines)));
    }
    let excuses =
        |path: &str, name: &str| LONG_FUNCTIONS.iter().any(|(file, function, _)| *file == path && *function == name);
    let too_long = long.iter().filter(|(path, name, _)| !excuses(path, name));
    none("functions over 70 lines", too_long.map(|(path, name, lines)| format!("{path}: {name}: {lines}")).collect());
    let is_long = |path: &str, name: &str| long.iter().any(|(file, function, _)| file == path && function == name);
    let unused = LONG_FUNCTIONS.iter().filter(|(path, name, _)| !is_long(path, name));
    none(
        "excused functions that are short, or gone",
        unused.map(|(path, name, _)| format!("{path}: {name}")).collect(),
    );
}

#[test]
fn names_say_something() {
    // A command's file has the command's name.
    let is_command = |path: &str| path.starts_with("cli/src/commands/");
    let vague = |source: &&Source| {
        let stem = source.path.strip_suffix(".rs").unwrap_or(&source.path);
        !is_command(&source.path) && stem.split('/').any(|part| VAGUE_NAMES.contains(&part))
    };
    none("modules whose name says nothing", paths(sources().iter().filter(vague)));
}

/// Calls and macros that end the process, and macros that write to the terminal.
#[derive(Default)]
struct Calls {
    panics: Vec<(usize, String)>,
    prints: Vec<(usize, String)>,
}

impl<'a> Visit<'a> for Calls {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        if !only_for_tests(&function.attrs) {
            syn::visit::visit_item_fn(self, function);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        let message = call.args.first().is_some_and(
            |argument| matches!(argument, syn::Expr::Lit(literal) if matches!(literal.lit, syn::Lit::Str(_))),
        );
        if call.method == "unwrap" && call.args.is_empty() || call.method == "expect" && message {
            self.panics.push((line_range(&call.method).0, format!(".{}()", call.method)));
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, invocation: &'a syn::Macro) {
        let named = |names: &[&str]| names.iter().any(|name| invocation.path.is_ident(name));
        let name = invocation.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let call = (line_range(&invocation.path).0, format!("{name}!"));
        if named(&["todo", "unimplemented", "dbg", "panic", "unreachable"]) {
            self.panics.push(call);
        } else if named(&["print", "println", "eprint", "eprintln"]) {
            self.prints.push(call);
        }
        syn::visit::visit_macro(self, invocation);
    }
}

/// Calls in production code outside the tests' own crate, each with its place.
fn calls(choose: impl Fn(Calls) -> Vec<(usize, String)>) -> Vec<String> {
    let mut findings = Vec::new();
    for source in sources().iter().filter(|source| source.crate_name() != "tests") {
        let mut calls = Calls::default();
        source.visit_production(&mut calls);
        findings.extend(choose(calls).into_iter().map(|(line, what)| format!("{}:{line}: {what}", source.path)));
    }
    findings
}

#[test]
fn production_code_does_not_panic_on_purpose() {
    none("calls that end the process", calls(|calls| calls.panics));
}

#[test]
fn only_the_terminal_prints() {
    // A build script talks to cargo over stdout.
    let may = |call: &String| call.starts_with("cli/src/terminal.rs:") || call.contains("/build.rs:");
    let elsewhere = calls(|calls| calls.prints).into_iter().filter(|call| !may(call));
    none("writes to the terminal", elsewhere.collect());
}
