//! Reports of packs, and versions that administrators keep from everybody.

use serde_json::{Value, json};

use crate::authors::{author, home, typed, write_pack};
use crate::client::{shard, trust};
use crate::pages::{form, form_token, has, sign_in, text, with_cookie};
use crate::server::{PASSWORD, Pack, Server, operate_on, program};

/// The session of an administrator: the account that the one-time code makes.
pub(crate) fn administrator(server: &Server) -> String {
    let body = json!({ "login": "root", "password": PASSWORD, "code": server.code });
    server.post("/api/v1/accounts", "", &body).is(201);
    server.login("root")
}

const WHY: &[u8] = br#"{"reason": "it copies files out"}"#;
const PLACE: &str = "/api/v1/packs/base/1.1.0/quarantine";

#[test]
fn what_is_in_quarantine_is_neither_chosen_nor_downloaded() {
    let server = Server::start();
    let root = administrator(&server);
    let ada = author(&server, "ada");
    for version in ["1.0.0", "1.1.0"] {
        write_pack(&ada, "", "base", version, "", "one = 1\n");
        ada.run(&["publish"]).exits(0);
    }
    let user = home(&server);
    user.project("");
    user.run(&["add", "base"]).exits(0).prints(&["added base 1.1.0"]);
    let manifest = user.read("work/Exo.toml").replace("base = \"1.1.0\"", "base = \"1\"");
    user.write("work/Exo.toml", &manifest);
    user.run(&["install"]).exits(0);
    let before = trust(&server, None);
    let archive = shard(&server, &before, "base").unwrap().versions[1].archive;
    let blob = format!("/v1/blob/{archive}");
    let mirror = tempfile::tempdir().unwrap();
    let etag = server.get(&blob).is(200).headers["etag"].clone();

    let session = server.login("ada");
    server.send("PUT", PLACE, &session, WHY).is(403);
    server.send("PUT", PLACE, &root, br#"{"reason": " "}"#).is(400);
    server.send("PUT", PLACE, &root, WHY).is(204);
    server.send("PUT", PLACE, &root, WHY).is(204);
    // It is evidence, which its author does not take away.
    server.send("DELETE", "/api/v1/packs/base/1.1.0", &session, br#"{"reason": "mine"}"#).is(409);

    // Clients of before know of yanks only, and do not choose it either.
    let after = trust(&server, Some(before));
    let held = shard(&server, &after, "base").unwrap().versions[1].clone();
    assert_eq!(held.quarantined.unwrap().reason.unwrap(), "it copies files out");
    assert_eq!(held.yanked.unwrap().reason.unwrap(), "quarantined by the registry: it copies files out");
    assert_eq!(after.pointer().unwrap().log_size, 3, "one leaf for two equal requests");
    let refused = server.get(&blob).is(403).json();
    assert_eq!(refused["error"]["message"], "`base 1.1.0` is in quarantine: it copies files out");
    server.send_with("GET", &blob, "", b"", &[("if-none-match", &etag)]).is(403);

    // A mirror that starts now works without it.
    let copied = |more: &[&str]| {
        let mut command = std::process::Command::new(program());
        command.args(["mirror", "--from", &server.url]).args(more).arg(mirror.path());
        assert!(command.status().unwrap().success());
        mirror.path().join(&blob[1..]).exists()
    };
    assert!(!copied(&[]));
    let exported = tempfile::tempdir().unwrap();
    let export = || server.operate("export-static", &[exported.path().to_str().unwrap()]);
    export();
    assert!(exported.path().join("v1/latest").exists() && !exported.path().join(&blob[1..]).exists());

    // Who has it goes on, and is warned; who has the lockfile only does not get it.
    let warning = "`base 1.1.0` is locked, and is in quarantine: it copies files out; `exo update base`";
    let said = user.run(&["install"]).exits(0).says(&[warning]);
    assert!(!said.stderr.contains("yanked"), "{}", said.stderr);
    user.run(&["audit", "--deny", "quarantined"]).exits(4).says(&["quarantined: base 1.1.0 (in quarantine"]);
    user.run(&["audit", "--deny", "yanked"]).exits(0).prints(&["base 1.1.0: in quarantine: it copies files out"]);
    let other = home(&server);
    other.project("");
    other.write("work/Exo.toml", &user.read("work/Exo.toml"));
    other.write("work/Exo.lock", &user.read("work/Exo.lock"));
    other.run(&["install"]).exits(1).says(&[
        "`base 1.1.0` is in quarantine at registry",
        "it copies files out",
        "not downloaded",
        "`exo update base` takes another version",
    ]);
    let other = home(&server);
    other.project("");
    other
        .run(&["add", "base@=1.1.0"])
        .exits(1)
        .says(&["is in quarantine (it copies files out)", "keep this one from everybody"]);
    other.run(&["info", "base"]).exits(0).prints(&["base 1.0.0", "1.1.0 is in quarantine"]);
    user.run(&["update"]).exits(0);
    assert!(user.read("work/Exo.lock").contains("1.0.0"), "{}", user.read("work/Exo.lock"));
    // A pack that needs it cannot be published.
    write_pack(&ada, "", "next", "1.0.0", "base = \"=1.1.0\"\n", "two = 2\n");
    ada.run(&["publish"]).exits(1);

    let page = |path: &str| String::from_utf8(server.get(path).is(200).bytes).unwrap();
    has(&page("/packs/base"), &["exo add base<", "1.0.0"]);
    let held = page("/packs/base?version=1.1.0");
    has(&held, &["<strong>In quarantine:</strong> it copies files out.", "Nobody gets this version from here"]);
    assert!(!held.contains("For tests of publishing") && !held.contains("exo add"), "{held}");
    has(&page("/packs/base/versions"), &["<span class=\"badge bad\">in quarantine</span>"]);
    let sources = "/packs/base/sources/src/lib.exo?version=1.1.0";
    has(&text(&server.get(sources).is(403)), &["its files are not shown"]);
    for hidden in [
        "/packs/base/compare?from=1.0.0&to=1.1.0",
        "/packs/base/compare?from=1.1.0&to=1.0.0",
        "/packs/base/checks?version=1.1.0",
    ] {
        text(&server.get(hidden).is(403));
    }
    let administrator = sign_in(&server, "root");
    with_cookie(&server, sources, &administrator).is(200);

    server.send("DELETE", PLACE, &session, b"").is(403);
    server.send("DELETE", PLACE, &root, b"").is(204);
    server.get(&blob).is(200);
    assert!(copied(&[]));
    export();
    assert!(exported.path().join(&blob[1..]).exists());
    user.run(&["update"]).exits(0);
    assert!(user.read("work/Exo.lock").contains("1.1.0"));
    assert!(!user.run(&["install"]).exits(0).stderr.contains("quarantine"));
    let released = shard(&server, &trust(&server, Some(after)), "base").unwrap().versions[1].clone();
    assert!(released.yanked.is_none() && released.quarantined.is_none());
    let audit = server.send("GET", "/api/v1/packs/base/audit", &session, b"").is(200).json();
    let actions: Vec<&Value> = audit["events"].as_array().unwrap().iter().map(|event| &event["action"]).collect();
    assert!(actions.contains(&&json!("quarantine")) && actions.contains(&&json!("release")), "{audit}");
    operate_on(server.folder.path(), &server.variables, "verify-all", &[]).unwrap();
}

#[test]
fn an_author_yank_outlives_a_quarantine() {
    let server = Server::start();
    let root = administrator(&server);
    let ada = server.account("ada");
    server.publish(&ada, &[Pack::new("base", "1.1.0")]);
    server.send("PUT", "/api/v1/packs/base/1.1.0/yank", &ada, br#"{"reason": "slow"}"#).is(204);
    server.send("PUT", PLACE, &root, WHY).is(204);
    server.send("DELETE", "/api/v1/packs/base/1.1.0/yank", &ada, b"").is(204);
    let held = &shard(&server, &trust(&server, None), "base").unwrap().versions[0];
    assert!(held.yanked.is_some() && held.quarantined.is_some(), "the author cannot lift it");
    server.send("PUT", "/api/v1/packs/base/1.1.0/yank", &ada, br#"{"reason": "slow"}"#).is(204);
    server.send("DELETE", PLACE, &root, b"").is(204);
    let held = &shard(&server, &trust(&server, None), "base").unwrap().versions[0];
    assert_eq!(held.yanked.as_ref().unwrap().reason.as_deref(), Some("slow"));
}

#[test]
fn reports_reach_administrators_and_nobody_else() {
    let server = Server::start();
    let root = administrator(&server);
    let ada = author(&server, "ada");
    write_pack(&ada, "", "base", "1.1.0", "", "one = 1\n");
    ada.run(&["publish"]).exits(0);
    let eve = author(&server, "eve");
    eve.run(&["report", "base@1.1.0", "--kind", "malicious", "--text", "it copies <files> out"])
        .exits(0)
        .prints(&["reported base@1.1.0", "nobody else"]);
    eve.run(&["report", "none", "--kind", "other", "--text", "x"]).exits(1).says(&["there is no pack `none`"]);
    eve.run(&["report", "base@9.0.0", "--kind", "other", "--text", "x"]).exits(1).says(&["there is no `base 9.0.0`"]);
    eve.run(&["report", "base", "--kind", "other", "--text", " "]).exits(1).says(&["a report says what is wrong"]);
    let stranger = home(&server);
    stranger.run(&["report", "base", "--kind", "other", "--text", "x"]).exits(1).says(&["not logged in"]);
    let (ada, eve) = (server.login("ada"), server.login("eve"));
    server.send("GET", "/api/v1/reports", &ada, b"").is(403);
    let audit = server.send("GET", "/api/v1/packs/base/audit", &ada, b"").is(200);
    assert!(!String::from_utf8_lossy(&audit.bytes).contains("\"eve\""), "owners do not see who reported");
    let reports = server.send("GET", "/api/v1/reports", &root, b"").is(200).json();
    let one = &reports["reports"][0];
    assert_eq!(
        (&one["name"], &one["version"], &one["login"], &one["kind"]),
        (&json!("base"), &json!("1.1.0"), &json!("eve"), &json!("malicious"))
    );
    let path = format!("/api/v1/reports/{}", one["id"].as_str().unwrap());
    server.send("DELETE", &path, &eve, b"").is(403);
    // A token of the administrator does it with the right for it, and for its packs.
    let narrow = server.token(&root, &["admin"], &["other"]);
    server.send("PUT", PLACE, &narrow, WHY).is(403);
    let listed = server.send("GET", "/api/v1/reports", &narrow, b"").is(200).json();
    assert_eq!(listed["reports"], json!([]), "reports on packs that the token is not for");
    server.send("DELETE", &path, &narrow, b"").is(403);
    let token = server.token(&root, &["admin"], &["ba*"]);
    let weak = server.token(&root, &["yank"], &["*"]);
    server.send("PUT", PLACE, &weak, WHY).is(403);
    server.send("GET", "/api/v1/reports", &weak, b"").is(403);
    server.send("PUT", PLACE, &token, WHY).is(204);
    server.send("DELETE", PLACE, &token, b"").is(204);
    let listed = server.send("GET", "/api/v1/reports", &token, b"").is(200).json();
    assert_eq!(listed["reports"].as_array().unwrap().len(), 1);
    server.send("DELETE", &path, &token, b"").is(204);
    server.send("DELETE", &path, &token, b"").is(404);
    let body = json!({ "kind": "other", "text": "again" });
    let tries: Vec<u16> = (0..9).map(|_| server.post("/api/v1/packs/base/report", &ada, &body).status).collect();
    assert!(tries.contains(&201) && tries.contains(&429), "{tries:?}");
    server.post("/api/v1/packs/base/report", &eve, &json!({ "kind": "awful", "text": "x" })).is(400);
}

#[test]
fn reports_and_quarantine_work_by_forms() {
    let server = Server::start();
    administrator(&server);
    server.publish(&server.account("ada"), &[Pack::new("base", "1.1.0")]);
    let (root, ada) = (sign_in(&server, "root"), sign_in(&server, "ada"));
    let pack = text(&server.get("/packs/base").is(200));
    has(&pack, &["href=\"/report?pack=base&#38;version=1.1.0\""]);
    text(&server.get("/report?pack=base&version=1.1.0").is(401));
    let empty = text(&with_cookie(&server, "/report?pack=base&version=1.1.0", &ada).is(200));
    has(&empty, &["Report base", "value=\"1.1.0\"", "<option value=\"malicious\" selected>"]);
    let token = form_token(&empty);
    let body = |text: &str| format!("form_token={token}&pack=base&version=1.1.0&kind=wrong&text={text}");
    let refused = text(&form(&server, "/report", &ada, &body("")).is(400));
    has(&refused, &["A report says what is wrong", "<option value=\"wrong\" selected>"]);
    has(&text(&form(&server, "/report", &ada, &body("lanes%0Aare+%3Cswapped%3E")).is(200)), &["Thank you"]);
    text(&form(&server, "/report", &ada, "form_token=x&pack=base&kind=wrong&text=y").is(403));

    text(&server.get("/reports").is(401));
    text(&with_cookie(&server, "/reports", &ada).is(403));
    has(&text(&with_cookie(&server, "/account", &root).is(200)), &["href=\"/reports\"", "1 open"]);
    assert!(!text(&with_cookie(&server, "/account", &ada).is(200)).contains("/reports"));
    let listed = text(&with_cookie(&server, "/reports?pack=base&version=1.1.0", &root).is(200));
    has(
        &listed,
        &[
            "lanes\nare &#60;swapped&#62;",
            "id=\"hold-version\" name=\"version\" value=\"1.1.0\"",
            "No version is in quarantine",
        ],
    );
    let own = form_token(&listed);
    let hold = format!("form_token={own}&pack=base&version=1.1.0&reason=swapped+lanes");
    text(&form(&server, "/reports/quarantine", &ada, &hold).is(403));
    text(&form(&server, "/reports/quarantine", &ada, &hold.replace(&own, &token)).is(403));
    let unknown = form(&server, "/reports/quarantine", &root, &hold.replace("1.1.0", "3.0.0")).is(404);
    has(&text(&unknown), &["There is no `base 3.0.0`", "value=\"swapped lanes\""]);
    form(&server, "/reports/quarantine", &root, &hold).is(303);
    let held = text(&with_cookie(&server, "/reports", &root).is(200));
    has(&held, &["swapped lanes", "Lift<span"]);
    has(&text(&server.get("/packs/base").is(200)), &["in quarantine"]);
    let (_, rest) = held.split_once("name=\"id\" value=\"").unwrap();
    let id = rest.split('"').next().unwrap();
    form(&server, "/reports/close", &root, &format!("form_token={own}&id={id}")).is(303);
    form(&server, "/reports/quarantine", &root, &format!("form_token={own}&pack=base&version=1.1.0")).is(303);
    let after = text(&with_cookie(&server, "/reports", &root).is(200));
    has(&after, &["Nothing waits for you", "No version is in quarantine", "closed by root"]);
}

#[test]
fn a_password_is_asked_for_before_a_report() {
    let server = Server::start();
    let ada = author(&server, "ada");
    typed(&ada, &["report", "base"], "").exits(2).says(&["--kind"]);
}
