//! Faults for a program that a test starts: killed at a step, a full disk, a wrong clock, from a library that is loaded before all others
//! (`tests/registry/faults/shim.c`), so that the program has nothing in it for tests.
#![allow(clippy::expect_used, reason = "a test that cannot set itself up has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The library and its switches.
pub struct Faults {
    folder: TempDir,
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}

impl Faults {
    /// Builds the library; all faults are off.
    pub fn new() -> Self {
        let faults = Faults { folder: tempfile::tempdir().expect("a temporary folder") };
        fs::create_dir(faults.switches()).expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/registry/faults/shim.c");
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-shared", "-fPIC", "-o"]).arg(faults.library()).arg(source);
        assert!(gcc.status().expect("gcc starts").success());
        faults
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join("shim.so")
    }

    fn switches(&self) -> PathBuf {
        self.folder.path().join("faults")
    }

    /// The variables that put a program and its children under these faults.
    pub fn variables(&self) -> Vec<(String, String)> {
        let text = |path: PathBuf| path.display().to_string();
        vec![("LD_PRELOAD".to_owned(), text(self.library())), ("FAULT_DIR".to_owned(), text(self.switches()))]
    }

    /// Turns a fault on; the values are described in the library.
    pub fn set(&self, fault: &str, value: i64) {
        fs::write(self.switches().join(fault), value.to_string()).expect("a switch");
    }

    /// Turns a fault off.
    pub fn clear(&self, fault: &str) {
        let _ = fs::remove_file(self.switches().join(fault));
    }
}
