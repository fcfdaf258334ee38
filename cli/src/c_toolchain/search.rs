//! Finds the compiler and the runner for a triple, and says what is missing where there is none.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::environment::Environment;

/// How the compiled program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Native,
    Emulator { path: String, name: String, arguments: Vec<String> },
}

/// A compiler command (program and its own arguments) and the way to run its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toolchain {
    pub(crate) compiler: Vec<String>,
    pub(crate) way: Way,
}

impl Toolchain {
    pub(crate) fn runner_name(&self) -> &str {
        match &self.way {
            Way::Native => "native",
            Way::Emulator { name, .. } => name,
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

fn native_compiler(environment: &Environment) -> Result<Vec<String>, String> {
    let path = environment.path.as_deref();
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

fn emulator(environment: &Environment, machine: &str) -> Result<Way, String> {
    let path = environment.path.as_deref();
    let name = format!("qemu-{machine}");
    let found = on_path(path, &name).or_else(|| on_path(path, &format!("{name}-static")));
    match found {
        Some(program) => Ok(Way::Emulator {
            path: program.display().to_string(),
            name,
            arguments: vec!["-cpu".into(), "max".into()],
        }),
        None => Err(format!("no emulator: {name} is not on the path (Debian: apt-get install qemu-user)")),
    }
}

/// The toolchain for `triple` (empty for this machine) and `features`, or one phrase about what is missing.
pub(super) fn search(
    environment: &Environment,
    machine: &[String],
    triple: &str,
    features: &[String],
) -> Result<Toolchain, String> {
    let here = std::env::consts::ARCH;
    let wanted = if triple.is_empty() { here } else { architecture(triple) };
    if wanted == here {
        let compiler = native_compiler(environment)?;
        let missing: Vec<&str> =
            features.iter().map(String::as_str).filter(|feature| !has_feature(machine, feature)).collect();
        if missing.is_empty() {
            return Ok(Toolchain { compiler, way: Way::Native });
        }
        return match emulator(environment, here) {
            Ok(way) => Ok(Toolchain { compiler, way }),
            Err(reason) => Err(format!("this machine lacks {}, and {reason}", missing.join(", "))),
        };
    }
    let compiler = format!("{triple}-gcc");
    if on_path(environment.path.as_deref(), &compiler).is_none() {
        return Err(format!(
            "no C compiler for {triple}: {compiler} is not on the path (Debian: apt-get install gcc-{triple})"
        ));
    }
    Ok(Toolchain { compiler: vec![compiler], way: emulator(environment, wanted)? })
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

    #[test]
    fn a_foreign_triple_takes_its_cross_compiler_and_emulator() {
        let foreign = if std::env::consts::ARCH == "aarch64" { "riscv64" } else { "aarch64" };
        let triple = format!("{foreign}-linux-gnu");
        let (_folder, environment) = environment_with(&[&format!("{triple}-gcc"), &format!("qemu-{foreign}")]);
        let found = search(&environment, &[], &triple, &["neon".into()]).unwrap();
        assert_eq!(found.compiler, [format!("{triple}-gcc")]);
        assert_eq!(found.runner_name(), format!("qemu-{foreign}"));
        let (_folder, without) = environment_with(&[&format!("{triple}-gcc")]);
        assert!(search(&without, &[], &triple, &[]).unwrap_err().contains("no emulator"));
    }

    #[test]
    fn a_missing_feature_needs_an_emulator() {
        let (_folder, environment) = environment_with(&["cc"]);
        let machine = ["sse2".to_string()];
        assert_eq!(search(&environment, &machine, "", &["sse2".into()]).unwrap().way, Way::Native);
        let reason = search(&environment, &machine, "", &["avx512f".into()]).unwrap_err();
        assert!(reason.contains("this machine lacks avx512f"), "{reason}");
        let emulator = format!("qemu-{}", std::env::consts::ARCH);
        let (_folder, environment) = environment_with(&["cc", &emulator]);
        assert_eq!(search(&environment, &machine, "", &["avx512f".into()]).unwrap().runner_name(), emulator);
    }

    #[test]
    fn cc_is_taken_with_its_arguments_and_must_exist() {
        let (_folder, mut environment) = environment_with(&["mycc"]);
        environment.cc = Some("mycc -std=c11".into());
        assert_eq!(search(&environment, &[], "", &[]).unwrap().compiler, ["mycc", "-std=c11"]);
        environment.cc = Some("gone".into());
        assert!(search(&environment, &[], "", &[]).unwrap_err().contains("CC is `gone`"));
    }
}
