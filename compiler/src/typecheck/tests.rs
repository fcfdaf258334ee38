//! Tests of typing: what is accepted, what is refused and with which words, and that printing round-trips.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use crate::diagnostic::codes;
use crate::loop_ir::{ExprKind, Proc, StmtKind, Ty, visit};
use crate::print;
use crate::testing;
use crate::typecheck::{HostValue, proc_from_text};

/// The text reads back to a proc that prints the same, and binds no symbol twice.
fn round_trip(text: &str) -> Vec<Arc<Proc>> {
    let procs = testing::procs(text);
    let mut known = testing::known();
    for proc in &procs {
        // The C side of an instruction prints as a comment.
        let printed = print::proc(&Proc { instr: None, ..Proc::clone(proc) });
        let again = proc_from_text(&printed, &known)
            .unwrap_or_else(|errors| panic!("{printed}\n{}", testing::messages(&errors)));
        assert_eq!(print::proc(&again), printed);
        let mut bound = 0;
        visit::each_stmt(&proc.body, &mut |stmt| bound += usize::from(visit::bound_by(stmt).is_some()));
        assert_eq!(visit::bound_symbols(&proc.body).len(), bound);
        known.insert(proc.name.to_string(), HostValue::Proc(proc.clone()));
    }
    procs
}

fn body_of(text: &str) -> String {
    let proc = Proc::clone(round_trip(text).last().unwrap());
    print::proc(&proc)
}

/// The messages and hints of a refused definition.
fn refused(text: &str) -> String {
    match testing::procs_with(text, testing::known()) {
        Ok(procs) => panic!("accepted:\n{}", print::proc(procs.last().unwrap())),
        Err(errors) => testing::messages(&errors),
    }
}

/// A definition with these statements is refused with this text.
fn refused_body(statements: &str, expected: &str) {
    let lines: Vec<String> = statements.lines().map(|line| format!("    {line}")).collect();
    let text = format!(
        "def foo(n: size, k: index, b: bool, s: stride, x: f32[n], A: f32[n, 8], t: f32):\n{}\n",
        lines.join("\n")
    );
    let messages = refused(&text);
    assert!(messages.contains(expected), "expected `{expected}` in:\n{messages}");
}

/// The same definition is accepted and prints these statements.
fn accepted_body(statements: &str, expected: &str) {
    let indent = |text: &str| text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n");
    let text = format!(
        "def foo(n: size, k: index, b: bool, s: stride, x: f32[n], A: f32[n, 8], t: f32):\n{}\n",
        indent(statements)
    );
    let printed = body_of(&text);
    let (_, body) = printed.split_once('\n').unwrap();
    assert_eq!(body, indent(expected));
}

