//! Organisations: who makes them, who is in them, and what members may do in their scope.

use serde_json::json;

use crate::authors::{author, home, write_pack};
use crate::client;
use crate::pages::{form, form_token, has, sign_in, text, with_cookie};
use crate::server::{PASSWORD, Pack, Server, declaration};

#[test]
fn members_share_a_scope() {
    let server = Server::start();
    let [ada, eve, dan] = ["ada", "eve", "dan"].map(|login| server.account(login));
    let put = |path: &str, session: &str, body: &str| server.send("PUT", path, session, body.as_bytes()).status;
    let role = |role: &str| json!({ "role": role }).to_string();
    assert_eq!(put("/api/v1/organisations/eve", &ada, ""), 409, "the name of an account");
    // Words that speak for the registry or for exo, and packs that come with it.
    for name in ["official", "exo", "std", "neon", "avx512", "Upper", "1st", "a%20b"] {
        assert_eq!(put(&format!("/api/v1/organisations/{name}"), &ada, ""), 400, "{name}");
    }
    assert_eq!(put("/api/v1/organisations/lab", &server.token(&ada, &["owners"], &["*"]), ""), 403, "a token");
    assert_eq!(put("/api/v1/organisations/lab", &ada, ""), 201);
    assert_eq!(put("/api/v1/organisations/lab", &eve, ""), 409);
    let code = server.code.clone().unwrap();
    server.post("/api/v1/accounts", "", &json!({ "login": "lab", "password": PASSWORD, "code": code })).is(409);
    let tiles = declaration(&[Pack::new("@lab/tiles", "1.0.0")], false);
    let said = server.post("/api/v1/publish", &eve, &tiles).is(403).json();
    assert_eq!(said["error"]["message"], "the scope `@lab` belongs to the organisation `lab`");
    assert_eq!(put("/api/v1/organisations/lab/members/eve", &eve, &role("owner")), 403);
    assert_eq!(put("/api/v1/organisations/lab/members/eve", &ada, &role("king")), 400);
    assert_eq!(put("/api/v1/organisations/lab/members/nobody", &ada, &role("owner")), 404);
    assert_eq!(put("/api/v1/organisations/lab/members/eve", &ada, &role("publisher")), 204);
    assert_eq!(put("/api/v1/organisations/lab/members/dan", &eve, &role("publisher")), 403, "publishers let nobody in");
    assert_eq!(server.publish(&ada, &[Pack::new("@lab/tiles", "1.0.0")])["state"], "published");
    // A publisher publishes, what others began too, and takes nothing back.
    assert_eq!(server.publish(&eve, &[Pack::new("@lab/tiles", "1.0.1")])["state"], "published");
    assert_eq!(put("/api/v1/packs/%40lab%2Ftiles/1.0.0/yank", &eve, ""), 403);
    assert_eq!(put("/api/v1/packs/%40lab%2Ftiles/1.0.0/yank", &dan, ""), 403);
    assert_eq!(put("/api/v1/organisations/lab/members/dan", &ada, &role("owner")), 204);
    assert_eq!(put("/api/v1/packs/%40lab%2Ftiles/1.0.0/yank", &dan, ""), 204);
    let members = server.get("/api/v1/organisations/lab").is(200).json();
    assert_eq!(members["members"][2], json!({ "login": "eve", "role": "publisher" }));
    server.send("DELETE", "/api/v1/organisations/lab/members/eve", &eve, b"").is(204);
    server.post("/api/v1/publish", &eve, &declaration(&[Pack::new("@lab/tiles", "1.0.2")], false)).is(403);
    server.send("DELETE", "/api/v1/organisations/lab/members/dan", &dan, b"").is(204);
    server.send("DELETE", "/api/v1/organisations/lab/members/ada", &ada, b"").is(409);
    assert_eq!(put("/api/v1/organisations/lab/members/ada", &ada, &role("publisher")), 409);
    server.get("/api/v1/organisations/none").is(404);
}

#[test]
fn who_owns_one_pack_of_a_scope_does_not_get_the_others() {
    let server = Server::start();
    let [ada, eve] = ["ada", "eve"].map(|login| server.account(login));
    for name in ["@ada/blocks", "@ada/tiles"] {
        assert_eq!(server.publish(&ada, &[Pack::new(name, "1.0.0")])["state"], "published");
    }
    server.send("PUT", "/api/v1/packs/%40ada%2Fblocks/owners/eve", &ada, b"").is(204);
    // As rows of before scopes belonged to accounts have it: the scope has packs, and no account.
    for statement in [
        "UPDATE packs SET name = REPLACE(name, '@ada/', '@old/')",
        "UPDATE owners SET name = REPLACE(name, '@ada/', '@old/')",
    ] {
        assert!(server.change_rows(statement) > 0);
    }
    let create = |session: &str| server.send("PUT", "/api/v1/organisations/old", session, b"");
    let refused = create(&eve).is(403).json();
    assert!(refused["error"]["hint"].as_str().unwrap().contains("`@old/tiles`"), "{refused}");
    create(&ada).is(201);
}

