//! From an empty directory to a pack that a client can verify, and what happens to it afterwards.

use exo_tests::command_line::Sandbox;
use serde_json::json;

use crate::client;
use crate::server::{PASSWORD, Pack, Server};

/// What works on any database.
pub(crate) fn life_of_a_pack(server: &Server) {
    let session = server.account("ada");
    let token = server.token(&session, &["publish-new", "publish-update", "yank", "owners"], &["*"]);
    let before = client::trust(server, None);
    assert_eq!(before.pointer().unwrap().log_size, 0);
    let base = Pack::new("base", "1.0.0");
    let user = Pack::with("@ada/answers", "0.1.0", "base = \"1\"\n", "from base import one\nanswer = one + 41\n");
    let outcome = server.publish(&token, &[user.clone(), base.clone()]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    let trust = client::trust(server, Some(before));
    let (shard, files) = client::check(server, &trust, "@ada/answers");
    assert_eq!(shard.pack.owners, ["ada"]);
    assert_eq!(shard.versions[0].dependencies[0].name.as_str(), "base");
    assert_eq!(files.files["src/lib.exo"], b"from base import one\nanswer = one + 41\n");
    client::check(server, &trust, "base");

    // A second version, a yank and an owner: each is in the log, and the log only grows.
    let outcome = server.publish(&token, &[Pack::new("base", "1.0.1")]);
    assert_eq!((&outcome["state"], &outcome["packs"][0]["required_bump"]), (&json!("published"), &json!("patch")));
    let trust = client::trust(server, Some(trust));
    server.send("PUT", "/api/v1/packs/base/1.0.0/yank", &token, br#"{"reason": "wrong"}"#).is(204);
    server.account("eve");
    server.send("PUT", "/api/v1/packs/base/owners/eve", &token, b"").is(204);
    server.send("PUT", "/api/v1/packs/%40ada%2Fanswers/deprecation", &token, br#"{"reason": "old"}"#).is(204);
    let trust = client::trust(server, Some(trust));
    assert_eq!(trust.pointer().unwrap().log_size, 6);
    let (shard, _) = client::check(server, &trust, "base");
    assert_eq!(shard.versions[0].yanked.as_ref().unwrap().reason.as_deref(), Some("wrong"));
    assert_eq!(shard.pack.owners, ["ada", "eve"]);
    assert!(client::check(server, &trust, "@ada/answers").0.pack.deprecated.is_some());
    server.send("DELETE", "/api/v1/packs/base/1.0.0/yank", &token, b"").is(204);
    let trust = client::trust(server, Some(trust));
    assert!(client::check(server, &trust, "base").0.versions[0].yanked.is_none());
    questions(server, &token);
    assert!(server.operate("verify-all", &[]).contains("2 packs, 3 versions, 7 leaves"));
    assert!(server.operate("doctor", &[]).contains("blobs: ok"));
}

/// What can be asked of a pack.
fn questions(server: &Server, token: &str) {
    let found = server.get("/api/v1/search?q=BASE&kind=schedule").is(200).json();
    assert_eq!((&found["total"], &found["packs"][0]["name"]), (&json!(1), &json!("base")), "{found}");
    assert_eq!(found["packs"][0]["version"], "1.0.1");
    assert_eq!(server.get("/api/v1/search?q=answers").is(200).json()["total"], 2);
    assert_eq!(server.get("/api/v1/search?q=%25").is(200).json()["total"], 0);
    let shown = server.get("/api/v1/packs/%40ada%2Fanswers").is(200).json();
    assert_eq!(shown["versions"][0]["version"], "0.1.0");
    assert!(shown["downloads"].as_i64().unwrap() > 0);
    let dependants = server.get("/api/v1/packs/base/dependants").is(200).json();
    assert_eq!(dependants["dependants"][0]["name"], "@ada/answers");
    assert!(!server.get("/api/v1/packs/base/downloads").is(200).json()["downloads"].as_array().unwrap().is_empty());
    let events = server.send("GET", "/api/v1/packs/base/audit", token, b"").is(200).json();
    assert!(events["events"].as_array().unwrap().iter().any(|event| event["action"] == "yank"));
    let badge = server.get("/api/v1/packs/base/badge.svg").is(200);
    assert!(String::from_utf8(badge.bytes).unwrap().contains("base 1.0.1"));
    for path in ["/api/v1/feed.atom", "/api/v1/packs/base/feed.atom"] {
        let feed = server.get(path).is(200);
        assert!(feed.headers["content-type"].starts_with("application/atom+xml"));
        let feed = String::from_utf8(feed.bytes).unwrap();
        assert!(
            feed.contains("<title>base 1.0.1</title>")
                && feed.contains(&format!("<link href=\"{}/packs/base?version=1.0.1\"/>", server.url))
                && feed.contains(&format!("<link rel=\"self\" href=\"{}{path}\"/>", server.url)),
            "{feed}"
        );
    }
    let scoped = server.get("/api/v1/packs/%40ada%2Fanswers/feed.atom").is(200);
    assert!(!String::from_utf8(scoped.bytes).unwrap().contains("<title>base"));
    let metrics = String::from_utf8(server.get("/metrics").is(200).bytes).unwrap();
    for work in ["checker", "publish"] {
        assert!(metrics.contains(&format!("exo_registry_work_seconds_count{{work=\"{work}\"}}")), "{metrics}");
    }
    for line in [
        "exo_registry_request_seconds_count{method=\"PUT\",status=\"2xx\"}",
        "exo_registry_database_up 1\n",
        "exo_registry_publishes_waiting 0\n",
        "exo_registry_pointer_renewal_seconds 30",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    server.get("/api/v1/packs/nothing/feed.atom").is(404);
    server.get("/api/v1/packs/nothing").is(404);
}

#[test]
fn a_pack_lives_on_sqlite() {
    life_of_a_pack(&Server::start());
}

#[test]
fn the_first_account_is_made_by_the_code_once() {
    let server = Server::start();
    let code = server.code.clone().unwrap();
    // A replica that starts later prints a code of its own, and leaves the first one good until one of them is used.
    let second = server.again();
    let body = |login: &str, code: &str| json!({ "login": login, "password": PASSWORD, "code": code });
    server.post("/api/v1/accounts", "", &body("ada", "guess")).is(403);
    server.post("/api/v1/accounts", "", &json!({ "login": "ada", "password": "short", "code": code })).is(400);
    server.post("/api/v1/accounts", "", &body("ada", &code)).is(201);
    server.post("/api/v1/accounts", "", &body("eve", &code)).is(403);
    server.post("/api/v1/login", "", &json!({ "login": "ada", "password": "wrong password" })).is(401);
    server.post("/api/v1/accounts", "", &body("eve", &second.code.clone().unwrap())).is(403);
    let session = server.login("ada");
    let me = server.send("GET", "/api/v1/whoami", &session, b"").is(200).json();
    assert_eq!((&me["login"], &me["administrator"]), (&json!("ada"), &json!(true)));
    server.send("POST", "/api/v1/logout", &session, b"").is(204);
    server.send("GET", "/api/v1/whoami", &session, b"").is(401);
}

#[test]
fn files_are_served_with_tags() {
    let server = Server::start();
    let first = server.get("/v1/latest").is(200);
    assert_eq!(first.headers["cache-control"], "no-cache");
    server.send_with("GET", "/v1/latest", "", b"", &[("if-none-match", &first.headers["etag"])]).is(304);
    assert!(server.get("/v1/root/1.json").is(200).headers["cache-control"].contains("immutable"));
    for path in
        ["/v1/root/2.json", "/v1/../keys/root.key", "/v1/%2e%2e/keys/root.key", "/v1/", "/waiting/x", "/v1/shard"]
    {
        server.get(path).is(404);
    }
    server.get(&format!("/v1/blob/{}", "a".repeat(300))).is(404);
    server.get("/api/v1/ready").is(200);
    assert_eq!(server.get("/api/v1/openapi.json").is(200).json()["openapi"], "3.1.0");
    server.get("/metrics").is(200);
}

#[test]
fn parts_of_files_are_served() {
    let server = Server::start();
    let session = server.account("ada");
    let pack = Pack::new("base", "1.0.0");
    server.publish(&session, std::slice::from_ref(&pack));
    let (path, whole) = (format!("/v1/blob/{}", pack.archive.sha256), &pack.archive.bytes);
    let part = |range: &str| server.send_with("GET", &path, "", b"", &[("range", range)]);
    let first = part("bytes=0-9").is(206);
    assert_eq!(
        (&first.bytes[..], first.headers["content-range"].as_str()),
        (&whole[..10], format!("bytes 0-9/{}", whole.len()).as_str())
    );
    assert_eq!(part("bytes=10-").is(206).bytes, whole[10..]);
    assert_eq!(part("bytes=-3").is(206).bytes, whole[whole.len() - 3..]);
    let beyond = part(&format!("bytes={}-", whole.len())).is(416);
    assert_eq!(beyond.headers["content-range"], format!("bytes */{}", whole.len()));
    let tag = first.headers["etag"].clone();
    let resumed = |tag: &str| server.send_with("GET", &path, "", b"", &[("range", "bytes=1-"), ("if-range", tag)]);
    assert_eq!(resumed(&tag).is(206).bytes, whole[1..]);
    assert_eq!(resumed("\"another\"").is(200).bytes, *whole);
    // A download is an answer that holds all of the archive: here the last one, and one that names all of it as a part.
    let downloads = || server.get("/api/v1/packs/base").is(200).json()["downloads"].clone();
    assert_eq!(downloads(), 1);
    assert_eq!(part("bytes=0-").is(206).bytes, *whole);
    part("bytes=0-0").is(206);
    assert_eq!(downloads(), 2);
}

#[test]
fn a_dry_run_leaves_nothing() {
    let server = Server::start();
    let session = server.account("ada");
    let id = server.upload(&session, &[Pack::new("base", "1.0.0")], true);
    server.send("POST", &format!("/api/v1/publish/{id}/commit"), &session, b"").is(202);
    assert_eq!(server.outcome(&session, &id)["state"], "checked");
    assert!(client::shard(&server, &client::trust(&server, None), "base").is_none());
    assert!(server.files("v1/blob").is_empty());
    server.keeps_no_upload();
    assert_eq!(server.publish(&session, &[Pack::new("base", "1.0.0")])["state"], "published");
}

#[test]
fn a_publish_survives_the_death_of_the_server() {
    let mut server = Server::start();
    let session = server.account("ada");
    let mut pause = 0;
    for number in 0..4 {
        let id = server.upload(&session, &[Pack::new("base", &format!("1.0.{number}"))], false);
        server.send("POST", &format!("/api/v1/publish/{id}/commit"), &session, b"").is(202);
        std::thread::sleep(std::time::Duration::from_millis(pause));
        pause += 35;
        server.kill();
        server = server.again();
        let outcome = server.outcome(&session, &id);
        assert_eq!(outcome["state"], "published", "{outcome}");
        let trust = client::trust(&server, None);
        assert_eq!(client::check(&server, &trust, "base").0.versions.len(), number + 1);
    }
    server.operate("verify-all", &[]);
}

#[test]
fn an_exported_registry_is_complete() {
    let server = Server::start();
    let session = server.account("ada");
    assert_eq!(server.publish(&session, &[Pack::new("base", "1.0.0")])["state"], "published");
    let folder = tempfile::tempdir().unwrap();
    server.operate("export-static", &[folder.path().to_str().unwrap()]);
    for kind in ["root", "snap", "bucket", "shard", "blob", "verdict", "tile"] {
        assert!(folder.path().join("v1").join(kind).exists(), "{kind}");
    }
    assert_eq!(std::fs::read(folder.path().join("v1/latest")).unwrap(), server.get("/v1/latest").bytes);
}

/// Two people: one publishes to the server, the other adds by name, with the real client and a cache and trust of its own.
#[test]
fn a_user_adds_what_an_author_published() {
    let server = Server::start();
    let token = server.token(&server.account("ada"), &["publish-new"], &["*"]);
    assert_eq!(server.publish(&token, &[Pack::new("base", "1.0.0")])["state"], "published");
    let mut user = Sandbox::new();
    user.set("EXO_REGISTRY", &server.url);
    user.project("");
    user.run(&["add", "base"]).exits(0).says(&["is visited for the first time"]).prints(&["added base 1.0.0"]);
    assert!(user.read("work/Exo.lock").contains(&format!("source = \"registry+{}\"", server.url)));
    user.run(&["install", "--locked"]).exits(0);
}

/// Rows are committed before the pointer is shown. Whoever reads "published" finds the pack in the index all the same, also
/// where the server was killed in between.
#[test]
fn what_is_called_published_is_in_the_index() {
    let server = Server::start();
    let token = server.token(&server.account("ada"), &["publish-new"], &["*"]);
    let latest = server.path("files/v1/latest");
    let before = std::fs::read(&latest).unwrap();
    let id = server.upload(&token, &[Pack::new("base", "1.0.0")], false);
    server.send("POST", &format!("/api/v1/publish/{id}/commit"), &token, b"").is(202);
    assert_eq!(server.outcome(&token, &id)["state"], "published");
    std::fs::write(&latest, before).unwrap();
    assert_eq!(server.outcome(&token, &id)["state"], "published");
    client::check(&server, &client::trust(&server, None), "base");
}

/// However much a pack says while it is checked, what is kept of it and told has an end, of a dry run too.
#[test]
fn a_refusal_has_an_end() {
    let server = Server::start();
    let ada = server.account("ada");
    let loud = Pack::with("loud", "1.0.0", "", "fail(\"a\" * 3000000)\n");
    for dry_run in [false, true] {
        let id = server.upload(&ada, std::slice::from_ref(&loud), dry_run);
        server.send("POST", &format!("/api/v1/publish/{id}/commit"), &ada, b"").is(202);
        let outcome = server.outcome(&ada, &id);
        assert_eq!(outcome["state"], "refused", "{outcome}");
        let message = outcome["diagnostics"][1]["message"].as_str().unwrap();
        assert!(message.contains("aaaa") && message.ends_with("bytes more were cut off)"), "{message}");
        assert!(outcome.to_string().len() < 70_000, "{}", outcome.to_string().len());
    }
    assert!(server.count_rows("SELECT MAX(LENGTH(result)) AS n FROM publishes") < 70_000);
}
