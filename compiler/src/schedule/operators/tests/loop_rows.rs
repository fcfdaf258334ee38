//! Rows of operators on loops and branches.

use super::Row;
use crate::schedule::testing::{arguments, cursor, gap_after};

const COPY: &str = "
@proc
def f(n: size, x: f32[n], y: f32[n]):
    assert n % 4 == 0
    for i in seq(0, n):
        y[i] = x[i]
        y[i] += 2.0
";

const NEST: &str = "
@proc
def f(n: size, x: f32[n, 4]):
    for i in seq(0, n):
        for j in seq(0, 4):
            x[i, j] = 1.0
";

const TWO: &str = "
@proc
def f(n: size, x: f32[n + 1], y: f32[n + 1]):
    for i in seq(0, n):
        x[i] = 1.0
    for j in seq(0, n):
        y[j] = x[j]
";

const SAME: &str = "
@proc
def f(n: size, x: f32[n + 4]):
    for i in seq(0, n):
        x[i] = 1.0
    for j in seq(n, n + 4):
        x[j] = 1.0
";

const SPLIT: &str = "
@proc
def f(n: size, m: index, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        if m > 2:
            x[i] = 1.0
            y[i] = x[i]
        else:
            x[i] = 3.0
";

const IDLE: &str = "
@proc
def f(n: size, m: index, x: f32, y: f32):
    assert m >= 0
    for i in seq(0, m):
        x = 1.0
        y = x
    y = 3.0
";

const BRANCHES: &str = "
@proc
def f(n: size, m: index, x: f32[n]):
    if n > 0:
        if m > 2:
            x[0] = 1.0
        else:
            x[0] = 2.0
    else:
        x[0] = 3.0
";

pub(super) fn rows() -> Vec<Row> {
    [division(), order(), scopes()].into_iter().flatten().collect()
}

fn division() -> Vec<Row> {
    vec![
        Row {
            operator: "divide_loop",
            text: COPY,
            arguments: |_| arguments!["i", 4i64, ["io", "ii"]; tail = "cut"],
            forwards: &[
                ("for i in _: _", "for io in seq(0, n / 4):"),
                ("y[_] = _", "y[4 * io + ii] = x[4 * io + ii]"),
                ("y[_] = _; y[_] += _", "y[4 * io + ii] = x[4 * io + ii]; y[4 * io + ii] += 2.0"),
                ("x[_]", "x[4 * io + ii]"),
                ("n", "n / 4"),
            ],
            returns: &[
                ("outer", "for io in seq(0, n / 4):"),
                ("inner", "for ii in seq(0, 4):"),
                ("tail", "for ii in seq(0, n % 4):"),
            ],
        },
        Row {
            operator: "divide_loop",
            text: COPY,
            arguments: |_| arguments!["i", 4i64, ["io", "ii"]; perfect = true],
            forwards: &[("y[_] += _", "y[4 * io + ii] += 2.0")],
            returns: &[("outer", "for io in seq(0, n / 4):"), ("inner", "for ii in seq(0, 4):"), ("tail", "-")],
        },
        Row {
            operator: "divide_with_recompute",
            text: "
@proc
def f(n: size, x: f32[n + 2], y: f32[n + 2]):
    assert n % 4 == 0
    for i in seq(0, n + 2):
        y[i] = x[i]
",
            arguments: |_| arguments!["i", "n / 4", 4i64, ["io", "ii"]],
            forwards: &[
                ("for i in _: _", "for io in seq(0, n / 4):"),
                ("y[_] = _", "y[io * 4 + ii] = x[io * 4 + ii]"),
                ("x[_]", "x[io * 4 + ii]"),
            ],
            returns: &[
                ("outer", "for io in seq(0, n / 4):"),
                ("inner", "for ii in seq(0, 4 + (n + 2 - (n - n % 4))):"),
            ],
        },
        Row {
            operator: "mult_loops",
            text: NEST,
            arguments: |_| arguments!["i j", "k"],
            forwards: &[
                ("for i in _: _", "for k in seq(0, n * 4):"),
                ("for j in _: _", "-"),
                ("x[_] = _", "x[k / 4, k % 4] = 1.0"),
            ],
            returns: &[("loop", "for k in seq(0, n * 4):")],
        },
        Row {
            operator: "cut_loop",
            text: COPY,
            arguments: |_| arguments!["i", 1i64],
            forwards: &[("for i in _: _", "for i in seq(0, 1):"), ("y[_] += _", "y[i] += 2.0"), ("x[_]", "x[i]")],
            returns: &[("loop1", "for i in seq(0, 1):"), ("loop2", "for i in seq(1, n):")],
        },
        Row {
            operator: "join_loops",
            text: SAME,
            arguments: |_| arguments!["i", "j"],
            forwards: &[
                ("for i in _: _", "for i in seq(0, n + 4):"),
                ("for j in _: _", "-"),
                ("x[j] = _", "-"),
                ("x[i] = _", "x[i] = 1.0"),
                ("for i in _: _\nfor j in _: _", "for i in seq(0, n + 4):"),
            ],
            returns: &[("loop", "for i in seq(0, n + 4):")],
        },
        Row {
            operator: "shift_loop",
            text: COPY,
            arguments: |_| arguments!["i", 2i64],
            forwards: &[("for i in _: _", "for i in seq(2, 2 + (n - 0)):"), ("y[_] += _", "y[i + (0 - 2)] += 2.0")],
            returns: &[("loop_cursor", "for i in seq(2, 2 + (n - 0)):")],
        },
        Row {
            operator: "unroll_loop",
            text: NEST,
            arguments: |_| arguments!["j"],
            forwards: &[("for i in _: _", "for i in seq(0, n):"), ("for j in _: _", "-"), ("x[_] = _", "-")],
            returns: &[("block", "x[i, 0] = 1.0; x[i, 1] = 1.0; x[i, 2] = 1.0; x[i, 3] = 1.0")],
        },
        Row {
            operator: "parallelize_loop",
            text: COPY,
            arguments: |_| arguments!["i"],
            forwards: &[("for i in _: _", "for i in par(0, n):"), ("x[_]", "x[i]")],
            returns: &[("loop_cursor", "for i in par(0, n):")],
        },
    ]
}

fn order() -> Vec<Row> {
    vec![
        Row {
            operator: "reorder_loops",
            text: NEST,
            arguments: |_| arguments!["i j"],
            forwards: &[
                ("for i in _: _", "for i in seq(0, n):"),
                ("for j in _: _", "for j in seq(0, 4):"),
                ("x[_] = _", "x[i, j] = 1.0"),
            ],
            returns: &[("outer", "for j in seq(0, 4):"), ("inner", "for i in seq(0, n):")],
        },
        Row {
            operator: "fission",
            text: COPY,
            arguments: |all| arguments![gap_after(&all[0], "y[_] = _")],
            forwards: &[
                ("for i in _: _", "for i in seq(0, n):"),
                ("y[_] = _", "y[i] = x[i]"),
                ("y[_] += _", "y[i] += 2.0"),
                ("y[_] = _; y[_] += _", "-"),
            ],
            returns: &[("scope1", "for i in seq(0, n):"), ("scope2", "for i in seq(0, n):")],
        },
        // The branch goes with its `else`: to the second half when the body is split.
        Row {
            operator: "fission",
            text: SPLIT,
            arguments: |all| arguments![gap_after(&all[0], "x[_] = 1.0"), 1i64],
            forwards: &[
                ("for i in _: _", "for i in seq(0, n):"),
                ("x[_] = 1.0", "x[i] = 1.0"),
                ("y[_] = _", "y[i] = x[i]"),
                ("x[_] = 3.0", "x[i] = 3.0"),
            ],
            returns: &[("scope1", "if m > 2:"), ("scope2", "if m > 2:")],
        },
        Row {
            operator: "autofission",
            text: IDLE,
            arguments: |all| arguments![gap_after(&all[0], "x = _")],
            forwards: &[("for i in _: _", "-"), ("x = _", "x = 1.0"), ("y = x", "y = x"), ("y = 3.0", "y = 3.0")],
            returns: &[("first", "if m > 0:"), ("second", "if m > 0:")],
        },
        Row {
            operator: "fuse",
            text: TWO,
            arguments: |_| arguments!["i", "j"],
            forwards: &[
                ("for i in _: _", "for i in seq(0, n):"),
                ("for j in _: _", "-"),
                ("y[_] = _", "y[i] = x[i]"),
                ("for i in _: _\nfor j in _: _", "for i in seq(0, n):"),
            ],
            returns: &[("scope", "for i in seq(0, n):")],
        },
        Row {
            operator: "remove_loop",
            text: IDLE,
            arguments: |_| arguments!["i"],
            forwards: &[("for i in _: _", "-"), ("x = _", "x = 1.0"), ("y = x", "y = x"), ("y = 3.0", "y = 3.0")],
            returns: &[("block", "x = 1.0; y = x"), ("guard", "if m > 0:")],
        },
        Row {
            operator: "add_loop",
            text: IDLE,
            arguments: |_| arguments!["y = 3.0", "k", "n"; guard = true],
            forwards: &[("y = 3.0", "y = 3.0"), ("for i in _: _", "for i in seq(0, m):")],
            returns: &[("loop", "for k in seq(0, n):"), ("block", "y = 3.0")],
        },
    ]
}

fn scopes() -> Vec<Row> {
    vec![
        Row {
            operator: "lift_scope",
            text: SPLIT,
            arguments: |_| arguments!["if _: _"],
            forwards: &[
                ("for i in _: _", "for i in seq(0, n):"),
                ("if _: _", "if m > 2:"),
                ("y[_] = _", "y[i] = x[i]"),
                ("x[_] = 3.0", "x[i] = 3.0"),
            ],
            returns: &[("scope", "if m > 2:"), ("inner", "for i in seq(0, n):"), ("other", "for i in seq(0, n):")],
        },
        Row {
            operator: "lift_scope",
            text: BRANCHES,
            arguments: |_| arguments!["if m > 2: _"],
            forwards: &[
                ("if n > 0: _", "if n > 0:"),
                ("if m > 2: _", "if m > 2:"),
                ("x[0] = 1.0", "x[0] = 1.0"),
                ("x[0] = 2.0", "x[0] = 2.0"),
            ],
            returns: &[("scope", "if m > 2:"), ("inner", "if n > 0:"), ("other", "if n > 0:")],
        },
        Row {
            operator: "lift_scope",
            text: "
@proc
def f(n: size, m: index, x: f32[n]):
    if m > 2:
        for i in seq(0, n):
            x[i] = 1.0
    else:
        x[0] = 2.0
",
            arguments: |_| arguments!["i"],
            forwards: &[
                ("if _: _", "if m > 2:"),
                ("for i in _: _", "for i in seq(0, n):"),
                ("x[i] = _", "x[i] = 1.0"),
                ("x[0] = _", "x[0] = 2.0"),
            ],
            returns: &[("scope", "for i in seq(0, n):"), ("inner", "if m > 2:"), ("other", "if m <= 2:")],
        },
        Row {
            operator: "eliminate_dead_code",
            text: BRANCHES,
            arguments: |_| arguments!["if n > 0: _"],
            forwards: &[("if n > 0: _", "-"), ("if m > 2: _", "if m > 2:"), ("x[0] = 3.0", "-")],
            returns: &[("block", "if m > 2:")],
        },
        Row {
            operator: "specialize",
            text: BRANCHES,
            arguments: |_| arguments!["x[0] = 1.0", "n == 8"],
            forwards: &[("x[0] = 1.0", "-"), ("x[0] = 2.0", "x[0] = 2.0"), ("if m > 2: _", "if m > 2:")],
            returns: &[("if_stmt", "if n == 8:")],
        },
        Row {
            operator: "add_unsafe_guard",
            text: COPY,
            arguments: |all| arguments![cursor(&all[0], "y[_] = _; y[_] += _"), "i < n"],
            forwards: &[
                ("y[_] = _", "y[i] = x[i]"),
                ("y[_] = _; y[_] += _", "y[i] = x[i]; y[i] += 2.0"),
                ("for i in _: _", "for i in seq(0, n):"),
            ],
            returns: &[("if_stmt", "if i < n:")],
        },
    ]
}
