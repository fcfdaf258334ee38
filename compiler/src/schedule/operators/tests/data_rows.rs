//! Rows of operators on buffers and annotations.

use super::Row;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::schedule::testing::{all, arguments};

const SCALAR: &str = "
@proc
def f(x: f32[8]):
    for i in seq(0, 8):
        t: f32
        t = x[i]
        x[i] = t + t
";

const MATRIX: &str = "
@proc
def f(x: f32[8, 4]):
    t: f32[8, 4]
    for i in seq(0, 8):
        for j in seq(0, 4):
            t[i, j] = x[i, j]
            x[i, j] = t[i, j]
";

const PARTS: &str = "
@proc
def f(x: f32[8]):
    t: f32[2]
    t[0] = x[0]
    t[1] = x[1]
    x[2] = t[0] + t[1]
";

pub(super) fn rows() -> Vec<Row> {
    [shapes(), places(), staging(), annotations()].into_iter().flatten().collect()
}

fn shapes() -> Vec<Row> {
    vec![
        Row {
            operator: "expand_dim",
            text: SCALAR,
            arguments: |_| arguments!["t", 8i64, "i"],
            forwards: &[("t: _", "t: f32[8] @ DRAM"), ("t = _", "t[i] = x[i]"), ("x[_] = _", "x[i] = t[i] + t[i]")],
            returns: &[("buf_cursor", "t: f32[8] @ DRAM")],
        },
        Row {
            operator: "resize_dim",
            text: "
@proc
def f(x: f32[16]):
    for i in seq(4, 8):
        t: f32[16]
        t[i] = x[i]
        x[i + 8] = t[i]
",
            arguments: |_| arguments!["t", 0i64, 4i64, 4i64],
            forwards: &[("t: _", "t: f32[4] @ DRAM"), ("t[_] = _", "t[i - 4] = x[i]"), ("x[i]", "x[i]")],
            returns: &[("buf_cursor", "t: f32[4] @ DRAM")],
        },
        Row {
            operator: "rearrange_dim",
            text: MATRIX,
            arguments: |_| arguments!["t", [1i64, 0]],
            forwards: &[("t: _", "t: f32[4, 8] @ DRAM"), ("t[_] = _", "t[j, i] = x[i, j]")],
            returns: &[("buf_cursor", "t: f32[4, 8] @ DRAM")],
        },
        Row {
            operator: "divide_dim",
            text: MATRIX,
            arguments: |_| arguments!["t", 0i64, 2i64],
            forwards: &[("t: _", "t: f32[4, 2, 4] @ DRAM"), ("x[_] = _", "x[i, j] = t[i / 2, i % 2, j]")],
            returns: &[("alloc_cursor", "t: f32[4, 2, 4] @ DRAM")],
        },
        Row {
            operator: "mult_dim",
            text: MATRIX,
            arguments: |_| arguments!["t", 0i64, 1i64],
            forwards: &[("t: _", "t: f32[32] @ DRAM"), ("x[_] = _", "x[i, j] = t[4 * i + j]")],
            returns: &[("alloc_cursor", "t: f32[32] @ DRAM")],
        },
        Row {
            operator: "unroll_buffer",
            text: PARTS,
            arguments: |_| arguments!["t", 0i64],
            forwards: &[
                ("t: _", "-"),
                ("t[0] = _", "t_0 = x[0]"),
                ("x[2] = _", "x[2] = t_0 + t_1"),
                ("t: _; t[0] = _", "t_0: f32 @ DRAM; t_1: f32 @ DRAM; t_0 = x[0]"),
            ],
            returns: &[("allocs", "t_0: f32 @ DRAM; t_1: f32 @ DRAM")],
        },
    ]
}

