//! The web pages over HTTP: what they say, that nothing of a pack can act in them, and who may change an account.

use std::collections::BTreeMap;

use serde_json::json;

use crate::server::{Answer, PASSWORD, Pack, Server};

/// The text of a page, which has the headers that every page must have.
#[track_caller]
pub(crate) fn text(answer: &Answer) -> String {
    let policy = &answer.headers["content-security-policy"];
    assert!(policy.starts_with("default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
    assert!(answer.headers["cache-control"].contains("private") || answer.headers["cache-control"] == "no-store");
    let text = String::from_utf8(answer.bytes.clone()).unwrap();
    for forbidden in ["<script", "javascript:", " onerror", " onclick", " style=", "http-equiv"] {
        assert!(!text.to_lowercase().contains(forbidden), "{forbidden}\n{text}");
    }
    text
}

#[track_caller]
fn page(server: &Server, path: &str) -> String {
    text(&server.get(path).is(200))
}

#[track_caller]
pub(crate) fn has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "`{part}` is not in\n{page}");
    }
}

/// Two packs, one of them with two versions.
fn stocked() -> (Server, String) {
    let server = Server::start();
    let session = server.account("ada");
    let library = "from base import one\nanswer = one + 41\n";
    let packs = [Pack::new("base", "1.0.0"), Pack::with("@ada/answers", "0.1.0", "base = \"1\"\n", library)];
    assert_eq!(server.publish(&session, &packs)["state"], "published");
    let next = Pack::with("base", "1.1.0", "", "one = 1\n# more\n");
    let outcome = server.publish(&session, &[next]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    (server, session)
}

#[test]
fn packs_are_found() {
    let (server, _) = stocked();
    has(&page(&server, "/"), &["href=\"/packs/base\"", "href=\"/packs/@ada/answers\"", "Search 2 packs", "3 versions"]);
    let found = page(&server, "/search?q=answers&kind=schedule");
    has(&found, &["2 packs", "value=\"answers\"", "<option value=\"schedule\" selected>"]);
    has(&page(&server, "/search?q=base"), &["Answers of base"]);
    has(&page(&server, "/search?kind=target"), &["0 packs", "Search without filters"]);
    has(&page(&server, "/search?q=base&verified=true"), &["0 packs"]);
    has(&page(&server, "/search?page=7"), &["There is nothing on this page"]);
    let quoted = page(&server, "/search?q=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E");
    has(&quoted, &["value=\"&#34;&#62;&#60;script&#62;"]);
    text(&server.get("/search?page=many").is(400));
    text(&server.get(&format!("/search?q={}", "a".repeat(300))).is(400));
    has(&page(&server, "/users/ada"), &["href=\"/packs/base\""]);
    text(&server.get("/users/nobody").is(404));
    let style = server.get("/static/style.css").is(200);
    assert_eq!(style.headers["content-type"], "text/css; charset=utf-8");
    has(&String::from_utf8(style.bytes).unwrap(), &["prefers-color-scheme: dark"]);
    server.get("/static/icon.svg").is(200);
}

#[test]
fn a_pack_is_shown() {
    let (server, session) = stocked();
    let shown = page(&server, "/packs/base");
    has(&shown, &["exo add base<", "1.1.0", "<h2>Pack</h2>", "Knows the answer.", "href=\"/users/ada\"", "MIT"]);
    let scoped = page(&server, "/packs/@ada/answers");
    has(&scoped, &["exo add @ada/answers<", "href=\"/packs/@ada/answers/versions\""]);
    assert_eq!(page(&server, "/packs/%40ada%2Fanswers"), scoped);
    has(
        &page(&server, "/packs/@ada/answers/dependencies"),
        &["href=\"/packs/base\"", "<code>^1</code>", "Answers of base"],
    );
    has(&page(&server, "/packs/base/dependencies"), &["depends on no other pack"]);
    let outcome = server.publish(&session, &[Pack::with("tiled", "0.1.0", "neon = \"1\"\n", "one = 1\n")]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    has(&page(&server, "/packs/tiled/dependencies"), &["It comes with exo."]);
    has(&page(&server, "/search?target=neon"), &["1 pack", "href=\"/packs/tiled\""]);
    has(&page(&server, "/packs/base/dependants"), &["href=\"/packs/@ada/answers\""]);
    has(&page(&server, "/packs/base/sources"), &["href=\"/packs/base/sources/src/lib.exo\"", "Exo.toml"]);
    has(&page(&server, "/packs/base/sources/src/lib.exo"), &["id=\"L2\"># more"]);
    let old = page(&server, "/packs/base/sources/src/lib.exo?version=1.0.0");
    assert!(!old.contains("# more"));
    has(&old, &["exo add base@=1.0.0", "href=\"/packs/base/versions?version=1.0.0\""]);
    let compared = page(&server, "/packs/base/compare?from=1.0.0&to=1.1.0");
    has(
        &compared,
        &[
            "+ # more",
            "- version = &#34;1.0.0&#34;",
            "+ version = &#34;1.1.0&#34;",
            "2 files, 2 lines added, 1 removed",
        ],
    );
    has(&page(&server, "/packs/base/compare?from=1.0.0&to=1.0.0"), &["The files of both are the same"]);
    assert_eq!(page(&server, "/packs/base/compare"), compared);

    server.send("PUT", "/api/v1/packs/base/1.1.0/yank", &session, br#"{"reason": "wrong sums"}"#).is(204);
    let body = br#"{"reason": "too small", "replacement": "@ada/answers"}"#;
    server.send("PUT", "/api/v1/packs/base/deprecation", &session, body).is(204);
    has(&page(&server, "/packs/base"), &["1.0.0", "too small. Use @ada/answers instead."]);
    has(&page(&server, "/packs/base?version=1.1.0"), &["<strong>Yanked:</strong> wrong sums."]);
    has(&page(&server, "/packs/base/versions"), &["yanked</span>", "wrong sums", "compare?from=1.0.0&#38;to=1.1.0"]);
    has(&page(&server, "/search?q=base"), &["deprecated"]);
    server.send("PUT", "/api/v1/packs/base/archival", &session, br#"{"reason": "moved on."}"#).is(204);
    has(
        &page(&server, "/packs/base"),
        &[
            "archived</span>",
            "<strong>Archived:</strong> no longer maintained since 20",
            "nothing new is published. moved on.",
        ],
    );
    has(&page(&server, "/search?q=base"), &["archived</span>"]);
    for path in [
        "/packs/nothing",
        "/packs/base/other",
        "/packs/base?version=9.0.0",
        "/packs/base/sources/src/no.exo",
        "/packs/A",
    ] {
        text(&server.get(path).is(404));
    }
}

#[test]
fn what_the_checker_saw_is_shown() {
    let server = Server::start();
    let session = server.account("arm");
    let outcome = server.publish(&session, &[Pack::of_folder("packages/neon", "@arm/neon", "1.1.0")]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    let checks = page(&server, "/packs/@arm/neon/checks");
    has(
        &checks,
        &[
            "<code>neon_vadd_4xf32</code>",
            "{dst_data} = vaddq_f32({lhs_data}, {rhs_data});",
            "src/f32.exo:",
            "not run here",
            "href=\"/packs/@arm/neon/sources/src/memory.exo\"",
            "nothing was taken on the author",
        ],
    );
    assert!(!checks.contains("see the sources"));
    // Each instruction's place is the line that defines it.
    let (_, rest) = checks.split_once("<code>neon_vadd_4xf32</code>").unwrap();
    let address = rest.split('"').find(|part| part.starts_with("/packs/")).unwrap();
    let (path, line) = address.split_once("#L").unwrap();
    has(&page(&server, path), &[&format!("id=\"L{line}\">def neon_vadd_4xf32(")]);
    let verdict = checks.split('"').find(|part| part.starts_with("/v1/verdict/")).unwrap();
    server.get(verdict).is(200);
    has(&page(&server, "/search?kind=target&target=%40arm%2Fneon"), &["1 pack"]);
}

/// What a pack says of itself acts nowhere.
#[test]
fn hostile_packs_are_harmless() {
    let server = Server::start();
    let session = server.account("eve");
    let readme = "# <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n[a](javascript:alert(1)) [b](/account) ![c](https://evil.example/c.png)\n\n<form action=\"/sign-out\" method=post><button>x</button></form>\n\n<style>*{display:none}</style>\n\n<a href=\"https://fine.example\" onclick=\"x()\" style=\"position:fixed\">fine</a>\n";
    let description = "</title><script>alert(2)</script>";
    let library = "one = \"</code></pre><script>alert(3)</script>\"\n";
    let pack = Pack::hostile("harmful", readme, description, library);
    let outcome = server.publish(&session, &[pack]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    let shown = page(&server, "/packs/harmful");
    let (_, article) = shown.split_once("<article").unwrap();
    let (article, _) = article.split_once("</article>").unwrap();
    for forbidden in ["<form", "<img", "<style", "evil.example", "href=\"/account\""] {
        assert!(!article.contains(forbidden), "{forbidden}\n{article}");
    }
    // A link of Markdown stays; HTML is dropped with its attributes.
    assert!(article.contains(">a</a>") || article.contains("a b"), "{article}");
    has(&shown, &["&#60;/title&#62;&#60;script&#62;alert(2)"]);
    has(&page(&server, "/packs/harmful/sources/src/lib.exo"), &["&#60;script&#62;alert(3)"]);
    page(&server, "/");
    page(&server, "/packs/harmful/compare");
    // Nesting without end neither hangs nor ends the server.
    let deep = format!("{}x\n\n{}y\n\n{}z\n", "> ".repeat(40_000), "* ".repeat(20_000), "[".repeat(40_000));
    let outcome = server.publish(&session, &[Pack::hostile("nested", &deep, "deep", "one = 1\n")]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    page(&server, "/packs/nested");
    page(&server, "/");
}

#[test]
fn a_browser_is_told_of_errors_by_a_page_and_a_program_by_json() {
    let server = Server::start();
    for path in ["/nothing/here", "/packs", "/static/none.css", "/account/nothing"] {
        for headers in [&[][..], &[("accept", "text/html,*/*")], &[("accept", "application/json")]] {
            let page = server.send_with("GET", path, "", b"", headers).is(404);
            has(&text(&page), &["Not found", "<main"]);
        }
    }
    for path in ["/api", "/api/v1/nothing", "/api/v2/packs", "/v1/nothing"] {
        let answer = server.send_with("GET", path, "", b"", &[("accept", "text/html")]).is(404);
        assert_eq!(answer.json()["error"]["code"], "absent", "{path}");
    }
    text(&server.send("POST", "/search", "", b"").is(405));
    let long = format!("form_token={}", "a".repeat(100_000));
    text(&form(&server, "/sign-in", "", &long).is(413));
}

/// Sends a form with cookies.
pub(crate) fn form(server: &Server, path: &str, cookies: &str, body: &str) -> Answer {
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let headers = [kind, ("cookie", cookies), ("sec-fetch-site", "same-origin")];
    server.send_with("POST", path, "", body.as_bytes(), &headers)
}

/// The cookie that an answer sets, as it is sent back.
pub(crate) fn cookie(answer: &Answer) -> String {
    let set = &answer.headers["set-cookie"];
    assert!(set.starts_with("__Host-exo_"), "{set}");
    for attribute in ["; Path=/;", "; Secure", "; HttpOnly", "; SameSite=Lax"] {
        assert!(set.contains(attribute), "{set}");
    }
    set.split(';').next().unwrap().to_owned()
}

/// The token in the forms of a page.
pub(crate) fn form_token(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"form_token\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

pub(crate) fn with_cookie(server: &Server, path: &str, cookie: &str) -> Answer {
    server.send_with("GET", path, "", b"", &[("cookie", cookie)])
}

/// Signs in by the form; gives the session's cookie.
pub(crate) fn sign_in(server: &Server, login: &str) -> String {
    let entrance = server.get("/sign-in").is(200);
    let (before, token) = (cookie(&entrance), form_token(&text(&entrance)));
    let body = format!("form_token={token}&login={login}&password={}", PASSWORD.replace(' ', "+"));
    let answer = form(server, "/sign-in", &before, &body).is(303);
    assert_eq!(answer.headers["location"], "/account?kept=1");
    cookie(&answer)
}

#[test]
fn an_account_makes_and_revokes_tokens() {
    let server = Server::start();
    server.account("ada");
    let session = sign_in(&server, "ada");
    let account = with_cookie(&server, "/account", &session).is(200);
    assert_eq!(account.headers["cache-control"], "no-store");
    let token = form_token(&text(&account));
    // What is chosen already is what everybody wants: no right, and no pack.
    has(&text(&account), &["name=\"packs\" value=\"\"", "with spaces or commas between them"]);
    assert!(!text(&account).contains("value=\"on\" checked"));
    let body = format!("form_token={token}&name=laptop&publish-new=on&packs=ba*,+%40ada/*&days=30");
    let made = text(&form(&server, "/account/tokens", &session, &body).is(200));
    let secret = made.split(['>', '<']).find(|part| part.starts_with("exo_")).unwrap().to_owned();
    let me = server.send("GET", "/api/v1/whoami", &secret, b"").is(200).json();
    assert_eq!((&me["rights"], &me["packs"]), (&json!(["publish-new"]), &json!(["ba*", "@ada/*"])));
    let later = text(&with_cookie(&server, "/account", &session).is(200));
    has(&later, &["laptop", "publish-new", "<code>ba*, @ada/*</code>"]);
    assert!(!later.contains(&secret));
    let (_, rest) = later.split_once("name=\"id\" value=\"").unwrap();
    let id = rest.split('"').next().unwrap();
    form(&server, "/account/tokens/end", &session, &format!("form_token={token}&id={id}")).is(303);
    server.send("GET", "/api/v1/whoami", &secret, b"").is(401);
    for (wrong, why) in [
        ("packs=*&days=30", "without a right"),
        ("yank=on&packs=*&days=999", "lasts 1 to"),
        ("yank=on&packs=&days=3", "globs"),
    ] {
        let body = format!("form_token={token}&name=laptop&{wrong}");
        has(&text(&form(&server, "/account/tokens", &session, &body).is(400)), &[why, "value=\"laptop\""]);
    }
    let body = format!("form_token={token}&name=all&admin=on&packs=*&days=1");
    text(&form(&server, "/account/tokens", &session, &body).is(403));
    let out = form(&server, "/sign-out", &session, &format!("form_token={token}")).is(303);
    assert!(out.headers["set-cookie"].contains("Max-Age=0"));
    assert_eq!(with_cookie(&server, "/account", &session).is(303).headers["location"], "/sign-in");
}

#[test]
fn forms_of_others_are_refused() {
    let server = Server::start();
    server.account("ada");
    server.account("eve");
    let (ada, eve) = (sign_in(&server, "ada"), sign_in(&server, "eve"));
    let token = |session: &str| form_token(&text(&with_cookie(&server, "/account", session).is(200)));
    let (own, other) = (token(&ada), token(&eve));
    let body = |token: &str| format!("form_token={token}&name=t&yank=on&packs=*&days=1");
    for path in ["/account/tokens", "/account/tokens/end", "/sign-out"] {
        let body = |token: &str| format!("{}&id=x", body(token));
        text(&form(&server, path, &ada, &body("")).is(403));
        text(&form(&server, path, &ada, &body(&other)).is(403));
        let foreign = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("cookie", ada.as_str()),
            ("sec-fetch-site", "cross-site"),
        ];
        text(&server.send_with("POST", path, "", body(&own).as_bytes(), &foreign).is(403));
        let answer = form(&server, path, &ada, "id=x");
        text(&answer);
        assert!(matches!(answer.status, 403 | 422), "{path}: {}", answer.status);
    }
    // Nobody is signed in by a form of another site, and nobody's session works as a token of the API.
    text(&form(&server, "/sign-in", "", &format!("form_token={own}&login=eve&password=x")).is(403));
    let secret = ada.split_once('=').unwrap().1.to_owned();
    with_cookie(&server, "/api/v1/whoami", &ada).is(401);
    server.send("GET", "/api/v1/whoami", &secret, b"").is(200);
    // A token is no session.
    let api = server.token(&secret, &["yank"], &["*"]);
    with_cookie(&server, "/account", &format!("__Host-exo_session={api}")).is(303);
    form(&server, "/account/tokens", &ada, &body(&own)).is(200);
}

#[test]
fn signing_in_and_up_says_what_is_wrong() {
    let server = Server::start();
    let code = server.code.clone().unwrap();
    let entrance = server.get(&format!("/sign-up?code={code}")).is(200);
    let (before, shown) = (cookie(&entrance), text(&entrance));
    has(&shown, &[&format!("value=\"{code}\"")]);
    let token = form_token(&shown);
    let fields = |login: &str, password: &str, code: &str| {
        let fields =
            BTreeMap::from([("form_token", token.as_str()), ("login", login), ("password", password), ("code", code)]);
        fields.iter().map(|(name, value)| format!("{name}={}", value.replace(' ', "+"))).collect::<Vec<_>>().join("&")
    };
    has(
        &text(&form(&server, "/sign-up", &before, &fields("ada", PASSWORD, "guess")).is(403)),
        &["The code is not good", "value=\"ada\""],
    );
    has(
        &text(&form(&server, "/sign-up", &before, &fields("ada", "short", &code)).is(400)),
        &["at least 10 characters"],
    );
    let joined = form(&server, "/sign-up", &before, &fields("ada", PASSWORD, &code)).is(303);
    has(&text(&with_cookie(&server, "/account", &cookie(&joined)).is(200)), &["administrator", "right-admin"]);
    let wrong = form(&server, "/sign-in", &before, &fields("ada", "a wrong password", ""));
    has(&text(&wrong.is(403)), &["Login or password is wrong", "value=\"ada\""]);
    let lost = server.get("/account?kept=1").is(303);
    has(&page(&server, &lost.headers["location"]), &["did not keep the session"]);
    let answers: Vec<u16> =
        (0..24).map(|_| form(&server, "/sign-in", &before, &fields("ada", "a wrong password", "")).status).collect();
    assert!(answers.contains(&429), "{answers:?}");
}
