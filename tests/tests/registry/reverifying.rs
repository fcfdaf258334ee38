//! Every version is verified again by a checker that has not seen it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exo_tests::exo::binary;
use serde_json::Value;

use crate::server::{Pack, Server};

const CHECKED: &str = "@proc\ndef double(n: size, x: [f32][n]):\n    for i in seq(0, n):\n        x[i] = x[i] + x[i]\n";

/// A checker of another source text, which answers what a `sed` script makes of the answers of the real one.
fn other_checker(folder: &Path, name: &str, script: &str) -> PathBuf {
    let program = folder.join(name);
    let real = binary();
    let real = real.display();
    let digest = "s/(\"checker[a-z_]*\":\"([0-9.]+ )?)[0-9a-f]{64}/\\1NEW/";
    let digest = digest.replace("NEW", name);
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in\n__verify) '{real}' \"$@\" | sed -E '{digest};{script}' ;;\n__checker) '{real}' \"$@\" | sed -E '{digest}' ;;\n\
         *) exec '{real}' \"$@\" ;;\nesac\n"
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// The results about a pack, once there are so many.
fn results(server: &Server, pack: &str, number: usize) -> Vec<Value> {
    let start = Instant::now();
    loop {
        let answer = server.get(&format!("/api/v1/packs/{pack}/compatibility")).is(200).json();
        let results = answer["results"].as_array().unwrap().clone();
        if results.len() >= number {
            return results;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{answer}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn by<'r>(results: &'r [Value], checker: &str) -> &'r Value {
    let is_by = |result: &&Value| result["checker"].as_str().unwrap().contains(checker);
    results.iter().find(is_by).unwrap_or_else(|| panic!("{checker}: {results:?}"))
}

#[test]
fn a_new_checker_looks_at_every_version_and_its_word_is_shown() {
    let mut server = Server::start();
    let session = server.account("ada");
    let token = server.token(&session, &["publish-new", "publish-update"], &["*"]);
    server.publish(&token, &[Pack::with("base", "1.0.0", "", CHECKED)]);
    server.publish(&token, &[Pack::with("user", "1.0.0", "base = \"1\"\n", "from base import double\n")]);
    let programs = tempfile::tempdir().unwrap();

    // The checker of the publish has looked already: it is not asked again, and its own word stands.
    server = server.restarted_with(binary());
    for pack in ["base", "user"] {
        assert_eq!(results(&server, pack, 1)[0]["outcome"], "verified");
    }

    // One that counts otherwise, and one that refuses.
    let counts = other_checker(programs.path(), "counting", "s/\"tests\":0/\"tests\":7/");
    server = server.restarted_with(&counts);
    let found = results(&server, "base", 2);
    let word = by(&found, "counting");
    assert_eq!((word["outcome"].as_str(), word["detail"].as_str()), (Some("changed"), Some("tests: 0 then, 7 now")));
    // It has much to say, of which the beginning is kept.
    let long = "z".repeat(20_000);
    let refusal = format!("s/^.*$/{{\"refused\":{{\"message\":\"not any more {long}\",\"diagnostics\":[]}}}}/");
    server = server.restarted_with(&other_checker(programs.path(), "refusing", &refusal));
    for pack in ["base", "user"] {
        let found = results(&server, pack, 3);
        let word = by(&found, "refusing");
        let detail = word["detail"].as_str().unwrap();
        assert!(word["outcome"] == "refused" && detail.starts_with("not any more zzz"), "{word}");
        assert!(detail.len() < 600 && detail.ends_with("bytes more were cut off)"), "{word}");
    }

    // One that always dies says nothing of any version.
    let dies = other_checker(programs.path(), "dying", "d");
    std::fs::write(&dies, std::fs::read_to_string(&dies).unwrap().replace("__verify)", "__verify) kill -9 $$;"))
        .unwrap();
    server = server.restarted_with(&dies);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(results(&server, "base", 3).len(), 3);

    let page = String::from_utf8(server.get("/packs/base/checks").is(200).bytes).unwrap();
    for said in [
        "With the checkers since",
        "does not verify",
        "not any more",
        "verifies, with other counts",
        "tests: 0 then, 7 now",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    // The signed verdict of the publish is as it was, and nothing was withdrawn.
    let shown = server.get("/api/v1/packs/base").is(200).json();
    assert!(shown["versions"][0]["verdict"].is_string() && shown["versions"][0]["yanked"].is_null(), "{shown}");
    server.get("/api/v1/packs/nothing/compatibility").is(404);
}
