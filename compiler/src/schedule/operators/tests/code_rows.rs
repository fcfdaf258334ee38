//! Rows of operators on statements, expressions and whole procedures.

use super::Row;
use crate::schedule::testing::{arguments, cursor, gap_after};

const WRITES: &str = "
@proc
def f(x: f32, y: f32, z: f32):
    x = y
    x += z
    z = x + y
";

const SUM: &str = "
@proc
def f(x: f32[4], y: f32[4]):
    x[0] = x[0] + y[1]
    x[1] = y[0] + (y[1] + y[2])
";

const CALLS: &str = "
@proc
def zero(n: size, d: [f32][n]):
    for k in seq(0, n):
        d[k] = 0.0

@proc
def f(x: f32[8, 8]):
    for i in seq(0, 8):
        zero(8, x[i, 0:8])
    for j in seq(0, 8):
        x[0, j] = 0.0
";

const NOTHING: &str = "
@proc
def nothing(d: [f32][8]):
    pass

@proc
def f(x: f32[8]):
    pass
    x[0] = 1.0
    x[1] = 2.0
";

pub(super) fn rows() -> Vec<Row> {
    [statements(), expressions(), procedures(), headers()].into_iter().flatten().collect()
}

fn statements() -> Vec<Row> {
    vec![
        Row {
            operator: "insert_pass",
            text: WRITES,
            arguments: |all| arguments![gap_after(&all[0], "x = _")],
            forwards: &[("x = _", "x = y"), ("x += _", "x += z"), ("x = _; x += _", "x = y; pass; x += z")],
            returns: &[("stmt", "pass")],
        },
        Row {
            operator: "insert_noop_call",
            text: NOTHING,
            arguments: |all| arguments![gap_after(&all[1], "x[0] = _"), &all[0], ["x[:]"]],
            forwards: &[("x[0] = _", "x[0] = 1.0"), ("x[1] = _", "x[1] = 2.0")],
            returns: &[("call", "nothing(x[0:8])")],
        },
        Row {
            operator: "delete_pass",
            text: NOTHING,
            arguments: |_| arguments![],
            forwards: &[("pass", "-"), ("x[0] = _", "x[0] = 1.0"), ("pass; x[0] = _", "x[0] = 1.0")],
            returns: &[],
        },
        Row {
            operator: "reorder_stmts",
            text: NOTHING,
            arguments: |_| arguments!["x[0] = _; x[1] = _"],
            forwards: &[
                ("x[0] = _", "x[0] = 1.0"),
                ("x[1] = _", "x[1] = 2.0"),
                ("x[0] = _; x[1] = _", "x[1] = 2.0; x[0] = 1.0"),
            ],
            returns: &[("block_cursor", "x[1] = 2.0; x[0] = 1.0")],
        },
        Row {
            operator: "merge_writes",
            text: WRITES,
            arguments: |_| arguments!["x = _; x += _"],
            forwards: &[("x = _", "-"), ("x += _", "-"), ("z = _", "z = x + y")],
            returns: &[("stmt", "x = y + z")],
        },
        Row {
            operator: "merge_writes",
            text: "
@proc
def f(x: f32, y: f32, z: f32):
    x += y
    x = z
",
            arguments: |_| arguments!["x += _; x = _"],
            forwards: &[("x += _", "-"), ("x = _", "x = z")],
            returns: &[("stmt", "x = z")],
        },
        Row {
            operator: "split_write",
            text: WRITES,
            arguments: |_| arguments!["z = _"],
            forwards: &[("z = _", "-"), ("x += _", "x += z"), ("x += _; z = _", "x += z; z = x; z += y")],
            returns: &[("first", "z = x"), ("second", "z += y")],
        },
        Row {
            operator: "fold_into_reduce",
            text: SUM,
            arguments: |_| arguments!["x[0] = _"],
            forwards: &[("x[0] = _", "-"), ("x[1] = _", "x[1] = y[0] + (y[1] + y[2])")],
            returns: &[("stmt", "x[0] += y[1]")],
        },
        Row {
            operator: "inline_assign",
            text: "
@proc
def f(x: f32, y: f32):
    t: f32
    t = x
    y = t * t
",
            arguments: |_| arguments!["t = _"],
            forwards: &[("t = _", "-"), ("t", "x"), ("y = _", "y = x * x")],
            returns: &[("values", "x | x")],
        },
        Row {
            operator: "lift_reduce_constant",
            text: "
@proc
def f(n: size, a: f32, x: f32[n], s: f32):
    s = 0.0
    for i in seq(0, n):
        s += a * x[i]
",
            arguments: |_| arguments!["s = _\nfor i in _: _"],
            forwards: &[
                ("s = _", "s = 0.0"),
                ("for i in _: _", "for i in seq(0, n):"),
                ("s += _", "s += x[i]"),
                ("a * _", "x[i]"),
                ("x[_]", "x[i]"),
                ("a", "-"),
            ],
            returns: &[("assign", "s = 0.0"), ("loop", "for i in seq(0, n):"), ("scale", "s = a * s")],
        },
    ]
}

