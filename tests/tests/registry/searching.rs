//! Search: what is found by which words, in which order, and how use changes it.

use std::sync::Arc;
use std::time::{Duration, Instant};

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
