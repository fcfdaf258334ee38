//! One repository in a temporary folder, and the program `git` with everything switched off that a repository could use.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use exo_compiler::diagnostic::codes;
use exo_index::manifest::is_commit;
use tempfile::TempDir;

use crate::failure::{Failure, Outcome};
use crate::settings::Settings;

/// The most that a fetch may put on the disk, in bytes: packs are text, so a repository of them is far smaller.
const LARGEST_FETCH: u64 = 1 << 30;

/// The most that git may print, in bytes.
const LARGEST_ANSWER: u64 = 128 << 20;

/// Where what was fetched is called, so that no name of the repository can be meant by accident.
const WANTED: &str = "refs/exo/wanted";

/// Variables that would make git work on another repository than ours.
const REDIRECTIONS: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_TEMPLATE_DIR",
    "GIT_EXTERNAL_DIFF",
];

/// Settings against what a repository, or the user's own habits, would make git do besides.
const SETTINGS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.writeCommitGraph=false",
];

/// A bare repository that lives as long as this value.
pub(super) struct Repository {
    folder: TempDir,
    url: String,
    time: Duration,
    /// The user has a way of their own to start SSH.
    own_ssh: bool,
}

impl Repository {
    pub(super) fn new(settings: &Settings, url: &str) -> Outcome<Self> {
        let folder = tempfile::Builder::new()
            .prefix("exo-git-")
            .tempdir()
            .map_err(|error| crate::filesystem::failure("create a folder in", &std::env::temp_dir(), &error))?;
        let repository = Repository {
            folder,
            url: url.to_string(),
            time: Duration::from_secs(settings.limits.seconds),
            own_ssh: settings.environment.own_ssh,
        };
        repository.run(&["init", "--quiet", "--bare", "--template="], &[])?;
        Ok(repository)
    }

    /// Runs git on this repository; its stdout. A failure says what git said last.
    pub(super) fn run(&self, arguments: &[&str], input: &[u8]) -> Outcome<Vec<u8>> {
        let ended = self.try_run(arguments, input)?;
        if ended.success {
            return Ok(ended.stdout);
        }
        Err(self.refused(&ended.stderr))
    }

