//! Finds the compiler and the runner for a triple, and says what is missing where there is none.

use std::ffi::OsStr;
use std::path::PathBuf;

use exo_compiler::world::CMachine;

use crate::environment::Environment;

/// How the compiled program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Native,
    Emulator {
        path: String,
        name: String,
        arguments: Vec<String>,
    },
    /// Compiled for this machine, with headers that do in plain C what the instructions do. `complete`: an instruction
    /// that they lack is a fault of the program.
    Headers {
        name: String,
        headers: Vec<(String, String)>,
        complete: bool,
    },
}

impl Way {
    /// Headers that lie beside the program: name and text.
    pub(super) fn headers(&self) -> &[(String, String)] {
        match self {
            Way::Native | Way::Emulator { .. } => &[],
            Way::Headers { headers, .. } => headers,
        }
    }
}

/// What this machine is and has.
pub(crate) struct Here {
    pub(crate) features: Vec<String>,
    /// SIMDe, the headers that spell the vector instructions of x86 in plain C, is installed.
    simde: bool,
}

impl Here {
    pub(crate) fn look() -> Self {
        let installed = |root: &str| std::path::Path::new(root).join("simde/x86/avx512.h").is_file();
        Here { features: machine_features(), simde: ["/usr/include", "/usr/local/include"].into_iter().any(installed) }
    }
}

/// A compiler command (program and its own arguments) and the way to run its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toolchain {
    pub(crate) compiler: Vec<String>,
    pub(crate) way: Way,
}

impl Toolchain {
    /// Whether what it makes runs on this machine itself.
    pub(crate) fn is_native(&self) -> bool {
        self.way == Way::Native
    }

    pub(crate) fn runner_name(&self) -> &str {
        match &self.way {
            Way::Native => "native",
            Way::Emulator { name, .. } | Way::Headers { name, .. } => name,
        }
    }
}

/// The machine part of a GNU triple, in the spelling of Rust and of qemu.
fn architecture(triple: &str) -> &str {
    match triple.split('-').next().unwrap_or(triple) {
        "arm64" => "aarch64",
        "amd64" => "x86_64",
        "i586" | "i686" => "i386",
        "riscv" => "riscv64",
        other => other,
    }
}

/// An executable of this name on the path.
pub(crate) fn on_path(path: Option<&OsStr>, name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let executable = |candidate: &PathBuf| {
        std::fs::metadata(candidate).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(executable);
    }
    std::env::split_paths(path?).map(|folder| folder.join(name)).find(executable)
}

/// CPU features of this machine as the kernel names them; empty where it does not say.
pub(crate) fn machine_features() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| {
        let key = line.split(':').next().unwrap_or("").trim();
        key == "flags" || key == "Features" || key == "isa"
    });
    let values = line.and_then(|line| line.split_once(':')).map_or("", |(_, values)| values);
    values.split_whitespace().map(str::to_string).collect()
}

/// The kernel's spelling of a feature that compilers spell otherwise.
fn kernel_spelling(feature: &str) -> &str {
    match feature {
        "neon" => "asimd",
        "sse4.1" => "sse4_1",
        "sse4.2" => "sse4_2",
        "fp16" => "asimdhp",
        "dotprod" => "asimddp",
        "avx512vnni" => "avx512_vnni",
        "avx512bf16" => "avx512_bf16",
        "amx-tile" => "amx_tile",
        "amx-int8" => "amx_int8",
        "amx-bf16" => "amx_bf16",
        other => other,
    }
}

fn has_feature(machine: &[String], feature: &str) -> bool {
    let wanted = kernel_spelling(feature);
    machine.iter().any(|have| have == wanted || have == feature)
}

/// Stands where a program includes the intrinsics of x86.
const SIMDE: &str = "#pragma once
#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>
";

fn native_compiler(environment: &Environment, family: &str) -> Result<Vec<String>, String> {
    let path = environment.path.as_deref();
    if !family.is_empty() {
        return match on_path(path, family) {
            Some(_) => Ok(vec![family.to_string()]),
            None => Err(format!("no C compiler: {family} is not on the path (Debian: apt-get install {family})")),
        };
    }
    if let Some(given) = &environment.cc {
        let words: Vec<String> = given.split_whitespace().map(str::to_string).collect();
        return match words.first() {
            Some(program) if on_path(path, program).is_some() => Ok(words),
            _ => Err(format!("no C compiler: CC is `{given}`, which is not on the path")),
        };
    }
    ["cc", "gcc", "clang"]
        .into_iter()
        .find(|name| on_path(path, name).is_some())
        .map(|name| vec![name.to_string()])
        .ok_or_else(|| {
            "no C compiler: neither cc, gcc nor clang is on the path (Debian: apt-get install gcc, or set CC)".into()
        })
}

