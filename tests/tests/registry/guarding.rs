//! What the server keeps from others and refuses to repeat: files, texts that mislead, tokens for nothing; and that it says so in one shape.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use exo_index::registry::layout;
use serde_json::json;

use crate::server::{PASSWORD, Pack, Server, operate_on, program};

#[test]
fn every_refusal_of_a_program_has_one_shape() {
    let server = Server::start();
    let ada = server.account("ada");
    let long = vec![b'x'; 17 << 20];
    let json = [("content-type", "application/json")];
    let html = [("accept", "text/html,*/*")];
    for (method, path, body, headers, status, code) in [
        ("GET", "/api/v1/nothing", &b""[..], &[][..], 404, "absent"),
        ("GET", "/api/v1/nothing", b"", &html, 404, "absent"),
        ("GET", "/api/v2", b"", &[], 404, "absent"),
        ("GET", "/v1/nothing", b"", &[], 404, "absent"),
        ("GET", "/v1", b"", &html, 404, "absent"),
        ("PUT", "/api/v1/whoami", b"x", &[], 405, "method"),
        ("POST", "/v1/latest", b"x", &[], 405, "method"),
        ("POST", "/api/v1/login", b"x", &[], 415, "media-type"),
        ("POST", "/api/v1/login", b"{", &json, 400, "malformed"),
        ("POST", "/api/v1/login", b"{\"login\": 1}", &json, 400, "malformed"),
        ("POST", "/api/v1/publish", &long, &json, 413, "too-large"),
        ("GET", "/api/v1/search?page=first", b"", &[], 400, "malformed"),
        ("GET", "/api/v1/packs/%ff", b"", &[], 400, "malformed"),
        ("GET", "/api/v1/packs/A", b"", &[], 400, "malformed"),
    ] {
        let answer = server.send_with(method, path, &ada, body, headers);
        let what = format!("{method} {path}: {} {}", answer.status, String::from_utf8_lossy(&answer.bytes));
        assert_eq!((answer.status, answer.headers["content-type"].as_str()), (status, "application/json"), "{what}");
        let error = &answer.json()["error"];
        assert_eq!(error["code"], code, "{what}");
        assert!(!error["message"].as_str().unwrap().is_empty() && error["diagnostics"].is_array(), "{what}");
        assert_eq!(answer.headers.contains_key("allow"), status == 405, "{what}");
    }
    // People still get pages.
    let page = server.send_with("GET", "/nothing", "", b"", &html).is(404);
    assert!(page.headers["content-type"].starts_with("text/html"));
}

#[test]
fn what_cannot_be_seen_is_not_passed_on() {
    let server = Server::start();
    let ada = server.account("ada");
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    let put = |path: &str, body: serde_json::Value| server.send("PUT", path, &ada, body.to_string().as_bytes()).status;
    for path in ["/api/v1/packs/base/1.0.0/yank", "/api/v1/packs/base/deprecation"] {
        for text in ["a\u{202e}b", "a\u{200b}b", "a\nb", "\u{1b}[2J"] {
            assert_eq!(put(path, json!({ "reason": text })), 400, "{path} {text:?}");
        }
        for text in ["a\u{202e}b", "two words and more", "Upper", "", "base@one"] {
            assert_eq!(put(path, json!({ "reason": "old", "replacement": text })), 400, "{path} {text:?}");
        }
        for text in ["better", "@ada/better", "better@1.2.0", "@ada/better 1.2.0"] {
            assert_eq!(put(path, json!({ "reason": "für 日本", "replacement": text })), 204, "{path} {text:?}");
        }
    }
    let token = |name: &str, rights: &[&str], packs: &str| {
        let body = json!({ "name": name, "rights": rights, "packs": [packs], "expires_days": 1 });
        server.post("/api/v1/tokens", &ada, &body).status
    };
    assert_eq!(token("ci", &["yank"], "@ada/*"), 201);
    assert_eq!(token("ci", &[], "*"), 400, "good for nothing");
    assert_eq!(token("c\u{202e}i", &["yank"], "*"), 400);
    assert_eq!(token("c\ni", &["yank"], "*"), 400);
    assert_eq!(token("ci", &["yank"], "b\u{2066}ase"), 400);
    assert_eq!(token("ci", &["yank"], "B*"), 400);
}

