//! C compilers for tests. Where none is installed, tests that need one say so and pass.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::codegen::{Options, harness};
use crate::interpret::Inputs;
use crate::interpret::rounded::MachineValue;
use crate::loop_ir::Proc;

const WARNINGS: &[&str] = &["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-ffp-contract=off"];

/// The installed ones of gcc and clang.
pub(super) fn compilers() -> Vec<&'static str> {
    let found: Vec<&str> = ["gcc", "clang"]
        .into_iter()
        .filter(|cc| Command::new(cc).arg("--version").output().is_ok_and(|out| out.status.success()))
        .collect();
    if found.is_empty() {
        eprintln!("no C compiler is installed, so generated C is not compiled here");
    }
    found
}

/// A directory of its own, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("exo-codegen-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(command: &mut Command, at: &Path, shown: &str) -> String {
    let out = command.current_dir(at).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{command:?}\n{errors}\n{text}\n{shown}");
    text
}

/// Every compiler accepts the output with all warnings as errors, and the header is valid C++.
pub(super) fn accepts(procs: &[Arc<Proc>], options: &Options, flags: &[&str]) {
    let output = crate::codegen::compile(procs, options, &super::TestHooks)
        .unwrap_or_else(|errors| panic!("{}", super::messages(&errors)));
    let scratch = Scratch::new();
    scratch.write("lib.h", &output.header);
    scratch.write("lib.c", &output.c);
    scratch.write("header.cpp", "#include \"lib.h\"\n");
    for cc in compilers() {
        for optimise in ["-O0", "-O3"] {
            let mut command = Command::new(cc);
            command.args(WARNINGS).args(flags).args([optimise, "-c", "lib.c", "-o", "lib.o"]);
            run(&mut command, &scratch.0, &output.c);
        }
        let mut command = Command::new(cc);
        command.args(["-x", "c++", "-fsyntax-only", "header.cpp"]);
        if Command::new(cc).args(["-x", "c++", "-fsyntax-only", "/dev/null"]).output().is_ok_and(|o| o.status.success())
        {
            run(&mut command, &scratch.0, &output.header);
        }
    }
}

/// The buffers after every compiler's program has run, with sanitizers.
pub(super) fn buffers(
    proc: &Arc<Proc>,
    options: &Options,
    inputs: &Inputs<MachineValue>,
    flags: &[&str],
) -> Vec<Vec<Vec<MachineValue>>> {
    let output = super::output_of(proc, options);
    let main = harness::program(proc, "lib.h", std::slice::from_ref(inputs)).unwrap();
    let scratch = Scratch::new();
    scratch.write("lib.h", &output.header);
    scratch.write("lib.c", &output.c);
    scratch.write("main.c", &main);
    let mut all = Vec::new();
    for cc in compilers() {
        let mut command = Command::new(cc);
        command.args(WARNINGS).args(flags).args(["-g", "lib.c", "main.c", "-lm", "-o", "program"]);
        run(&mut command, &scratch.0, &format!("{}\n{main}", output.c));
        let stdout = run(&mut Command::new("./program"), &scratch.0, &format!("{}\n{main}", output.c));
        all.push(harness::parse(&stdout).unwrap_or_else(|error| panic!("{error}\n{}\n{main}", output.c)));
    }
    all
}

/// For each compiler, whether its program aborts rather than to succeed.
pub(super) fn aborts(proc: &Arc<Proc>, options: &Options, main: &str) -> Vec<bool> {
    let output = super::output_of(proc, options);
    let scratch = Scratch::new();
    scratch.write("lib.h", &output.header);
    scratch.write("lib.c", &output.c);
    scratch.write("main.c", main);
    let aborts = |cc: &'static str| {
        let mut command = Command::new(cc);
        command.args(WARNINGS).args(["lib.c", "main.c", "-lm", "-o", "program"]);
        run(&mut command, &scratch.0, &output.c);
        let status = Command::new("./program").current_dir(&scratch.0).status().unwrap();
        // 6 is SIGABRT; a segmentation fault is what must not happen.
        assert!(status.success() || std::os::unix::process::ExitStatusExt::signal(&status) == Some(6), "{status}");
        !status.success()
    };
    compilers().into_iter().map(aborts).collect()
}
