//! `expand_dim`, `divide_dim`, `mult_dim`, `rearrange_dim`, `lift_alloc`, `delete_buffer`.

use crate::schedule::procedure::Procedure;
use crate::schedule::testing::*;

fn temporary() -> Procedure {
    procedure(
        "
        @proc
        def f(n: size, x: f32[n, 8], y: f32[n, 8]):
            for i in seq(0, n):
                for j in seq(0, 8):
                    t: f32
                    t = x[i, j]
                    y[i, j] = t + t
        ",
    )
}

#[test]
fn expand_and_lift() {
    let p = temporary();
    let q = step("expand_dim", &p, arguments!["t", 8i64, "j"]);
    assert_eq!(now(&q, &cursor(&p, "t = _")).unwrap(), "t[j] = x[i, j]");
    let q = step("expand_dim", &q, arguments!["t", "n", "i"]);
    let q = step("lift_alloc", &q, arguments!["t", 2i64]);
    prints(
        &q,
        "
        def f(n: size, x: f32[n, 8] @ DRAM, y: f32[n, 8] @ DRAM):
            t: f32[n, 8] @ DRAM
            for i in seq(0, n):
                for j in seq(0, 8):
                    t[i, j] = x[i, j]
                    y[i, j] = t[i, j] + t[i, j]
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "t: _")).unwrap(), "t: f32[n, 8] @ DRAM");
    assert_eq!(now(&q, &cursor(&p, "for i in _: _")).unwrap(), "for i in seq(0, n):");
}

/// F25: the index must stay inside the new dimension, which must be positive.
#[test]
fn expand_checks_bounds() {
    let p = temporary();
    for (extent, index) in [("8", "j + 1"), ("8", "j - 1"), ("7", "j"), ("n - 1", "0"), ("0", "0"), ("n", "j")] {
        refused("expand_dim", &p, arguments!["t", extent, index]);
    }
    step("expand_dim", &p, arguments!["t", "n + 1", "i + 1"]);
    step("expand_dim", &p, arguments!["t", "8", "7 - j"]);
}

#[test]
fn expand_goes_through_windows_and_calls() {
    let p = procedure(
        "
        @proc
        def use(d: [f32][8], s: [f32][8]):
            assert stride(s, 0) == 1
            for k in seq(0, 8):
                d[k] = s[k]
        @proc
        def f(x: f32[4, 8], y: f32[4, 8]):
            for i in seq(0, 4):
                t: f32[8]
                for k in seq(0, 8):
                    t[k] = x[i, k]
                w = t[0:8]
                use(y[i, 0:8], t)
                use(y[i, 0:8], t[0:8])
                w[0] = 1.0
        ",
    );
    let q = step("expand_dim", &p, arguments!["t", 4i64, "i"]);
    let text = crate::print::proc(q.ir());
    assert!(text.contains("use(y[i, 0:8], t[i, 0:8])\n"), "{text}");
    assert!(text.contains("w = t[i, 0:8]\n"), "{text}");
    // Permuted, the row is no longer contiguous.
    refused("rearrange_dim", &q, arguments!["t", [1i64, 0]]);
}

#[test]
fn divide_dim_needs_a_divisor_and_point_windows() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n]):
            assert n % 4 == 0
            t: f32[n]
            for i in seq(0, n):
                t[i] = x[i]
            for i in seq(0, n):
                x[i] = t[i] * 2.0
        ",
    );
    let q = step("divide_dim", &p, arguments!["t", 0i64, 4i64]);
    assert_eq!(now(&q, &cursor(&p, "t[_] = _")).unwrap(), "t[i / 4, i % 4] = x[i]");
    assert_eq!(now(&q, &cursor(&p, "t: _")).unwrap(), "t: f32[n / 4, 4] @ DRAM");
    refused("divide_dim", &p, arguments!["t", 0i64, 3i64]);
    refused("divide_dim", &p, arguments!["t", 1i64, 4i64]);
    refused("divide_dim", &p, arguments!["t", -1i64, 4i64]);
    let windowed = procedure(
        "
        @proc
        def f(x: f32[8, 8]):
            t: f32[8, 8]
            w = t[3, 0:8]
            for i in seq(0, 8):
                w[i] = x[3, i]
                x[3, i] = t[3, i]
        ",
    );
    step("divide_dim", &windowed, arguments!["t", 0i64, 4i64]);
    refused("divide_dim", &windowed, arguments!["t", 1i64, 4i64]);
}

