//! Tests of the operators on single statements.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::diagnostic::RefusalKind;
use crate::schedule::testing::*;

#[test]
fn swapping_statements() {
    let p = procedure(
        "
        @proc
        def set(v: [f32][2]):
            v[0] = 7.0

        @proc
        def f(n: size, x: f32[n + 4], y: f32[n + 4]):
            for i in seq(0, n):
                y[i] = x[i]
                x[i + 1] = 0.0
            for i in seq(0, n):
                x[0] = 1.0
                y[0] = x[i]
            w = x[0:4]
            w[1] = 1.0
            x[2] = 2.0
            w[2] = 3.0
            set(x[2:4])
            y[0] = 4.0
            t: f32
            t = 1.0
            y[1] = t
        ",
    );
    let one = cursor(&p, "y[_] = _");
    let q = step("reorder_stmts", &p, arguments!["y[_] = _; x[_] = _"]);
    assert!(crate::print::proc(q.ir()).contains("        x[i + 1] = 0.0\n        y[i] = x[i]\n"));
    assert_eq!(now(&q, &one).unwrap(), "y[i] = x[i]");
    assert_eq!(now(&q, &cursor(&p, "y[_] = _; x[_] = _")).unwrap(), "x[i + 1] = 0.0; y[i] = x[i]");
    refused("reorder_stmts", &p, arguments!["x[0] = 1.0; y[_] = _"]);
    let refusal = refused("reorder_stmts", &p, arguments!["w = _; w[1] = _"]);
    assert!(refusal.message().contains("uses `w`"), "{}", refusal.message());
    step("reorder_stmts", &p, arguments!["w[1] = _; x[2] = _"]);
    refused("reorder_stmts", &p, arguments!["x[2] = _; w[2] = _"]);
    refused("reorder_stmts", &p, arguments!["w[2] = _; set(_)"]);
    step("reorder_stmts", &p, arguments!["set(_); y[0] = 4.0"]);
    step("reorder_stmts", &p, arguments!["y[0] = 4.0; t: _"]);
    refused("reorder_stmts", &p, arguments!["t: _; t = _"]);
    assert_eq!(refused("reorder_stmts", &p, arguments!["t: _"]).kind, RefusalKind::Argument);
}

#[test]
fn passes() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32):
            pass
            for i in seq(0, n):
                for j in seq(0, n):
                    pass
            if n > 3:
                pass
                pass
            else:
                pass
            x = 1.0
        ",
    );
    let q = step("delete_pass", &p, arguments![]);
    prints(
        &q,
        "
        def f(n: size, x: f32 @ DRAM):
            if n > 3:
                pass
            x = 1.0
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "x = _")).unwrap(), "x = 1.0");
    assert_eq!(now(&q, &cursor(&p, "for i in _: _")), None);
    let again = step("delete_pass", &q, arguments![]);
    assert_eq!(again.ir(), q.ir());
    let r = step("insert_pass", &q, arguments![gap_after(&q, "x = _")]);
    assert!(crate::print::proc(r.ir()).ends_with("    x = 1.0\n    pass"));
    assert_eq!(refused("insert_pass", &q, arguments!["x = _"]).kind, RefusalKind::Argument);
    assert_eq!(refused("insert_pass", &q, arguments![cursor(&q, "x = _")]).kind, RefusalKind::Argument);
}

#[test]
fn merging_writes() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n], y: f32[4], d: f64[4]):
            for i in seq(0, n):
                x[i] = y[0]
                x[0 + i] = y[1]
            for i in seq(0, n):
                x[i] += y[0]
                x[i] = y[1]
            for i in seq(0, n):
                x[i] = y[0]
                x[i] += y[1] + y[2]
            for i in seq(0, n):
                x[i] += y[0]
                x[i] += y[1]
        ",
    );
    let q = step("merge_writes", &p, arguments!["x[_] = y[0]; x[_] = y[1]"]);
    let q = step("merge_writes", &q, arguments!["x[_] += y[0]; x[_] = y[1]"]);
    let q = step("merge_writes", &q, arguments!["x[_] = y[0]; x[_] += _"]);
    let q = step("merge_writes", &q, arguments!["x[_] += y[0]; x[_] += _"]);
    prints(
        &q,
        "
        def f(n: size, x: f32[n] @ DRAM, y: f32[4] @ DRAM, d: f64[4] @ DRAM):
            for i in seq(0, n):
                x[0 + i] = y[1]
            for i in seq(0, n):
                x[i] = y[1]
            for i in seq(0, n):
                x[i] = y[0] + (y[1] + y[2])
            for i in seq(0, n):
                x[i] += y[0] + y[1]
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "x[_] = y[1]")).unwrap(), "x[0 + i] = y[1]");
    assert_eq!(now(&q, &cursor(&p, "x[_] = y[0]")), None);
}

#[test]
fn writes_that_do_not_merge() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[8], y: f32[8], d: f64[4]):
            w = x[0:4]
            x[0] = y[0]
            x[1] = y[1]
            x[0] = y[0]
            x[0] = x[1]
            x[0] = y[0]
            x[0] += w[1]
            x[0] = d[0]
            x[0] += y[0]
            y[0] = x[0]
        ",
    );
    let all = cursors(&p, "x[_] = _; _");
    assert!(all.len() >= 4);
    refused("merge_writes", &p, arguments!["x[0] = y[0]; x[1] = _"]);
    refused("merge_writes", &p, arguments!["x[0] = y[0]; x[0] = x[1]"]);
    refused("merge_writes", &p, arguments!["x[0] = y[0]; x[0] += w[1]"]);
    let refusal = refused("merge_writes", &p, arguments!["x[0] = d[0]; x[0] += _"]);
    assert!(refusal.message().contains("precision"), "{}", refusal.message());
    assert_eq!(refused("merge_writes", &p, arguments!["x[0] += y[0]; y[0] = _"]).kind, RefusalKind::Argument);
}

