//! What the server keeps in memory.

use std::fs;

use crate::server::Server;

/// MiB of memory that are the process's own, without its program.
pub(crate) fn held(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process())).expect("the state of the server");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") >> 10
}

/// Hashing a password takes 19 MiB, several at once several times that.
#[test]
fn the_memory_of_passwords_is_given_back() {
    let server = Server::start();
    let before = held(&server);
    server.account("ada");
    for _ in 0..2 {
        std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(|| server.login("ada")))));
    }
    let after = held(&server);
    assert!(after < before + 16, "{before} MiB became {after} MiB");
}
