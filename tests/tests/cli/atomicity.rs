//! `exo new` and `exo init` killed at any step leave a whole project or none.

use exo_tests::command_line::{Sandbox, finish};

/// Steps after which a command must have come to its end; far more than any takes.
const MANY: u64 = 500;

#[test]
fn new_is_whole_or_absent() {
    for step in 1..MANY {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command("", &["new", "fresh"]);
        command.env("EXO_TEST_KILL_AT", step.to_string());
        if finish(command).code == Some(0) {
            assert!(step > 10);
            return;
        }
        assert!(!sandbox.exists("work/fresh"), "step {step}");
        sandbox.run(&["new", "fresh"]).exits(0);
    }
    panic!("exo new did not end within {MANY} steps");
}

#[test]
fn init_killed_at_any_step_can_be_finished() {
    for step in 1..MANY {
        let sandbox = Sandbox::new();
        sandbox.write("work/mine/notes", "");
        let mut command = sandbox.command("mine", &["init"]);
        command.env("EXO_TEST_KILL_AT", step.to_string());
        if finish(command).code == Some(0) {
            assert!(step > 10);
            return;
        }
        let again = sandbox.run_in("mine", &["init"]);
        assert!(again.code == Some(0) || again.stderr.contains("already is a project"), "{}", again.stderr);
        for file in ["Exo.toml", "src/lib.exo", "tests/basic.exo"] {
            assert!(sandbox.exists(&format!("work/mine/{file}")), "step {step}: {file}");
        }
    }
    panic!("exo init did not end within {MANY} steps");
}
