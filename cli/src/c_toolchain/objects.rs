//! Object files and libraries of generated C, made by the C compiler of its target.

use std::path::Path;

use exo_compiler::world::CMachine;

use crate::c_toolchain::{COMPILE_TIME, CToolchain, process, search};
use crate::failure::{Failure, Outcome};

/// The optimisation where a target asks for none; its own flags come later and win.
const OPTIMISATION: &str = "-O2";

/// One C file with its header, and what it is to be compiled for.
pub(crate) struct Unit<'a> {
    /// Stem of the files.
    pub(crate) name: &'a str,
    pub(crate) c: &'a str,
    pub(crate) header: &'a str,
    pub(crate) flags: &'a [String],
    pub(crate) machine: &'a CMachine,
}

/// What is made of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    /// `NAME.o`, position-independent so that it fits everywhere.
    Object,
    /// `libNAME.a`
    Static,
    /// `libNAME.so`
    Shared,
}

impl Product {
    pub(crate) fn file_name(self, name: &str) -> String {
        match self {
            Product::Object => format!("{name}.o"),
            Product::Static => format!("lib{name}.a"),
            Product::Shared => format!("lib{name}.so"),
        }
    }
}

/// A folder of its own in which the tools run, so that no path of this machine gets into what they make.
struct Workshop<'a> {
    unit: &'a Unit<'a>,
    folder: &'a Path,
    compiler: Vec<String>,
}

impl CToolchain {
    /// The bytes of each product, in the order in which they are asked for. Equal C and equal tools give equal bytes.
    pub(crate) fn make(&self, unit: &Unit<'_>, products: &[Product]) -> Outcome<Vec<Vec<u8>>> {
        let missing = |reason: String| Failure::environment(reason).hint("`--emit c,header` needs no C compiler");
        let compiler = search::compiler(&self.environment, unit.machine).map_err(missing)?;
        let folder = tempfile::Builder::new()
            .prefix("exo-c-")
            .tempdir()
            .map_err(|error| Failure::environment(format!("cannot make a temporary folder: {error}")))?;
        let workshop = Workshop { unit, folder: folder.path(), compiler };
        workshop.compile()?;
        let mut made = Vec::new();
        for product in products {
            let file = product.file_name(unit.name);
            match product {
                Product::Object => {}
                Product::Static => {
                    let archiver = search::archiver(&self.environment, unit.machine).map_err(missing)?;
                    // `D`: no times and owners.
                    let object = Product::Object.file_name(unit.name);
                    workshop.run(&archiver, &["rcsD".to_string(), file.clone(), object])?;
                }
                Product::Shared => workshop.link(&file)?,
            }
            made.push(crate::filesystem::read_bytes(&folder.path().join(file))?);
        }
        Ok(made)
    }
}

impl Workshop<'_> {
    fn compile(&self) -> Outcome<()> {
        let name = self.unit.name;
        for (file, text) in [(format!("{name}.c"), self.unit.c), (format!("{name}.h"), self.unit.header)] {
            crate::filesystem::write_plain(&self.folder.join(file), text.as_bytes())?;
        }
        let mapped = format!("-ffile-prefix-map={}=.", self.folder.display());
        let mut arguments = vec![OPTIMISATION.to_string(), "-fPIC".to_string(), mapped];
        arguments.extend(self.unit.flags.iter().cloned());
        arguments.extend(["-c".to_string(), format!("{name}.c"), "-o".to_string(), Product::Object.file_name(name)]);
        self.with_compiler(arguments)
    }

    fn link(&self, library: &str) -> Outcome<()> {
        let mut arguments = self.unit.flags.to_vec();
        arguments.extend(["-shared".to_string(), format!("-Wl,-soname,{library}")]);
        arguments.extend([Product::Object.file_name(self.unit.name), "-o".to_string(), library.to_string()]);
        arguments.push("-lm".to_string());
        self.with_compiler(arguments)
    }

    fn with_compiler(&self, arguments: Vec<String>) -> Outcome<()> {
        let (program, own) = self.compiler.split_first().ok_or_else(|| Failure::bug("a compiler has no name"))?;
        self.run(program, &own.iter().cloned().chain(arguments).collect::<Vec<_>>())
    }

    fn run(&self, program: &str, arguments: &[String]) -> Outcome<()> {
        let ended = process::run(program, arguments, self.folder, COMPILE_TIME).map_err(Failure::environment)?;
        if ended.exit_code == Some(0) && !ended.timed_out {
            return Ok(());
        }
        let folder = self.folder.display().to_string();
        let command = format!("{program} {}", arguments.join(" ")).replace(&folder, "DIR");
        let what = match ended.timed_out {
            true => format!("did not end within {} seconds", COMPILE_TIME.as_secs()),
            false => "refuses it".to_string(),
        };
        let failure = Failure::refused(format!("no library was made of `{}`: {program} {what}", self.unit.name));
        let failure = failure.note(command).note(ended.stderr.trim_end().to_string());
        Err(failure.hint(
            "a compiler that is too old for the instructions of the target can be replaced: set CC; `--emit c,header` needs none",
        ))
    }
}
