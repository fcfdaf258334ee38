//! A project is as before or as after: killed at any step, on a full disk, and with two processes at once.

use std::path::Path;
use std::process::Command;

use exo_tests::command_line::{Sandbox, finish, manifest};
use exo_tests::faults::Faults;

type State = (String, Option<String>);

/// Steps after which a command must have come to its end; far more than any takes.
const MANY: u64 = 500;

fn registry() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.pack("std", "1.0.0", "", &[("src/lib.exo", "one = 1\n")]);
    sandbox.project("# comment\n[dependencies]\n");
    sandbox
}

fn after_add() -> State {
    let sandbox = registry();
    sandbox.run(&["add", "std"]).exits(0);
    sandbox.state()
}

/// Runs `exo add std` with a failpoint at each step in turn, in a fresh sandbox each time.
fn at_each_step(variable: &str, expected_code: Option<i32>) -> u64 {
    let after = after_add();
    for step in 1..MANY {
        let sandbox = registry();
        let before = sandbox.state();
        let mut command = sandbox.command("", &["add", "std"]);
        command.env(variable, step.to_string());
        let run = finish(command);
        if run.code == Some(0) {
            assert_eq!(sandbox.state(), after);
            return step;
        }
        assert_eq!(run.code, expected_code, "step {step}: {}", run.stderr);
        // Any later command finishes what was committed.
        sandbox.run(&["tree"]).exits(0);
        let state = sandbox.state();
        assert!(state == before || state == after, "step {step} left {state:?}");
        let left: Vec<String> = std::fs::read_dir(sandbox.path("work"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name == ".exo-journal")
            .collect();
        assert!(left.is_empty(), "step {step} left {left:?}");
        sandbox.run(&["add", "std"]).exits(0);
        assert_eq!(sandbox.state().1, after.1, "step {step}");
    }
    panic!("exo add did not end within {MANY} steps");
}

#[test]
fn killed_at_any_step_add_is_done_or_not_done() {
    assert!(at_each_step("EXO_TEST_KILL_AT", None) > 10);
}

#[test]
fn on_a_full_disk_add_is_done_or_not_done() {
    assert!(at_each_step("EXO_TEST_FULL_AT", Some(3)) > 10);
}

#[test]
fn a_full_disk_is_told_with_the_path_and_the_remedy() {
    let sandbox = registry();
    let mut command = sandbox.command("", &["add", "std"]);
    command.env("EXO_TEST_FULL_AT", "1");
    finish(command).exits(3).says(&["no storage space", "free some space", "half-written"]);
}

#[test]
fn two_processes_that_add_both_succeed() {
    let sandbox = registry();
    let names = ["a", "b", "c", "d"];
    for name in names {
        sandbox.pack(name, "1.0.0", "std = \"1\"", &[("src/lib.exo", "from std import one\n")]);
    }
    std::thread::scope(|scope| {
        for name in names {
            let sandbox = &sandbox;
            scope.spawn(move || sandbox.run(&["add", name]).exits(0));
        }
    });
    let (manifest, lock) = sandbox.state();
    for name in names {
        assert!(manifest.contains(&format!("{name} = \"1.0.0\"")), "{manifest}");
        assert!(lock.as_ref().unwrap().contains(&format!("name = \"{name}\"")));
    }
}

/// Names of what is unfinished below a folder.
fn unfinished(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if [".exo-tmp", ".exo-new", ".exo-journal"].iter().any(|end| name.ends_with(end)) {
            found.push(name);
        } else if entry.path().is_dir() {
            found.extend(unfinished(&entry.path()));
        }
    }
    found
}

/// Stands in arguments for the address of the repository `far` of a sandbox.
const FAR: &str = "file://FAR";

fn given(sandbox: &Sandbox, arguments: &[&str]) -> Vec<String> {
    let far = format!("file://{}", sandbox.path("far").display());
    arguments.iter().map(|argument| argument.replace(FAR, &far)).collect()
}

