//! Each operation of the OpenAPI document once with success; [`crate::contract`] looks at what is answered.

use serde_json::json;

use crate::contract;
use crate::mails;
use crate::postgres::Cluster;
use crate::quarantine::administrator;
use crate::second_factor::Authenticator;
use crate::server::{PASSWORD, Pack, Server, in_database};

/// The accounts of a registry: their sessions.
struct People {
    root: String,
    ada: String,
}

fn accounts(server: &Server) -> People {
    let root = administrator(server);
    let ada = server.account("ada");
    server.account("eve");
    let get = |path: &str| server.send("GET", path, &ada, b"").is(200);
    get("/api/v1/whoami");
    get("/api/v1/account/second-factor");
    let changed = json!({ "old": PASSWORD, "new": PASSWORD }).to_string();
    server.send("PUT", "/api/v1/account/password", &ada, changed.as_bytes()).is(204);
    let email = json!({ "password": PASSWORD, "email": "ada@example.org" }).to_string();
    server.send("PUT", "/api/v1/account/email", &ada, email.as_bytes()).is(204);
    server.post("/api/v1/account/email/confirm", "", &json!({ "code": mails::code(server) })).is(200);
    get("/api/v1/account/email");
    let token = json!({ "name": "t", "rights": ["yank"], "packs": ["*"], "expires_days": 1 });
    let made = server.post("/api/v1/tokens", &ada, &token).is(201).json();
    get("/api/v1/tokens");
    server.send("DELETE", &format!("/api/v1/tokens/{}", made["id"].as_str().unwrap()), &ada, b"").is(204);
    get("/api/v1/account/audit");
    server.send("POST", "/api/v1/logout", &server.login("ada"), b"").is(204);
    server.login("ada");
    let sessions = server.send("GET", "/api/v1/account/sessions", &ada, b"").is(200).json();
    let sessions = sessions["sessions"].as_array().unwrap();
    let other = sessions.iter().find(|session| session["own"] == false).unwrap();
    let path = format!("/api/v1/account/sessions/{}", other["id"].as_str().unwrap());
    server.send("DELETE", &path, &ada, b"").is(204);
    People { root, ada }
}

fn second_factor(server: &Server, ada: &str) {
    let factor = "/api/v1/account/second-factor";
    let begun = server.post(factor, ada, &json!({ "password": PASSWORD })).is(201).json();
    let authenticator = Authenticator::of(begun["secret"].as_str().unwrap());
    let shown = json!({ "code": authenticator.codes[0] });
    server.post(&format!("{factor}/confirm"), ada, &shown).is(200);
    let shown = json!({ "password": PASSWORD, "code": authenticator.codes[1] });
    let codes = server.post(&format!("{factor}/recovery-codes"), ada, &shown).is(200).json();
    let shown = json!({ "password": PASSWORD, "code": codes["recovery_codes"][0] });
    server.send("DELETE", factor, ada, shown.to_string().as_bytes()).is(204);
}

