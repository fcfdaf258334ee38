//! The server when its machine fails it: killed before any change of files, a full disk, a wrong clock, a killed checker.
//!
//! The faults come from a library that is loaded into the server before all others (`faults/shim.c`), so that the server has nothing
//! in it for tests.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::client;
use crate::server::{Pack, Server};
use exo_index::registry::note::Note;
use exo_index::registry::pointer::Pointer;
use exo_tests::faults::Faults;
use serde_json::json;

/// Changes after which a publish must have come to its end; far more than any makes.
const MANY: u32 = 600;

/// A server whose machine can be made to fail.
struct Faulty {
    server: Server,
    faults: Faults,
}

impl Faulty {
    fn start() -> Self {
        let faults = Faults::new();
        let server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), faults.variables());
        Self { server, faults }
    }

    fn set(&self, fault: &str, value: i64) {
        self.faults.set(fault, value);
    }

    fn clear(&self, fault: &str) {
        self.faults.clear(fault);
    }

    /// The server again, after it was ended by whomever.
    fn restart(&mut self) {
        self.server.kill();
        self.server = self.server.again();
    }
}

/// Killed before any change of files, whatever was said to be done is done, and the same publish can be sent again.
#[test]
fn killed_at_any_step_of_a_publish_nothing_is_lost_or_torn() {
    let mut machine = Faulty::start();
    let mut session = String::new();
    let mut trust = client::trust(&machine.server, None);
    let (mut name, mut published) = (String::new(), 0);
    for step in 1..MANY {
        // An account may only ask for so much in a minute.
        if step % 25 == 1 {
            session = machine.server.account(&format!("ada-{step}"));
            (name, published) = (format!("base-of-{step}"), 0);
        }
        let pack = Pack::new(&name, &format!("1.0.{step}"));
        machine.set("kill", i64::from(step));
        let told = attempt(&machine.server, &session, &pack);
        machine.clear("kill");
        machine.restart();
        let again = machine.server.publish(&session, std::slice::from_ref(&pack));
        let taken = again["diagnostics"].to_string().contains("published already");
        assert!(again["state"] == "published" || taken, "step {step}: {again}");
        assert!(told != Some(true) || taken, "step {step}: what was called published was gone");
        // What a client believed stays true: no rollback, one log.
        trust = client::trust(&machine.server, Some(trust));
        published += 1;
        let shard = client::shard(&machine.server, &trust, &name);
        assert_eq!(shard.map(|shard| shard.versions.len()), Some(published), "step {step}");
        if told == Some(true) {
            assert!(step > 20, "{step} steps only");
            client::check(&machine.server, &trust, &name);
            machine.server.operate("verify-all", &[]);
            return;
        }
    }
    panic!("a publish did not end within {MANY} changes");
}

/// The same in the middle of a turn that several publishes share: all of them come to their end, each once.
#[test]
fn killed_in_the_middle_of_a_turn_of_several_nothing_is_lost_or_doubled() {
    let mut machine = Faulty::start();
    let mut trust = client::trust(&machine.server, None);
    let (mut login, mut session, mut published) = (String::new(), String::new(), 0);
    for step in (1..MANY).step_by(7) {
        if step % 49 == 1 {
            login = format!("ada-{step}");
            session = machine.server.account(&login);
        }
        let packs: Vec<Pack> = (0..4).map(|n| Pack::new(&format!("@{login}/of{step}-{n}"), "1.0.0")).collect();
        let server = &machine.server;
        let ids: Vec<String> =
            packs.iter().map(|pack| server.upload(&session, std::slice::from_ref(pack), false)).collect();
        let (last, others) = ids.split_last().unwrap();
        let others: Vec<String> = others.iter().map(|id| format!("'{id}'")).collect();
        server.change_rows(&format!("UPDATE publishes SET state = 'checking' WHERE id IN ({})", others.join(", ")));
        machine.set("kill", i64::from(step));
        let told = server.try_send("POST", &format!("/api/v1/publish/{last}/commit?wait=30"), &session, b"");
        let lived = told.is_some() && all_end(server, &session, &ids);
        machine.clear("kill");
        machine.restart();
        // As if the lease had run out; one may have been killed before it was committed.
        machine
            .server
            .change_rows("UPDATE publishes SET lease = 0, state = 'checking' WHERE state IN ('open', 'checking')");
        for id in &ids {
            assert_eq!(machine.server.outcome(&session, id)["state"], "published", "step {step}");
        }
        published += packs.len() as u64;
        trust = client::trust(&machine.server, Some(trust));
        assert_eq!(trust.pointer().unwrap().log_size, published, "step {step}");
        for pack in &packs {
            client::check(&machine.server, &trust, &pack.name);
        }
        if lived {
            assert!(step > 40, "{step} steps only");
            machine.server.operate("verify-all", &[]);
            return;
        }
    }
    panic!("the publishes did not end within {MANY} changes");
}

/// Waits until publishes have ended, and their uploads are swept; `false` where the server does not live to see it.
fn all_end(server: &Server, token: &str, ids: &[String]) -> bool {
    let ended = |id: &String| {
        let answer = server.try_send("GET", &format!("/api/v1/publish/{id}?wait=30"), token, b"");
        answer.is_some_and(|answer| answer.json()["state"] == "published")
    };
    ids.iter().all(ended) && {
        std::thread::sleep(Duration::from_millis(300));
        server.try_send("GET", "/api/v1/ready", "", b"").is_some()
    }
}

