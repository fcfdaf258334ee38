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
fn predicated_tails() {
    runs("tails.exo");
}

/// Three kernels with predicated tails for a target; the placeholder is where it comes from.
const TAILS: &str = r#"# Kernels whose last vectors are not full.

from std.vectorize import vectorize
TARGET

@proc
def axpy(n: size, a: f32[1], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        y[i] += a[0] * x[i]

@proc
def scal(n: size, a: f32[1], x: f32[n]):
    for i in seq(0, n):
        x[i] = a[0] * x[i]

@proc
def dot(n: size, x: f32[n], y: f32[n], r: f32):
    for i in seq(0, n):
        r += x[i] * y[i]

axpy_fast = rename(vectorize(axpy, "i", target, tail = "cut_and_predicate"), "axpy_fast")
scal_fast = rename(vectorize(scal, "i", target, tail = "cut_and_predicate"), "scal_fast")
dot_fast = rename(vectorize(dot, "i", target, tail = "predicate"), "dot_fast")
"#;

#[test]
fn predicated_tails_compile_without_a_warning() {
    let sandbox = Sandbox::new();
    let x86: &[&str] = &["gcc", "clang"];
    let cases: [(&str, &str, &[&str], &[&str]); 4] = [
        ("avx2", "from avx2 import target", x86, &["-mavx2", "-mfma"]),
        ("avx512", "from avx512 import target", x86, &["-mavx512f", "-mfma"]),
        ("rvv", "from rvv import target", &["clang"], &["--target=riscv64-linux-gnu", "-march=rv64gcv"]),
        (
            "sve",
            "from sve import sve\ntarget = sve(vl = 256)",
            &["aarch64-linux-gnu-gcc"],
            &["-march=armv8.2-a+sve", "-msve-vector-bits=256"],
        ),
    ];
    for (name, target, compilers, flags) in cases {
        sandbox.write(&format!("work/{name}.exo"), &TAILS.replace("TARGET", target));
        let mut command = sandbox.command("", &["cc", "-o", name, &format!("{name}.exo")]);
        command.env_remove("EXO_TEST_PACKS");
        finish(command).exits(0);
        for (compiler, level) in
            compilers.iter().flat_map(|compiler| ["-O0", "-O2", "-O3"].map(|level| (compiler, level)))
        {
            let mut command = std::process::Command::new(compiler);
            command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", level, "-c", "-o", "/dev/null"]).args(flags);
            command.arg(format!("{name}/{name}.c")).current_dir(sandbox.path("work"));
            finish(command).exits(0);
        }
    }
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