#[test]
fn the_last_administrator_stays() {
    let server = Server::start();
    let code = server.code.clone().unwrap();
    server.post("/api/v1/accounts", "", &json!({ "login": "ada", "password": PASSWORD, "code": code })).is(201);
    server.account("eve");
    let disable = |login: &str| {
        let mut command = Command::new(program());
        command.args(["user", "disable", login, "--data"]).arg(server.folder.path());
        command.output().unwrap()
    };
    let refused = disable("ada");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`ada` is the last administrator"));
    server.login("ada");
    assert!(disable("eve").status.success());
}

/// All files and folders below one, with their permissions for others than the owner.
fn open_to_others(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let mode = entry.metadata().unwrap().permissions().mode();
        if mode & 0o077 != 0 {
            found.push(format!("{} {mode:o}", entry.path().display()));
        }
        if entry.path().is_dir() {
            open_to_others(&entry.path(), found);
        }
    }
}

#[test]
fn accounts_and_keys_are_their_owners_only() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backup) = (folder.path().join("data"), folder.path().join("backup"));
    let run = |arguments: &[&str], last: Option<&Path>| {
        let mut command = Command::new("sh");
        command.arg("-c").arg("umask 022; exec \"$0\" \"$@\"").arg(program()).args(arguments).arg("--data").arg(&data);
        let output = command.args(last).process_group(0).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["init"], None);
    run(&["backup"], Some(&backup));
    let mut found = Vec::new();
    open_to_others(folder.path(), &mut found);
    assert_eq!(found, Vec::<String>::new());
    // A file server reads what is exported.
    let site = folder.path().join("site");
    run(&["export-static"], Some(&site));
    assert_eq!(site.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let exo = exo_tests::exo::binary();
    let said =
        operate_on(folder.path(), &[], "serve", &["--listen", &address, "--exo", exo.to_str().unwrap()]).unwrap_err();
    assert!(
        said.contains(&format!("cannot listen on {address}: another program")) && said.contains("--listen"),
        "{said}"
    );
}

#[test]
fn the_log_is_checked_as_it_is_served() {
    let mut server = Server::start();
    let ada = server.account("ada");
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    server.kill();
    let files = server.files("v1/tile");
    assert!(!files.is_empty());
    let check = |command: &str| operate_on(server.folder.path(), &[], command, &[]);
    assert!(check("verify-all").unwrap().contains("1 pack, 1 version, 1 leaf, 2 tiles of the log as served"));
    assert!(check("doctor").unwrap().contains("log as served: ok"));
    let damaged = |path: &Path, commands: &[&str], reason: &str| {
        let kept = std::fs::read(path).unwrap();
        let mut bytes = kept.clone();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(path, bytes).unwrap();
        for command in commands {
            let said = check(command).unwrap_err();
            assert!(said.contains(reason), "{command} {}: {said}", path.display());
        }
        std::fs::write(path, kept).unwrap();
    };
    for file in &files {
        let leaves = file.to_str().unwrap().contains("entries");
        damaged(file, if leaves { &["verify-all"] } else { &["verify-all", "doctor"] }, "of the log as served");
    }
    damaged(&server.path("files").join(layout::LATEST), &["verify-all", "doctor"], "as served");
    for file in &files {
        let kept = std::fs::read(file).unwrap();
        std::fs::remove_file(file).unwrap();
        assert!(check("verify-all").unwrap_err().contains("is missing"));
        std::fs::write(file, kept).unwrap();
    }
    check("verify-all").unwrap();
}
