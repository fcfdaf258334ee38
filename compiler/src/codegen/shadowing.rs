//! Headers that a generated one would hide: whoever compiles the C puts its folder on the include path, where `#include <math.h>`
//! finds a `math.h` before the library's own.

use crate::diagnostic::{Diagnostic, codes};

/// The headers of the C standard library (C23, 7.1.2), without `.h`. Those that the text does not include are included by others.
const OF_C: [&str; 31] = [
    "assert",
    "complex",
    "ctype",
    "errno",
    "fenv",
    "float",
    "inttypes",
    "iso646",
    "limits",
    "locale",
    "math",
    "setjmp",
    "signal",
    "stdalign",
    "stdarg",
    "stdatomic",
    "stdbit",
    "stdbool",
    "stdckdint",
    "stddef",
    "stdint",
    "stdio",
    "stdlib",
    "stdnoreturn",
    "string",
    "tgmath",
    "threads",
    "time",
    "uchar",
    "wchar",
    "wctype",
];

/// Why a header cannot have its name beside the C texts that go with it, if it cannot. File systems that do not tell capitals apart
/// find it under all its spellings.
pub fn problem(header_name: &str, texts: &[&str]) -> Option<Diagnostic> {
    let same = |name: &str| name.eq_ignore_ascii_case(header_name);
    let who = match OF_C.iter().any(|name| same(&format!("{name}.h"))) {
        true => "the C standard library has",
        false if texts.iter().flat_map(|text| included(text)).any(same) => "the C that goes with it includes",
        false => return None,
    };
    let message = format!("the header would be `{header_name}`, and {who} one of that name");
    let note = "with its folder on the include path, every `#include` of the other header would find this one";
    let hint = "give the kernel, or the file that `exo cc` compiles, another name; `exo cc --stem NAME` sets it for the outputs alone";
    Some(Diagnostic::error(codes::EXPORT, message).note(note).hint(hint))
}

/// What a text of C includes.
fn included(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        let end = match line.chars().next()? {
            '<' => '>',
            '"' => '"',
            _ => return None,
        };
        line.get(1..)?.split_once(end).map(|(name, _)| name)
    })
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn a_header_hides_neither_one_of_the_library_nor_one_that_is_included() {
        let text =
            "#include <vendor/x.h>\n  #  include \"helper.h\"\n// #include <not.h>\nint include;\n#include NAME\n";
        for taken in ["math.h", "Math.h", "stdint.h", "helper.h", "HELPER.H"] {
            assert!(problem(taken, &[text]).is_some(), "{taken}");
        }
        for free in ["gemm.h", "x.h", "not.h", "maths.h", "include.h"] {
            assert!(problem(free, &[text]).is_none(), "{free}");
        }
    }
}