#[test]
fn whole_procs_round_trip() {
    round_trip(
        "
        @instr(\"load({dst_data}, {src_data});\")
        def load(dst: [f32][8] @ AVX2, src: [f32][8] @ DRAM):
            assert stride(src, 0) == 1
            assert stride(dst, 0) == 1
            for i in seq(0, 8):
                dst[i] = src[i]

        @proc
        def scale(n: size, a: f32, x: [f32][n]):
            for i in par(0, n):
                x[i] = a * x[i] / 2 + sin(x[i])

        @proc
        def main(n: size, m: index, on: bool, x: f32[n, 16] @ DRAM, y: i8[n + 1], z: R):
            assert n % 8 == 0 and n > 8
            assert 0 <= m < n or on
            s: f32 @ DRAM_STACK
            s = 3
            z = -0.5
            for i in seq(0, n):
                v: f32[8] @ AVX2
                load(v, x[i, 8:16])
                w = x[i, :]
                scale(16, s, w)
                if i % 2 == 0:
                    x[i, 0] += 1e-8
                elif on == True:
                    y[i] = select(y[i], 0.0, -y[i], -1)
                else:
                    pass
            for i in seq(-1, n / 4 - 1):
                scale(16, s, x[i + 1])
        ",
    );
}

#[test]
fn docstring_and_comment_are_skipped() {
    assert_eq!(
        body_of(
            "def f(x: f32[4]):\n    \"\"\"Says what it does.\"\"\"\n    assert stride(x, 0) == 1\n    # so\n    pass\n"
        ),
        "def f(x: f32[4] @ DRAM):\n    assert stride(x, 0) == 1\n    pass"
    );
}

#[test]
fn default_memory_is_dram() {
    let proc = testing::proc("def f(n: size, x: f32[n]):\n    y: f32\n    y = x[0]\n");
    assert_eq!(proc.args[0].mem.name(), "DRAM");
    assert_eq!(proc.args[1].mem.name(), "DRAM");
}

#[test]
fn chains_and_connectives_fold_left() {
    accepted_body("if 0 <= k < n <= 9:\n    pass", "if 0 <= k and k < n and n <= 9:\n    pass");
    accepted_body("if b and k > 0 and n > 1 or b:\n    pass", "if b and k > 0 and n > 1 or b:\n    pass");
}

#[test]
fn elif_is_an_if_in_the_else() {
    accepted_body(
        "if k < 0:\n    t = 1.0\nelif k < 1:\n    t = 2.0\nelse:\n    t = 3.0",
        "if k < 0:\n    t = 1.0\nelse:\n    if k < 1:\n        t = 2.0\n    else:\n        t = 3.0",
    );
}

#[test]
fn minus_folds_into_literals() {
    let proc = testing::proc("def f(x: f32[4]):\n    x[0] = -2.5\n    x[1] = -3\n    x[2] = - - 3\n");
    let values: Vec<String> = proc.body.iter().map(|stmt| print::Names::default().headline(stmt)).collect();
    assert_eq!(values, ["x[0] = -2.5", "x[1] = -3", "x[2] = 3"]);
    accepted_body("x[0] = -x[1] - -2", "x[0] = -x[1] - -2");
    accepted_body(
        "for i in seq(-9223372036854775808, 0):\n    pass",
        "for i in seq(-9223372036854775808, 0):\n    pass",
    );
}

#[test]
fn integer_literals_are_reals_in_data_positions() {
    let proc = testing::proc("def f(x: f32[4]):\n    x[0] = 3 / 4\n");
    let StmtKind::Assign { rhs, idx, .. } = &proc.body[0].kind else { panic!() };
    let ExprKind::Binary { lhs, .. } = &rhs.kind else { panic!() };
    assert_eq!((lhs.ty, idx[0].ty), (Ty::Data, Ty::INT));
}

#[test]
fn partial_reads_are_windows() {
    accepted_body("w = A[3]\nw[0] = 1.0", "w = A[3, 0:8]\nw[0] = 1.0");
    accepted_body("w = A[k:, 0:4]\nv = w[:, 1]\nv[0] = 0.0", "w = A[k:n, 0:4]\nv = w[0:n - k, 1]\nv[0] = 0.0");
}

#[test]
fn bounds_are_read_before_the_iterator_exists() {
    let proc = testing::proc("def f(n: size, x: f32[n]):\n    for n in seq(0, n):\n        x[n] = 0.0\n");
    let StmtKind::For { hi, iter, .. } = &proc.body[0].kind else { panic!() };
    let ExprKind::Read { name, .. } = &hi.kind else { panic!() };
    assert_eq!(name, &proc.args[0].name);
    assert_ne!(name, iter);
}

#[test]
fn shadowing_makes_new_symbols() {
    accepted_body(
        "for i in seq(0, n):\n    for i in seq(0, 8):\n        A[0, i] = 0.0\nt: f32[2]\nt[0] = 1.0",
        "for i in seq(0, n):\n    for i_1 in seq(0, 8):\n        A[0, i_1] = 0.0\nt_1: f32[2] @ DRAM\nt_1[0] = 1.0",
    );
}

#[test]
fn names_end_with_their_block() {
    refused_body("for i in seq(0, n):\n    y: f32\n    y = 0.0\nt = y", "`y` is not defined");
    refused_body("if b:\n    y: f32\n    y = 0.0\nelse:\n    y = 1.0", "`y` is not declared");
    refused_body("for i in seq(0, n):\n    pass\nx[i] = 0.0", "`i` is not defined");
}

#[test]
fn names_of_the_host_are_spliced() {
    let mut known = testing::known();
    known.insert("N".into(), HostValue::Int(4));
    known.insert("c".into(), HostValue::Float(0.5));
    known.insert("T".into(), HostValue::Text("f64".into()));
    known.insert("mems[0]".into(), HostValue::Memory(testing::avx2()));
    known.insert("lib.N".into(), HostValue::Int(2));
    known.insert("2 * N".into(), HostValue::Int(8));
    let text = "def f(x: T[N] @ mems[0], y: {T}):\n    for i in seq(0, {2 * N} / N):\n        x[lib.N * i] = c\n";
    let procs = testing::procs_with(text, known).unwrap();
    assert_eq!(
        print::proc(&procs[0]),
        "def f(x: f64[4] @ AVX2, y: f64 @ DRAM):\n    for i in seq(0, 8 / 4):\n        x[2 * i] = 0.5"
    );
}

#[test]
fn procs_of_the_host_are_called_by_any_expression() {
    let mut known = testing::known();
    let callee = testing::procs("def g(x: f32):\n    x = 0.0\n").remove(0);
    known.insert("lib.g".into(), HostValue::Proc(callee.clone()));
    known.insert("gs[1]".into(), HostValue::Proc(callee));
    let procs = testing::procs_with("def f(t: f32):\n    lib.g(t)\n    gs[1](t)\n", known).unwrap();
    assert_eq!(print::proc(&procs[0]), "def f(t: f32 @ DRAM):\n    g(t)\n    g(t)");
}

#[test]
fn every_mistake_is_reported_once() {
    let messages = refused(
        "
        def f(n: size, x: f33[n], y: f32[q]):
            x[0] = 1.0
            y[0] = x[0]
            z = 3.0
            t = z
            for i in seq(0, m):
                n = 4.0
        ",
    );
    let lines: Vec<&str> = messages.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        lines,
        [
            "test.exo:1:18: unknown type `f33`",
            "test.exo:1:33: `q` is not defined",
            "test.exo:4:4: `z` is not declared",
            "test.exo:6:20: `m` is not defined",
            "test.exo:7:8: `n` has type `size` and cannot be assigned",
        ]
    );
}

