//! What the audit log says, and whom it tells.

use serde_json::{Value, json};

use crate::pages::{form, form_token, sign_in, text, with_cookie};
use crate::quarantine::administrator;
use crate::server::{PASSWORD, Pack, Server, in_database, operate_on};

fn events(server: &Server, path: &str, token: &str) -> Vec<Value> {
    let answer = server.send("GET", &format!("/api/v1/{path}"), token, b"").is(200).json();
    answer["events"].as_array().unwrap().clone()
}

fn words(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["action"].as_str().unwrap()).collect()
}

/// What holds on any database.
pub(crate) fn is_told(server: &Server) {
    let root = administrator(server);
    let ada = server.account("ada");
    let eve = server.account("eve");
    let body = json!({ "name": "ci", "rights": ["publish-new", "publish-update", "yank", "owners"], "packs": ["ba*"], "expires_days": 1 });
    let made = server.post("/api/v1/tokens", &ada, &body).is(201).json();
    let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    assert_eq!(server.publish(token, &[Pack::new("base", "1.0.0")])["state"], "published");
    assert_eq!(server.publish(token, &[Pack::new("base", "1.0.0")])["state"], "refused");
    for _ in 0..3 {
        server.send("PUT", "/api/v1/packs/base/1.0.0/yank", token, b"").is(204);
        server.send("DELETE", "/api/v1/packs/base/1.0.0/yank", token, b"").is(204);
    }
    server.send("PUT", "/api/v1/packs/base/owners/eve", token, b"").is(204);

    // Of a pack, newest first also within a second, with what each was done by and to.
    let all = events(server, "packs/base/audit", &ada);
    let yanks = ["unyank", "yank", "unyank", "yank", "unyank", "yank"];
    assert_eq!(words(&all), [&["owner-add"], &yanks[..], &["publish-refused", "publish"]].concat(), "{all:?}");
    assert_eq!(all[0]["detail"], "eve");
    assert_eq!((&all[1]["version"], &all[7]["detail"]), (&json!("1.0.0"), &json!("version")));
    for event in &all {
        let of = [&event["login"], &event["token"], &event["address"], &event["subject"]];
        assert_eq!(of, [&json!("ada"), &json!(id), &json!("127.0.0.1"), &json!("base")], "{event}");
    }
    let shown = json!(all).to_string();
    assert!(!shown.contains(token) && !shown.contains("exo_"), "{shown}");
    assert_eq!(events(server, "packs/base/audit", &eve).len(), all.len(), "owners read it");
    assert_eq!(events(server, "packs/base/audit", &root).len(), all.len());
    server.send("GET", "/api/v1/packs/base/audit", &server.account("dan"), b"").is(403);

    // Of an account, for itself.
    let wrong = json!({ "login": "ada", "password": "a wrong password" });
    server.post("/api/v1/login", "", &wrong).is(401);
    server.post("/api/v1/login", "", &json!({ "login": "nobody", "password": PASSWORD })).is(401);
    server.send("POST", "/api/v1/logout", &server.login("ada"), b"").is(204);
    server.send("DELETE", &format!("/api/v1/tokens/{id}"), &ada, b"").is(204);
    let own = events(server, "account/audit", &ada);
    assert_eq!(&words(&own)[..5], ["token-end", "logout", "login", "login-refused", "owner-add"], "{own:?}");
    assert_eq!(&words(&own)[own.len() - 3..], ["token", "login", "account-add"], "{own:?}");
    assert_eq!((&own[0]["subject"], &own[0]["detail"]), (&json!("ci"), &json!(id)));
    assert!(own[own.len() - 1]["address"].is_null(), "it was made on the command line");
    assert_eq!(server.count_rows("SELECT COUNT(*) AS n FROM audit WHERE login = 'nobody'"), 0);
    server.send("GET", "/api/v1/account/audit", &server.token(&ada, &["owners"], &["*"]), b"").is(403);

    of_an_organisation(server, (&root, &ada, &eve));
    pages_through(server, &ada);
    operate_on(server.folder.path(), &server.variables, "doctor", &[]).unwrap();
    let mut disable = std::process::Command::new(crate::server::program());
    disable.args(["user", "disable", "eve", "--data"]).arg(server.folder.path());
    assert!(disable.envs(server.variables.iter().cloned()).status().unwrap().success());
    assert_eq!(
        server.count_rows("SELECT COUNT(*) AS n FROM audit WHERE login = 'eve' AND action = 'account-disable'"),
        1
    );
}

