//! The manual page of each operator: its example runs and prints what the page says, and the reference is current.

use std::sync::Arc;

use exo_compiler::pipeline::{Compilation, Limits, operators};
use exo_compiler::source::ModuleId;
use exo_compiler::world::MemoryWorld;
use exo_tests::exo::repository;
use exo_tests::reference::pages;

/// What a module prints, or what is wrong with it.
fn printed(text: &str) -> Result<String, String> {
    let module = ModuleId::new("manual", "lib");
    let world = MemoryWorld::new().with(module.clone(), text);
    let mut lines = String::new();
    let mut compilation = Compilation::new(Arc::new(world), Limits::default(), None);
    let diagnostics = compilation.run(&module, &mut |line| {
        lines.push_str(line.trim_end());
        lines.push('\n');
    });
    if diagnostics.is_empty() { Ok(lines) } else { Err(format!("{diagnostics:#?}")) }
}

#[test]
fn examples_print_what_the_manual_says() {
    let operators = operators();
    assert!(operators.len() >= 30, "only {} operators", operators.len());
    let mut wrong = Vec::new();
    for operator in &operators {
        if operator.example.trim().is_empty() || operator.prints.trim().is_empty() {
            wrong.push(format!("{}: no example", operator.name));
            continue;
        }
        match printed(&operator.example) {
            Ok(lines) if lines.trim_end() == operator.prints.trim_end() => {}
            Ok(lines) => wrong.push(format!("{} prints\n{lines}\nbut says\n{}", operator.name, operator.prints)),
            Err(error) => wrong.push(format!("{}: {error}", operator.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn manual_pages_are_written_alike() {
    let mut wrong = Vec::new();
    for operator in operators() {
        if operator.summary.ends_with('.') || operator.summary.contains('\n') || operator.summary.is_empty() {
            wrong.push(format!("{}: the summary is one phrase without a stop", operator.name));
        }
        if operator.text.len() < 40 {
            wrong.push(format!("{}: the text says little", operator.name));
        }
        if !operator.example.contains(&format!("{}(", operator.name)) {
            wrong.push(format!("{}: the example does not use it", operator.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_reference_is_current() {
    for (path, text) in pages() {
        let written = std::fs::read_to_string(repository().join(path)).unwrap_or_default();
        assert!(written == text, "{path} is stale: run `make reference`");
    }
}
