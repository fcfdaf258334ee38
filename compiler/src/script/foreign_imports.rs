//! What stands here for modules of Python and of Exo that code from elsewhere imports.

/// What to write instead of an import of `module`, where its first part is no pack.
pub(crate) fn instead_of(module: &str) -> Option<String> {
    let root = module.split('.').next().unwrap_or(module);
    Some(match root {
        "exo" => return of_exo(module),
        "typing" => "host code has no types to import".to_string(),
        "functools" | "itertools" | "collections" | "dataclasses" | "abc" => {
            "modules of Python cannot be imported; `exo help prelude` lists what host code has".to_string()
        }
        root if is_python(root) => "modules of Python cannot be imported: a proc computes on its arguments, which the \
             caller gives, and calls externs such as `sqrt` and `expf`; `check_equal` and `check_c` run procs"
            .to_string(),
        _ => return None,
    })
}

/// Whether a name is a module of Python that numeric code uses.
pub(crate) fn is_python(root: &str) -> bool {
    matches!(
        root,
        "np" | "numpy"
            | "jnp"
            | "jax"
            | "torch"
            | "scipy"
            | "pandas"
            | "math"
            | "cmath"
            | "random"
            | "os"
            | "sys"
            | "re"
            | "time"
            | "subprocess"
            | "pathlib"
            | "ctypes"
            | "pytest"
    )
}

/// Exo's own modules.
fn of_exo(module: &str) -> Option<String> {
    let prelude = "what it has is in the prelude, which is always in scope: leave the import out".to_string();
    Some(match module {
        "exo.platforms.x86" => add("avx2", " (or `avx512`)"),
        "exo.platforms.neon" => add("neon", ""),
        "exo.platforms.gemmini" => add("gemmini", ""),
        "exo.platforms.rvm" | "exo.platforms.rvv" => add("rvv", ""),
        "exo.stdlib.scheduling" | "exo.stdlib.stdlib" | "exo.stdlib.inspection" | "exo.stdlib.rc_wrappers" => {
            let here = module.replace("exo.stdlib", "std");
            format!("`exo add std`, then `from {here} import *`; operators are in the prelude")
        }
        "exo.libs.memories" => {
            "`DRAM`, `DRAM_STACK` and `DRAM_STATIC` are in the prelude; memories of machines come with their packs, as in \
             `from avx2 import AVX2`"
                .to_string()
        }
        _ => prelude,
    })
}

fn add(pack: &str, or: &str) -> String {
    format!("instructions come in packs: `exo add {pack}`{or}, then `from {pack} import *`")
}

#[cfg(test)]
mod tests {
    use super::instead_of;

    #[test]
    fn packs_and_modules_that_are_named_exist() {
        let packages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../packages");
        for (module, file) in [
            ("exo.platforms.x86", "avx2/src/lib.exo"),
            ("exo.platforms.neon", "neon/src/lib.exo"),
            ("exo.platforms.gemmini", "gemmini/src/lib.exo"),
            ("exo.platforms.rvm", "rvv/src/lib.exo"),
            ("exo.stdlib.scheduling", "std/src/scheduling.exo"),
            ("exo.stdlib.stdlib", "std/src/stdlib.exo"),
            ("exo.stdlib.inspection", "std/src/inspection.exo"),
            ("exo.stdlib.rc_wrappers", "std/src/rc_wrappers.exo"),
        ] {
            let pack = file.split('/').next().unwrap_or_default();
            assert!(instead_of(module).is_some_and(|hint| hint.contains(pack)), "{module}");
            assert!(packages.join(file).is_file(), "{file}");
        }
        assert_eq!(instead_of("some_pack.module"), None);
    }
}
