//! What is of no more use goes by itself, also with two servers at it, and what was done stays.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::server::{Pack, Server, declaration, in_database};

/// What holds on any database: two servers on one, of which each would remove it.
pub(crate) fn life(mut server: Server) {
    let session = server.account("ada");
    assert_eq!(server.publish(&session, &[Pack::new("base", "1.0.0")])["state"], "published");
    server.keeps_no_upload();
    // An upload that nobody went on with, and one that somebody may still go on with.
    let aborted = server.upload(&session, &[Pack::new("left", "1.0.0")], false);
    let open = server.upload(&session, &[Pack::new("other", "1.0.0")], false);
    let old = server.token(&session, &["yank"], &["*"]);
    let audited = server.count_rows("SELECT COUNT(*) AS n FROM audit");
    server.kill();
    let changes = [
        format!("UPDATE publishes SET created = created - 90000 WHERE id = '{aborted}'"),
        "UPDATE publishes SET created = created - 9000000 WHERE state = 'published'".to_owned(),
        "UPDATE tokens SET expires = expires - 9000000 WHERE session = 0".to_owned(),
        "UPDATE limits SET span = span - 100".to_owned(),
        "INSERT INTO setup_codes (hash, administrator, expires) VALUES ('x', 1, 5)".to_owned(),
        "INSERT INTO second_factors (login, secret, confirmed, last_step, failures, blocked_until, created) VALUES ('ada', '', 0, 0, 0, 0, 5)".to_owned(),
        "UPDATE audit SET at = 5".to_owned(),
    ];
    for change in &changes {
        assert!(server.change_rows(change) >= 1, "{change}");
    }
    // A folder of a killed server, with packs that were being checked.
    let left = server.path("check-left");
    std::fs::create_dir_all(left.join("0/src")).unwrap();
    let aged = std::fs::FileTimes::new().set_modified(std::time::SystemTime::now() - Duration::from_secs(600));
    std::fs::File::open(&left).unwrap().set_times(aged).unwrap();
    let (one, two) = (server.again(), server.again());
    let gone = [
        format!("SELECT COUNT(*) AS n FROM publishes WHERE id = '{aborted}' OR state = 'published'"),
        "SELECT COUNT(*) AS n FROM tokens WHERE session = 0".to_owned(),
        format!("SELECT COUNT(*) AS n FROM publish_packs WHERE publish <> '{open}'"),
        "SELECT COUNT(*) AS n FROM setup_codes WHERE expires = 5".to_owned(),
        "SELECT COUNT(*) AS n FROM second_factors".to_owned(),
    ];
    let start = Instant::now();
    while gone.iter().any(|rows| one.count_rows(rows) > 0) {
        let left: Vec<&String> = gone.iter().filter(|rows| one.count_rows(rows) > 0).collect();
        assert!(start.elapsed() < Duration::from_secs(60), "{left:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(one.files("waiting").len(), 1, "the upload that may go on");
    assert!(!left.exists());
    two.send("GET", &format!("/api/v1/publish/{open}"), &session, b"").is(200);
    two.send("GET", "/api/v1/whoami", &old, b"").is(401);
    assert_eq!(one.count_rows("SELECT COUNT(*) AS n FROM audit"), audited);
    one.post("/api/v1/publish", &session, &declaration(&[Pack::new("next", "1.0.0")], false)).is(201);
}

#[test]
fn what_is_of_no_more_use_goes() {
    life(Server::start());
}

#[test]
fn what_is_of_no_more_use_goes_on_postgres() {
    let cluster = crate::postgres::Cluster::start();
    life(Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}