#[test]
fn mult_dim_both_ways() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n, 4]):
            t: f32[n, 4]
            for i in seq(0, n):
                for j in seq(0, 4):
                    t[i, j] = x[i, j]
            for i in seq(0, n):
                for j in seq(0, 4):
                    x[i, j] = t[i, j] + 1.0
        ",
    );
    let q = step("mult_dim", &p, arguments!["t", 0i64, 1i64]);
    assert_eq!(now(&q, &cursor(&p, "t[_] = _")).unwrap(), "t[4 * i + j] = x[i, j]");
    assert_eq!(crate::print::proc(p.ir()).matches("t[i, j]").count(), 2, "the input stays as it was");
    refused("mult_dim", &p, arguments!["t", 1i64, 0i64]);
    refused("mult_dim", &p, arguments!["t", 0i64, 0i64]);
    refused("mult_dim", &p, arguments!["t", 0i64, 2i64]);
}

#[test]
fn rearrange_dim_wants_a_permutation() {
    let p = procedure(
        "
        @proc
        def f(x: f32[4, 8, 2]):
            t: f32[4, 8, 2]
            s: f32
            for i in seq(0, 4):
                for j in seq(0, 8):
                    for k in seq(0, 2):
                        t[i, j, k] = x[i, j, k]
                        s = t[i, j, k]
                        x[i, j, k] = s
        ",
    );
    let q = step("rearrange_dim", &p, arguments!["t", [2i64, 0, 1]]);
    assert_eq!(now(&q, &cursor(&p, "t[_] = _")).unwrap(), "t[k, i, j] = x[i, j, k]");
    assert_eq!(now(&q, &cursor(&p, "t: _")).unwrap(), "t: f32[2, 4, 8] @ DRAM");
    for wrong in [vec![1i64, 1, 0], vec![0, 1], vec![0, 1, 3]] {
        let list = crate::schedule::argument::RawValue::List(wrong.into_iter().map(Into::into).collect());
        refused("rearrange_dim", &p, arguments!["t", list]);
    }
    let empty: [i64; 0] = [];
    refused("rearrange_dim", &p, arguments!["s", empty]);
}

#[test]
fn lift_alloc_limits() {
    let p = temporary();
    refused("lift_alloc", &p, arguments!["t", 3i64]);
    let shaped = procedure(
        "
        @proc
        def f(n: size, x: f32[n]):
            for i in seq(0, n):
                t: f32[i + 1]
                t[i] = 1.0
                x[i] = t[i]
            if n > 4:
                u: f32[n - 4]
                u[0] = 1.0
                x[0] = u[0]
        ",
    );
    refused("lift_alloc", &shaped, arguments!["t"]);
    refused("lift_alloc", &shaped, arguments!["u"]);
    let parallel = procedure(
        "
        @proc
        def f(x: f32[8]):
            for i in par(0, 8):
                t: f32
                t = x[i]
                x[i] = t + t
        ",
    );
    refused("lift_alloc", &parallel, arguments!["t"]);
    let expanded = step("expand_dim", &parallel, arguments!["t", 8i64, "i"]);
    step("lift_alloc", &expanded, arguments!["t"]);
}

#[test]
fn delete_buffer_needs_an_unused_one() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8]):
            t: f32[8]
            u: f32
            u = 1.0
            x[0] = u
        ",
    );
    let q = step("delete_buffer", &p, arguments!["t"]);
    assert_eq!(now(&q, &cursor(&p, "t: _")), None);
    assert_eq!(now(&q, &cursor(&p, "u = _")).unwrap(), "u = 1.0");
    refused("delete_buffer", &p, arguments!["u"]);
}

