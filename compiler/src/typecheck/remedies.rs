//! What object code has instead of functions that other languages have.

use crate::diagnostic::nearest;
use crate::hardware::precision::Precision;

/// The hint for a name of host code, of C or of Python that object code does not know.
pub(crate) fn of(name: &str) -> Option<&'static str> {
    Some(match name {
        "max" | "fmax" | "maximum" => {
            "`fmaxf(a, b)` is the larger of two data values; sizes and indices have no such function: bound a loop with `if`"
        }
        "min" | "fmin" | "fminf" | "minimum" => {
            "`select(a, b, a, b)` is the smaller of two data values; sizes and indices have no such function: bound a loop \
             with `if`"
        }
        "abs" | "fabs" | "fabsf" => "`select(x, 0.0, -x, x)` is the absolute value of data",
        "exp" => "the extern is called `expf`; it works at every precision",
        "sqrtf" | "sinf" => "the externs are called `sqrt` and `sin`; they work at every precision",
        "clip" | "clamp" => "`fmaxf(lo, select(x, hi, x, hi))` limits data",
        "pow" => "write a product",
        "cos" | "tan" | "tanh" | "log" | "logf" | "floor" | "ceil" | "round" | "erf" | "rsqrt" => {
            "make an extern of your own in host code, `extern(\"name\", c = ...)`: see `exo help extern`"
        }
        "sum" => "write a loop that adds up: `s += x[i]`",
        "len" => "the sizes of buffers are parameters of the proc",
        "print" => "object code only computes; print the proc, or its C, in host code",
        "float" | "int" | "f16" | "f32" | "f64" | "bf16" | "i8" | "i16" | "i32" | "i64" | "ui8" | "ui16" | "ui32" => {
            "assign the value to a scalar of the other precision: only an assignment converts"
        }
        "range" => "a loop runs over `seq(lo, hi)` or `par(lo, hi)`",
        _ => return None,
    })
}

/// The hint for a type of other languages, or a misspelt one.
pub(super) fn of_type(name: &str) -> Option<String> {
    Some(match name {
        "int" => {
            "a number that shapes an array is a `size`, another one that counts is an `index`; integer data is `i32` \
                  and the like"
                .to_string()
        }
        "float" | "single" | "np.float32" => "data of 32 bits is `f32`".to_string(),
        "double" | "np.float64" => "data of 64 bits is `f64`".to_string(),
        "half" | "float16" | "np.float16" => "data of 16 bits is `f16` or `bf16`".to_string(),
        "uint8" | "u8" | "uint16" | "u16" | "uint32" | "u32" => {
            "integers without sign are `ui8`, `ui16` and `ui32`".to_string()
        }
        window if window.starts_with('[') => "a window has its extents after the brackets: `[f32][n]`".to_string(),
        _ => {
            let control = ["size", "index", "bool", "stride"].into_iter();
            let near = nearest(name, control.chain(Precision::ALL.iter().map(|precision| precision.word())));
            format!("there is a similar name: `{}`", near.first()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{of, of_type};
    use crate::hardware::extern_function::ExternFunction;

    #[test]
    fn what_is_offered_exists() {
        for name in ["max", "min", "abs", "exp", "sqrtf", "clip"] {
            let hint = of(name).unwrap_or_default();
            let offered = ExternFunction::builtin().iter().any(|function| hint.contains(function.name.as_str()));
            assert!(offered, "{name}: {hint}");
        }
        assert_eq!(of("nothing"), None);
        assert_eq!(of_type("szie").unwrap_or_default(), "there is a similar name: `size`");
        assert_eq!(of_type("f33").unwrap_or_default(), "there is a similar name: `f32`");
        assert!(of_type("[f32]").is_some_and(|hint| hint.contains("`[f32][n]`")));
        assert_eq!(of_type("Matrix"), None);
    }
}
