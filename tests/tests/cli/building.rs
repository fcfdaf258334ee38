//! From a project to C: build, show, cc, run, test, and what bad input gets.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use exo_tests::command_line::{PACK, Sandbox, finish};

const KERNEL: &str =
    "\n[[kernel]]\nname = \"scale\"\nalgorithm = \"scale\"\nschedule = \"schedule\"\ntargets = [TARGETS]\n";

const LIB: &str = "@proc\ndef scale(n: size, x: f32[n]):\n    for i in seq(0, n):\n        x[i] = 2.0 * x[i]\n\n\
                   def schedule(p, target):\n    p = divide_loop(p, \"i\", 4, [\"io\", \"ii\"], tail = \"cut\")\n    return simplify(p)\n";

/// A registry with two targets, and a project with one kernel.
pub(crate) fn kernel(targets: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["plain-a", "plain-b"] {
        let lib = format!("target = target(name = \"{name}\", cc = cc(flags = [\"-O1\"]))\n");
        sandbox.pack(name, "1.0.0", "", &[("src/lib.exo", &lib)]);
    }
    let dependencies = "[dependencies]\nplain-a = \"1\"\nplain-b = \"1\"\n";
    sandbox.project(&format!("{dependencies}{}", KERNEL.replace("TARGETS", targets)));
    sandbox.write("work/src/lib.exo", LIB);
    sandbox
}

fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn generated_projects_check_test_and_build() {
    for kind in ["kernel", "schedule", "target"] {
        let sandbox = Sandbox::new();
        sandbox.run(&["new", "fresh", "--kind", kind]).exits(0);
        sandbox.run_in("fresh", &["check"]).exits(0).prints(&["1 module", "0 waived checks"]);
        let tested = sandbox.run_in("fresh", &["test"]).exits(0).prints(&["passed, 0 failed", "claim"]);
        assert!(!tested.stdout.starts_with("\n0 passed"), "{}", tested.stdout);
        match kind {
            "kernel" => {
                let built = sandbox.run_in("fresh", &["build"]).exits(0);
                built.prints(&["build/fresh-portable/saxpy.c", "build/manifest.json"]);
            }
            "target" => {
                tested.prints(&["conformance::load_4xf32 ... ok (native)", "conformance::store_4xf32 ... ok (native)"]);
            }
            _ => {
                sandbox.run_in("fresh", &["build"]).exits(1).says(&["no kernels to build", "[[kernel]]"]);
            }
        }
    }
}

#[test]
fn an_instruction_that_no_target_lists_is_named_as_not_run() {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "fresh", "--kind", "target"]).exits(0);
    let lib = sandbox.read("work/fresh/src/lib.exo").replace(", store = store_4xf32)", ")");
    sandbox.write("work/fresh/src/lib.exo", &lib);
    let tested = sandbox.run_in("fresh", &["test", "conformance"]).exits(0);
    tested.prints(&["load_4xf32 ... ok", "store_4xf32 ... skipped: no exported target lists it", "1 skipped"]);
}

#[test]
fn one_schedule_serves_two_targets_and_the_c_compiles() {
    let sandbox = kernel("\"plain_a\", \"plain_b\"");
    sandbox.run(&["build"]).exits(0);
    for target in ["plain_a", "plain_b"] {
        let folder = sandbox.path("work/build").join(target);
        let mut cc = Command::new("gcc");
        cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "scale.c", "-o", "/dev/null"]).current_dir(&folder);
        assert!(cc.status().unwrap().success());
        let depfile = sandbox.read(&format!("work/build/{target}/scale.d"));
        assert!(depfile.starts_with(&format!("build/{target}/scale.c build/{target}/scale.h: ")), "{depfile}");
        assert!(depfile.contains(" src/lib.exo") && depfile.contains(" Exo.lock"), "{depfile}");
    }
    let manifest: serde_json::Value = serde_json::from_str(&sandbox.read("work/build/manifest.json")).unwrap();
    assert_eq!(manifest["outputs"].as_array().unwrap().len(), 2);
    assert_eq!(manifest["outputs"][0]["trace"][0]["operator"], "divide_loop");
    assert_eq!(manifest["packs"][0]["name"], "plain-a");
}

