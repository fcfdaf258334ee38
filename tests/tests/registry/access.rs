//! Every token right against every endpoint that changes something.

use serde_json::json;

use crate::server::{Pack, Server, declaration};

/// The endpoints that change something, and the right that each needs; `session` is no right that a token can have.
const CHANGES: &[(&str, &str, &str)] = &[
    ("PUT", "/api/v1/packs/base/1.0.0/yank", "yank"),
    ("DELETE", "/api/v1/packs/base/1.0.0/yank", "yank"),
    ("PUT", "/api/v1/packs/base/deprecation", "yank"),
    ("DELETE", "/api/v1/packs/base/deprecation", "yank"),
    ("PUT", "/api/v1/packs/base/owners/dan", "owners"),
    ("DELETE", "/api/v1/packs/base/owners/dan", "owners"),
    ("GET", "/api/v1/packs/base/audit", "owners"),
    ("GET", "/api/v1/tokens", "session"),
    ("DELETE", "/api/v1/tokens/none", "session"),
];

#[test]
fn a_token_does_what_it_is_for_and_nothing_else() {
    let server = Server::start();
    let ada = server.account("ada");
    let eve = server.account("eve");
    server.account("dan");
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    for right in ["publish-new", "publish-update", "yank", "owners"] {
        let good = server.token(&ada, &[right], &["ba*"]);
        let other_names = server.token(&ada, &[right], &["other-*"]);
        let stranger = server.token(&eve, &[right], &["*"]);
        for (method, path, needed) in CHANGES {
            let expected = if right == *needed { [204, 200] } else { [403, 403] };
            let status = server.send(method, path, &good, b"").status;
            assert!(expected.contains(&status), "{right} {method} {path}: {status}");
            for token in [&other_names, &stranger] {
                server.send(method, path, token, b"").is(403);
            }
            server.send(method, path, "", b"").is(401);
            server.send(method, path, "exo_unknown", b"").is(401);
        }
        for (pack, needed) in
            [(Pack::new("base", "1.0.1"), "publish-update"), (Pack::new("bazaar", "1.0.0"), "publish-new")]
        {
            let body = declaration(&[pack], false);
            let expected = if right == needed { 201 } else { 403 };
            server.post("/api/v1/publish", &good, &body).is(expected);
            server.post("/api/v1/publish", &other_names, &body).is(403);
            server.post("/api/v1/publish", "", &body).is(401);
        }
    }
    let token = json!({ "name": "t", "rights": ["admin"], "packs": ["*"], "expires_days": 1 });
    server.post("/api/v1/tokens", &ada, &token).is(403);
    server.send("DELETE", "/api/v1/packs/base/owners/ada", &ada, b"").is(409);
}

#[test]
fn guessing_passwords_is_slowed_down() {
    let server = Server::start();
    server.account("ada");
    let guess = json!({ "login": "ada", "password": "a wrong password" });
    let answers: Vec<u16> = (0..24).map(|_| server.post("/api/v1/login", "", &guess).status).collect();
    assert!(answers.contains(&429), "{answers:?}");
    assert!(answers.iter().all(|status| matches!(status, 401 | 429)));
}
