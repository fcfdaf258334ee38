//! Compiles and runs C: on this machine where it can, else with a cross compiler and an emulator.

pub(crate) mod process;
mod search;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use exo_compiler::world::{CProgram, CRun, CRunner};

use search::Way;
pub(crate) use search::{Toolchain, machine_features};

use crate::environment::Environment;

const COMPILE_TIME: Duration = Duration::from_secs(180);
const RUN_TIME: Duration = Duration::from_secs(120);

/// The C compilers and emulators of this machine, found once.
pub(crate) struct CToolchain {
    environment: Environment,
    features: Vec<String>,
    /// What was looked for before; a linear list, since there is little.
    found: Mutex<Vec<Looked>>,
}

/// An answer of the search.
struct Looked {
    triple: String,
    features: Vec<String>,
    found: Result<Toolchain, String>,
}

impl CToolchain {
    pub(crate) fn new(environment: &Environment) -> Self {
        CToolchain { environment: environment.clone(), features: machine_features(), found: Mutex::new(Vec::new()) }
    }

    /// How programs for `triple` that need `features` are compiled and run here, or what is missing.
    pub(crate) fn toolchain(&self, triple: &str, features: &[String]) -> Result<Toolchain, String> {
        if let Ok(found) = self.found.lock()
            && let Some(known) = found.iter().find(|known| known.triple == triple && known.features == features)
        {
            return known.found.clone();
        }
        let answer = search::search(&self.environment, &self.features, triple, features);
        if let Ok(mut found) = self.found.lock() {
            found.push(Looked { triple: triple.to_string(), features: features.to_vec(), found: answer.clone() });
        }
        answer
    }

    fn compile_and_run(&self, program: &CProgram, toolchain: &Toolchain, folder: &Path) -> Result<CRun, String> {
        let mut sources = Vec::new();
        for (name, text) in &program.files {
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
        arguments.extend(program.flags.iter().cloned());
        if toolchain.way != Way::Native {
            // Emulators look for the target's dynamic loader in vain.
            arguments.push("-static".into());
        }
        arguments.extend(sources);
        arguments.extend(["-o".into(), "program".into(), "-lm".into()]);
        let compiler = toolchain.compiler.first().map_or("cc", String::as_str);
        let compiled = process::run(compiler, &arguments, folder, COMPILE_TIME)?;
        if compiled.timed_out || compiled.exit_code != Some(0) {
            let command = format!("{} {}", toolchain.compiler.join(" "), arguments_after(&arguments, toolchain));
            return Ok(CRun::CompileFailed { command, stderr: compiled.stderr });
        }
        let binary = binary.display().to_string();
        let (runner, ran) = match &toolchain.way {
            Way::Native => ("native".to_string(), process::run(&binary, &[], folder, RUN_TIME)?),
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
        let toolchain = match self.toolchain(&program.triple, &program.features) {
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
        CProgram { files: vec![("main.c".into(), text.into())], flags: vec![], triple: String::new(), features: vec![] }
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
        foreign.triple = "vax-dec-ultrix".into();
        match run(&foreign) {
            CRun::Unavailable { reason } => assert!(reason.contains("vax-dec-ultrix-gcc"), "{reason}"),
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
