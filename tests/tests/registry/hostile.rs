//! Packs and requests that would cost the server more than it has: pages that grow, texts that no database keeps, publishes that never end.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use exo_tests::exo::binary;
use serde_json::{Value, json};

use crate::memory::held;
use crate::postgres::Cluster;
use crate::server::{Pack, Server, in_database, operate_on};
use crate::turns::slow;

const README: &str = "# Pack\n\nKnows the answer.\n";

/// A pack of which the manifest says more.
fn saying(name: &str, lines: &str) -> Pack {
    Pack::hostile(name, README, &format!("Answers\"\n{lines}\nrepository = \"https://a.example"), "one = 1\n")
}

fn reason(outcome: &Value) -> (&Value, String) {
    (&outcome["state"], outcome["diagnostics"].to_string())
}

/// A text of 196 kilobytes would be a page of 200 megabytes, and took gigabytes to make.
#[test]
fn tables_of_a_readme_do_not_grow() {
    let server = Server::start();
    let session = server.account("ada");
    let table = format!("{}\n{}\n{}\n", "|a".repeat(700), "|-".repeat(700), "|a\n".repeat(700));
    let readme = format!("# Tables\n\n{}", table.repeat(40));
    let pack = Pack::hostile("tables", &readme, "Tables", "one = 1\n");
    assert_eq!(server.publish(&session, &[pack])["state"], "published");
    let before = held(&server);
    let pages: Vec<usize> = std::thread::scope(|scope| {
        let ask = || server.get("/packs/tables").is(200).bytes.len();
        let all: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        all.into_iter().map(|page| page.join().unwrap()).collect()
    });
    assert!(pages.iter().all(|length| *length < 2 * readme.len()), "{pages:?}");
    let after = held(&server);
    assert!(after < before + 100, "{before} MiB became {after} MiB");
    let page = String::from_utf8(server.get("/packs/tables").is(200).bytes).unwrap();
    assert!(page.contains("shown as it was written"));
}

#[test]
fn texts_that_cannot_be_seen_are_refused() {
    refuses_what_cannot_be_seen(&Server::start());
}

