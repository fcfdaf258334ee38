//! Unification on procs written as text: the scenarios of spec/02, section 5, both ways.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use super::{could_match, unify};
use crate::cursor::path::{self, BlockPlace, Path, Step};
use crate::print::Names;
use crate::testing::procs;

/// Unifies the last proc but one with a run of statements of the last: its arguments as text.
fn unified(text: &str, parent: &[usize], lo: usize, hi: usize) -> Result<Vec<String>, String> {
    let all = procs(text);
    let [.., callee, proc] = all.as_slice() else { panic!("two procs") };
    let parent = Path(parent.iter().map(|at| Step::Body(*at)).collect());
    let place = BlockPlace { parent, orelse: false, lo, hi };
    let names = Names::of(proc);
    let found = unify(callee, proc, &place);
    if found.is_ok() {
        assert!(could_match(&callee.body, &path::block(proc, &place).unwrap()), "the quick test must let it through");
    }
    found
        .map(|all| all.iter().map(|args| args.iter().map(|e| names.expr(e)).collect::<Vec<_>>().join(", ")).collect())
        .map_err(|mismatch| mismatch.reason)
}

fn first(text: &str, parent: &[usize], lo: usize, hi: usize) -> String {
    unified(text, parent, lo, hi).unwrap().remove(0)
}

const LOAD: &str = r#"
@instr("load")
def load(dst: [f32][8], src: [f32][8]):
    for i in seq(0, 8):
        dst[i] = src[i]
"#;

#[test]
fn exact_body_gives_whole_windows() {
    let text = format!(
        "{LOAD}\n{}",
        r#"
@proc
def p(x: f32[8], y: f32[8]):
    for k in seq(0, 8):
        y[k] = x[k]
"#
    );
    assert_eq!(first(&text, &[], 0, 1), "y[0:8], x[0:8]");
}

#[test]
fn offset_and_rank_reduced_windows() {
    let text = format!(
        "{LOAD}\n{}",
        r#"
@proc
def p(n: size, C: f32[6, 2, 8], A: f32[6, 16]):
    for i in seq(0, 6):
        for j in seq(0, 2):
            for k in seq(0, 8):
                C[i, j, k] = A[i, k + 8 * j]
"#
    );
    assert_eq!(first(&text, &[0, 0], 0, 1), "C[i, j, 0:8], A[i, 8 * j:8 * j + 8]");
}

#[test]
fn point_dimensions_are_chosen_in_lexicographic_order() {
    let text = r#"
@instr("broadcast")
def broadcast(out: [f32][8], val: [f32][1]):
    for i in seq(0, 8):
        out[i] = val[0]
@proc
def p(K: size, a: f32[8], A: f32[6, K]):
    for k in seq(0, K):
        for i in seq(0, 6):
            for l in seq(0, 8):
                a[l] = A[i, k]
"#;
    let all = unified(text, &[0, 0], 0, 1).unwrap();
    assert_eq!(all, ["a[0:8], A[i, k:k + 1]", "a[0:8], A[i:i + 1, k]"]);
}

#[test]
fn transposed_access_fits_no_window() {
    let text = r#"
@instr("tile")
def tile(dst: [f32][4, 4], src: [f32][4, 4]):
    for i in seq(0, 4):
        for j in seq(0, 4):
            dst[i, j] = src[i, j]
@proc
def p(x: f32[4, 4], y: f32[4, 4]):
    for i in seq(0, 4):
        for j in seq(0, 4):
            y[i, j] = x[j, i]
"#;
    assert!(unified(text, &[], 0, 1).is_err());
}

#[test]
fn strided_and_reversed_accesses_do_not_cancel() {
    for access in ["2 * k", "7 - k", "k / 2"] {
        let text = format!(
            "{LOAD}\n@proc\ndef p(x: f32[16], y: f32[8]):\n    for k in seq(0, 8):\n        y[k] = x[{access}]\n"
        );
        assert!(unified(&text, &[], 0, 1).is_err(), "{access}");
    }
}