#[test]
fn affine_rules() {
    accepted_body("x[2 * k + n - 3 * (k - 1)] = 0.0", "x[2 * k + n - 3 * (k - 1)] = 0.0");
    accepted_body("x[k / 2 + k % 4] = 0.0", "x[k / 2 + k % 4] = 0.0");
    refused_body("x[k * n] = 0.0", "not affine");
    refused_body("x[k / n] = 0.0", "positive integer literal");
    refused_body("x[k % 0] = 0.0", "positive integer literal");
    refused_body("x[k / (1 + 1)] = 0.0", "positive integer literal");
    refused_body("x[k / -2] = 0.0", "positive integer literal");
    refused_body("x[k // 2] = 0.0", "`/` on indices is floor division");
}

#[test]
fn data_and_control_are_apart() {
    refused_body("x[k] = k", "expected data, found a control value");
    refused_body("x[k] = 2.0 * k", "do not mix");
    refused_body("x[t] = 0.0", "expected an index, found data");
    refused_body("x[1.0] = 0.0", "expected an index, found data");
    refused_body("if t < 1.0:\n    pass", "data cannot be compared");
    refused_body("if x[0]:\n    pass", "expected a condition, found data");
    refused_body("if k:\n    pass", "expected a condition");
    refused_body("for i in seq(0, t):\n    pass", "expected an index");
    refused_body("t = x[0] % 2.0", "`%` works on indices only");
    refused_body("t = b", "expected data");
    refused_body("y: f32[t]", "expected an index");
    refused_body("t = x", "expected one element");
    refused_body("x[0] = x[0:2]", "a window is not a data value");
    refused_body("t = 1.0 + x[0:2]", "a window is not a data value");
}

