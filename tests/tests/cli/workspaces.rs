//! Several packs in one repository: one lockfile, shared values, and commands for some or all of them.

use exo_tests::command_line::Sandbox;

const ROOT: &str = "[workspace]\nmembers = [\"packs/*\"]\n\n[workspace.pack]\nversion = \"0.3.0\"\nlicense = \"MIT\"\n\n\
                    [workspace.dependencies]\nbase = \"1\"\nlow = { path = \"packs/low\", version = \"0.3\" }\n";

fn member(name: &str, dependencies: &str) -> String {
    format!(
        "[pack]\nname = \"{name}\"\nversion = {{ workspace = true }}\nkind = \"schedule\"\nlicense = {{ workspace = true }}\n\n[dependencies]\n{dependencies}"
    )
}

/// `low` uses `base` of the registry, `high` uses `low` and a newer `base`.
fn workspace() -> Sandbox {
    let sandbox = Sandbox::new();
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        sandbox.pack("base", version, "", &[("src/lib.exo", "one = 1\n")]);
    }
    sandbox.write("work/Exo.toml", ROOT);
    sandbox.write("work/packs/low/Exo.toml", &member("low", "base = { workspace = true }\n"));
    sandbox.write("work/packs/low/src/lib.exo", "from base import one\ntwo = one + 1\n");
    sandbox.write("work/packs/low/tests/t.exo", "from low import two\n\ndef test_low():\n    assert_true(two == 2)\n");
    sandbox.write("work/packs/high/Exo.toml", &member("high", "low = { workspace = true }\nbase = \"1.1\"\n"));
    sandbox.write("work/packs/high/src/lib.exo", "from low import two\nthree = two + 1\n");
    sandbox.write(
        "work/packs/high/tests/t.exo",
        "from high import three\n\ndef test_high():\n    assert_true(three == 3)\n",
    );
    sandbox.write("work/packs/notes/readme.txt", "no pack");
    sandbox
}

#[test]
fn one_lockfile_serves_all_members_from_any_folder() {
    let sandbox = workspace();
    sandbox.run_in("packs/high/src", &["install"]).exits(0).prints(&["low", "0.3.0", "base", "1.2.0"]);
    let lock = sandbox.read("work/Exo.lock");
    assert!(lock.contains("source = \"path+packs/low\""), "{lock}");
    assert!(!sandbox.exists("work/packs/high/Exo.lock"));
    for folder in ["", "packs/low", "packs/high"] {
        sandbox.run_in(folder, &["install", "--locked"]).exits(0);
        sandbox.run_in(folder, &["check", "--locked"]).exits(0);
    }
    assert_eq!(sandbox.read("work/Exo.lock"), lock);
    sandbox.run_in("packs/low", &["tree"]).exits(0).prints(&["low 0.3.0\n└── base 1.2.0\n"]);
    // One version for all: what one member asks for holds for the others.
    sandbox.run_in("packs/low", &["add", "base@=1.1.0"]).exits(0);
    assert!(sandbox.read("work/packs/low/Exo.toml").contains("base = \"=1.1.0\""));
    sandbox.run_in("packs/high", &["tree", "--locked"]).exits(0).prints(&["base 1.1.0"]);
    let run = sandbox.run_in("packs/high", &["add", "base@1.2"]).exits(1);
    run.says(&["no choice of versions", "`base ^1.2`", "`base =1.1.0`"]);
}

#[test]
fn commands_run_for_one_for_some_and_for_all() {
    let sandbox = workspace();
    let run = sandbox.run(&["test", "--workspace"]).exits(0);
    run.prints(&["test_low", "test_high"]).says(&["Member high", "Member low"]);
    sandbox.run(&["test"]).exits(0).prints(&["test_low", "test_high"]);
    let one = sandbox.run_in("packs/high", &["test", "-p", "low"]).exits(0).prints(&["test_low"]);
    assert!(!one.stdout.contains("test_high"));
    let both = sandbox.run(&["check", "-p", "low", "-p", "high", "--format", "json"]).exits(0).json();
    assert_eq!(both.as_array().unwrap().len(), 2);
    sandbox.run(&["test", "-p", "hihg"]).exits(1).says(&["no member `hihg`", "did you mean `high`"]);
    sandbox
        .run(&["add", "base", "--workspace"])
        .exits(2)
        .says(&["--workspace goes with check, test, build, package, publish, audit and tree"]);
    sandbox.run(&["add", "base"]).exits(1).says(&["root of a workspace", "-p PACK"]);
    sandbox.run(&["add", "base@1.1", "-p", "low"]).exits(0);
    assert!(sandbox.read("work/packs/low/Exo.toml").contains("base = \"1.1\""));
    sandbox.write("work/packs/high/tests/t.exo", "def test_high():\n    assert_true(1 == 2)\n");
    sandbox.run(&["test", "--workspace"]).exits(1).says(&["it is the member `high` of the workspace"]);
}

