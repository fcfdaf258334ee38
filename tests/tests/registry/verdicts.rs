//! The verdict that a registry signs beside the one that is made where the pack is installed.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use exo_tests::command_line::{Run, Sandbox};
use exo_tests::exo::binary;

use crate::authors::{author, home, write_pack};
use crate::client::{shard, trust};
use crate::server::{Pack, Server};

/// A library with a proc, and a test with a claim about it.
const LIBRARY: &str = "@proc\ndef double(n: size, x: [f32][n]):\n    for i in seq(0, n):\n        x[i] = x[i] + x[i]\n\n\ndef halves(p):\n    return divide_loop(p, \"i\", 2, [\"io\", \"ii\"], tail = \"cut\")\n";
const TEST: &str = "from base import double, halves\n\n\ndef test_halves():\n    claim(double, halves)\n";

/// A server whose checker's answers are changed on the way by a `sed` script: it signs, with its own keys, what is not so.
fn lying(script: &str) -> Server {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let program = folder.path().join("exo-that-lies");
    let real = binary();
    let real = real.display();
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = __verify ]; then\n  '{real}' \"$@\" | sed -E '{script}'\nelse\n  exec '{real}' \"$@\"\nfi\n"
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    Server::start_with(folder, Vec::new(), &program)
}

fn publish(ada: &Sandbox, version: &str) {
    write_pack(ada, "", "base", version, "", LIBRARY);
    ada.write("work/tests/halves.exo", TEST);
    ada.run(&["publish"]).exits(0);
}

/// What comes of adding the pack in a new home.
fn added(server: &Server) -> (Sandbox, Run) {
    publish(&author(server, "ada"), "1.0.0");
    let user = home(server);
    user.project("");
    let run = user.run(&["add", "base", "--format", "json"]);
    (user, run)
}

#[test]
fn equal_verdicts_are_equal() {
    let server = Server::start();
    let (user, run) = added(&server);
    run.exits(0).prints(&["\"registry_verdict\": \"equal\"", "\"claims\": 1"]);
    user.run(&["install", "-v"]).exits(0);
    // Somebody who has the lockfile only compares as well.
    let other = home(&server);
    other.project("");
    other.write("work/Exo.toml", &user.read("work/Exo.toml"));
    other.write("work/Exo.lock", &user.read("work/Exo.lock"));
    other.run(&["install", "--format", "json"]).exits(0).prints(&["\"registry_verdict\": \"equal\""]);
}

#[test]
fn a_signed_verdict_that_lies_is_refused() {
    for (script, told) in [
        ("s/\"claims\":\\[[^]]*\\]/\"claims\":[]/", "claims: 1 here, 0 signed"),
        ("s/(\"procs\":\\[\\[\"[^\"]*\",\")[0-9a-f]{8}/\\100000000/", "proc `double`: "),
        ("s/\"waived\":\\[\\]/\"waived\":[\"src\\/lib.exo:1: bounds\"]/", "waived checks: 0 here, 1 signed"),
        (
            "s/\"raw_c_digest\":null/\"raw_c_digest\":\"0000000000000000000000000000000000000000000000000000000000000000\"/",
            "raw C: none here",
        ),
    ] {
        let server = lying(script);
        let (user, _) = added(&server);
        let manifest = user.read("work/Exo.toml");
        let said = user.run(&["add", "base"]).exits(4);
        said.says(&[
            "`base 1.0.0`: what was verified here is not what registry",
            &server.url,
            told,
            "by the same checker (exo 0.1.0",
            "Exo.toml and Exo.lock are as they were",
            "tell the registry",
        ]);
        assert_eq!(user.read("work/Exo.toml"), manifest);
        assert!(!user.path("work/Exo.lock").exists());
        // Nor the second time, when everything is in the cache.
        user.run(&["add", "base"]).exits(4).says(&[told]);
    }
}

