//! The second factor of an account: codes, recovery codes, and what is asked for before something that a stolen session must not do.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use totp_rs::{Builder, Secret, Totp};

use crate::authors::{author, home, typed, write_pack};
use crate::pages::{cookie, form, form_token, has, text, with_cookie};
use crate::server::{Answer, PASSWORD, Pack, Server, operate_on};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// An authenticator that was told a secret.
pub(crate) struct Authenticator {
    totp: Totp,
    /// The code of the step before, of this one, and of the next: all are good, once, in this order.
    pub(crate) codes: [String; 3],
}

impl Authenticator {
    /// With codes that are good for the next 15 seconds at least; it waits until that is so.
    pub(crate) fn of(secret: &str) -> Self {
        let left = 30 - now() % 30;
        if left < 16 {
            std::thread::sleep(Duration::from_secs(left + 1));
        }
        let totp = Builder::new().with_secret(Secret::try_from_base32(secret).unwrap()).build().unwrap();
        let codes = [now() - 30, now(), now() + 30].map(|time| totp.generate(time).to_string());
        Self { totp, codes }
    }

    /// A code of no step around this one.
    pub(crate) fn wrong(&self) -> String {
        let near: Vec<String> = (0..9).map(|step| self.totp.generate(now() + 30 * step - 120).to_string()).collect();
        (0..).map(|number| format!("{number:06}")).find(|code| !near.contains(code)).unwrap()
    }
}

fn login(server: &Server, code: Option<&str>) -> Answer {
    server.post("/api/v1/login", "", &json!({ "login": "ada", "password": PASSWORD, "totp": code }))
}

