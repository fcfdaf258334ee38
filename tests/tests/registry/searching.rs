//! Search: what is found by which words, in which order, and how use changes it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use exo_tests::command_line::Sandbox;

use crate::server::{Pack, Server, Variables};

/// The names that a search gives, in their order.
fn names(server: &Server, query: &str) -> Vec<String> {
    let found = server.get(&format!("/api/v1/search?{query}")).is(200).json();
    let packs = found["packs"].as_array().unwrap();
    packs.iter().map(|pack| pack["name"].as_str().unwrap().to_owned()).collect()
}

/// Waits until a search gives these names; a server that has just started goes through its packs first.
#[track_caller]
pub(crate) fn comes_to_find(server: &Server, query: &str, expected: &[&str]) {
    let start = Instant::now();
    loop {
        let found = names(server, query);
        if found == expected {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{query}: {found:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A registry in these places is searched.
pub(crate) fn is_searched(variables: Variables) {
    let mut server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), variables);
    let session = server.account("ada");
    let pack =
        |name: &str, description: &str| Pack::hostile(name, "# Stones\n\nOf many kinds.\n", description, "one = 1\n");
    let packs = [
        pack("granite", "Cuts quartz, slowly"),
        pack("basalt", "Made of quartz and of Basalt"),
        pack("quartz-mill", "A mill"),
        pack("quartz", "Stones"),
    ];
    let outcome = server.publish(&session, &packs);
    assert_eq!(outcome["state"], "published", "{outcome}");
    // The one of that name, then others that have it in their names, then those that say something of it.
    for (query, expected) in [
        ("q=quartz", ["quartz", "quartz-mill", "basalt", "granite"].as_slice()),
        ("q=QUARTZ&per_page=2&page=2", &["basalt", "granite"]),
        ("q=quartz&page=3", &[]),
        ("q=quar", &["quartz", "quartz-mill", "basalt", "granite"]),
        ("q=mill+quartz", &["quartz-mill"]),
        ("q=quartz-mill", &["quartz-mill"]),
        ("q=basalt+quartz", &["basalt"]),
        ("q=slow", &["granite"]),
        ("q=slowly", &["granite"]),
        ("q=quartz&kind=schedule&verified=false", &["quartz", "quartz-mill", "basalt", "granite"]),
        ("q=quartz&kind=kernel", &[]),
        ("q=quartz&verified=true", &[]),
        ("q=quartz&target=neon", &[]),
        ("q=%22%25_%27", &[]),
        ("q=nothing-like-it", &[]),
        ("", &["basalt", "granite", "quartz", "quartz-mill"]),
    ] {
        assert_eq!(names(&server, query), expected, "{query}");
    }
    // What is used more goes before what is used less, where both fit equally well.
    for _ in 0..20 {
        server.get(&format!("/v1/blob/{}", packs[0].archive.sha256)).is(200);
    }
    server.kill();
    let server = server.again();
    comes_to_find(&server, "q=quartz", &["quartz", "quartz-mill", "granite", "basalt"]);
    // The newest version is what is found.
    let newer = Pack::with("granite", "1.1.0", "", "one = 1\n");
    assert_eq!(server.publish(&session, &[newer])["state"], "published");
    assert_eq!(names(&server, "q=slowly"), [""; 0]);
    assert_eq!(names(&server, "q=answers"), ["granite"]);
}

#[test]
fn packs_are_found_on_sqlite() {
    is_searched(Vec::new());
}

/// A server that gives one answer to everything; its URL.
fn always(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ =
                (&stream).write_all(format!("{answer}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").as_bytes());
        }
    });
    url
}

/// Only who has no search is said to have none.
#[test]
fn a_registry_that_refuses_a_search_is_told_by_its_words() {
    for (answer, said) in [
        ("HTTP/1.1 429 Too Many Requests\r\nretry-after: 7", ["status 429 (Too Many Requests)", "for 7 s"]),
        ("HTTP/1.1 503 Service Unavailable\r\nretry-after: 30", ["status 503 (Service Unavailable)", "for 30 s"]),
        ("HTTP/1.1 403 Forbidden", ["status 403 (Forbidden)", "check the registry's URL"]),
    ] {
        let mut user = Sandbox::new();
        user.set("EXO_REGISTRY", &always(answer));
        let run = user.run(&["search", "stones"]).exits(3).says(&said);
        assert!(!run.stderr.contains("has no search"), "{}", run.stderr);
    }
    // The registry itself, which says it in its own form.
    let server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), vec![]);
    let mut user = Sandbox::new();
    user.set("EXO_REGISTRY", &server.url);
    user.run(&["search", "stones"]).exits(1).prints(&["no pack is about stones"]);
}
