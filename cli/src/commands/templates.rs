//! The files of a fresh project, for each kind of pack; they build and test as they stand.

use exo_index::name::PackName;

use crate::arguments::Kind;

const LIB_KERNEL: &str = r#"# The kernels of this pack. Each [[kernel]] entry in Exo.toml names an algorithm, a schedule and its targets.

# A target without instructions of its own: plain C for whatever machine compiles it.
portable = target(name = "portable", cc = cc(flags = ["-O2"]))

@proc
def saxpy(n: size, a: f32, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        y[i] += a * x[i]

# A schedule takes the algorithm and the target, and returns a proc that computes the same. Every step is checked.
def schedule(p, target, factor = 4):
    p = divide_loop(p, "i", factor, ["io", "ii"], tail = "cut")
    return simplify(p)
"#;

const TEST_KERNEL: &str = r#"from IMPORT import saxpy, schedule, portable

# Each step of the schedule is proven, and the interpreter runs both procs.
def test_schedule_computes_the_same():
    claim(saxpy, schedule, portable)

def test_some_sizes():
    check_equal(saxpy, schedule(saxpy, portable, factor = 8), sizes = {"n": [1, 7, 8, 19]})
"#;

const LIB_SCHEDULE: &str = r#"# Scheduling functions for others to use. They take a proc and return one that computes the same.

# Splits a loop into blocks of `size` iterations; what is left over gets a loop of its own.
def block(p, loop, size):
    p = divide_loop(p, loop, size, [loop + "o", loop + "i"], tail = "cut")
    return simplify(p)
"#;

const TEST_SCHEDULE: &str = r#"from IMPORT import block

@proc
def scale(n: size, x: f32[n]):
    for i in seq(0, n):
        x[i] = 2.0 * x[i]

# Each step is proven, and the interpreter runs both procs.
def test_block_computes_the_same():
    claim(scale, block, "i", 4)

def test_wrong_loop_is_refused():
    refused(block, scale, "k", 4)
"#;

const LIB_TARGET: &str = r#"# A machine: its memories and instructions, and the value that describes it to scheduling libraries.

def _declare(new_name, prim_type, shape, srcinfo):
    return f"{prim_type} {new_name}[{' * '.join(shape)}];"

# Registers. C may not touch single elements (`can_read`), only instructions may.
VEC = memory("VEC", alloc = _declare, free = lambda new_name, prim_type, shape, srcinfo: "", can_read = False)

# The C of an instruction is trusted to do what its body says; `exo test` runs the one against the other.
@instr("for (int lane = 0; lane < 4; lane++) (&{dst_data})[lane] = (&{src_data})[lane];")
def load_4xf32(dst: [f32][4] @ VEC, src: [f32][4] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for i in seq(0, 4):
        dst[i] = src[i]

@instr("for (int lane = 0; lane < 4; lane++) (&{dst_data})[lane] = (&{src_data})[lane];")
def store_4xf32(dst: [f32][4] @ DRAM, src: [f32][4] @ VEC):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for i in seq(0, 4):
        dst[i] = src[i]

# What `vectors` and `instructions` list is what libraries can find, and what `exo test` runs.
target = target(
    name = "NAME",
    cc = cc(flags = ["-O2"]),
    vectors = {"f32": vector(memory = VEC, lanes = 4, load = load_4xf32, store = store_4xf32)},
    instructions = [],
)
"#;

const TEST_TARGET: &str = r#"from IMPORT import VEC, load_4xf32, store_4xf32, target

@proc
def copy(n: size, x: f32[4 * n], y: f32[4 * n]):
    for i in seq(0, n):
        for j in seq(0, 4):
            y[4 * i + j] = x[4 * i + j]

# Each group of four goes through a register.
def through_registers(p):
    p = simplify(stage_mem(p, "for j in _: _", "x[4 * i:4 * i + 4]", "v"))
    p = set_memory(p, "v", VEC)
    return replace_all(p, [load_4xf32, store_4xf32])

def test_instructions_are_selected():
    claim(copy, through_registers)
    text = str(through_registers(copy))
    assert_true("load_4xf32" in text and "store_4xf32" in text)

# The C is compiled, run and compared with the proc.
def test_c_computes_the_same():
    check_c(through_registers(copy), target, sizes = {"n": [1, 5]})
"#;

const GITIGNORE: &str = "/build/\n/.exo-journal\n*.exo-tmp\n*.exo-new\n";

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Target => "target",
        Kind::Schedule => "schedule",
        Kind::Kernel => "kernel",
    }
}

