//! What an owner deletes soon, what an administrator deletes at any time, and what is left of it.

use std::os::unix::fs::PermissionsExt as _;

use exo_tests::exo::binary;
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
    let error = server.get(path).is(410).json()["error"].clone();
    let hint = error["hint"].as_str().unwrap_or_default();
    assert!(hint.starts_with("it was deleted on 20") && hint.ends_with(" is not given again"), "{error}");
    error["message"].as_str().unwrap().to_owned()
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
    let yanker = server.token(&ada, &["yank"], &["*"]);
    for (path, token, body, status, said) in [
        (&one, &eve, because, 403, "does not own"),
        (&one, &yanker, because, 403, "needs a session"),
        (&one, &ada, r#"{"reason": " "}"#, 400, "needs a reason"),
        (&one, &ada, r#"{"reason": "x", "purge": true}"#, 403, "administrator"),
        (&two, &ada, because, 409, "`user 1.0.0` depends on `base ^1.1`"),
        (&format!("{BASE}/9.0.0"), &ada, because, 404, "there is no `base 9.0.0`"),
    ] {
        let (got, text) = delete(server, path, token, body);
        assert!(got == status && text.contains(said), "{path} {body}: {got} {text}");
    }
    assert_eq!(delete(server, &one, &ada, because).0, 204);

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
    has(&text(&server.get("/packs/base?version=1.0.1").is(410)), &["`base 1.0.1` was deleted: holds a secret"]);
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
    // Who has it in the cache as well.
    let told = "`base 1.1.0` is locked, and is deleted: registry";
    user.run(&["install"]).exits(0).says(&[told, ": holds a secret", "`exo update base` takes another version"]);
    user.run(&["audit", "--deny", "yanked"]).exits(4).prints(&["base 1.1.0: deleted", "holds a secret"]);
    let fresh = home(&server);
    fresh.project("");
    fresh.write("work/Exo.toml", &manifest);
    fresh.write("work/Exo.lock", &lock);
    fresh.run(&["install", "--locked"]).exits(1).says(&[
        "`base 1.1.0` was deleted from registry",
        ": holds a secret",
        "Exo.lock names it",
        "there is 1.0.0",
        "`exo update base` takes a version that is there",
    ]);
    // Whoever asks for it by its number is told, and what else there is.
    let gone = "`base 1.1.0` was deleted from registry";
    fresh.run(&["info", "base@1.1.0"]).exits(1).says(&[gone, ": holds a secret", "it has 1.0.0"]);
    let other = home(&server);
    other.project("");
    for asked in ["base@1.1.0", "base@=1.1.0"] {
        other.run(&["add", asked]).exits(1).says(&[gone, ": holds a secret"]);
    }
    other.run(&["info", "base@1.2.0"]).exits(1).says(&["`base` has no version 1.2.0"]);
    other.run(&["add", "base"]).exits(0);
    other.run(&["update", "base", "--precise", "1.1.0"]).exits(1).says(&[gone, ": holds a secret"]);
    assert_eq!(purge("base").unwrap(), "deleted base 1.0.0\n");
    fresh.run(&["install", "--locked"]).exits(1).says(&[gone, ": holds a secret", "`exo remove base`"]);
    for command in ["add", "info"] {
        fresh.run(&[command, "base"]).exits(1).says(&["`base` was deleted from registry", "holds a secret"]);
    }
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

/// A checker that waits, once it has begun, until it is told to go on.
fn waiting_checker(folder: &std::path::Path) -> std::path::PathBuf {
    let (program, real, place) = (folder.join("exo-that-waits"), binary(), folder.display());
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = __verify ] && [ -e '{place}/hold' ]; then\n  touch '{place}/begun'\n  while [ -e '{place}/hold' ]; do sleep 0.05; done\nfi\nexec '{}' \"$@\"\n",
        real.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// What a pack was verified with may be taken away before the pack is let in: then it is not.
#[test]
fn a_publish_whose_dependency_goes_meanwhile_is_refused() {
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let programs = tempfile::tempdir().unwrap();
    let program = waiting_checker(programs.path());
    let server = Server::start_with(folder, Vec::new(), &program);
    let (root, ada, eve) = (administrator(&server), server.account("ada"), server.account("eve"));
    let because = r#"{"reason": "holds a secret"}"#;
    for (number, became) in ["deleted", "put into quarantine", "yanked"].into_iter().enumerate() {
        let name = ["cobalt", "birch", "ocean"][number];
        for version in ["0.1.0", "0.2.0"] {
            assert_eq!(server.publish(&ada, &[Pack::new(name, version)])["state"], "published");
        }
        let (hold, begun) = (programs.path().join("hold"), programs.path().join("begun"));
        std::fs::write(&hold, "").unwrap();
        let user = Pack::with(&format!("user-of-{name}"), "1.0.0", &format!("{name} = \"=0.1.0\"\n"), "two = 2\n");
        let publish = server.upload(&eve, std::slice::from_ref(&user), false);
        server.send("POST", &format!("/api/v1/publish/{publish}/commit"), &eve, b"").is(202);
        let start = std::time::Instant::now();
        while !begun.exists() {
            assert!(start.elapsed() < std::time::Duration::from_secs(30), "no checker began");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let version = format!("/api/v1/packs/{name}/0.1.0");
        let status = match number {
            0 => delete(&server, &version, &ada, because).0,
            1 => server.send("PUT", &format!("{version}/quarantine"), &root, because.as_bytes()).status,
            _ => server.send("PUT", &format!("{version}/yank"), &ada, b"").status,
        };
        assert_eq!(status, 204);
        std::fs::remove_file(&hold).unwrap();
        std::fs::remove_file(&begun).unwrap();
        let outcome = server.outcome(&eve, &publish);
        let said = format!("the version of `{name}` that `user-of-{name}` was verified with was {became} meanwhile");
        assert_eq!(
            (&outcome["state"], &outcome["diagnostics"][0]["message"]),
            (&json!("refused"), &json!(said)),
            "{outcome}"
        );
        server.get(&format!("/api/v1/packs/user-of-{name}")).is(404);
        // What does without it is let in.
        let user = Pack::with(&user.name, "1.0.0", &format!("{name} = \"0.2\"\n"), "two = 2\n");
        assert_eq!(server.publish(&eve, &[user])["state"], "published");
    }
}

/// A server that ends between the rows and the archive, or cannot reach the archive, leaves it; it goes all the same.
#[test]
fn an_archive_that_a_failure_kept_goes_later() {
    let mut server = Server::start();
    let ada = server.account("ada");
    for version in ["1.0.0", "1.1.0"] {
        assert_eq!(server.publish(&ada, &[Pack::new("base", version)])["state"], "published");
    }
    let before = server.files("v1/blob");
    let path = format!("{BASE}/1.1.0");
    assert_eq!(delete(&server, &path, &ada, r#"{"reason": "holds a secret"}"#).0, 204);
    let archive = before.into_iter().find(|file| !file.exists()).unwrap();
    let keep = || {
        std::fs::create_dir_all(archive.parent().unwrap()).unwrap();
        std::fs::write(&archive, "secret").unwrap();
    };

    // Whoever deletes it again, by the API or on the machine, removes it.
    keep();
    assert_eq!(delete(&server, &path, &ada, r#"{"reason": "again"}"#).0, 410);
    assert!(!archive.exists());
    keep();
    let again = ["base@1.1.0", "--reason", "again"];
    let said = operate_on(server.folder.path(), &[], "purge", &again).unwrap();
    assert!(!archive.exists() && said.contains("base@1.1.0 was deleted before, and nothing of it is left"), "{said}");

    // So does the server, which still has the other version.
    server.kill();
    keep();
    let server = server.again();
    let start = std::time::Instant::now();
    while archive.exists() {
        assert!(start.elapsed() < std::time::Duration::from_secs(20));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(server.files("v1/blob").len(), 1);
    server.operate("verify-all", &[]);
}

/// Lockfiles still ask for what was deleted, so that nobody is given a name that looks like it.
#[test]
fn a_deleted_name_keeps_look_alikes_away() {
    let mut server = Server::start();
    let (ada, eve) = (server.account("ada"), server.account("eve"));
    assert_eq!(server.publish(&ada, &[Pack::new("velvet", "1.0.0")])["state"], "published");
    let body = r#"{"reason": "by mistake", "with_name": true}"#;
    assert_eq!(delete(&server, "/api/v1/packs/velvet/1.0.0", &ada, body).0, 204);
    for _ in 0..2 {
        let refused = server.publish(&eve, &[Pack::new("velvets", "1.0.0")]);
        let message = refused["diagnostics"][0]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("the name `velvets` can be taken for `velvet`"), "{refused}");
        // A server that never knew the pack knows that it was there.
        server.kill();
        server = server.again();
    }
}

/// An author does not take away what administrators keep: those who have it would be warned no longer.
#[test]
fn what_is_in_quarantine_is_not_deleted_by_its_author() {
    let server = Server::start();
    let (root, ada) = (administrator(&server), server.account("ada"));
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    let (version, why) = (format!("{BASE}/1.0.0"), br#"{"reason": "it copies files out"}"#);
    server.send("PUT", &format!("{version}/quarantine"), &root, why).is(204);
    let body = r#"{"reason": "by mistake", "with_name": true}"#;
    let (status, said) = delete(&server, &version, &ada, body);
    assert!(status == 409 && said.contains("`base 1.0.0` is in quarantine"), "{status} {said}");
    assert_eq!(server.files("v1/blob").len(), 1);
    server.send("DELETE", &format!("{version}/quarantine"), &root, b"").is(204);
    // Nor does asking for its head alone count as a download.
    let archive = server.files("v1/blob")[0].file_name().unwrap().to_string_lossy().into_owned();
    server.send("HEAD", &format!("/v1/blob/{archive}"), "", b"");
    let downloads = "SELECT downloads AS n FROM packs WHERE name = 'base'";
    assert_eq!(server.count_rows(downloads), 0);
    server.get(&format!("/v1/blob/{archive}")).is(200);
    assert_eq!(server.count_rows(downloads), 1);
    assert_eq!(delete(&server, &version, &ada, body).0, 204);
}

/// What was said of a pack stays coherent after it was deleted: advisories are read, reports closed, and who owned it reads what was done.
fn what_was_said_outlives_a_pack(server: &Server) {
    let (root, ada, eve) = (administrator(server), server.account("ada"), server.account("eve"));
    for version in ["1.0.0", "1.1.0"] {
        assert_eq!(server.publish(&ada, &[Pack::new("base", version)])["state"], "published");
    }
    let advisory = json!({ "versions": "<=1.1.0", "severity": "high", "summary": "wrong sums" });
    let made = server.post(&format!("{BASE}/advisories"), &ada, &advisory).is(201).json();
    let id = made["id"].as_str().unwrap();
    let report = |version: &str| json!({ "kind": "malicious", "text": "it copies files out", "version": version });
    let of_one = server.post(&format!("{BASE}/report"), &eve, &report("1.0.0")).is(201).json();
    let of_all =
        server.post(&format!("{BASE}/report"), &eve, &json!({ "kind": "wrong", "text": "sums" })).is(201).json();

    // One version goes: what is said of it and of the others can be told apart.
    let because = r#"{"reason": "harmful", "purge": true, "with_name": true}"#;
    assert_eq!(delete(server, &format!("{BASE}/1.0.0"), &root, because).0, 204);
    let deleted = |report: &serde_json::Value| {
        let all = server.send("GET", "/api/v1/reports", &root, b"").is(200).json();
        all["reports"].as_array().unwrap().iter().find(|one| one["id"] == report["id"]).unwrap()["deleted"] == true
    };
    assert!(deleted(&of_one) && !deleted(&of_all));
    let again = server.post(&format!("{BASE}/report"), &eve, &report("1.0.0")).is(410).json();
    assert_eq!(again["error"]["message"], "`base 1.0.0` was deleted: harmful");
    assert_eq!(delete(server, &format!("{BASE}/1.1.0"), &root, because).0, 204);
    assert!(deleted(&of_one) && deleted(&of_all));

    // Who still has it reads what it is warned of; nobody says more of it, and only administrators take something back.
    assert_eq!(server.get(&format!("{BASE}/advisories")).is(200).json()["advisories"][0]["id"], id);
    for feed in ["/api/v1/advisories.atom", &format!("{BASE}/advisories.atom")] {
        assert!(String::from_utf8(server.get(feed).is(200).bytes).unwrap().contains(id), "{feed}");
    }
    let (one, body) = (format!("{BASE}/advisories/{id}"), advisory.to_string());
    for token in [&ada, &root] {
        server.post(&format!("{BASE}/advisories"), token, &advisory).is(410);
        server.send("PUT", &one, token, body.as_bytes()).is(410);
    }
    server.send("DELETE", &one, &ada, b"").is(410);
    server.send("DELETE", &one, &root, b"").is(204);
    assert!(server.get(&format!("{BASE}/advisories")).is(200).json()["advisories"][0]["withdrawn"].is_i64());
    server.send("DELETE", &one, &root, b"").is(404);
    for gone in ["", "/owners", "/badge.svg", "/feed.atom", "/compatibility"] {
        server.get(&format!("{BASE}{gone}")).is(410);
    }
    server.post(&format!("{BASE}/report"), &eve, &report("1.0.0")).is(410);

    // Reports are closed all the same.
    let page = text(&with_cookie(server, "/reports", &sign_in(server, "root")).is(200));
    assert!(page.contains("deleted since") && !page.contains("/reports?pack=base"), "{page}");
    for report in [&of_one, &of_all] {
        server.send("DELETE", &format!("/api/v1/reports/{}", report["id"].as_str().unwrap()), &root, b"").is(204);
    }

    // Its last owner and administrators read what was done to it, and others are told that it is gone.
    for token in [&ada, &root] {
        let events = server.send("GET", &format!("{BASE}/audit"), token, b"").is(200).json();
        let words: Vec<&str> =
            events["events"].as_array().unwrap().iter().map(|event| event["action"].as_str().unwrap()).collect();
        assert_eq!(words[..3], ["advisory-withdraw", "delete", "delete"], "{words:?}");
        assert_eq!(words.last(), Some(&"publish"));
    }
    server.send("GET", &format!("{BASE}/audit"), &eve, b"").is(410);
    server.send("GET", "/api/v1/packs/nothing/audit", &root, b"").is(404);
    has(&text(&with_cookie(server, "/audit?pack=base", &sign_in(server, "ada")).is(200)), &["base 1.1.0 was deleted"]);
    server.operate("verify-all", &[]);
}

#[test]
fn what_was_said_of_a_deleted_pack_stays_coherent() {
    what_was_said_outlives_a_pack(&Server::start());
}

#[test]
fn what_was_said_of_a_deleted_pack_stays_coherent_on_postgres() {
    let cluster = Cluster::start();
    what_was_said_outlives_a_pack(&Server::start_on(
        std::sync::Arc::new(tempfile::tempdir().unwrap()),
        in_database(cluster.url()),
    ));
}
