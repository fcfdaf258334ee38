//! What whoever runs a registry does with it: backups, and new keys.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

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

/// What opens the database writes the rows that it lacks, and SQLite has one writer.
#[test]
fn a_command_waits_for_who_writes() {
    let (server, _) = with_a_pack();
    let waits = server.on_rows(async |mut rows| {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut rows).await.unwrap();
        let (folder, variables) = (server.folder.clone(), server.variables.clone());
        let command = std::thread::spawn(move || operate_on(folder.path(), &variables, "verify-all", &[]));
        std::thread::sleep(Duration::from_secs(2));
        let waited = !command.is_finished();
        sqlx::query("COMMIT").execute(&mut rows).await.unwrap();
        command.join().unwrap().unwrap();
        waited
    });
    assert!(waits, "nobody had to wait, so nothing was shown");
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
    refused("`rows/accounts.jsonl` of the backup is not as it was written: it has another digest");
    std::fs::remove_file(&rows).unwrap();
    refused("`rows/accounts.jsonl` of the backup is not as it was written: No such file");
    refused("copy the backup again as a whole");
    // Whoever wrote the list anew, with a line in it that is none.
    let list = backup.join("backup.json");
    let known = std::fs::read_to_string(&list).unwrap();
    for (line, said) in [("[]", "line 2: it has 0 values instead of"), ("[\"a", "line 2: EOF while parsing")] {
        let broken = [&kept[..], line.as_bytes(), b"\n"].concat();
        let digest = |bytes: &[u8]| exo_index::digest::Sha256::of(bytes).to_string();
        std::fs::write(&rows, &broken).unwrap();
        std::fs::write(&list, known.replace(&digest(&kept), &digest(&broken))).unwrap();
        let into = tempfile::tempdir().unwrap();
        let told = operate_on(into.path(), &[], "restore", &[text(&backup)]).unwrap_err();
        assert!(told.contains("`rows/accounts.jsonl`") && told.contains(said), "{told}");
    }
    std::fs::write(&list, "{").unwrap();
    refused("`backup.json` of the backup is not as it was written: EOF");
    std::fs::write(&list, known).unwrap();
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
    let written = |detail: &str| {
        server.count_rows(&format!(
            "SELECT COUNT(*) AS n FROM audit WHERE login = 'exo-registry' AND action = 'rotate-keys' AND detail = '{detail}'"
        ))
    };
    assert_eq!(written("root 2"), 1);
    assert_eq!(written("root 3"), 1);
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

/// Rows that are lost let what was deleted be given again, or hide what was published: both commands hold them against the log.
pub(crate) fn lost_rows_are_told(server: &Server, token: &str) {
    let purge = |what: &str| operate_on(server.folder.path(), &server.variables, "purge", &[what, "--reason", "wrong"]);
    assert_eq!(
        server.publish(token, &[Pack::new("base", "1.0.1"), Pack::new("velvet", "1.0.0")])["state"],
        "published"
    );
    purge("base@1.0.1").unwrap();
    purge("velvet").unwrap();
    assert!(server.operate("doctor", &[]).contains("versions and 3 tombstones as the log has them: ok"));
    server.operate("verify-all", &[]);
    let lost = |table: &str, which: &str, said: &[&str]| {
        server.change_rows_by(&[
            format!("CREATE TABLE kept AS SELECT * FROM {table} WHERE {which}"),
            format!("DELETE FROM {table} WHERE {which}"),
        ]);
        for command in ["doctor", "verify-all"] {
            let told = operate_on(server.folder.path(), &server.variables, command, &[]).unwrap_err();
            assert!(told.contains(&format!("the table `{table}` has lost")), "{told}");
            assert!(said.iter().all(|word| told.contains(word)), "{told}");
            assert!(told.contains("bring the rows back from a backup"), "{told}");
        }
        server.change_rows_by(&[format!("INSERT INTO {table} SELECT * FROM kept"), "DROP TABLE kept".to_owned()]);
        server.operate("doctor", &[]);
    };
    lost("tombstones", "name = 'base'", &["`base 1.0.1`, which the log says was deleted: it could be given again"]);
    lost("tombstones", "version = ''", &["the name `velvet`"]);
    lost("tombstones", "1 = 1", &["`base 1.0.1`, the name `velvet`, `velvet 1.0.0`"]);
    lost("versions", "1 = 1", &["`base 1.0.0`, which the log says was published"]);
    server.change_rows("UPDATE tombstones SET version = '7.0.0' WHERE version = '1.0.1'");
    let told = operate_on(server.folder.path(), &server.variables, "doctor", &[]).unwrap_err();
    assert!(told.contains("has lost `base 1.0.1`"), "{told}");
    server.change_rows("INSERT INTO tombstones SELECT name, '1.0.1', at, login, reason, archive FROM tombstones WHERE version = '7.0.0'");
    let told = operate_on(server.folder.path(), &server.variables, "doctor", &[]).unwrap_err();
    assert!(told.contains("has `base 7.0.0`, of which the log says otherwise"), "{told}");
}