/// Nobody pushes entries out of what can be read: the log is read to its end, in parts, each entry once.
fn pages_through(server: &Server, ada: &str) {
    // As if it was done again and again, many of them at one time.
    server.change_rows(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) INSERT INTO audit (id, at, login, action, subject, detail) \
         SELECT 'z' || i, 4000000000 + i / 700, 'ada', 'yank', 'base', CAST(i AS TEXT) FROM n",
    );
    for (path, oldest) in [("account/audit", "account-add"), ("packs/base/audit", "publish")] {
        for (limit, parts) in [("", 3), ("&limit=600", 5)] {
            let (mut seen, mut before, mut number) = (Vec::new(), String::new(), 0);
            loop {
                let path = format!("/api/v1/{path}?{before}{limit}");
                let part = server.send("GET", &path, ada, b"").is(200).json();
                seen.extend(part["events"].as_array().unwrap().clone());
                number += 1;
                match part["next"].as_str() {
                    Some(next) => before = format!("before={next}"),
                    None => break,
                }
            }
            assert_eq!(number, parts, "{path}");
            assert_eq!(words(&seen).last(), Some(&oldest));
            let numbered: std::collections::BTreeSet<i64> = seen
                .iter()
                .filter(|event| event["at"].as_i64().unwrap() >= 4_000_000_000)
                .map(|event| event["detail"].as_str().unwrap().parse().unwrap())
                .collect();
            let all = seen.iter().filter(|event| event["at"].as_i64().unwrap() >= 4_000_000_000).count();
            assert_eq!((numbered.len(), all), (2500, 2500), "each once");
            assert!(seen.is_sorted_by_key(|event| -event["at"].as_i64().unwrap()));
        }
    }
    let all = server.send("GET", "/api/v1/packs/base/audit?limit=1", ada, b"").is(200).json();
    assert_eq!(all["events"].as_array().unwrap().len(), 1);
    for (query, said) in [
        ("limit=0", "from 1 to 1000"),
        ("limit=1001", "from 1 to 1000"),
        ("before=yesterday", "no place in a list"),
        ("before=7-a%27b", "no place in a list"),
    ] {
        let refused = server.send("GET", &format!("/api/v1/packs/base/audit?{query}"), ada, b"").is(400).json();
        assert!(refused["error"]["message"].as_str().unwrap().contains(said), "{refused}");
    }
    server.change_rows("DELETE FROM audit WHERE at >= 4000000000");
}

