//! Checking is shared: nobody waits for all that another account has to be checked, and what one publish costs has an end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use exo_index::digest::Sha256;
use exo_tests::exo::binary;
use serde_json::{Value, json};

use crate::postgres::Cluster;
use crate::reverifying::program;
use crate::server::{Pack, Server, Variables, in_database};

/// A checker that takes its time with packs called `slow…`, and otherwise is the real one.
fn slow_checker(folder: &Path, seconds: u64) -> PathBuf {
    let real = binary().display();
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in\n__verify) asked=$(cat)\ncase \"$asked\" in *'\"pack\":\"slow'*) sleep {seconds} ;; esac\n\
         printf '%s' \"$asked\" | '{real}' \"$@\" ;;\n*) exec '{real}' \"$@\" ;;\nesac\n"
    );
    program(folder, "slow", &text)
}

fn commit(server: &Server, session: &str, packs: &[Pack]) -> String {
    let id = server.upload(session, packs, false);
    server.send("POST", &format!("/api/v1/publish/{id}/commit"), session, b"").is(202);
    id
}

fn state(server: &Server, session: &str, id: &str) -> String {
    let answer = server.send("GET", &format!("/api/v1/publish/{id}"), session, b"").is(200).json();
    answer["state"].as_str().unwrap().to_owned()
}

fn nobody_waits_for_all_of_another(variables: Variables) {
    let programs = tempfile::tempdir().unwrap();
    let slow = slow_checker(programs.path(), 12);
    let server = Server::start_with(Arc::new(tempfile::tempdir().unwrap()), variables, &slow);
    let (eve, ada) = (server.account("eve"), server.account("ada"));
    // More than the server has places for, each of them long.
    let names: Vec<String> =
        (0..6).map(|number| format!("slow-{}", char::from(b'a' + number).to_string().repeat(9))).collect();
    let long: Vec<String> = names.iter().map(|name| commit(&server, &eve, &[Pack::new(name, "1.0.0")])).collect();
    std::thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    let short = commit(&server, &ada, &[Pack::new("base", "1.0.0")]);
    assert_eq!(server.outcome(&ada, &short)["state"], "published");
    let waited = start.elapsed();
    let open = long.iter().filter(|id| state(&server, &eve, id) == "checking").count();
    assert_eq!(open, long.len(), "after {waited:?} they still go on: none was waited for");
}

#[test]
fn a_short_publish_does_not_wait_for_the_long_ones_of_another_account() {
    nobody_waits_for_all_of_another(Vec::new());
}

#[test]
fn a_short_publish_does_not_wait_for_the_long_ones_of_another_account_on_postgres() {
    let cluster = Cluster::start();
    nobody_waits_for_all_of_another(in_database(cluster.url()));
}

/// A registry that was down for a while finds an account that always had something to check, and a stream of new ones that each began to
/// wait a second after the other: who is served when is seen by the turns that they had.
fn new_accounts_wait_too(variables: Variables) {
    let mut server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), variables);
    server.kill();
    let begin = 1_700_000_000;
    let waits = |login: &str, since: i64| {
        let id = format!("p-{login}");
        [
            format!(
                "INSERT INTO publishes (id, login, dry_run, state, created, lease, result) VALUES ('{id}', '{login}', 0, 'checking', {since}, {since}, '')"
            ),
            format!(
                "INSERT INTO publish_packs (publish, name, version, sha256, size) VALUES ('{id}', 'base', '1.0.0', '{}', 7)",
                Sha256::of(b"")
            ),
        ]
    };
    let mut statements = vec![format!("INSERT INTO checking_turns (login, turn) VALUES ('old', {})", begin * 1000)];
    statements.extend(waits("old", begin));
    statements.extend((1..=120).flat_map(|number| waits(&format!("new{number}"), begin + number)));
    server.change_rows_by(&statements);
    let server = server.again();
    let start = Instant::now();
    while server.count_rows("SELECT COUNT(*) AS n FROM publishes WHERE state = 'checking'") > 0 {
        assert!(start.elapsed() < Duration::from_secs(50), "they are checked");
        std::thread::sleep(Duration::from_millis(50));
    }
    let before =
        "SELECT COUNT(*) AS n FROM checking_turns WHERE turn < (SELECT turn FROM checking_turns WHERE login = 'old')";
    let before = server.count_rows(before);
    assert!((20..40).contains(&before), "{before} of 120 new accounts went before it");
}