fn places() -> Vec<Row> {
    vec![
        Row {
            operator: "lift_alloc",
            text: SCALAR,
            arguments: |_| arguments!["t"],
            forwards: &[
                ("t: _", "t: f32 @ DRAM"),
                ("t = _", "t = x[i]"),
                ("t: _; t = _", "-"),
                ("for i in _: _", "for i in seq(0, 8):"),
            ],
            returns: &[("alloc_cursor", "t: f32 @ DRAM")],
        },
        Row {
            operator: "sink_alloc",
            text: "
@proc
def f(x: f32[8]):
    t: f32
    for i in seq(0, 8):
        t = x[i]
        x[i] = t + t
",
            arguments: |_| arguments!["t"],
            forwards: &[("t: _", "t: f32 @ DRAM"), ("t = _", "t = x[i]"), ("for i in _: _", "for i in seq(0, 8):")],
            returns: &[("alloc_cursor", "t: f32 @ DRAM")],
        },
        Row {
            operator: "autolift_alloc",
            text: SCALAR,
            arguments: |_| arguments!["t"; keep_dims = true],
            forwards: &[
                ("t: _", "t: f32[8] @ DRAM"),
                ("t = _", "t[i] = x[i]"),
                ("for i in _: _", "for i in seq(0, 8):"),
            ],
            returns: &[("alloc_cursor", "t: f32[8] @ DRAM")],
        },
        Row {
            operator: "delete_buffer",
            text: "
@proc
def f(x: f32):
    t: f32
    x = 1.0
",
            arguments: |_| arguments!["t"],
            forwards: &[("t: _", "-"), ("x = _", "x = 1.0")],
            returns: &[("buf_cursor", "-")],
        },
        Row {
            operator: "reuse_buffer",
            text: "
@proc
def f(x: f32[8]):
    a: f32
    a = x[0]
    x[1] = a
    b: f32
    b = x[2]
    x[3] = b
",
            arguments: |_| arguments!["a: _", "b: _"],
            forwards: &[("a: _", "a: f32 @ DRAM"), ("b: _", "-"), ("b = _", "a = x[2]"), ("x[3] = _", "x[3] = a")],
            returns: &[("buf_cursor", "a: f32 @ DRAM"), ("replace_cursor", "-")],
        },
        Row {
            operator: "inline_window",
            text: "
@proc
def f(x: f32[8, 8]):
    w = x[2, 1:5]
    w[0] = 1.0
",
            arguments: |_| arguments!["w = _"],
            forwards: &[("w = _", "-"), ("w[_] = _", "x[2, 1] = 1.0")],
            returns: &[("winstmt_cursor", "-")],
        },
    ]
}

fn staging() -> Vec<Row> {
    vec![
        Row {
            operator: "stage_mem",
            text: "
@proc
def f(x: f32[8], y: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            x[i] += y[i, j]
        x[i] += 1.0
",
            arguments: |_| arguments!["for j in _: _", "x[i]", "t"],
            forwards: &[
                ("for i in _: _", "for i in seq(0, 8):"),
                ("for j in _: _", "for j in seq(0, 8):"),
                ("x[_] += y[_]", "t += y[i, j]"),
                ("x[_] += 1.0", "x[i] += 1.0"),
                ("y[_]", "y[i, j]"),
            ],
            returns: &[
                ("alloc", "t: f32 @ DRAM"),
                ("load", "t = x[i]"),
                ("block", "for j in seq(0, 8):"),
                ("store", "x[i] = t"),
            ],
        },
        Row {
            operator: "stage_mem",
            text: PARTS,
            arguments: |_| arguments!["x[2] = _", "t[0:2]", "u"],
            forwards: &[("x[2] = _", "x[2] = u[0] + u[1]")],
            returns: &[
                ("alloc", "u: f32[2] @ DRAM"),
                ("load", "for i0 in seq(0, 2):"),
                ("block", "x[2] = u[0] + u[1]"),
                ("store", "-"),
            ],
        },
        Row {
            operator: "bind_expr",
            text: "
@proc
def f(x: f32[8], y: f32[8]):
    for i in seq(0, 8):
        y[i] = x[i] * x[i]
",
            arguments: |p| arguments![all(&p[0], "x[_]"), "t"],
            forwards: &[("y[_] = _", "y[i] = t * t"), ("x[_]", "t"), ("_ * _", "t * t")],
            returns: &[("alloc", "t: f32 @ DRAM"), ("assign", "t = x[i]"), ("reads", "t | t")],
        },
    ]
}

fn annotations() -> Vec<Row> {
    vec![
        Row {
            operator: "set_precision",
            text: SCALAR,
            arguments: |_| arguments!["t", Precision::F64],
            forwards: &[("t: _", "t: f64 @ DRAM"), ("t = _", "t = x[i]"), ("x[_]", "x[i]")],
            returns: &[("cursor", "t: f64 @ DRAM")],
        },
        Row {
            operator: "set_memory",
            text: SCALAR,
            arguments: |_| arguments!["t", Memory::dram_stack()],
            forwards: &[("t: _", "t: f32 @ DRAM_STACK"), ("t = _", "t = x[i]"), ("x[_]", "x[i]")],
            returns: &[("cursor", "t: f32 @ DRAM_STACK")],
        },
        Row {
            operator: "set_window",
            text: SCALAR,
            arguments: |_| arguments!["x"],
            forwards: &[("t = _", "t = x[i]")],
            returns: &[("cursor", "x")],
        },
        Row {
            operator: "transpose",
            text: MATRIX,
            arguments: |_| arguments!["x"],
            forwards: &[("t: _", "t: f32[8, 4] @ DRAM"), ("t[_] = _", "t[i, j] = x[j, i]")],
            returns: &[("arg_cursor", "x")],
        },
    ]
}
