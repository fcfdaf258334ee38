//! `exo add` and `exo update` over HTTP, killed at any step: the project is as before or as after, and the same command finishes it.

use exo_tests::command_line::{Sandbox, finish};
use exo_tests::faults::Faults;

use crate::authors::{author, home, write_pack};
use crate::server::Server;

/// Steps after which a command must have come to its end; far more than any takes.
const MANY: i64 = 400;

/// How a test lets a command die.
enum Way<'a> {
    /// Before its n-th request or change of a file, by the command itself.
    Step,
    /// Before its n-th change of a file, from outside.
    Change(&'a Faults),
}

impl Way<'_> {
    fn run(&self, sandbox: &Sandbox, arguments: &[&str], step: i64) -> Option<i32> {
        let mut command = sandbox.command("", arguments);
        match self {
            Way::Step => {
                command.env("EXO_TEST_KILL_AT", step.to_string());
                finish(command).code
            }
            Way::Change(faults) => {
                faults.set("kill", step);
                command.envs(faults.variables());
                let code = finish(command).code;
                faults.clear("kill");
                code
            }
        }
    }
}

/// A registry with `top`, which needs `base`.
fn server() -> (Server, Sandbox) {
    let server = Server::start();
    let ada = author(&server, "ada");
    write_pack(&ada, "", "base", "1.0.0", "", "one = 1\n");
    ada.run(&["publish"]).exits(0);
    write_pack(&ada, "", "top", "1.0.0", "base = \"1\"\n", "from base import one\n");
    ada.run(&["publish"]).exits(0);
    (server, ada)
}

/// Lets a command die at each step in turn, each time in a new home; how many steps it takes.
fn at_each_step(way: &Way<'_>, prepared: &dyn Fn() -> Sandbox, arguments: &[&str]) -> i64 {
    let reference = prepared();
    reference.run(arguments).exits(0);
    let after = reference.state();
    for step in 1..MANY {
        let user = prepared();
        let before = user.state();
        let code = way.run(&user, arguments, step);
        assert!(matches!(code, None | Some(0)), "step {step}: {code:?}");
        // Any later command finishes what was committed, and finds nothing torn.
        user.run(&["tree"]).exits(0);
        let state = user.state();
        assert!(state == before || state == after, "step {step} left {state:?}");
        if code == Some(0) {
            assert_eq!(state, after);
            return step;
        }
        user.run(arguments).exits(0);
        assert_eq!(user.state(), after, "step {step}");
        user.run(&["install", "--frozen"]).exits(0);
        user.run(&["cache", "verify"]).exits(0);
        let entries = std::fs::read_dir(user.path("work")).unwrap().flatten();
        let left: Vec<_> =
            entries.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains(".exo-")).collect();
        assert!(left.is_empty(), "step {step} left {left:?}");
    }
    panic!("{arguments:?} did not end within {MANY} steps");
}

#[test]
fn killed_at_any_step_an_add_from_a_registry_is_done_or_not_done() {
    let (server, _ada) = server();
    let prepared = || {
        let user = home(&server);
        user.project("# mine\n[dependencies]\n");
        user
    };
    let steps = at_each_step(&Way::Step, &prepared, &["add", "top"]);
    assert!(steps > 20, "{steps}");
    let changes = at_each_step(&Way::Change(&Faults::new()), &prepared, &["add", "top"]);
    assert!(changes > 10, "{changes}");
}

#[test]
fn killed_at_any_change_an_update_from_a_registry_is_done_or_not_done() {
    let (server, ada) = server();
    let seed = home(&server);
    seed.project("[dependencies]\ntop = \"1\"\n");
    seed.run(&["install"]).exits(0);
    let lock = seed.read("work/Exo.lock");
    write_pack(&ada, "", "base", "1.1.0", "", "one = 1\ntwo = 2\n");
    ada.run(&["publish"]).exits(0);
    let prepared = || {
        let user = home(&server);
        user.project("[dependencies]\ntop = \"1\"\n");
        user.write("work/Exo.lock", &lock);
        user
    };
    let changes = at_each_step(&Way::Change(&Faults::new()), &prepared, &["update"]);
    assert!(changes > 10, "{changes}");
}
