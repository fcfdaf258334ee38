//! Runs of `exo` with a registry, a cache and a project of the test's own, and what is expected of them.
#![allow(clippy::expect_used, reason = "a test that cannot set itself up has failed")]

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// What a run of `exo` left behind.
#[derive(Debug)]
pub struct Run {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// Panics unless the exit code is as expected.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Panics unless stderr contains each of the texts.
    pub fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "stderr does not say `{text}`:\n{}", self.stderr);
        }
        self
    }

    /// Panics unless stdout contains each of the texts.
    pub fn prints(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stdout.contains(text), "stdout does not have `{text}`:\n{}\n{}", self.stdout, self.stderr);
        }
        self
    }

    /// Stdout as one JSON document.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.stdout, self.stderr))
    }
}

/// Folders for one test: `work` (where commands run), `packs` (the registry), `cache` and `home`.
pub struct Sandbox {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// Empty folders; the registry has no packs.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("exo-test-").tempdir().expect("a temporary folder");
        for name in ["work", "packs", "cache", "home"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Sandbox { folder, variables: Vec::new() }
    }

    /// A path below the folder of all folders.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Sets a variable for all further runs.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_string(), value.to_string()));
    }

    /// Writes a file with the folders above it.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a path has a folder")).expect("folders");
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    pub fn read(&self, path: &str) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// A pack in the registry; `dependencies` are lines of TOML. Several versions go into several folders.
    pub fn pack(&self, name: &str, version: &str, dependencies: &str, files: &[(&str, &str)]) {
        let folder = format!("packs/{}-{version}", name.replace(['@', '/'], "_"));
        self.write(&format!("{folder}/Exo.toml"), &manifest(name, version, dependencies));
        for (path, text) in files {
            self.write(&format!("{folder}/{path}"), text);
        }
    }

    /// A command in `work/DIR` with this sandbox's environment and nothing else of ours.
    pub fn command(&self, directory: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::exo::binary());
        command.args(arguments).current_dir(self.path("work").join(directory)).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("home")).env("EXO_CACHE_DIR", self.path("cache"));
        command.env("EXO_TEST_PACKS", self.path("packs"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs `exo` in `work/DIR`.
    pub fn run_in(&self, directory: &str, arguments: &[&str]) -> Run {
        finish(self.command(directory, arguments))
    }

    /// Runs `exo` in `work`.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.run_in("", arguments)
    }

    /// A project in `work` with this manifest text after `[pack]`.
    pub fn project(&self, rest: &str) {
        self.write("work/Exo.toml", &format!("{PACK}{rest}"));
        self.write("work/src/lib.exo", "answer = 42\n");
    }

    /// Manifest and lockfile as they are now.
    pub fn state(&self) -> (String, Option<String>) {
        let lock = self.exists("work/Exo.lock").then(|| self.read("work/Exo.lock"));
        (self.read("work/Exo.toml"), lock)
    }
}

/// The first section of the manifest that [`Sandbox::project`] writes.
pub const PACK: &str = "# my project\n[pack]\nname = \"mine\"\nversion = \"0.1.0\"\nkind = \"kernel\"\n\n";

/// The manifest of a pack.
pub fn manifest(name: &str, version: &str, dependencies: &str) -> String {
    format!(
        "[pack]\nname = \"{name}\"\nversion = \"{version}\"\nkind = \"schedule\"\n\n[dependencies]\n{dependencies}\n"
    )
}

/// Runs a command to its end.
pub fn finish(mut command: Command) -> Run {
    run_of(command.stdin(Stdio::null()).output().expect("exo starts"))
}

/// Runs a command to its end with a text on standard input.
pub fn finish_with(mut command: Command, input: &str) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("exo starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that ends without reading is judged by what it says.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    run_of(child.wait_with_output().expect("exo ends"))
}

fn run_of(output: Output) -> Run {
    Run {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