#[test]
fn bools_and_strides_have_no_arithmetic() {
    refused_body("if b < b:\n    pass", "does not compare `bool`");
    refused_body("if s == n:\n    pass", "does not compare `stride` with `size`");
    refused_body("if s < 1:\n    pass", "does not compare");
    refused_body("if s + 1 == 2:\n    pass", "no arithmetic on a `stride`");
    refused_body("x[b + 1] = 0.0", "no arithmetic on a `bool`");
    refused_body("x[-b] = 0.0", "cannot be negated");
    refused_body("if k and b:\n    pass", "expected a condition");
    accepted_body(
        "if s == 1 and stride(A, 1) == s and b == False:\n    pass",
        "if s == 1 and stride(A, 1) == s and b == False:\n    pass",
    );
}

#[test]
fn accesses_fit_their_buffers() {
    refused_body("x[0, 1] = 0.0", "`x` has 1 dimension, 2 given");
    refused_body("A[0] = 0.0", "`A` has 2 dimensions, 1 given");
    refused_body("x = 0.0", "`x` has 1 dimension, 0 given");
    refused_body("t[0] = 0.0", "`t` is a scalar");
    refused_body("t = A[0, 1, 2]", "`A` has 2 dimensions, 3 given");
    refused_body("w = A[0:2]", "`A` has 2 dimensions, 1 given");
    refused_body("w = A[0:4:2, 0]", "step of a slice");
    refused_body("w = k[0:4]", "it is not a buffer");
    refused_body("w = t[0:4]", "`t` is a scalar");
    refused_body("x[0:4] = 0.0", "a window cannot be assigned");
    refused_body("if stride(x, 1) == 1:\n    pass", "there is no dimension 1");
    refused_body("if stride(n, 0) == 1:\n    pass", "it is not a buffer");
    refused_body("if stride(x, k) == 1:\n    pass", "must be an integer literal");
    refused_body("if stride(x) == 1:\n    pass", "malformed `stride`");
}

#[test]
fn windows_need_new_names() {
    refused_body("t = x[0:4]\n", "already names something");
    refused_body("w = x[0:4]\nw = x[4:8]", "already names something");
    refused_body("n = x[0:4]", "already names something");
    refused_body("w += x[0:4]", "`w` is not declared");
    refused_body("w = 3.0", "`w` is not declared");
    refused_body("w: [f32][4]", "a window cannot be allocated");
}

#[test]
fn configuration_state() {
    accepted_body("Cfg.on = k < 3 and b\nt = Cfg.gain * 2.0", "Cfg.on = k < 3 and b\nt = Cfg.gain * 2.0");
    accepted_body(
        "Cfg.pitch = stride(x, 0)\nx[Cfg.i + Cfg.n / 4] = 1.0",
        "Cfg.pitch = stride(x, 0)\nx[Cfg.i + Cfg.n / 4] = 1.0",
    );
    for (statement, expected) in [
        ("Cfg.gain = k", "expected data"),
        ("Cfg.on = 3", "expected a condition"),
        ("Cfg.n = t", "expected an index"),
        ("Cfg.pitch = k", "takes a stride"),
        ("Cfg.nope = 3", "the config `Cfg` has no field `nope`"),
        ("t = Cfg.nope", "the config `Cfg` has no field `nope`"),
        ("t = Cfg", "is a config, not a value"),
        ("Unknown.f = 3", "neither a number of the host code nor a field"),
        ("sin.f = 3", "neither a number of the host code nor a field"),
        ("Cfg.n += 3", "a reduction into configuration state"),
        ("y: f32[Cfg.n]", "the extents of a buffer may not depend on configuration state"),
        ("w = x[Cfg.i:Cfg.i + 2]", "a window that is named may not depend on configuration state"),
        ("if Cfg.pitch < 3:\n    pass", "does not compare"),
    ] {
        refused_body(statement, expected);
    }
    assert!(refused("def f(n: size, x: f32[Cfg.n]):\n    pass\n").contains("the extents of a buffer"));
    let actual = "def g(x: f32):\n    x = 1.0\ndef f(n: size):\n    g(Cfg.gain)\n";
    assert!(refused(actual).contains("`Cfg.gain` is not a buffer"), "{}", refused(actual));
}