#[test]
fn commands_tell_of_lost_rows() {
    let (server, token) = with_a_pack();
    lost_rows_are_told(&server, &token);
}

#[test]
fn commands_tell_of_lost_rows_on_postgres() {
    let cluster = crate::postgres::Cluster::start();
    let server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), crate::server::in_database(cluster.url()));
    let token = server.token(&server.account("ada"), &RIGHTS, &["*"]);
    assert_eq!(server.publish(&token, &[Pack::new("base", "1.0.0")])["state"], "published");
    lost_rows_are_told(&server, &token);
}

/// A program that checks nothing is found out before a server uses it, and by who looks after one.
#[test]
fn a_program_that_checks_nothing_is_told() {
    let (server, _) = with_a_pack();
    let said = server.operate("doctor", &["--exo", text(exo_tests::exo::binary())]);
    assert!(said.contains("checker: ok (exo "), "{said}");
    let programs = tempfile::tempdir().unwrap();
    let talks = crate::reverifying::program(programs.path(), "talks", "#!/bin/sh\necho hello\n");
    // One that knows who it is, and brings no packs.
    let real = exo_tests::exo::binary().display();
    let poor = format!("#!/bin/sh\n[ \"$1\" = __checker ] && exec '{real}' \"$@\"\nexit 0\n");
    let poor = crate::reverifying::program(programs.path(), "poor", &poor);
    for (program, why) in [
        (Path::new("/bin/true"), "it says nothing (exit status: 0)"),
        (Path::new("/bin/false"), "it says nothing (exit status: 1)"),
        (Path::new("/nowhere/exo"), "it cannot be started (No such file"),
        (&talks, "its answer cannot be read"),
    ] {
        let named = format!("`{}` is no program that checks packs", program.display());
        let empty = tempfile::tempdir().unwrap();
        let data = empty.path().join("data");
        let serves = operate_on(&data, &[], "serve", &["--listen", "127.0.0.1:0", "--exo", text(program)]);
        for told in [
            serves.unwrap_err(),
            operate_on(server.folder.path(), &[], "doctor", &["--exo", text(program)]).unwrap_err(),
        ] {
            assert!(told.contains(&named) && told.contains(why), "{told}");
            assert!(told.contains("name the `exo` of this release with --exo"), "{told}");
        }
        assert!(!data.exists(), "nothing was set up");
    }
    let empty = tempfile::tempdir().unwrap();
    let told = operate_on(empty.path(), &[], "serve", &["--listen", "127.0.0.1:0", "--exo", text(&poor)]).unwrap_err();
    assert!(told.contains("tells of no pack that comes with it"), "{told}");
}

/// The URL of a database may hold its password.
#[test]
fn help_does_not_tell_where_the_database_is() {
    let mut help = std::process::Command::new(crate::server::program());
    help.args(["serve", "--help"]).env("EXO_REGISTRY_DATABASE", "postgres://ada:secret@db/packs");
    help.env("EXO_REGISTRY_SMTP", "smtps://ada:secret@mail");
    let output = help.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("EXO_REGISTRY_DATABASE]"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}
