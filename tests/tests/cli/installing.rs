//! Installing end to end: verification, verdicts, digests, and that nothing is changed on failure.

use exo_tests::command_line::{PACK, Sandbox};

const CLAIM: &str = "from std import split\n\n@proc\ndef f(n: size, x: f32[n]):\n    for i in seq(0, n):\n        x[i] = 1.0\n\n\
                     def test_claim():\n    claim(f, split)\n";

fn registry() -> Sandbox {
    let sandbox = Sandbox::new();
    let lib = "def split(p):\n    return divide_loop(p, \"i\", 4, [\"io\", \"ii\"], tail = \"cut\")\n";
    sandbox.pack("std", "1.2.0", "", &[("src/lib.exo", lib), ("tests/basic.exo", CLAIM)]);
    sandbox.pack("neon", "1.1.0", "std = \"1\"", &[("src/lib.exo", "from std import split\nagain = split\n")]);
    sandbox
}

#[test]
fn add_writes_both_files_and_says_what_it_did() {
    let sandbox = registry();
    sandbox.project("# what it needs\n[dependencies] # here\n");
    let run = sandbox.run(&["add", "neon"]).exits(0);
    let run = run.prints(&[
        "added neon 1.1.0",
        "std",
        "1.2.0",
        "claims",
        "2 packs verified (0 cached), 1 claim proven",
        "z3",
    ]);
    assert!(run.stdout.lines().count() < 25, "more than one screen:\n{}", run.stdout);
    let (manifest, lock) = sandbox.state();
    assert_eq!(manifest, format!("{PACK}# what it needs\n[dependencies] # here\nneon = \"1.1.0\"\n"));
    let lock = lock.unwrap();
    assert!(lock.contains("source = \"builtin\"") && lock.contains("archive = \"sha256:"), "{lock}");
    sandbox.run(&["install"]).exits(0).prints(&["2 packs verified (2 cached)"]);
    sandbox.run(&["install", "--locked"]).exits(0);
    assert_eq!(sandbox.read("work/Exo.lock"), lock);
    sandbox.run(&["remove", "neon"]).exits(0).prints(&["removed neon", "not needed any more: neon 1.1.0, std 1.2.0"]);
    assert!(!sandbox.read("work/Exo.lock").contains("[[pack]]"));
    sandbox.run(&["remove", "neon"]).exits(1).says(&["`neon` is not in `[dependencies]`"]);
}

#[test]
fn add_takes_requirements_paths_and_dev() {
    let sandbox = registry();
    sandbox.project("");
    sandbox.write("other/Exo.toml", &exo_tests::command_line::manifest("other", "0.2.0", "std = \"1\""));
    sandbox.write("other/src/lib.exo", "from std import split\n");
    sandbox.run(&["add", "--path", "../other"]).exits(0).prints(&["added other 0.2.0"]);
    sandbox.run(&["add", "std@=1.2.0", "--dev"]).exits(0);
    let (manifest, lock) = sandbox.state();
    assert!(manifest.contains("other = { path = \"../other\" }"), "{manifest}");
    assert!(manifest.contains("[dev-dependencies]\nstd = \"=1.2.0\""), "{manifest}");
    assert!(lock.unwrap().contains("source = \"path+../other\""));
}

#[test]
fn a_pack_whose_claim_fails_is_not_installed() {
    let sandbox = registry();
    let wrong = CLAIM.replace("claim(f, split)", "claim(f, lambda p: f2)").replace(
        "def test_claim",
        "@proc\ndef f2(n: size, x: f32[n]):\n    for i in seq(0, n):\n        x[i] = 2.0\n\ndef test_claim",
    );
    sandbox.pack("liar", "1.0.0", "std = \"1\"", &[("src/lib.exo", ""), ("tests/basic.exo", &wrong)]);
    sandbox.project("");
    let before = sandbox.state();
    let run = sandbox.run(&["add", "liar"]).exits(4);
    run.says(&[
        "error[E0603]",
        "`liar 1.0.0` does not verify",
        "test_claim",
        "nothing was installed",
        "tests/basic.exo",
    ]);
    assert_eq!(sandbox.state(), before);
    let json = sandbox.run(&["add", "liar", "--format", "json"]).exits(4).json();
    assert!(!json["error"]["diagnostics"].as_array().unwrap().is_empty(), "{json}");
}

#[test]
fn a_test_module_that_cannot_be_evaluated_goes_by_its_own_name() {
    let sandbox = registry();
    sandbox.pack("odd", "1.0.0", "", &[("src/lib.exo", "one = 1\n"), ("tests/odd.exo", "from nowhere import x\n")]);
    sandbox.project("");
    let run = sandbox.run(&["add", "odd"]).exits(4);
    run.says(&["`odd 1.0.0` does not verify: `tests.odd` failed", "there is no pack `nowhere` here"]);
    sandbox.write("work/tests/odd.exo", "from nowhere import x\n");
    sandbox.run(&["test"]).exits(1).prints(&["tests.odd ... FAILED"]);
    sandbox.run(&["check"]).exits(1).says(&["`tests.odd` failed"]);
}

#[test]
fn a_pack_that_does_not_end_is_stopped_by_a_limit() {
    let mut sandbox = registry();
    let endless = "def f(n):\n    for a in range(1000000000):\n        n = n + 1\n    return n\nx = f(0)\n";
    sandbox.pack("endless", "1.0.0", "", &[("src/lib.exo", endless)]);
    sandbox.pack("deep", "1.0.0", "", &[("src/lib.exo", "def f(n):\n    return f(n + 1)\nx = f(0)\n")]);
    sandbox.project("");
    let before = sandbox.state();
    sandbox.set("EXO_LIMIT_STEPS", "1000000");
    sandbox.run(&["add", "endless"]).exits(4).says(&["error[E0402]", "endless/src/lib.exo"]);
    sandbox.run(&["add", "deep"]).exits(4).says(&["error[E0402]", "deep/src/lib.exo"]);
    assert_eq!(sandbox.state(), before);
}