#[test]
fn constructs_outside_the_language() {
    for (statement, expected) in [
        ("while b:\n    pass", "`while`"),
        ("return", "`return`"),
        ("t -= 1.0", "write `t += -1.0`"),
        ("t *= 2.0", "write `t = t * 2.0`; only `+=` is a reduction"),
        ("t = x[0] = 1.0", "chained assignment"),
        ("t, u = 1.0, 2.0", "left side"),
        ("y: f32 = 1.0", "an initial value"),
        ("y: size", "cannot be allocated"),
        ("y: f32[3][4]", "types do not nest"),
        ("y: f32[0:4]", "not a slice"),
        ("y: f32 @ NOWHERE", "unknown memory `NOWHERE`"),
        ("y: f32 @ sin", "not a memory"),
        ("for i in range(0, n):\n    pass", "a loop over `range(...)`"),
        ("for i in seq(n):\n    pass", "two bounds"),
        ("for i in seq(0, n, 0):\n    pass", "positive integer literal"),
        ("for i in seq(0, n, n):\n    pass", "positive integer literal"),
        ("for i in seq(0, n, 2, 3):\n    pass", "two bounds and a step"),
        ("for i, j in seq(0, n):\n    pass", "loop target"),
        ("for i in seq(0, n):\n    pass\nelse:\n    pass", "the `else` of a loop"),
        ("for _ in seq(0, n):\n    pass", "hole of patterns"),
        ("pass\nassert n > 3", "before all other statements"),
        ("import math", "this statement"),
        ("Cfg.gain += 3.0", "a reduction into configuration state"),
        ("'text'\n'more'", "a string"),
        ("...", "an expression as a statement"),
        ("with python:\n    pass", "`with python:`"),
        ("with x:\n    pass", "this `with`"),
        ("if not t:\n    pass", "expected a condition, found data"),
        ("if t != 3:\n    pass", "data cannot be compared"),
        ("if b != k:\n    pass", "does not compare"),
        ("if k is 3:\n    pass", "`is`"),
        ("t = 1.0 if b else 2.0", "conditional expression"),
        ("t = 2.0 ** 2.0", "`**`"),
        ("t = [1.0]", "this expression"),
        ("t = 1j", "complex"),
        ("t = 1e999", "too large"),
        ("x[99999999999999999999] = 0.0", "does not fit 64 bits"),
        ("t = undefined", "`undefined` is not defined"),
    ] {
        refused_body(statement, expected);
    }
}

