//! Each file of `tests/examples/` runs as it stands and prints what its comments say.

use exo_tests::command_line::{Sandbox, finish};
use exo_tests::exo::repository;

/// The lines after `# prints:`, without their comment signs and without blank lines.
fn expected(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| line.trim() != "# prints:").skip(1);
    let printed = lines.map(|line| line.strip_prefix('#').map_or("", |rest| rest.strip_prefix(' ').unwrap_or(rest)));
    printed.map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_string).collect()
}

fn prints_what_it_says(name: &str) {
    let file = repository().join("tests/examples").join(name);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let expected = expected(&text);
    assert!(!expected.is_empty(), "{name} says nothing about what it prints");
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("", &["run", &file.to_string_lossy()]);
    // The packs in the binary, not a registry made for a test.
    command.env_remove("EXO_TEST_PACKS");
    let run = finish(command).exits(0);
    let printed: Vec<&str> = run.stdout.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    assert_eq!(printed.join("\n"), expected.join("\n"), "{name}");
}

#[test]
fn a_systolic_array_of_the_users_own() {
    prints_what_it_says("systolic_gemm.exo");
}

#[test]
fn the_avx2_microkernel() {
    prints_what_it_says("avx2_microkernel.exo");
}

#[test]
fn an_unrolled_avx512_microkernel() {
    prints_what_it_says("avx512_microkernel.exo");
}

#[test]
fn a_convolution_in_tiles() {
    prints_what_it_says("conv3x3.exo");
}

#[test]
fn a_blur_in_tiles() {
    prints_what_it_says("blur.exo");
}

#[test]
fn a_long_schedule() {
    prints_what_it_says("unrolled.exo");
}

#[test]
fn refusals_are_values() {
    prints_what_it_says("refusals.exo");
}

#[test]
fn cursors_find_and_follow() {
    prints_what_it_says("cursors.exo");
}

#[test]
fn every_example_is_tested() {
    let source = include_str!("examples.rs");
    let folder = repository().join("tests/examples");
    for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let name = entry.unwrap_or_else(|error| panic!("{error}")).file_name().to_string_lossy().into_owned();
        assert!(source.contains(&format!("\"{name}\"")), "no test runs {name}");
    }
}
