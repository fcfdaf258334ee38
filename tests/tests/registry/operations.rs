//! What whoever runs a registry does with it: backups, and new keys.

use std::path::Path;
use std::sync::Arc;

use crate::client;
use crate::searching::comes_to_find;
use crate::server::{Pack, Server, Variables, operate_on};

const RIGHTS: [&str; 2] = ["publish-new", "publish-update"];

/// A registry with a pack, and a token that may publish.
fn with_a_pack() -> (Server, String) {
    let server = Server::start();
    let session = server.account("ada");
    let token = server.token(&session, &RIGHTS, &["*"]);
    assert_eq!(server.publish(&token, &[Pack::new("base", "1.0.0")])["state"], "published");
    (server, token)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Backs up, restores into an empty directory and these places, and goes on there as if nothing had been.
pub(crate) fn comes_back(variables: Variables) {
    let (mut server, token) = with_a_pack();
    let believed = client::trust(&server, None);
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("backup");
    assert!(server.operate("backup", &[text(&backup)]).contains("keep it as safe"));
    server.kill();
    let empty = Arc::new(tempfile::tempdir().unwrap());
    let said = operate_on(empty.path(), &variables, "restore", &[text(&backup)]).unwrap();
    assert!(said.contains("restored `localhost` with pointer"), "{said}");
    let restored = Server::start_on(empty.clone(), variables.clone());
    restored.operate("verify-all", &[]);
    // The same client, the same account, the same token.
    let believed = client::trust(&restored, Some(believed));
    client::check(&restored, &believed, "base");
    restored.login("ada");
    comes_to_find(&restored, "q=base", &["base"]);
    assert_eq!(restored.publish(&token, &[Pack::new("base", "1.0.1")])["state"], "published");
    assert_eq!(client::check(&restored, &client::trust(&restored, Some(believed)), "base").0.versions.len(), 2);
    let again = operate_on(empty.path(), &variables, "restore", &[text(&backup)]).unwrap_err();
    assert!(again.contains("the registry `localhost` is there already"), "{again}");
}

#[test]
fn who_stops_reading_stops_no_command() {
    let server = Server::start();
    for login in ["ada", "eve"] {
        server.account(login);
    }
    let mut command = std::process::Command::new(crate::server::program());
    command.args(["user", "list", "--data"]).arg(server.folder.path());
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // As `head` does that has seen enough before the first line.
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("panicked"), "{said}");
}

#[test]
fn a_registry_comes_back_from_a_backup() {
    comes_back(Vec::new());
}

#[test]
fn a_backup_that_is_not_whole_restores_nothing() {
    let (server, _) = with_a_pack();
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("backup");
    server.operate("backup", &[text(&backup)]);
    let over = operate_on(server.folder.path(), &[], "backup", &[text(&backup)]).unwrap_err();
    assert!(over.contains("is there already"), "{over}");
    let empty = folder.path().join("empty");
    let refused = |reason: &str| {
        let said = operate_on(&empty, &[], "restore", &[text(&backup)]).unwrap_err();
        assert!(said.contains(reason), "{said}");
        assert!(!empty.join("files").exists() && !empty.join("keys").exists(), "nothing was written");
    };
    let rows = backup.join("rows/accounts.jsonl");
    let kept = std::fs::read(&rows).unwrap();
    std::fs::write(&rows, b"[]\n").unwrap();
    refused("`rows/accounts.jsonl` of the backup is not as it was written");
    std::fs::write(&rows, kept).unwrap();
    std::fs::rename(backup.join("backup.json"), backup.join("other.json")).unwrap();
    refused("is no finished backup");
}

#[test]
fn clients_follow_new_keys_and_a_running_server_takes_them_up() {
    let (mut server, token) = with_a_pack();
    let believed = client::trust(&server, None);
    let old = std::fs::read_to_string(server.path("keys/index.key")).unwrap();
    assert!(server.operate("rotate-keys", &[]).contains("root 2 names the new keys"));
    assert_ne!(std::fs::read_to_string(server.path("keys/index.key")).unwrap(), old);
    assert!(!server.path("keys/next").exists());
    // The server was not restarted; the verdict of the first version is by the old key.
    assert_eq!(server.publish(&token, &[Pack::new("base", "1.0.1")])["state"], "published");
    let believed = client::trust(&server, Some(believed));
    assert_eq!(believed.root().version, 2);
    client::check(&server, &believed, "base");
    server.operate("rotate-keys", &["--root"]);
    server.kill();
    let server = server.again();
    assert_eq!(server.publish(&token, &[Pack::new("base", "1.0.2")])["state"], "published");
    let believed = client::trust(&server, Some(believed));
    assert_eq!((believed.root().version, believed.root().verdict_keys.len()), (3, 3));
    client::check(&server, &believed, "base");
    client::check(&server, &client::trust(&server, None), "base");
    server.operate("verify-all", &[]);
}

#[test]
fn new_keys_that_were_decided_but_not_moved_are_taken_up_and_others_are_left() {
    let (mut server, token) = with_a_pack();
    let believed = client::trust(&server, None);
    let keys = server.path("keys");
    let files = ["root.key", "index.key", "verdict.key"];
    let old = files.map(|name| std::fs::read(keys.join(name)).unwrap());
    server.operate("rotate-keys", &["--root"]);
    server.kill();
    // As a crash leaves it after the new root was decided: new keys wait, the old ones are in place.
    std::fs::create_dir(keys.join("next")).unwrap();
    for (name, old) in files.iter().zip(&old) {
        std::fs::rename(keys.join(name), keys.join("next").join(name)).unwrap();
        std::fs::write(keys.join(name), old).unwrap();
    }
    let mut server = server.again();
    assert!(!keys.join("next").exists());
    assert_eq!(server.publish(&token, &[Pack::new("base", "1.0.1")])["state"], "published");
    let believed = client::trust(&server, Some(believed));
    // As a crash leaves it before: keys wait that no root names.
    std::fs::create_dir(keys.join("next")).unwrap();
    for (name, old) in files.iter().zip(&old) {
        std::fs::write(keys.join("next").join(name), old).unwrap();
    }
    server.kill();
    let server = server.again();
    assert_eq!(server.publish(&token, &[Pack::new("base", "1.0.2")])["state"], "published");
    client::check(&server, &client::trust(&server, Some(believed)), "base");
    server.operate("rotate-keys", &[]);
    assert!(!keys.join("next").exists());
}
