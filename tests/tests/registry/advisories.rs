//! Advisories from their author to those who use the pack: published, changed, withdrawn, and what comes of it elsewhere.

use serde_json::json;

use crate::authors::{author, home, write_pack};
use crate::client::{shard, trust};
use crate::server::{Pack, Server, operate_on};

#[test]
fn users_are_warned_move_on_and_are_told_why() {
    let server = Server::start();
    let ada = author(&server, "ada");
    for version in ["1.0.0", "1.1.0"] {
        write_pack(&ada, "", "base", version, "", "one = 1\n");
        ada.run(&["publish"]).exits(0);
    }
    let user = home(&server);
    user.project("");
    user.run(&["add", "base@=1.0.0"]).exits(0);
    let manifest = user.read("work/Exo.toml").replace("\"=1.0.0\"", "\"1\"");
    user.write("work/Exo.toml", &manifest);
    user.run(&["install"]).exits(0);
    user.run(&["audit", "--deny", "advisories"]).exits(0);

    ada.run(&["advisory", "list", "base"]).exits(0).prints(&["base has no advisories"]);
    ada.run(&["advisory", "publish", "base", "--versions", "<1.1"]).exits(2).says(&["needs --severity, --summary"]);
    let published = ada.run(&[
        "advisory",
        "publish",
        "base",
        "--versions",
        "<1.1.0",
        "--severity",
        "high",
        "--summary",
        "wrong sums for odd sizes",
        "--patched",
        ">=1.1.0",
        "--url",
        "https://example.org/sums",
    ]);
    let text = published.exits(0).prints(&["published EXO-20", "of base", "who has <1.1.0 locked is warned"]).stdout;
    let id = text.split_whitespace().nth(1).unwrap().to_owned();
    assert!(id.ends_with("-0001"), "{id}");

    let said = format!("base 1.0.0: {id}: wrong sums for odd sizes (patched in >=1.1.0)");
    user.run(&["audit"]).exits(0).prints(&[&said]);
    user.run(&["audit", "--deny", "advisories"]).exits(4).says(&["advisories: base 1.0.0", &id, "wrong sums"]);
    let document = user.run(&["audit", "--format", "json"]).exits(0);
    document.prints(&["\"advisories\"", &id]);
    user.run(&["install"]).exits(0).says(&["`base 1.0.0` is locked, and has the advisory", &id, "`exo update base`"]);
    // Who asks for the weak version and nothing else is told what stands in the way, and what to do.
    let other = home(&server);
    other.project("");
    other.run(&["add", "base@=1.0.0"]).exits(1).says(&[
        &format!("has the advisory {id} (wrong sums for odd sizes)"),
        "patched in >=1.1.0; ask for a version of `base` without it",
        "allow-advisories",
    ]);
    user.run(&["info", "base"]).exits(0).prints(&[&format!("1.0.0 has the advisory {id}")]);
    user.run(&["update"]).exits(0);
    assert!(user.read("work/Exo.lock").contains("1.1.0"));
    user.run(&["audit", "--deny", "advisories"]).exits(0);

    // It turns out to be in 1.1.0 too.
    ada.run(&["advisory", "change", "base", &id]).exits(2).says(&["nothing is to be changed"]);
    ada.run(&["advisory", "change", "base", "EXO-1"]).exits(2);
    ada.run(&["advisory", "change", "base", "EXO-1", "--severity", "low"]).exits(1).says(&["has no advisory `EXO-1`"]);
    ada.run(&["advisory", "change", "base", &id, "--versions", "<1.2", "--patched", ">=1.2"]).exits(0);
    let listed = ada.run(&["advisory", "list", "base", "--format", "json"]).exits(0).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let one = &listed["advisories"][0];
    assert_eq!(
        (&one["versions"], &one["severity"], &one["url"]),
        (&json!("<1.2"), &json!("high"), &json!("https://example.org/sums"))
    );
    user.run(&["audit", "--deny", "advisories"]).exits(4).says(&["base 1.1.0", "patched in >=1.2"]);
    user.run(&["update"]).exits(0).says(&["`base 1.1.0` is locked, and has the advisory"]);
    write_pack(&ada, "", "base", "1.2.0", "", "one = 1\n");
    ada.run(&["publish"]).exits(0);
    user.run(&["update"]).exits(0);
    assert!(user.read("work/Exo.lock").contains("1.2.0"));

    let eve = author(&server, "eve");
    eve.run(&["advisory", "withdraw", "base", &id]).exits(1).says(&["`eve` does not own `base`"]);
    ada.run(&["advisory", "withdraw", "base", &id]).exits(0).prints(&["is withdrawn"]);
    ada.run(&["advisory", "withdraw", "base", &id]).exits(1).says(&["has no advisory"]);
    ada.run(&["advisory", "list", "base"]).exits(0).prints(&[&id, "withdrawn: wrong sums"]);
    other.run(&["add", "base@=1.0.0"]).exits(0);
}