fn expressions() -> Vec<Row> {
    vec![
        // Places stay: the old left operand's cursor now denotes the new left operand.
        Row {
            operator: "commute_expr",
            text: SUM,
            arguments: |_| arguments!["x[0] + _"],
            forwards: &[("x[0] + _", "y[1] + x[0]"), ("x[0] = _", "x[0] = y[1] + x[0]")],
            returns: &[("expr_cursors", "y[1] + x[0]")],
        },
        Row {
            operator: "left_reassociate_expr",
            text: SUM,
            arguments: |_| arguments!["y[0] + _"],
            forwards: &[("y[0] + _", "y[0] + y[1] + y[2]"), ("x[1] = _", "x[1] = y[0] + y[1] + y[2]")],
            returns: &[("expr", "y[0] + y[1] + y[2]")],
        },
        Row {
            operator: "rewrite_expr",
            text: "
@proc
def f(n: size, x: f32[n + 1]):
    for i in seq(0, n):
        x[i + 0] = 1.0
",
            arguments: |_| arguments!["i + 0", "i"],
            forwards: &[("i + 0", "i"), ("x[_] = _", "x[i] = 1.0")],
            returns: &[("expr_cursor", "i")],
        },
        Row {
            operator: "simplify",
            text: "
@proc
def f(n: size, x: f32[n]):
    for k in seq(0, 0):
        x[0] = 5.0
    if 1 < 2:
        x[0 + 0] = 1.0
    for i in seq(0, n):
        x[i] = 2.0 + 0.0
",
            arguments: |_| arguments![],
            forwards: &[
                ("for k in _: _", "-"),
                ("x[0] = 5.0", "-"),
                ("if _: _", "-"),
                ("x[_] = 1.0", "x[0] = 1.0"),
                ("for i in _: _", "for i in seq(0, n):"),
            ],
            returns: &[],
        },
    ]
}

fn procedures() -> Vec<Row> {
    vec![
        Row {
            operator: "inline",
            text: CALLS,
            arguments: |_| arguments!["zero(_)"],
            forwards: &[("zero(_)", "-"), ("for j in _: _", "for j in seq(0, 8):")],
            returns: &[("block", "d = x[i, 0:8]; for k in seq(0, 8):")],
        },
        Row {
            operator: "replace",
            text: CALLS,
            arguments: |all| arguments![cursor(&all[1], "for j in _: _"), &all[0]],
            forwards: &[("for j in _: _", "-"), ("x[0, _] = _", "-"), ("zero(_)", "zero(8, x[i, 0:8])")],
            returns: &[("call", "zero(8, x[0, 0:8])")],
        },
        Row {
            operator: "replace_all",
            text: CALLS,
            arguments: |all| arguments![&all[0]],
            forwards: &[("for j in _: _", "-"), ("zero(_)", "zero(8, x[i, 0:8])")],
            returns: &[("calls", "zero(8, x[i, 0:8]) | zero(8, x[0, 0:8])")],
        },
        Row {
            operator: "extract_subproc",
            text: CALLS,
            arguments: |_| arguments!["for j in _: _", "row"],
            forwards: &[("for j in _: _", "-"), ("for i in _: _", "for i in seq(0, 8):")],
            returns: &[("call", "row(x)")],
        },
        Row {
            operator: "call_eqv",
            text: CALLS,
            arguments: |all| {
                let other = crate::schedule::testing::step("rename", &all[0], arguments!["clear"]);
                arguments!["zero(_)", &other]
            },
            forwards: &[("zero(_)", "clear(8, x[i, 0:8])"), ("x[_]", "x[i, 0:8]")],
            returns: &[("call_cursor", "clear(8, x[i, 0:8])")],
        },
    ]
}

fn headers() -> Vec<Row> {
    const STAY: &[(&str, &str)] = &[
        ("for i in _: _", "for i in seq(0, 8):"),
        ("x[0, _] = _", "x[0, j] = 0.0"),
        ("for i in _: _\nfor j in _: _", "for i in seq(0, 8):; for j in seq(0, 8):"),
        ("x[_]", "x[i, 0:8]"),
    ];
    vec![
        Row { operator: "rename", text: CALLS, arguments: |_| arguments!["g"], forwards: STAY, returns: &[] },
        Row { operator: "make_instr", text: CALLS, arguments: |_| arguments!["f();"], forwards: STAY, returns: &[] },
        Row {
            operator: "add_assertion",
            text: "
@proc
def f(n: size, x: f32[n]):
    for i in seq(0, n):
        x[i] = 1.0
",
            arguments: |_| arguments!["n > 3"],
            forwards: &[("for i in _: _", "for i in seq(0, n):")],
            returns: &[],
        },
        Row {
            operator: "partial_eval",
            text: "
@proc
def f(n: size, x: f32[n]):
    for i in seq(0, n):
        x[i] = 1.0
",
            arguments: |_| arguments![["n"], [8i64]],
            forwards: &[("for i in _: _", "for i in seq(0, 8):"), ("x[_] = _", "x[i] = 1.0")],
            returns: &[],
        },
    ]
}
