//! A registry of an earlier release goes on with this one: the rows are put into tables as the earlier release made them.

use std::sync::Arc;

use serde_json::json;

use crate::client;
use crate::postgres::Cluster;
use crate::server::{Pack, Server, Variables, in_database, operate_on};

/// The version of the present schema.
const PRESENT: i64 = 6;

/// The schema of the release before schemas had versions.
const FIRST: &str = include_str!("schema-1.sql");

/// The tables of a schema and their columns.
fn tables() -> Vec<(&'static str, Vec<&'static str>)> {
    let table = |line: &'static str| {
        let (name, rest) = line.strip_prefix("CREATE TABLE IF NOT EXISTS ")?.split_once(" (")?;
        let columns = rest.split(", ").filter_map(|column| {
            let mut words = column.split_whitespace();
            Some(words.next()?).filter(|_| matches!(words.next(), Some("TEXT" | "BIGINT")))
        });
        Some((name, columns.collect()))
    };
    FIRST.lines().filter_map(table).collect()
}

/// Moves all rows into tables as the first schema has them, and forgets what only later ones know.
fn go_back(server: &Server) {
    let sqlite = server.variables.is_empty();
    let place = server.path("registry.sqlite");
    let earlier = if sqlite {
        let later = server.path("later.sqlite");
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::rename(format!("{}{end}", place.display()), format!("{}{end}", later.display()));
        }
        std::fs::write(&place, b"").unwrap();
        vec![format!("ATTACH DATABASE '{}' AS later", later.display())]
    } else {
        vec!["ALTER SCHEMA public RENAME TO later".to_owned(), "CREATE SCHEMA public".to_owned()]
    };
    let made = FIRST.split(";\n").map(str::trim).filter(|statement| !statement.is_empty()).map(str::to_owned);
    let mut statements: Vec<String> = earlier.into_iter().chain(made).collect();
    statements.push("DELETE FROM state".to_owned());
    for (name, columns) in tables() {
        let columns = columns.join(", ");
        let own = if sqlite { "main" } else { "public" };
        statements.push(format!("INSERT INTO {own}.{name} ({columns}) SELECT {columns} FROM later.{name}"));
    }
    statements.push(if sqlite { "DETACH DATABASE later" } else { "DROP SCHEMA later CASCADE" }.to_owned());
    server.change_rows_by(&statements);
}

fn lives_on(variables: Variables) {
    let mut server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), variables.clone());
    let session = server.account("ada");
    let token = server.token(&session, &["publish-new", "publish-update", "yank", "owners"], &["*"]);
    assert_eq!(server.publish(&token, &[Pack::new("base", "1.0.0")])["state"], "published");
    let believed = client::trust(&server, None);
    server.kill();
    go_back(&server);
    let server = server.again();
    // The same client, the same account, the same token; and what the new release writes.
    let believed = client::trust(&server, Some(believed));
    client::check(&server, &believed, "base");
    server.send("GET", "/api/v1/whoami", &session, b"").is(200);
    assert_eq!(server.publish(&token, &[Pack::new("base", "1.0.1")])["state"], "published");
    let events = server.send("GET", "/api/v1/packs/base/audit", &token, b"").is(200).json();
    let of =
        |number: usize| (events["events"][number]["version"].clone(), events["events"][number]["token"].is_string());
    assert_eq!([of(0), of(1)], [(json!("1.0.1"), true), (json!(null), false)], "{events}");
    server.operate("verify-all", &[]);
    assert_eq!(server.count_rows("SELECT version AS n FROM schema_version"), PRESENT);
    drop(server.again());
    a_later_one_is_refused(&server);
}

fn a_later_one_is_refused(server: &Server) {
    server.change_rows(&format!("UPDATE schema_version SET version = {}", PRESENT + 1));
    let said = operate_on(server.folder.path(), &server.variables, "doctor", &[]).unwrap_err();
    assert!(said.contains("by a later release") && said.contains(&format!("has version {}", PRESENT + 1)), "{said}");
    server.change_rows(&format!("UPDATE schema_version SET version = {PRESENT}"));
    operate_on(server.folder.path(), &server.variables, "doctor", &[]).unwrap();
}

#[test]
fn a_registry_of_an_earlier_release_lives_on() {
    lives_on(Vec::new());
}

#[test]
fn a_registry_of_an_earlier_release_lives_on_in_postgres() {
    let cluster = Cluster::start();
    lives_on(in_database(cluster.url()));
}

/// Backups of the earlier release have rows with fewer columns.
#[test]
fn a_backup_of_an_earlier_release_comes_back() {
    let server = Server::start();
    let token = server.token(&server.account("ada"), &["publish-new", "owners"], &["*"]);
    assert_eq!(server.publish(&token, &[Pack::new("base", "1.0.0")])["state"], "published");
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("backup");
    server.operate("backup", &[backup.to_str().unwrap()]);
    let list = backup.join("backup.json");
    let mut contents: serde_json::Value = serde_json::from_slice(&std::fs::read(&list).unwrap()).unwrap();
    assert!(contents.as_object_mut().unwrap().remove("schema").is_some());
    let files = contents["files"].as_object_mut().unwrap();
    files.remove("rows/tombstones.jsonl").unwrap();
    for (name, columns) in tables() {
        let file = backup.join(format!("rows/{name}.jsonl"));
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let shorter = |line: &str| {
            let values: Vec<serde_json::Value> = serde_json::from_str(line).unwrap();
            json!(values[..columns.len()]).to_string() + "\n"
        };
        let text: String = text.lines().map(shorter).collect();
        let digest = exo_index::digest::Sha256::of(text.as_bytes()).to_string();
        files.insert(format!("rows/{name}.jsonl"), json!(digest));
        std::fs::write(file, text).unwrap();
    }
    std::fs::write(&list, contents.to_string()).unwrap();
    let empty = Arc::new(tempfile::tempdir().unwrap());
    operate_on(empty.path(), &[], "restore", &[backup.to_str().unwrap()]).unwrap();
    let restored = Server::start_on(empty, Vec::new());
    let events = restored.send("GET", "/api/v1/packs/base/audit", &token, b"").is(200).json();
    assert_eq!(events["events"][0]["action"], "publish", "{events}");
    contents["schema"] = json!(PRESENT + 1);
    std::fs::write(&list, contents.to_string()).unwrap();
    let said = operate_on(folder.path(), &[], "restore", &[backup.to_str().unwrap()]).unwrap_err();
    assert!(said.contains("by a later release"), "{said}");
}
