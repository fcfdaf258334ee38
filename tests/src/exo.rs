//! The `exo` binary under test: where it is, and a place of its own to run it in.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The repository's root.
pub fn repository() -> &'static Path {
    // tests/ stands directly in it.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// The `exo` binary of the profile that this test was built with, brought up to date first: cargo builds no binary for the
/// tests of another package. `EXO_TEST_BINARY` names one that is known to be current.
///
/// # Panics
/// When the build fails; its output is in the message.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("EXO_TEST_BINARY") {
        Some(path) => PathBuf::from(path),
        None => build(),
    })
}

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(repository()).args(["build", "--quiet", "--locked", "-p", "exo-cli"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.output().unwrap_or_else(|error| panic!("cargo does not start: {error}"));
    assert!(output.status.success(), "exo-cli does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    // This test runs from `<target>/<profile>/deps/`.
    let this = std::env::current_exe().unwrap_or_else(|error| panic!("own path unknown: {error}"));
    let profile = this.ancestors().nth(2).unwrap_or_else(|| panic!("{} is no cargo path", this.display()));
    profile.join("exo")
}

/// What a run of `exo` gave.
#[derive(Debug)]
pub struct Answer {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    fn new(output: Output) -> Self {
        Answer {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Its stdout, where it ended with 0.
    ///
    /// # Panics
    /// With everything the run said, where it did not.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!(self.code, Some(0), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self.stdout
    }
}

/// A folder to work in and an empty cache, both gone at the end; nothing of the user's settings is seen.
pub struct Sandbox {
    folder: tempfile::TempDir,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// # Panics
    /// When no temporary folder can be made.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let work = folder.path().join("work");
        std::fs::create_dir(&work).unwrap_or_else(|error| panic!("{}: {error}", work.display()));
        Sandbox { folder }
    }

    /// The folder that commands start in.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// A command that starts in `work/`, with cache and settings inside the sandbox.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command
            .current_dir(self.path())
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .env("XDG_CONFIG_HOME", self.folder.path().join("config"))
            .env("HOME", self.folder.path())
            .env("NO_COLOR", "1")
            .env_remove("EXO_REGISTRY");
        command
    }

    /// Runs `exo` with these arguments.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Answer {
        let output = self.command().args(arguments).output();
        Answer::new(output.unwrap_or_else(|error| panic!("exo does not start: {error}")))
    }

    /// Writes a file below `work/`, with its folders.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let place = self.path().join(path);
        let folder = place.parent().unwrap_or(&place);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&place, text))
            .unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        place
    }
}
