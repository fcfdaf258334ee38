//! C identifiers for symbols and procs: unique where they live, and never a word that C or its library owns.

/// Keywords of C11 and of C++ (headers are read by both), and macros of the headers that generated code includes.
const WORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "typeof",
    "typeof_unqual",
    "main",
    "ctxt",
    // Object-like macros of the standard headers and of compilers in GNU mode.
    "BUFSIZ",
    "EOF",
    "EXIT_FAILURE",
    "EXIT_SUCCESS",
    "FILENAME_MAX",
    "FOPEN_MAX",
    "HUGE_VAL",
    "HUGE_VALF",
    "HUGE_VALL",
    "INFINITY",
    "L_tmpnam",
    "MATH_ERREXCEPT",
    "MATH_ERRNO",
    "MB_CUR_MAX",
    "NAN",
    "NULL",
    "RAND_MAX",
    "SEEK_CUR",
    "SEEK_END",
    "SEEK_SET",
    "TMP_MAX",
    "errno",
    "i386",
    "linux",
    "math_errhandling",
    "stderr",
    "stdin",
    "stdout",
    "unix",
    "exo_allocate",
    "exo_floor_div",
    "exo_floor_mod",
];

/// Functions and types of the C library that generated code and instruction texts call, or that gcc and clang know.
const LIBRARY: &[&str] = &[
    "abort",
    "abs",
    "acos",
    "acosf",
    "acosh",
    "aligned_alloc",
    "asin",
    "asinf",
    "asinh",
    "assert",
    "atan",
    "atan2",
    "atan2f",
    "atanf",
    "atanh",
    "atexit",
    "atof",
    "atoi",
    "atol",
    "bsearch",
    "calloc",
    "cbrt",
    "cbrtf",
    "ceil",
    "ceilf",
    "clearerr",
    "copysign",
    "copysignf",
    "cos",
    "cosf",
    "cosh",
    "coshf",
    "div",
    "erf",
    "erfc",
    "erff",
    "exit",
    "exp",
    "exp2",
    "exp2f",
    "expf",
    "expm1",
    "fabs",
    "fabsf",
    "fclose",
    "fdim",
    "feof",
    "ferror",
    "fflush",
    "fgetc",
    "fgets",
    "floor",
    "floorf",
    "fma",
    "fmaf",
    "fmax",
    "fmaxf",
    "fmin",
    "fminf",
    "fmod",
    "fmodf",
    "fopen",
    "fprintf",
    "fputc",
    "fputs",
    "fread",
    "free",
    "free_dram",
    "frexp",
    "fscanf",
    "fseek",
    "ftell",
    "fwrite",
    "getc",
    "getchar",
    "getenv",
    "hypot",
    "hypotf",
    "ilogb",
    "index",
    "labs",
    "ldexp",
    "ldexpf",
    "ldiv",
    "lgamma",
    "llabs",
    "llrint",
    "llround",
    "log",
    "log10",
    "log10f",
    "log1p",
    "log2",
    "log2f",
    "logb",
    "logf",
    "lrint",
    "lround",
    "malloc",
    "malloc_dram",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "modf",
    "nan",
    "nearbyint",
    "nextafter",
    "perror",
    "pow",
    "powf",
    "printf",
    "putc",
    "putchar",
    "puts",
    "qsort",
    "quick_exit",
    "rand",
    "realloc",
    "remainder",
    "remove",
    "remquo",
    "rename",
    "rewind",
    "rint",
    "rintf",
    "round",
    "roundf",
    "scalbn",
    "scanf",
    "setbuf",
    "setvbuf",
    "signal",
    "sin",
    "sinf",
    "sinh",
    "sinhf",
    "snprintf",
    "sprintf",
    "sqrt",
    "sqrtf",
    "srand",
    "sscanf",
    "strcat",
    "strchr",
    "strcmp",
    "strcpy",
    "strlen",
    "strncmp",
    "strncpy",
    "strtod",
    "strtol",
    "system",
    "tan",
    "tanf",
    "tanh",
    "tanhf",
    "tgamma",
    "tmpfile",
    "tmpnam",
    "trunc",
    "truncf",
    "ungetc",
    "vfprintf",
    "vprintf",
    "size_t",
    "ptrdiff_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "int_fast32_t",
    "intptr_t",
    "uintptr_t",
];

/// Bessel functions: harmless as variables, but a function of that name clashes with the C library's.
const FUNCTIONS_ONLY: &[&str] = &["j0", "j1", "jn", "y0", "y1", "yn", "gamma", "signgam"];

