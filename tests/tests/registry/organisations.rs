//! Organisations: who makes them, who is in them, and what members may do in their scope.

use serde_json::json;

use crate::authors::{author, home, write_pack};
use crate::server::{PASSWORD, Pack, Server, declaration};

#[test]
fn members_share_a_scope() {
    let server = Server::start();
    let [ada, eve, dan] = ["ada", "eve", "dan"].map(|login| server.account(login));
    let put = |path: &str, session: &str, body: &str| server.send("PUT", path, session, body.as_bytes()).status;
    let role = |role: &str| json!({ "role": role }).to_string();
    assert_eq!(put("/api/v1/organisations/eve", &ada, ""), 409, "the name of an account");
    for name in ["official", "Upper", "1st", "a%20b"] {
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
