//! The web pages in a real browser: signing in and making a token by hand, and on each screen what a page must have. Pictures
//! of all of them are kept in `target/pages/`.

use std::path::PathBuf;

use exo_tests::exo::repository;
use serde_json::json;

use crate::browser::{Browser, SCREENS, Screen};
use crate::quarantine::administrator;
use crate::server::{PASSWORD, Pack, Server};

/// What is wrong with the page that is open: a list of findings.
pub(crate) const PROBLEMS: &str = include_str!("page_problems.js");

pub(crate) fn picture(page: &str, screen: Screen) -> PathBuf {
    repository().join(format!("target/pages/{page}-{}.png", screen.name))
}

/// A page as a reader has it.
pub(crate) fn look_at(browser: &Browser, page: &str, url: &str) {
    for screen in SCREENS {
        browser.look_as(screen);
        browser.open(url);
        browser.photograph(&picture(page, screen));
        let problems = browser.evaluate(PROBLEMS);
        assert_eq!(problems, json!([]), "{page} {}: {problems:#}", screen.name);
    }
}

fn stocked() -> Server {
    let server = Server::start();
    let session = server.account("ada");
    let neon = Pack::of_folder("packages/neon", "@arm/neon", "1.1.0");
    let conv2d = Pack::of_folder("packages/neon-conv2d", "@arm/neon-conv2d", "1.2.0");
    let outcome = server.publish(&server.account("arm"), &[neon, conv2d]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    let conv = Pack::with("conv-tiles", "0.1.0", "neon = \"1\"\n", "tile = 4\n\ndef schedule(p):\n    return p\n");
    let scoped = Pack::with("@ada/tiles", "0.3.0-rc.1", "\"@arm/neon\" = \"1\"\nstd = \"1\"\n", "tile = 4\n");
    let outcome = server.publish(&session, &[conv, scoped]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    let library = "tile = 8\n\n# A tile of 8 × 4 fits the registers of every machine that has 32 of them.\ndef schedule(p, rows = 8):\n    return p\n";
    let outcome = server.publish(&session, &[Pack::with("conv-tiles", "0.2.0", "neon = \"1.1\"\n", library)]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    server.send("PUT", "/api/v1/packs/conv-tiles/0.1.0/yank", &session, br#"{"reason": "tiles too small"}"#).is(204);
    let weak = br#"{"versions": "<0.2.0", "severity": "high", "summary": "wrong for tiles of one row", "patched": ">=0.2.0", "remedy": "use rows of two", "url": "https://example.org/tiles"}"#;
    server.send("POST", "/api/v1/packs/conv-tiles/advisories", &session, weak).is(201);
    let body = br#"{"reason": "merged into conv-tiles", "replacement": "conv-tiles"}"#;
    server.send("PUT", "/api/v1/packs/%40ada%2Ftiles/deprecation", &session, body).is(204);
    server.send("PUT", "/api/v1/packs/%40ada%2Ftiles/archival", &session, br#"{"reason": "moved on"}"#).is(204);
    server
}

#[test]
fn pages_are_readable_on_every_screen() {
    let server = stocked();
    let browser = Browser::start();
    for (page, path) in [
        ("home", "/"),
        ("search", "/search?q=neon"),
        ("search-none", "/search?q=nothing+at+all&kind=kernel"),
        ("readme", "/packs/@arm/neon"),
        ("versions", "/packs/conv-tiles/versions"),
        ("yanked", "/packs/conv-tiles?version=0.1.0"),
        ("deprecated", "/packs/@ada/tiles/dependencies"),
        ("dependants", "/packs/@arm/neon/dependants"),
        ("checks", "/packs/@arm/neon/checks"),
        ("claims", "/packs/@arm/neon-conv2d/checks"),
        ("sources", "/packs/@arm/neon/sources"),
        ("source", "/packs/@arm/neon/sources/src/memory.exo#L5"),
        ("compare", "/packs/conv-tiles/compare"),
        ("user", "/users/ada"),
        ("sign-in", "/sign-in"),
        ("sign-up", "/sign-up?code=abc"),
        ("confirm", "/account/confirm?code=abc"),
        ("absent", "/packs/nothing"),
    ] {
        look_at(&browser, page, &format!("{}{path}", server.url));
    }
    // The first stop of the keyboard leads past the head of the page.
    browser.open(&server.url);
    browser.press('\u{e004}');
    assert_eq!(browser.evaluate("document.activeElement.className"), "skip");
    browser.press('\u{e007}');
    assert_eq!(browser.evaluate("location.hash"), "#main");
    assert_eq!(browser.evaluate("document.activeElement.id"), "main");
}

/// The list of problems is empty for good pages because they are good.
#[test]
fn problems_are_seen() {
    let browser = Browser::start();
    browser.look_as(SCREENS[2]);
    let page = "<h2 style='color:%23aaa'>faint</h2><input><img src='http://127.0.0.1:1/x.png'><a href='/x'></a><p style='width:999px'>wide</p><button style='font-size:2px;padding:0'>b</button><nav></nav>";
    browser.open(&format!("data:text/html,<meta name=viewport content=width=device-width><main>{page}</main>"));
    let problems = browser.evaluate(PROBLEMS).to_string();
    for problem in [
        "0 of h1",
        "0 of body > header",
        "left out before",
        "no label",
        "no alt",
        "no text",
        "contrast 2.32",
        "on a screen of 375",
        "navigations are called",
        "no language",
        "loaded http://127.0.0.1:1/",
        "only",
    ] {
        assert!(problems.contains(problem), "{problem}: {problems}");
    }
}

#[test]
fn an_account_is_used_without_script() {
    let server = Server::start();
    server.account("ada");
    let browser = Browser::start();
    browser.look_as(SCREENS[0]);
    browser.open(&format!("{}/sign-in", server.url));
    browser.type_into("#login", "ada");
    browser.type_into("#password", "a wrong password");
    browser.follow("main button");
    assert_eq!(browser.evaluate("document.querySelector('[role=alert]').textContent"), "Login or password is wrong.");
    browser.type_into("#password", PASSWORD);
    browser.follow("main button");
    assert_eq!(browser.evaluate("location.pathname"), "/account");
    // No script of a page could take the session.
    assert_eq!(browser.evaluate("document.cookie"), "");
    browser.type_into("#token-name", "laptop");
    browser.click("#right-publish-new");
    // For which packs is said by whoever makes it: nothing is filled in.
    browser.type_into("#packs", "blur-*, edges");
    browser.follow("main section form.stack button");
    let token = browser.evaluate("document.querySelector('.secret').textContent");
    let me = server.send("GET", "/api/v1/whoami", token.as_str().unwrap(), b"").is(200).json();
    assert_eq!((&me["login"], &me["rights"]), (&json!("ada"), &json!(["publish-new"])));
    assert_eq!(me["packs"], json!(["blur-*", "edges"]));
    for screen in SCREENS {
        browser.look_as(screen);
        browser.photograph(&picture("token-made", screen));
        assert_eq!(browser.evaluate(PROBLEMS), json!([]), "{}", screen.name);
    }
    look_at(&browser, "account", &format!("{}/account", server.url));
    browser.follow("table button");
    server.send("GET", "/api/v1/whoami", token.as_str().unwrap(), b"").is(401);
    browser.follow(".who button");
    assert_eq!(browser.evaluate("location.pathname"), "/");
    browser.open(&format!("{}/account", server.url));
    assert_eq!(browser.evaluate("location.pathname"), "/sign-in");
}

#[test]
fn an_administrator_reads_reports_and_quarantines_a_version() {
    let server = Server::start();
    let root = administrator(&server);
    server.publish(&server.account("ada"), &[Pack::new("base", "1.0.0"), Pack::new("amber", "1.0.0")]);
    let report = json!({ "kind": "malicious", "version": "1.0.0", "text": "It copies files out:\nsee line 3." });
    server.post("/api/v1/packs/amber/report", &root, &report).is(201);
    let browser = Browser::start();
    browser.look_as(SCREENS[0]);
    browser.open(&format!("{}/sign-in", server.url));
    browser.type_into("#login", "root");
    browser.type_into("#password", PASSWORD);
    browser.follow("main button");
    look_at(&browser, "report", &format!("{}/report?pack=base&version=1.0.0", server.url));
    browser.type_into("#text", "Its lanes are swapped.");
    browser.follow("main button");
    assert_eq!(browser.evaluate("document.querySelectorAll('[role=status]').length"), 1);
    browser.open(&format!("{}/reports?pack=base&version=1.0.0", server.url));
    browser.type_into("#hold-reason", "lanes are swapped");
    browser.follow("main > section:last-child button, section[aria-labelledby=hold] button");
    look_at(&browser, "reports", &format!("{}/reports", server.url));
    look_at(&browser, "quarantined", &format!("{}/packs/base", server.url));
    browser.open(&format!("{}/reports", server.url));
    browser.follow("section[aria-labelledby=held] button");
    assert_eq!(browser.evaluate("document.querySelectorAll('section[aria-labelledby=held] tr').length"), 0);
}

#[test]
fn a_hostile_readme_does_nothing() {
    let server = Server::start();
    let session = server.account("eve");
    let readme = "# Fine\n\n<script>window.taken = 1</script><img src=x onerror=\"window.taken = 1\">\n\n[go](javascript:window.taken=1)\n\n![c](https://evil.example/c.png)\n\n<iframe src=\"https://evil.example\"></iframe>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nfrom neon import target\n```\n\n- [x] done\n\n> A quote\n";
    let outcome = server.publish(&session, &[Pack::hostile("harmful", readme, "<b>bold</b>", "one = 1\n")]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    let browser = Browser::start();
    look_at(&browser, "hostile", &format!("{}/packs/harmful", server.url));
    assert_eq!(browser.evaluate("typeof window.taken"), "undefined");
    assert_eq!(browser.evaluate("document.querySelectorAll('article *[href]').length"), 0);
    assert_eq!(browser.evaluate("document.querySelectorAll('article td').length"), 2);
}

#[test]
fn owners_manage_packs_and_organisations_without_script() {
    let server = stocked();
    let session = server.login("ada");
    server.send("PUT", "/api/v1/organisations/lab", &session, b"").is(201);
    for (login, role) in [("eve", "publisher"), ("a-login-that-is-quite-long-for-a-table", "owner")] {
        server.account(login);
        let body = json!({ "role": role }).to_string();
        server.send("PUT", &format!("/api/v1/organisations/lab/members/{login}"), &session, body.as_bytes()).is(204);
    }
    let outcome = server.publish(&session, &[Pack::with("@lab/tiles", "1.0.0", "neon = \"1\"\n", "tile = 4\n")]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    let browser = Browser::start();
    browser.look_as(SCREENS[0]);
    browser.open(&format!("{}/sign-in", server.url));
    browser.type_into("#login", "ada");
    browser.type_into("#password", PASSWORD);
    browser.follow("main button");
    browser.click("section details summary");
    browser.type_into("#organisation-name", "guild");
    browser.follow("section details button");
    assert_eq!(browser.evaluate("location.pathname"), "/organisations/guild");
    browser.type_into("#new-login", "eve");
    browser.follow("form.stack button");
    assert_eq!(browser.evaluate("document.querySelectorAll('tbody tr').length"), 2);
    browser.follow("tbody tr:last-child td:last-child button");
    assert_eq!(browser.evaluate("document.querySelectorAll('tbody tr').length"), 1);
    look_at(&browser, "organisation", &format!("{}/organisations/lab", server.url));
    look_at(&browser, "manage", &format!("{}/packs/conv-tiles/manage", server.url));
    look_at(&browser, "pack-of-organisation", &format!("{}/packs/@lab/tiles", server.url));
    look_at(&browser, "account-in-organisations", &format!("{}/account", server.url));
    browser.look_as(SCREENS[0]);
    browser.open(&format!("{}/packs/conv-tiles/manage", server.url));
    browser.type_into("#yank-reason", "tiles too large");
    browser.follow("form[aria-labelledby=yank-one] button");
    assert_eq!(browser.evaluate("document.querySelectorAll('tr.gone').length"), 2);
    // A session that is some minutes old is asked for a code, in the row of each button that removes somebody.
    crate::second_factor::enrol(&server, &session);
    server.change_rows("UPDATE tokens SET expires = expires - 700 WHERE session = 1");
    look_at(&browser, "organisation-asks-for-code", &format!("{}/organisations/lab", server.url));
}