#[test]
fn another_folder_and_another_cache_give_the_same_bytes() {
    let built = |changes: &str| {
        let sandbox = kernel("\"plain_a\", \"plain_b\"");
        sandbox.write("work/CHANGELOG.md", changes);
        sandbox.run(&["build"]).exits(0);
        let mut files = files_below(&sandbox.path("work/build"));
        files.insert("Exo.lock".into(), sandbox.read("work/Exo.lock").into_bytes());
        let place = sandbox.path("").display().to_string();
        for (name, bytes) in &files {
            assert!(!String::from_utf8_lossy(bytes).contains(&place), "{name} holds an absolute path");
        }
        files
    };
    let first = built("one");
    assert_eq!(first.len(), 10);
    for (name, bytes) in built("two") {
        let (before, now) =
            (String::from_utf8_lossy(&first[&name]).into_owned(), String::from_utf8_lossy(&bytes).into_owned());
        assert_eq!(before, now, "{name}");
    }
}

#[test]
fn selections_pick_kernels_and_targets() {
    let sandbox = kernel("\"plain_a\", \"plain_b\"");
    sandbox.run(&["build", "--target", "plain_b"]).exits(0);
    assert!(!sandbox.exists("work/build/plain_a") && sandbox.exists("work/build/plain_b/scale.c"));
    sandbox.run(&["build", "--target", "plain_c"]).exits(1).says(&["no target `plain_c`", "did you mean"]);
    sandbox.run(&["build", "--kernel", "scael"]).exits(1).says(&["no kernel `scael`", "did you mean `scale`"]);
}

#[test]
fn a_missing_target_is_shown_in_the_manifest_with_near_names() {
    let sandbox = kernel("\"plain_aa\"");
    sandbox.pack("plain-aaa", "1.0.0", "", &[("src/lib.exo", "")]);
    let run = sandbox.run(&["build"]).exits(1);
    run.says(&["error[E0601]", "names the target `plain_aa`", "Exo.toml:15:12", "`plain_a`", "`exo add plain-aaa`"]);
    assert!(!sandbox.exists("work/build"));
    let sandbox = kernel("\"plain_a:nothing\"");
    sandbox.run(&["build"]).exits(1).says(&["error[E0601]", "nothing"]);
}

#[test]
fn a_kernel_may_name_what_a_dependency_brings_along() {
    let sandbox = kernel("\"deeper\"");
    sandbox.pack("deeper", "1.0.0", "", &[("src/lib.exo", "target = target(name = \"deeper\", cc = cc())\n")]);
    let path = "packs/plain-a-1.0.0/Exo.toml";
    sandbox.write(path, &format!("{}deeper = \"1\"\n", sandbox.read(path)));
    sandbox.run(&["build"]).exits(0).prints(&["build/deeper/scale.c"]);
}

#[test]
fn a_schedule_that_returns_another_proc_is_refused() {
    let sandbox = kernel("\"plain_a\"");
    let other =
        LIB.replace("return simplify(p)", "return other") + "\n@proc\ndef other(n: size, x: f32[n]):\n    pass\n";
    sandbox.write("work/src/lib.exo", &other);
    sandbox.run(&["build"]).exits(1).says(&["error[E0602]", "nothing was written"]);
    assert!(!sandbox.exists("work/build"));
}

#[test]
fn a_refused_operator_tells_place_and_condition() {
    let sandbox = kernel("\"plain_a\"");
    sandbox.write("work/src/lib.exo", &LIB.replace("tail = \"cut\"", "perfect = True"));
    sandbox.run(&["build"]).exits(1).says(&["error[E0301]", "src/lib.exo:7:", "divide_loop", "n", "in schedule"]);
}

#[test]
fn mistakes_in_text_are_placed() {
    let cases: [(&str, &[&str]); 4] = [
        ("x = (1\n", &["error[E0001]", "Exo", "src/lib.exo:"]),
        (
            "@proc\ndef f(n: size, x: f32[n]):\n    for i in seq(0, n:\n        x[i] = 1.0\n",
            &["error[E0001]", "src/lib.exo:3:"],
        ),
        ("def f():\n    while True:\n        pass\n", &["error[E0002]", "while", "src/lib.exo:2:", "repeat"]),
        ("@proc\ndef f(n: size, x: f32[n]):\n    x[n] = 1.0\n", &["error[E0201]", "src/lib.exo:3:"]),
    ];
    for (text, said) in cases {
        let sandbox = Sandbox::new();
        sandbox.project("");
        sandbox.write("work/src/lib.exo", text);
        let said: Vec<&str> = said.iter().copied().filter(|text| *text != "Exo").collect();
        sandbox.run(&["check"]).exits(1).says(&said);
    }
}