/// Whether qemu's user mode can execute a feature of its own architecture.
fn emulated(feature: &str) -> bool {
    !kernel_spelling(feature).starts_with("avx512") && !kernel_spelling(feature).starts_with("amx")
}

fn emulator(environment: &Environment, architecture: &str, machine: &CMachine) -> Result<Way, String> {
    let name = format!("qemu-{architecture}");
    if let Some(feature) = machine.features.iter().find(|feature| !emulated(feature)) {
        return Err(format!("{name} does not emulate {feature}"));
    }
    let path = environment.path.as_deref();
    let found = on_path(path, &name).or_else(|| on_path(path, &format!("{name}-static")));
    // qemu's riscv64 has no model of everything.
    let all = if architecture == "riscv64" { "rv64" } else { "max" };
    let cpu = if machine.cpu.is_empty() { all } else { &machine.cpu };
    match found {
        Some(program) => {
            Ok(Way::Emulator { path: program.display().to_string(), name, arguments: vec!["-cpu".into(), cpu.into()] })
        }
        None => Err(format!("no emulator: {name} is not on the path (Debian: apt-get install qemu-user)")),
    }
}

/// The toolchain for a machine, or one phrase about what is missing.
///
/// This machine itself is best; then the target's own model, which a pack brings where nothing else runs its code; then
/// an emulator; then emulation headers.
pub(super) fn search(environment: &Environment, here: &Here, machine: &CMachine) -> Result<Toolchain, String> {
    let architecture_here = std::env::consts::ARCH;
    let wanted = if machine.triple.is_empty() { architecture_here } else { architecture(&machine.triple) };
    let missing: Vec<&str> =
        machine.features.iter().map(String::as_str).filter(|feature| !has_feature(&here.features, feature)).collect();
    if wanted == architecture_here && missing.is_empty() {
        return Ok(Toolchain { compiler: native_compiler(environment, &machine.compiler)?, way: Way::Native });
    }
    if !machine.model.is_empty() {
        let way = Way::Headers { name: "model in C".into(), headers: machine.model.clone(), complete: true };
        return Ok(Toolchain { compiler: native_compiler(environment, "")?, way });
    }
    let emulated = match wanted == architecture_here {
        true => native_compiler(environment, &machine.compiler).and_then(|compiler| {
            let way = emulator(environment, architecture_here, machine)
                .map_err(|reason| format!("this machine lacks {}, and {reason}", missing.join(", ")))?;
            Ok(Toolchain { compiler, way })
        }),
        false => cross(environment, wanted, machine),
    };
    emulated.or_else(|reason| match emulation_headers(wanted, machine) {
        Some(way) if here.simde => Ok(Toolchain { compiler: native_compiler(environment, "")?, way }),
        Some(_) => Err(format!("{reason} (SIMD emulation headers would do: apt-get install libsimde-dev)")),
        None => Err(reason),
    })
}

/// The compiler that makes code for a machine, whether or not its code runs here.
pub(super) fn compiler(environment: &Environment, machine: &CMachine) -> Result<Vec<String>, String> {
    match machine.triple.is_empty() || architecture(&machine.triple) == std::env::consts::ARCH {
        true => native_compiler(environment, &machine.compiler),
        false => cross_compiler(environment, machine),
    }
}

/// The program that puts objects for a machine into an archive.
pub(super) fn archiver(environment: &Environment, machine: &CMachine) -> Result<String, String> {
    let path = environment.path.as_deref();
    let cross = format!("{}-ar", machine.triple);
    match [cross.as_str(), "ar", "llvm-ar"].into_iter().find(|name| on_path(path, name).is_some()) {
        Some(found) => Ok(found.to_string()),
        None => Err("no archiver: neither ar nor llvm-ar is on the path (Debian: apt-get install binutils)".into()),
    }
}

fn cross(environment: &Environment, wanted: &str, machine: &CMachine) -> Result<Toolchain, String> {
    Ok(Toolchain { compiler: cross_compiler(environment, machine)?, way: emulator(environment, wanted, machine)? })
}

fn cross_compiler(environment: &Environment, machine: &CMachine) -> Result<Vec<String>, String> {
    let triple = &machine.triple;
    let path = environment.path.as_deref();
    let gcc = format!("{triple}-gcc");
    if on_path(path, &gcc).is_none() {
        return Err(format!(
            "no C compiler for {triple}: {gcc} is not on the path (Debian: apt-get install gcc-{triple})"
        ));
    }
    Ok(match machine.compiler.as_str() {
        // clang is a cross compiler by itself, but links with the libraries of the other one.
        "clang" => {
            let mut clang = native_compiler(environment, "clang")?;
            clang.push(format!("--target={triple}"));
            clang
        }
        _ => vec![gcc],
    })
}

