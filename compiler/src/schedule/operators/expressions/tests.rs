//! Tests of the expression operators.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::diagnostic::RefusalKind;
use crate::schedule::testing::*;

#[test]
fn bind_one_expression() {
    let p = procedure(
        "
        @proc
        def f(A: f32[6, 16], B: f32[16, 6], C: f32[6, 6]):
            for i in seq(0, 6):
                for j in seq(0, 6):
                    for k in seq(0, 16):
                        C[i, j] += A[i, k] * B[k, j]
        ",
    );
    let statement = cursor(&p, "C[_] += _");
    let operand = cursor(&p, "A[_]");
    let q = step("bind_expr", &p, arguments!["A[_]", "a"]);
    prints(
        &q,
        "
        def f(A: f32[6, 16] @ DRAM, B: f32[16, 6] @ DRAM, C: f32[6, 6] @ DRAM):
            for i in seq(0, 6):
                for j in seq(0, 6):
                    for k in seq(0, 16):
                        a: f32 @ DRAM
                        a = A[i, k]
                        C[i, j] += a * B[k, j]
        ",
    );
    assert_eq!(now(&q, &statement).unwrap(), "C[i, j] += a * B[k, j]");
    assert_eq!(now(&q, &operand).unwrap(), "a");
    let product = step("bind_expr", &p, arguments!["_ * _", "p"]);
    assert!(crate::print::proc(product.ir()).contains("p = A[i, k] * B[k, j]"));
}

#[test]
fn bind_several_and_leave_others() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8], y: f32[8], z: f32[8]):
            for i in seq(0, 8):
                y[i] = x[i] + x[0]
                if i < 4:
                    z[i] = x[i] * 2.0
        ",
    );
    let q = step("bind_expr", &p, arguments![all(&p, "x[_]"), "t"]);
    prints(
        &q,
        "
        def f(x: f32[8] @ DRAM, y: f32[8] @ DRAM, z: f32[8] @ DRAM):
            for i in seq(0, 8):
                t: f32 @ DRAM
                t = x[i]
                y[i] = t + x[0]
                if i < 4:
                    z[i] = t * 2.0
        ",
    );
}

/// D8, F9: writes between, also by calls and through windows; names that do not exist yet.
#[test]
fn bind_needs_one_value_everywhere() {
    for between in ["x[i] = 1.0", "w = x[0:8]\n                w[i] = 1.0", "clear(x)"] {
        let p = procedure(&format!(
            "
        @proc
        def clear(v: [f32][8]):
            for k in seq(0, 8):
                v[k] = 0.0
        @proc
        def f(x: f32[8], y: f32[8]):
            for i in seq(0, 8):
                y[i] = x[i]
                {between}
                y[i] += x[i]
        "
        ));
        refused("bind_expr", &p, arguments![all(&p, "x[i]"), "t"]);
    }
    let loops = procedure(
        "
        @proc
        def f(x: f32[8], y: f32[8]):
            for i in seq(0, 8):
                y[i] = x[i]
            for i in seq(0, 8):
                y[i] += x[i]
        ",
    );
    // The second loop has an iterator of its own, so only the first place is equal.
    let q = step("bind_expr", &loops, arguments![all(&loops, "x[_]"), "t"]);
    assert_eq!(crate::print::proc(q.ir()).matches("t = x[i]").count(), 1);
    let inner = procedure(
        "
        @proc
        def f(x: f32[8], y: f32[8]):
            for i in seq(0, 8):
                for k in seq(0, 2):
                    y[i] += x[i]
                y[i] += x[i]
        ",
    );
    step("bind_expr", &inner, arguments![all(&inner, "x[_]"), "t"]);
}

#[test]
fn bind_must_not_leave_a_guard() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n], y: f32[8]):
            for i in seq(0, 8):
                if i < n:
                    y[i] = x[i]
                else:
                    y[i] = 0.0
                if i < n:
                    y[i] += x[i]
        ",
    );
    refused("bind_expr", &p, arguments![all(&p, "x[_]"), "t"]);
    step("bind_expr", &p, arguments![&cursors(&p, "x[_]")[0], "t"]);
}

#[test]
fn bind_wants_data() {
    let p = procedure(
        "
        @proc
        def bump(s: f32):
            s += 1.0
        @proc
        def f(x: f32[8], s: f32):
            for i in seq(0, 8):
                x[i + 1 - 1] = s
            bump(s)
        ",
    );
    assert_eq!(refused("bind_expr", &p, arguments!["i + 1", "t"]).kind, RefusalKind::Argument);
    let argument = &cursors(&p, "s")[1];
    refused("bind_expr", &p, arguments![argument, "t"]);
}