#[test]
fn sizes_and_opaque_quotients() {
    let text = r#"
@instr("fill")
def fill(n: size, d: [f32][n], v: f32):
    for i in seq(0, n):
        d[i] = v
@proc
def p(K: size, x: f32[K], a: f32):
    assert K >= 16
    for k in seq(0, K / 16):
        x[k] = a
"#;
    assert_eq!(first(text, &[], 0, 1), "K / 16, x[0:K / 16], a");
}

#[test]
fn iterator_under_division_cannot_become_an_argument() {
    let text = r#"
@instr("put")
def put(d: [f32][4], s: [f32][4]):
    for i in seq(0, 4):
        d[i] = s[i]
@proc
def p(x: f32[16], y: f32[16]):
    for o in seq(0, 8):
        for i in seq(0, 4):
            y[i + o / 2] = x[i + i / 4]
"#;
    assert!(unified(text, &[0], 0, 1).is_err());
    let text = text.replace("i + i / 4", "i + o % 4");
    assert_eq!(first(&text, &[0], 0, 1), "y[o / 2:o / 2 + 4], x[o % 4:o % 4 + 4]");
}

#[test]
fn inequalities_are_normalised() {
    for (f, b, n) in [
        ("i < n", "k + m < 8", "-m + 8"),
        ("i < n", "k + m <= 8", "-m + 9"),
        ("i < n", "8 > k + m", "-m + 8"),
        ("i + 1 <= n", "9 >= k + m + 1", "-m + 9"),
    ] {
        let text = format!(
            r#"
@instr("masked")
def masked(n: index, d: [f32][8]):
    for i in seq(0, 8):
        if {f}:
            d[i] = 0.0
@proc
def p(m: size, x: f32[8]):
    for k in seq(0, 8):
        if {b}:
            x[k] = 0.0
"#
        );
        let expected = format!("{}, x[0:8]", n.replace("-m + ", "").to_string() + " - m");
        assert_eq!(first(&text, &[], 0, 1), expected, "{f} against {b}");
    }
}

#[test]
fn equality_is_not_an_inequality() {
    let text = r#"
@instr("masked")
def masked(n: index, d: [f32][8]):
    for i in seq(0, 8):
        if i < n:
            d[i] = 0.0
@proc
def p(m: size, x: f32[8]):
    for k in seq(0, 8):
        if k == m:
            x[k] = 0.0
"#;
    assert!(unified(text, &[], 0, 1).is_err());
}

#[test]
fn boolean_parameter_takes_a_condition_from_outside() {
    let text = r#"
@instr("maybe")
def maybe(c: bool, d: [f32][8]):
    for i in seq(0, 8):
        if c:
            d[i] = 0.0
@proc
def p(m: size, x: f32[8]):
    for k in seq(0, 8):
        if m < 4:
            x[k] = 0.0
"#;
    assert_eq!(first(text, &[], 0, 1), "m < 4, x[0:8]");
    assert!(unified(&text.replace("m < 4", "k < 4"), &[], 0, 1).is_err());
}

#[test]
fn one_parameter_is_one_buffer() {
    let text = r#"
@instr("double")
def double(d: [f32][8], a: [f32][8]):
    for i in seq(0, 8):
        d[i] = a[i] + a[i]
@proc
def p(x: f32[8], z: f32[8], y: f32[8]):
    for i in seq(0, 8):
        y[i] = x[i] + z[i]
"#;
    assert!(unified(text, &[], 0, 1).unwrap_err().contains("both"));
    assert_eq!(first(&text.replace("z[i]", "x[i]"), &[], 0, 1), "y[0:8], x[0:8]");
}

#[test]
fn statements_must_be_all_there_and_nothing_more() {
    let text = r#"
@instr("two")
def two(d: [f32][2], v: f32):
    d[0] = v
    d[1] = v
@proc
def p(x: f32[4], a: f32):
    x[1] = a
    x[2] = a
    x[3] = a
"#;
    assert_eq!(first(text, &[], 0, 2), "x[1:3], a");
    assert!(unified(text, &[], 0, 3).is_err());
    assert!(unified(text, &[], 0, 1).is_err());
}