/// Publishes on a server that may end at any time; whether it said that it did.
fn attempt(server: &Server, token: &str, pack: &Pack) -> Option<bool> {
    let declared = json!({ "packs": [{
        "name": pack.name, "version": pack.version, "sha256": pack.archive.sha256.to_string(), "size": pack.archive.bytes.len(),
    }], "dry_run": false });
    let answer = server.try_send("POST", "/api/v1/publish", token, declared.to_string().as_bytes())?;
    let id = answer.json()["session"].as_str()?.to_owned();
    server.try_send("PUT", &format!("/api/v1/publish/{id}/{}", pack.archive.sha256), token, &pack.archive.bytes)?;
    server.try_send("POST", &format!("/api/v1/publish/{id}/commit"), token, b"")?;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        let state = server.try_send("GET", &format!("/api/v1/publish/{id}"), token, b"")?.json();
        if state["state"] != "checking" {
            // The uploads are swept after that, which is part of a publish.
            std::thread::sleep(Duration::from_millis(300));
            server.try_send("GET", "/api/v1/ready", "", b"")?;
            return Some(state["state"] == "published");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Full at different times of a publish, the registry says so, loses nothing, and goes on when there is room.
#[test]
fn a_full_disk_is_told_and_got_over() {
    let machine = Faulty::start();
    let session = machine.server.account("ada");
    assert_eq!(machine.server.publish(&session, &[Pack::new("base", "1.0.0")])["state"], "published");
    machine.set("full", 1);
    let refused = machine.server.post("/api/v1/publish", &session, &json!({ "packs": [], "dry_run": false }));
    assert!(refused.status == 507 || refused.status == 400, "{}", refused.status);
    let pack = Pack::new("base", "1.0.1");
    let declared = json!({ "packs": [{
        "name": "base", "version": "1.0.1", "sha256": pack.archive.sha256.to_string(), "size": pack.archive.bytes.len(),
    }], "dry_run": false });
    let refused = machine.server.post("/api/v1/publish", &session, &declared).is(507);
    assert_eq!(refused.json()["error"]["code"], "disk-full");
    assert_eq!(refused.headers["x-request-id"], refused.json()["request"].as_str().unwrap());
    // Reading goes on.
    machine.server.get("/v1/latest").is(200);
    machine.clear("full");
    for round in 1..6 {
        let pack = Pack::new("base", &format!("1.{round}.0"));
        let id = machine.server.upload(&session, std::slice::from_ref(&pack), false);
        machine.server.send("POST", &format!("/api/v1/publish/{id}/commit"), &session, b"").is(202);
        std::thread::sleep(Duration::from_millis(40 * round));
        machine.set("full", 1);
        std::thread::sleep(Duration::from_millis(700));
        machine.clear("full");
        assert_eq!(machine.server.outcome(&session, &id)["state"], "published", "round {round}");
    }
    let trust = client::trust(&machine.server, None);
    assert_eq!(client::check(&machine.server, &trust, "base").0.versions.len(), 6);
    machine.server.operate("verify-all", &[]);
}

/// A pointer that a clock signed which was ahead is signed again when the clock is right; a clock that is set back makes no version older.
#[test]
fn a_clock_that_was_wrong_does_not_lock_clients_out() {
    let mut machine = Faulty::start();
    machine.server.account("ada");
    let ten_days = 864_000;
    machine.set("clock", ten_days);
    let session = machine.server.login("ada");
    assert_eq!(machine.server.publish(&session, &[Pack::new("base", "1.0.0")])["state"], "published");
    machine.clear("clock");
    machine.restart();
    // The old session ended ten days later.
    let session = machine.server.login("ada");
    let start = Instant::now();
    let issued = || Pointer::parse(&Note::parse(&machine.server.get("/v1/latest").bytes).unwrap().text).unwrap().issued;
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    while issued() > now() {
        assert!(start.elapsed() < Duration::from_secs(30), "the pointer stays in the future");
        std::thread::sleep(Duration::from_millis(200));
    }
    let trust = client::trust(&machine.server, None);
    assert_eq!(machine.server.publish(&session, &[Pack::new("base", "1.0.1")])["state"], "published");
    let trust = client::trust(&machine.server, Some(trust));
    let versions = client::check(&machine.server, &trust, "base").0.versions;
    let times: Vec<u64> = versions.iter().map(|version| version.published).collect();
    assert!(times[1] >= times[0], "{times:?}");
}

/// A checker that is killed from outside says nothing against the pack: it is started again.
#[test]
fn a_killed_checker_is_started_again() {
    let machine = Faulty::start();
    let session = machine.server.account("ada");
    let slow: String = (0..400)
        .map(|n| format!("@proc\ndef f{n}(n: size, x: f32[n]):\n    for i in seq(0, n):\n        x[i] = 0.0\n"))
        .collect();
    let pack = Pack::with("slow", "1.0.0", "", &slow);
    let id = machine.server.upload(&session, std::slice::from_ref(&pack), false);
    machine.server.send("POST", &format!("/api/v1/publish/{id}/commit"), &session, b"").is(202);
    let start = Instant::now();
    while !kill_checker_of(&machine.server) {
        assert!(start.elapsed() < Duration::from_secs(30), "no checker was seen");
        std::thread::sleep(Duration::from_millis(2));
    }
    let outcome = machine.server.outcome(&session, &id);
    assert_eq!(outcome["state"], "published", "{outcome}");
}

/// Kills the process `exo __verify` of a server, if there is one.
fn kill_checker_of(server: &Server) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.process())).unwrap();
    let found = tasks.flatten().find_map(|task| {
        let children = std::fs::read_to_string(task.path().join("children")).ok()?;
        children.split_whitespace().find_map(|id| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
            line.windows(8).any(|part| part == b"__verify").then(|| id.to_owned())
        })
    });
    found.is_some_and(|id| Command::new("sh").args(["-c", &format!("kill -9 {id}")]).status().unwrap().success())
}