fn packs(server: &Server, people: &People) {
    let ada = people.ada.as_str();
    let abandoned = server.upload(ada, &[Pack::new("other", "1.0.0")], false);
    server.send("DELETE", &format!("/api/v1/publish/{abandoned}"), ada, b"").is(204);
    assert_eq!(server.publish(ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    let next = Pack::with("base", "1.1.0", "", "one = 1\ndef two():\n    return 2\n");
    assert_eq!(
        server.publish(ada, &[next, Pack::with("user", "1.0.0", "base = \"1\"\n", "two = 2\n")])["state"],
        "published"
    );
    assert_eq!(server.publish(ada, &[Pack::with("broken", "1.0.0", "", "one = \n")])["state"], "refused");
    for path in [
        "base",
        "base/1.1.0",
        "base/1.0.0/diff/1.1.0",
        "base/owners",
        "base/dependants",
        "base/compatibility",
        "base/audit",
        "base/badge.svg",
        "base/feed.atom",
        "base/advisories.atom",
    ] {
        server.send("GET", &format!("/api/v1/packs/{path}"), ada, b"").is(200);
    }
    for (path, body) in [
        ("base/1.0.0/yank", r#"{"reason": "slow", "replacement": "base@1.1.0"}"#),
        ("base/deprecation", r#"{"reason": "old"}"#),
        ("base/archival", r#"{"reason": "moved on"}"#),
        ("base/owners/eve", ""),
    ] {
        server.send("PUT", &format!("/api/v1/packs/{path}"), ada, body.as_bytes()).is(204);
        server.get("/api/v1/packs/base").is(200);
        server.send("DELETE", &format!("/api/v1/packs/{path}"), ada, b"").is(204);
    }
    let advisory = json!({ "versions": "<1.1", "severity": "high", "summary": "wrong sums", "patched": ">=1.1" });
    let made = server.post("/api/v1/packs/base/advisories", ada, &advisory).is(201).json();
    let one = format!("/api/v1/packs/base/advisories/{}", made["id"].as_str().unwrap());
    server.send("PUT", &one, ada, advisory.to_string().as_bytes()).is(200);
    server.get("/api/v1/packs/base/advisories").is(200);
    server.get("/api/v1/packs/base").is(200);
    server.send("DELETE", &one, ada, b"").is(204);
}

fn guarding(server: &Server, people: &People) {
    let report = json!({ "kind": "wrong", "text": "lanes are swapped", "version": "1.0.0" });
    let made = server.post("/api/v1/packs/base/report", &people.ada, &report).is(201).json();
    server.send("GET", "/api/v1/reports", &people.root, b"").is(200);
    let path = format!("/api/v1/reports/{}", made["id"].as_str().unwrap());
    server.send("DELETE", &path, &people.root, b"").is(204);
    let held = "/api/v1/packs/base/1.0.0/quarantine";
    server.send("PUT", held, &people.root, br#"{"reason": "steals"}"#).is(204);
    server.get("/api/v1/packs/base/1.0.0").is(200);
    server.get("/api/v1/packs/base/1.0.0/diff/1.1.0").is(403);
    server.send("DELETE", held, &people.root, b"").is(204);
}

fn organisations(server: &Server, people: &People) {
    server.send("PUT", "/api/v1/organisations/lab", &people.ada, b"").is(201);
    let member = "/api/v1/organisations/lab/members/eve";
    server.send("PUT", member, &people.ada, br#"{"role": "publisher"}"#).is(204);
    server.get("/api/v1/organisations/lab").is(200);
    server.send("DELETE", member, &people.ada, b"").is(204);
    let verification = "/api/v1/organisations/lab/verification";
    server.send("PUT", verification, &people.root, b"").is(204);
    server.send("DELETE", verification, &people.root, b"").is(204);
    let events = server.send("GET", "/api/v1/organisations/lab/audit", &people.ada, b"").is(200).json();
    assert_eq!(events["events"].as_array().unwrap().len(), 5, "{events}");
}

/// What anybody reads, and all kinds of static files.
fn files(server: &Server) {
    for path in ["health", "ready", "feed.atom", "advisories.atom", "search?q=base&kind=schedule&verified=false&page=1"]
    {
        server.get(&format!("/api/v1/{path}")).is(200);
    }
    let document = server.get("/api/v1/openapi.json").is(200);
    assert_eq!(document.bytes, include_bytes!("../../../registry-server/src/api/openapi.json"));
    server.get("/metrics").is(200);
    for file in server.files("v1") {
        let root = server.path("files");
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap();
        server.get(&format!("/{path}")).is(200);
    }
    server.get("/api/v1/packs/base/downloads").is(200);
}

fn deletion(server: &Server, ada: &str) {
    server.send("DELETE", "/api/v1/packs/user/1.0.0", ada, br#"{"reason": "by mistake", "with_name": true}"#).is(204);
    server.get("/api/v1/packs/user").is(410);
}

fn whole(server: &Server) {
    let people = accounts(server);
    second_factor(server, &people.ada);
    packs(server, &people);
    guarding(server, &people);
    organisations(server, &people);
    files(server);
    deletion(server, &people.ada);
    let unseen = contract::unseen();
    assert!(unseen.is_empty(), "operations of which no success was seen: {unseen:?}");
}

#[test]
fn every_operation_answers_as_described() {
    whole(&Server::start());
}

#[test]
fn every_operation_answers_as_described_on_postgres() {
    let cluster = Cluster::start();
    whole(&Server::start_on(std::sync::Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}