fn manifest(name: &PackName, kind: Kind, with_kernel: bool) -> String {
    let mut text = format!(
        "[pack]\nname = \"{name}\"\nversion = \"0.1.0\"\nkind = \"{}\"\nexo = \">={}\"\n\n# `exo add PACK` adds lines here.\n[dependencies]\n",
        kind_word(kind),
        env!("CARGO_PKG_VERSION"),
    );
    if with_kernel {
        text.push_str(&format!(
            "\n# `exo build` composes each kernel with each of its targets.\n[[kernel]]\nname = \"saxpy\"\n\
             algorithm = \"saxpy\"\nschedule = \"schedule\"\ntargets = [\"{}:portable\"]\nargs = {{ factor = 4 }}\n",
            name.import_name()
        ));
    }
    text
}

/// The README of a fresh project, which says nothing about the pack yet.
pub(crate) fn readme(name: &PackName, kind: Kind) -> String {
    let about = match kind {
        Kind::Target => "A target: instructions, memories and the value that describes the machine.",
        Kind::Schedule => "Scheduling functions.",
        Kind::Kernel => "Kernels, with their schedules.",
    };
    let build = if kind == Kind::Kernel { "exo build   # C and header into build/\n" } else { "" };
    format!(
        "# {name}\n\n{about}\n\n```\nexo check   # definitions, instructions, waived checks\nexo test    # tests and claims\n{build}```\n"
    )
}

/// Path and text of each file. Where `has_library` is set, the code is already there and only the frame is made.
pub(super) fn files(name: &PackName, kind: Kind, has_library: bool) -> Vec<(String, String)> {
    let (library, test) = match kind {
        Kind::Target => (LIB_TARGET, TEST_TARGET),
        Kind::Schedule => (LIB_SCHEDULE, TEST_SCHEDULE),
        Kind::Kernel => (LIB_KERNEL, TEST_KERNEL),
    };
    let with_kernel = kind == Kind::Kernel && !has_library;
    let mut files = vec![
        ("Exo.toml".to_string(), manifest(name, kind, with_kernel)),
        ("README.md".to_string(), readme(name, kind)),
        ("CHANGELOG.md".to_string(), format!("# Changes of {name}\n\n## 0.1.0\n\n- First version.\n")),
        (".gitignore".to_string(), GITIGNORE.to_string()),
    ];
    if !has_library {
        files.push(("src/lib.exo".to_string(), library.replace("NAME", name.base())));
        files.push(("tests/basic.exo".to_string(), test.replace("IMPORT", &name.import_name())));
    }
    files
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use exo_index::manifest::Manifest;

    use super::*;

    #[test]
    fn every_manifest_is_sound() {
        for kind in [Kind::Target, Kind::Schedule, Kind::Kernel] {
            for has_library in [false, true] {
                let name = PackName::parse("@me/my-pack").unwrap();
                let files = files(&name, kind, has_library);
                let text = &files.iter().find(|(path, _)| path == "Exo.toml").unwrap().1;
                let manifest = Manifest::parse(text).unwrap_or_else(|errors| panic!("{kind:?}: {errors:?}"));
                assert_eq!(manifest.kernels.len(), usize::from(kind == Kind::Kernel && !has_library));
            }
        }
    }
}