/// Kills the command, or a process that it started, before each of its changes of files in turn. Whenever that was, the project is as
/// before or as after and in order, and the same command brings it where it would have come. The number of changes.
fn killed_from_outside(prepared: &dyn Fn() -> Sandbox, arguments: &[&str], whole: &dyn Fn(&Sandbox)) -> u32 {
    let faults = Faults::new();
    let of_sandbox = |sandbox: &Sandbox| {
        sandbox.command("", &given(sandbox, arguments).iter().map(String::as_str).collect::<Vec<_>>())
    };
    let reference = prepared();
    finish(of_sandbox(&reference)).exits(0);
    let after = of(&reference);
    for step in 1..MANY {
        let sandbox = prepared();
        let before = of(&sandbox);
        faults.set("kill", step as i64);
        let mut command = of_sandbox(&sandbox);
        command.envs(faults.variables());
        let run = finish(command);
        faults.clear("kill");
        // A process that it started and that was killed is a failure of the environment.
        assert!(matches!(run.code, None | Some(0 | 3)), "step {step}: {:?} {}", run.code, run.stderr);
        sandbox.run(&["tree", "--offline"]).exits(0);
        let state = of(&sandbox);
        assert!(state == before || state == after, "step {step} left {state:?}");
        if run.code != Some(0) {
            let again = finish(of_sandbox(&sandbox));
            // What was done before the end is not there to be done again.
            let done = state == after && again.code == Some(1);
            assert!(done || again.code == Some(0), "step {step}: {}", again.stderr);
            assert_eq!(of(&sandbox), after, "step {step}");
        }
        whole(&sandbox);
        let left = unfinished(&sandbox.path("work"));
        assert!(left.is_empty(), "step {step} left {left:?}");
        if run.code == Some(0) {
            return step as u32;
        }
    }
    panic!("{arguments:?} did not end within {MANY} changes");
}

/// Manifest and lockfile; paths of the sandbox itself are none of the difference.
fn of(sandbox: &Sandbox) -> State {
    let place = sandbox.path("").display().to_string();
    let (toml, lock) = sandbox.state();
    (toml.replace(&place, "/"), lock.map(|lock| lock.replace(&place, "/")))
}

fn installed() -> Sandbox {
    let sandbox = registry();
    sandbox.pack("top", "1.0.0", "std = \"1\"", &[("src/lib.exo", "from std import one\n")]);
    sandbox.run(&["add", "top"]).exits(0);
    sandbox
}

#[test]
fn killed_at_any_change_an_update_is_done_or_not_done() {
    let prepared = || {
        let sandbox = installed();
        sandbox.pack("std", "1.1.0", "", &[("src/lib.exo", "one = 1\ntwo = 2\n")]);
        sandbox
    };
    let steps = killed_from_outside(&prepared, &["update"], &|sandbox| {
        assert!(sandbox.read("work/Exo.lock").contains("version = \"1.1.0\""));
    });
    assert!(steps > 10, "{steps}");
}

#[test]
fn killed_at_any_change_a_removal_is_done_or_not_done() {
    let steps = killed_from_outside(&installed, &["remove", "top"], &|sandbox| {
        assert!(!sandbox.read("work/Exo.toml").contains("top"));
    });
    assert!(steps > 5, "{steps}");
}

#[test]
fn killed_at_any_change_vendored_copies_are_whole_or_not_there() {
    for again in [false, true] {
        let prepared = || {
            let sandbox = installed();
            if again {
                sandbox.run(&["vendor"]).exits(0);
            }
            sandbox
        };
        let steps = killed_from_outside(&prepared, &["vendor"], &|sandbox| {
            assert_eq!(sandbox.read("work/vendor/std-1.0.0/src/lib.exo"), "one = 1\n");
            assert_eq!(sandbox.read("work/Exo.vendor"), "vendor\n");
        });
        assert!(steps > 10, "{steps}");
    }
}

#[test]
fn killed_at_any_change_a_bundle_is_whole_or_not_there() {
    let reference = installed();
    reference.run(&["bundle"]).exits(0);
    let bytes = std::fs::read(reference.path("work/mine-0.1.0.exo-bundle")).unwrap();
    let steps = killed_from_outside(&installed, &["bundle"], &|sandbox| {
        assert!(std::fs::read(sandbox.path("work/mine-0.1.0.exo-bundle")).unwrap() == bytes);
    });
    assert!(steps > 2, "{steps}");
}

#[test]
fn killed_at_any_change_of_exo_or_of_git_a_fetch_is_done_or_not_done() {
    let prepared = || {
        let sandbox = registry();
        sandbox.write("far/Exo.toml", &manifest("far", "1.0.0", ""));
        sandbox.write("far/src/lib.exo", "one = 1\n");
        // Equal times and names, so that the commit is the same in all sandboxes.
        let commit = "git init -q -b main && git add -A && git -c user.name=t -c user.email=t@example.org commit -qm x";
        let mut git = Command::new("sh");
        git.args(["-c", commit]).current_dir(sandbox.path("far")).env("HOME", sandbox.path("home"));
        git.env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z").env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
        assert!(git.status().unwrap().success());
        sandbox
    };
    let steps = killed_from_outside(&prepared, &["add", "--git", FAR], &|sandbox| {
        assert!(sandbox.read("work/Exo.lock").contains("source = \"git+file://"));
        sandbox.run(&["install", "--frozen"]).exits(0);
    });
    assert!(steps > 10, "{steps}");
}
