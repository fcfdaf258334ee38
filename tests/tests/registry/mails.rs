//! Mails: who is told of what, by which address, and that nothing is lost, told twice, or told of what did not happen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::mail_server::{MailServer, Manner};
use crate::pages::{form, form_token, has, sign_in, text, with_cookie};
use crate::postgres::Cluster;
use crate::quarantine::administrator;
use crate::second_factor::enrol;
use crate::server::{PASSWORD, Pack, Server, Variables, in_database, operate_on, program, user};

/// A mail that left.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Letter {
    to: String,
    subject: String,
    text: String,
}

impl Letter {
    fn read(text: &str) -> Self {
        // Long headers go on in the next line.
        let unfolded = text.replace("\r\n ", " ").replace("\n ", " ");
        let head = |name: &str| {
            let line = unfolded.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} in {text}")).to_owned()
        };
        Self { to: head("To: "), subject: head("Subject: [localhost] "), text: text.to_owned() }
    }

    fn id(&self) -> &str {
        self.text.lines().find_map(|line| line.strip_prefix("Message-ID: ")).unwrap()
    }
}

const WAITING: &str = "SELECT COUNT(*) AS n FROM outbox";

/// Waits until nothing is left to be sent; the mails in the folder, the oldest first.
#[track_caller]
fn letters(server: &Server) -> Vec<Letter> {
    let start = Instant::now();
    while server.count_rows(WAITING) > 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "mails are not sent");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut files: Vec<_> = std::fs::read_dir(server.path("outbox")).into_iter().flatten().flatten().collect();
    files.sort_by_key(std::fs::DirEntry::file_name);
    assert!(files.iter().all(|file| file.path().extension().is_some_and(|end| end == "eml")), "{files:?}");
    files.iter().map(|file| Letter::read(&std::fs::read_to_string(file.path()).unwrap())).collect()
}

/// What came into the folder since, as receivers and subjects in alphabetical order.
#[track_caller]
fn told_since(server: &Server, before: usize) -> Vec<(String, String)> {
    let mut told: Vec<_> =
        letters(server).split_off(before).into_iter().map(|letter| (letter.to, letter.subject)).collect();
    told.sort();
    told
}

fn code_in(text: &str) -> String {
    let link =
        text.lines().find_map(|line| line.split_once("/account/confirm?code=")).unwrap_or_else(|| panic!("{text}"));
    link.1.trim().to_owned()
}

/// The code in the last mail that has one.
#[track_caller]
pub(crate) fn code(server: &Server) -> String {
    let letters = letters(server);
    code_in(&letters.iter().rfind(|letter| letter.subject.starts_with("Confirm")).expect("a link").text)
}

fn give(server: &Server, session: &str, email: &str) -> u16 {
    let body = json!({ "password": PASSWORD, "email": email }).to_string();
    server.send("PUT", "/api/v1/account/email", session, body.as_bytes()).status
}

fn confirm(server: &Server, code: &str) -> u16 {
    server.post("/api/v1/account/email/confirm", "", &json!({ "code": code })).status
}

/// Has an account be told at an address of its own.
fn addressed(server: &Server, login: &str, session: &str) {
    assert_eq!(give(server, session, &format!("{login}@example.org")), 204);
    assert_eq!(confirm(server, &code(server)), 200);
}

/// As an account that was given an address in some other way has it.
fn has_address(server: &Server, login: &str) {
    let statement = format!(
        "UPDATE accounts SET email = '{login}@example.org', confirmed_email = '{login}@example.org' WHERE login = '{login}'"
    );
    assert_eq!(server.change_rows(&statement), 1);
}

fn all(server: &Server) -> usize {
    letters(server).len()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut pairs: Vec<_> =
        expected.iter().map(|(login, subject)| (format!("{login}@example.org"), (*subject).to_owned())).collect();
    pairs.sort();
    pairs
}

