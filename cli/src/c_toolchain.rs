//! Compiles and runs C: on this machine where it can, else with a cross compiler and an emulator.

pub(crate) mod objects;
pub(crate) mod process;
mod search;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use exo_compiler::world::{CMachine, CProgram, CRun, CRunner};

use search::{Here, Way};
pub(crate) use search::{Toolchain, machine_features};

use crate::environment::Environment;

const COMPILE_TIME: Duration = Duration::from_secs(180);
const RUN_TIME: Duration = Duration::from_secs(120);

/// The C compilers and emulators of this machine, found once.
pub(crate) struct CToolchain {
    environment: Environment,
    here: Here,
    /// What was looked for before; a linear list, since there is little.
    found: Mutex<Vec<Looked>>,
}

/// An answer of the search.
struct Looked {
    machine: CMachine,
    found: Result<Toolchain, String>,
}

impl CToolchain {
    pub(crate) fn new(environment: &Environment) -> Self {
        CToolchain { environment: environment.clone(), here: Here::look(), found: Mutex::new(Vec::new()) }
    }

    /// How programs for a machine are compiled and run here, or what is missing.
    pub(crate) fn toolchain(&self, machine: &CMachine) -> Result<Toolchain, String> {
        if let Ok(found) = self.found.lock()
            && let Some(known) = found.iter().find(|known| known.machine == *machine)
        {
            return known.found.clone();
        }
        let answer = search::search(&self.environment, &self.here, machine);
        if let Ok(mut found) = self.found.lock() {
            found.push(Looked { machine: machine.clone(), found: answer.clone() });
        }
        answer
    }

    fn compile_and_run(&self, program: &CProgram, toolchain: &Toolchain, folder: &Path) -> Result<CRun, String> {
        let mut sources = Vec::new();
        for (name, text) in program.files.iter().chain(toolchain.way.headers()) {
            if name.is_empty() || name.starts_with(['.', '-']) || name.contains(['/', '\\', '\0']) {
                return Err(format!("`{name}` is no plain file name"));
            }
            std::fs::write(folder.join(name), text).map_err(|error| format!("cannot write `{name}`: {error}"))?;
            if name.ends_with(".c") {
                sources.push(name.clone());
            }
        }
        let binary: PathBuf = folder.join("program");
        let mut arguments: Vec<String> = toolchain.compiler.iter().skip(1).cloned().collect();
        match &toolchain.way {
            Way::Native => arguments.extend(program.flags.iter().cloned()),
            Way::Emulator { .. } => {
                arguments.extend(program.flags.iter().cloned());
                // Emulators look for the target's dynamic loader in vain.
                arguments.push("-static".into());
            }
            Way::Headers { .. } => {
                // `-m` would ask for the very instructions that the headers stand in for.
                arguments.extend(program.flags.iter().filter(|flag| !flag.starts_with("-m")).cloned());
                arguments.extend(["-I".into(), ".".into()]);
            }
        }
        arguments.extend(sources);
        arguments.extend(["-o".into(), "program".into(), "-lm".into()]);
        let compiler = toolchain.compiler.first().map_or("cc", String::as_str);
        let compiled = process::run(compiler, &arguments, folder, COMPILE_TIME)?;
        if compiled.timed_out || compiled.exit_code != Some(0) {
            if let Way::Headers { name, complete: false, .. } = &toolchain.way {
                let first = compiled.stderr.lines().find(|line| line.contains("error")).unwrap_or_default();
                return Err(format!("this machine lacks the instructions, and {name} does not offer all: {first}"));
            }
            let command = format!("{} {}", toolchain.compiler.join(" "), arguments_after(&arguments, toolchain));
            return Ok(CRun::CompileFailed { command, stderr: compiled.stderr });
        }
        let binary = binary.display().to_string();
        let (runner, ran) = match &toolchain.way {
            Way::Native | Way::Headers { .. } => {
                (toolchain.runner_name().to_string(), process::run(&binary, &[], folder, RUN_TIME)?)
            }
            Way::Emulator { path, name, arguments } => {
                let mut arguments = arguments.clone();
                arguments.push(binary);
                (name.clone(), process::run(path, &arguments, folder, RUN_TIME)?)
            }
        };
        let mut stderr = ran.stderr;
        if ran.timed_out {
            stderr.push_str(&format!("\nstopped after {} seconds", RUN_TIME.as_secs()));
        } else if let Some(signal) = ran.signal {
            stderr.push_str(&format!("\nended by signal {signal}"));
        }
        let exit_code = ran.exit_code.unwrap_or_else(|| 128 + ran.signal.unwrap_or(0));
        Ok(CRun::Ran { runner, exit_code, stdout: ran.stdout, stderr })
    }
}

