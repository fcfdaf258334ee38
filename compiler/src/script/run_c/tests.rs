//! `check_c` against a runner that answers from a list.

use std::sync::{Arc, Mutex};

use crate::diagnostic::Diagnostic;
use crate::pipeline::{Compilation, Limits};
use crate::source::ModuleId;
use crate::world::{CProgram, CRun, CRunner, MemoryWorld};

/// Prints `stdout` whatever the program is, and ends with `exit_code`.
struct Prints {
    stdout: &'static str,
    exit_code: i32,
    programs: Mutex<Vec<CProgram>>,
}

impl CRunner for Prints {
    fn run(&self, program: &CProgram) -> CRun {
        self.programs.lock().unwrap().push(program.clone());
        CRun::Ran {
            runner: "native".to_string(),
            exit_code: self.exit_code,
            stdout: self.stdout.as_bytes().to_vec(),
            stderr: "what the machine says".to_string(),
        }
    }
}

/// Checks a proc that writes ones, with `n` = 1 and `n` = 2: the programs that were run, and what was refused.
fn checked(stdout: &'static str, exit_code: i32) -> (Vec<CProgram>, Vec<Diagnostic>) {
    let text = "
@proc
def ones(n: size, x: f32[n]):
    for i in seq(0, n):
        x[i] = 1.0

check_c(ones, target(name = 'host'), sizes = {'n': [1, 2]})
";
    let main = ModuleId::new("", "main");
    let world = Arc::new(MemoryWorld::new().with(main.clone(), text));
    let runner = Arc::new(Prints { stdout, exit_code, programs: Mutex::default() });
    let diagnostics = Compilation::new(world, Limits::default(), Some(runner.clone())).run(&main, &mut |_| {});
    let programs = std::mem::take(&mut *runner.programs.lock().unwrap());
    (programs, diagnostics)
}

/// The sizes take turns until there were three runs.
#[test]
fn all_sizes_run_in_one_program() {
    let (programs, diagnostics) = checked("float 0x1p+0\ndone\nfloat 0x1p+0 0x1p+0\ndone\nfloat 0x1p+0\ndone\n", 0);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    assert_eq!(programs.len(), 1);
    let (_, main) = programs[0].files.iter().find(|(name, _)| name == "main.c").unwrap();
    assert!(main.contains("ones(NULL, 1, buffer_1)") && main.contains("ones(NULL, 2, buffer_1)"), "{main}");
}

#[test]
fn a_difference_names_the_sizes_where_it_is() {
    let (_, diagnostics) = checked("float 0x1p+0\ndone\nfloat 0x1p+0 0x0p+0\ndone\n", 0);
    assert_eq!(diagnostics[0].message, "the C of `ones` computes something else");
    assert!(diagnostics[0].notes.contains(&"with n = 2".to_string()), "{:?}", diagnostics[0].notes);
}

#[test]
fn a_crash_belongs_to_the_run_that_did_not_end() {
    for stdout in ["float 0x1p+0\ndone\n", "float 0x1p+0\ndone\nfloat 0x1p+0"] {
        let (_, diagnostics) = checked(stdout, 139);
        assert_eq!(diagnostics[0].message, "the C of `ones` ended with code 139 on native");
        assert!(diagnostics[0].notes.contains(&"with n = 2".to_string()), "{:?}", diagnostics[0].notes);
        assert!(diagnostics[0].notes.contains(&"what the machine says".to_string()));
    }
    // A program that ends well and says too little is wrong as well.
    let (_, diagnostics) = checked("float 0x1p+0\ndone\n", 0);
    assert!(diagnostics[0].message.contains("did not come to its end"), "{}", diagnostics[0].message);
    let (_, diagnostics) = checked("float 0x1p+0\ndone\nfloat 0x1p+0 0x1p+0\ndone\n", 1);
    assert!(diagnostics[0].message.contains("ended with code 1"), "{}", diagnostics[0].message);
}
