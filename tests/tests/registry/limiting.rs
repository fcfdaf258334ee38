//! How often anything may be done, and how long a request may take to be said.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::pages::text;
use crate::postgres::Cluster;
use crate::server::{Answer, Pack, Server, in_database};

/// The refusal after so many times; a minute may end in between, with which counts start anew.
fn comes_to_an_end(most: usize, mut ask: impl FnMut(usize) -> Answer) {
    let answer = (0..2 * most + 2).map(&mut ask).find(|answer| answer.status == 429).expect("an end");
    let wait: u64 = answer.headers["retry-after"].parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let said = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(said, format!("more than {most} requests in a minute"));
}

/// A token that is asked for, of a name of its own.
fn token(number: usize) -> Value {
    json!({ "name": format!("t{number}"), "rights": ["yank"], "packs": ["*"], "expires_days": 1 })
}

fn each_kind_has_an_end(server: &Server) {
    let ada = server.account("ada");
    server.account("eve");
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    let (yank, owner) = ("/api/v1/packs/base/1.0.0/yank", "/api/v1/packs/base/owners/eve");
    comes_to_an_end(120, |_| server.send("PUT", yank, &ada, b""));
    // Each kind is counted for itself.
    comes_to_an_end(60, |_| server.send("PUT", owner, &ada, b""));
    comes_to_an_end(60, |number| server.send("PUT", &format!("/api/v1/organisations/lab{number}"), &ada, b""));
    comes_to_an_end(30, |number| server.post("/api/v1/tokens", &ada, &token(number)));
    server.send("GET", "/api/v1/packs/base/audit", &ada, b"").is(200);
}

#[test]
fn everything_that_an_account_does_has_an_end() {
    each_kind_has_an_end(&Server::start());
}

#[test]
fn everything_that_an_account_does_has_an_end_on_postgres() {
    let cluster = Cluster::start();
    each_kind_has_an_end(&Server::start_on(
        std::sync::Arc::new(tempfile::tempdir().unwrap()),
        in_database(cluster.url()),
    ));
}

/// Of many that are asked for at the same time, under what reads as the same name, one is made.
fn a_name_is_that_of_one_token(server: &Server) {
    let (ada, eve) = (server.account("ada"), server.account("eve"));
    let named = |name: &str| json!({ "name": name, "rights": ["yank"], "packs": ["*"], "expires_days": 1 });
    let make_at_once = &|name: &str| server.post("/api/v1/tokens", &ada, &named(name)).status;
    let mut answers: Vec<u16> = std::thread::scope(|scope| {
        let ask = |name: &'static str| scope.spawn(move || make_at_once(name));
        ["Release", "release", " RELEASE", "release "].map(ask).into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    answers.sort_unstable();
    assert_eq!(answers, [201, 409, 409, 409]);
    server.post("/api/v1/tokens", &eve, &named("release")).is(201);
    let other = server.post("/api/v1/tokens", &ada, &named("release 2")).is(201).json();
    server.post("/api/v1/tokens", &ada, &named("Release 2")).is(409);
    server.send("DELETE", &format!("/api/v1/tokens/{}", other["id"].as_str().unwrap()), &ada, b"").is(204);
    server.post("/api/v1/tokens", &ada, &named("Release 2")).is(201);
}

#[test]
fn two_tokens_of_an_account_have_two_names() {
    a_name_is_that_of_one_token(&Server::start());
}

#[test]
fn two_tokens_of_an_account_have_two_names_on_postgres() {
    let cluster = Cluster::start();
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    a_name_is_that_of_one_token(&Server::start_on(folder, in_database(cluster.url())));
}

#[test]
fn an_account_has_so_many_tokens() {
    let server = Server::start();
    let ada = server.account("ada");
    for number in 0..100 {
        if number % 25 == 0 {
            // Minutes pass.
            server.change_rows("DELETE FROM limits");
        }
        server.post("/api/v1/tokens", &ada, &token(number)).is(201);
    }
    server.change_rows("DELETE FROM limits");
    let refused = server.post("/api/v1/tokens", &ada, &token(100)).is(409).json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("has 100 tokens already"), "{refused}");
    // One that has expired makes room for its like, and for no other.
    server.change_rows("UPDATE tokens SET expires = 1 WHERE name = 't7'");
    server.post("/api/v1/tokens", &ada, &token(100)).is(409);
    server.post("/api/v1/tokens", &ada, &token(7)).is(201);
}

#[test]
fn who_says_not_who_it_is_reads_so_much_in_a_minute() {
    let variables = [("EXO_REGISTRY_BEHIND_PROXY", "true"), ("EXO_REGISTRY_ANONYMOUS_LIMIT", "30")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let server = Server::start_on(std::sync::Arc::new(tempfile::tempdir().unwrap()), variables);
    let ada = server.account("ada");
    server.publish(&ada, &[Pack::new("base", "1.0.0")]);
    let asks = |method: &str, address: &str, path: &str, token: &str| {
        server.send_with(method, path, token, b"", &[("x-forwarded-for", address)])
    };
    let from = |address: &str, path: &str| asks("GET", address, path, "");
    comes_to_an_end(30, |_| from("192.0.2.1", "/api/v1/packs/base"));
    // A search costs more than a page.
    let searches = (0..40).take_while(|_| from("192.0.2.2", "/api/v1/search?q=base").status == 200).count();
    assert!((10..=20).contains(&searches), "{searches}");
    let pages = (0..70).map(|_| from("192.0.2.3", "/packs/base")).find(|answer| answer.status == 429).unwrap();
    assert!(text(&pages).contains("Too many requests"));
    // What is called a token and is none helps nobody, nor does asking for heads only.
    comes_to_an_end(30, |_| asks("GET", "192.0.2.6", "/api/v1/packs/base", "exo_nothing"));
    let heads =
        (0..70).map(|_| asks("HEAD", "192.0.2.7", "/packs/base", "")).filter(|answer| answer.status == 200).count();
    assert!((30..=60).contains(&heads), "{heads}");
    asks("GET", "192.0.2.7", "/api/v1/packs/base", &ada).is(200);
    // Others are not held back, nor who shows a token, nor who installs, nor who looks after the server.
    from("192.0.2.4", "/api/v1/packs/base").is(200);
    for _ in 0..40 {
        from("192.0.2.5", "/v1/latest").is(200);
        from("192.0.2.5", "/api/v1/ready").is(200);
        server.send("GET", "/api/v1/packs/base", &ada, b"").is(200);
    }
}

#[test]
fn a_request_that_is_never_said_is_hung_up_on() {
    let server = Server::start();
    let address = server.url.strip_prefix("http://").unwrap();
    let begin = |text: &[u8]| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(50))).unwrap();
        stream.write_all(text).unwrap();
        stream
    };
    let start = Instant::now();
    let (half, silent) = (begin(b"GET /v1/latest HTTP/1.1\r\nhost: x\r\nx-half"), begin(b""));
    // Meanwhile others are answered.
    server.get("/v1/latest").is(200);
    for mut stream in [half, silent] {
        let mut said = Vec::new();
        stream.read_to_end(&mut said).expect("the server hangs up");
        assert!(!String::from_utf8_lossy(&said).contains("200 OK"));
    }
    assert!((25..45).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}