#[test]
fn commute_nested_targets() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8], y: f32[8], z: f32[8]):
            for i in seq(0, 8):
                z[i] = x[i] * (y[i] * 2.0)
        ",
    );
    let operand = cursor(&p, "x[_]");
    let literal = cursor(&p, "2.0");
    let q = step("commute_expr", &p, arguments![all(&p, "_ * _")]);
    assert_eq!(now(&q, &cursor(&p, "z[_] = _")).unwrap(), "z[i] = 2.0 * y[i] * x[i]");
    assert_eq!(now(&q, &operand).unwrap(), "x[i]");
    assert_eq!(now(&q, &literal).unwrap(), "2.0");
    let index = procedure(
        "
        @proc
        def f(x: f32[8]):
            for i in seq(0, 7):
                x[i + 1] = x[i] - 1.0
        ",
    );
    assert_eq!(refused("commute_expr", &index, arguments![all(&index, "i + 1")]).kind, RefusalKind::Argument);
    assert_eq!(refused("commute_expr", &index, arguments![all(&index, "_ - _")]).kind, RefusalKind::Argument);
}

#[test]
fn reassociate_one_operator_only() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8], y: f32[8], z: f32[8]):
            for i in seq(0, 8):
                z[i] = x[i] + (y[i] + 2.0)
                z[i] = x[i] + (y[i] * 2.0)
        ",
    );
    let inner = cursor(&p, "y[_]");
    let q = step("left_reassociate_expr", &p, arguments!["_ + _"]);
    assert_eq!(now(&q, &cursor(&p, "z[_] = _")).unwrap(), "z[i] = x[i] + y[i] + 2.0");
    assert_eq!(now(&q, &inner).unwrap(), "y[i]");
    refused("left_reassociate_expr", &p, arguments![&cursors(&p, "x[i] + _")[1]]);
}

#[test]
fn rewrite_indices_and_conditions() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n + 8], o: f32):
            assert n % 8 == 0
            for i in seq(0, n / 8):
                if 8 * i < n:
                    o = x[8 * i + 1]
        ",
    );
    let q = step("rewrite_expr", &p, arguments!["8 * i + 1", "i * 8 + 2 - 1"]);
    assert_eq!(now(&q, &cursor(&p, "o = _")).unwrap(), "o = x[i * 8 + 2 - 1]");
    assert_eq!(now(&q, &cursor(&p, "8 * i + 1")).unwrap(), "i * 8 + 2 - 1");
    step("rewrite_expr", &p, arguments!["8 * i < n", "True"]);
    refused("rewrite_expr", &p, arguments!["8 * i < n", "False"]);
    refused("rewrite_expr", &p, arguments!["8 * i + 1", "8 * i + 2"]);
}

/// D31: elements of one buffer are equal only at equal indices.
#[test]
fn rewrite_data_needs_equal_indices() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8], o: f32):
            o = x[0] + 1.0
        ",
    );
    refused("rewrite_expr", &p, arguments!["x[0]", "x[1]"]);
    step("rewrite_expr", &p, arguments!["x[0]", "x[1 - 1]"]);
    refused("rewrite_expr", &p, arguments!["x[0] + 1.0", "x[0] + 2.0"]);
}

#[test]
fn rewrite_keeps_indices_affine() {
    let p = procedure(
        "
        @proc
        def f(n: size, m: size, x: f32[64]):
            assert n == 2
            for i in seq(0, 8):
                x[2 * i] = 0.0
        ",
    );
    refused("rewrite_expr", &p, arguments!["2", "n"]);
}

#[test]
fn bind_must_not_make_a_race() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8], y: f32[8], z: f32[8]):
            for i in par(0, 8):
                if i == 0:
                    y[i] = x[0]
                else:
                    x[i] = 1.0
                if i == 0:
                    z[i] = x[0]
        ",
    );
    step("bind_expr", &p, arguments![all(&p, "x[0]"), "t"]);
    let race = procedure(
        "
        @proc
        def f(x: f32[8], y: f32[8], z: f32[8]):
            for i in par(0, 8):
                if i == 0:
                    y[i] = x[1]
                    z[i] = x[1]
                if i == 0:
                    x[1] = 1.0
        ",
    );
    step("bind_expr", &race, arguments![all(&race, "x[1]"), "t"]);
    let hoisted = procedure(
        "
        @proc
        def f(x: f32[8], y: f32[8], z: f32[8]):
            for i in par(0, 8):
                if i == 2:
                    y[i] = x[2]
                else:
                    z[i] = 0.0
                if i == 2:
                    z[i] = x[2]
                if i == 2:
                    x[i] = 1.0
        ",
    );
    refused("bind_expr", &hoisted, arguments![all(&hoisted, "x[2]"), "t"]);
}