fn everybody_concerned_is_told(server: &Server) {
    let root = administrator(server);
    let [ada, eve, dan] = ["ada", "eve", "dan"].map(|login| server.account(login));
    for (login, session) in [("root", &root), ("ada", &ada), ("eve", &eve)] {
        addressed(server, login, session);
    }
    let tells = |expected: &[(&str, &str)], work: &dyn Fn()| {
        // Ten minutes pass, in which an address gets so many and no more.
        server.change_rows("DELETE FROM limits");
        let before = all(server);
        work();
        assert_eq!(told_since(server, before), pairs(expected));
    };
    let put = |path: &str, session: &str, body: &[u8]| drop(server.send("PUT", path, session, body).is(204));
    let delete = |path: &str, session: &str, body: &[u8]| drop(server.send("DELETE", path, session, body).is(204));
    // Of packs.
    tells(&[("ada", "base 1.0.0 was published")], &|| {
        assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    });
    tells(&[], &|| assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "refused"));
    tells(&[], &|| assert_eq!(server.publish(&dan, &[Pack::new("quiet", "1.0.0")])["state"], "published"));
    let became = "eve became an owner of base";
    tells(&[("ada", became), ("eve", became)], &|| put("/api/v1/packs/base/owners/eve", &ada, b""));
    tells(&[("ada", "base 1.0.0 was yanked"), ("eve", "base 1.0.0 was yanked")], &|| {
        put("/api/v1/packs/base/1.0.0/yank", &ada, b"");
    });
    let held = "base 1.0.0 was put into quarantine";
    tells(&[("ada", held), ("eve", held)], &|| {
        put("/api/v1/packs/base/1.0.0/quarantine", &root, br#"{"reason": "steals"}"#);
        put("/api/v1/packs/base/1.0.0/quarantine", &root, br#"{"reason": "steals"}"#);
    });
    let out = "base 1.0.0 came out of quarantine";
    tells(&[("ada", out), ("eve", out)], &|| delete("/api/v1/packs/base/1.0.0/quarantine", &root, b""));
    let ceased = "eve ceased to own base";
    tells(&[("ada", ceased), ("eve", ceased)], &|| delete("/api/v1/packs/base/owners/eve", &ada, b""));
    // Who reported it is told to nobody, and that somebody did to administrators.
    tells(&[("root", "base was reported")], &|| {
        let report = json!({ "kind": "wrong", "text": "lanes are swapped" });
        server.post("/api/v1/packs/base/report", &dan, &report).is(201);
    });
    assert!(!letters(server).iter().any(|letter| letter.text.contains("lanes") || letter.text.contains("dan")));
    // The last owners are told although they own nothing any more.
    tells(&[("ada", "base 1.0.0 was deleted")], &|| {
        delete("/api/v1/packs/base/1.0.0", &ada, br#"{"reason": "by mistake", "with_name": true}"#);
    });
    of_organisations(server, (&root, &ada), &tells);
    of_accounts(server, (&ada, &eve), &tells);
    let text = letters(server).iter().map(|letter| letter.text.clone()).collect::<String>();
    assert!(!text.contains("exo_") && !text.contains(PASSWORD), "{text}");
    assert_eq!(text.matches("Auto-Submitted: auto-generated").count(), all(server));
}

type Tells<'a> = dyn Fn(&[(&str, &str)], &dyn Fn()) + 'a;

fn of_organisations(server: &Server, (root, ada): (&str, &str), tells: &Tells<'_>) {
    let put = |path: &str, session: &str, body: &[u8]| assert!(server.send("PUT", path, session, body).status < 300);
    tells(&[("ada", "The organisation @lab was made")], &|| put("/api/v1/organisations/lab", ada, b""));
    let came = "@lab: eve publisher came in or changed the role";
    tells(&[("ada", came), ("eve", came)], &|| {
        put("/api/v1/organisations/lab/members/eve", ada, br#"{"role": "publisher"}"#);
    });
    // Owners of the organisation own its packs, publishers do not.
    tells(&[("ada", "@lab/pack 1.0.0 was published")], &|| {
        assert_eq!(server.publish(ada, &[Pack::new("@lab/pack", "1.0.0")])["state"], "published");
    });
    tells(&[("ada", "@lab got the badge of a verified owner")], &|| {
        put("/api/v1/organisations/lab/verification", root, b"");
    });
}

fn of_accounts(server: &Server, (ada, eve): (&str, &str), tells: &Tells<'_>) {
    tells(&[("eve", "The token =?utf-8?b?4oCcY2nigJ0=?= was made")], &|| {
        let token = json!({ "name": "ci", "rights": ["yank"], "packs": ["*"], "expires_days": 1 });
        server.post("/api/v1/tokens", eve, &token).is(201);
    });
    tells(&[("ada", "The password was changed")], &|| {
        let body = json!({ "old": PASSWORD, "new": PASSWORD }).to_string();
        server.send("PUT", "/api/v1/account/password", ada, body.as_bytes()).is(204);
    });
    let recovery = std::cell::RefCell::new(Vec::new());
    tells(&[("ada", "The second factor was switched on")], &|| *recovery.borrow_mut() = enrol(server, ada).1);
    let recovery = recovery.into_inner();
    tells(&[("ada", "A recovery code was used")], &|| {
        server.post("/api/v1/login", "", &json!({ "login": "ada", "password": PASSWORD, "totp": recovery[0] })).is(200);
    });
    tells(&[("ada", "A recovery code was used (1 more)")], &|| {
        let body = json!({ "password": PASSWORD, "code": recovery[1] }).to_string();
        server.send("DELETE", "/api/v1/account/second-factor", ada, body.as_bytes()).is(204);
    });
    tells(&[("eve", "The account was closed by who runs the registry")], &|| user(server, &["disable", "eve"]));
    let text = letters(server).iter().map(|letter| letter.text.clone()).collect::<String>();
    assert!(recovery.iter().all(|code| !text.contains(code)));
}

#[test]
fn everybody_whom_it_concerns_is_told() {
    everybody_concerned_is_told(&Server::start());
}

#[test]
fn everybody_whom_it_concerns_is_told_on_postgres() {
    let cluster = Cluster::start();
    everybody_concerned_is_told(&Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

/// A server that sends by a mail server somewhere.
fn sending_to(address: std::net::SocketAddr, mut variables: Variables) -> Server {
    variables.push(("EXO_REGISTRY_SMTP".to_owned(), format!("smtp://{address}")));
    variables.push(("EXO_REGISTRY_MAIL_FROM".to_owned(), "Packs <packs@packs.example>".to_owned()));
    Server::start_on(Arc::new(tempfile::tempdir().unwrap()), variables)
}

/// Has all mails be due, as if the pause after a failure was over.
fn time_passes(server: &Server) {
    server.change_rows("UPDATE outbox SET due = 0");
}

/// Waits until a try has failed.
#[track_caller]
fn has_failed(server: &Server) {
    let start = Instant::now();
    while server.count_rows("SELECT COUNT(*) AS n FROM outbox WHERE failure <> ''") == 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "nothing was tried");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn nothing_is_lost(variables: Variables) {
    let post = MailServer::start(Manner::Takes);
    let address = post.address;
    let mut server = sending_to(address, variables);
    let ada = server.account("ada");
    has_address(&server, "ada");
    let published = |version: &str| {
        assert_eq!(server.publish(&ada, &[Pack::new("base", version)])["state"], "published");
    };
    published("1.0.0");
    let (from, to, first) = post.has(1).remove(0);
    assert!(from.contains("<packs@packs.example>") && to.contains("<ada@example.org>"), "{from} {to}");
    let first = Letter::read(&first);
    assert_eq!(first.subject, "base 1.0.0 was published");
    assert!(
        first.text.contains("List-Id: ") && first.text.contains("From: Packs <packs@packs.example>"),
        "{}",
        first.text
    );

    // It says to come later; that is known, and tried again.
    post.becomes(Manner::Defers);
    published("1.0.1");
    has_failed(&server);
    let said = server.operate("doctor", &[]);
    assert!(said.contains("mails: 1 mail waits, since 2") && said.contains("come again later"), "{said}");
    let metrics = String::from_utf8(server.get("/metrics").is(200).bytes).unwrap();
    assert!(metrics.contains("\nexo_registry_mails_waiting 1\n") && metrics.contains("mail-failed"), "{metrics}");
    assert!(server.count_rows("SELECT MIN(due - at) AS n FROM outbox") >= 60, "not at once");
    // It hangs up, and nobody knows whether it took the mail.
    post.becomes(Manner::HangsUp);
    time_passes(&server);
    let one = Letter::read(&post.has(2)[1].2);
    // The registry dies, and comes back.
    server.kill();
    let server = server.again();
    post.becomes(Manner::Takes);
    time_passes(&server);
    let again = Letter::read(&post.has(3)[2].2);
    assert_eq!((one.id(), &one.text), (again.id(), &again.text), "whoever gets it twice can tell");
    assert_ne!(first.id(), one.id());
    assert!(letters(&server).is_empty(), "none is a file too");
    assert!(server.operate("doctor", &[]).contains("mails: none waits"));
}

#[test]
fn no_mail_is_lost() {
    nothing_is_lost(Vec::new());
}

#[test]
fn no_mail_is_lost_on_postgres() {
    let cluster = Cluster::start();
    nothing_is_lost(in_database(cluster.url()));
}

#[test]
fn a_mail_server_that_is_away_holds_nothing_up_and_is_given_up_after_days() {
    let address = MailServer::start(Manner::Takes).address;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_ne!(address, free);
    let server = sending_to(free, Vec::new());
    let ada = server.account("ada");
    has_address(&server, "ada");
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    has_failed(&server);
    // It comes back.
    let post = MailServer::start_at(free, Manner::Takes);
    time_passes(&server);
    post.has(1);
    post.becomes(Manner::Defers);
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.1")])["state"], "published");
    has_failed(&server);
    server.change_rows("UPDATE outbox SET at = at - 5 * 86400, due = 0");
    letters(&server);
    assert_eq!(post.taken().len(), 1);
    let metrics = String::from_utf8(server.get("/metrics").is(200).bytes).unwrap();
    assert!(metrics.contains("event=\"mail-given-up\"} 1"), "{metrics}");
}

#[test]
fn two_servers_send_each_mail_once() {
    let cluster = Cluster::start();
    let post = MailServer::start(Manner::Takes);
    let one = sending_to(post.address, in_database(cluster.url()));
    let two = one.again();
    let ada = one.account("ada");
    has_address(&two, "ada");
    for number in 0..30 {
        let entry = format!("{number:020}x");
        one.change_rows(&format!(
            "INSERT INTO audit (id, at, login, action, subject) VALUES ('{entry}', 7, 'ada', 'yank', 'base')"
        ));
    }
    one.change_rows(
        "INSERT INTO outbox (entry, address, login, at, due, tries, failure, secret, letter) SELECT id, 'a' || id || '@example.org', 'ada', 4000000000, 0, 0, '', '', '' \
         FROM audit WHERE action = 'yank'",
    );
    assert_eq!(two.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    post.has(31);
    letters(&one);
    let ids: std::collections::BTreeSet<String> =
        post.taken().iter().map(|(_, _, text)| Letter::read(text).id().to_owned()).collect();
    assert_eq!((ids.len(), post.taken().len()), (31, 31));
}

/// What is done at once is one mail, and whoever makes others owners does not flood them.
fn nobody_gets_many_mails(server: &Server) {
    let [ada, eve] = ["ada", "eve"].map(|login| server.account(login));
    has_address(server, "ada");
    has_address(server, "eve");
    let packs = [Pack::new("amber", "1.0.0"), Pack::new("birch", "1.0.0"), Pack::new("cobalt", "1.0.0")];
    assert_eq!(server.publish(&eve, &packs)["state"], "published");
    assert_eq!(told_since(server, 0), pairs(&[("eve", "amber 1.0.0 was published (2 more)")]));
    server.send("PUT", "/api/v1/packs/amber/owners/ada", &eve, b"").is(204);
    let before = all(server);
    for _ in 0..20 {
        server.send("PUT", "/api/v1/packs/amber/1.0.0/yank", &eve, b"").is(204);
        server.send("DELETE", "/api/v1/packs/amber/1.0.0/yank", &eve, b"").is(204);
        std::thread::sleep(Duration::from_millis(100));
    }
    let to_ada = || std::fs::read_dir(server.path("outbox")).unwrap().count();
    assert!(to_ada() - before <= 10, "{}", to_ada());
    assert_eq!(give(server, &ada, "ada@example.net"), 204);
    let link = "SELECT COUNT(*) AS n FROM outbox WHERE secret <> ''";
    let start = Instant::now();
    while server.count_rows(link) > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "a link does not wait");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(server.count_rows(WAITING) > 0, "the rest waits");
    // Ten minutes pass.
    server.change_rows("DELETE FROM limits");
    time_passes(server);
    let told: String = letters(server)
        .iter()
        .filter(|letter| letter.to == "ada@example.org")
        .map(|letter| letter.text.clone())
        .collect();
    let yanked = told.matches("\namber 1.0.0 was yanked.").count();
    assert_eq!((yanked, told.matches("\namber 1.0.0 was given back.").count()), (20, 20), "each once: {told}");
}

#[test]
fn an_address_gets_few_mails_that_tell_all() {
    nobody_gets_many_mails(&Server::start());
}

#[test]
fn an_address_gets_few_mails_that_tell_all_on_postgres() {
    let cluster = Cluster::start();
    nobody_gets_many_mails(&Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

fn what_failed_is_told_to_nobody(server: &Server) {
    let ada = server.account("ada");
    server.account("eve");
    has_address(server, "ada");
    has_address(server, "eve");
    assert_eq!(server.publish(&ada, &[Pack::new("base", "1.0.0")])["state"], "published");
    let before = all(server);
    server.send("DELETE", "/api/v1/packs/base/owners/ada", &ada, b"").is(409);
    // The change, its entry and its mails are written, and then what makes it visible fails.
    server.change_rows("ALTER TABLE log RENAME TO lost");
    server.send("PUT", "/api/v1/packs/base/owners/eve", &ada, b"").is(500);
    server.change_rows("ALTER TABLE lost RENAME TO log");
    let noted = "SELECT COUNT(*) AS n FROM audit WHERE action = 'owner-add'";
    assert_eq!((server.count_rows(noted), all(server)), (0, before));
    // And where the mails cannot be written, nothing is done.
    server.change_rows("ALTER TABLE outbox RENAME TO lost");
    server.send("PUT", "/api/v1/packs/base/owners/eve", &ada, b"").is(500);
    server.send("POST", "/api/v1/logout", &ada, b"").is(204);
    server.change_rows("ALTER TABLE lost RENAME TO outbox");
    let owners = "SELECT COUNT(*) AS n FROM owners WHERE login = 'eve'";
    assert_eq!((server.count_rows(noted), server.count_rows(owners)), (0, 0));
}

#[test]
fn nothing_is_told_that_did_not_happen() {
    what_failed_is_told_to_nobody(&Server::start());
}

#[test]
fn nothing_is_told_that_did_not_happen_on_postgres() {
    let cluster = Cluster::start();
    what_failed_is_told_to_nobody(&Server::start_on(
        Arc::new(tempfile::tempdir().unwrap()),
        in_database(cluster.url()),
    ));
}

fn addresses_are_confirmed(server: &Server) {
    let ada = server.account("ada");
    let known = |email: &str, confirmed: &str| {
        let told = server.send("GET", "/api/v1/account/email", &ada, b"").is(200).json();
        assert_eq!(told, json!({ "email": email, "confirmed": confirmed }));
    };
    known("", "");
    let (old, new) = ("ada@example.org", "ada@example.net");
    assert_eq!(give(server, &ada, "ada"), 400);
    assert_eq!(give(server, &ada, "ada@example.org\r\nBcc: eve@example.org"), 400);
    let wrong = json!({ "password": "a wrong password", "email": old }).to_string();
    server.send("PUT", "/api/v1/account/email", &ada, wrong.as_bytes()).is(403);
    let token = server.token(&ada, &["owners"], &["*"]);
    assert_eq!(give(server, &token, old), 403);
    assert_eq!(all(server), 0);

    // Nothing is told there before the link was followed, once.
    assert_eq!(give(server, &ada, old), 204);
    known(old, "");
    let first = code(server);
    let count = all(server);
    server.token(&ada, &["owners"], &["*"]);
    assert_eq!(all(server), count);
    let stored = format!("SELECT COUNT(*) AS n FROM email_confirmations WHERE hash LIKE '%{first}%'");
    assert_eq!(server.count_rows(&stored), 0);
    assert_eq!([confirm(server, "guessed"), confirm(server, &first), confirm(server, &first)], [403, 200, 403]);
    known(old, old);
    let said = "An e-mail address was confirmed, and mails go there from now on".to_owned();
    assert_eq!(told_since(server, count), [(old.to_owned(), said.clone())]);

    // Another one: the old one is told when it is asked for and when it is confirmed, and a link that was replaced is not good.
    server.change_rows("DELETE FROM limits");
    assert_eq!(give(server, &ada, "typo@example.net"), 204);
    let replaced = code(server);
    let count = all(server);
    assert_eq!(give(server, &ada, new), 204);
    let asked = "Another e-mail address was given, and waits to be confirmed".to_owned();
    let confirmed = "Confirm your e-mail address".to_owned();
    assert_eq!(told_since(server, count), [(new.to_owned(), confirmed), (old.to_owned(), asked)]);
    known(new, old);
    let count = all(server);
    assert_eq!([confirm(server, &replaced), confirm(server, &code(server))], [403, 200]);
    assert_eq!(told_since(server, count), [(new.to_owned(), said.clone()), (old.to_owned(), said)]);
    known(new, new);

    // A link has its time.
    server.change_rows("DELETE FROM limits");
    assert_eq!(give(server, &ada, old), 204);
    let late = code(server);
    server.change_rows("UPDATE email_confirmations SET expires = expires - 90000 WHERE expires > 0");
    assert_eq!(confirm(server, &late), 403);
    let count = all(server);
    assert_eq!(give(server, &ada, ""), 204);
    known("", "");
    assert_eq!(told_since(server, count), [(new.to_owned(), "The e-mail address was removed".to_owned())]);
    nobody_is_flooded(server);
}

/// Whoever asks, an address gets a few links a day.
fn nobody_is_flooded(server: &Server) {
    let sessions = ["kim", "lee"].map(|login| server.account(login));
    let victim = ["victim@example.org", "VICTIM@example.org"];
    let given: Vec<u16> = (0..6).map(|number| give(server, &sessions[number % 2], victim[number % 2])).collect();
    assert_eq!(given, [204, 204, 204, 204, 204, 429]);
    // A day passes.
    server.change_rows("UPDATE email_confirmations SET at = at - 90000");
    server.change_rows("DELETE FROM limits");
    assert_eq!(give(server, &sessions[1], victim[0]), 204);
    let each = (0..6).map(|number| give(server, &sessions[0], &format!("kim{number}@example.org"))).collect::<Vec<_>>();
    assert_eq!(each, [204, 204, 204, 204, 204, 429], "in a minute");
}

#[test]
fn an_address_is_confirmed_by_its_owner() {
    addresses_are_confirmed(&Server::start());
}

#[test]
fn an_address_is_confirmed_by_its_owner_on_postgres() {
    let cluster = Cluster::start();
    addresses_are_confirmed(&Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

#[test]
fn an_address_is_given_and_confirmed_by_pages() {
    let variables = vec![
        ("EXO_REGISTRY_OPEN_SIGN_UP".to_owned(), "true".to_owned()),
        ("EXO_REGISTRY_URL".to_owned(), "https://packs.example.org/".to_owned()),
    ];
    let server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), variables);
    let arrived = server.get("/sign-up").is(200);
    let cookies = crate::pages::cookie(&arrived);
    let filled = |email: &str| {
        format!(
            "form_token={}&login=ada&password={}&email={email}",
            form_token(&text(&arrived)),
            PASSWORD.replace(' ', "+")
        )
    };
    has(&text(&form(&server, "/sign-up", &cookies, &filled("nowhere")).is(400)), &["The e-mail address is none."]);
    form(&server, "/sign-up", &cookies, &filled("ada%40example.org")).is(303);
    let letter = letters(&server).remove(0);
    assert!(letter.text.contains("https://packs.example.org/account/confirm?code="), "{}", letter.text);
    let code = code_in(&letter.text);
    // A program that looks through mails opens the link, and nothing is confirmed by that.
    let opened = server.get(&format!("/account/confirm?code={code}")).is(200);
    let shown = text(&opened);
    assert_eq!(server.count_rows("SELECT COUNT(*) AS n FROM accounts WHERE confirmed_email <> ''"), 0);
    let cookies = crate::pages::cookie(&opened);
    let sent = format!("form_token={}&code={code}", form_token(&shown));
    form(&server, "/account/confirm", "", &sent).is(403);
    has(&text(&form(&server, "/account/confirm", &cookies, &sent).is(200)), &["The address is confirmed", "ada"]);
    has(&text(&form(&server, "/account/confirm", &cookies, &sent).is(403)), &["The link is not good"]);

    let session = sign_in(&server, "ada");
    let page = text(&with_cookie(&server, "/account/security", &session).is(200));
    has(&page, &["<code>ada@example.org</code>", "value=\"ada@example.org\""]);
    let change = |password: &str, email: &str| {
        let body = format!("form_token={}&password={}&email={email}", form_token(&page), password.replace(' ', "+"));
        form(&server, "/account/email", &session, &body)
    };
    has(&text(&change("a wrong password", "eve%40example.org").is(403)), &["The password is wrong."]);
    has(
        &text(&change(PASSWORD, "eve%40example.org").is(200)),
        &["A mail with a link is on its way", "eve@example.org</code> waits"],
    );
    has(&text(&change(PASSWORD, "").is(200)), &["no address is confirmed"]);
}

#[test]
fn new_keys_are_written_down_and_told_to_administrators() {
    let server = Server::start();
    administrator(&server);
    has_address(&server, "root");
    server.operate("rotate-keys", &[]);
    assert_eq!(
        told_since(&server, 0),
        [("root@example.org".to_owned(), "The registry got new keys (root 2)".to_owned())]
    );
    assert_eq!(server.count_rows("SELECT COUNT(*) AS n FROM audit WHERE action = 'rotate-keys'"), 1);
}

#[test]
fn a_mail_server_that_cannot_be_is_told_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let exo = exo_tests::exo::binary();
    for (smtp, from, said) in [
        ("smtp://ada:secret@mail.example", "packs@packs.example", "the password would be sent without TLS"),
        ("mail.example", "packs@packs.example", "not one of a mail server"),
        ("smtp://mail.example", "nobody", "--mail-from: `nobody` is no address"),
    ] {
        let more = ["--exo", exo.to_str().unwrap(), "--listen", "127.0.0.1:0", "--smtp", smtp, "--mail-from", from];
        let refused = operate_on(folder.path(), &[], "serve", &more).unwrap_err();
        assert!(refused.contains(said) && !refused.contains("secret"), "{refused}");
    }
    let mut alone = std::process::Command::new(program());
    let output = alone.args(["serve", "--smtp", "smtp://mail.example", "--data"]).arg(folder.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("--mail-from"));
}