#[test]
fn temporaries_match_and_must_not_escape() {
    let text = r#"
@instr("scaled")
def scaled(d: [f32][8], s: [f32][8]):
    t: f32
    for i in seq(0, 8):
        t = s[i] * 2.0
        d[i] = t
@proc
def p(x: f32[8], y: f32[8], z: f32):
    w: f32
    for i in seq(0, 8):
        w = x[i] * 2.0
        y[i] = w
    z = 1.0
"#;
    assert_eq!(first(text, &[], 0, 2), "y[0:8], x[0:8]");
    assert!(unified(&text.replace("z = 1.0", "z = w"), &[], 0, 2).is_err());
    assert!(unified(&text.replace("w: f32", "w: f64"), &[], 0, 2).is_err());
}

#[test]
fn loop_modes_bounds_and_operators_count() {
    let text = format!("{LOAD}\n@proc\ndef p(x: f32[9], y: f32[9]):\n    for k in seq(0, 8):\n        y[k] = x[k]\n");
    assert!(unified(&text, &[], 0, 1).is_ok());
    for (from, to) in [
        ("for k in seq(0, 8)", "for k in par(0, 8)"),
        ("seq(0, 8):\n        y", "seq(1, 9):\n        y"),
        ("= x[k]", "+= x[k]"),
        ("= x[k]", "= x[k] + 1.0"),
    ] {
        assert!(unified(&text.replace(from, to), &[], 0, 1).is_err(), "{to}");
    }
}

#[test]
fn dense_parameters_need_the_whole_buffer() {
    let text = r#"
@instr("dense")
def dense(n: size, d: f32[n, 8], s: f32[n, 8]):
    for i in seq(0, n):
        for j in seq(0, 8):
            d[i, j] = s[i, j]
@proc
def p(m: size, x: f32[m, 8], y: f32[m, 8]):
    for i in seq(0, m):
        for j in seq(0, 8):
            y[i, j] = x[i, j]
"#;
    assert_eq!(first(text, &[], 0, 1), "m, y, x");
    assert!(unified(&text.replace("x: f32[m, 8]", "x: f32[m, 9]"), &[], 0, 1).is_err());
}

#[test]
fn unused_parameters_get_a_harmless_value() {
    let text = r#"
@proc
def lazy(n: size, k: index, b: bool, d: [f32][8]):
    for i in seq(0, 8):
        d[i] = 0.0
@proc
def p(x: f32[8]):
    for i in seq(0, 8):
        x[i] = 0.0
"#;
    assert_eq!(first(text, &[], 0, 1), "1, 0, False, x[0:8]");
}

#[test]
fn the_text_of_an_instruction_gets_no_argument_that_was_made_up() {
    let text = r#"
@instr("lazy({N})")
def lazy(n: size, d: [f32][8]):
    for i in seq(0, 8):
        d[i] = 0.0
@proc
def p(x: f32[8]):
    for i in seq(0, 8):
        x[i] = 0.0
"#;
    assert_eq!(unified(&text.replace("{N}", "{n}"), &[], 0, 1).unwrap_err(), "nothing in the block says what `n` is");
    // The extent of a window that no access reaches the end of says nothing either.
    let open = text
        .replace("[f32][8]", "[f32][n]")
        .replace("    for i in seq(0, 8):\n        d", "    assert n >= 8\n    for i in seq(0, 8):\n        d");
    assert!(unified(&open, &[], 0, 1).is_err());
    let flag = text.replace("n: size", "n: bool");
    assert_eq!(unified(&flag, &[], 0, 1).unwrap_err(), "nothing in the block stands for `n`");
}

#[test]
fn two_unknowns_in_one_equation() {
    let text = r#"
@instr("sum")
def sum(a: size, b: size, d: [f32][8]):
    for i in seq(0, a + b):
        d[0] += 1.0
@proc
def p(n: size, x: f32[8]):
    for i in seq(0, n + 3):
        x[0] += 1.0
"#;
    let text = first(text, &[], 0, 1);
    assert!(text == "n + 2, 1, x[0:8]" || text == "1, n + 2, x[0:8]", "{text}");
}

#[test]
fn bounds_may_be_parameters() {
    let text = r#"
@instr("range")
def range(lo: index, hi: index, d: [f32][16]):
    assert 0 <= lo
    assert lo <= hi
    assert hi <= 16
    for i in seq(lo, hi):
        d[i] = 0.0
@proc
def p(x: f32[32]):
    for k in seq(2, 10):
        x[k + 4] = 0.0
"#;
    assert_eq!(first(text, &[], 0, 1), "2, 10, x[4:20]");
}