/// The headers that stand in for the vector instructions of a machine, where there are such.
fn emulation_headers(wanted: &str, machine: &CMachine) -> Option<Way> {
    let vectors = |feature: &String| {
        let feature = kernel_spelling(feature);
        ["sse", "avx", "fma"].iter().any(|family| feature.starts_with(family))
    };
    (wanted == "x86_64" && machine.features.iter().all(vectors)).then(|| Way::Headers {
        name: "SIMDe".into(),
        headers: vec![("immintrin.h".into(), SIMDE.into())],
        complete: false,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn environment_with(programs: &[&str]) -> (tempfile::TempDir, Environment) {
        let folder = tempfile::tempdir().unwrap();
        for program in programs {
            let path = folder.path().join(program);
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let environment = Environment { path: Some(folder.path().into()), ..Environment::default() };
        (folder, environment)
    }

    fn here(features: &[&str], simde: bool) -> Here {
        Here { features: features.iter().map(ToString::to_string).collect(), simde }
    }

    fn machine(triple: &str, features: &[&str]) -> CMachine {
        let features = features.iter().map(ToString::to_string).collect();
        CMachine { triple: triple.into(), features, ..CMachine::default() }
    }

    #[test]
    fn a_foreign_triple_takes_its_cross_compiler_and_emulator() {
        let foreign = if std::env::consts::ARCH == "aarch64" { "riscv64" } else { "aarch64" };
        let triple = format!("{foreign}-linux-gnu");
        let mut wanted = machine(&triple, &["neon"]);
        let gcc = format!("{triple}-gcc");
        let (_folder, environment) = environment_with(&[&gcc, "clang", &format!("qemu-{foreign}")]);
        let found = search(&environment, &here(&[], false), &wanted).unwrap();
        assert_eq!(found.compiler, std::slice::from_ref(&gcc));
        assert_eq!(found.runner_name(), format!("qemu-{foreign}"));
        wanted.compiler = "clang".into();
        wanted.cpu = "max,sve256=on".into();
        let found = search(&environment, &here(&[], false), &wanted).unwrap();
        assert_eq!(found.compiler, ["clang".to_string(), format!("--target={triple}")]);
        assert!(matches!(found.way, Way::Emulator { arguments, .. } if arguments == ["-cpu", "max,sve256=on"]));
        let (_folder, without) = environment_with(&[&gcc, "clang"]);
        assert!(search(&without, &here(&[], true), &wanted).unwrap_err().contains("no emulator"));
    }

    #[test]
    fn a_missing_feature_needs_an_emulator() {
        let (_folder, environment) = environment_with(&["cc"]);
        let old = here(&["sse2"], false);
        assert_eq!(search(&environment, &old, &machine("", &["sse2"])).unwrap().way, Way::Native);
        let reason = search(&environment, &old, &machine("", &["avx2"])).unwrap_err();
        assert!(reason.contains("this machine lacks avx2"), "{reason}");
        let emulator = format!("qemu-{}", std::env::consts::ARCH);
        let (_folder, environment) = environment_with(&["cc", &emulator]);
        assert_eq!(search(&environment, &old, &machine("", &["avx2"])).unwrap().runner_name(), emulator);
    }

    #[test]
    fn what_no_emulator_knows_takes_headers_or_a_model() {
        let x86 = "x86_64-linux-gnu";
        let (_folder, environment) = environment_with(&["cc", "qemu-x86_64", "x86_64-linux-gnu-gcc"]);
        let (without, with) = (here(&["sse2"], false), here(&["sse2"], true));
        let reason = search(&environment, &without, &machine(x86, &["avx512f"])).unwrap_err();
        assert!(reason.contains("does not emulate avx512f") && reason.contains("libsimde-dev"), "{reason}");
        assert_eq!(search(&environment, &with, &machine(x86, &["avx512f"])).unwrap().runner_name(), "SIMDe");
        let mut tiles = machine(x86, &["amx-tile"]);
        let reason = search(&environment, &with, &tiles).unwrap_err();
        assert!(reason.contains("does not emulate amx-tile"), "{reason}");
        tiles.model = vec![("immintrin.h".into(), String::new())];
        assert_eq!(search(&environment, &without, &tiles).unwrap().runner_name(), "model in C");
        assert_eq!(
            search(&environment, &here(&["amx_tile"], false), &machine("", &["amx-tile"])).unwrap().way,
            Way::Native
        );
    }

    #[test]
    fn cc_is_taken_with_its_arguments_and_must_exist() {
        let (_folder, mut environment) = environment_with(&["mycc"]);
        environment.cc = Some("mycc -std=c11".into());
        let any = CMachine::default();
        assert_eq!(search(&environment, &here(&[], false), &any).unwrap().compiler, ["mycc", "-std=c11"]);
        environment.cc = Some("gone".into());
        assert!(search(&environment, &here(&[], false), &any).unwrap_err().contains("CC is `gone`"));
    }
}