#[test]
fn nobody_signs_up_as_exo() {
    let open = vec![("EXO_REGISTRY_OPEN_SIGN_UP".to_owned(), "true".to_owned())];
    let server = Server::start_on(std::sync::Arc::new(tempfile::tempdir().unwrap()), open);
    let sign_up = |login: &str| server.post("/api/v1/accounts", "", &json!({ "login": login, "password": PASSWORD }));
    for login in ["exo", "std", "neon", "admin", "official"] {
        let said = sign_up(login).is(400).json();
        assert_eq!(said["error"]["message"], format!("the login `{login}` is reserved"));
    }
    sign_up("exonaut").is(201);
    // Who runs the registry may.
    server.account("admin");
}

#[test]
fn organisations_are_kept_by_the_command_line() {
    let server = Server::start();
    let (ada, eve) = (author(&server, "ada"), author(&server, "eve"));
    ada.run(&["owner", "create", "lab"]).exits(2).says(&["exo owner create @NAME"]);
    ada.run(&["owner", "create", "@lab"]).exits(0).prints(&["made the organisation @lab"]);
    write_pack(&eve, "", "@lab/blocks", "1.0.0", "", "one = 1\n");
    eve.run(&["publish"]).exits(1).says(&["belongs to the organisation `lab`", "exo owner add @lab eve --publisher"]);
    ada.run(&["owner", "add", "@lab", "eve", "--publisher"]).exits(0).prints(&["eve may publish in @lab"]);
    eve.run(&["publish"]).exits(0).prints(&["@lab/blocks 1.0.0 published"]);
    let listed = home(&server).run(&["owner", "list", "@lab"]).exits(0);
    assert_eq!(listed.stdout, "ada (owner)\neve (publisher)\n");
    ada.run(&["owner", "add", "@lab/blocks", "eve", "--publisher"])
        .exits(2)
        .says(&["--publisher is for organisations"]);
    ada.run(&["owner", "remove", "@lab", "eve"]).exits(0).prints(&["eve is no member of @lab"]);
    ada.run(&["owner", "remove", "@lab", "ada"]).exits(1).says(&["without an owner"]);
}

/// The text of each leaf of the log but its time.
fn events(server: &Server) -> Vec<String> {
    let size = client::trust(server, None).pointer().unwrap().log_size;
    let bytes = server.get(&format!("/v1/tile/entries/000.p/{size}")).is(200).bytes;
    let mut leaves = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some((length, after)) = rest.split_at_checked(2) {
        let (leaf, after) = after.split_at(usize::from(u16::from_be_bytes([length[0], length[1]])));
        let text = std::str::from_utf8(leaf).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("time ")).skip(1).take(2).collect();
        leaves.push(lines.join(" "));
        rest = after;
    }
    leaves
}

/// An account of an administrator, and its session.
fn administrator(server: &Server) -> String {
    let code = server.code.clone().unwrap();
    server.post("/api/v1/accounts", "", &json!({ "login": "root", "password": PASSWORD, "code": code })).is(201);
    server.login("root")
}