    fn try_run(&self, arguments: &[&str], input: &[u8]) -> Outcome<Ended> {
        let mut command = Command::new("git");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.arg("--git-dir").arg(self.folder.path()).args(arguments).current_dir(self.folder.path());
        for name in REDIRECTIONS {
            command.env_remove(name);
        }
        command.env_remove(crate::environment::TOKEN);
        // No questions: nobody may be there to answer, and a prompt of a repository's making is not to be answered.
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "false").env("SSH_ASKPASS", "false");
        command.env("GIT_ALLOW_PROTOCOL", "https:ssh:git:file").env("GIT_NO_REPLACE_OBJECTS", "1");
        command.env("GIT_NO_LAZY_FETCH", "1").env("LC_ALL", "C");
        if !self.own_ssh {
            command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        }
        self.finish(command, input)
    }

    fn finish(&self, mut command: Command, input: &[u8]) -> Outcome<Ended> {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::environment(
                "git dependencies are fetched by the program `git`, which is not on PATH",
            )
            .hint("install it (on Debian `apt install git`), or take the pack from a folder with `path = \"…\"`"),
            _ => Failure::environment(format!("cannot start `git`: {error}")),
        })?;
        let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // A git that ends early closes its input; its own message says why.
                if let Some(stdin) = &mut stdin {
                    let _ = stdin.write_all(input);
                }
                drop(stdin);
            });
            let stdout = scope.spawn(move || limited(stdout));
            let stderr = scope.spawn(move || limited(stderr));
            let status = self.wait(&mut child);
            let stdout = stdout.join().unwrap_or_default();
            let stderr = String::from_utf8_lossy(&stderr.join().unwrap_or_default()).into_owned();
            Ok(Ended { success: status?.success(), stdout, stderr })
        })
    }

    /// Waits for the end; stops what takes too long or too much of the disk.
    fn wait(&self, child: &mut std::process::Child) -> Outcome<std::process::ExitStatus> {
        let start = Instant::now();
        let mut measured = start;
        loop {
            let status = child.try_wait();
            match status.map_err(|error| Failure::environment(format!("cannot wait for `git`: {error}")))? {
                Some(status) => return Ok(status),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
            let too_long = start.elapsed() >= self.time;
            let too_large = measured.elapsed() >= Duration::from_secs(1) && {
                measured = Instant::now();
                size_of(self.folder.path()) > LARGEST_FETCH
            };
            if too_long || too_large {
                let _ = child.kill();
                let _ = child.wait();
                let why = if too_long {
                    format!("takes longer than {} s", self.time.as_secs())
                } else {
                    format!("is larger than {} MiB", LARGEST_FETCH >> 20)
                };
                return Err(Failure::environment(format!("fetching `{}` {why}", self.url))
                    .hint("use a repository that holds packs only, or `--limit seconds=N`"));
            }
        }
    }

    /// Fetches a tag or branch; the commit it points to.
    pub(super) fn fetch_name(&self, kind: &str, prefix: &str, name: &str) -> Outcome<String> {
        let fetched = self.try_run(&self.fetching(&["--depth=1"], &[&format!("+{prefix}{name}:{WANTED}")]), &[])?;
        if !fetched.success && fetched.stderr.contains("couldn't find remote ref") {
            return Err(Failure::refused(format!("`{}` has no {kind} `{name}`", self.url))
                .code(codes::RESOLUTION)
                .hint(format!("`git ls-remote {}` lists its tags and branches", self.url)));
        }
        if !fetched.success {
            return Err(self.refused(&fetched.stderr));
        }
        self.commit_of(WANTED)
    }

    /// Fetches one commit; servers that do not give out single commits are asked for everything.
    pub(super) fn fetch_commit(&self, commit: &str) -> Outcome<String> {
        let wanted = format!("+{commit}:{WANTED}");
        if self.try_run(&self.fetching(&["--depth=1"], &[&wanted]), &[])?.success {
            return self.commit_of(WANTED);
        }
        self.fetch_all_and_find(commit)
    }

    /// Fetches all branches and tags, and finds the commit whose number starts like this.
    pub(super) fn fetch_all_and_find(&self, start: &str) -> Outcome<String> {
        let all = ["+refs/heads/*:refs/exo/heads/*", "+refs/tags/*:refs/exo/tags/*"];
        self.run(&self.fetching(&[], &all), &[])?;
        self.commit_of(start).map_err(|_| {
            Failure::refused(format!("no branch or tag of `{}` leads to a commit `{start}`, or several do", self.url))
                .code(codes::RESOLUTION)
                .hint("give the whole number of the commit, or name a branch or tag that it is on")
        })
    }

    /// The commit that `HEAD` of the repository points to.
    pub(super) fn head(&self) -> Outcome<String> {
        let answer = self.run(&["ls-remote", "--quiet", "--", &self.url, "HEAD"], &[])?;
        let text = String::from_utf8_lossy(&answer);
        match text.split_whitespace().next() {
            Some(commit) if is_commit(commit) => Ok(commit.to_string()),
            _ => Err(Failure::refused(format!("`{}` has no commits", self.url)).code(codes::RESOLUTION)),
        }
    }

    fn fetching<'a>(&'a self, options: &[&'a str], wanted: &[&'a str]) -> Vec<&'a str> {
        let fixed = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
        fixed.iter().chain(options).copied().chain(["--", self.url.as_str()]).chain(wanted.iter().copied()).collect()
    }

    fn commit_of(&self, name: &str) -> Outcome<String> {
        let found = self.run(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")], &[])?;
        let commit = String::from_utf8_lossy(&found).trim().to_string();
        if is_commit(&commit) { Ok(commit) } else { Err(Failure::bug(format!("git calls a commit `{commit}`"))) }
    }

    /// The failure for what git could not do.
    fn refused(&self, stderr: &str) -> Box<Failure> {
        let said = redacted(stderr);
        let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        let last = lines.clone().find(|line| line.starts_with("fatal:")).or_else(|| lines.clone().next_back());
        let reason = last.unwrap_or("git does not say why").trim_start_matches("fatal: ").to_string();
        let failure = Failure::environment(format!("cannot fetch `{}`: {reason}", self.url));
        let login = ["Authentication failed", "could not read", "Permission denied", "terminal prompts disabled"];
        if login.iter().any(|words| stderr.contains(words)) {
            return failure.hint("the repository asks for a login: set up git's credential helper or an SSH key, and try `git ls-remote` with that URL");
        }
        failure.hint("check the URL with `git ls-remote`; what is in the cache is used without a connection")
    }
}

/// How a run of git ended.
struct Ended {
    success: bool,
    stdout: Vec<u8>,
    stderr: String,
}

fn limited(stream: Option<impl Read>) -> Vec<u8> {
    let mut kept = Vec::new();
    if let Some(mut stream) = stream {
        let _ = (&mut stream).take(LARGEST_ANSWER).read_to_end(&mut kept);
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    }
    kept
}

/// Bytes in a folder, as far as they can be seen while another process works in it.
fn size_of(folder: &Path) -> u64 {
    let mut open = vec![folder.to_path_buf()];
    let mut total = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(data) if data.is_dir() => open.push(entry.path()),
                Ok(data) => total += data.len(),
                Err(_) => {}
            }
        }
    }
    total
}

/// The text without logins in URLs: the user's settings may put some in, and messages end up in logs.
fn redacted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '/' | '\'' | '"')).unwrap_or(after.len());
        let (host, remaining) = after.split_at(end);
        match host.rsplit_once('@') {
            Some((_, host)) => {
                out.push_str("…@");
                out.push_str(host);
            }
            None => out.push_str(host),
        }
        rest = remaining;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn logins_do_not_reach_messages() {
        let text = "fatal: unable to access 'https://me:hunter2@h.example/x': no\nssh://git@h/x and https://h/y";
        let clean = "fatal: unable to access 'https://…@h.example/x': no\nssh://…@h/x and https://h/y";
        assert_eq!(redacted(text), clean);
        assert_eq!(redacted("no URL: a@b"), "no URL: a@b");
    }
}
