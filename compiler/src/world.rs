//! The only ways to the outside: module text comes through [`World`], C programs run through [`CRunner`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::profile::Profile;
use crate::source::{ModuleId, SourceFile};

/// Why an import could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportError {
    /// The importing pack has no dependency of this import name; `nearest` holds similar ones.
    UnknownPack { name: String, nearest: Vec<String> },
    /// The pack is there but has no such module; `nearest` holds similar ones.
    UnknownModule { pack: String, path: String, nearest: Vec<String> },
    /// The text could not be read: missing file, wrong digest, not UTF-8.
    Unreadable { module: ModuleId, reason: String },
}

/// Where module text comes from. Implementations verify digests; the compiler does no I/O of its own.
pub trait World: Send + Sync {
    /// The module that `import` means inside `from`.
    ///
    /// `import` is the dotted name as written: `neon_conv2d`, `std.tiling`, `.sibling` (a leading dot means
    /// the importing module's own pack).
    fn resolve(&self, from: &ModuleId, import: &str) -> Result<ModuleId, ImportError>;

    /// The text of a module that `resolve` returned or that the caller named.
    fn source(&self, module: &ModuleId) -> Result<Arc<SourceFile>, ImportError>;

    /// Whether steps in code of this pack may not leave out their check (`unsafe_skip_check`): then the name under which
    /// a manifest allows it. The empty pack is code of none: a file of the user's own, or the command line.
    fn denies_waivers_of(&self, pack: &str) -> Option<String>;

    /// Whether the time for this compilation is over. Asked now and then during evaluation.
    fn expired(&self) -> bool {
        false
    }

    /// Who wants to know where the time of this compilation goes.
    fn profile(&self) -> Option<Arc<dyn Profile>> {
        None
    }
}

/// A C program to be compiled and run on a target's runner.
#[derive(Clone, Debug)]
pub struct CProgram {
    /// File name and text; exactly the `.c` files are compiled and linked together.
    pub files: Vec<(String, String)>,
    pub flags: Vec<String>,
    pub machine: CMachine,
}

/// The machine that a C program is for, and how it is compiled and run where this machine is another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CMachine {
    /// GNU triple such as `aarch64-linux-gnu`, or empty for this machine.
    pub triple: String,
    /// CPU features the program needs (`avx2`, `fma`), so that a machine without them is told apart from a crash.
    pub features: Vec<String>,
    /// `gcc` or `clang` where only one of them knows the instructions; empty for any.
    pub compiler: String,
    /// What an emulator is told to be (`-cpu` of qemu); empty for all that it can.
    pub cpu: String,
    /// File name and text of headers that model the instructions in plain C, for machines that no emulator knows.
    pub model: Vec<(String, String)>,
}

/// What came of running a C program.
#[derive(Clone, Debug)]
pub enum CRun {
    /// It ran to the end; `runner` names how (`native`, `qemu-aarch64`).
    Ran {
        runner: String,
        exit_code: i32,
        stdout: Vec<u8>,
        stderr: String,
    },
    CompileFailed {
        command: String,
        stderr: String,
    },
    /// There is no compiler or emulator for it here; the text says what is missing.
    Unavailable {
        reason: String,
    },
}

/// Compiles and runs C on behalf of `check_c` and conformance tests.
pub trait CRunner: Send + Sync {
    fn run(&self, program: &CProgram) -> CRun;
}

/// A world of modules held in memory, for tests and single files.
#[derive(Default)]
pub struct MemoryWorld {
    modules: BTreeMap<ModuleId, Arc<SourceFile>>,
    never_waive: BTreeSet<String>,
}

impl MemoryWorld {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with(mut self, module: ModuleId, text: &str) -> Self {
        let name = format!("{module}.exo");
        self.modules.insert(module, SourceFile::new(name, text));
        self
    }

    /// Denies a pack steps without their check.
    pub fn denying_waivers(mut self, pack: &str) -> Self {
        self.never_waive.insert(pack.to_string());
        self
    }
}

impl World for MemoryWorld {
    fn resolve(&self, from: &ModuleId, import: &str) -> Result<ModuleId, ImportError> {
        let module = match import.strip_prefix('.') {
            Some(sibling) => ModuleId::new(&from.pack, sibling),
            None => match import.split_once('.') {
                Some((pack, path)) => ModuleId::new(pack, path),
                None => ModuleId::new(import, "lib"),
            },
        };
        if self.modules.contains_key(&module) {
            return Ok(module);
        }
        let known = self.modules.keys().any(|m| m.pack == module.pack);
        Err(if known {
            ImportError::UnknownModule { pack: module.pack.to_string(), path: module.path.to_string(), nearest: vec![] }
        } else {
            ImportError::UnknownPack { name: module.pack.to_string(), nearest: vec![] }
        })
    }

    fn source(&self, module: &ModuleId) -> Result<Arc<SourceFile>, ImportError> {
        self.modules
            .get(module)
            .cloned()
            .ok_or_else(|| ImportError::Unreadable { module: module.clone(), reason: "no such module".into() })
    }

    fn denies_waivers_of(&self, pack: &str) -> Option<String> {
        self.never_waive.get(pack).cloned()
    }
}