/// What holds on any database.
pub(crate) fn life(server: &Server) {
    let root = administrator(server);
    let [ada, _] = ["ada", "eve"].map(|login| server.account(login));
    let send = |method: &str, path: &str, token: &str, body: &str| {
        server.send(method, &format!("/api/v1/organisations/{path}"), token, body.as_bytes()).status
    };
    assert_eq!(send("PUT", "lab", &ada, ""), 201);
    assert_eq!(server.publish(&ada, &[Pack::new("@lab/tiles", "1.0.0")])["state"], "published");
    assert_eq!(send("PUT", "lab/members/eve", &ada, r#"{"role": "publisher"}"#), 204);
    assert_eq!(send("PUT", "lab/members/eve", &ada, r#"{"role": "publisher"}"#), 204, "nothing new");
    assert_eq!(send("PUT", "lab/members/eve", &ada, r#"{"role": "owner"}"#), 204);
    assert_eq!(send("DELETE", "lab/members/eve", &ada, ""), 204);
    // Only an administrator vouches for anybody.
    assert_eq!(send("PUT", "lab/verification", &ada, ""), 403);
    assert_eq!(send("PUT", "lab/verification", &server.token(&ada, &["owners"], &["*"]), ""), 403);
    assert_eq!(send("PUT", "lab/verification", &server.token(&root, &["owners"], &["*"]), ""), 403);
    for narrow in ["tiles", "@lab/t*", "@other/*"] {
        assert_eq!(send("PUT", "lab/verification", &server.token(&root, &["admin"], &[narrow]), ""), 403, "{narrow}");
    }
    assert_eq!(send("PUT", "none/verification", &root, ""), 404);
    assert_eq!(send("PUT", "lab/verification", &root, ""), 204);
    assert_eq!(send("PUT", "lab/verification", &root, ""), 204, "nothing new");
    assert_eq!(server.get("/api/v1/organisations/lab").is(200).json()["verified"], true);
    // What was there before and what comes later says so, in the signed index and in search.
    assert_eq!(server.publish(&ada, &[Pack::new("@lab/blocks", "1.0.0")])["state"], "published");
    assert_eq!(server.publish(&ada, &[Pack::new("plain", "1.0.0")])["state"], "published");
    let trust = client::trust(server, None);
    assert!(client::check(server, &trust, "@lab/tiles").0.pack.verified);
    assert!(client::check(server, &trust, "@lab/blocks").0.pack.verified);
    assert!(!client::check(server, &trust, "plain").0.pack.verified);
    assert_eq!(server.get("/api/v1/search?q=&verified=true").is(200).json()["total"], 2);
    assert_eq!(send("DELETE", "lab/verification", &server.token(&root, &["admin"], &["@lab/*"]), ""), 204);
    let trust = client::trust(server, Some(trust));
    assert!(!client::check(server, &trust, "@lab/tiles").0.pack.verified);
    assert_eq!(server.get("/api/v1/search?q=&verified=true").is(200).json()["total"], 0);
    let logged = [
        "organisation lab create",
        "publish @lab/tiles 1.0.0",
        "member lab eve publisher",
        "member lab eve owner",
        "member lab eve remove",
        "organisation lab verify",
        "publish @lab/blocks 1.0.0",
        "publish plain 1.0.0",
        "organisation lab unverify",
    ];
    assert_eq!(events(server), logged);
    server.operate("verify-all", &[]);
}

#[test]
fn what_happens_to_organisations_is_in_the_log() {
    life(&Server::start());
}

#[test]
fn organisations_are_kept_on_pages() {
    let server = Server::start();
    administrator(&server);
    for login in ["ada", "eve"] {
        server.account(login);
    }
    let (ada, eve, root) = (sign_in(&server, "ada"), sign_in(&server, "eve"), sign_in(&server, "root"));
    let token = |session: &str| form_token(&text(&with_cookie(&server, "/account", session).is(200)));
    let send = |session: &str, path: &str, body: &str| {
        form(&server, path, session, &format!("form_token={}&{body}", token(session)))
    };
    let lab = "/organisations/lab";
    assert_eq!(send(&ada, "/organisations", "name=%40lab").is(303).headers["location"], lab);
    text(&send(&eve, "/organisations", "name=lab").is(409));
    text(&send(&eve, "/organisations", "name=Bad+Name").is(400));
    has(&text(&with_cookie(&server, "/account", &ada).is(200)), &["<a href=\"/organisations/lab\">@lab</a>"]);
    has(
        &text(&send(&ada, lab, "act=set&login=nobody&role=publisher").is(404)),
        &["no account `nobody`", "value=\"nobody\""],
    );
    text(&send(&ada, lab, "act=set&login=eve&role=king").is(400));
    text(&send(&eve, lab, "act=set&login=eve&role=owner").is(403));
    send(&ada, lab, "act=set&login=eve&role=publisher").is(303);
    // Everybody sees who is in it; only owners see how to change that.
    let shown = text(&server.get(lab).is(200));
    has(&shown, &["<h1>@lab</h1>", "href=\"/users/eve\"", "publisher"]);
    assert!(!shown.contains("<form method=\"post\"") && !shown.contains("Let somebody in"), "{shown}");
    let seen = text(&with_cookie(&server, lab, &eve).is(200));
    assert!(seen.contains(">Leave</button>") && !seen.contains("Let somebody in"), "{seen}");
    has(&text(&with_cookie(&server, lab, &ada).is(200)), &["Let somebody in", "Make owner", ">Leave</button>"]);
    has(&text(&send(&ada, lab, "act=remove&login=ada").is(409)), &["without an owner. Make another member"]);
    send(&eve, lab, "act=remove&login=eve").is(303);
    assert!(!text(&server.get(lab).is(200)).contains("/users/eve"));
    assert_eq!(server.publish(&server.login("ada"), &[Pack::new("@lab/tiles", "1.0.0")])["state"], "published");
    text(&send(&ada, lab, "act=verify").is(403));
    send(&root, lab, "act=verify").is(303);
    has(&text(&server.get(lab).is(200)), &["verified owner", "href=\"/packs/@lab/tiles\""]);
    has(
        &text(&server.get("/packs/@lab/tiles").is(200)),
        &["verified owner", "<a href=\"/organisations/lab\">@lab</a>"],
    );
    send(&root, lab, "act=unverify").is(303);
    assert!(!text(&server.get(lab).is(200)).contains("verified owner"));
    assert_eq!(server.get("/users/lab").is(308).headers["location"], lab);
    has(&text(&server.get("/users/ada").is(200)), &["<a href=\"/organisations/lab\">@lab</a>"]);
    text(&server.get("/organisations/none").is(404));
    // Forms of others, and of nobody.
    text(&form(&server, lab, &ada, "form_token=other&act=set&login=eve&role=owner").is(403));
    text(&form(&server, lab, &ada, &format!("form_token={}&act=set&login=eve&role=owner", token(&eve))).is(403));
    text(&form(&server, lab, "", "form_token=&act=verify").is(403));
}

#[test]
fn owners_keep_their_packs_on_pages() {
    let server = Server::start();
    for login in ["ada", "eve"] {
        server.account(login);
    }
    let api = server.login("ada");
    for version in ["1.0.0", "1.1.0"] {
        assert_eq!(server.publish(&api, &[Pack::new("base", version)])["state"], "published");
    }
    let (ada, eve) = (sign_in(&server, "ada"), sign_in(&server, "eve"));
    let manage = "/packs/base/manage";
    let send = |session: &str, body: &str| {
        let token = form_token(&text(&with_cookie(&server, "/account", session).is(200)));
        form(&server, manage, session, &format!("form_token={token}&{body}"))
    };
    has(&text(&with_cookie(&server, "/packs/base", &ada).is(200)), &["href=\"/packs/base/manage\""]);
    assert!(!text(&with_cookie(&server, "/packs/base", &eve).is(200)).contains("manage"));
    text(&server.get(manage).is(401));
    text(&with_cookie(&server, manage, &eve).is(403));
    for act in [
        "act=yank&version=1.0.0",
        "act=deprecate&reason=x",
        "act=archive&reason=x",
        "act=add-owner&login=eve",
        "act=remove-owner&login=ada",
    ] {
        text(&send(&eve, act).is(403));
        text(&form(&server, manage, &ada, &format!("form_token=other&{act}")).is(403));
    }
    has(&text(&send(&ada, "act=yank&version=1.0.0&reason=%E2%80%AEtxet").is(400)), &["A reason is one line"]);
    text(&send(&ada, "act=yank&version=9.0.0").is(404));
    send(&ada, "act=yank&version=1.0.0&reason=wrong+sums&replacement=base%401.1.0").is(303);
    let trust = client::trust(&server, None);
    let (shard, _) = client::check(&server, &trust, "base");
    let why = shard.versions[0].yanked.as_ref().unwrap();
    assert_eq!((why.reason.as_deref(), why.replacement.as_deref()), (Some("wrong sums"), Some("base@1.1.0")));
    has(&text(&with_cookie(&server, manage, &ada).is(200)), &["wrong sums", "Give back"]);
    send(&ada, "act=unyank&version=1.0.0").is(303);
    send(&ada, "act=deprecate&reason=old&replacement=").is(303);
    has(&text(&with_cookie(&server, manage, &ada).is(200)), &["It is kept up after all"]);
    let trust = client::trust(&server, Some(trust));
    let shard = client::check(&server, &trust, "base").0;
    assert!(shard.versions[0].yanked.is_none() && shard.pack.deprecated.unwrap().replacement.is_none());
    send(&ada, "act=undeprecate").is(303);
    send(&ada, "act=archive&reason=").is(303);
    has(&text(&with_cookie(&server, manage, &ada).is(200)), &["archived since 20", "Let it have new versions again"]);
    assert!(client::check(&server, &client::trust(&server, None), "base").0.pack.archived.unwrap().reason.is_none());
    send(&ada, "act=unarchive").is(303);
    has(&text(&send(&ada, "act=add-owner&login=nobody").is(404)), &["value=\"nobody\""]);
    has(&text(&send(&ada, "act=remove-owner&login=ada").is(409)), &["last owner"]);
    send(&ada, "act=add-owner&login=eve").is(303);
    send(&eve, "act=remove-owner&login=ada").is(303);
    assert_eq!(client::check(&server, &client::trust(&server, Some(trust)), "base").0.pack.owners, ["eve"]);
    text(&form(&server, "/packs/base", &ada, "form_token=x&act=yank").is(404));
}
