//! Schedules that grow: one module of host code for each kind and size, for the benchmark and for the test of growth.

use std::fmt::Write;

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The number of steps, on a proc that stays as large as it is.
    Steps,
    /// The number of statements, at one step or question.
    Statements,
    /// Both: as many steps as statements.
    Both,
}

/// A kind of schedule.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub axis: Axis,
    /// The module for a size.
    pub module: fn(usize) -> String,
}

/// All kinds, by axis.
pub const KINDS: [Kind; 18] = [
    Kind { name: "rename", axis: Axis::Steps, module: rename },
    Kind { name: "set_memory", axis: Axis::Steps, module: set_memory },
    Kind { name: "reorder_stmts", axis: Axis::Steps, module: reorder_stmts },
    Kind { name: "reorder_loops", axis: Axis::Steps, module: reorder_loops },
    Kind { name: "divide and mult", axis: Axis::Steps, module: divide_and_mult },
    Kind { name: "check", axis: Axis::Statements, module: check },
    Kind { name: "find last", axis: Axis::Statements, module: find_last },
    Kind { name: "find all", axis: Axis::Statements, module: find_all },
    Kind { name: "simplify", axis: Axis::Statements, module: simplify },
    Kind { name: "print", axis: Axis::Statements, module: print },
    Kind { name: "C", axis: Axis::Statements, module: c_code },
    Kind { name: "one cut_loop", axis: Axis::Statements, module: one_cut },
    Kind { name: "insert_pass", axis: Axis::Both, module: insert_pass },
    Kind { name: "old cursor", axis: Axis::Both, module: old_cursor },
    Kind { name: "cut_loop", axis: Axis::Both, module: cut_loop },
    Kind { name: "unroll_loop", axis: Axis::Both, module: unroll_loop },
    Kind { name: "bind_expr", axis: Axis::Both, module: bind_expr },
    Kind { name: "stage_mem", axis: Axis::Both, module: stage_mem },
];

/// A definition over `x: f32[n]` with these statements.
fn definition(extent: usize, statements: impl IntoIterator<Item = String>) -> String {
    let mut text = format!("@proc\ndef f(x: f32[{extent}], y: f32[{extent}]):\n");
    for line in statements {
        let _ = writeln!(text, "    {line}");
    }
    text
}

fn lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(str::to_string)
}

/// A definition, and `step` done `size` times to `p`; `k` counts.
fn repeated(definition: &str, before: &str, size: usize, step: &str) -> String {
    format!("{definition}\np = f\n{before}\nfor k in range({size}):\n    {step}\n")
}

fn rename(size: usize) -> String {
    repeated(&definition(8, lines("x[0] = 0.0")), "", size, "p = rename(p, \"g\" + str(k))")
}

fn set_memory(size: usize) -> String {
    let body = "a: f32[8]\nfor i in seq(0, 8):\n    a[i] = 1.0\n    x[i] = a[i]";
    let step = "p = set_memory(p, \"a\", DRAM_STACK if k % 2 == 0 else DRAM)";
    repeated(&definition(8, lines(body)), "", size, step)
}

fn reorder_stmts(size: usize) -> String {
    let step = "p = reorder_stmts(p, p.body()[0].expand(0, 1))";
    repeated(&definition(8, lines("x[0] = 0.0\nx[1] = y[0]")), "", size, step)
}

fn reorder_loops(size: usize) -> String {
    let body = "for i in seq(0, 8):\n    for j in seq(0, 8):\n        x[8 * i + j] = 0.0";
    repeated(&definition(64, lines(body)), "", size, "p = reorder_loops(p, p.body()[0])")
}

fn divide_and_mult(size: usize) -> String {
    let step = "p = divide_loop(p, \"i\", 8, [\"io\", \"ii\"], perfect = True)\n    \
                p = mult_loops(p, \"io ii\", \"i\")\n    p = simplify(p)";
    repeated(&definition(64, lines("for i in seq(0, 64):\n    x[i] = 0.0")), "", size / 3, step)
}

/// `size` statements: loops with one assignment each.
fn many(size: usize) -> String {
    let two = |k: usize| {
        let (shift, read) = (k % 50, k % 7);
        ["for i in seq(0, 8):".to_string(), format!("    x[8 / 4 * i + {shift}] = x[i] + {k}.0 * y[{read} + 0 * i]")]
    };
    definition(128, (0..size / 2).flat_map(two))
}

fn check(size: usize) -> String {
    many(size)
}

fn find_last(size: usize) -> String {
    format!("{}\nf.find(\"x[_] = _ #{}\")\n", many(size), (size / 2).saturating_sub(1))
}

fn find_all(size: usize) -> String {
    format!("{}\nf.find(\"y[_]\", many = True)\nf.find(\"for i in _: _\", many = True)\n", many(size))
}

fn simplify(size: usize) -> String {
    format!("{}\nsimplify(f)\n", many(size))
}

fn print(size: usize) -> String {
    format!("{}\nprint(f)\n", many(size))
}

fn c_code(size: usize) -> String {
    format!("{}\nf.c_code_str()\n", many(size))
}

fn one_cut(size: usize) -> String {
    format!("{}\ncut_loop(f, f.body()[{}], 3)\n", many(size), size / 4)
}

fn insert_pass(size: usize) -> String {
    repeated(&definition(8, lines("x[0] = 0.0")), "", size, "p = insert_pass(p, p.body()[0].before())")
}

/// One cursor of the first version, used at every step.
fn old_cursor(size: usize) -> String {
    let step = "p = insert_pass(p, c.before())";
    repeated(&definition(8, lines("x[0] = 0.0")), "c = p.find(\"x = _\")", size, step)
}

fn cut_loop(size: usize) -> String {
    let body = format!("for i in seq(0, {}):\n    x[i] = 0.0", size + 5);
    repeated(&definition(size + 5, lines(&body)), "", size, "p = cut_loop(p, p.body()[k], k + 1)")
}

fn unroll_loop(size: usize) -> String {
    let two = |k: usize| ["for i in seq(0, 2):".to_string(), format!("    x[i] = {k}.0")];
    repeated(&definition(8, (0..size).flat_map(two)), "", size, "p = unroll_loop(p, p.body()[2 * k])")
}

fn bind_expr(size: usize) -> String {
    let one = |k: usize| format!("x[{}] = x[{}] + 1.0", k % 8, (k + 1) % 8);
    let step = "p = bind_expr(p, p.body()[3 * k].rhs().lhs(), \"t\")";
    repeated(&definition(8, (0..size).map(one)), "", size, step)
}

fn stage_mem(size: usize) -> String {
    let two = |k: usize| ["for i in seq(0, 8):".to_string(), format!("    x[i] = x[i] + {k}.0")];
    let step = "p = stage_mem(p, c[k], \"x[0:8]\", \"t\")";
    repeated(&definition(8, (0..size).flat_map(two)), "c = p.body()", size, step)
}
