//! The bundled packs pass their own tests: claims, refusals, and each instruction's C against its body.

use std::path::Path;

use exo_tests::command_line::{Sandbox, finish};
use exo_tests::exo::repository;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
    for entry in std::fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let path = entry.unwrap_or_else(|error| panic!("{error}")).path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target);
        } else if path.file_name().is_some_and(|name| name != "Exo.lock") {
            // A lockfile that somebody's `exo test` left there records the packs of another build.
            std::fs::copy(&path, &target).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

/// Runs `exo test` in a copy of a pack; at least `least` tests must have run, and none may have been skipped.
fn passes(pack: &str, least: usize) {
    let sandbox = Sandbox::new();
    copy(&repository().join("packages").join(pack), &sandbox.path("work"));
    let mut command = sandbox.command("", &["test", "--format", "json"]);
    command.env_remove("EXO_TEST_PACKS");
    let run = finish(command).exits(0);
    let answer = run.json();
    let tests = answer.get("tests").and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
    let text = |test: &serde_json::Value, field: &str| {
        test.get(field).and_then(serde_json::Value::as_str).unwrap_or_default().to_string()
    };
    let passed = |test: &serde_json::Value| text(test, "outcome") == "passed";
    // What cannot run alone has a test that runs it together with what it needs.
    let run_with_others = |test: &serde_json::Value| {
        let name = text(test, "name");
        let instruction = name.strip_prefix("conformance::").unwrap_or("?");
        let own = format!("::test_{instruction}");
        tests.iter().any(|other| passed(other) && text(other, "name").ends_with(&own))
    };
    let other = tests.iter().filter(|test| !passed(test) && !run_with_others(test));
    let other: Vec<String> = other.map(ToString::to_string).collect();
    assert!(other.is_empty(), "what is missing, scripts/setup.sh installs:\n{}", other.join("\n"));
    assert!(tests.len() >= least, "only {} tests ran", tests.len());
}

#[test]
fn std_passes() {
    passes("std", 6);
}

#[test]
fn conv2d_passes() {
    passes("conv2d", 3);
}

#[test]
fn neon_conv2d_passes() {
    passes("neon-conv2d", 3);
}

#[test]
fn neon_and_its_instructions_pass() {
    passes("neon", 43);
}

#[test]
fn avx2_and_its_instructions_pass() {
    passes("avx2", 72);
}

#[test]
fn avx512_and_its_instructions_pass() {
    passes("avx512", 35);
}

#[test]
fn rvv_and_its_instructions_pass() {
    passes("rvv", 23);
}

#[test]
fn sve_and_its_instructions_pass() {
    passes("sve", 78);
}

#[test]
fn gemmini_and_its_instructions_pass() {
    passes("gemmini", 80);
}

#[test]
fn amx_and_its_instructions_pass() {
    passes("amx", 17);
}
