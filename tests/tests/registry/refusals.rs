//! What the registry refuses, and that nothing of it is left behind.

use exo_index::digest::Sha256;
use serde_json::json;

use crate::client;
use crate::server::{Pack, Server, declaration};

/// Publishes what must be refused; gives the codes of the reasons.
fn refused(server: &Server, session: &str, packs: &[Pack]) -> Vec<String> {
    let blobs = server.files("v1/blob");
    let outcome = server.publish(session, packs);
    assert_eq!(outcome["state"], "refused", "{outcome}");
    assert_eq!(server.files("v1/blob"), blobs);
    server.keeps_no_upload();
    let reasons = outcome["diagnostics"].as_array().unwrap();
    reasons.iter().map(|reason| reason["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn packs_that_break_a_rule() {
    let server = Server::start();
    let session = server.account("ada");
    let mut hostile = Pack::new("hostile", "1.0.0");
    hostile.archive.bytes = b"not zstd at all".to_vec();
    hostile.archive.sha256 = Sha256::of(&hostile.archive.bytes);
    assert_eq!(refused(&server, &session, &[hostile]), ["compression"]);
    let mut renamed = Pack::new("base", "1.0.0");
    renamed.version = "1.0.1".to_owned();
    assert_eq!(refused(&server, &session, &[renamed]), ["declaration"]);
    let secret = Pack::with("leaky", "1.0.0", "", "# ok\nKEY = \"AKIAABCDEFGHIJ234567\"\n");
    assert_eq!(refused(&server, &session, &[secret]), ["publication"]);
    let lonely = Pack::with("lonely", "1.0.0", "nowhere = \"1\"\n", "one = 1\n");
    assert_eq!(refused(&server, &session, &[lonely]), ["dependencies"]);
    let wrong = Pack::with("wrong", "1.0.0", "", "one = \n");
    assert!(refused(&server, &session, &[wrong]).contains(&"checker".to_owned()));
    // One bad pack holds back the good one.
    let both = [Pack::new("good", "1.0.0"), Pack::with("bad", "1.0.0", "", "one = \n")];
    assert!(refused(&server, &session, &both).contains(&"checker".to_owned()));
    assert!(client::shard(&server, &client::trust(&server, None), "good").is_none());
}

#[test]
fn names_and_versions_that_are_taken() {
    let server = Server::start();
    let session = server.account("ada");
    assert_eq!(server.publish(&session, &[Pack::new("halide", "1.0.0")])["state"], "published");
    assert_eq!(refused(&server, &session, &[Pack::new("halide", "1.0.0")]), ["version"]);
    assert_eq!(refused(&server, &session, &[Pack::new("ha1ide", "1.0.0")]), ["name"]);
    assert_eq!(refused(&server, &session, &[Pack::new("registry", "1.0.0")]), ["name"]);
    // A number says that it is the next one of the same, which only who owns that says.
    assert_eq!(server.publish(&session, &[Pack::new("halide2", "1.0.0")])["state"], "published");
    let stranger = server.account("dan");
    let outcome = server.publish(&stranger, &[Pack::new("halide-v3", "1.0.0")]);
    let reason = &outcome["diagnostics"][0];
    assert_eq!(reason["message"], "the name `halide-v3` can be taken for `halide`: it differs in a number at the end");
    assert!(reason["hint"].as_str().unwrap().contains("behind a scope of yours"), "{reason}");
    let reserved = server.publish(&stranger, &[Pack::new("registry", "1.0.0")]);
    assert_eq!(reserved["diagnostics"][0]["hint"], "choose another name");
    // Two look-alikes that come together.
    let twins = [Pack::new("quantum", "1.0.0"), Pack::new("quantums", "1.0.0")];
    assert_eq!(refused(&server, &session, &twins), ["name"]);
    let eve = server.account("eve");
    server.post("/api/v1/publish", &eve, &declaration(&[Pack::new("halide", "1.1.0")], false)).is(403);
}

/// What an account began before it was closed is not published after that.
#[test]
fn a_closed_account_publishes_nothing() {
    let server = Server::start();
    let session = server.account("ada");
    let id = server.upload(&session, &[Pack::new("base", "1.0.0")], false);
    server.change_rows("UPDATE accounts SET disabled = 1 WHERE login = 'ada'");
    assert!(server.change_rows("UPDATE publishes SET state = 'checking'") == 1);
    let start = std::time::Instant::now();
    let refused =
        "SELECT COUNT(*) AS n FROM publishes WHERE state = 'refused' AND result LIKE '%was closed meanwhile%'";
    while server.count_rows(refused) == 0 {
        assert!(start.elapsed() < std::time::Duration::from_secs(30), "it was not refused: {id}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

#[test]
fn what_is_not_there_is_told_with_where_to_look() {
    let server = Server::start();
    let ada = server.account("ada");
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    let upload =
        format!("/api/v1/publish/{}/{}", server.upload(&ada, &[Pack::new("base", "1.0.1")], false), Sha256::of(b"x"));
    for (method, path, message, hint) in [
        ("GET", "/api/v1/packs/%40ada%2Fbaes", "there is no pack `@ada/baes`", "`/api/v1/search?q=baes`"),
        ("GET", "/api/v1/packs/bsae/1.0.0", "there is no pack `bsae`", "`exo search bsae`"),
        ("GET", "/api/v1/packs/base/1.0.7", "there is no `base 1.0.7`", "`/api/v1/packs/base` lists"),
        ("DELETE", "/api/v1/packs/base/1.0.7/yank", "there is no `base 1.0.7`", "`/api/v1/packs/base` lists"),
        ("DELETE", "/api/v1/packs/base/advisories/X-1", "`base` has no advisory `X-1`", "/packs/base/advisories`"),
        ("PUT", "/api/v1/packs/base/owners/eve", "there is no account `eve`", "signs up first"),
        ("DELETE", "/api/v1/packs/base/owners/eve", "`eve` does not own `base`", "`exo owner list base`"),
        ("GET", "/api/v1/organisations/lab", "there is no organisation `lab`", "`exo owner create @lab`"),
        ("DELETE", "/api/v1/tokens/x", "there is no such token of yours", "`/api/v1/tokens`"),
        ("DELETE", "/api/v1/account/sessions/x", "there is no such session of yours", "`/api/v1/account/sessions`"),
        ("GET", "/api/v1/publish/x", "there is no such publish of yours", "`POST /api/v1/publish`"),
        ("PUT", &upload, "no pack of this publish has that digest", "`missing`"),
        ("GET", "/api/v1/pack/base", "there is nothing at `/api/v1/pack/base`", "`/api/v1/openapi.json`"),
        ("GET", "/api/v2/packs/base", "there is nothing at `/api/v2/packs/base`", "`/api/v1/openapi.json`"),
        ("GET", "/v1/blob/x", "there is no file `/v1/blob/x`", "`/v1/latest`"),
        ("GET", "/v1/.%2e/keys", "no file of the index has such a name", "`/v1/latest`"),
    ] {
        let answer = server.send(method, path, &ada, b"").is(404).json();
        let said = |what: &str| answer["error"][what].as_str().unwrap_or_default().to_owned();
        assert!(said("message") == message && said("hint").contains(hint), "{method} {path}: {answer}");
    }
}

#[test]
fn uploads_that_are_not_what_was_declared() {
    let server = Server::start();
    let session = server.account("ada");
    let pack = Pack::new("base", "1.0.0");
    let answer =
        server.post("/api/v1/publish", &session, &declaration(std::slice::from_ref(&pack), false)).is(201).json();
    let id = answer["session"].as_str().unwrap();
    let path = format!("/api/v1/publish/{id}/{}", pack.archive.sha256);
    let whole = &pack.archive.bytes;
    server.send("PUT", &path, &session, &whole[..whole.len() - 1]).is(400);
    server.send("PUT", &format!("/api/v1/publish/{id}/{}", Sha256::of(b"other")), &session, b"other").is(404);
    assert!(server.files("waiting").is_empty());
    server.send("POST", &format!("/api/v1/publish/{id}/commit"), &session, b"").is(409);
    let eve = server.account("eve");
    server.send("PUT", &path, &eve, whole).is(404);
    server.send("PUT", &path, &session, whole).is(204);
    server.send("DELETE", &format!("/api/v1/publish/{id}"), &session, b"").is(204);
    assert!(server.files("waiting").is_empty());
    let huge = json!({ "packs": [{ "name": "base", "version": "1.0.0", "sha256": Sha256::of(b"").to_string(), "size": 1u64 << 40 }] });
    server.post("/api/v1/publish", &session, &huge).is(413);
}
