//! Every token right against every endpoint that changes something.

use serde_json::json;

use crate::server::{PASSWORD, Pack, Server, declaration};

/// The endpoints that change something, and the right that each needs; `session` is no right that a token can have.
const CHANGES: &[(&str, &str, &str)] = &[
    ("PUT", "/api/v1/packs/base/1.0.0/yank", "yank"),
    ("DELETE", "/api/v1/packs/base/1.0.0/yank", "yank"),
    ("PUT", "/api/v1/packs/base/deprecation", "yank"),
    ("DELETE", "/api/v1/packs/base/deprecation", "yank"),
    ("PUT", "/api/v1/packs/base/archival", "yank"),
    ("DELETE", "/api/v1/packs/base/archival", "yank"),
    ("PUT", "/api/v1/packs/base/owners/dan", "owners"),
    ("DELETE", "/api/v1/packs/base/owners/dan", "owners"),
    ("GET", "/api/v1/packs/base/audit", "owners"),
    ("POST", "/api/v1/packs/base/advisories", "advisories"),
    ("PUT", "/api/v1/packs/base/advisories/CVE-1", "advisories"),
    ("DELETE", "/api/v1/packs/base/advisories/CVE-1", "advisories"),
    ("PUT", "/api/v1/packs/base/1.0.0/quarantine", "admin"),
    ("DELETE", "/api/v1/packs/base/1.0.0/quarantine", "admin"),
    ("GET", "/api/v1/reports", "admin"),
    ("DELETE", "/api/v1/reports/none", "admin"),
    ("DELETE", "/api/v1/packs/base/1.0.9", "session"),
    ("POST", "/api/v1/packs/base/report", "session"),
    ("GET", "/api/v1/tokens", "session"),
    ("DELETE", "/api/v1/tokens/none", "session"),
    ("GET", "/api/v1/account/second-factor", "session"),
    ("PUT", "/api/v1/organisations/lab/verification", "session"),
    ("DELETE", "/api/v1/organisations/lab/verification", "session"),
];

/// What has to be sent to an endpoint so that only a missing right stands in the way.
fn body(path: &str) -> &'static [u8] {
    match path {
        "/api/v1/packs/base/advisories" => {
            br#"{"id": "CVE-1", "versions": "<1.1", "severity": "high", "summary": "wrong sums"}"#
        }
        "/api/v1/packs/base/advisories/CVE-1" => br#"{"versions": "*", "severity": "low", "summary": "wrong sums"}"#,
        "/api/v1/packs/base/1.0.0/quarantine" => br#"{"reason": "steals"}"#,
        "/api/v1/packs/base/1.0.9" => br#"{"reason": "by mistake"}"#,
        "/api/v1/packs/base/report" => br#"{"kind": "malicious", "text": "it steals"}"#,
        _ => b"",
    }
}

#[test]
fn a_token_does_what_it_is_for_and_nothing_else() {
    let server = Server::start();
    let ada = server.account("ada");
    let eve = server.account("eve");
    server.account("dan");
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    for right in ["publish-new", "publish-update", "yank", "owners", "advisories"] {
        let good = server.token(&ada, &[right], &["ba*"]);
        let other_names = server.token(&ada, &[right], &["other-*"]);
        let stranger = server.token(&eve, &[right], &["*"]);
        for (method, path, needed) in CHANGES {
            let expected: &[u16] = if right == *needed { &[204, 200, 201] } else { &[403] };
            let body = if *method == "DELETE" && !path.ends_with("/1.0.9") { b"" } else { body(path) };
            let status = server.send(method, path, &good, body).status;
            assert!(expected.contains(&status), "{right} {method} {path}: {status}");
            for token in [&other_names, &stranger] {
                server.send(method, path, token, body).is(403);
            }
            server.send(method, path, "", body).is(401);
            server.send(method, path, "exo_unknown", body).is(401);
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

/// Tries to log in through a proxy that names the address it was asked from.
fn login_from(server: &Server, address: &str, login: &str, password: &str) -> u16 {
    let body = json!({ "login": login, "password": password }).to_string();
    server.send_with("POST", "/api/v1/login", "", body.as_bytes(), &[("x-forwarded-for", address)]).status
}

#[test]
fn nobody_is_kept_out_by_what_others_try() {
    let variables = vec![("EXO_REGISTRY_BEHIND_PROXY".to_owned(), "true".to_owned())];
    let server = Server::start_on(std::sync::Arc::new(tempfile::tempdir().unwrap()), variables);
    server.account("ada");
    let guesses: Vec<u16> =
        (0..24).map(|_| login_from(&server, "1.2.3.4, 192.0.2.66", "ada", "a wrong password")).collect();
    assert!(guesses.contains(&429), "{guesses:?}");
    assert_eq!(login_from(&server, "192.0.2.66", "ada", PASSWORD), 429, "the guesser is known by the last address");
    assert_eq!(login_from(&server, "192.0.2.1", "ada", PASSWORD), 200);
    // Guesses from everywhere make everybody wait, and nobody is locked out.
    for number in 0..30 {
        assert_eq!(login_from(&server, &format!("198.51.100.{number}"), "ada", "a wrong password"), 401);
    }
    let start = std::time::Instant::now();
    assert_eq!(login_from(&server, "192.0.2.2", "ada", PASSWORD), 200);
    assert!(start.elapsed() > std::time::Duration::from_millis(500), "{:?}", start.elapsed());
    // One address that tries many accounts comes to its own end, also where a minute ends in between.
    let mut tries =
        (0..150).map(|number| login_from(&server, "192.0.2.77", &format!("user{number}"), "a wrong password"));
    assert!(tries.any(|status| status == 429));
}

#[test]
fn without_a_proxy_a_header_moves_nobody() {
    let server = Server::start();
    server.account("ada");
    let guesses: Vec<u16> =
        (0..24).map(|number| login_from(&server, &format!("192.0.2.{number}"), "ada", "a wrong password")).collect();
    assert!(guesses.contains(&429), "{guesses:?}");
}
