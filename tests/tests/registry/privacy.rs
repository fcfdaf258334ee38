//! A token is in the place where it is kept, in requests to its own registry, and nowhere else: not in what is said, whatever is asked for, and
//! in no other file.

use std::path::{Path, PathBuf};

use exo_tests::command_line::finish;

use crate::authors::{author, home, write_pack};
use crate::server::Server;

fn files_with(folder: &Path, text: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_with(&path, text, found);
        } else if std::fs::read(&path).is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        {
            found.push(path);
        }
    }
}

#[test]
fn no_command_tells_or_keeps_a_token() {
    let server = Server::start();
    let ada = author(&server, "ada");
    let made = ada.run(&["token", "create", "ci", "--right", "publish-new,yank", "--for", "*", "--days", "7"]).exits(0);
    let token = made.stdout.trim().to_owned();
    assert!(token.starts_with("exo_"), "{token}");
    let mut machine = home(&server);
    machine.set("EXO_TOKEN", &token);
    machine.set("RUST_LOG", "trace");
    write_pack(&machine, "", "base", "1.0.0", "", "one = 1\n");
    // Done, refused for want of a right, refused by this program, wrong on the command line, and nobody there.
    let commands: [&[&str]; 13] = [
        &["publish", "-v"],
        &["publish", "-v", "--format", "json"],
        &["yank", "base@1.0.0", "-v"],
        &["owner", "add", "base", "eve", "-v"],
        &["deprecate", "base", "-v"],
        &["token", "list", "-v", "--format", "json"],
        &["search", "base", "-v"],
        &["info", "base", "-v"],
        &["doctor", "-v", "--format", "json"],
        &["publish", "-vv"],
        &["check", "-v", "--timings"],
        &["publish", "-v", "--registry", "http://127.0.0.1:1"],
        &["logout", "-v"],
    ];
    for command in commands {
        let run = finish(machine.command("", command));
        assert!(
            !run.stdout.contains(&token) && !run.stderr.contains(&token),
            "{command:?}: {}{}",
            run.stdout,
            run.stderr
        );
    }
    let mut found = Vec::new();
    files_with(&machine.path(""), &token, &mut found);
    assert!(found.is_empty(), "{found:?}");
    // The check can find one: what `exo login` keeps is in one file, which is its owner's.
    let kept = ada.read("home/.config/exo/credentials.toml");
    let session = kept.split('"').find(|text| text.starts_with("exo_")).unwrap().to_owned();
    for command in [&["publish", "-v"][..], &["token", "list", "-v"], &["doctor", "-v", "--format", "json"]] {
        let run = finish(ada.command("", command));
        assert!(!run.stdout.contains(&session) && !run.stderr.contains(&session), "{command:?}");
    }
    files_with(&ada.path(""), &session, &mut found);
    assert_eq!(found, [ada.path("home/.config/exo/credentials.toml")]);
}