#[test]
fn check_composes_kernels_and_proves_claims() {
    let sandbox = kernel("\"plain_a\", \"plain_b\"");
    sandbox.write(
        "work/tests/t.exo",
        "from mine import scale, schedule\ndef test_same():\n    claim(scale, schedule, None)\n",
    );
    sandbox.run(&["check"]).exits(0).prints(&["1 claim proven, 1 test passed, 2 kernels composed"]);
    let json = sandbox.run(&["check", "--format", "json"]).exits(0).json();
    assert_eq!((&json["kernels"], &json["tests"]), (&serde_json::json!(2), &serde_json::json!(1)));
    sandbox.write("work/src/lib.exo", &LIB.replace("tail = \"cut\"", "perfect = True"));
    sandbox.run(&["check"]).exits(1).says(&["test_same` failed", "n % 4 == 0"]);
    sandbox.write("work/tests/t.exo", "");
    sandbox.run(&["check"]).exits(1).says(&["2 kernels refused: `scale` for `plain_a`", "n % 4 == 0"]);
    assert!(!sandbox.exists("work/build"));
}

#[test]
fn a_kernel_without_a_schedule_is_its_algorithm() {
    let sandbox = kernel("\"plain_a\"");
    let manifest = sandbox.read("work/Exo.toml").replace("schedule = \"schedule\"\n", "");
    sandbox.write("work/Exo.toml", &manifest);
    sandbox.run(&["build"]).exits(0).prints(&["build/plain_a/scale.c"]);
    assert!(sandbox.read("work/build/plain_a/scale.c").contains("for (int_fast32_t i = 0; i < n; i++)"));
    sandbox.write("work/Exo.toml", &format!("{manifest}args = {{ tile = 4 }}\n"));
    sandbox.run(&["build"]).exits(1).says(&["kernel `scale` has `args` but no `schedule`", "Exo.toml:"]);
}

#[test]
fn an_instruction_is_no_kernel() {
    let sandbox = kernel("\"plain_a\"");
    let lib = LIB.replace("return simplify(p)", "return make_instr(p, \"scale({x_data});\")");
    sandbox.write("work/src/lib.exo", &lib);
    let run = sandbox.run(&["build"]).exits(1);
    run.says(&[
        "error[E0504]",
        "the schedule makes the instruction `scale` while it runs",
        "there `exo audit` sees it",
    ]);
    let made = "fast = make_instr(scale, \"scale({x_data});\")\n\ndef schedule(";
    let lib = LIB.replace("return simplify(p)", "return fast").replace("def schedule(", made);
    sandbox.write("work/src/lib.exo", &lib);
    let run = sandbox.run(&["build"]).exits(1);
    run.says(&["error[E0601]", "kernel `scale`: `scale` is an instruction", "compose a proc that calls it"]);
    assert!(!sandbox.exists("work/build"));
}

#[test]
fn what_is_emulated_stands_beside_what_is_not() {
    let sandbox = kernel("\"plain_a\"");
    sandbox.run(&["build"]).exits(0).prints(&["build/plain_a/scale.c"]);
    sandbox.run(&["build", "--emulate"]).exits(0).prints(&["build/plain_a-emulated/scale.c"]);
    assert!(sandbox.exists("work/build/plain_a/scale.c"));
}

#[test]
fn vectors_of_an_unknown_precision_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.project("");
    let lib = "target = target(name = \"t\", vectors = {\"f23\": vector(memory = DRAM, lanes = 4)})\n";
    sandbox.write("work/src/lib.exo", lib);
    sandbox.run(&["check"]).exits(1).says(&["`f23`, which is no precision", "f16, f32, f64"]);
}

#[test]
fn show_prints_each_step_and_what_it_changed() {
    let sandbox = kernel("\"plain_a\", \"plain_b\"");
    sandbox.run(&["show", "scale"]).exits(2).says(&["has 2 targets", "--target plain_a"]);
    let run = sandbox.run(&["show", "scale", "--target", "plain_a"]).exits(0);
    run.prints(&["# algorithm\n", "for i in seq(0, n):", "# step 1: divide_loop(", "for ii in seq(0, 4):"]);
    let run = sandbox.run(&["show", "scale", "--target", "plain_a", "--diff", "--step", "1"]).exits(0);
    run.prints(&["-    for i in seq(0, n):", "@@"]);
    sandbox.run(&["show", "scale", "--target", "plain_a", "--step", "99"]).exits(1).says(&["there is no step 99"]);
    let json = sandbox.run(&["show", "scale", "--target", "plain_a", "--format", "json"]).exits(0).json();
    assert_eq!(json["steps"][1]["operator"], "divide_loop");
}