#[test]
fn a_stream_of_new_accounts_keeps_nobody_waiting() {
    new_accounts_wait_too(Vec::new());
}

#[test]
fn a_stream_of_new_accounts_keeps_nobody_waiting_on_postgres() {
    let cluster = Cluster::start();
    new_accounts_wait_too(in_database(cluster.url()));
}

/// The time of all packs together is over while one of them is verified.
#[test]
fn a_publish_as_a_whole_has_an_end() {
    let programs = tempfile::tempdir().unwrap();
    let slow = slow_checker(programs.path(), 100);
    let variables = vec![("EXO_REGISTRY_PUBLISH_TIME".to_owned(), "8".to_owned())];
    let server = Server::start_with(Arc::new(tempfile::tempdir().unwrap()), variables, &slow);
    let ada = server.account("ada");
    let start = Instant::now();
    let packs = ["base", "slow-one", "velvet"].map(|name| Pack::new(name, "1.0.0"));
    let outcome = server.publish(&ada, &packs);
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!(outcome["state"], "refused");
    let said = |number: usize, field: &str| outcome["diagnostics"][number][field].as_str().unwrap().to_owned();
    assert_eq!((said(0, "pack"), said(0, "code")), ("slow-one".to_owned(), "checker".to_owned()));
    assert!(
        said(0, "message").contains("together may take 8 seconds") && said(0, "message").contains("1 of 3 were done")
    );
    assert!(said(0, "hint").contains("publish fewer packs at once"), "{outcome}");
    assert_eq!((said(1, "pack"), said(1, "code")), ("velvet".to_owned(), "not-verified".to_owned()));
    // Alone, there is less to do about it.
    let outcome = server.publish(&ada, &[Pack::new("slow-one", "1.0.0")]);
    assert!(outcome["diagnostics"][0]["hint"].as_str().unwrap().contains("split the pack"), "{outcome}");
    assert_eq!(server.publish(&ada, &packs[..1])["state"], "published");
}

/// All that is found without the checker is told at once; the checker itself stops at the first pack that it refuses.
#[test]
fn the_checker_stops_at_the_first_refusal() {
    let server = Server::start();
    let ada = server.account("ada");
    let wrong = |name: &str, needs: &str| Pack::with(name, "1.0.0", needs, "from nowhere import nothing\n");
    let codes = |outcome: &Value| -> Vec<(String, String)> {
        let all = outcome["diagnostics"].as_array().unwrap().iter();
        all.map(|one| (one["pack"].as_str().unwrap().to_owned(), one["code"].as_str().unwrap().to_owned())).collect()
    };
    let of = |pack: &str, code: &str| (pack.to_owned(), code.to_owned());

    let outcome = server.publish(
        &ada,
        &[wrong("amber", "nothing = \"1\"\n"), wrong("birch", "nothing = \"1\"\n"), wrong("cobalt", "")],
    );
    let found = codes(&outcome);
    assert!(found.contains(&of("amber", "dependencies")) && found.contains(&of("birch", "dependencies")), "{outcome}");
    assert!(found.iter().all(|(pack, _)| pack != "cobalt"), "{outcome}");

    let outcome = server
        .publish(&ada, &[Pack::new("amber", "1.0.0"), wrong("birch", ""), wrong("cobalt", ""), wrong("dune", "")]);
    let found = codes(&outcome);
    assert!(found.contains(&of("birch", "checker")), "{outcome}");
    assert_eq!(found.last(), Some(&of("cobalt", "not-verified")), "{outcome}");
    assert!(found.iter().all(|(pack, code)| code != "checker" || pack == "birch"), "{outcome}");
    let last = outcome["diagnostics"].as_array().unwrap().last().unwrap();
    assert!(last["message"].as_str().unwrap().contains("not verified yet: 2"), "{outcome}");
    assert!(last["hint"].as_str().unwrap().contains("mend what is refused"), "{outcome}");
    assert_eq!(outcome["packs"], json!([]));
}