/// Words that are in the way only as functions, not as variables: shadowing them is harmless.
const HARMLESS_VARIABLES: &[&str] = &["index", "div", "nan", "remainder", "signal"];

/// Whether a function of external linkage cannot have this name in C and C++.
pub fn is_reserved_function(name: &str) -> bool {
    name.starts_with("__")
        || is_internal(name)
        || WORDS.contains(&name)
        || LIBRARY.contains(&name)
        || FUNCTIONS_ONLY.contains(&name)
        || is_macro_family(name)
}

/// Whether a name is of a family of object-like macros of the standard headers: limits of types, classes of floating-point
/// numbers, and the constants and states that compilers in GNU mode add.
fn is_macro_family(name: &str) -> bool {
    const TYPES: [&str; 19] = [
        "INT",
        "UINT",
        "SIZE_",
        "PTRDIFF_",
        "SIG_ATOMIC_",
        "WCHAR_",
        "WINT_",
        "CHAR_",
        "SCHAR_",
        "UCHAR_",
        "SHRT_",
        "USHRT_",
        "LONG_",
        "ULONG_",
        "LLONG_",
        "ULLONG_",
        "FLT_",
        "DBL_",
        "LDBL_",
    ];
    const OTHERS: [&str; 28] = [
        "CHAR_BIT",
        "P_tmpdir",
        "WNOHANG",
        "WUNTRACED",
        "WSTOPPED",
        "WEXITED",
        "WCONTINUED",
        "WNOWAIT",
        "FP_NAN",
        "FP_INFINITE",
        "FP_ZERO",
        "FP_SUBNORMAL",
        "FP_NORMAL",
        "FP_ILOGB0",
        "FP_ILOGBNAN",
        "M_E",
        "M_LOG2E",
        "M_LOG10E",
        "M_LN2",
        "M_LN10",
        "M_PI",
        "M_PI_2",
        "M_PI_4",
        "M_1_PI",
        "M_2_PI",
        "M_2_SQRTPI",
        "M_SQRT2",
        "M_SQRT1_2",
    ];
    let is_limit = ["_MAX", "_MIN", "_WIDTH"].iter().any(|end| name.ends_with(end));
    (is_limit && TYPES.iter().any(|start| name.starts_with(start))) || OTHERS.contains(&name)
}

/// Whether C or its library has another meaning for the name of a variable.
pub fn is_reserved_variable(name: &str) -> bool {
    WORDS.contains(&name) || is_macro_family(name) || (LIBRARY.contains(&name) && !HARMLESS_VARIABLES.contains(&name))
}

/// Whether a name belongs to what this compiler or the implementation of C adds.
fn is_internal(name: &str) -> bool {
    ["_relu_", "_select_", "_sigmoid_", "exo_win_", "exo_bf16", "EXO_", "__"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || (name.starts_with('_') && name.chars().nth(1).is_some_and(|c| c.is_ascii_uppercase()))
}

/// The spelling reduced to what C identifiers may contain, outside the names that belong to the compiler.
pub fn identifier(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            out.push(c);
        } else {
            out.push_str(&format!("u{:x}", c as u32));
        }
    }
    if is_internal(&out) || out.chars().next().is_none_or(|c| c.is_ascii_digit()) {
        out.insert(0, 'v');
    }
    out
}

/// How many numbers are tried before a name is given up.
const NUMBERS: u32 = 1 << 16;

/// The first of `base`, `base_1`, `base_2`, … and `base_v1`, `base_v2`, … that is free; a base that ends in a number counts on from it.
/// Where none is, one that is taken, which the caller has to refuse if that can be.
pub fn unused(base: &str, taken: &dyn Fn(&str) -> bool) -> String {
    if !taken(base) {
        return base.to_string();
    }
    let (stem, from) = match base.rsplit_once('_') {
        Some((stem, number)) if !stem.is_empty() && !number.is_empty() && !number.starts_with('0') => {
            match number.parse::<u32>() {
                Ok(number) => (stem, number.saturating_add(1)),
                Err(_) => (base, 1),
            }
        }
        Some(_) | None => (base, 1),
    };
    // Texts may make words of names and numbers, so that no number would do.
    let numbers = || (0..NUMBERS).map(|more| from.wrapping_add(more));
    let names = numbers().map(|number| format!("{stem}_{number}"));
    let others = numbers().map(|number| format!("{stem}_v{number}"));
    let mut all = names.chain(others);
    all.find(|name| !taken(name)).unwrap_or_else(|| format!("{stem}_{from}"))
}