#[test]
fn cc_compiles_files_without_a_project() {
    let sandbox = Sandbox::new();
    sandbox.pack("tools", "1.0.0", "", &[("src/lib.exo", "width = 4\n")]);
    sandbox.write(
        "work/one.exo",
        "from tools import width\nfrom .two import g\n\n@proc\ndef f(x: f32[width]):\n    g(x)\n",
    );
    sandbox.write("work/two.exo", "@proc\ndef g(x: f32[4]):\n    x[0] = 1.0\n");
    sandbox.run(&["cc", "one.exo", "-o", "out", "--stem", "both"]).exits(0).prints(&["out/both.c", "out/both.h"]);
    let mut cc = Command::new("gcc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "both.c", "-o", "/dev/null"]);
    assert!(cc.current_dir(sandbox.path("work/out")).status().unwrap().success());
    let depfile = sandbox.read("work/out/both.d");
    assert!(
        depfile.starts_with("out/both.c out/both.h: ") && depfile.contains("one.exo") && depfile.contains("two.exo")
    );
    sandbox.run(&["cc", "one.exo"]).exits(0);
    assert!(sandbox.exists("work/one/one.c"));
    sandbox.run(&["cc", "one.exo", "two.exo"]).exits(2).says(&["several files need"]);
    sandbox.run(&["cc", "on.exo"]).exits(1).says(&["there is no file `on.exo`", "did you mean `one.exo`"]);
}

#[test]
fn run_prints_and_stops_at_limits() {
    let mut sandbox = Sandbox::new();
    sandbox.pack("tools", "1.0.0", "", &[("src/lib.exo", "width = 4\n")]);
    sandbox.write("work/a.exo", "from tools import width\nprint(width)\nprint(\"two\")\n");
    assert_eq!(sandbox.run(&["run", "a.exo"]).exits(0).stdout, "4\ntwo\n");
    assert_eq!(sandbox.run(&["run", "a.exo", "--format", "json"]).exits(0).json()["printed"][1], "two");
    sandbox.write("work/b.exo", "from tolls import width\n");
    sandbox.run(&["run", "b.exo"]).exits(1).says(&["error[E0403]", "tolls", "tools", "b.exo:1:"]);
    sandbox.set("EXO_LIMIT_STEPS", "100000");
    sandbox.write("work/c.exo", "def f():\n    for a in range(1000000000):\n        pass\nf()\n");
    sandbox.run(&["run", "c.exo"]).exits(1).says(&["error[E0402]", "c.exo"]);
    sandbox.write("work/d.exo", "def f(n):\n    return f(n + 1)\nf(0)\n");
    sandbox.run(&["run", "d.exo"]).exits(1).says(&["error[E0402]", "d.exo"]);
}

#[test]
fn test_reports_each_test_and_fails_with_1() {
    let sandbox = Sandbox::new();
    sandbox.project("");
    sandbox
        .write("work/tests/t.exo", "def test_good():\n    assert_eq(1, 1)\n\ndef test_bad():\n    assert_eq(1, 2)\n");
    let run = sandbox.run(&["test"]).exits(1);
    run.prints(&["tests.t::test_good ... ok", "tests.t::test_bad ... FAILED", "1 passed, 1 failed"])
        .says(&["1 test failed", "tests/t.exo:5:"]);
    sandbox.run(&["test", "good"]).exits(0).prints(&["1 passed, 0 failed"]);
    sandbox.run(&["test", "nothing"]).exits(1).says(&["no test has `nothing` in its name"]);
    let json = sandbox.run(&["test", "--format", "json"]).exits(1).json();
    assert_eq!(json["tests"][1]["outcome"], "failed");
}

#[test]
fn without_a_c_compiler_testing_a_target_is_an_environment_failure() {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "fresh", "--kind", "target"]).exits(0);
    let mut command = sandbox.command("fresh", &["test"]);
    command.env("PATH", "/nowhere");
    finish(command).exits(3).says(&["no C compiler", "apt-get install gcc"]);
}

#[test]
fn kernels_without_targets_or_schedule_are_explained() {
    let sandbox = Sandbox::new();
    sandbox.write("work/Exo.toml", &format!("{PACK}[[kernel]]\nname = \"f\"\nalgorithm = \"f\"\n"));
    sandbox.write("work/src/lib.exo", LIB);
    sandbox.run(&["build"]).exits(1).says(&["error[E0601]", "has no targets", "Exo.toml:8:8"]);
}