#[test]
fn resize_shifts_and_checks_bounds() {
    let text = "
        @proc
        def use(d: [f32][4]):
            for k in seq(0, 4):
                d[k] += 1.0
        @proc
        def f(n: size, x: f32[n + 8]):
            for i in seq(0, n):
                t: f32[n + 8]
                for k in seq(0, 8):
                    t[i + k] = x[i + k]
                w = t[i:i + 8]
                use(t[i + 2:i + 6])
                w[0] += 1.0
                for k in seq(0, 8):
                    x[i + k] = t[i + k]
        ";
    let p = procedure(text);
    let q = step("resize_dim", &p, arguments!["t", 0i64, 8i64, "i"]);
    assert_eq!(now(&q, &cursor(&p, "t: _")).unwrap(), "t: f32[8] @ DRAM");
    assert_eq!(now(&q, &cursor(&p, "t[_] = _")).unwrap(), "t[i + k - i] = x[i + k]");
    assert!(crate::print::proc(q.ir()).contains("use(t[i + 2 - i:i + 6 - i])"));
    step("resize_dim", &p, arguments!["t", 0i64, "n + 16", "0 - 2"]);
    refused("resize_dim", &p, arguments!["t", 0i64, 7i64, "i"]);
    refused("resize_dim", &p, arguments!["t", 0i64, 8i64, "i + 1"]);
    refused("resize_dim", &p, arguments!["t", 0i64, "n", 0i64]);
    refused("resize_dim", &p, arguments!["t", 1i64, 8i64, "i"]);
    refused("resize_dim", &p, arguments!["t", 0i64, 8i64, "i"; fold = true]);
}

#[test]
fn fold_a_sliding_window() {
    let blur = |reach: i64| {
        procedure(&format!(
            "
        @proc
        def blur(n: size, x: f32[n + 8], y: f32[n]):
            t: f32[n + 8]
            for i in seq(0, 2):
                t[i] = x[i]
            for i in seq(0, n):
                t[i + 2] = x[i + 2]
                y[i] = t[i] + t[i + 1] + t[i + {reach}]
        "
        ))
    };
    let p = blur(2);
    let q = step("resize_dim", &p, arguments!["t", 0i64, 3i64, 0i64; fold = true]);
    prints(
        &q,
        "
        def blur(n: size, x: f32[n + 8] @ DRAM, y: f32[n] @ DRAM):
            t: f32[3] @ DRAM
            for i in seq(0, 2):
                t[i % 3] = x[i]
            for i in seq(0, n):
                t[(i + 2) % 3] = x[i + 2]
                y[i] = t[i % 3] + t[(i + 1) % 3] + t[(i + 2) % 3]
        ",
    );
    step("resize_dim", &p, arguments!["t", 0i64, 5i64, 0i64; fold = true]);
    refused("resize_dim", &p, arguments!["t", 0i64, 2i64, 0i64; fold = true]);
    refused("resize_dim", &p, arguments!["t", 0i64, "n", 0i64; fold = true]);
}

#[test]
fn fold_keeps_rows_apart_and_sees_repetition() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8, 4], y: f32[8, 4]):
            t: f32[8, 4]
            for i in seq(0, 8):
                for j in seq(0, 4):
                    t[i, j] = x[i, j]
                for j in seq(0, 4):
                    y[i, j] = t[i, j]
        ",
    );
    step("resize_dim", &p, arguments!["t", 0i64, 1i64, 0i64; fold = true]);
    refused("resize_dim", &p, arguments!["t", 1i64, 2i64, 0i64; fold = true]);
    let twice = procedure(
        "
        @proc
        def f(x: f32[8], y: f32[8]):
            t: f32[8]
            for r in seq(0, 2):
                for i in seq(0, 8):
                    t[i] = x[i]
                    y[i] = t[i]
        ",
    );
    refused("resize_dim", &twice, arguments!["t", 0i64, 4i64, 0i64; fold = true]);
    let branch = procedure(
        "
        @proc
        def f(n: size, x: f32[n + 2], y: f32[n]):
            t: f32[n + 2]
            for i in seq(0, n):
                if i == 0:
                    t[0] = x[0]
                t[i + 1] = x[i + 1]
                y[i] = t[i] + t[i + 1]
        ",
    );
    step("resize_dim", &branch, arguments!["t", 0i64, 2i64, 0i64; fold = true]);
}

#[test]
fn a_scalar_passed_by_name_cannot_become_an_element() {
    let p = procedure(
        "
        @proc
        def set(s: f32):
            s = 1.0
        @proc
        def f(x: f32[8]):
            for i in seq(0, 8):
                t: f32
                set(t)
                x[i] = t
        ",
    );
    refused("expand_dim", &p, arguments!["t", 8i64, "i"]);
    step("lift_alloc", &p, arguments!["t"]);
}
