//! The C side of a target: which compiler, with which flags, and what runs its output.
//!
//! A pack says this, and the user's own compiler is run with it. So it is held to what tells about a machine: nothing here
//! names a program, a file, or code that the compiler would load.

use starlark::values::{Value, ValueLike};

use crate::diagnostic::{Diagnostic, codes};
use crate::script::report::field;
use crate::script::values::cc::CcValue;
use crate::script::wording::kind;
use crate::world::CMachine;

/// The flags and the machine of a target.
///
/// # Errors
/// The `cc` of the target was not made by `cc(...)`, which looks at what it is told.
pub(crate) fn of(target: Value<'_>) -> Result<(Vec<String>, CMachine), Diagnostic> {
    let cc = field(target, "cc");
    if let Some(value) = cc.and_then(|cc| cc.downcast_ref::<CcValue>()) {
        return Ok((value.flags.clone(), value.machine.clone()));
    }
    let name = field(target, "name").and_then(|name| name.unpack_str()).unwrap_or_default();
    let found = cc.map_or("missing".into(), |cc| kind(cc.get_type()));
    let message = format!("the `cc` of target `{name}` is {found}, and has to be made by `cc(...)`");
    Err(Diagnostic::error(codes::TARGET, message).hint("write `cc = cc(flags = [\"-O3\"])`, or leave it out"))
}

/// What is no property of a machine, and what to do instead.
pub(crate) fn objection(flags: &[String], machine: &CMachine) -> Option<(String, &'static str)> {
    if let Some(flag) = flags.iter().find(|flag| !is_harmless(flag)) {
        let hint = "flags of a target choose the machine, the language and the optimisation: `-m...`, `-O...`, `-std=...`, `-D...`, \
                    `-f...` without a file, `-W...`, `-g`; others belong into the build that compiles the C";
        return Some((format!("the compiler flag `{flag}`"), hint));
    }
    if !matches!(machine.compiler.as_str(), "" | "gcc" | "clang") {
        return Some((format!("the compiler `{}`", machine.compiler), "`compiler` is \"gcc\" or \"clang\""));
    }
    let is_header = |name: &str| {
        let stem = name.strip_suffix(".h").unwrap_or_default();
        !stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    if let Some((name, _)) = machine.model.iter().find(|(name, _)| !is_header(name)) {
        return Some((format!("the file `{name}` in its model"), "a model consists of headers, such as `immintrin.h`"));
    }
    let words = [("triple", &machine.triple), ("cpu", &machine.cpu)].into_iter();
    let features = machine.features.iter().map(|feature| ("feature", feature));
    let odd = words.chain(features).find(|(_, word)| !is_word(word));
    odd.map(|(what, word)| (format!("the {what} `{word}`"), "it is a word of letters, digits and `_ . , = + -`"))
}

/// Whether a flag of gcc or clang changes only what code is made: none of these reads or writes a file that the flag names, or
/// runs anything.
fn is_harmless(flag: &str) -> bool {
    let Some(rest) = flag.strip_prefix('-') else { return false };
    // Flags are written into CMake and pkg-config files too, where quotes, `;` and `$` mean something.
    if !flag.chars().all(|c| c.is_ascii_alphanumeric() || "-_.,=+".contains(c)) {
        return false;
    }
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    match rest.chars().next() {
        // `-mllvm` hands a word to the insides of the compiler, the next one or what is behind its `=`.
        Some('m') => !rest.starts_with("mllvm"),
        Some('O') => plain(rest),
        Some('g') => ["g", "g0", "g1", "g2", "g3", "ggdb"].contains(&rest),
        Some('D') => rest.chars().nth(1).is_some_and(|c| c.is_ascii_alphabetic() || c == '_'),
        // `-Wl,`, `-Wa,` and `-Wp,` talk to other programs.
        Some('W') => plain(rest.strip_suffix("=0").unwrap_or(rest)),
        Some('f') => (plain(rest) || takes_words(rest)) && !loads_or_writes(rest),
        Some('s') => rest
            .strip_prefix("std=")
            .is_some_and(|dialect| dialect.chars().all(|c| c.is_ascii_alphanumeric() || c == '+')),
        Some('p') => rest == "pedantic" || rest == "pthread",
        Some(_) | None => false,
    }
}

/// Whether the same C may mean something else with an allowed flag, or calls of it may go wrong. The instruction set, the level of
/// optimisation, the dialect and warnings do not change that: C that compiles means the same.
pub(crate) fn changes_meaning(flag: &str) -> bool {
    match flag.strip_prefix("-m") {
        Some(rest) => !chooses_instructions(rest),
        // `-Ofast` is `-ffast-math` too.
        None => ["-Ofast", "-D", "-f"].iter().any(|start| flag.starts_with(start)),
    }
}

/// Whether an option of `-m` says which instructions there are, and nothing else: how arguments are passed, how `float` is computed and in
/// which byte order it lies are said by options of `-m` too.
fn chooses_instructions(rest: &str) -> bool {
    const KEYS: [&str; 8] =
        ["arch", "cpu", "tune", "fpu", "sve-vector-bits", "rvv-vector-bits", "prefer-vector-width", "hexagon-version"];
    const SETS: [&str; 32] = [
        "avx",
        "fma",
        "f16c",
        "bmi",
        "lzcnt",
        "popcnt",
        "movbe",
        "adx",
        "aes",
        "pclmul",
        "sha",
        "gfni",
        "vaes",
        "vpclmulqdq",
        "amx",
        "xsave",
        "prfchw",
        "rdrnd",
        "rdseed",
        "altivec",
        "vsx",
        "power8-vector",
        "power9-vector",
        "msa",
        "lsx",
        "lasx",
        "simd128",
        "relaxed-simd",
        "hvx",
        "dsp",
        "thumb",
        "arm",
    ];
    if let Some((key, _)) = rest.split_once('=') {
        return KEYS.contains(&key);
    }
    // Without SSE, x86 computes `float` in wider registers; more of it changes nothing.
    let more_sse = rest.strip_prefix("sse").or_else(|| rest.strip_prefix("ssse"));
    if more_sse.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == 'a')) {
        return true;
    }
    let set = rest.strip_prefix("no-").unwrap_or(rest);
    // Families are told by how they begin: `avx512vl`, `bmi2`, `amx-tile`.
    SETS.iter().any(|known| match set.strip_prefix(known) {
        Some("") => true,
        Some(more) => ["avx", "bmi", "amx", "fma", "sha", "hvx", "xsave"].contains(known) && more.len() <= 16,
        None => false,
    })
}

