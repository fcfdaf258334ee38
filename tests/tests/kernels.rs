//! The kernels of `tests/kernels/`: real schedules, written with the bundled packs and without an unsafe flag. Each module
//! claims its schedules, compares them under the interpreter, and runs the C.

use std::time::Instant;

use exo_tests::command_line::{Sandbox, finish};
use exo_tests::exo::repository;

fn runs(name: &str) {
    let file = repository().join("tests/kernels").join(name);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(!text.contains("unsafe_skip_check = True"), "{name} waives a check");
    for check in ["claim(", "check_c("] {
        assert!(text.contains(check), "{name} has no `{check}...)`");
    }
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("", &["run", &file.to_string_lossy()]);
    // The packs in the binary, not a registry made for a test.
    command.env_remove("EXO_TEST_PACKS");
    let start = Instant::now();
    let run = finish(command).exits(0);
    println!("{name}: {:.1} s\n{}", start.elapsed().as_secs_f64(), run.stdout);
}

#[test]
fn sgemm() {
    runs("sgemm.exo");
}

#[test]
fn vectors() {
    runs("blas1.exo");
}

#[test]
fn matrices_and_vectors() {
    runs("blas2.exo");
}

#[test]
fn convolution() {
    runs("conv.exo");
}

#[test]
fn blur() {
    runs("blur.exo");
}

#[test]
fn unsharp() {
    runs("unsharp.exo");
}

#[test]
fn every_kernel_is_tested() {
    let source = include_str!("kernels.rs");
    let folder = repository().join("tests/kernels");
    for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let name = entry.unwrap_or_else(|error| panic!("{error}")).file_name().to_string_lossy().into_owned();
        assert!(source.contains(&format!("\"{name}\"")), "no test runs {name}");
    }
}