/// A project whose kernel is scheduled by a function of `sneak`, which leaves out checks in every way a function can.
fn waiving(way: &str, verify: &str) -> Sandbox {
    let sandbox = kernel("\"plain_a\"");
    let lib = "\
def direct(p):
    return fission(p, p.find_loop(\"j\").after(), unsafe_skip_check = True)

def tried(p):
    return try_do(fission, p, p.find_loop(\"j\").after(), unsafe_skip_check = True)

def once(p):
    return [step(p) for step in [lambda p: fission(p, p.find_loop(\"j\").after(), unsafe_skip_check = True)]][0]

def repeated(p):
    return repeat(direct, times = 1)(p)

def later():
    return lambda p, target: direct(p)

def fallback(p):
    done = attempt(fission, p, p.find_loop(\"j\").after(), unsafe_skip_check = True)
    return done.value if done.ok else simplify(p)
";
    sandbox.pack("sneak", "1.0.0", "", &[("src/lib.exo", lib)]);
    let dependencies = "[dependencies]\nplain-a = \"1\"\nsneak = \"1\"\n";
    sandbox.project(&format!("{dependencies}{verify}{}", KERNEL.replace("TARGETS", "\"plain_a\"")));
    let own = format!(
        "from sneak import direct, tried, once, repeated, later, fallback\n\n\
         @proc\ndef scale(n: size, x: f32[n, n], y: f32[n + 1]):\n    for i in seq(0, n):\n        for j in seq(0, n):\n            \
         x[i, j] = y[i]\n        y[i + 1] = x[i, 0]\n\ndef schedule(p, target):\n    return {way}\n"
    );
    sandbox.write("work/src/lib.exo", &own);
    sandbox
}

#[test]
fn a_dependency_leaves_out_no_check_in_the_schedule_of_a_kernel() {
    for way in ["direct(p)", "once(p)", "later()(p, target)"] {
        let sandbox = waiving(way, "");
        sandbox.run(&["install"]).exits(0);
        let before = sandbox.state();
        for command in [vec!["build"], vec!["check"], vec!["show", "scale"], vec!["audit"]] {
            let ran = sandbox.run(&command);
            assert_ne!(ran.code, Some(0), "{way} {command:?}: {}", ran.stdout);
            ran.says(&[
                "error[E0604]: pack `sneak` leaves out a check, which your Exo.toml does not allow",
                "sneak/src/lib.exo:",
                "not shown: fission(scale",
                "allow-unsafe = [\"sneak\"]",
            ]);
        }
        assert_eq!(sandbox.state(), before);
    }
}

#[test]
fn a_denied_step_ends_the_build_also_where_a_schedule_would_go_around_a_refusal() {
    for way in ["fallback(p)", "tried(p)", "repeated(p)"] {
        let sandbox = waiving(way, "");
        sandbox.run(&["install"]).exits(0);
        let ran = sandbox.run(&["build"]);
        assert_ne!(ran.code, Some(0), "{way}: {}", ran.stdout);
        ran.says(&[
            "error[E0604]: pack `sneak` leaves out a check, which your Exo.toml does not allow",
            "allow-unsafe = [\"sneak\"]",
        ]);
        assert!(!sandbox.exists("work/build/plain_a/scale.c"), "{way}");
    }
}

#[test]
fn waived_checks_that_are_allowed_or_ones_own_are_counted_wherever_they_run() {
    let allowed = waiving("direct(p)", "[verify]\nallow-unsafe = [\"sneak\"]\n");
    allowed.run(&["build"]).exits(0).says(&["`scale` for `plain_a` has a waived check by `sneak` in fission(scale"]);
    let c = allowed.read("work/build/plain_a/scale.c");
    assert!(c.contains("// waived by `sneak` in fission(scale"), "{c}");
    allowed.run(&["check"]).exits(0).prints(&["1 waived check,", "waived by `sneak` in fission(scale"]);

    let own = waiving("fission(p, p.find_loop(\"j\").after(), unsafe_skip_check = True)", "");
    own.run(&["check"]).exits(0).prints(&["1 waived check,", "waived by `mine` in fission(scale"]);
    own.run(&["audit"]).exits(0).prints(&["mine     0.1.0         1      0", "1 waived check and"]);
    own.run(&["audit", "--deny", "waived"]).exits(4).says(&["waived: mine 0.1.0 (1)"]);
    own.run(&["build"]).exits(0).says(&["has a waived check by `mine` in fission(scale"]);
}

#[test]
fn check_warns_of_a_read_of_what_nothing_wrote() {
    let sandbox = kernel("\"plain_a\"");
    let blind = "\n@proc\ndef blind(y: f32[4]):\n    t: f32\n    y[0] = t\n";
    sandbox.write("work/src/lib.exo", &format!("{LIB}{blind}"));
    sandbox.run(&["check"]).exits(0).says(&[
        "warning[E0206]: `y[0] = t` reads `t` where nothing was written before",
        "src/lib.exo:",
        "write it first, or make it a parameter",
    ]);
    sandbox.run(&["build"]).exits(0);
}
