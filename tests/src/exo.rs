//! The `exo` binary under test, and the repository that it comes from.

use std::path::{Path, PathBuf};
use std::process::Command;
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

/// Where cargo puts `exo` for the profile of a program of this workspace: tests run from `<target>/<profile>/deps/`, other
/// programs from `<target>/<profile>/`.
fn beside(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    let profile = if folder.ends_with("deps") { folder.parent()? } else { folder };
    Some(profile.join("exo"))
}

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The whole workspace: a selection of one package has other features, and builds every dependency a second time.
    command.current_dir(repository()).args(["build", "--quiet", "--locked", "--workspace", "--bins"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.output().unwrap_or_else(|error| panic!("cargo does not start: {error}"));
    assert!(output.status.success(), "exo-cli does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    let this = std::env::current_exe().unwrap_or_else(|error| panic!("own path unknown: {error}"));
    beside(&this).unwrap_or_else(|| panic!("{} is no cargo path", this.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_found_from_tests_and_from_programs() {
        let exo = Some(PathBuf::from("/w/target/release/exo"));
        assert_eq!(beside(Path::new("/w/target/release/deps/cli-0123")), exo);
        assert_eq!(beside(Path::new("/w/target/release/bench")), exo);
    }
}
