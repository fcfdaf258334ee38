//! Every version is verified again by a checker that has not seen it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exo_tests::exo::binary;
use serde_json::Value;

use crate::server::{Pack, Server};

const CHECKED: &str = "@proc\ndef double(n: size, x: [f32][n]):\n    for i in seq(0, n):\n        x[i] = x[i] + x[i]\n";

/// A program of a test.
pub(crate) fn program(folder: &Path, name: &str, text: &str) -> PathBuf {
    let program = folder.join(name);
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// A checker of another source text, which answers what a `sed` script makes of the answers of the real one.
fn other_checker(folder: &Path, name: &str, script: &str) -> PathBuf {
    let real = binary();
    let real = real.display();
    let digest = "s/(\"checker[a-z_]*\":\"([0-9.]+ )?)[0-9a-f]{64}/\\1NEW/";
    let digest = digest.replace("NEW", name);
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in\n__verify) '{real}' \"$@\" | sed -E '{digest};{script}' ;;\n__checker) '{real}' \"$@\" | sed -E '{digest}' ;;\n\
         *) exec '{real}' \"$@\" ;;\nesac\n"
    );
    program(folder, name, &text)
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

/// A checker whose `__verify` begins with some words of the shell.
fn beginning_with(folder: &Path, name: &str, script: &str, words: &str) -> PathBuf {
    let other = other_checker(folder, name, script);
    let text = std::fs::read_to_string(&other).unwrap().replace("__verify)", &format!("__verify) {words};"));
    program(folder, name, &text)
}

/// A registry with one pack, which the checker that came with it verified.
fn with_a_pack() -> Server {
    let server = Server::start();
    let session = server.account("ada");
    let published = server.publish(&session, &[Pack::with("base", "1.0.0", "", CHECKED)]);
    assert_eq!(published["state"], "published", "{published}");
    server
}

/// A limit that was reached, or a checker that was killed, says nothing of a version: it is not settled, and tried again later.
#[test]
fn a_checker_that_comes_to_no_answer_settles_nothing() {
    let mut server = with_a_pack();
    let programs = tempfile::tempdir().unwrap();
    let limited = "s/^.*$/{\"refused\":{\"message\":\"its modules were refused\",\"diagnostics\":[[\"evaluation exceeded the limit on time\",{\"code\":\"E0402\"}]]}}/";
    let unable = "s/^.*$/{\"failed\":{\"exit\":3,\"message\":\"cannot start a thread\",\"hints\":[]}}/";
    let no_answers = [
        ("limited", other_checker(programs.path(), "limited", limited), "limit on time"),
        ("unable", other_checker(programs.path(), "unable", unable), "cannot start a thread"),
        ("dying", beginning_with(programs.path(), "dying", "d", "kill -9 $$"), "was ended from outside"),
        ("starved", beginning_with(programs.path(), "starved", "d", "exit 1"), "limits of time or memory"),
    ];
    for (number, (name, checker, why)) in no_answers.iter().enumerate() {
        server = server.restarted_with(checker);
        let found = results(&server, "base", number + 1);
        let word = by(&found, name);
        assert_eq!(word["outcome"], "unsettled", "{word}");
        assert!(word["detail"].as_str().unwrap().contains(why), "{word}");
        let pause = word["again"].as_i64().unwrap() - word["at"].as_i64().unwrap();
        assert_eq!(pause, 600, "{word}");
    }
    let page = String::from_utf8(server.get("/packs/base/checks").is(200).bytes).unwrap();
    assert!(page.contains("not settled; tried again from ") && !page.contains("does not verify"), "{page}");

    // The same checker on a better day: not before the pause is over, and then it settles it.
    server.change_rows("UPDATE unsettled SET again = 0, tries = 3 WHERE detail LIKE '%was ended from outside%'");
    server = server.restarted_with(&no_answers[2].1);
    let start = Instant::now();
    let pause = loop {
        let found = results(&server, "base", 4);
        let word = by(&found, "dying");
        if word["again"] != 0 {
            break word["again"].as_i64().unwrap() - word["at"].as_i64().unwrap();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{word}");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(pause, 4800, "it grows");
    server.change_rows("UPDATE unsettled SET again = 0 WHERE detail LIKE '%was ended from outside%'");
    server = server.restarted_with(&other_checker(programs.path(), "dying", ""));
    let start = Instant::now();
    while by(&results(&server, "base", 4), "dying")["outcome"] != "verified" {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(server.count_rows("SELECT COUNT(*) AS n FROM unsettled"), 3);
}

/// What the first release wrote down as a refusal though a limit was reached is looked at again.
#[test]
fn limits_that_were_taken_for_refusals_are_taken_back() {
    let mut server = with_a_pack();
    server = server.restarted_with(binary());
    assert_eq!(results(&server, "base", 1)[0]["outcome"], "verified");
    for (detail, left) in [("it did not verify within 180 seconds", "verified"), ("not any more", "refused")] {
        server.change_rows(&format!("UPDATE compatibility SET outcome = 'refused', detail = '{detail}'"));
        server = server.restarted_with(binary());
        let start = Instant::now();
        std::thread::sleep(Duration::from_secs(2));
        while results(&server, "base", 1)[0]["outcome"] != left {
            assert!(start.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The lease of a server that was killed at work does not keep the next one from it for long.
#[test]
fn a_killed_server_holds_nobody_up() {
    let mut server = with_a_pack();
    let programs = tempfile::tempdir().unwrap();
    let begun = programs.path().join("begun");
    let words = format!("touch '{}'; sleep 100", begun.display());
    server = server.restarted_with(&beginning_with(programs.path(), "stuck", "", &words));
    let start = Instant::now();
    while !begun.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "it begins");
        std::thread::sleep(Duration::from_millis(100));
    }
    server = server.restarted_with(&other_checker(programs.path(), "stuck", ""));
    assert_eq!(results(&server, "base", 1)[0]["outcome"], "verified");
}

/// The processes whose parent is one.
fn children(parent: u32) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_child = |process: &PathBuf| {
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        after_name.split(' ').nth(1) == Some(&parent.to_string())
    };
    processes.filter(is_child).collect()
}

/// A checker does not outlive the server that started it, however that ended.
#[test]
fn a_checker_ends_with_its_server() {
    let mut server = Server::start();
    let session = server.account("ada");
    let long = "def f():\n    n = 0\n    for i in range(190000000):\n        n = n + 1\n    return n\nx = f()\n";
    let id = server.upload(&session, &[Pack::with("base", "1.0.0", "", long)], false);
    server.send("POST", &format!("/api/v1/publish/{id}/commit"), &session, b"").is(202);
    let start = Instant::now();
    let checks =
        |process: &PathBuf| std::fs::read(process.join("cmdline")).is_ok_and(|line| line.ends_with(b"__verify\0"));
    let child = loop {
        if let Some(child) = children(server.process()).into_iter().find(checks) {
            break child;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it begins");
        std::thread::sleep(Duration::from_millis(10));
    };
    // It is at work, not about to begin.
    std::thread::sleep(Duration::from_secs(1));
    assert!(checks(&child), "it takes longer");
    server.kill();
    let start = Instant::now();
    while checks(&child) {
        assert!(start.elapsed() < Duration::from_secs(5), "{} lives on", child.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}
