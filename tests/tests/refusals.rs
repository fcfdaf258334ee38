//! What bad input gets: each module of `tests/refusals/` is refused, and says what stands after `# says:` at its end.
//!
//! `EXO_UPDATE=1` writes what is said into the files; read the difference before you keep it.

use exo_tests::command_line::{Run, Sandbox, finish};
use exo_tests::exo::repository;

const SAYS: &str = "\n# says:\n";

/// The modules with their names, sorted.
fn modules() -> Vec<(String, String)> {
    let folder = repository().join("tests/refusals");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut modules: Vec<_> = entries
        .map(|entry| entry.unwrap_or_else(|error| panic!("{error}")).path())
        .map(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, text)
        })
        .collect();
    modules.sort();
    modules
}

fn run(name: &str) -> Run {
    let sandbox = Sandbox::new();
    // Limits that a module without end reaches soon.
    let mut command = sandbox.command("", &["run", "--limit", "steps=300000,depth=100", &format!("refusals/{name}")]);
    command.current_dir(repository().join("tests")).env_remove("EXO_TEST_PACKS");
    finish(command)
}

/// What was said, as comment lines.
fn commented(said: &str) -> String {
    said.lines().map(|line| format!("# {line}").trim_end().to_string() + "\n").collect()
}

#[test]
fn each_module_is_refused_as_it_says() {
    let modules = modules();
    assert!(modules.len() >= 40, "only {} modules", modules.len());
    let update = std::env::var_os("EXO_UPDATE").is_some();
    let mut wrong = Vec::new();
    for (name, text) in &modules {
        let (module, expected) = text.split_once(SAYS).unwrap_or((text.trim_end_matches('\n'), ""));
        let run = run(name);
        let said = commented(&run.stderr);
        if run.code != Some(1) || !run.stdout.is_empty() {
            wrong.push(format!("{name}: code {:?}, stdout `{}`", run.code, run.stdout));
        } else if update {
            let path = repository().join("tests/refusals").join(name);
            let text = format!("{}\n{SAYS}{said}", module.trim_end_matches('\n'));
            std::fs::write(&path, text).unwrap_or_else(|error| panic!("{name}: {error}"));
        } else if said != expected {
            wrong.push(format!("{name} says\n{said}but should say\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn messages_are_written_alike() {
    let mut wrong = Vec::new();
    for (name, text) in modules() {
        let said = text.split_once(SAYS).map(|(_, said)| said).unwrap_or_default();
        let messages = said.lines().filter_map(|line| line.strip_prefix("# error[")?.split_once("]: "));
        let mut count = 0;
        for (_, message) in messages {
            count += 1;
            // A message that begins with code begins with what the code says.
            if message.starts_with(|c: char| c.is_whitespace()) || message.ends_with('.') {
                wrong.push(format!("{name}: {message}"));
            }
        }
        if count == 0 {
            wrong.push(format!("{name}: no error with a code"));
        }
        // The evaluator cannot tell where it was when the steps ran out.
        let place = [format!("--> refusals/{name}:"), format!("note: while `refusals/{name}` was evaluated")];
        if !place.iter().any(|place| said.contains(place)) {
            wrong.push(format!("{name}: no place"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
