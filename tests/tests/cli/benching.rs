//! `exo bench`: what is timed, on which sizes, and what cannot be.

use exo_tests::command_line::{PACK, Sandbox};

use crate::building::kernel;

/// A project with a target of its own and one kernel.
fn project(cc: &str, lib: &str, bench: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.pack("desk", "1.0.0", "", &[("src/lib.exo", &format!("target = target(name = \"desk\", cc = {cc})\n"))]);
    let kernel = "[[kernel]]\nname = \"k\"\nalgorithm = \"k\"\ntargets = [\"desk\"]\n";
    sandbox.write("work/Exo.toml", &format!("{PACK}[dependencies]\ndesk = \"1\"\n\n{kernel}{bench}"));
    sandbox.write("work/src/lib.exo", lib);
    sandbox
}

const SCALE: &str =
    "@proc\ndef k(n: size, x: f32[n]):\n    assert n % 4 == 0\n    for i in seq(0, n):\n        x[i] = 0.5 * x[i]\n";

#[test]
fn kernels_are_timed_beside_their_algorithms_on_each_set_of_sizes() {
    let sandbox = kernel("\"plain_a\", \"plain_b\"");
    let manifest = sandbox.read("work/Exo.toml");
    sandbox.write("work/Exo.toml", &format!("{manifest}bench = [{{ n = 64 }}, {{ n = 1001 }}]\n"));
    let run = sandbox.run(&["bench", "plain_a"]).exits(0);
    run.prints(&[
        "scale::plain_a  n=64 ",
        "scale::plain_a  n=1001 ",
        "times faster",
        "15 to 2000 rounds",
        "on one thread",
    ]);
    let json = sandbox.run(&["bench", "::plain_b", "--size", "n=256", "--format", "json"]).exits(0).json();
    let rows = json["kernels"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{json}");
    let row = &rows[0];
    assert_eq!((row["name"].as_str(), row["sizes"]["n"].as_i64()), (Some("scale::plain_b"), Some(256)));
    assert!(row["rounds"].as_i64().unwrap() >= 15);
    for side in ["kernel_seconds", "algorithm_seconds", "times_faster"] {
        let [low, median, high] = ["low", "median", "high"].map(|of| row[side][of].as_f64().unwrap());
        assert!(0.0 < low && low <= median && median <= high && high < 1e6, "{side}: {row}");
    }
    sandbox.run(&["bench", "nothing"]).exits(1).says(&["no kernel has `nothing` in its name", "gemm::avx2"]);
    sandbox.run(&["bench", "--size", "n"]).exits(2).says(&["NAME=N"]);
    assert!(!sandbox.exists("work/build"));
}

#[test]
fn every_kind_of_argument_is_handed_over_as_the_c_wants_it() {
    let lib = "@proc\ndef k(n: size, b: bool, x: [f32][n, 3] @ DRAM, y: [i8][n] @ DRAM, u: ui16[n], w: bf16[2, n], s: f64):\n    \
               for i in seq(0, n):\n        if b:\n            x[i, 2] = x[i, 1]\n        y[i] = y[i]\n        u[i] += u[n - 1 - i]\n        \
               w[1, i] = w[0, i]\n    s = 1.0\n";
    let checked = "cc(flags = [\"-O1\", \"-fsanitize=address,undefined\", \"-fno-sanitize-recover=all\", \"-Wall\"])";
    let sandbox = project(checked, lib, "bench = { n = 33, b = true }\n");
    let run = sandbox.run(&["bench"]).exits(0);
    run.prints(&["k::desk  b=1 n=33"]);
}

#[test]
fn sizes_that_cannot_be_are_refused_with_what_to_write() {
    let sandbox = project("cc()", SCALE, "");
    let run = sandbox.run(&["bench"]).exits(1);
    run.says(&[
        "error[E0601]: kernel `k` is timed on sizes, and none is given for `n`",
        "bench = [{ n = 1024 }]",
        "--size n=1024",
    ]);
    sandbox.run(&["bench", "--size", "n=8,m=8"]).exits(1).says(&["kernel `k` has no size `m`", "it takes `n`"]);
    let run = sandbox.run(&["bench", "--size", "n=6"]).exits(1);
    run.says(&["cannot be timed with n = 6: an assert does not hold", "src/lib.exo:3:"]);
    sandbox.run(&["bench", "--size", "n=0"]).exits(1).says(&["with n = 0: a size is positive"]);
    sandbox.run(&["bench", "--size", "n=4000000000"]).exits(1).says(&["4000000000 elements", "take smaller sizes"]);
    for (bench, said) in [
        ("bench = [4]\n", "`bench` must be a list of tables of sizes"),
        ("bench = { n = \"8\" }\n", "`n` of `bench` must be an integer or a boolean"),
    ] {
        let sandbox = project("cc()", SCALE, bench);
        sandbox.run(&["bench"]).exits(1).says(&[said, "Exo.toml:", "bench = [{ n = 1024 }]"]);
    }
}

#[test]
fn what_another_machine_runs_is_not_timed_here() {
    let foreign = if cfg!(target_arch = "aarch64") { "riscv64-linux-gnu" } else { "aarch64-linux-gnu" };
    let sandbox = project(&format!("cc(triple = \"{foreign}\")"), SCALE, "bench = { n = 8 }\n");
    let run = sandbox.run(&["bench"]).exits(3);
    run.prints(&["k::desk  n=8    skipped: "]).says(&["nothing was timed: 1 kernel cannot run here", "exo doctor"]);
    let state = "@config\nclass State:\n    scale: f32\n\n@proc\ndef k(n: size, x: f32[n]):\n    for i in seq(0, n):\n        x[i] = State.scale\n";
    let sandbox = project("cc()", state, "bench = { n = 8 }\n");
    sandbox.run(&["bench"]).exits(3).prints(&["skipped: it reads or writes configuration state"]);
}
