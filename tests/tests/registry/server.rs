//! A real `exo-registry` on a free port, with accounts and packs to publish.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use exo_index::archive::{BuiltArchive, Limits, PackFiles, build};
use exo_tests::exo::binary;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::contract;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// Variables of the environment.
pub(crate) type Variables = Vec<(String, String)>;

/// The variables of a registry whose rows are in some database.
pub(crate) fn in_database(url: String) -> Variables {
    vec![("EXO_REGISTRY_DATABASE".to_owned(), url)]
}

/// A directory for a registry, and the server that runs on it.
pub(crate) struct Server {
    pub(crate) folder: std::sync::Arc<TempDir>,
    /// Where rows and files are, when not in the folder: `EXO_REGISTRY_DATABASE` and the like.
    pub(crate) variables: Variables,
    child: Child,
    pub(crate) url: String,
    /// The one-time code, when there was no account.
    pub(crate) code: Option<String>,
}

/// An answer: status and body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) bytes: Vec<u8>,
    pub(crate) headers: BTreeMap<String, String>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.bytes)))
    }

    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.bytes));
        self
    }
}

pub(crate) fn program() -> PathBuf {
    binary().parent().unwrap().join("exo-registry")
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_on(std::sync::Arc::new(tempfile::tempdir().unwrap()), Vec::new())
    }

    pub(crate) fn start_on(folder: std::sync::Arc<TempDir>, variables: Variables) -> Self {
        Self::start_with(folder, variables, binary())
    }

    /// A server that has packs checked by some program.
    pub(crate) fn start_with(folder: std::sync::Arc<TempDir>, variables: Variables, exo: &Path) -> Self {
        let mut command = Command::new(program());
        command.args(["serve", "--listen", "127.0.0.1:0", "--exo"]).arg(exo).arg("--data").arg(folder.path());
        let mut child = command
            .envs(variables.iter().cloned())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .expect("exo-registry starts");
        let mut errors = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        let (mut code, mut url) = (None, None);
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some((_, text)) = line.split_once("administrator's): ") {
                code = Some(text.to_owned());
            }
            if let Some(text) = line.strip_prefix("listening on ") {
                url = Some(text.to_owned());
                break;
            }
        }
        let Some(url) = url else { panic!("the server ended: {}", log.join().unwrap()) };
        Self { folder, variables, child, url, code }
    }

    /// Ends the server as a power cut does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// A server on the same directory, after the other was ended.
    pub(crate) fn again(&self) -> Self {
        Self::start_on(self.folder.clone(), self.variables.clone())
    }

    /// The same registry, served anew with another program that checks.
    pub(crate) fn restarted_with(mut self, exo: &Path) -> Self {
        self.kill();
        Self::start_with(self.folder.clone(), self.variables.clone(), exo)
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Panics unless no upload is left; they are removed right after a publish has ended.
    #[track_caller]
    pub(crate) fn keeps_no_upload(&self) {
        let start = Instant::now();
        while !self.files("waiting").is_empty() {
            assert!(start.elapsed() < Duration::from_secs(20), "{:?}", self.files("waiting"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The files below a folder of the store.
    pub(crate) fn files(&self, folder: &str) -> Vec<PathBuf> {
        fn below(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() { below(&path, found) } else { found.push(path) }
            }
        }
        let mut found = Vec::new();
        below(&self.path("files").join(folder), &mut found);
        found
    }

    pub(crate) fn send(&self, method: &str, path: &str, token: &str, body: &[u8]) -> Answer {
        self.send_with(method, path, token, body, &[])
    }

    pub(crate) fn send_with(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &[u8],
        headers: &[(&str, &str)],
    ) -> Answer {
        self.sent(method, path, token, body, headers).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// The answer, unless the server ends before it has answered.
    pub(crate) fn try_send(&self, method: &str, path: &str, token: &str, body: &[u8]) -> Option<Answer> {
        self.sent(method, path, token, body, &[]).ok()
    }

    fn sent(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &[u8],
        headers: &[(&str, &str)],
    ) -> Result<Answer, ureq::Error> {
        let agent = ureq::Agent::new_with_config(
            ureq::Agent::config_builder()
                .http_status_as_error(false)
                .max_redirects(0)
                .max_redirects_will_error(false)
                .build(),
        );
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if body.first() == Some(&b'{') {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body).unwrap();
        let send = || match matches!(method, "GET" | "HEAD" | "DELETE") && body.is_empty() {
            true => agent.run(request.clone().map(|_| ())),
            false => agent.run(request.clone()),
        };
        // The server may answer and hang up before it has read all of a body that it refuses; a client that is still sending
        // then does not always see the answer.
        let hung_up =
            |error: &ureq::Error| matches!(error, ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::BrokenPipe);
        let mut sent = send();
        for _ in 0..5 {
            if sent.as_ref().err().is_some_and(hung_up) {
                sent = send();
            }
        }
        let mut response = sent?;
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()))
            .collect();
        let bytes = response.body_mut().read_to_vec()?;
        let answer = Answer { status: response.status().as_u16(), bytes, headers };
        contract::check(method, path, body, &answer);
        Ok(answer)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", b"")
    }

    pub(crate) fn post(&self, path: &str, token: &str, body: &Value) -> Answer {
        self.send("POST", path, token, body.to_string().as_bytes())
    }

    /// A new account by `user add`, and its session.
    pub(crate) fn account(&self, login: &str) -> String {
        let mut command = Command::new(program());
        command.args(["user", "add", login, "--data"]).arg(self.folder.path());
        command.envs(self.variables.iter().cloned());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(PASSWORD.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        self.login(login)
    }

    pub(crate) fn login(&self, login: &str) -> String {
        let answer = self.post("/api/v1/login", "", &json!({ "login": login, "password": PASSWORD })).is(200).json();
        answer["token"].as_str().unwrap().to_owned()
    }

    /// A token with rights on names.
    pub(crate) fn token(&self, session: &str, rights: &[&str], packs: &[&str]) -> String {
        // Of an account, no two tokens have the same name.
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("test {}", MADE.fetch_add(1, Ordering::Relaxed));
        let body = json!({ "name": name, "rights": rights, "packs": packs, "expires_days": 1 });
        self.post("/api/v1/tokens", session, &body).is(201).json()["token"].as_str().unwrap().to_owned()
    }

    /// Declares and uploads; gives the id of the publish.
    pub(crate) fn upload(&self, token: &str, packs: &[Pack], dry_run: bool) -> String {
        let answer = self.post("/api/v1/publish", token, &declaration(packs, dry_run)).is(201).json();
        let id = answer["session"].as_str().unwrap().to_owned();
        for pack in packs {
            let path = format!("/api/v1/publish/{id}/{}", pack.archive.sha256);
            self.send("PUT", &path, token, &pack.archive.bytes).is(204);
        }
        id
    }

    /// Publishes, and waits for how it goes.
    pub(crate) fn publish(&self, token: &str, packs: &[Pack]) -> Value {
        let id = self.upload(token, packs, false);
        self.send("POST", &format!("/api/v1/publish/{id}/commit"), token, b"").is(202);
        self.outcome(token, &id)
    }

    pub(crate) fn outcome(&self, token: &str, id: &str) -> Value {
        let start = Instant::now();
        loop {
            let answer = self.send("GET", &format!("/api/v1/publish/{id}"), token, b"").is(200).json();
            if answer["state"] != "checking" {
                return answer;
            }
            assert!(start.elapsed() < Duration::from_secs(50), "{answer}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Changes rows behind the server's back, so that time has passed; says how many.
    pub(crate) fn change_rows(&self, statement: &str) -> u64 {
        self.on_rows(async |mut rows| {
            sqlx::query(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut rows).await.unwrap().rows_affected()
        })
    }

    /// Does several things to the rows, one after the other on one connection.
    pub(crate) fn change_rows_by(&self, statements: &[String]) {
        self.on_rows(async |mut rows| {
            for statement in statements {
                let done = sqlx::query(sqlx::AssertSqlSafe(statement.clone())).execute(&mut rows).await;
                done.unwrap_or_else(|error| panic!("{statement}: {error}"));
            }
        });
    }

    /// The number, or the sum, that a statement asks for as `n`.
    pub(crate) fn count_rows(&self, statement: &str) -> i64 {
        self.on_rows(async |mut rows| {
            let row = sqlx::query(sqlx::AssertSqlSafe(statement.to_owned())).fetch_one(&mut rows).await.unwrap();
            sqlx::Row::try_get(&row, "n").unwrap()
        })
    }

    /// Does something with a connection to the rows, behind the server's back.
    pub(crate) fn on_rows<T>(&self, work: impl AsyncFnOnce(sqlx::AnyConnection) -> T) -> T {
        let named = self.variables.iter().find(|(name, _)| name == "EXO_REGISTRY_DATABASE").map(|(_, url)| url.clone());
        let url = named.unwrap_or_else(|| format!("sqlite://{}", self.path("registry.sqlite").display()));
        sqlx::any::install_default_drivers();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let rows = <sqlx::AnyConnection as sqlx::Connection>::connect(&url).await.unwrap();
            work(rows).await
        })
    }

    /// Runs a command of the program on the directory.
    #[track_caller]
    pub(crate) fn operate(&self, command: &str, more: &[&str]) -> String {
        operate_on(self.folder.path(), &self.variables, command, more).unwrap_or_else(|text| panic!("{text}"))
    }
}

/// Runs a command of the program on a directory; what it says, as an error where it fails.
pub(crate) fn operate_on(
    data: &Path,
    variables: &[(String, String)],
    command: &str,
    more: &[&str],
) -> Result<String, String> {
    let mut run = Command::new(program());
    run.arg(command).arg("--data").arg(data).args(more);
    run.envs(variables.iter().cloned());
    let output = run.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(text) } else { Err(text) }
}

/// Works on an account, as who runs the registry does.
#[track_caller]
pub(crate) fn user(server: &Server, arguments: &[&str]) {
    let mut command = Command::new(program());
    command.arg("user").args(arguments).arg("--data").arg(server.folder.path());
    let output = command.envs(server.variables.iter().cloned()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pack that is ready to be published.
#[derive(Clone)]
pub(crate) struct Pack {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) archive: BuiltArchive,
}

impl Pack {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        Self::with(name, version, "", "one = 1\n")
    }

    pub(crate) fn with(name: &str, version: &str, dependencies: &str, library: &str) -> Self {
        let description = format!("Answers of {name}");
        let manifest = manifest(name, version, &description, dependencies);
        Self::of_files(name, version, &[("Exo.toml", &manifest), ("README.md", README), ("src/lib.exo", library)])
    }

    /// A pack that says of itself what it likes.
    pub(crate) fn hostile(name: &str, readme: &str, description: &str, library: &str) -> Self {
        let manifest = manifest(name, "1.0.0", description, "");
        Self::of_files(name, "1.0.0", &[("Exo.toml", &manifest), ("README.md", readme), ("src/lib.exo", library)])
    }

    /// A pack as it stands in a folder of the repository, under another name: that of a bundled pack nobody can take.
    pub(crate) fn of_folder(folder: &str, name: &str, version: &str) -> Self {
        let root = exo_tests::exo::repository().join(folder);
        let mut files = PackFiles::default();
        let mut open = vec![root.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                files.files.insert(name, std::fs::read(path).unwrap());
            }
        }
        let manifest = String::from_utf8(files.files["Exo.toml"].clone()).unwrap();
        let named = manifest
            .lines()
            .map(|line| if line.starts_with("name = ") { format!("name = \"{name}\"\n") } else { format!("{line}\n") });
        files.files.insert("Exo.toml".to_owned(), named.collect::<String>().into_bytes());
        Self::of(name, version, &files)
    }

    fn of_files(name: &str, version: &str, files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Self::of(name, version, &PackFiles { files: files.collect() })
    }

    fn of(name: &str, version: &str, files: &PackFiles) -> Self {
        let archive = build(files, &Limits::default()).unwrap();
        Self { name: name.to_owned(), version: version.to_owned(), archive }
    }
}

const README: &str = "# Pack\n\nKnows the answer.\n";

fn manifest(name: &str, version: &str, description: &str, dependencies: &str) -> String {
    format!(
        "[pack]\nname = \"{name}\"\nversion = \"{version}\"\nkind = \"schedule\"\nexo = \">=0.1\"\ndescription = \"{description}\"\nlicense = \"MIT\"\n\n[dependencies]\n{dependencies}"
    )
}

pub(crate) fn declaration(packs: &[Pack], dry_run: bool) -> Value {
    let declared = packs.iter().map(|pack| {
        json!({ "name": pack.name, "version": pack.version, "sha256": pack.archive.sha256.to_string(), "size": pack.archive.bytes.len() })
    });
    json!({ "packs": declared.collect::<Vec<_>>(), "dry_run": dry_run })
}