#[test]
fn another_checker_is_reported_and_ours_stands() {
    let server = lying("s/\"solver\":\"[^\"]*\"/\"solver\":\"z3 0.0.1\"/");
    let (user, run) = added(&server);
    run.exits(0).prints(&["\"registry_verdict\": \"other-checker\""]);
    let third = home(&server);
    third.project("");
    let said = third.run(&["add", "base"]).exits(0);
    let said =
        said.says(&["checked base 1.0.0 with another checker (exo 0.1.0", "z3 0.0.1); what was found here stands"]);
    assert!(!said.stderr.contains("something else"), "{}", said.stderr);
    drop(user);
    let server = lying("s/\"solver\":\"[^\"]*\"/\"solver\":\"z3 0.0.1\"/; s/\"claims\":\\[[^]]*\\]/\"claims\":[]/");
    let (_, run) = added(&server);
    run.exits(0)
        .says(&["the registry's checker found something else of base 1.0.0 than this one: claims: 1 here, 0 signed"]);
}

#[test]
fn other_dependencies_are_no_difference() {
    let server = Server::start();
    let ada = author(&server, "ada");
    publish(&ada, "1.0.0");
    let next = author(&server, "eve");
    write_pack(
        &next,
        "",
        "next",
        "1.0.0",
        "base = \"1\"\n",
        "from base import double\n\ntwice = rename(double, \"twice\")\n",
    );
    next.run(&["publish"]).exits(0);
    let user = home(&server);
    user.project("");
    user.run(&["add", "next", "--format", "json"]).exits(0).prints(&["equal"]);
    ada.write("work/Exo.toml", &ada.read("work/Exo.toml").replace("1.0.0", "1.0.1"));
    ada.write("work/src/lib.exo", &LIBRARY.replace("x[i] + x[i]", "2.0 * x[i]"));
    ada.run(&["publish"]).exits(0);
    let other = home(&server);
    other.project("");
    let said = other.run(&["add", "next", "--format", "json"]).exits(0);
    said.prints(&["\"registry_verdict\": \"other-dependencies\"", "\"registry_verdict\": \"equal\""]);
}

#[test]
fn a_verdict_that_was_tampered_with_is_refused() {
    let mut server = Server::start();
    publish(&author(&server, "ada"), "1.0.0");
    let digest = shard(&server, &trust(&server, None), "base").unwrap().versions[0].verdict.unwrap();
    let file = server.files("v1/verdict").into_iter().find(|file| file.ends_with(digest.to_string())).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("double", "triple")).unwrap();
    // The one of before had it in memory.
    server.kill();
    let server = server.again();
    let user = home(&server);
    user.project("");
    user.run(&["add", "base"]).exits(1).says(&["a verdict", "damaged or tampered with"]);
    assert!(!user.path("work/Exo.lock").exists());
}

#[test]
fn real_packs_are_judged_alike_on_both_sides() {
    let server = Server::start();
    let session = server.account("arm");
    let neon = Pack::of_folder("packages/neon", "@arm/neon", "1.1.0");
    let outcome = server.publish(&session, &[neon]);
    assert_eq!(outcome["state"], "published", "{outcome}");
    let user = home(&server);
    user.project("");
    let said = user.run(&["add", "@arm/neon", "--format", "json"]).exits(0);
    said.prints(&["\"registry_verdict\": \"equal\"", "\"name\": \"@arm/neon\""]);
}

/// A checker of which no answer can be read is a fault of the registry: the publish comes to an end all the same, and says so.
#[test]
fn an_answer_that_cannot_be_read_ends_the_publish() {
    let server = lying("s/^.*$/no JSON/");
    let ada = server.account("ada");
    let outcome = server.publish(&ada, &[Pack::new("base", "1.0.0")]);
    assert_eq!(outcome["state"], "refused", "{outcome}");
    let reason = &outcome["diagnostics"][0];
    assert_eq!(reason["message"], "the checker of the registry gave an answer that this server cannot read in 3 tries");
    assert!(reason["hint"].as_str().unwrap().contains("says nothing about the pack"), "{reason}");
}
