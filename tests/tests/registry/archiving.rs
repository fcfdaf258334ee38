//! A pack that is no longer maintained: what is published stays as it is, nothing new is, and everybody is told.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::authors::{author, home, write_pack};
use crate::client;
use crate::server::{Pack, Server, declaration};

const ARCHIVAL: &str = "/api/v1/packs/base/archival";

/// What works on any database.
pub(crate) fn an_archived_pack_gets_no_new_versions(server: &Server) {
    let ada = server.account("ada");
    server.account("eve");
    for pack in [Pack::new("base", "1.0.0"), Pack::new("base", "1.0.1"), Pack::new("base-tiles", "1.0.0")] {
        assert_eq!(server.publish(&ada, &[pack])["state"], "published");
    }
    let begun = server.upload(&ada, &[Pack::new("base", "1.1.0")], false);
    let beyond_commit = server.upload(&ada, &[Pack::new("base", "1.2.0")], false);
    server.send("PUT", ARCHIVAL, &ada, br#"{"reason": "a", "replacement": "base-tiles"}"#).is(400);
    server.send("PUT", ARCHIVAL, &ada, "{\"reason\": \"\u{202e}txet\"}".as_bytes()).is(400);
    server.send("PUT", ARCHIVAL, &ada, br#"{"reason": "moved on"}"#).is(204);
    let trust = client::trust(server, None);
    let archived = client::check(server, &trust, "base").0.pack.archived.expect("it is signed into the index");
    assert_eq!(archived.reason.as_deref(), Some("moved on"));
    // Other words about it do not make it archived anew, and the same words are no news.
    server.change_rows("UPDATE packs SET entry = REPLACE(entry, '\"since\":', '\"since\":1') WHERE name = 'base'");
    server.send("PUT", ARCHIVAL, &ada, br#"{"reason": "gone fishing"}"#).is(204);
    let trust = client::trust(server, Some(trust));
    server.send("PUT", ARCHIVAL, &ada, br#"{"reason": "gone fishing"}"#).is(204);
    assert_eq!(client::trust(server, None).pointer().unwrap().version, trust.pointer().unwrap().version);
    let again = client::check(server, &trust, "base").0.pack.archived.unwrap();
    assert_eq!(
        (again.since, again.reason.as_deref()),
        (format!("1{}", archived.since).parse().unwrap(), Some("gone fishing"))
    );

    refuses_versions(server, &ada, &begun, &beyond_commit);
    // All else goes on.
    for (method, path) in
        [("PUT", "1.0.0/yank"), ("PUT", "owners/eve"), ("PUT", "deprecation"), ("DELETE", "owners/eve")]
    {
        server.send(method, &format!("/api/v1/packs/base/{path}"), &ada, b"").is(204);
    }
    is_told(server, &ada);
    server.send("DELETE", ARCHIVAL, &ada, b"").is(204);
    let shard = client::check(server, &client::trust(server, Some(trust)), "base").0;
    assert!(shard.pack.archived.is_none() && shard.pack.deprecated.is_some());
    server.send("DELETE", &format!("/api/v1/publish/{begun}"), &ada, b"").is(204);
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.1.0")])["state"], "published");
    server.operate("verify-all", &[]);
}

/// At each step of a publish: where it begins, where it is committed, and where it would become visible.
fn refuses_versions(server: &Server, ada: &str, begun: &str, beyond_commit: &str) {
    let all = declaration(&[Pack::new("other", "1.0.0"), Pack::new("base", "1.1.0")], false);
    let said = |refused: Value| {
        let error = &refused["error"];
        assert_eq!(error["hint"], "an owner takes that back with `exo archive --undo base`", "{refused}");
        error["message"].as_str().unwrap().to_owned()
    };
    let message = said(server.post("/api/v1/publish", ada, &all).is(409).json());
    assert!(message.starts_with("`base` is archived since "), "{message}");
    assert!(message.ends_with(", and gets no new versions: gone fishing"), "{message}");
    let committed = server.send("POST", &format!("/api/v1/publish/{begun}/commit"), ada, b"").is(409).json();
    assert_eq!(said(committed), message);
    server.change_rows(&format!("UPDATE publishes SET state = 'checking' WHERE id = '{beyond_commit}'"));
    let start = Instant::now();
    let refused = "SELECT COUNT(*) AS n FROM publishes WHERE state = 'refused' AND result LIKE '%is archived since%'";
    while server.count_rows(refused) == 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "it was not refused");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// In search, behind all others; in the audit log; in the feed.
fn is_told(server: &Server, ada: &str) {
    let found = server.get("/api/v1/search?q=ba").is(200).json();
    let seen = |pack: &Value| json!([pack["name"], pack["archived"], pack["deprecated"]]);
    let packs: Vec<Value> = found["packs"].as_array().unwrap().iter().map(seen).collect();
    assert_eq!(packs, [json!(["base-tiles", false, false]), json!(["base", true, true])]);
    let named = server.get("/api/v1/search?q=base").is(200).json();
    assert_eq!(named["packs"][0]["name"], "base", "the very name is first all the same");
    let events = server.send("GET", "/api/v1/packs/base/audit", ada, b"").is(200).json();
    let count =
        |action: &str| events["events"].as_array().unwrap().iter().filter(|event| event["action"] == action).count();
    assert_eq!((count("archive"), count("publish-refused")), (2, 1), "{events}");
    let feed = String::from_utf8(server.get("/api/v1/packs/base/feed.atom").is(200).bytes).unwrap();
    assert!(feed.contains("<title>base is archived</title>") && feed.contains("gone fishing"), "{feed}");
}

#[test]
fn nobody_publishes_what_is_archived() {
    an_archived_pack_gets_no_new_versions(&Server::start());
}

#[test]
fn authors_archive_a_pack_and_its_users_are_told() {
    let server = Server::start();
    let ada = author(&server, "ada");
    for name in ["base", "base-tiles"] {
        write_pack(&ada, "", name, "1.0.0", "", "one = 1\n");
        ada.run(&["publish"]).exits(0);
    }
    let user = home(&server);
    user.project("");
    user.run(&["add", "base"]).exits(0);
    ada.run(&["archive", "base", "--reason", "moved on", "--undo"]).exits(2);
    ada.run(&["archive", "base", "--reason", "moved on"])
        .exits(0)
        .prints(&["base is archived", "exo archive --undo base"]);
    write_pack(&ada, "", "base", "1.1.0", "", "one = 1\ntwo = 2\n");
    ada.run(&["publish"]).exits(1).says(&[
        "`base` is archived since 20",
        "no new versions: moved on",
        "`exo archive --undo base`",
    ]);

    let told = "`base 1.0.0` is locked, and `base` is archived since 20";
    user.run(&["install"]).exits(0).says(&[told, "and no longer maintained: moved on; `exo search` finds"]);
    user.run(&["check"]).exits(0).says(&[told]);
    user.run(&["outdated"]).exits(0).prints(&["locked: base is archived since 20"]);
    user.run(&["audit"]).exits(0).prints(&["base 1.0.0: archived since 20"]);
    user.run(&["audit", "--deny", "archived"]).exits(4).says(&["archived: base 1.0.0 (archived since 20"]);
    user.run(&["audit", "--deny", "deprecated"]).exits(0);
    user.run(&["info", "base"]).exits(0).prints(&["standing      archived since 20", "no longer maintained: moved on"]);
    let found = user.run(&["search", "about", "base"]).exits(0).stdout;
    let (tiles, base) = (found.find("base-tiles").unwrap(), found.find("[archived] About base").unwrap());
    assert!(tiles < base, "{found}");
    let found = user.run(&["search", "about", "--format", "json"]).exits(0).stdout;
    let found: Value = serde_json::from_str(&found).unwrap();
    let last = found.as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["name"], &last["archived"], &last["description"]),
        (&json!("base"), &json!(true), &json!("About base"))
    );

    // What is published is taken as before, with a word about it.
    let newcomer = home(&server);
    newcomer.project("");
    newcomer
        .run(&["add", "base"])
        .exits(0)
        .says(&["warning: `base` is archived since 20"])
        .prints(&["added base 1.0.0"]);
    newcomer.run(&["bundle", "-o", "../all"]).exits(0);
    let offline = home(&server);
    offline.project("");
    offline.write("work/Exo.toml", &newcomer.read("work/Exo.toml"));
    std::fs::copy(newcomer.path("all"), offline.path("all")).unwrap();
    offline.run(&["install", "--bundle", "../all"]).exits(0).says(&["`base` is archived since 20"]);
    ada.run(&["archive", "base", "--undo"]).exits(0).prints(&["base is no longer archived"]);
    ada.run(&["publish"]).exits(0).prints(&["base 1.1.0 published"]);
    user.run(&["update"]).exits(0);
    assert!(!user.run(&["install"]).exits(0).stderr.contains("archived"));
}