fn of_an_organisation(server: &Server, (root, ada, eve): (&str, &str, &str)) {
    server.send("PUT", "/api/v1/organisations/base", ada, b"").is(201);
    server.send("GET", "/api/v1/organisations/base/audit", eve, b"").is(403);
    server.send("GET", "/api/v1/organisations/none/audit", eve, b"").is(404);
    server.send("PUT", "/api/v1/organisations/base/members/eve", ada, br#"{"role": "publisher"}"#).is(204);
    let told = events(server, "organisations/base/audit", eve);
    assert_eq!(
        words(&told),
        ["member-add", "organisation"],
        "only that of the organisation, not of the pack of its name: {told:?}"
    );
    assert_eq!(told[0]["detail"], "eve publisher");
    // Administrators of the registry are no members, and answer for who has a scope: their sessions read it, their tokens do not.
    assert_eq!(events(server, "organisations/base/audit", root), told);
    let token = server.token(root, &["admin", "owners"], &["*"]);
    server.send("GET", "/api/v1/organisations/base/audit", &token, b"").is(403);
    let page = text(&with_cookie(server, "/audit?organisation=base", &sign_in(server, "root")).is(200));
    assert!(page.contains("eve publisher came in"), "{page}");
}

#[test]
fn the_audit_log_tells_those_whom_it_concerns() {
    is_told(&Server::start());
}

#[test]
fn the_audit_log_on_postgres() {
    let cluster = crate::postgres::Cluster::start();
    is_told(&Server::start_on(std::sync::Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

#[test]
fn pages_show_what_was_done_lately() {
    let server = Server::start();
    let ada = server.account("ada");
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    server.send("PUT", "/api/v1/packs/base/1.0.0/yank", &ada, b"").is(204);
    server.send("PUT", "/api/v1/organisations/lab", &ada, b"").is(201);
    let cookie = sign_in(&server, "ada");
    let security = text(&with_cookie(&server, "/account/security", &cookie).is(200));
    let manage = text(&with_cookie(&server, "/packs/base/manage", &cookie).is(200));
    let lab = text(&with_cookie(&server, "/organisations/lab", &cookie).is(200));
    for (page, said) in [
        (&security, "Somebody signed in"),
        (&security, "from 127.0.0.1"),
        (&manage, "base 1.0.0 was yanked by ada"),
        (&lab, "The organisation @lab was made by ada"),
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!text(&server.get("/organisations/lab").is(200)).contains("was made by"), "others are not told");
}

/// Gives an account another password, as who runs the registry does; what is said.
pub(crate) fn reset_password(server: &Server, login: &str, password: &str, more: &[&str]) -> String {
    use std::io::Write as _;
    let mut command = std::process::Command::new(crate::server::program());
    command.args(["user", "reset-password", login, "--data"]).arg(server.folder.path()).args(more);
    command.envs(server.variables.iter().cloned()).stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(password.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The pages lead to all of it, from the newest entry to the first.
#[test]
fn pages_lead_to_all_that_was_done() {
    let server = Server::start();
    let ada = server.account("ada");
    assert_eq!(server.publish(&ada, &[Pack::new("@ada/base", "1.0.0")])["state"], "published");
    server.send("PUT", "/api/v1/organisations/lab", &ada, b"").is(201);
    for (action, subject) in [("yank", "@ada/base"), ("member-add", "lab")] {
        server.change_rows(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120) INSERT INTO audit (id, at, login, action, subject) \
             SELECT '{action}' || i, 4000000000, 'ada', '{action}', '{subject}' FROM n"
        ).replace("member-add' ||", "member' ||"));
    }
    let cookie = sign_in(&server, "ada");
    for (from, link, parts, first) in [
        ("/account/security", "/audit", 5, "The account was made"),
        ("/packs/@ada/base/manage", "/audit?pack=%40ada%2Fbase", 3, "@ada/base 1.0.0 was published by ada"),
        ("/organisations/lab", "/audit?organisation=lab", 3, "The organisation @lab was made by ada"),
    ] {
        let page = text(&with_cookie(&server, from, &cookie).is(200));
        assert!(page.contains(&format!("<a href=\"{link}\">All that was done</a>")), "{from}: {page}");
        let (mut address, mut number) = (link.to_owned(), 1);
        loop {
            let page = text(&with_cookie(&server, &address, &cookie).is(200));
            assert_eq!(page.contains("← Newest"), number > 1, "{address}");
            let Some(next) = page.split("<a rel=\"next\" href=\"").nth(1) else {
                assert!(page.contains(first), "{address}: {page}");
                break;
            };
            address = next.split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&");
            number += 1;
        }
        assert_eq!(number, parts, "{link}");
    }
    with_cookie(&server, "/audit?before=yesterday", &cookie).is(400);
    with_cookie(&server, "/audit?pack=nothing", &cookie).is(404);
    server.account("eve");
    let eve = sign_in(&server, "eve");
    with_cookie(&server, "/audit?pack=%40ada%2Fbase", &eve).is(403);
    server.get("/audit").is(401);
}

/// An owner who fears that a session was stolen sees it and ends it; who has lost the password gets another one.
fn sessions_end(server: &Server) {
    let ada = server.account("ada");
    let stolen = server.login("ada");
    let listed = server.send("GET", "/api/v1/account/sessions", &ada, b"").is(200).json();
    let sessions = listed["sessions"].as_array().unwrap();
    let other = sessions.iter().find(|session| session["own"] == false).unwrap();
    assert_eq!((sessions.len(), &other["address"]), (2, &json!("127.0.0.1")), "{listed}");
    let path = format!("/api/v1/account/sessions/{}", other["id"].as_str().unwrap());
    server.send("DELETE", &path, &server.account("eve"), b"").is(404);
    let token = server.token(&ada, &["yank"], &["*"]);
    server.send("GET", "/api/v1/account/sessions", &token, b"").is(403);
    server.send("DELETE", &path, &ada, b"").is(204);
    server.send("GET", "/api/v1/whoami", &stolen, b"").is(401);
    server.send("GET", "/api/v1/whoami", &ada, b"").is(200);
    assert_eq!(words(&events(server, "account/audit", &ada))[0], "session-end");

    let reset = |login: &str, password: &str, more: &[&str]| reset_password(server, login, password, more);
    assert!(reset("nobody", "another long password", &[]).contains("there is no account `nobody`"));
    assert!(reset("ada", "short", &[]).contains("shorter than 10"));
    assert!(reset("ada", "another long password\n", &[]).contains("signed out everywhere"));
    server.send("GET", "/api/v1/whoami", &ada, b"").is(401);
    server.send("GET", "/api/v1/whoami", &token, b"").is(200);
    server.post("/api/v1/login", "", &json!({ "login": "ada", "password": PASSWORD })).is(401);
    server.post("/api/v1/login", "", &json!({ "login": "ada", "password": "another long password" })).is(200);
    reset("ada", PASSWORD, &["--tokens"]);
    server.send("GET", "/api/v1/whoami", &token, b"").is(401);
    assert_eq!(words(&events(server, "account/audit", &server.login("ada")))[1], "password-reset");
}

#[test]
fn a_stolen_session_is_seen_and_ended() {
    sessions_end(&Server::start());
}

#[test]
fn a_stolen_session_is_seen_and_ended_on_postgres() {
    let cluster = crate::postgres::Cluster::start();
    sessions_end(&Server::start_on(std::sync::Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

#[test]
fn a_session_is_ended_by_a_form() {
    let server = Server::start();
    let other = server.account("ada");
    let cookie = sign_in(&server, "ada");
    let page = text(&with_cookie(&server, "/account/security", &cookie).is(200));
    assert!(page.contains("This browser") && page.contains("Elsewhere"), "{page}");
    let id = page.split("name=\"id\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let body = format!("form_token={}&id={id}", form_token(&page));
    assert_eq!(form(&server, "/account/sessions/end", &cookie, &body).is(303).headers["location"], "/account/security");
    server.send("GET", "/api/v1/whoami", &other, b"").is(401);
    let page = text(&with_cookie(&server, "/account/security", &cookie).is(200));
    assert!(!page.contains("Elsewhere") && page.contains("A session was ended"), "{page}");
    text(&form(&server, "/account/sessions/end", &cookie, "form_token=x&id=y").is(403));
}

/// Tokens, accounts and organisations may be called like a pack: whoever makes many of them hides nothing of what was done to it.
#[test]
fn nobody_hides_what_was_done_to_a_pack() {
    let server = Server::start();
    let (ada, eve) = (server.account("ada"), server.account("eve"));
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    let token = json!({ "name": "base", "rights": ["yank"], "packs": ["*"], "expires_days": 1 });
    server.post("/api/v1/tokens", &eve, &token).is(201);
    server.send("PUT", "/api/v1/organisations/base", &eve, b"").is(201);
    // As if it was done again and again.
    let copies: Vec<String> = ["token", "organisation"]
        .map(|action| {
            format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100) INSERT INTO audit (id, at, login, action, subject) SELECT 'z{action}' || i, at + 5, login, action, subject FROM audit, n WHERE action = '{action}' AND subject = 'base'")
        })
        .into();
    server.change_rows_by(&copies);
    assert_eq!(words(&events(&server, "packs/base/audit", &ada)), ["publish"]);
    let cookie = sign_in(&server, "ada");
    assert!(
        text(&with_cookie(&server, "/packs/base/manage", &cookie).is(200)).contains("base 1.0.0 was published by ada")
    );
    // Nor does the organisation learn of the pack.
    let told = events(&server, "organisations/base/audit", &eve);
    assert!(told.iter().all(|event| event["action"] == "organisation"), "{told:?}");
}

/// Whoever signs in again and again makes the list no longer than it can be read.
#[test]
fn the_list_of_sessions_has_an_end_and_the_own_one_is_in_it() {
    let server = Server::start();
    let ada = server.account("ada");
    server.change_rows_by(&[
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO tokens (id, hash, login, name, session, rights, packs, created, expires) SELECT 's' || i, 'h' || i, login, name, 1, '', '', created + 5, expires FROM tokens, n WHERE login = 'ada'".to_owned(),
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO audit (id, at, login, action, subject, address, detail) SELECT 's' || i, at + 5, login, action, subject, '192.0.2.9', 'session s' || i FROM audit, n WHERE login = 'ada' AND action = 'login'".to_owned(),
    ]);
    let listed = server.send("GET", "/api/v1/account/sessions", &ada, b"").is(200).json();
    let sessions = listed["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 100);
    assert_eq!((&sessions[0]["address"], &sessions[99]["own"]), (&json!("192.0.2.9"), &json!(true)), "{listed}");
    assert_eq!(sessions[99]["address"], "127.0.0.1");
}