#[test]
fn waived_checks_are_denied_until_allowed_by_name() {
    let sandbox = registry();
    let lib = "@proc\ndef f(n: size, x: f32[n], y: f32[n]):\n    for i in seq(0, n):\n        x[i] = y[0]\n        y[i] = 1.0\n\n\
               g = fission(f, f.find(\"x[_] = _\").after(), unsafe_skip_check = True)\n";
    sandbox.pack("risky", "1.0.0", "", &[("src/lib.exo", lib)]);
    sandbox.project("");
    let before = sandbox.state();
    sandbox.run(&["add", "risky"]).exits(4).says(&[
        "error[E0604]",
        "`risky 1.0.0` waives 1 check",
        "allow-unsafe = [\"risky\"]",
    ]);
    assert_eq!(sandbox.state(), before);
    sandbox.project("[verify]\nallow-unsafe = [\"risky\"]\n");
    sandbox.run(&["add", "risky"]).exits(0).prints(&["risky"]);
    // A pack that uses it waives nothing itself.
    sandbox.pack("user", "1.0.0", "risky = \"1\"", &[("src/lib.exo", "from risky import g\nh = simplify(g)\n")]);
    sandbox.run(&["add", "user"]).exits(0).prints(&["user"]);
    // One whose test module waives before any test of it runs does.
    let test = "@proc\ndef f(n: size, x: f32[n], y: f32[n]):\n    for i in seq(0, n):\n        x[i] = 1.0\n        y[i] = 1.0\n\n\
                g = fission(f, f.find(\"x[_] = _\").after(), unsafe_skip_check = True)\n\n\
                def test_claim():\n    claim(f, lambda p: g)\n";
    sandbox.pack("sly", "1.0.0", "", &[("src/lib.exo", ""), ("tests/basic.exo", test)]);
    sandbox.run(&["add", "sly"]).exits(4).says(&["error[E0604]", "`sly 1.0.0` waives 1 check"]);
}

#[test]
fn a_changed_file_of_an_installed_pack_is_named_and_can_be_repaired() {
    let sandbox = registry();
    sandbox.project("");
    sandbox.run(&["add", "std"]).exits(0);
    let trees = sandbox.path("cache/v1/trees");
    let tree = std::fs::read_dir(&trees).unwrap().next().unwrap().unwrap().path();
    std::fs::write(tree.join("files/src/lib.exo"), "def split(p):\n    return p\n").unwrap();
    sandbox.write("work/src/lib.exo", "from std import split\n");
    sandbox
        .run(&["check"])
        .exits(1)
        .says(&["files/src/lib.exo` is not what was installed", "exo cache verify --repair"]);
    // A verdict that is cached is of the files as they were.
    for command in ["install", "verify"] {
        sandbox.run(&[command]).exits(1).says(&["files/src/lib.exo` is not what was installed"]);
    }
    sandbox.run(&["cache", "verify"]).exits(3).says(&["error[E0609]", "1 entry", "src/lib.exo"]);
    sandbox.run(&["cache", "verify", "--repair"]).exits(0).prints(&["removed"]);
    sandbox.run(&["check"]).exits(0);
}

#[test]
fn an_archive_that_differs_from_the_lockfile_is_refused() {
    let sandbox = registry();
    sandbox.project("");
    sandbox.run(&["add", "std"]).exits(0);
    let lock = sandbox.read("work/Exo.lock");
    sandbox.write("packs/std-1.2.0/src/lib.exo", "def split(p):\n    return p\n");
    sandbox.run(&["install"]).exits(1).says(&["error[E0609]", "`std 1.2.0` is not what Exo.lock recorded", "SHA-256"]);
    assert_eq!(sandbox.read("work/Exo.lock"), lock);
}

#[test]
fn a_changed_tree_digest_is_told_as_such() {
    let sandbox = registry();
    sandbox.project("");
    sandbox.run(&["add", "std"]).exits(0);
    let lock = sandbox.read("work/Exo.lock");
    let line = lock.lines().find(|line| line.starts_with("tree = ")).unwrap();
    let changed = format!("tree = \"blake3:{}\"", "0".repeat(64));
    sandbox.write("work/Exo.lock", &lock.replace(line, &changed));
    let run = sandbox.run(&["install"]).exits(1);
    assert!(!run.stderr.contains("SHA-256"), "{}", run.stderr);
    run.says(&["error[E0609]", "its files have BLAKE3 ", &format!("the lockfile says    {}", "0".repeat(64))]);
}

#[test]
fn verify_and_cache_answer() {
    let sandbox = registry();
    sandbox.project("[dependencies]\nneon = \"1\"\n");
    sandbox.run(&["install"]).exits(0);
    sandbox.run(&["verify"]).exits(0).prints(&["2 packs verified (2 cached)"]);
    sandbox.run(&["verify", "--no-cache"]).exits(0).prints(&["2 packs verified (0 cached)", "1 claim proven"]);
    sandbox.run(&["verify", "--all"]).exits(0).prints(&["3 packs verified", "mine"]);
    sandbox.run(&["cache", "size"]).exits(0).prints(&[" KiB in 2 packs and 3 verdicts"]);
    sandbox.run(&["cache", "prune", "--days", "0"]).exits(0).prints(&["removed 5 entries"]);
    sandbox.run(&["doctor"]).exits(0).prints(&["solver", "z3", "Exo.lock is up to date", "neon 1.1.0"]);
}
