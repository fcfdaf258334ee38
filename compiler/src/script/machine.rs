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
        // `-mllvm` hands the next word on.
        Some('m') => rest != "mllvm",
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

/// Whether the same C may mean something else with an allowed flag. The machine, the level of optimisation, the dialect and warnings do
/// not: C that compiles means the same.
pub(crate) fn changes_meaning(flag: &str) -> bool {
    // `-Ofast` is `-ffast-math` too; without SSE, and on 32-bit x86, `float` is computed in wider registers.
    [
        "-Ofast",
        "-D",
        "-f",
        "-mfpmath",
        "-mrecip",
        "-mpc",
        "-mdaz",
        "-mno-ieee",
        "-mieee",
        "-mno-sse",
        "-m32",
        "-mx32",
        "-m16",
    ]
    .iter()
    .any(|start| flag.starts_with(start))
}

/// Options of `-f` with a list of words, which are no files.
fn takes_words(rest: &str) -> bool {
    const KEYS: [&str; 5] = ["ffp-contract", "fsanitize", "fno-sanitize", "fsanitize-recover", "fno-sanitize-recover"];
    let words = |words: &str| words.chars().all(|c| c.is_ascii_alphanumeric() || "-,".contains(c));
    rest.split_once('=').is_some_and(|(key, value)| KEYS.contains(&key) && words(value))
}

/// Options of `-f` that load code or write files even without a `=`.
fn loads_or_writes(rest: &str) -> bool {
    [
        "fplugin",
        "ftime-",
        "fpass-plugin",
        "fdump",
        "fprofile",
        "fuse",
        "fopt-info",
        "fsave",
        "fcallgraph",
        "fmodule",
        "ftest-coverage",
        "fstack-usage",
    ]
    .iter()
    .any(|start| rest.starts_with(start))
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
