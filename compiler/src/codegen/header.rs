//! The header file: window structs, public prototypes, and the macros that both files use.

use crate::codegen::bfloat;
use crate::codegen::context::Context;
use crate::codegen::unit::WindowStruct;

/// The file name without its last extension: what the library is called.
pub fn library(header_name: &str) -> &str {
    header_name.rsplit_once('.').map_or(header_name, |(stem, _)| stem)
}

/// The library's name as an identifier in capitals.
pub fn guard_stem(header_name: &str) -> String {
    let stem = library(header_name);
    let stem: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_uppercase() } else { '_' })
        .collect();
    if stem.starts_with(|c: char| c.is_ascii_digit()) { format!("H_{stem}") } else { stem }
}

const PREAMBLE: &str = r#"
#ifdef __cplusplus
extern "C" {
#endif


#include <stdint.h>
#include <stdbool.h>

// EXO_ASSUME tells the C compiler what a proc asserts of its arguments.
// Calling a function with arguments that break its assertions is undefined.

#if defined(__has_builtin)
#  define EXO_HAS_BUILTIN(builtin) __has_builtin(builtin)
#else
#  define EXO_HAS_BUILTIN(builtin) (0)
#endif

#if EXO_HAS_BUILTIN(__builtin_assume)
#  define EXO_ASSUME(expr) __builtin_assume(expr)
#elif EXO_HAS_BUILTIN(__builtin_unreachable)
#  define EXO_ASSUME(expr) ((void)((expr) ? 1 : (__builtin_unreachable(), 1)))
#else
#  define EXO_ASSUME(expr) ((void)(expr))
#endif

"#;

/// The context, the window structs and the public declarations: the part that differs between headers.
pub fn contents(
    context: &Context,
    windows: impl Iterator<Item = WindowStruct>,
    has_bf16: bool,
    declarations: &[String],
) -> String {
    let mut windows: Vec<WindowStruct> = windows.collect();
    windows.sort_by_key(|window| window.name());
    let structs: String = windows.into_iter().map(window_struct).collect();
    let structs = if structs.is_empty() { "\n".to_string() } else { structs };
    let bf16 = if has_bf16 { bfloat::TEXT } else { "" };
    let context = context.definition();
    format!("\n{bf16}{context}{structs}{}", declarations.join("\n"))
}

/// One struct, guarded so that several generated headers can be included together.
fn window_struct(window: WindowStruct) -> String {
    let name = window.name();
    let guard = name.to_ascii_uppercase();
    let constant = if window.constant { "const " } else { "" };
    let (ty, rank) = (window.precision.c_type(), window.rank);
    format!(
        "#ifndef {guard}\n#define {guard}\nstruct {name}{{\n    {constant}{ty} * const data;\n    \
         const int_fast32_t strides[{rank}];\n}};\n#endif\n"
    )
}

/// The whole file around its contents.
pub fn file(header_name: &str, contents: &str) -> String {
    let stem = guard_stem(header_name);
    format!(
        "\n#pragma once\n#ifndef {stem}_H\n#define {stem}_H\n{PREAMBLE}{contents}\n\n\n\
         #ifdef __cplusplus\n}}\n#endif\n#endif  // {stem}_H\n"
    )
}
