//! Whose scopes are: who may begin packs behind `@name/`, and who may not.

use serde_json::Value;

use crate::server::{Pack, Server, declaration};

/// What is said against declaring a pack.
fn refused(server: &Server, session: &str, name: &str) -> (String, String) {
    let answer =
        server.post("/api/v1/publish", session, &declaration(&[Pack::new(name, "1.0.0")], false)).is(403).json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&answer["error"]["message"]), text(&answer["error"]["hint"]))
}

#[test]
fn a_scope_is_its_accounts_and_that_of_those_it_lets_in() {
    let server = Server::start();
    let (ada, eve) = (server.account("ada"), server.account("eve"));
    let (message, hint) = refused(&server, &eve, "@ada/tiles");
    assert_eq!(message, "the scope `@ada` belongs to the account `ada`");
    assert!(hint.contains("ask `ada`") && hint.contains("`@eve/tiles`"), "{hint}");
    let (message, hint) = refused(&server, &eve, "@nobody/tiles");
    assert!(message.contains("belongs to nobody") && hint.contains("administrator"), "{message} {hint}");
    assert_eq!(server.publish(&ada, &[Pack::new("@ada/blocks", "1.0.0")])["state"], "published");
    refused(&server, &eve, "@ada/tiles");
    // Whoever owns one pack of the scope may begin others.
    server.send("PUT", "/api/v1/packs/%40ada%2Fblocks/owners/eve", &ada, b"").is(204);
    assert_eq!(server.publish(&eve, &[Pack::new("@ada/tiles", "1.0.0")])["state"], "published");
    assert_eq!(server.publish(&eve, &[Pack::new("@eve/tiles", "1.0.0")])["state"], "published");
    for pack in ["tiles", "blocks"] {
        let away =
            server.send("DELETE", &format!("/api/v1/packs/%40ada%2F{pack}/owners/ada"), &eve, b"").is(403).json();
        assert_eq!(
            away["error"]["message"],
            format!("`@ada/{pack}` is in the scope of the account `ada`, which stays an owner")
        );
    }
    server.send("DELETE", "/api/v1/packs/%40ada%2Fblocks/owners/eve", &ada, b"").is(204);
    // The scope's account owns those too, and is not put out of its own scope.
    server.send("DELETE", "/api/v1/packs/%40ada%2Ftiles/owners/eve", &ada, b"").is(204);
    refused(&server, &eve, "@ada/more");
}

#[test]
fn a_publish_that_was_begun_in_time_is_refused_at_the_commit_too() {
    let server = Server::start();
    let (ada, eve) = (server.account("ada"), server.account("eve"));
    assert_eq!(server.publish(&ada, &[Pack::new("@ada/blocks", "1.0.0")])["state"], "published");
    server.send("PUT", "/api/v1/packs/%40ada%2Fblocks/owners/eve", &ada, b"").is(204);
    let id = server.upload(&eve, &[Pack::new("@ada/late", "1.0.0")], false);
    server.send("DELETE", "/api/v1/packs/%40ada%2Fblocks/owners/eve", &ada, b"").is(204);
    server.send("POST", &format!("/api/v1/publish/{id}/commit"), &eve, b"").is(403);
}

#[test]
fn names_behind_a_scope_look_like_others_too() {
    let server = Server::start();
    let (ada, vendor, twin) = (server.account("ada"), server.account("acorn"), server.account("ac0rn"));
    assert_eq!(server.publish(&vendor, &[Pack::new("@acorn/blocks", "1.0.0")])["state"], "published");
    for (session, name) in [(&ada, "@ada/avx-512"), (&ada, "@ada/ne0n"), (&twin, "@ac0rn/other")] {
        let outcome = server.publish(session, &[Pack::new(name, "1.0.0")]);
        assert_eq!(
            (&outcome["state"], &outcome["diagnostics"][0]["code"]),
            (&"refused".into(), &"name".into()),
            "{name}"
        );
    }
    let outcome = server.publish(&ada, &[Pack::new("@ada/neon", "1.0.0")]);
    assert_eq!(outcome["state"], "published", "{outcome}");
}