#[test]
fn signatures() {
    for (text, expected) in [
        ("def f(n):\n    pass\n", "has no type"),
        ("def f(n: size, n: size):\n    pass\n", "appears twice"),
        ("def f(n: size @ DRAM):\n    pass\n", "lives in no memory"),
        ("def f(n: size = 3):\n    pass\n", "a default value"),
        ("def f(*n: size):\n    pass\n", "a parameter with `*`"),
        ("def f(*, n: size):\n    pass\n", "keyword-only"),
        ("def f(n: int):\n    pass\n", "unknown type `int`"),
        ("def f(x: f32[m], m: size):\n    pass\n", "`m` is not defined"),
        ("def f(x: f32) -> f32:\n    pass\n", "a return type"),
        ("def f(n: size):\n    assert n > 2\n", "no statements"),
        ("def f(n: size):\n    assert n > 2, 'why'\n    pass\n", "message of an assert"),
        ("def f(n: size):\n    assert n + 2\n    pass\n", "expected a condition"),
        ("def _(n: size):\n    pass\n", "hole of patterns"),
        ("def f(x: [f32]):\n    pass\n", "unknown type `[f32]`"),
        ("def f(é: size):\n    pass\n", "outside ASCII"),
    ] {
        let messages = refused(text);
        assert!(messages.contains(expected), "expected `{expected}` in:\n{messages}");
    }
}

fn refused_call(call: &str, expected: &str) {
    let text = format!(
        "
def g(m: size, on: bool, s: stride, a: f32, v: [f32][m]):
    pass

def f(n: size, k: index, b: bool, q: stride, t: f32, x: f32[n], A: f32[n, 8]):
    {call}
"
    );
    let messages = refused(&text);
    assert!(messages.contains(expected), "expected `{expected}` in:\n{messages}");
}

#[test]
fn calls() {
    body_of(
        "
def g(m: size, on: bool, s: stride, a: f32, v: [f32][m]):
    pass

def f(n: size, k: index, b: bool, q: stride, t: f32, x: f32[n], A: f32[n, 8]):
    g(n, k < 2, q, t, x)
    g(8, True, stride(A, 0), t, A[0])
    g(n - 2, b, 1, t, x[2:])
",
    );
    refused_call("g(n, b, q, t)", "takes 5 arguments, 4 given");
    refused_call("g(n, b, q, t, w=x)", "has no parameter `w`");
    refused_call("g(n, b, q, t, x, v=x)", "given twice");
    refused_call("g(n, b, v=x)", "takes 5 arguments, 3 given");
    refused_call("g(t, b, q, t, x)", "is a `size`, found data");
    refused_call("g(b, b, q, t, x)", "is a `size`, found a value of type `bool`");
    refused_call("g(n, k, q, t, x)", "is a `bool`");
    refused_call("g(n, b, k, t, x)", "is a `stride`");
    refused_call("g(n, b, q, n, x)", "is data");
    refused_call("g(n, b, q, x, x)", "has 0 dimensions, the argument has 1");
    refused_call("g(n, b, q, t, A)", "has 1 dimension, the argument has 2");
    refused_call("g(n, b, q, 1.0, x)", "needs a plain name");
    refused_call("g(n, b, q, x[0], x)", "needs a plain name");
    refused_call("t = g(n, b, q, t, x)", "gives no value");
    refused_call("sin(t)", "is an expression");
    refused_call("t = sin(t, t)", "takes 1 argument, 2 given");
    refused_call("t = sin(k)", "expected data");
    refused_call("nothing(t)", "`nothing` is not defined");
    refused_call("f(n, k, b, q, t, x, A)", "`f` cannot call itself");
    refused_call("x(t)", "is a variable here");
    refused_call("DRAM(t)", "not a proc");
}

#[test]
fn deep_nesting_is_refused_not_a_crash() {
    let sum = vec!["1.0"; 3000].join(" + ");
    let messages = refused(&format!("def f(t: f32):\n    t = {sum}\n"));
    assert!(messages.contains("levels of nesting"));
}

#[test]
fn text_must_be_one_definition() {
    let errors = proc_from_text("x = 3", &testing::known()).unwrap_err();
    assert_eq!(errors[0].code, codes::OBJECT_SYNTAX);
    let errors = proc_from_text("def f(x: f32:\n    pass", &testing::known()).unwrap_err();
    assert_eq!(errors[0].code, codes::SYNTAX);
}