const WEAK: &str = r#"{"versions": "<1.1.0", "severity": "high", "summary": "wrong sums", "patched": ">=1.1.0", "remedy": "sort first", "url": "https://example.org/sums"}"#;

#[test]
fn an_advisory_is_signed_logged_shown_and_fed() {
    told_everywhere(Server::start());
}

pub(crate) fn told_everywhere(mut server: Server) {
    let ada = server.account("ada");
    server.publish(&ada, &[Pack::new("base", "1.0.0")]);
    server.publish(&ada, &[Pack::new("base", "1.1.0")]);
    let before = trust(&server, None);
    let path = "/api/v1/packs/base/advisories";
    let made = server.send("POST", path, &ada, WEAK.as_bytes()).is(201).json();
    let id = made["id"].as_str().unwrap().to_owned();
    let after = trust(&server, Some(before));
    let shard = shard(&server, &after, "base").unwrap();
    let advisory = &shard.pack.advisories[0];
    assert_eq!(
        (advisory.id.as_str(), advisory.advice().unwrap().as_str()),
        (id.as_str(), "patched in >=1.1.0; sort first")
    );
    // The leaf names the digest of what the shard says.
    let size = after.pointer().unwrap().log_size;
    let leaf = exo_index::registry::log::leaf::Leaf {
        event: exo_index::registry::log::leaf::Event::Advisory {
            name: shard.pack.name.clone(),
            id: id.clone(),
            digest: advisory.digest().unwrap(),
        },
        time: server.get(path).json()["advisories"][0]["published"].as_u64().unwrap(),
    };
    let tile = server.get(&format!("/v1/tile/entries/000.p/{size}")).is(200).bytes;
    let text = leaf.to_string();
    assert!(String::from_utf8_lossy(&tile).contains(&text), "{text}");
    let audit = server.send("GET", "/api/v1/packs/base/audit", &ada, b"").is(200).json();
    let mut events = audit["events"].as_array().unwrap().iter();
    assert!(events.any(|event| event["action"] == "advisory-publish" && event["login"] == "ada"), "{audit}");

    let page = |path: &str| String::from_utf8(server.get(path).is(200).bytes).unwrap();
    let old = page("/packs/base?version=1.0.0");
    assert!(
        old.contains(&format!("<strong>{id} (high):</strong> wrong sums. Patched in &#62;=1.1.0; sort first.")),
        "{old}"
    );
    assert!(old.contains("href=\"https://example.org/sums\""));
    assert!(!page("/packs/base").contains("wrong sums"));
    let versions = page("/packs/base/versions");
    assert_eq!(versions.matches(&format!("href=\"#{id}\"")).count(), 1, "one version of two has it: {versions}");
    assert!(versions.contains(&format!("id=\"{id}\"")) && versions.contains("<h2 id=\"advisories\">"));
    for feed in ["/api/v1/advisories.atom", "/api/v1/packs/base/advisories.atom"] {
        let text = page(feed);
        assert!(text.contains(&format!("<title>{id} (high): base &lt;1.1.0</title>")), "{text}");
        assert!(text.contains("<summary>wrong sums; patched in &gt;=1.1.0; sort first</summary>"), "{text}");
    }
    server.get("/api/v1/packs/none/advisories.atom").is(404);
    server.get("/api/v1/packs/none/advisories").is(404);

    // Numbers go on, also after a restart, and those that were given are taken once.
    server.kill();
    let server = server.again();
    let second = server.send("POST", path, &ada, WEAK.as_bytes()).is(201).json();
    assert!(second["id"].as_str().unwrap().ends_with("-0002"), "{second}");
    server.send("DELETE", &format!("{path}/{id}"), &ada, b"").is(204);
    server.send("PUT", &format!("{path}/{id}"), &ada, WEAK.as_bytes()).is(404);
    let third = server.send("POST", path, &ada, WEAK.as_bytes()).is(201).json();
    assert!(third["id"].as_str().unwrap().ends_with("-0003"), "{third}");
    let withdrawn = String::from_utf8(server.get("/packs/base/versions").is(200).bytes).unwrap();
    assert!(withdrawn.contains("withdrawn on 20") && !withdrawn.contains(&format!("href=\"#{id}\"")));
    let text = String::from_utf8(server.get("/api/v1/advisories.atom").bytes).unwrap();
    assert!(text.contains(&format!("{id} (high): base &lt;1.1.0 (withdrawn)")), "{text}");
    let given = WEAK.replacen('{', r#"{"id": "CVE-2026-1", "#, 1);
    server.send("POST", path, &ada, given.as_bytes()).is(201);
    server.send("POST", path, &ada, given.as_bytes()).is(409);
    let twin = server.send("POST", path, &ada, given.replace("CVE-2026-1", "CVe-2026-1").as_bytes()).is(409).json();
    assert_eq!(twin["error"]["message"], "there is an advisory `CVE-2026-1` already");
    operate_on(server.folder.path(), &server.variables, "verify-all", &[]).unwrap();
}

#[test]
fn what_is_no_advisory_is_refused() {
    let server = Server::start();
    let ada = server.account("ada");
    server.publish(&ada, &[Pack::new("base", "1.0.0")]);
    let path = "/api/v1/packs/base/advisories";
    for (from, to, why) in [
        ("\"high\"", "\"awful\"", "the severity is one of low, medium, high, critical"),
        ("\"<1.1.0\"", "\"below\"", "not a version requirement"),
        ("\">=1.1.0\"", "\"soon\"", "not a version requirement"),
        ("wrong sums", " ", "an advisory has a summary"),
        ("wrong sums", "wrong\\u202esums", "the summary of an advisory is one line"),
        ("sort first", "sort\\nfirst", "the remedy of an advisory is one line"),
        ("https://example.org/sums", "javascript:alert(1)", "begins with https:// or http://"),
        ("https://example.org/sums", "https://example.org@evil.example/", "begins with https:// or http://"),
        ("{\"versions\"", "{\"id\": \"EXO-2026-0009\", \"versions\"", "can be no id"),
        ("\"patched\"", "\"fixed\"", "unknown field `fixed`"),
    ] {
        let body = WEAK.replacen(from, to, 1);
        assert_ne!(body, WEAK);
        let answer = server.send("POST", path, &ada, body.as_bytes());
        assert!((400..=422).contains(&answer.status), "{}", answer.status);
        assert!(
            String::from_utf8_lossy(&answer.bytes).contains(why),
            "{why}: {}",
            String::from_utf8_lossy(&answer.bytes)
        );
    }
    server.send("POST", "/api/v1/packs/none/advisories", &ada, WEAK.as_bytes()).is(404);
    assert_eq!(server.get(path).json()["advisories"], json!([]));
    // So many are too many even where a minute ends among them.
    let tries: Vec<u16> = (0..45).map(|_| server.send("POST", path, &ada, WEAK.as_bytes()).status).collect();
    assert!(tries.contains(&429), "{tries:?}");
}