#[test]
fn splitting_writes() {
    let p = procedure(
        "
        @proc
        def f(x: f32[4], y: f32[4], a: f32):
            w = x[0:4]
            x[0] = y[0] + y[1]
            x[1] += x[2] + y[1]
            a = y[0] + a
            a += y[0] + a
            x[2] = y[0] + w[1]
            x[3] = y[0] * w[1]
        ",
    );
    let q = step("split_write", &p, arguments!["x[0] = _"]);
    let q = step("split_write", &q, arguments!["x[1] += _"]);
    prints(
        &q,
        "
        def f(x: f32[4] @ DRAM, y: f32[4] @ DRAM, a: f32 @ DRAM):
            w = x[0:4]
            x[0] = y[0]
            x[0] += y[1]
            x[1] += x[2]
            x[1] += y[1]
            a = y[0] + a
            a += y[0] + a
            x[2] = y[0] + w[1]
            x[3] = y[0] * w[1]
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "x[0] = _")), None);
    for pattern in ["a = _", "a += _", "x[2] = _"] {
        let refusal = refused("split_write", &p, arguments![pattern]);
        assert!(refusal.message().contains("the second operand reads"), "{}", refusal.message());
    }
    refused("split_write", &p, arguments!["x[3] = _"]);
}

#[test]
fn folding_into_a_reduction() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n + 1], y: f32[n]):
            for i in seq(0, n):
                x[i] = x[i] + y[i]
                x[i] = x[0 + i] + y[i]
                x[i] = x[i + 1] + y[i]
                x[i] = y[i] + x[i]
                x[i] = x[i] * y[i]
        ",
    );
    let all = cursors(&p, "x[_] = _");
    let q = step("fold_into_reduce", &p, arguments![&all[0]]);
    assert!(crate::print::proc(q.ir()).contains("        x[i] += y[i]\n"));
    assert_eq!(now(&q, &all[0]), None);
    step("fold_into_reduce", &p, arguments![&all[1]]);
    for refused_one in &all[2..] {
        refused("fold_into_reduce", &p, arguments![refused_one]);
    }
}

#[test]
fn inlining() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n], y: f32[n]):
            for i in seq(0, n):
                t: f32
                t = x[i] * 2.0
                y[i] = t + 1.0
                if n > 3:
                    y[i] += t
        ",
    );
    let q = step("inline_assign", &p, arguments!["t = _"]);
    prints(
        &q,
        "
        def f(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):
            for i in seq(0, n):
                t: f32 @ DRAM
                y[i] = x[i] * 2.0 + 1.0
                if n > 3:
                    y[i] += x[i] * 2.0
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "t = _")), None);
    assert_eq!(now(&q, &cursors(&p, "t")[0]).unwrap(), "x[i] * 2.0");
}

#[test]
fn inlining_with_other_spellings_and_other_elements() {
    let p = procedure(
        "
        @proc
        def f(x: f32[4], y: f32[4]):
            t: f32[4]
            t[2] = x[2]
            t[1] = x[0]
            y[0] = t[0 + 1] + t[2]
        ",
    );
    let q = step("inline_assign", &p, arguments!["t[1] = _"]);
    assert!(crate::print::proc(q.ir()).contains("y[0] = x[0] + t[2]"));
}

#[test]
fn inlining_that_would_change_the_result() {
    for (what, body) in [
        ("an output", "o = 6.0\n    z = o * 2.0"),
        ("its source is overwritten", "t: f32\n    t = o\n    o = 8.0\n    z = t"),
        ("it is written again", "t: f32\n    t = o\n    z = t\n    t = 2.0\n    o = t"),
        ("it is passed to a call", "t: f32\n    t = 1.0\n    id(t, z)"),
        ("it is read after the block", "t: f32\n    if n > 0:\n        t = 1.0\n        o = t\n    z = t"),
        (
            "it is read in the next iteration",
            "t: f32\n    t = 0.0\n    for i in seq(0, n):\n        z = t\n        t = 1.0\n        o = t",
        ),
        (
            "a loop in between overwrites its source",
            "t: f32\n    t = o\n    for i in seq(0, n):\n        z += t\n        o += 1.0",
        ),
        (
            "another element may be meant",
            "t: f32[8]\n    for i in seq(0, 8):\n        t[i] = 1.0\n    for i in seq(0, 4):\n        t[i] = 2.0\n        z += t[n % 4]",
        ),
        ("it is read through a window", "t: f32[8]\n    t[0] = o\n    w = t[0:1]\n    z = w[0]"),
        ("it converts", "t: f64\n    t = o\n    z = t"),
    ] {
        let p = procedure(&format!(
            "
@proc
def id(a: f32, b: f32):
    b = a

@proc
def f(n: size, o: f32, z: f32):
    {body}
"
        ));
        let first = if what == "an output" {
            "o = 6.0"
        } else if what == "it is read in the next iteration" {
            "t = 1.0"
        } else if what == "another element may be meant" {
            "t[_] = 2.0"
        } else if body.contains("t[0] =") {
            "t[0] = _"
        } else {
            "t = _"
        };
        let refusal = refused("inline_assign", &p, arguments![first]);
        assert_eq!(refusal.kind, RefusalKind::Scheduling, "{what}");
    }
}
