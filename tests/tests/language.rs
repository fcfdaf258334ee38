//! The files of `tests/language/`: what the object language can say and what each piece of it means, with the C of it
//! compiled and run.

use exo_tests::command_line::{Sandbox, finish};
use exo_tests::exo::repository;

fn holds(name: &str) {
    let file = repository().join("tests/language").join(name);
    let sandbox = Sandbox::new();
    finish(sandbox.command("", &["run", &file.to_string_lossy()])).exits(0);
}

#[test]
fn quoted_fragments() {
    holds("quotes.exo");
}

#[test]
fn what_the_language_has_beyond_exo() {
    holds("sugar.exo");
}

#[test]
fn every_precision() {
    holds("precisions.exo");
}

#[test]
fn every_memory() {
    holds("memories.exo");
}

#[test]
fn sizes_that_no_block_fixes() {
    holds("undetermined_sizes.exo");
}

#[test]
fn names_and_values_of_exo() {
    holds("from_exo.exo");
}

/// Each file of the folder has a test above.
#[test]
fn no_file_is_left_out() {
    let this = std::fs::read_to_string(repository().join("tests/tests/language.rs")).unwrap_or_default();
    let entries = std::fs::read_dir(repository().join("tests/language")).unwrap_or_else(|error| panic!("{error}"));
    for entry in entries {
        let name = entry.unwrap_or_else(|error| panic!("{error}")).file_name().to_string_lossy().into_owned();
        assert!(this.contains(&format!("holds(\"{name}\")")), "{name} has no test");
    }
}
