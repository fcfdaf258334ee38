//! The files of `tests/soundness/`: what a schedule must not do, and what it must be able to do. One file for each known
//! way to be wrong (`S` and `D` by the numbers of the specification) and one for each kind of variant.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use exo_compiler::pipeline::{Compilation, Limits};
use exo_compiler::source::ModuleId;
use exo_compiler::world::MemoryWorld;
use exo_tests::command_line::{Sandbox, finish};
use exo_tests::exo::repository;

/// The `.exo` files directly in a folder, sorted.
fn modules(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap_or_else(|error| panic!("{error}")).path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "exo"))
        .collect();
    found.sort();
    found
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_step_is_refused_or_equal() {
    let folder = repository().join("tests/soundness");
    let harness = text(&folder.join("harness.exo"));
    let mut wrong = Vec::new();
    let mut files = 0;
    for path in modules(&folder).into_iter().filter(|path| stem(path) != "harness") {
        let module = ModuleId::new("soundness", &stem(&path));
        let world =
            MemoryWorld::new().with(ModuleId::new("soundness", "harness"), &harness).with(module.clone(), &text(&path));
        let mut compilation = Compilation::new(Arc::new(world), Limits::default(), None);
        let diagnostics = compilation.run(&module, &mut |_| {});
        files += 1;
        for diagnostic in diagnostics {
            wrong.push(format!("{}: {}\n{}", stem(&path), diagnostic.message, diagnostic.notes.join("\n")));
        }
    }
    assert!(files > 50, "only {files} files");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn c_means_what_the_interpreter_says() {
    let sandbox = Sandbox::new();
    for path in modules(&repository().join("tests/soundness/c")) {
        finish(sandbox.command("", &["run", &path.to_string_lossy()])).exits(0);
    }
}

/// Host programs that would use up memory or time end with a limit, not with a crash.
#[test]
fn hostile_host_code_meets_a_limit() {
    let sandbox = Sandbox::new();
    for (what, program) in [
        ("memory", "x = 2\nfor i in range(60):\n    x = x * x\n"),
        ("memory", "x = \",\".join([\"a\" * 1000000] * 100000)\n"),
        ("memory", "x = \"a\"\nfor i in range(60):\n    x = x + x\n"),
        ("memory", "x = [1]\nfor i in range(60):\n    x = x + x\n"),
        (
            "time",
            "def f():\n    for i in range(1000000000):\n        g()\ndef g():\n    for i in range(1000):\n        pass\nf()\n",
        ),
        ("call depth", "def f(n):\n    return f(n + 1)\nf(0)\n"),
    ] {
        sandbox.write("work/hostile.exo", program);
        let limits = "memory=64,seconds=1,steps=1000000000000";
        let run = finish(sandbox.command("", &["--limit", limits, "run", "hostile.exo"]));
        run.exits(1).says(&["E0402", &format!("the limit on {what}")]);
        let run = finish(sandbox.command("", &["--format", "json", "--limit", limits, "run", "hostile.exo"])).exits(1);
        let error = &run.json()["error"];
        let code = if error["code"].is_null() { &error["diagnostics"][0]["code"] } else { &error["code"] };
        assert_eq!(code, "E0402", "{}", run.stdout);
    }
}
