//! A project is as before or as after: killed at any step, on a full disk, and with two processes at once.

use exo_tests::command_line::{Sandbox, finish};

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