fn words(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Switches it on; gives the authenticator, whose first code is used, and the recovery codes.
pub(crate) fn enrol(server: &Server, session: &str) -> (Authenticator, Vec<String>) {
    let begun = server.post("/api/v1/account/second-factor", session, &json!({ "password": PASSWORD })).is(201).json();
    let authenticator = Authenticator::of(begun["secret"].as_str().unwrap());
    let code = json!({ "code": authenticator.codes[0] });
    let on = server.post("/api/v1/account/second-factor/confirm", session, &code).is(200).json();
    (authenticator, words(&on["recovery_codes"]))
}

/// What holds on any database.
pub(crate) fn life(server: &Server) {
    let session = server.account("ada");
    let factor = "/api/v1/account/second-factor";
    let confirm = format!("{factor}/confirm");
    assert_eq!(server.send("GET", factor, &session, b"").is(200).json(), json!({ "on": false, "recovery_codes": 0 }));
    server.post(&confirm, &session, &json!({ "code": "000000" })).is(409);
    server.post(factor, &session, &json!({ "password": "a wrong password" })).is(403);
    server.post(factor, &server.token(&session, &["owners"], &["*"]), &json!({ "password": PASSWORD })).is(403);
    let begun = server.post(factor, &session, &json!({ "password": PASSWORD })).is(201).json();
    let (uri, secret) = (begun["uri"].as_str().unwrap(), begun["secret"].as_str().unwrap());
    assert!(uri.starts_with("otpauth://totp/localhost:ada?secret=") && uri.contains(secret), "{uri}");
    let authenticator = Authenticator::of(secret);
    server.post(&confirm, &session, &json!({ "code": authenticator.wrong() })).is(403);
    // Until a code was shown, the password is enough.
    login(server, None).is(200);
    let on = server.post(&confirm, &session, &json!({ "code": authenticator.codes[0] })).is(200).json();
    let recovery = words(&on["recovery_codes"]);
    assert!(recovery.len() == 10 && recovery.iter().all(|code| code.len() == 19), "{recovery:?}");
    server.post(factor, &session, &json!({ "password": PASSWORD })).is(409);
    assert_eq!(server.send("GET", factor, &session, b"").is(200).json(), json!({ "on": true, "recovery_codes": 10 }));

    // What is stored gives nobody a code.
    let told = [secret.to_owned(), recovery[0].clone(), recovery[0].replace('-', "")];
    let stored = format!("SELECT COUNT(*) AS n FROM second_factors WHERE secret LIKE '%{}%'", told[0]);
    assert_eq!(server.count_rows(&stored), 0);
    for code in &told[1..] {
        assert_eq!(
            server.count_rows(&format!("SELECT COUNT(*) AS n FROM recovery_codes WHERE hash LIKE '%{code}%'")),
            0
        );
    }

    let refused = login(server, None).is(403).json();
    assert_eq!(refused["error"]["code"], "second-factor");
    server
        .post(
            "/api/v1/login",
            "",
            &json!({ "login": "ada", "password": "wrong password", "totp": authenticator.codes[1] }),
        )
        .is(401);
    // A minute passes.
    server.change_rows("DELETE FROM limits");
    login(server, Some(&authenticator.codes[0])).is(403);
    login(server, Some(&authenticator.codes[1])).is(200);
    assert_eq!(login(server, Some(&authenticator.codes[1])).is(403).json()["error"]["code"], "second-factor");
    let spaced = format!("{} {}", &authenticator.codes[2][..3], &authenticator.codes[2][3..]);
    login(server, Some(&spaced)).is(200);
    // A minute passes.
    server.change_rows("DELETE FROM limits");
    login(server, Some(&recovery[0])).is(200);
    login(server, Some(&recovery[0])).is(403);
    login(server, Some("")).is(403);
    assert_eq!(server.count_rows("SELECT COUNT(*) AS n FROM audit WHERE action = 'second-factor-refused'"), 2);

    // A minute passes.
    server.change_rows("DELETE FROM limits");
    let off = |password: &str, code: &str| {
        let body = json!({ "password": password, "code": code }).to_string();
        server.send("DELETE", factor, &session, body.as_bytes()).status
    };
    assert_eq!(off("a wrong password", &recovery[1]), 403);
    assert_eq!(off(PASSWORD, "abcd-abcd-abcd-abcd"), 403);
    let body = json!({ "password": PASSWORD, "code": recovery[1] });
    let renewed =
        words(&server.post(&format!("{factor}/recovery-codes"), &session, &body).is(200).json()["recovery_codes"]);
    assert_eq!(off(PASSWORD, &recovery[2]), 403, "the codes of before");
    assert_eq!(off(PASSWORD, &renewed[0]), 204);
    login(server, None).is(200);
}

#[test]
fn a_second_factor_is_needed_once_it_is_on() {
    life(&Server::start());
}

#[test]
fn guessing_codes_is_slowed_down_and_recovery_codes_still_work() {
    let variables = vec![("EXO_REGISTRY_BEHIND_PROXY".to_owned(), "true".to_owned())];
    let server = Server::start_on(std::sync::Arc::new(tempfile::tempdir().unwrap()), variables);
    let session = server.account("ada");
    let (authenticator, recovery) = enrol(&server, &session);
    let try_from = |address: usize, code: &str| {
        let body = json!({ "login": "ada", "password": PASSWORD, "totp": code }).to_string();
        let from = format!("192.0.2.{address}");
        server.send_with("POST", "/api/v1/login", "", body.as_bytes(), &[("x-forwarded-for", &from)]).status
    };
    // From many places, which no limit of one address holds back.
    let guesses: Vec<u16> = (0..8).map(|place| try_from(place, &authenticator.wrong())).collect();
    assert_eq!(guesses, [403, 403, 403, 403, 403, 429, 429, 429]);
    assert_eq!(try_from(99, &authenticator.codes[1]), 429);
    assert_eq!(try_from(98, &recovery[3]), 200);
    // Time passes.
    assert_eq!(server.change_rows("UPDATE second_factors SET blocked_until = blocked_until - 60"), 1);
    assert_eq!(try_from(97, &authenticator.codes[1]), 200);
    assert_eq!(server.count_rows("SELECT failures AS n FROM second_factors"), 0);
}

/// What a session that somebody stole may not do without a code, once it is some minutes old.
#[test]
fn a_stolen_session_makes_no_token() {
    let server = Server::start();
    let session = server.account("ada");
    server.account("eve");
    server.account("dan");
    assert_eq!(server.publish(&session, &[Pack::new("base", "1.0.0")])["state"], "published");
    server.send("PUT", "/api/v1/packs/base/owners/eve", &session, b"").is(204);
    server.send("PUT", "/api/v1/organisations/lab", &session, b"").is(201);
    server.send("PUT", "/api/v1/organisations/lab/members/eve", &session, br#"{"role": "owner"}"#).is(204);
    let machine = server.token(&session, &["owners"], &["*"]);
    let (authenticator, recovery) = enrol(&server, &session);
    let token = json!({ "name": "t", "rights": ["yank"], "packs": ["*"], "expires_days": 1 }).to_string();
    let password = json!({ "old": PASSWORD, "new": "another long password" }).to_string();
    let acts: [(&str, &str, &str, u16); 7] = [
        ("POST", "/api/v1/tokens", &token, 201),
        ("PUT", "/api/v1/packs/base/owners/dan", "", 204),
        ("PUT", "/api/v1/organisations/lab/members/dan", r#"{"role": "publisher"}"#, 204),
        ("DELETE", "/api/v1/packs/base/owners/eve", "", 204),
        ("PUT", "/api/v1/organisations/lab/members/eve", r#"{"role": "publisher"}"#, 204),
        ("DELETE", "/api/v1/organisations/lab/members/eve", "", 204),
        ("PUT", "/api/v1/account/password", &password, 204),
    ];
    // Right after logging in nobody is asked.
    server.token(&session, &["yank"], &["*"]);
    let age = || server.change_rows("UPDATE tokens SET expires = expires - 700 WHERE session = 1");
    assert!(age() >= 1);
    let codes = [&authenticator.codes[1]].into_iter().chain(&recovery[..6]);
    for ((method, path, body, status), code) in acts.into_iter().zip(codes) {
        let send = |code: &str| {
            let headers = [("exo-code", code)];
            let headers = if code.is_empty() { &headers[..0] } else { &headers[..] };
            server.send_with(method, path, &session, body.as_bytes(), headers)
        };
        assert_eq!(send("").is(403).json()["error"]["code"], "second-factor", "{path}");
        send("aaaa-aaaa-aaaa-aaaa").is(403);
        send(code).is(status);
    }
    // A token was made by who had a code, and works on its own.
    server.send("PUT", "/api/v1/packs/base/owners/eve", &machine, b"").is(204);
    server.send("DELETE", "/api/v1/packs/base/owners/eve", &machine, b"").is(204);
    login(&server, Some(&recovery[6])).is(401);
}

/// Who has a stolen session and guesses codes loses the session; the owner is kept out of nothing.
#[test]
fn guesses_in_a_session_end_that_session_and_no_other() {
    let server = Server::start();
    let session = server.account("ada");
    let before = server.login("ada");
    let (authenticator, recovery) = enrol(&server, &session);
    server.send("GET", "/api/v1/whoami", &before, b"").is(401);
    server.send("GET", "/api/v1/whoami", &session, b"").is(200);
    let stolen = login(&server, Some(&recovery[0])).is(200).json()["token"].as_str().unwrap().to_owned();
    assert!(server.change_rows("UPDATE tokens SET expires = expires - 700 WHERE session = 1") >= 2);
    let make = |session: &str, code: &str| {
        let token = json!({ "name": code, "rights": ["yank"], "packs": ["*"], "expires_days": 1 }).to_string();
        server.send_with("POST", "/api/v1/tokens", session, token.as_bytes(), &[("exo-code", code)]).status
    };
    let guesses: Vec<u16> = (0..7).map(|_| make(&stolen, &authenticator.wrong())).collect();
    assert_eq!(guesses, [403, 403, 403, 403, 403, 401, 401]);
    server.send("GET", "/api/v1/whoami", &stolen, b"").is(401);
    assert_eq!(make(&session, &authenticator.codes[1]), 201, "the owner's right code is taken at once");
    assert_eq!(make(&session, &authenticator.wrong()), 403);
    login(&server, Some(&recovery[1])).is(200);
    login(&server, Some(&authenticator.codes[2])).is(200);
}

/// An administrator with a second factor puts versions into quarantine on the page too.
#[test]
fn the_page_of_reports_asks_for_a_code() {
    let server = Server::start();
    let root = json!({ "login": "ada", "password": PASSWORD, "code": server.code });
    server.post("/api/v1/accounts", "", &root).is(201);
    let session = server.login("ada");
    server.publish(&session, &[Pack::new("base", "1.0.0")]);
    let (_, recovery) = enrol(&server, &session);
    let cookie = with_cookie_of(&server, &recovery[0]);
    server.change_rows("UPDATE tokens SET expires = expires - 700 WHERE session = 1");
    let page = text(&with_cookie(&server, "/reports", &cookie).is(200));
    has(&page, &["id=\"hold-code\""]);
    let token = form_token(&page);
    let hold = |more: &str| {
        form(&server, "/reports/quarantine", &cookie, &format!("form_token={token}&pack=base&version=1.0.0{more}"))
    };
    has(&text(&hold("&reason=steals").is(403)), &["needs a code of your second factor", "value=\"steals\""]);
    hold(&format!("&reason=steals&second_factor={}", recovery[1])).is(303);
    has(&text(&with_cookie(&server, "/reports", &cookie).is(200)), &["id=\"code-0\""]);
    hold(&format!("&second_factor={}", recovery[2])).is(303);
}

#[test]
fn a_new_password_ends_other_sessions() {
    let server = Server::start();
    let (session, other) = (server.account("ada"), server.login("ada"));
    let token = server.token(&session, &["yank"], &["*"]);
    let change = |old: &str, new: &str, session: &str| {
        server.send(
            "PUT",
            "/api/v1/account/password",
            session,
            json!({ "old": old, "new": new }).to_string().as_bytes(),
        )
    };
    change("a wrong password", "another long password", &session).is(403);
    change(PASSWORD, "short", &session).is(400);
    change(PASSWORD, "another long password", &token).is(403);
    change(PASSWORD, "another long password", &session).is(204);
    server.send("GET", "/api/v1/whoami", &session, b"").is(200);
    server.send("GET", "/api/v1/whoami", &token, b"").is(200);
    server.send("GET", "/api/v1/whoami", &other, b"").is(401);
    login(&server, None).is(401);
    server.post("/api/v1/login", "", &json!({ "login": "ada", "password": "another long password" })).is(200);
}

#[test]
fn who_runs_the_registry_resets_a_second_factor() {
    let server = Server::start();
    enrol(&server, &server.account("ada"));
    enrol(&server, &server.account("eve"));
    login(&server, None).is(403);
    let user = |arguments: &[&str]| {
        let mut command = std::process::Command::new(crate::server::program());
        command.arg("user").args(arguments).arg("--data").arg(server.folder.path());
        let output = command.output().unwrap();
        (
            output.status.success(),
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
        )
    };
    assert!(user(&["list"]).1.contains("ada second-factor"));
    let (good, said) = user(&["reset-second-factor", "ada"]);
    assert!(good && said.contains("`ada` logs in with the password alone"), "{said}");
    login(&server, None).is(200);
    let (good, said) = user(&["reset-second-factor", "ada"]);
    assert!(!good && said.contains("`ada` has no second factor"), "{said}");
    // A lost key is said, and is no dead end.
    std::fs::remove_file(server.path("keys/sealing.key")).unwrap();
    let said = operate_on(server.folder.path(), &[], "doctor", &[]).unwrap_err();
    assert!(said.contains("copy `keys/`") && said.contains("reset-second-factor --all"), "{said}");
    let (good, said) = user(&["reset-second-factor", "--all"]);
    assert!(good && said.contains("`eve` logs in"), "{said}");
    server.operate("doctor", &[]);
}

#[test]
fn the_command_line_asks_for_a_code() {
    let server = Server::start();
    let ada = author(&server, "ada");
    let (authenticator, recovery) = enrol(&server, &server.login("ada"));
    // Sessions of before the second factor have ended.
    ada.run(&["token", "list"]).exits(1).says(&["unknown, or was taken back"]);
    typed(&ada, &["login", "ada", "--code", &recovery[5]], PASSWORD).exits(0);
    server.change_rows("DELETE FROM limits");
    let fresh = home(&server);
    typed(&fresh, &["login", "ada"], PASSWORD).exits(2).says(&[
        "has a second factor",
        "--code CODE",
        "second line of standard input",
    ]);
    typed(&fresh, &["login", "ada"], &format!("{PASSWORD}\n{}", authenticator.wrong()))
        .exits(1)
        .says(&["the code is wrong"]);
    typed(&fresh, &["login", "ada"], &format!("{PASSWORD}\n{}", authenticator.codes[1])).exits(0).prints(&["as ada"]);
    typed(&fresh, &["login", "ada", "--code", &authenticator.codes[1]], PASSWORD)
        .exits(1)
        .says(&["or was used already"]);
    server.change_rows("DELETE FROM limits");
    typed(&fresh, &["login", "ada", "--code", &recovery[0]], PASSWORD).exits(0);
    write_pack(&ada, "", "base", "1.0.0", "", "one = 1\n");
    ada.run(&["publish"]).exits(0);
    server.account("eve");
    ada.run(&["owner", "add", "base", "eve"]).exits(0);
    server.change_rows("UPDATE tokens SET expires = expires - 700 WHERE session = 1");
    let token = ["token", "create", "ci", "--right", "yank", "--for", "*"];
    ada.run(&token).exits(1).says(&["a code of your second factor", "--code CODE"]);
    ada.run(&[&token[..], &["--code", &recovery[1]]].concat()).exits(0);
    ada.run(&["owner", "remove", "base", "eve"]).exits(1).says(&["--code CODE"]);
    ada.run(&["owner", "remove", "base", "eve", "--code", &recovery[2]]).exits(0);
}

/// The pages without a browser: half a session is none, and codes are asked for where the API asks.
#[test]
fn pages_ask_for_a_code() {
    let server = Server::start();
    let (authenticator, recovery) = enrol(&server, &server.account("ada"));
    let entrance = server.get("/sign-in").is(200);
    let (before, token) = (cookie(&entrance), form_token(&text(&entrance)));
    let body = format!("form_token={token}&login=ada&password={}", PASSWORD.replace(' ', "+"));
    let half = form(&server, "/sign-in", &before, &body).is(303);
    assert_eq!(half.headers["location"], "/sign-in/code");
    let half = cookie(&half);
    assert!(half.starts_with("__Host-exo_half="));
    // It opens nothing.
    assert_eq!(with_cookie(&server, "/account", &half).is(303).headers["location"], "/sign-in");
    let stolen = half.split_once('=').unwrap().1;
    assert_eq!(with_cookie(&server, "/account", &format!("__Host-exo_session={stolen}")).is(303).status, 303);
    server.send("GET", "/api/v1/whoami", stolen, b"").is(401);
    let both = format!("{before}; {half}");
    has(&text(&with_cookie(&server, "/sign-in/code", &both).is(200)), &["One more step"]);
    let code =
        |code: &str, cookies: &str| form(&server, "/sign-in/code", cookies, &format!("form_token={token}&code={code}"));
    has(&text(&code(&authenticator.wrong(), &both).is(403)), &["The code is wrong"]);
    text(&code(&authenticator.codes[1], &before).is(401));
    let damaged = format!("{before}; {}x", half);
    text(&code(&authenticator.codes[1], &damaged).is(401));
    let inside = code(&authenticator.codes[1], &both).is(303);
    assert_eq!(inside.headers["location"], "/account?kept=1");
    text(&code(&authenticator.codes[1], &both).is(403));
    let sessions = "SELECT COUNT(*) AS n FROM tokens WHERE session = 1";
    assert_eq!(server.count_rows(sessions), 2);

    let session = with_cookie_of(&server, &recovery[0]);
    let page = text(&with_cookie(&server, "/account", &session).is(200));
    assert!(!page.contains("Code of your second factor"));
    let own = form_token(&page);
    server.change_rows("UPDATE tokens SET expires = expires - 700 WHERE session = 1");
    has(&text(&with_cookie(&server, "/account", &session).is(200)), &["Code of your second factor"]);
    let made = |code: &str| {
        let body = format!("form_token={own}&name=t&yank=on&packs=*&days=1&second_factor={code}");
        form(&server, "/account/tokens", &session, &body)
    };
    has(&text(&made("").is(403)), &["needs a code of your second factor", "value=\"t\""]);
    has(&text(&made(&recovery[1]).is(200)), &["Your new token"]);
    let change = |more: &str| {
        let old = PASSWORD.replace(' ', "+");
        form(&server, "/account/password", &session, &format!("form_token={own}&password={old}&{more}"))
    };
    has(&text(&change("new_password=another+password&again=another+passwort").is(400)), &["passwords differ"]);
    text(&change("new_password=another+password&again=another+password").is(403));
    let body = format!("new_password=another+password&again=another+password&second_factor={}", recovery[2]);
    has(&text(&change(&body).is(200)), &["The password is changed", "The password was changed"]);
    for path in [
        "/account/second-factor",
        "/account/second-factor/confirm",
        "/account/second-factor/codes",
        "/account/second-factor/off",
        "/account/password",
    ] {
        text(&form(&server, path, &session, "form_token=other").is(403));
        text(&form(&server, path, "", &format!("form_token={own}")).is(403));
    }
}

/// A session of `ada` by the pages.
fn with_cookie_of(server: &Server, code: &str) -> String {
    let entrance = server.get("/sign-in").is(200);
    let (before, token) = (cookie(&entrance), form_token(&text(&entrance)));
    let body = format!("form_token={token}&login=ada&password={}", PASSWORD.replace(' ', "+"));
    let half = cookie(&form(server, "/sign-in", &before, &body).is(303));
    let body = format!("form_token={token}&code={code}");
    let answer = form(server, "/sign-in/code", &format!("{before}; {half}"), &body).is(303);
    answer.headers["set-cookie"].split(';').next().unwrap().to_owned()
}

/// The key that seals second factors goes with a backup; a backup of before there were any restores as it always did.
#[test]
fn a_second_factor_comes_back_from_a_backup() {
    let mut server = Server::start();
    let (authenticator, recovery) = enrol(&server, &server.account("ada"));
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("backup");
    server.operate("backup", &[backup.to_str().unwrap()]);
    server.kill();
    let restored = |name: &str| {
        let place = std::sync::Arc::new(tempfile::tempdir_in(folder.path()).unwrap());
        operate_on(place.path(), &[], "restore", &[backup.to_str().unwrap()])
            .unwrap_or_else(|said| panic!("{name}: {said}"));
        Server::start_on(place, Vec::new())
    };
    let again = restored("whole");
    login(&again, None).is(403);
    login(&again, Some(&authenticator.codes[1])).is(200);
    login(&again, Some(&recovery[0])).is(200);
    let list = backup.join("backup.json");
    let mut contents: Value = serde_json::from_slice(&std::fs::read(&list).unwrap()).unwrap();
    for path in ["keys/sealing.key", "rows/sealing.jsonl", "rows/second_factors.jsonl", "rows/recovery_codes.jsonl"] {
        assert!(contents["files"].as_object_mut().unwrap().remove(path).is_some(), "{path}");
        std::fs::remove_file(backup.join(path)).unwrap();
    }
    std::fs::write(&list, contents.to_string()).unwrap();
    let old = restored("old");
    login(&old, None).is(200);
    enrol(&old, &old.login("ada"));
}
