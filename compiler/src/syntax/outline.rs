//! What a module offers, read off its text: public names with their signatures and first sentences, nothing evaluated.

use std::sync::Arc;

use ruff_python_ast::{Decorator, Expr, Stmt, StmtFunctionDef};
use ruff_text_size::Ranged;

use crate::diagnostic::Diagnostic;
use crate::source::SourceFile;
use crate::syntax::module::parsed_body;

/// What kind of thing a public name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    Function,
    Proc,
    Instruction,
    Config,
    /// Any other value: a memory, a target, a table.
    Value,
}

/// One public name of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub name: String,
    pub kind: ItemKind,
    /// `name(parameters)` as written, on one line; for a value, what it is made with (`memory(…)`), if a call makes it.
    pub signature: String,
    /// What callers of a proc or instruction must hold to: its asserts, each as written, on one line.
    pub asserts: Vec<String>,
    /// First line of the docstring; empty when there is none.
    pub summary: String,
}

/// A module's comment or docstring at its top, and its public names in the order of the text.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    pub summary: String,
    pub items: Vec<Item>,
}

/// Reads a module.
///
/// # Errors
/// The syntax errors of the text.
pub fn outline(file: &Arc<SourceFile>) -> Result<Outline, Vec<Diagnostic>> {
    let body = parsed_body(file)?;
    let mut items = Vec::new();
    for statement in &body {
        let found = match statement {
            Stmt::FunctionDef(function) => function_item(file, function),
            Stmt::ClassDef(class) => {
                let signature = class.name.to_string();
                let summary = docstring(&class.body);
                Item { name: signature.clone(), kind: ItemKind::Config, signature, asserts: Vec::new(), summary }
            }
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [Expr::Name(name)] => value_item(file, name.id.as_str(), &assign.value),
                _ => continue,
            },
            _ => continue,
        };
        if found.name.starts_with('_') {
            continue;
        }
        // The last binding is what importers see.
        items.retain(|earlier: &Item| earlier.name != found.name);
        items.push(found);
    }
    Ok(Outline { summary: top_comment(file, &body), items })
}

fn text(file: &SourceFile, node: &impl Ranged) -> String {
    let range = node.range();
    let text = file.text.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn function_item(file: &SourceFile, function: &StmtFunctionDef) -> Item {
    let name = function.name.to_string();
    let kind = function.decorator_list.iter().find_map(decorated).unwrap_or(ItemKind::Function);
    let signature = format!("{name}{}", text(file, &*function.parameters));
    let asserts = match kind {
        ItemKind::Proc | ItemKind::Instruction => asserts(file, &function.body),
        ItemKind::Function | ItemKind::Config | ItemKind::Value => Vec::new(),
    };
    Item { name, kind, signature, asserts, summary: docstring(&function.body) }
}

fn asserts(file: &SourceFile, body: &[Stmt]) -> Vec<String> {
    let assert = |statement: &Stmt| match statement {
        Stmt::Assert(assert) => Some(text(file, &*assert.test)),
        _ => None,
    };
    body.iter().filter_map(assert).collect()
}

fn decorated(decorator: &Decorator) -> Option<ItemKind> {
    let name = match &decorator.expression {
        Expr::Call(call) => call.func.as_name_expr()?,
        Expr::Name(name) => name,
        _ => return None,
    };
    match name.id.as_str() {
        "proc" => Some(ItemKind::Proc),
        "instr" => Some(ItemKind::Instruction),
        _ => None,
    }
}

fn value_item(file: &SourceFile, name: &str, value: &Expr) -> Item {
    let made_with = match value {
        Expr::Call(call) => format!("{name} = {}(…)", text(file, &*call.func)),
        _ => name.to_string(),
    };
    Item {
        name: name.to_string(),
        kind: ItemKind::Value,
        signature: made_with,
        asserts: Vec::new(),
        summary: String::new(),
    }
}

fn docstring(body: &[Stmt]) -> String {
    let Some(Stmt::Expr(first)) = body.first() else { return String::new() };
    let Expr::StringLiteral(literal) = &*first.value else { return String::new() };
    literal.value.to_str().trim().lines().next().unwrap_or_default().trim().to_string()
}

/// The docstring of the module, or else the comment that it opens with, as one line.
fn top_comment(file: &SourceFile, body: &[Stmt]) -> String {
    let documented = docstring(body);
    if !documented.is_empty() {
        return documented;
    }
    let lines = file.text.lines().map_while(|line| line.strip_prefix('#'));
    lines.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<(String, ItemKind, String)> {
        let outline = outline(&SourceFile::new("m.exo", text)).unwrap();
        outline.items.into_iter().map(|item| (item.signature, item.kind, item.summary)).collect()
    }

    #[test]
    fn each_kind_of_public_name() {
        let text = "# Some vectors.\n# And more.\n\nM = memory(\"M\")\n_hidden = 3\n\
            @proc\ndef add(n: size,\n        x: f32[n]):\n    pass\n\
            @instr(\"f();\")\ndef f():\n    pass\n\
            @config\nclass C:\n    a: size\n\
            def sched(p, tile = 4):\n    \"\"\"Tiles it.\n\n    More.\"\"\"\n    return p\n\
            def _inner(p):\n    return p\n";
        let found = items(text);
        let expected = [
            ("M = memory(…)", ItemKind::Value, ""),
            ("add(n: size, x: f32[n])", ItemKind::Proc, ""),
            ("f()", ItemKind::Instruction, ""),
            ("C", ItemKind::Config, ""),
            ("sched(p, tile = 4)", ItemKind::Function, "Tiles it."),
        ];
        let expected: Vec<_> = expected.map(|(a, b, c)| (a.to_string(), b, c.to_string())).to_vec();
        assert_eq!(found, expected);
        assert_eq!(outline(&SourceFile::new("m.exo", text)).unwrap().summary, "Some vectors. And more.");
    }

    #[test]
    fn asserts_are_what_callers_hold_to() {
        let text =
            "@proc\ndef f(n: size):\n    assert n >  4\n    assert n % 4 == 0\n    pass\ndef g(n):\n    assert n\n";
        let outline = outline(&SourceFile::new("m.exo", text)).unwrap();
        assert_eq!(outline.items[0].asserts, ["n > 4", "n % 4 == 0"]);
        assert!(outline.items[1].asserts.is_empty());
    }

    #[test]
    fn a_name_bound_twice_counts_once() {
        assert_eq!(items("x = 1\nx = f(2)\n").len(), 1);
        assert_eq!(items("x = 1\nx = f(2)\n")[0].0, "x = f(…)");
    }

    #[test]
    fn text_that_is_no_module_is_an_error() {
        assert!(outline(&SourceFile::new("m.exo", "def f(:\n")).is_err());
    }
}
