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

/// What stands here for a name that code for Exo imports from it, where that name is not here.
pub(crate) fn of_exo_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "SchedulingError" | "InvalidCursorError" | "ParseFragmentError" => {
            "a refusal is no exception: `attempt(f, p, ...)` gives `.ok`, `.value` and `.error.kind`, `.error.message`; \
             `refuse(\"...\")` refuses"
        }
        "sched_op" => "an operator of one's own is a function: `def my_op(p, loop): ...` with `return` of the new proc",
        "Procedure" | "API" | "ProcedureBase" => "ask `type(x) == \"proc\"`",
        "Cursor"
        | "StmtCursor"
        | "ExprCursor"
        | "BlockCursor"
        | "GapCursor"
        | "ForCursor"
        | "IfCursor"
        | "AssignCursor"
        | "AssignConfigCursor"
        | "ReduceCursor"
        | "PassCursor"
        | "AllocCursor"
        | "CallCursor"
        | "WindowStmtCursor"
        | "ReadCursor"
        | "LiteralCursor"
        | "BinaryOpCursor"
        | "UnaryMinusCursor"
        | "WindowExprCursor"
        | "ArgCursor"
        | "ArgListCursor"
        | "ExprListCursor"
        | "InvalidCursor"
        | "ReadConfigCursor"
        | "StrideExprCursor"
        | "BuiltInFunctionCursor" => "ask `c.kind`, as in `c.kind == \"for\"`; `if c:` asks whether a cursor is valid",
        "ForCursorA" | "StmtCursorA" | "ExprCursorA" | "BlockCursorA" | "GapCursorA" | "ForOrIfCursorA"
        | "AllocCursorA" | "ArgOrAllocCursorA" | "NewExprA" | "NameA" | "PosIntA" | "BoolA" | "ListA"
        | "ListOrElemA" | "OptionalA" | "InstrA" => {
            "kinds of arguments are declared nowhere: a function hands its arguments to operators, which check them"
        }
        _ => return None,
    })
}

/// What stands here for a method of Exo's procedures that is not here.
pub(crate) fn of_exo_method(name: &str) -> Option<&'static str> {
    Some(match name {
        "unsafe_assert_eq" => {
            "nothing can be stated without showing it; `call_eqv` takes procs that steps made from one another, and \
             `check_equal(p, q)` compares what two procs compute"
        }
        "compile_c" => "`p.c_code_str()` is its C; `exo build` and `exo cc` write files",
        "show_effects" | "show_effect" | "get_ast" | "INTERNAL_proc" => {
            "`p.find(...)` and cursors tell what is in a proc"
        }
        _ => return None,
    })
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
    use super::{instead_of, of_exo_method, of_exo_name};

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

    #[test]
    fn names_of_exo_that_have_another_way_are_not_here() {
        for name in ["SchedulingError", "sched_op", "ForCursor", "ForCursorA", "Procedure"] {
            assert!(of_exo_name(name).is_some(), "{name}");
        }
        assert!(of_exo_method("unsafe_assert_eq").is_some_and(|hint| hint.contains("check_equal")));
        assert_eq!(of_exo_name("ExoType"), None);
    }
}
