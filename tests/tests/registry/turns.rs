//! Publishes that are ready at the same time: one pointer shows all of them, each is judged on its own, and nothing is torn. Answers
//! that are held back until it is known how a publish ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client;
use crate::postgres::Cluster;
use crate::server::{Answer, Pack, Server, in_database};

impl Server {
    /// Commits what was uploaded, and waits for the answer that says how it ended.
    fn commit_and_wait(&self, token: &str, id: &str) -> Answer {
        self.send("POST", &format!("/api/v1/publish/{id}/commit?wait=30"), token, b"")
    }

    fn pointer(&self) -> u64 {
        client::trust(self, None).pointer().unwrap().version
    }

    /// How often some work was done, as `/metrics` says.
    fn done(&self, work: &str) -> u64 {
        let start = format!("exo_registry_work_seconds_count{{work=\"{work}\"}} ");
        let metrics = String::from_utf8(self.get("/metrics").is(200).bytes).unwrap();
        metrics.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok()).unwrap_or(0)
    }
}

/// While something else has the turn, eight publishes become ready. Then one pointer shows the five of them that nothing stands against.
/// The row of the lock is held by hand, which only PostgreSQL can do without holding up all else.
#[test]
fn publishes_that_are_ready_together_are_shown_by_one_pointer() {
    let cluster = Cluster::start();
    let server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url()));
    let session = server.account("ada");
    assert_eq!(server.publish(&session, &[Pack::new("known", "1.0.0")])["state"], "published");
    let before = client::trust(&server, None);
    let packs = ["amber", "birch", "cobalt", "dune"].map(|name| vec![Pack::new(name, "1.0.0")]);
    let mut ids: Vec<String> = packs.iter().map(|packs| server.upload(&session, packs, false)).collect();
    let pair = [Pack::new("known", "1.0.1"), Pack::with("ocean", "1.0.0", "known = \"1\"\n", "two = 2\n")];
    ids.push(server.upload(&session, &pair, false));
    // A name close to one that is taken in the same turn; a version that is taken in it, with a good pack beside it; a dry run.
    let close = server.upload(&session, &[Pack::new("amberr", "1.0.0")], false);
    let twice = server.upload(&session, &[Pack::new("known", "1.0.1"), Pack::new("velvet", "1.0.0")], false);
    let dry = server.upload(&session, &[Pack::new("tundra", "1.0.0")], true);

    let examined = server.done("examination");
    server.on_rows(async |mut rows| {
        let holding = "BEGIN; UPDATE state SET turns = turns WHERE id = 1";
        sqlx::raw_sql(holding).execute(&mut rows).await.unwrap();
        for (number, id) in ids.iter().chain([&close, &twice, &dry]).enumerate() {
            server.send("POST", &format!("/api/v1/publish/{id}/commit"), &session, b"").is(202);
            let start = Instant::now();
            // In the order in which they are committed, which decides who is first.
            while server.done("examination") <= examined + number as u64 {
                assert!(start.elapsed() < Duration::from_secs(30), "{number}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        sqlx::raw_sql("COMMIT").execute(&mut rows).await.unwrap();
    });
    let pointer = before.pointer().unwrap().version + 1;
    let mut leaves: Vec<u64> = Vec::new();
    for id in &ids {
        let outcome = server.outcome(&session, id);
        assert_eq!((&outcome["state"], &outcome["pointer"]), (&json!("published"), &json!(pointer)), "{outcome}");
        leaves.extend(outcome["packs"].as_array().unwrap().iter().map(|pack| pack["log"].as_u64().unwrap()));
    }
    assert_eq!(leaves, [1, 2, 3, 4, 5, 6]);
    for (id, code, word) in [(&close, "name", "`amber`"), (&twice, "version", "published already")] {
        let outcome = server.outcome(&session, id);
        assert_eq!((&outcome["state"], &outcome["diagnostics"][0]["code"]), (&json!("refused"), &json!(code)));
        assert!(outcome["diagnostics"][0]["message"].as_str().unwrap().contains(word), "{outcome}");
    }
    assert_eq!(server.outcome(&session, &dry)["state"], "checked");
    let trust = client::trust(&server, Some(before));
    let seen = trust.pointer().unwrap();
    assert_eq!((seen.version, seen.log_size), (pointer, 7), "one pointer for all of them");
    for name in ["amber", "birch", "cobalt", "dune", "ocean", "known"] {
        client::check(&server, &trust, name);
    }
    for name in ["amberr", "velvet", "tundra"] {
        assert!(client::shard(&server, &trust, name).is_none(), "{name}");
    }
    server.operate("verify-all", &[]);
}

/// Authors who publish at the same time on one machine with SQLite: all are told, and the number of pointers is at most that of publishes.
#[test]
fn many_at_once_all_hear_of_their_end() {
    let server = Server::start();
    let session = server.account("ada");
    let before = server.pointer();
    let names: Vec<String> = (0..24).map(|number| format!("@ada/pack{number}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            let (server, session) = (&server, &session);
            scope.spawn(move || {
                let id = server.upload(session, &[Pack::new(name, "1.0.0")], false);
                let told = server.commit_and_wait(session, &id).is(200).json();
                assert_eq!(told["state"], "published", "{told}");
                // Whoever is told finds it.
                let trust = client::trust(server, None);
                assert!(trust.pointer().unwrap().version >= told["pointer"].as_u64().unwrap());
                client::check(server, &trust, name);
            });
        }
    });
    assert!(server.pointer() <= before + 24);
    assert!(server.operate("verify-all", &[]).contains("24 packs, 24 versions, 24 leaves"));
    server.keeps_no_upload();
}

#[test]
fn an_answer_is_held_back_until_the_end_is_known() {
    let server = Server::start();
    let session = server.account("ada");
    let state = |id: &str, wait: &str| -> Value {
        server.send("GET", &format!("/api/v1/publish/{id}{wait}"), &session, b"").is(200).json()
    };
    let id = server.upload(&session, &[Pack::new("base", "1.0.0")], false);
    // Before the commit there is nothing to wait for.
    let start = Instant::now();
    assert_eq!(state(&id, "?wait=30")["state"], "open");
    assert!(start.elapsed() < Duration::from_secs(5));
    let told = server.commit_and_wait(&session, &id).is(200).json();
    assert_eq!((&told["state"], &told["packs"][0]["name"]), (&json!("published"), &json!("base")));
    assert_eq!(told, state(&id, ""));
    assert_eq!(told, state(&id, "?wait=30"));
    let id = server.upload(&session, &[Pack::new("base", "1.0.0")], false);
    let told = server.commit_and_wait(&session, &id).is(200).json();
    assert_eq!((&told["state"], &told["diagnostics"][0]["code"]), (&json!("refused"), &json!("version")));
    let id = server.upload(&session, &[Pack::new("base", "1.0.1")], true);
    assert_eq!(server.commit_and_wait(&session, &id).is(200).json()["state"], "checked");
    server.send("GET", &format!("/api/v1/publish/{id}?wait=soon"), &session, b"").is(400);
}

/// A library that takes a checker some seconds.
pub(crate) fn slow() -> Pack {
    let library: String = (0..900)
        .map(|n| format!("@proc\ndef f{n}(n: size, x: f32[n]):\n    for i in seq(0, n):\n        x[i] = 0.0\n"))
        .collect();
    Pack::with("slow", "1.0.0", "", &library)
}

/// A wait that is over is answered with what is known, and a server that is told to end holds nobody back.
#[test]
fn a_wait_has_an_end() {
    let mut server = Server::start();
    let session = server.account("ada");
    let id = server.upload(&session, &[slow()], false);
    // Nobody works on what has a lease.
    server.change_rows("UPDATE publishes SET lease = 99999999999");
    let start = Instant::now();
    let told = server.send("POST", &format!("/api/v1/publish/{id}/commit?wait=1"), &session, b"").is(202).json();
    assert_eq!(told["state"], "checking");
    assert!(start.elapsed() >= Duration::from_secs(1));
    let end = format!("sleep 1; kill -TERM {}", server.process());
    let mut ended = std::process::Command::new("sh").args(["-c", &end]).spawn().unwrap();
    let start = Instant::now();
    let told = server.send("GET", &format!("/api/v1/publish/{id}?wait=30"), &session, b"").is(200).json();
    assert_eq!(told["state"], "checking");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    ended.wait().unwrap();
    server.kill();
    server.change_rows("UPDATE publishes SET lease = 0");
    let server = server.again();
    assert_eq!(server.outcome(&session, &id)["state"], "published");
}

/// What a power cut left of an upload is refused, and can be sent again.
#[test]
fn half_an_upload_is_refused() {
    let server = Server::start();
    let session = server.account("ada");
    let pack = Pack::new("base", "1.0.0");
    for half in [true, false] {
        let id = server.upload(&session, std::slice::from_ref(&pack), false);
        let file = server.path("files/waiting").join(&id).join(pack.archive.sha256.to_string());
        std::fs::write(&file, if half { &pack.archive.bytes[..pack.archive.bytes.len() / 2] } else { &[] }).unwrap();
        let told = server.commit_and_wait(&session, &id).is(200).json();
        assert_eq!((&told["state"], &told["diagnostics"][0]["code"]), (&json!("refused"), &json!("upload")), "{told}");
    }
    assert_eq!(server.publish(&session, &[pack])["state"], "published");
    server.keeps_no_upload();
}

/// The index is made from the files of the one before it; where they are missing or damaged, from the rows.
#[test]
fn a_damaged_index_is_made_anew_by_the_next_publish() {
    let server = Server::start();
    let session = server.account("ada");
    let names = ["amber", "birch", "cobalt", "dune"];
    for (number, name) in names.iter().enumerate() {
        assert_eq!(server.publish(&session, &[Pack::new(name, "1.0.0")])["state"], "published");
        let files = server.files(["v1/snap", "v1/bucket"][number % 2]);
        assert!(!files.is_empty());
        for file in files {
            if number < 2 { std::fs::remove_file(file).unwrap() } else { std::fs::write(file, "x").unwrap() }
        }
    }
    // The bucket of this one is damaged, so that all are made anew.
    assert_eq!(server.publish(&session, &[Pack::new("dune", "1.0.1")])["state"], "published");
    let trust = client::trust(&server, None);
    for name in names {
        client::check(&server, &trust, name);
    }
    server.operate("verify-all", &[]);
}
