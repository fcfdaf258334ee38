//! What object code has instead of functions that other languages have.

/// The hint for a name of host code, of C or of Python that object code does not know.
pub(super) fn of(name: &str) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use super::of;
    use crate::hardware::extern_function::ExternFunction;

    #[test]
    fn what_is_offered_exists() {
        for name in ["max", "min", "abs", "exp", "sqrtf", "clip"] {
            let hint = of(name).unwrap_or_default();
            let offered = ExternFunction::builtin().iter().any(|function| hint.contains(function.name.as_str()));
            assert!(offered, "{name}: {hint}");
        }
        assert_eq!(of("nothing"), None);
    }
}
