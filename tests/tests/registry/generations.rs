//! A change of what an account signs in with ends everything that was begun before it: sessions, sign-ins that wait for a code, and second
//! factors that wait to be confirmed. Who learnt a password, and is shut out by a change of it, has nothing left to go on with.

use std::sync::Arc;

use serde_json::json;

use crate::auditing::reset_password;
use crate::pages::{cookie, form, form_token, text};
use crate::postgres::Cluster;
use crate::second_factor::enrol;
use crate::server::{Answer, PASSWORD, Server, in_database, user};

/// A browser in which the password of `ada` was given, and no code yet.
struct Waiting {
    cookies: String,
    form_token: String,
}

impl Waiting {
    fn begin(server: &Server) -> Self {
        // A minute passes.
        server.change_rows("DELETE FROM limits");
        let entrance = server.get("/sign-in").is(200);
        let (before, form_token) = (cookie(&entrance), form_token(&text(&entrance)));
        let body = format!("form_token={form_token}&login=ada&password={}", PASSWORD.replace(' ', "+"));
        let half = form(server, "/sign-in", &before, &body).is(303);
        assert_eq!(half.headers["location"], "/sign-in/code");
        Self { cookies: format!("{before}; {}", cookie(&half)), form_token }
    }

    fn finish(&self, server: &Server, code: &str) -> Answer {
        form(server, "/sign-in/code", &self.cookies, &format!("form_token={}&code={code}", self.form_token))
    }

    /// Panics unless the right code is refused too, and not used up.
    fn is_over(&self, server: &Server, code: &str) {
        let said = text(&self.finish(server, code).is(401));
        assert!(said.contains("was changed since the password was given") && said.contains("ign in again"), "{said}");
    }
}

fn put(server: &Server, method: &str, path: &str, session: &str, body: &serde_json::Value) -> Answer {
    server.send(method, path, session, body.to_string().as_bytes())
}

/// What holds on any database.
fn nothing_outlives_a_change(server: &Server) {
    let session = server.account("ada");
    let (_, codes) = enrol(server, &session);
    let factor = "/api/v1/account/second-factor";
    let is_alive = |token: &str| server.send("GET", "/api/v1/whoami", token, b"").status == 200;
    let other = |code: &str| {
        let body = json!({ "login": "ada", "password": PASSWORD, "totp": code });
        server.post("/api/v1/login", "", &body).is(200).json()["token"].as_str().unwrap().to_owned()
    };

    // New recovery codes.
    let (stolen, waiting) = (other(&codes[0]), Waiting::begin(server));
    let body = json!({ "password": PASSWORD, "code": codes[1] });
    let renewed = server.post(&format!("{factor}/recovery-codes"), &session, &body).is(200).json();
    let codes: Vec<String> = serde_json::from_value(renewed["recovery_codes"].clone()).unwrap();
    waiting.is_over(server, &codes[0]);
    assert!(is_alive(&session) && !is_alive(&stolen));

    // Another password, and the same one again, as a reset may have it.
    let (stolen, waiting) = (other(&codes[1]), Waiting::begin(server));
    let body = json!({ "old": PASSWORD, "new": PASSWORD });
    put(server, "PUT", "/api/v1/account/password", &session, &body).is(204);
    waiting.is_over(server, &codes[0]);
    assert!(is_alive(&session) && !is_alive(&stolen));
    let waiting = Waiting::begin(server);
    assert!(reset_password(server, "ada", PASSWORD, &[]).contains("signed out everywhere"));
    waiting.is_over(server, &codes[0]);
    assert!(!is_alive(&session));

    // The second factor off by its owner, and on again, so that a code would be good.
    let (session, stolen, waiting) = (other(&codes[2]), other(&codes[3]), Waiting::begin(server));
    put(server, "DELETE", factor, &session, &json!({ "password": PASSWORD, "code": codes[4] })).is(204);
    assert!(is_alive(&session) && !is_alive(&stolen));
    let (_, codes) = enrol(server, &session);
    waiting.is_over(server, &codes[0]);

    // And by who runs the registry.
    let waiting = Waiting::begin(server);
    user(server, &["reset-second-factor", "ada"]);
    assert!(!is_alive(&session));
    let session = server.login("ada");
    let (_, codes) = enrol(server, &session);
    waiting.is_over(server, &codes[0]);

    // A closed account finishes nothing.
    let waiting = Waiting::begin(server);
    user(server, &["disable", "ada"]);
    waiting.is_over(server, &codes[0]);

    // No code was used up by who had nothing but the old password.
    assert_eq!(server.count_rows("SELECT COUNT(*) AS n FROM recovery_codes"), 10);
    assert_eq!(server.count_rows("SELECT failures AS n FROM second_factors"), 0);
}

#[test]
fn nothing_outlives_a_change_of_what_an_account_signs_in_with() {
    nothing_outlives_a_change(&Server::start());
}

#[test]
fn nothing_outlives_a_change_on_postgres() {
    let cluster = Cluster::start();
    nothing_outlives_a_change(&Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

/// Whoever had the password for a moment may have begun a second factor, whose secret they know.
#[test]
fn a_second_factor_that_waits_ends_with_the_password() {
    let server = Server::start();
    let session = server.account("ada");
    let begun = server.post("/api/v1/account/second-factor", &session, &json!({ "password": PASSWORD })).is(201).json();
    let authenticator = crate::second_factor::Authenticator::of(begun["secret"].as_str().unwrap());
    reset_password(&server, "ada", PASSWORD, &[]);
    let confirm = json!({ "code": authenticator.codes[0] });
    server.post("/api/v1/account/second-factor/confirm", &session, &confirm).is(401);
    let owner = server.login("ada");
    let said = server.post("/api/v1/account/second-factor/confirm", &owner, &confirm).is(409).json();
    assert_eq!(said["error"]["message"], "no second factor was begun");
}