/// Options of `-f` with a list of words, which are no files.
fn takes_words(rest: &str) -> bool {
    const KEYS: [&str; 5] = ["ffp-contract", "fsanitize", "fno-sanitize", "fsanitize-recover", "fno-sanitize-recover"];
    let words = |words: &str| words.chars().all(|c| c.is_ascii_alphanumeric() || "-,".contains(c));
    rest.split_once('=').is_some_and(|(key, value)| KEYS.contains(&key) && words(value))
}

/// Options of `-f` that load code, or read or write files, even without a `=`.
fn loads_or_writes(rest: &str) -> bool {
    const STARTS: [&str; 4] = ["ftime-", "fuse", "fsave", "fmodule"];
    const PARTS: [&str; 9] = [
        "plugin",
        "profile",
        "dump",
        "coverage",
        "branch-probabilities",
        "opt-info",
        "callgraph",
        "stack-usage",
        "report",
    ];
    STARTS.iter().any(|start| rest.starts_with(start)) || PARTS.iter().any(|part| rest.contains(part))
}

fn is_word(word: &str) -> bool {
    let starts = word.chars().next().is_none_or(|c| c.is_ascii_alphanumeric() || c == '+');
    starts && word.chars().all(|c| c.is_ascii_alphanumeric() || "_.,=+-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_choose_code_pass_and_those_that_reach_further_do_not() {
        for flag in [
            "-O3",
            "-Os",
            "-march=armv8.2-a+fp16",
            "-mavx512f",
            "-msve-vector-bits=512",
            "-mcpu=apple-m1",
            "-std=c11",
            "-std=gnu++17",
            "-ffast-math",
            "-fno-math-errno",
            "-ffp-contract=fast",
            "-funroll-loops",
            "-DN=4",
            "-Wall",
            "-Wno-unused",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            "-g",
        ] {
            assert!(is_harmless(flag), "{flag}");
        }
        for flag in [
            "",
            "x.c",
            "-fplugin=./a.so",
            "-fplugin",
            "-fpass-plugin=a.so",
            "-Xclang",
            "-load",
            "-B.",
            "-B/tmp",
            "-wrapper",
            "-specs=x",
            "@file",
            "-include",
            "-I/tmp",
            "-Wl,-rpath=x",
            "-Wa,x",
            "-Wp,-MD,x",
            "-o",
            "-ox",
            "-x",
            "-mllvm",
            "-mllvm=-info-output-file=x",
            "-fcs-profile-generate",
            "-fmemory-profile",
            "-fauto-profile",
            "-fbranch-probabilities",
            "-fuse-ld=./ld",
            "-fprofile-use=x",
            "-fsanitize-ignorelist=x",
            "-fsanitize=/x",
            "-fdump-tree-all",
            "-save-temps",
            "-MD",
            "-MF",
            "-lfoo",
            "-L.",
            "-O3 -Xclang",
            "-fmodule-mapper=|sh",
            "-D",
            "-DX=1;-fplugin=x",
            "-ftime-trace",
            "-gsplit-dwarf",
            "-DX=$<1:y>",
            "-DX=\"y\"",
            "-T",
            "-imacros",
            "-idirafter",
        ] {
            assert!(!is_harmless(flag), "{flag}");
        }
    }

    /// What is not counted as C of the pack changes no meaning, also of the options of `-m` that nobody thought of.
    #[test]
    fn only_instruction_sets_and_optimisation_are_not_counted() {
        for flag in [
            "-O3",
            "-march=armv8.2-a+fp16",
            "-mcpu=cortex-m55",
            "-mtune=native",
            "-mavx512f",
            "-mavx2",
            "-mno-avx512vl",
            "-mfma",
            "-mamx-tile",
            "-mf16c",
            "-msse4.2",
            "-mssse3",
            "-mfpu=neon-vfpv4",
            "-msve-vector-bits=512",
            "-mthumb",
            "-std=c11",
            "-Wall",
            "-g",
        ] {
            assert!(!changes_meaning(flag), "{flag}");
        }
        for flag in [
            "-mabi=ms",
            "-mfloat-abi=soft",
            "-mbig-endian",
            "-mregparm=3",
            "-mrtd",
            "-mfp16-format=alternative",
            "-masm=intel",
            "-mfunction-return=thunk-extern",
            "-mfentry",
            "-minstrument-return=call",
            "-mpreferred-stack-boundary=3",
            "-mgeneral-regs-only",
            "-mskip-rax-setup",
            "-mno-sse",
            "-mno-sse2",
            "-msseregparm",
            "-mfpmath=387",
            "-m32",
            "-mx32",
            "-marm-abi",
            "-munknown",
            "-Ofast",
            "-ffast-math",
            "-DN=4",
        ] {
            assert!(changes_meaning(flag), "{flag}");
        }
    }

    #[test]
    fn compilers_and_words_are_held_to_a_form() {
        let objects = |machine: CMachine| objection(&[], &machine).map(|(what, _)| what);
        assert_eq!(objects(CMachine::default()), None);
        let arm = CMachine {
            triple: "aarch64-linux-gnu".into(),
            cpu: "max,sve=on".into(),
            compiler: "clang".into(),
            ..CMachine::default()
        };
        assert_eq!(objects(arm), None);
        let program = CMachine { compiler: "sh".into(), ..CMachine::default() };
        assert_eq!(objects(program).as_deref(), Some("the compiler `sh`"));
        let path = CMachine { triple: "../../bin/x".into(), ..CMachine::default() };
        assert_eq!(objects(path).as_deref(), Some("the triple `../../bin/x`"));
        let option = CMachine { cpu: "-plugin".into(), ..CMachine::default() };
        assert_eq!(objects(option).as_deref(), Some("the cpu `-plugin`"));
    }
}
