//! What an owner deletes soon, what an administrator deletes at any time, and what is left of it.

use serde_json::json;

use crate::authors::{author, home, write_pack};
use crate::client::{check, shard, trust};
use crate::pages::{form, form_token, has, sign_in, text, with_cookie};
use crate::postgres::Cluster;
use crate::quarantine::administrator;
use crate::server::{Pack, Server, in_database, operate_on};

const BASE: &str = "/api/v1/packs/base";

fn delete(server: &Server, path: &str, token: &str, body: &str) -> (u16, String) {
    let answer = server.send("DELETE", path, token, body.as_bytes());
    (answer.status, String::from_utf8_lossy(&answer.bytes).into_owned())
}

fn why(server: &Server, path: &str) -> String {
    server.get(path).is(410).json()["error"]["message"].as_str().unwrap().to_owned()
}

/// What holds on any database.
fn goes_and_leaves_a_stone(server: &Server) {
    let root = administrator(server);
    let ada = server.account("ada");
    let eve = server.account("eve");
    for version in ["1.0.0", "1.0.1", "1.1.0"] {
        assert_eq!(server.publish(&ada, &[Pack::new("base", version)])["state"], "published");
    }
    let user = Pack::with("user", "1.0.0", "base = \"1.1\"\n", "two = 2\n");
    assert_eq!(server.publish(&eve, &[user])["state"], "published");
    let before = trust(server, None);
    let archive = shard(server, &before, "base").unwrap().versions[1].archive;
    let blob = format!("/v1/blob/{archive}");
    server.get(&blob).is(200);

    // Who may, and what stands against it.
    let (one, two) = (format!("{BASE}/1.0.1"), format!("{BASE}/1.1.0"));
    let because = r#"{"reason": "holds a secret"}"#;
    let yanker = server.token(&eve, &["yank"], &["*"]);
    for (path, token, body, status, said) in [
        (&one, &eve, because, 403, "does not own"),
        (&one, &yanker, because, 403, "does not own"),
        (&one, &ada, r#"{"reason": " "}"#, 400, "needs a reason"),
        (&one, &ada, r#"{"reason": "x", "purge": true}"#, 403, "administrator"),
        (&two, &ada, because, 409, "`user 1.0.0` depends on `base ^1.1`"),
        (&format!("{BASE}/9.0.0"), &ada, because, 404, "there is no `base 9.0.0`"),
    ] {
        let (got, text) = delete(server, path, token, body);
        assert!(got == status && text.contains(said), "{path} {body}: {got} {text}");
    }
    assert_eq!(delete(server, &one, &server.token(&ada, &["yank"], &["ba*"]), because).0, 204);

    // It is gone everywhere, and said to be; the log has both.
    let after = trust(server, Some(before));
    let left: Vec<String> =
        check(server, &after, "base").0.versions.iter().map(|entry| entry.version.to_string()).collect();
    assert_eq!(left, ["1.0.0", "1.1.0"]);
    assert_eq!(after.pointer().unwrap().log_size, 5);
    assert_eq!(server.count_rows("SELECT COUNT(*) AS n FROM log WHERE leaf LIKE '%delete%base 1.0.1%'"), 1);
    assert_eq!(why(server, &one), "`base 1.0.1` was deleted: holds a secret");
    assert_eq!(why(server, &blob), "`base 1.0.1` was deleted: holds a secret");
    assert_eq!(delete(server, &one, &ada, because).0, 410);
    let again = server.publish(&ada, &[Pack::new("base", "1.0.1")]);
    assert_eq!(again["state"], "refused");
    assert!(again["diagnostics"][0]["message"].as_str().unwrap().contains("its number is not given again"), "{again}");
    has(&text(&server.get("/packs/base/versions").is(200)), &["<h2 id=\"deleted\">", "1.0.1, on ", "holds a secret"]);

    // After the window only an administrator deletes, whatever depends on it.
    server.change_rows(
        "UPDATE versions SET entry = REPLACE(entry, '\"published\":17', '\"published\":10') WHERE name = 'base'",
    );
    let (status, said) = delete(server, &format!("{BASE}/1.0.0"), &ada, because);
    assert!(status == 409 && said.contains("more than 72 hours ago"), "{said}");
    assert_eq!(delete(server, &two, &root, r#"{"reason": "harmful", "purge": true}"#).0, 204);
    assert_eq!(server.get("/api/v1/search?q=base").is(200).json()["packs"][0]["version"], "1.0.0");

    // With the last version the name goes, for everybody and for good.
    let last = format!("{BASE}/1.0.0");
    let (status, said) = delete(server, &last, &root, r#"{"reason": "harmful", "purge": true}"#);
    assert!(status == 409 && said.contains("whose name goes with it for good"), "{said}");
    assert_eq!(delete(server, &last, &root, r#"{"reason": "harmful", "purge": true, "with_name": true}"#).0, 204);
    let after = trust(server, Some(after));
    assert!(shard(server, &after, "base").is_none() && shard(server, &after, "user").is_some());
    assert_eq!(why(server, BASE), "`base` was deleted: harmful");
    for author in [&ada, &eve] {
        let refused = server.publish(author, &[Pack::new("base", "2.0.0")]);
        let message = refused["diagnostics"][0]["message"].as_str().unwrap();
        assert_eq!(message, "the pack `base` was deleted, and nobody is given its name again");
    }
    server.operate("verify-all", &[]);
}

#[test]
fn what_is_deleted_leaves_a_tombstone() {
    goes_and_leaves_a_stone(&Server::start());
}

#[test]
fn what_is_deleted_leaves_a_tombstone_in_postgres() {
    let cluster = Cluster::start();
    goes_and_leaves_a_stone(&Server::start_on(
        std::sync::Arc::new(tempfile::tempdir().unwrap()),
        in_database(cluster.url()),
    ));
}

#[test]
fn who_has_a_deleted_version_locked_is_told() {
    let server = Server::start();
    let ada = author(&server, "ada");
    for version in ["1.0.0", "1.1.0"] {
        write_pack(&ada, "", "base", version, "", "one = 1\n");
        ada.run(&["publish"]).exits(0);
    }
    let user = home(&server);
    user.project("");
    user.run(&["add", "base"]).exits(0).prints(&["added base 1.1.0"]);
    let (lock, manifest) = (user.read("work/Exo.lock"), user.read("work/Exo.toml"));
    let purge = |what: &str| operate_on(server.folder.path(), &[], "purge", &[what, "--reason", "holds a secret"]);
    assert!(purge("base@9.0.0").unwrap_err().contains("there is no `base 9.0.0`"));
    assert_eq!(purge("base@1.1.0").unwrap(), "deleted base 1.1.0\n");
    let fresh = home(&server);
    fresh.project("");
    fresh.write("work/Exo.toml", &manifest);
    fresh.write("work/Exo.lock", &lock);
    fresh.run(&["install", "--locked"]).exits(1).says(&[
        "`base 1.1.0`, which Exo.lock names, is neither in the cache",
        "there is 1.0.0",
        "from which it was deleted says why",
    ]);
    assert_eq!(purge("base").unwrap(), "deleted base 1.0.0\n");
    fresh.run(&["install", "--locked"]).exits(1).says(&["base", "deleted"]);
    let events =
        server.count_rows("SELECT COUNT(*) AS n FROM audit WHERE action = 'delete' AND login = 'exo-registry'");
    assert_eq!(events, 2);
}

#[test]
fn a_version_is_deleted_by_a_form() {
    let server = Server::start();
    let ada = server.account("ada");
    server.publish(&ada, &[Pack::new("base", "1.0.0")]);
    server.publish(&ada, &[Pack::new("base", "1.1.0")]);
    let cookie = sign_in(&server, "ada");
    let page = text(&with_cookie(&server, "/packs/base/manage", &cookie).is(200));
    has(&page, &["Delete a version", "within 72 hours"]);
    assert!(!page.contains("with_name"));
    let token = form_token(&page);
    let send = |more: &str| {
        form(&server, "/packs/base/manage", &cookie, &format!("form_token={token}&act=delete&reason=wrong+file&{more}"))
    };
    assert_eq!(send("version=1.1.0").is(303).headers["location"], "/packs/base/manage");
    has(
        &text(&with_cookie(&server, "/packs/base/manage", &cookie).is(200)),
        &["name=\"with_name\"", "base 1.1.0 was deleted"],
    );
    has(&text(&send("version=1.0.0").is(409)), &["whose name goes with it for good"]);
    assert_eq!(send("version=1.0.0&with_name=on").is(303).headers["location"], "/account");
    has(&text(&server.get("/packs/base").is(410)), &["`base` was deleted: wrong file"]);
    assert_eq!(json!(server.files("v1/blob").len()), json!(0));
}
