//! The same on PostgreSQL, with two servers on one registry.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use crate::advisories::told_everywhere;
use crate::archiving::an_archived_pack_gets_no_new_versions;
use crate::client;
use crate::operations::comes_back;
use crate::organisations;
use crate::publishing::life_of_a_pack;
use crate::searching::is_searched;
use crate::second_factor;
use crate::server::{Pack, Server, in_database};

/// A cluster of its own, on a socket in its folder only.
pub(crate) struct Cluster {
    folder: TempDir,
    programs: PathBuf,
}

/// Where Debian keeps the server's programs.
fn programs() -> PathBuf {
    let versions =
        std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed (scripts/setup.sh does it)");
    let mut folders: Vec<PathBuf> = versions.flatten().map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.into_iter().rev().find(|folder| folder.join("initdb").exists()).expect("initdb is installed")
}

impl Cluster {
    pub(crate) fn start() -> Self {
        let cluster = Self { folder: tempfile::tempdir_in("/tmp").unwrap(), programs: programs() };
        if is_root() {
            let owned = Command::new("chown").arg("nobody").arg(cluster.folder.path()).status().unwrap();
            assert!(owned.success());
        }
        let data = cluster.folder.path().join("data");
        let data = data.to_str().unwrap();
        cluster.run("initdb", &["-D", data, "-U", "exo", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]);
        let socket = cluster.folder.path().to_str().unwrap();
        let options = format!("-c listen_addresses= -c unix_socket_directories={socket} -c fsync=off");
        let log = cluster.folder.path().join("log");
        cluster.run("pg_ctl", &["-D", data, "-w", "-l", log.to_str().unwrap(), "-o", &options, "start"]);
        cluster
    }

    /// Runs a program of PostgreSQL, which refuses to be root.
    fn run(&self, program: &str, arguments: &[&str]) {
        let path = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        command.args(arguments).current_dir("/").stdout(Stdio::null());
        assert!(command.status().unwrap().success(), "{program}");
    }

    pub(crate) fn url(&self) -> String {
        let socket = self.folder.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://exo@{socket}/postgres")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let data: &Path = &self.folder.path().join("data");
        self.run("pg_ctl", &["-D", data.to_str().unwrap(), "-m", "immediate", "stop"]);
    }
}

fn is_root() -> bool {
    // The owner of this process's own folder in /proc is its user.
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

#[test]
fn packs_are_found_on_postgres() {
    let cluster = Cluster::start();
    is_searched(in_database(cluster.url()));
}

#[test]
fn a_pack_lives_on_postgres() {
    let cluster = Cluster::start();
    life_of_a_pack(&Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

#[test]
fn an_archived_pack_on_postgres() {
    let cluster = Cluster::start();
    let server = Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url()));
    an_archived_pack_gets_no_new_versions(&server);
}

#[test]
fn second_factors_on_postgres() {
    let cluster = Cluster::start();
    second_factor::life(&Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

#[test]
fn organisations_on_postgres() {
    let cluster = Cluster::start();
    organisations::life(&Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

#[test]
fn advisories_are_kept_on_postgres() {
    let cluster = Cluster::start();
    told_everywhere(Server::start_on(Arc::new(tempfile::tempdir().unwrap()), in_database(cluster.url())));
}

#[test]
fn a_backup_of_sqlite_restores_into_postgres() {
    let cluster = Cluster::start();
    comes_back(in_database(cluster.url()));
}

#[test]
fn two_servers_that_publish_at_once_lose_nothing() {
    let cluster = Cluster::start();
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let one = Server::start_on(folder.clone(), in_database(cluster.url()));
    let two = Server::start_on(folder, in_database(cluster.url()));
    publish_in_turns(&one, &two);
}

/// Authors publish on two servers of one registry at once; each pack is there on both.
pub(crate) fn publish_in_turns(one: &Server, two: &Server) {
    let session = one.account("ada");
    let names = ["amber", "birch", "cobalt", "dune", "ocean", "fjord", "garnet", "harbor"];
    std::thread::scope(|scope| {
        for (number, name) in names.iter().enumerate() {
            let server = if number % 2 == 0 { one } else { two };
            let session = &session;
            scope.spawn(move || {
                let outcome = server.publish(session, &[Pack::new(name, "1.0.0")]);
                assert_eq!(outcome["state"], "published", "{outcome}");
            });
        }
    });
    for server in [one, two] {
        let trust = client::trust(server, None);
        assert_eq!(trust.pointer().unwrap().log_size, names.len() as u64);
        for name in names {
            client::check(server, &trust, name);
        }
    }
}