/// The arguments as a reader would type them after the compiler's own.
fn arguments_after(arguments: &[String], toolchain: &Toolchain) -> String {
    let own = toolchain.compiler.len().saturating_sub(1);
    arguments.iter().skip(own).cloned().collect::<Vec<_>>().join(" ")
}

impl CRunner for CToolchain {
    fn run(&self, program: &CProgram) -> CRun {
        let toolchain = match self.toolchain(&program.machine) {
            Ok(toolchain) => toolchain,
            Err(reason) => return CRun::Unavailable { reason },
        };
        let folder = match tempfile::Builder::new().prefix("exo-c-").tempdir() {
            Ok(folder) => folder,
            Err(error) => return CRun::Unavailable { reason: format!("cannot make a temporary folder: {error}") },
        };
        match self.compile_and_run(program, &toolchain, folder.path()) {
            Ok(run) => run,
            Err(reason) => CRun::Unavailable { reason },
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn program(text: &str) -> CProgram {
        CProgram { files: vec![("main.c".into(), text.into())], flags: vec![], machine: CMachine::default() }
    }

    fn run(program: &CProgram) -> CRun {
        CToolchain::new(&Environment::read()).run(program)
    }

    #[test]
    fn runs_a_program_and_gives_its_output_and_code() {
        let text = "#include <stdio.h>\nint main(void) { puts(\"hi\"); fputs(\"e\", stderr); return 3; }\n";
        match run(&program(text)) {
            CRun::Ran { runner, exit_code, stdout, stderr } => {
                assert_eq!(
                    (runner.as_str(), exit_code, stdout.as_slice(), stderr.as_str()),
                    ("native", 3, &b"hi\n"[..], "e")
                );
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_crash_is_told_by_its_signal() {
        match run(&program("#include <stdlib.h>\nint main(void) { abort(); }\n")) {
            CRun::Ran { exit_code, stderr, .. } => {
                assert_eq!(exit_code, 134);
                assert!(stderr.contains("ended by signal 6"), "{stderr}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_compile_error_carries_command_and_text() {
        match run(&program("int main(void) { return nothing; }\n")) {
            CRun::CompileFailed { command, stderr } => {
                assert!(command.contains("main.c"), "{command}");
                assert!(stderr.contains("nothing"), "{stderr}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn no_compiler_says_what_to_install() {
        let environment = Environment { path: Some("/nowhere".into()), ..Environment::default() };
        match CToolchain::new(&environment).run(&program("")) {
            CRun::Unavailable { reason } => assert!(reason.contains("no C compiler"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unknown_triple_names_the_missing_compiler() {
        let mut foreign = program("");
        foreign.machine.triple = "vax-dec-ultrix".into();
        match run(&foreign) {
            CRun::Unavailable { reason } => assert!(reason.contains("vax-dec-ultrix-gcc"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_model_stands_in_for_a_machine_that_nothing_runs() {
        let mut modelled = program("#include <weird.h>\nint main(void) { return WEIRD(20, 22); }\n");
        modelled.flags = vec!["-mweird".into()];
        modelled.machine.features = vec!["weird".into()];
        modelled.machine.model = vec![("weird.h".into(), "#define WEIRD(a, b) ((a) + (b))\n".into())];
        match run(&modelled) {
            CRun::Ran { runner, exit_code, .. } => assert_eq!((runner.as_str(), exit_code), ("model in C", 42)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn avx512_runs_through_emulation_headers_where_the_machine_lacks_it() {
        let text = "#include <immintrin.h>\nint main(void) {\n    __m512 v = _mm512_set1_ps(20.0f);\n    \
                    float out[16];\n    _mm512_storeu_ps(out, _mm512_add_ps(v, v));\n    return (int)out[15];\n}\n";
        let mut avx512 = program(text);
        avx512.flags = vec!["-mavx512f".into()];
        avx512.machine =
            CMachine { triple: "x86_64-linux-gnu".into(), features: vec!["avx512f".into()], ..CMachine::default() };
        let mut toolchain = CToolchain::new(&Environment::read());
        toolchain.here.features = vec!["sse2".into()];
        match toolchain.run(&avx512) {
            CRun::Ran { runner, exit_code, .. } => assert_eq!((runner.as_str(), exit_code), ("SIMDe", 40)),
            CRun::Unavailable { reason } => assert!(reason.contains("libsimde-dev"), "{reason}"),
            other => panic!("{other:?}"),
        }
        avx512.files[0].1 = text.replace("_mm512_add_ps", "_mm512_no_such_ps");
        match toolchain.run(&avx512) {
            CRun::Unavailable { reason } => assert!(reason.contains("SIMDe") || reason.contains("simde"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn file_names_that_leave_the_folder_are_refused() {
        let mut outside = program("");
        outside.files.push(("../x.c".into(), String::new()));
        match run(&outside) {
            CRun::Unavailable { reason } => assert!(reason.contains("no plain file name"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}