#[test]
fn the_archive_of_a_member_stands_by_itself() {
    let sandbox = workspace();
    for pack in ["low", "high"] {
        sandbox.write(&format!("work/packs/{pack}/README.md"), "# x\n\nAbout it.\n");
        let path = format!("work/packs/{pack}/Exo.toml");
        sandbox.write(&path, &sandbox.read(&path).replace("kind =", "description = \"x\"\nkind ="));
    }
    sandbox.run(&["package", "--workspace"]).exits(0).prints(&["high-0.3.0.tar.zst", "low-0.3.0.tar.zst"]);
    let lonely = Sandbox::new();
    lonely.write("work/Exo.toml", "[pack]\nname = \"x\"\nversion = { workspace = true }\nkind = \"kernel\"\n");
    lonely
        .run(&["tree"])
        .exits(1)
        .says(&["error[E0606]", "`version` is taken from the workspace, where there is none"]);
}

#[test]
fn workspaces_that_make_no_sense_are_refused() {
    let refused = |change: &dyn Fn(&Sandbox), texts: &[&str]| {
        let sandbox = workspace();
        change(&sandbox);
        sandbox.run_in("packs/low", &["tree"]).exits(1).says(texts);
    };
    refused(
        &|sandbox| sandbox.write("work/packs/copy/Exo.toml", &member("low", "")),
        &["two members are called `low`", "packs/copy", "packs/low"],
    );
    refused(
        &|sandbox| {
            sandbox
                .write("work/packs/high/Exo.toml", &format!("{}[workspace]\nmembers = [\"x\"]\n", member("high", "")))
        },
        &["`packs/high` is a workspace inside of this one"],
    );
    refused(
        &|sandbox| sandbox.write("work/Exo.toml", &ROOT.replace("\"packs/*\"", "\"packs/*\", \"packs/gone\"")),
        &["the workspace names `packs/gone`, where there is no pack"],
    );
    refused(
        &|sandbox| {
            sandbox.write("work/packs/high/Exo.toml", &format!("{}[policy]\nmin-age = \"1 day\"\n", member("high", "")))
        },
        &["a member has a `[policy]` of its own"],
    );
    refused(
        &|sandbox| sandbox.write("work/packs/low/Exo.toml", &member("low", "none = { workspace = true }\n")),
        &["`none` is taken from the workspace, where there is none", "[workspace.dependencies]"],
    );
}

#[test]
fn a_pack_that_is_no_member_is_by_itself() {
    let sandbox = workspace();
    sandbox.write(
        "work/other/Exo.toml",
        "[pack]\nname = \"other\"\nversion = \"1.0.0\"\nkind = \"schedule\"\n[dependencies]\nbase = \"1\"\n",
    );
    sandbox.run_in("other", &["install"]).exits(0);
    assert!(sandbox.exists("work/other/Exo.lock") && !sandbox.exists("work/Exo.lock"));
    sandbox.run_in("other", &["check", "--workspace"]).exits(1).says(&["is in no workspace"]);
}

#[test]
fn killed_at_any_step_member_and_lockfile_are_as_before_or_as_after() {
    let state = |sandbox: &Sandbox| {
        let lock = sandbox.exists("work/Exo.lock").then(|| sandbox.read("work/Exo.lock"));
        (sandbox.read("work/packs/low/Exo.toml"), lock)
    };
    let add = ["add", "base@=1.1.0"];
    let prepared = || {
        let sandbox = workspace();
        sandbox.run(&["lock"]).exits(0);
        sandbox
    };
    let done = prepared();
    let before = state(&done);
    done.run_in("packs/low", &add).exits(0);
    let after = state(&done);
    for step in 1..200 {
        let sandbox = prepared();
        let mut command = sandbox.command("packs/low", &add);
        command.env("EXO_TEST_KILL_AT", step.to_string());
        if exo_tests::command_line::finish(command).code == Some(0) {
            assert!(step > 10);
            return;
        }
        sandbox.run(&["tree"]).exits(0);
        let found = state(&sandbox);
        assert!(found == before || found == after, "step {step} left {found:?}");
    }
    panic!("exo add did not end");
}
