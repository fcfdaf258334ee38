//! Tests of the operators on single statements.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::diagnostic::RefusalKind;
use crate::schedule::Procedure;
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
    // What the second one reads lies elsewhere.
    step("merge_writes", &p, arguments!["x[0] = y[0]; x[0] = x[1]"]);
    step("merge_writes", &p, arguments!["x[0] = y[0]; x[0] += w[1]"]);
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
    for pattern in ["a = _", "a += _"] {
        let refusal = refused("split_write", &p, arguments![pattern]);
        assert!(refusal.message().contains("`a` keeps its value"), "{}", refusal.message());
    }
    refused("split_write", &p, arguments!["x[3] = _"]);
    // Another element, through a window too.
    step("split_write", &p, arguments!["x[2] = _"]);
}

#[test]
fn splitting_writes_that_read_the_same_buffer() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n + 1], y: f32[n + 1]):
            w = x[1:n + 1]
            for i in seq(0, n):
                x[i] = y[i] + w[i]
            for i in seq(0, n):
                x[i + 1] += y[i] + w[i]
            for i in seq(0, n):
                x[i] = y[i] + x[n - i]
        ",
    );
    let q = step("split_write", &p, arguments!["x[i] = _"]);
    assert!(crate::print::proc(q.ir()).contains("x[i] = y[i]\n        x[i] += w[i]"));
    assert!(refused("split_write", &p, arguments!["x[i + 1] += _"]).message().contains("keeps its value"));
    refused("split_write", &p, arguments!["x[i] = _ #1"]);
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
        ("it is reduced into", "t: f32\n    t = o\n    z = t\n    t += 2.0\n    o = t"),
        ("it may be written again", "t: f32\n    t = o\n    if n > 3:\n        t = 2.0\n    z = t"),
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
        (
            "what overwrites it may read it by another index",
            "t: f32[8]\n    for i in seq(0, 8):\n        t[i] = 1.0\n    for i in seq(0, 8):\n        t[i] = 2.0\n        t[i] = t[0]\n    z = t[0]",
        ),
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
        } else if body.contains("t[i] = 2.0") {
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

#[test]
fn inlining_up_to_the_next_assignment() {
    let p = procedure(
        "
        @proc
        def f(x: f32[4], o: f32, z: f32):
            t: f32[4]
            t[1] = o
            z = t[1]
            t[2] = 3.0
            w = t[2:4]
            w[0] += z
            t[1] = t[1] + t[2]
            z += t[1]
            x[0] = z
            x[1] = x[0]
            x[0] = o
        ",
    );
    let q = step("inline_assign", &p, arguments!["t[1] = _"]);
    let text = crate::print::proc(q.ir());
    assert!(text.contains("    z = o\n    t[2] = 3.0\n"), "{text}");
    assert!(text.contains("    t[1] = o + t[2]\n    z += t[1]\n"), "{text}");
    // Nobody sees the old value of an argument that is assigned anew.
    let r = step("inline_assign", &q, arguments!["x[0] = _"]);
    assert!(crate::print::proc(r.ir()).contains("    x[1] = z\n    x[0] = o"));
    // A window of it may be read.
    let p = procedure(
        "
        @proc
        def f(x: f32[4], o: f32):
            w = x[0:2]
            x[1] = o
            x[2] = w[1]
            x[1] = w[1] + 1.0
        ",
    );
    let refusal = refused("inline_assign", &p, arguments!["x[1] = _"]);
    assert!(refusal.message().contains("is not allocated here"), "{}", refusal.message());
}

const PREFETCH: &str = "
        @instr(\"prefetch({x_data});\")
        def prefetch(n: size, x: [f32][n]):
            assert n <= 8
            pass

        @proc
        def clear(x: [f32][4]):
            for i in seq(0, 4):
                x[i] = 0.0

        @proc
        def f(n: size, a: f32, x: f32[n, 8]):
            for i in seq(0, n):
                t: f32[8]
                for j in seq(0, 8):
                    x[i, j] += a
";

#[test]
fn calls_that_do_nothing() {
    let all = crate::testing::procs(PREFETCH);
    let [prefetch, clear, p] = all.as_slice() else { panic!() };
    let (prefetch, clear, p) =
        (Procedure::new(prefetch.clone()), Procedure::new(clear.clone()), Procedure::new(p.clone()));
    let gap = gap_after(&p, "t: _");
    let q = step("insert_noop_call", &p, arguments![&gap, &prefetch, ["8", "x[i, :]"]]);
    assert!(crate::print::proc(q.ir()).contains("t: f32[8] @ DRAM\n        prefetch(8, x[i, 0:8])\n        for j"));
    assert_eq!(returned(&q), [("call", "prefetch(8, x[i, 0:8])".to_string())]);
    // What stands before the gap is in scope, whole buffers too.
    step("insert_noop_call", &p, arguments![&gap, &prefetch, ["8", "t"]]);
    for (args, why) in [
        (["9", "x[i, :]"], "extent"),
        (["8", "a"], "dimensions"),
        (["4", "x[i, 5:9]"], "bounds"),
        (["8", "u[0:8]"], "`u`"),
        (["0", "x[i, 0:0]"], ""),
    ] {
        let refusal = refused("insert_noop_call", &p, arguments![&gap, &prefetch, args]);
        assert!(refusal.message().contains(why) || refusal.message().contains("not defined"), "{}", refusal.message());
    }
    let refusal = refused("insert_noop_call", &p, arguments![&gap, &clear, ["x[i, 0:4]"]]);
    assert!(refusal.message().contains("does something"), "{}", refusal.message());
    refused("insert_noop_call", &p, arguments![&gap, &prefetch, ["8"]]);
}

#[test]
fn the_asserts_of_a_call_that_does_nothing_hold() {
    let all = crate::testing::procs(
        "
        @instr(\"prefetch({x_data});\")
        def prefetch(n: size, x: [f32][n]):
            assert n <= 8
            pass

        @proc
        def f(n: size, x: f32[n]):
            x[0] = 1.0
        ",
    );
    let (prefetch, p) = (Procedure::new(all[0].clone()), Procedure::new(all[1].clone()));
    let refusal = refused("insert_noop_call", &p, arguments![gap_after(&p, "x[_] = _"), &prefetch, ["n", "x[:]"]]);
    assert!(refusal.message().contains("n <= 8"), "{}", refusal.message());
}

#[test]
fn factors_of_sums() {
    let p = procedure(
        "
        @proc
        def f(n: size, m: index, a: f32[4], x: f32[n], y: f32[n], s: f32[2]):
            w = s[0:1]
            s[0] = 0.0
            for i in seq(0, n):
                s[0] += a[1] * (x[i] * y[i])
                if i < m:
                    w2 = s[1:2]
                    s[1 - 1] += y[i] * a[0 + 1]
                    w2[0] += a[1]
            x[0] = w[0]
        ",
    );
    let term = &cursors(&p, "_ * y[_]")[0];
    let q = step("lift_reduce_constant", &p, arguments!["s[0] = _\nfor i in _: _"]);
    prints(
        &q,
        "
        def f(n: size, m: index, a: f32[4] @ DRAM, x: f32[n] @ DRAM, y: f32[n] @ DRAM, s: f32[2] @ DRAM):
            w = s[0:1]
            s[0] = 0.0
            for i in seq(0, n):
                s[0] += x[i] * y[i]
                if i < m:
                    w2 = s[1:2]
                    s[1 - 1] += y[i]
                    w2[0] += a[1]
            s[0] = a[1] * s[0]
            x[0] = w[0]
        ",
    );
    assert_eq!(now(&q, term).unwrap(), "x[i] * y[i]");
    assert_eq!(
        returned(&q),
        [
            ("assign", "s[0] = 0.0".to_string()),
            ("loop", "for i in seq(0, n):".to_string()),
            ("scale", "s[0] = a[1] * s[0]".to_string())
        ]
    );
}

#[test]
fn factors_that_must_stay() {
    for (what, first, body) in [
        ("D7: another start", "s = 5.0", "s += a * x[i]"),
        ("another factor", "s = 0.0", "s += a * x[i]\n        s += b * x[i]"),
        ("another literal", "s = 0.0", "s += 2.0 * x[i]\n        s += 3.0 * x[i]"),
        ("the factor changes", "s = 0.0", "s += a * x[i]\n        a = b"),
        ("the factor depends on the iterator", "s = 0.0", "s += x[i] * y[i]"),
        ("no product", "s = 0.0", "s += a * x[i]\n        s += b"),
        ("an assignment", "s = 0.0", "s += a * x[i]\n        s = b"),
        ("a read", "s = 0.0", "s += a * x[i]\n        b = s"),
        ("a read in a term", "s = 0.0", "s += a * s"),
        ("a call", "s = 0.0", "s += a * x[i]\n        set(s)"),
        ("no reduction", "s = 0.0", "b = a * x[i]"),
        ("a product of another precision", "s = 0.0", "s += d * d"),
    ] {
        let p = procedure(&format!(
            "
@proc
def set(x: f32):
    x = 1.0

@proc
def f(n: size, a: f32, b: f32, d: f64, x: f32[n], y: f32[n], s: f32):
    {first}
    for i in seq(0, n):
        {body}
"
        ));
        let refusal = refused("lift_reduce_constant", &p, arguments!["s = _\nfor i in _: _"]);
        assert_eq!(refusal.kind, RefusalKind::Scheduling, "{what}");
    }
    let through_a_window = procedure(
        "
        @proc
        def f(n: size, a: f32, b: f32, x: f32[n], s: f32[1]):
            w = s[0:1]
            s[0] = 0.0
            for i in seq(0, n):
                s[0] += a * x[i]
                w[0] += b
        ",
    );
    let refusal = refused("lift_reduce_constant", &through_a_window, arguments!["s[_] = _\nfor i in _: _"]);
    assert!(refusal.message().contains("left alone"), "{}", refusal.message());
}
