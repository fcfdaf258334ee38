//! Random scheduled procs as C: compiled with warnings as errors, run under sanitizers, compared with the interpreter.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use exo_compiler::codegen::{Options, compile, harness};
use exo_compiler::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use exo_compiler::hardware::extern_function::ExternFunction;
use exo_compiler::hardware::memory::{Hooks, Memory, MemoryQuestion};
use exo_compiler::interpret::compare::describe;
use exo_compiler::interpret::draw::{Given, Setting};
use exo_compiler::interpret::random::{Random, mix};
use exo_compiler::interpret::{Rounded, run};
use exo_compiler::loop_ir::Proc;
use exo_compiler::print;

use super::schedule::{Bench, Tally};

/// Clang does not know the option about uninitialised values.
const FLAGS: &[&str] = &[
    "-std=c11",
    "-Wno-unknown-warning-option",
    "-Wall",
    "-Wextra",
    "-Werror",
    // A guess of the compiler, which does not know that sizes are positive and so that loops over them run.
    "-Wno-maybe-uninitialized",
    "-O1",
    "-g",
    "-ffp-contract=off",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];

/// Totals over many procs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compiled {
    /// Refused by code generation.
    pub refused: u64,
    /// The interpreter could not say what is right: a budget, an uninitialised value.
    pub skipped: u64,
    pub runs: u64,
}

impl Compiled {
    pub fn add(&mut self, other: &Compiled) {
        self.refused += other.refused;
        self.skipped += other.skipped;
        self.runs += other.runs;
    }
}

/// The builtin memories and externs write their C themselves; random procs use no others.
struct NoHooks;

impl NoHooks {
    fn refuse<T>() -> Result<T, Refusal> {
        let error = Diagnostic::error(codes::MEMORY, "there are no user externs here");
        Err(Refusal::new(RefusalKind::Memory, "fuzz", error))
    }
}

impl Hooks for NoHooks {
    fn memory(&self, _: &Memory, _: &MemoryQuestion<'_>) -> Result<Option<String>, Refusal> {
        Ok(None)
    }

    fn defines(&self, _: &Memory, _: &str) -> bool {
        false
    }

    fn extern_call(&self, _: &ExternFunction, _: &[String], _: &str) -> Result<String, Refusal> {
        NoHooks::refuse()
    }

    fn extern_global(&self, _: &ExternFunction, _: &str) -> Result<String, Refusal> {
        NoHooks::refuse()
    }
}

/// Schedules, compiles and runs the proc of one seed in the directory `at`. An error is a disagreement, with the text of
/// the proc and of its C.
pub fn generated_c(
    bench: &mut Bench,
    seed: u64,
    compiler: &str,
    at: &Path,
    totals: &mut Compiled,
) -> Result<(), String> {
    let mut random = Random::new(mix(seed ^ 0xC0DE));
    let procedure = bench.scheduled(seed, &mut Tally::default());
    // The name of an instruction is not exported; its template is for hardware.
    let proc = Arc::new(Proc { instr: None, ..Proc::clone(procedure.ir()) });
    let options = Options { header_name: "lib.h".into(), emulate: true, checked: false };
    let Ok(output) = compile(std::slice::from_ref(&proc), &options, &NoHooks) else {
        totals.refused += 1;
        return Ok(());
    };
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).map_err(|error| error.to_string());
    write("lib.h", &output.header)?;
    write("lib.c", &output.c)?;
    let shown = |problem: String| format!("seed {seed}: {problem}\n{}\n{}", print::proc(&proc), output.c);
    command(Command::new(compiler).args(FLAGS).args(["-c", "lib.c", "-o", "lib.o"]), at).map_err(shown)?;
    for limit in [4, 11] {
        let Some(setting) = Setting::draw(&[&proc], &Given::new(), limit, &mut random) else {
            totals.skipped += 1;
            continue;
        };
        let inputs = setting.inputs(&Rounded, &proc, &mut random);
        let Ok(expected) = run(&Rounded, &proc, inputs.clone(), 100_000) else {
            totals.skipped += 1;
            continue;
        };
        let sizes = describe(&setting.controls(&proc));
        let shown = |problem: String| shown(format!("with {sizes}: {problem}"));
        let main = harness::program(&proc, "lib.h", std::slice::from_ref(&inputs)).map_err(shown)?;
        write("main.c", &main)?;
        command(Command::new(compiler).args(FLAGS).args(["main.c", "lib.o", "-lm", "-o", "program"]), at)
            .map_err(shown)?;
        let stdout = command(&mut Command::new(at.join("program")), at).map_err(shown)?;
        let buffers = harness::parse(&stdout).map_err(shown)?;
        if let Some(difference) = harness::first_difference(&expected, &buffers) {
            return Err(shown(difference));
        }
        totals.runs += 1;
    }
    Ok(())
}

fn command(command: &mut Command, at: &Path) -> Result<String, String> {
    let out = command.current_dir(at).output().map_err(|error| format!("{command:?}: {error}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    Err(format!("{command:?} failed\n{}", String::from_utf8_lossy(&out.stderr)))
}