#[test]
fn texts_that_cannot_be_seen_are_refused_on_postgresql() {
    let cluster = Cluster::start();
    refuses_what_cannot_be_seen(&Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

fn refuses_what_cannot_be_seen(server: &Server) {
    let session = server.account("ada");
    let long = format!("keywords = [\"{}\"]", "k".repeat(300_000));
    for (name, lines, word) in [
        ("amber", "keywords = [\"a\\u0000b\"]", "keyword 1 has a character that cannot be seen"),
        ("birch", "keywords = [\"good\", \"a\\u202eb\"]", "keyword 2 has a character that cannot be seen"),
        ("cobalt", "keywords = [\" \"]", "keyword 1 is empty"),
        ("dune", &long, "keyword 1 is longer than 40 characters"),
    ] {
        let outcome = server.publish(&session, &[saying(name, lines)]);
        let (state, text) = reason(&outcome);
        assert!(state == "refused" && text.contains(word), "{name}: {text:.300}");
    }
    let address = Pack::hostile("ember", README, "Answers\"\nrepository = \"https://a.example/\\u0000", "one = 1\n");
    let outcome = server.publish(&session, &[address]);
    assert!(reason(&outcome).1.contains("the repository is not one line"), "{outcome}");
    // What the checker repeats of a pack goes into rows too.
    let speaking = Pack::with("flint", "1.0.0", "", "fail(\"a\\u0000b\")\n");
    let outcome = server.publish(&session, &[speaking]);
    let (state, text) = reason(&outcome);
    assert!(state == "refused" && text.contains("\"a\u{fffd}b\"") && !text.contains("\"a\\u0000b\""), "{text}");
    assert_eq!(server.publish(&session, &[saying("good", "keywords = [\"für\", \"日本語\"]")])["state"], "published");

    for path in ["/users/%00", "/organisations/%00", "/packs/%00", "/api/v1/organisations/a%00", "/api/v1/packs/a%00"] {
        server.send("GET", path, &session, b"").is(404);
    }
    for path in ["/api/v1/search?q=a%00", "/search?q=%00"] {
        server.send("GET", path, &session, b"").is(400);
    }
    let stranger = json!({ "login": "abc", "password": "correct horse battery", "email": "a\u{0}b@c.example" });
    server.post("/api/v1/accounts", "", &stranger).is(400);
    let stranger = json!({ "login": "a\u{0}", "password": "correct horse battery" });
    assert!(matches!(server.post("/api/v1/login", "", &stranger).status, 400 | 401));
}

/// A backup of rows with a character that SQLite keeps and PostgreSQL does not.
#[test]
fn a_backup_with_such_a_text_is_restored_elsewhere() {
    let server = Server::start();
    let session = server.account("ada");
    assert_eq!(server.publish(&session, &[Pack::new("base", "1.0.0")])["state"], "published");
    server.change_rows("UPDATE packs SET keywords = 'a' || char(0) || 'b'");
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("backup");
    server.operate("backup", &[backup.to_str().unwrap()]);
    let cluster = Cluster::start();
    let data = folder.path().join("data");
    let said = operate_on(&data, &in_database(cluster.url()), "restore", &[backup.to_str().unwrap()]).unwrap();
    assert!(said.contains("restored"), "{said}");
    operate_on(&data, &in_database(cluster.url()), "verify-all", &[]).unwrap();
}

#[test]
fn a_publish_at_which_the_registry_fails_comes_to_an_end() {
    ends_what_fails(Vec::new());
}

#[test]
fn a_publish_at_which_the_registry_fails_comes_to_an_end_on_postgresql() {
    let cluster = Cluster::start();
    ends_what_fails(in_database(cluster.url()));
}

fn ends_what_fails(variables: Vec<(String, String)>) {
    let folder = tempfile::tempdir().unwrap();
    let checker = folder.path().join("exo");
    std::os::unix::fs::symlink(binary(), &checker).unwrap();
    let server = Server::start_with(Arc::new(tempfile::tempdir().unwrap()), variables, &checker);
    let session = server.account("ada");
    fs::remove_file(&checker).unwrap();
    let id = server.upload(&session, &[Pack::new("base", "1.0.0")], false);
    server.send("POST", &format!("/api/v1/publish/{id}/commit"), &session, b"").is(202);
    let start = Instant::now();
    while server.count_rows("SELECT tries AS n FROM publishes") == 0 {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(server.count_rows("SELECT tries AS n FROM publishes"), 1, "it is tried again after a pause");
    // As if the pauses before the last try were over.
    server.change_rows("UPDATE publishes SET tries = 4, lease = 0 WHERE state = 'checking'");
    let outcome = server.outcome(&session, &id);
    let (state, text) = reason(&outcome);
    assert!(state == "refused" && text.contains("\"unsettled\"") && text.contains("in 5 tries"), "{outcome}");
    server.keeps_no_upload();
}

#[test]
fn a_token_that_is_taken_back_publishes_no_more() {
    lets_nobody_publish_who_was_sent_away(&Server::start());
}

#[test]
fn a_token_that_is_taken_back_publishes_no_more_on_postgresql() {
    let cluster = Cluster::start();
    let server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url()));
    lets_nobody_publish_who_was_sent_away(&server);
}

fn lets_nobody_publish_who_was_sent_away(server: &Server) {
    let session = server.account("ada");
    let token = json!({ "name": "ci", "rights": ["publish-new"], "packs": ["*"], "expires_days": 1 });
    let made = server.post("/api/v1/tokens", &session, &token).is(201).json();
    let (text, token) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    let id = server.upload(text, &[slow()], false);
    server.send("POST", &format!("/api/v1/publish/{id}/commit"), text, b"").is(202);
    server.send("DELETE", &format!("/api/v1/tokens/{token}"), &session, b"").is(204);
    let outcome = server.outcome(&session, &id);
    let (state, said) = reason(&outcome);
    assert!(
        state == "refused" && said.contains("\"token\"") && said.contains("was ended before its turn"),
        "{outcome}"
    );
    server.get("/api/v1/packs/slow").is(404);
    assert_eq!(server.publish(&session, &[Pack::new("base", "1.0.0")])["state"], "published");
}

/// A replica that freezes in its turn holds the lock that all others wait for: they are told so, and wait no longer than a request may take.
#[test]
fn whoever_waits_for_a_frozen_replica_is_told_so() {
    let cluster = Cluster::start();
    let server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url()));
    let session = server.account("ada");
    assert_eq!(server.publish(&session, &[Pack::new("base", "1.0.0")])["state"], "published");
    let yank = || server.send("PUT", "/api/v1/packs/base/1.0.0/yank", &session, b"{\"reason\": \"wrong\"}");
    server.on_rows(async |mut rows| {
        sqlx::raw_sql("BEGIN; UPDATE state SET turns = turns WHERE id = 1").execute(&mut rows).await.unwrap();
        let start = Instant::now();
        let waits = yank();
        assert_eq!((waits.status, &waits.json()["error"]["code"]), (503, &json!("held")));
        assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
        sqlx::raw_sql("COMMIT").execute(&mut rows).await.unwrap();
    });
    yank().is(204);
}