#[test]
fn calls_and_windows_inside_the_body() {
    let text = r#"
@proc
def row(n: size, d: [f32][n]):
    for i in seq(0, n):
        d[i] = 0.0
@instr("rows")
def rows(n: size, d: f32[n, 8]):
    for i in seq(0, n):
        row(8, d[i, 0:8])
        w = d[i, 0:4]
        w[0] = 1.0
@proc
def p(m: size, x: f32[m, 8], y: f32[8, m]):
    for k in seq(0, m):
        row(8, x[k, 0:8])
        v = x[k, 0:4]
        v[0] = 1.0
"#;
    assert_eq!(first(text, &[], 0, 1), "m, x");
    for (from, to) in [
        ("row(8, x[k, 0:8])", "row(4, x[k, 0:4])"),
        ("row(8, x[k, 0:8])", "row(m, y[3, 0:m])"),
        ("v = x[k, 0:4]", "v = x[k, 1:5]"),
        ("v[0] = 1.0", "v[1] = 1.0"),
    ] {
        assert!(unified(&text.replace(from, to), &[], 0, 1).is_err(), "{to}");
    }
}

#[test]
fn strides_of_windows_say_which_dimensions_they_run_along() {
    let text = r#"
@proc
def guarded(s: stride, d: [f32][8]):
    for i in seq(0, 8):
        if stride(d, 0) == s:
            d[i] = 0.0
@proc
def p(x: f32[9, 8, 8], y: f32[8]):
    for k in seq(0, 8):
        if stride(x, 1) == 1:
            x[k + 1, k, 3] = 0.0
"#;
    assert!(unified(text, &[], 0, 1).is_err());
    let column = text.replace("x[k + 1, k, 3]", "x[2, k, 3]");
    assert_eq!(first(&column, &[], 0, 1), "1, x[2, 0:8, 3]");
    for (from, to) in
        [("stride(x, 1)", "stride(x, 0)"), ("stride(x, 1)", "stride(x, 2)"), ("stride(x, 1)", "stride(y, 0)")]
    {
        assert!(unified(&column.replace(from, to), &[], 0, 1).is_err(), "{to}");
    }
    // Where only strides are used, the window may lie anywhere along the right dimensions.
    let strides = r#"
@proc
def pitches(d: [f32][4, 2]):
    if stride(d, 0) == stride(d, 1):
        pass
@proc
def p(x: f32[9, 8, 8]):
    if stride(x, 0) == stride(x, 2):
        pass
"#;
    assert_eq!(first(strides, &[], 0, 1), "x[0:4, 0, 0:2]");
    assert!(unified(&strides.replace("stride(x, 2)", "stride(x, 0)"), &[], 0, 1).is_err());
    assert!(
        unified(&strides.replace("stride(x, 0) == stride(x, 2)", "stride(x, 2) == stride(x, 0)"), &[], 0, 1).is_err()
    );
}

#[test]
fn a_write_of_a_stride_is_an_instruction_on_a_window() {
    let text = r#"
@instr("set_pitch({x}.strides[0]);")
def set_pitch(x: [f32][4, 4]):
    Cfg.pitch = stride(x, 0)
@proc
def p(y: f32[8, 16]):
    Cfg.pitch = stride(y, 0)
"#;
    assert_eq!(first(text, &[], 0, 1), "y[0:4, 0:4]");
    assert!(unified(&text.replace("stride(y, 0)", "stride(y, 1)"), &[], 0, 1).is_err());
}

#[test]
fn strides_of_whole_buffers_are_compared() {
    let text = r#"
@instr("guarded")
def guarded(s: stride, d: f32[8]):
    for i in seq(0, 8):
        if stride(d, 0) == s:
            d[i] = 0.0
@proc
def p(x: f32[8]):
    for k in seq(0, 8):
        if stride(x, 0) == 1:
            x[k] = 0.0
"#;
    assert_eq!(first(text, &[], 0, 1), "1, x");
    let windowed = text.replace("d: f32[8]", "d: [f32][8]");
    assert_eq!(first(&windowed, &[], 0, 1), "1, x[0:8]");
}
