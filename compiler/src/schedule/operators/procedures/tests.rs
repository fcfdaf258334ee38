//! Tests of the operators on procedures and calls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::diagnostic::codes;
use crate::loop_ir::Proc;
use crate::schedule::operators::procedures::replace_all;
use crate::schedule::procedure::Procedure;
use crate::schedule::testing::*;
use crate::testing::procs;

/// The named procs of a text, the last one last.
fn many(text: &str) -> Vec<Procedure> {
    procs(text).into_iter().map(Procedure::new).collect()
}

fn replaced(p: &Procedure, instructions: &[&Procedure]) -> Procedure {
    let instructions: Vec<Arc<Proc>> = instructions.iter().map(|p| p.ir().clone()).collect();
    let q = replace_all(p, &instructions, &mut Solver::new(2_000_000)).unwrap();
    same(p.ir(), q.ir());
    reads_back(q.ir());
    q
}

#[test]
fn rename_keeps_everything_else() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8]):
            for i in seq(0, 8):
                x[i] = 0.0
        ",
    );
    let q = step("rename", &p, arguments!["g"]);
    assert_eq!(&*q.ir().name, "g");
    assert_eq!(now(&q, &cursor(&p, "x[_] = _")).unwrap(), "x[i] = 0.0");
    refused("rename", &p, arguments!["not a name"]);
}

#[test]
fn make_instr_sets_template_and_global() {
    let p = procedure(
        "
        @proc
        def f(x: [f32][8]):
            for i in seq(0, 8):
                x[i] = 0.0
        ",
    );
    let q = apply("make_instr", &p, arguments!["zero({x_data});", "#include <zero.h>"]).unwrap();
    let instr = q.ir().instr.clone().unwrap();
    assert_eq!((instr.template.as_str(), instr.global.as_str()), ("zero({x_data});", "#include <zero.h>"));
}

const COLUMN: &str = "
    @instr(\"store8(&{dst_data}, &{src_data});\")
    def store8(dst: [f32][8] @ DRAM, src: [f32][8] @ DRAM):
        assert stride(dst, 0) == 1
        assert stride(src, 0) == 1
        for k in seq(0, 8):
            dst[k] = src[k]
    @proc
    def column(grid: f32[8, 8], reg: f32[8]):
        for k in seq(0, 8):
            grid[k, 3] = reg[k]
    ";

/// S5: a strided store is no contiguous one.
#[test]
fn replace_checks_strides() {
    let all = many(COLUMN);
    refused("replace", &all[1], arguments!["for k in _: _", &all[0]]);
    let row = many(&COLUMN.replace("grid[k, 3]", "grid[3, k]"));
    let q = step("replace", &row[1], arguments!["for k in _: _", &row[0]]);
    prints(
        &q,
        "
        def column(grid: f32[8, 8] @ DRAM, reg: f32[8] @ DRAM):
            store8(grid[3, 0:8], reg[0:8])
        ",
    );
    assert_eq!(now(&q, &cursor(&row[1], "grid[_] = _")), None);
}

/// S6: preconditions of the callee.
#[test]
fn replace_checks_assertions() {
    let text = "
        @instr(\"vset4\")
        def vset4(w: size, out: [f32][w], val: f32):
            assert w == 4
            for k in seq(0, w):
                out[k] = val
        @proc
        def p(v: f32[12], a: f32):
            for g in seq(0, 3):
                for k in seq(0, 3):
                    v[4 * g + k] = a
        ";
    let all = many(text);
    refused("replace", &all[1], arguments!["for k in _: _", &all[0]]);
    let all = many(&text.replace("seq(0, 3):\n                    v", "seq(0, 4):\n                    v"));
    let q = step("replace", &all[1], arguments!["for k in _: _", &all[0]]);
    assert!(crate::print::proc(q.ir()).contains("vset4(4, v[4 * g:4 * g + 4], a)"));
}

/// S7: sizes must be positive.
#[test]
fn replace_checks_sizes() {
    let text = "
        @instr(\"cpy\")
        def cpy(cnt: size, d: [f32][4], s: [f32][4]):
            for k in seq(0, 4):
                if k < cnt:
                    d[k] = s[k]
        @proc
        def p(n: size, g: size, d: f32[n], s: f32[n]):
            assert 4 * g + 4 <= n
            for k in seq(0, 4):
                if 4 * g + k < n:
                    d[4 * g + k] = s[4 * g + k]
        ";
    let all = many(text);
    step("replace", &all[1], arguments!["for k in _: _", &all[0]]);
    let all = many(&text.replace("            assert 4 * g + 4 <= n\n", ""));
    refused("replace", &all[1], arguments!["for k in _: _", &all[0]]);
}

/// D53, D54, D23 and the same buffer twice.
#[test]
fn replace_checks_buffers_modes_memories_and_length() {
    let text = "
        @instr(\"dbl\")
        def dbl(d: [f32][8], a: [f32][8]):
            for i in seq(0, 8):
                d[i] = a[i] + a[i]
        @proc
        def p(x: f32[8], z: f32[8], y: f32[8]):
            for i in seq(0, 8):
                y[i] = x[i] + x[i]
            y[0] = 1.0
        ";
    let all = many(text);
    step("replace", &all[1], arguments!["for i in _: _", &all[0]]);
    for (from, to) in [
        ("x[i] + x[i]", "x[i] + z[i]"),
        ("x[i] + x[i]", "y[i] + y[i]"),
        ("for i in seq(0, 8):\n                y", "for i in par(0, 8):\n                y"),
        ("def p(x: f32[8]", "def p(x: f64[8]"),
        ("def p(x: f32[8]", "def p(x: f32[8] @ AVX2"),
    ] {
        let all = many(&text.replace(from, to));
        refused("replace", &all[1], arguments!["for i in _: _", &all[0]]);
    }
    let unmatched = many(&text.replace("x[i] + x[i]", "x[i] * x[i]"));
    let refusal = refused("replace", &unmatched[1], arguments!["for i in _: _", &unmatched[0]]);
    assert_eq!(refusal.diagnostics[0].code, codes::UNIFICATION);
}

#[test]
fn replace_takes_the_first_choice_that_makes_a_valid_call() {
    let text = "
        @instr(\"one\")
        def one(d: [f32][1], s: [f32][1]):
            assert stride(d, 0) == 8
            for i in seq(0, 1):
                d[i] = s[i]
        @proc
        def p(x: f32[8, 8], y: f32[8, 8]):
            for i in seq(0, 1):
                y[i + 2, 3] = x[4, i]
        ";
    let all = many(text);
    let q = step("replace", &all[1], arguments!["for i in _: _", &all[0]]);
    assert!(crate::print::proc(q.ir()).contains("one(y[2:3, 3], x[4, 0:1])"));
}

const REGISTERS: &str = "
    @instr(\"load\")
    def load(dst: [f32][8] @ AVX2, src: [f32][8] @ DRAM):
        assert stride(src, 0) == 1
        assert stride(dst, 0) == 1
        for i in seq(0, 8):
            dst[i] = src[i]
    @instr(\"store\")
    def store(dst: [f32][8] @ DRAM, src: [f32][8] @ AVX2):
        assert stride(src, 0) == 1
        assert stride(dst, 0) == 1
        for i in seq(0, 8):
            dst[i] = src[i]
    @instr(\"broadcast\")
    def broadcast(out: [f32][8] @ AVX2, val: [f32][1] @ DRAM):
        assert stride(out, 0) == 1
        for i in seq(0, 8):
            out[i] = val[0]
    @instr(\"fma\")
    def fma(dst: [f32][8] @ AVX2, a: [f32][8] @ AVX2, b: [f32][8] @ AVX2):
        assert stride(dst, 0) == 1
        assert stride(a, 0) == 1
        assert stride(b, 0) == 1
        for i in seq(0, 8):
            dst[i] += a[i] * b[i]
    @proc
    def kernel(K: size, A: f32[6, K], B: f32[K, 16], C: f32[6, 16]):
        C_reg: f32[6, 2, 8] @ AVX2
        for i0 in seq(0, 6):
            for i1o in seq(0, 2):
                for i1i in seq(0, 8):
                    C_reg[i0, i1o, i1i] = C[i0, i1i + 8 * i1o]
        for k in seq(0, K):
            for i in seq(0, 6):
                a_vec: f32[8] @ AVX2
                for jo in seq(0, 2):
                    for ji in seq(0, 8):
                        a_vec[ji] = A[i, k]
                    b_vec: f32[8] @ AVX2
                    for ji in seq(0, 8):
                        b_vec[ji] = B[k, ji + 8 * jo]
                    for ji in seq(0, 8):
                        C_reg[i, jo, ji] += a_vec[ji] * b_vec[ji]
        for i0 in seq(0, 6):
            for i1o in seq(0, 2):
                for i1i in seq(0, 8):
                    C[i0, i1i + 8 * i1o] = C_reg[i0, i1o, i1i]
    ";

#[test]
fn replace_all_chooses_by_memory() {
    let all = many(REGISTERS);
    let (kernel, instructions) = all.split_last().unwrap();
    let last = cursor(kernel, "for k in _: _");
    let q = replaced(kernel, &instructions.iter().collect::<Vec<_>>());
    prints(
        &q,
        "
        def kernel(K: size, A: f32[6, K] @ DRAM, B: f32[K, 16] @ DRAM, C: f32[6, 16] @ DRAM):
            C_reg: f32[6, 2, 8] @ AVX2
            for i0 in seq(0, 6):
                for i1o in seq(0, 2):
                    load(C_reg[i0, i1o, 0:8], C[i0, 8 * i1o:8 * i1o + 8])
            for k in seq(0, K):
                for i in seq(0, 6):
                    a_vec: f32[8] @ AVX2
                    for jo in seq(0, 2):
                        broadcast(a_vec[0:8], A[i, k:k + 1])
                        b_vec: f32[8] @ AVX2
                        load(b_vec[0:8], B[k, 8 * jo:8 * jo + 8])
                        fma(C_reg[i, jo, 0:8], a_vec[0:8], b_vec[0:8])
            for i0 in seq(0, 6):
                for i1o in seq(0, 2):
                    store(C[i0, 8 * i1o:8 * i1o + 8], C_reg[i0, i1o, 0:8])
        ",
    );
    assert_eq!(now(&q, &last).unwrap(), "for k in seq(0, K):");
    // Nothing is left to replace.
    let again = replaced(&q, &instructions.iter().collect::<Vec<_>>());
    assert_eq!(crate::print::proc(again.ir()), crate::print::proc(q.ir()));
}

#[test]
fn replace_all_is_fast_on_long_programs() {
    let mut text = REGISTERS.split("    @proc\n    def kernel").next().unwrap().to_string();
    text.push_str("    @proc\n    def long(x: f32[16], y: f32[16]):\n");
    for _ in 0..500 {
        text.push_str("        for i in seq(0, 16):\n            y[i] = x[i] * 2.0\n        for i in seq(0, 8):\n            y[i] += x[i]\n");
    }
    let all = many(&text);
    let (long, instructions) = all.split_last().unwrap();
    let start = std::time::Instant::now();
    let list: Vec<Arc<Proc>> = instructions.iter().map(|p| p.ir().clone()).collect();
    replace_all(long, &list, &mut Solver::new(2_000_000)).unwrap();
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn inline_windows_scalars_and_control() {
    let all = many(
        "
        @proc
        def scale(n: size, x: [f32][n], s: f32, k: index):
            t: f32
            for i in seq(0, n):
                t = x[i] * s
                if i < k:
                    x[i] = t
        @proc
        def f(y: f32[4, 8], i: size, a: f32):
            for j in seq(0, 4):
                scale(8, y[j, 0:8], a, i + j)
                scale(8, y[j, 0:8], a, i - j)
        ",
    );
    let q = step("inline", &all[1], arguments!["scale(_)"]);
    prints(
        &q,
        "
        def f(y: f32[4, 8] @ DRAM, i: size, a: f32 @ DRAM):
            for j in seq(0, 4):
                x = y[j, 0:8]
                t: f32 @ DRAM
                for i_1 in seq(0, 8):
                    t = x[i_1] * a
                    if i_1 < i + j:
                        x[i_1] = t
                scale(8, y[j, 0:8], a, i - j)
        ",
    );
    let q = step("inline", &q, arguments!["scale(_)"]);
    assert_eq!(crate::print::proc(q.ir()).matches("x = y[j, 0:8]").count(), 1);
    assert_eq!(crate::print::proc(q.ir()).matches("x_1 = y[j, 0:8]").count(), 1);
}

#[test]
fn call_eqv_wants_one_family() {
    let all = many(
        "
        @proc
        def clear(x: [f32][8]):
            for i in seq(0, 8):
                x[i] = 0.0
        @proc
        def other(x: [f32][8]):
            for i in seq(0, 8):
                x[i] = 0.0
        @proc
        def f(y: f32[4, 8]):
            for j in seq(0, 4):
                clear(y[j, 0:8])
        ",
    );
    let fast = step("rename", &all[0], arguments!["fast"]);
    let q = step("call_eqv", &all[2], arguments!["clear(_)", &fast]);
    assert_eq!(now(&q, &cursor(&all[2], "clear(_)")).unwrap(), "fast(y[j, 0:8])");
    let refusal = refused("call_eqv", &all[2], arguments!["clear(_)", &all[1]]);
    assert_eq!(refusal.diagnostics[0].code, codes::NOT_EQUIVALENT);
    // What `y` lives in may be changed after the call is.
    let register = apply("set_memory", &fast, arguments!["x", crate::testing::avx2()]).unwrap();
    step("call_eqv", &all[2], arguments!["clear(_)", &register]);
}

#[test]
fn partial_eval_fixes_sizes() {
    let p = procedure(
        "
        @proc
        def f(n: size, m: index, b: bool, x: f32[n]):
            assert n % 4 == 0
            assert m >= 0
            for i in seq(0, n):
                if b:
                    x[i] = 0.0
        ",
    );
    let fix = |positional: Vec<crate::schedule::argument::RawValue>| {
        let arguments = crate::schedule::operators::procedures::partial_eval::arguments(p.ir(), positional, Vec::new());
        apply("partial_eval", &p, arguments?)
    };
    let q = fix(vec![8i64.into(), 0i64.into(), true.into()]).unwrap();
    prints(
        &q,
        "
        def f(x: f32[8] @ DRAM):
            assert 8 % 4 == 0
            assert 0 >= 0
            for i in seq(0, 8):
                if True:
                    x[i] = 0.0
        ",
    );
    reads_back(q.ir());
    assert_ne!(q.ir().lineage.family, p.ir().lineage.family);
    assert_eq!(now(&q, &cursor(&p, "x[_] = _")).unwrap(), "x[i] = 0.0");
    // Contradictions, wrong kinds, too many.
    assert!(fix(vec![6i64.into()]).is_err());
    assert!(fix(vec![0i64.into()]).is_err());
    assert!(fix(vec![8i64.into(), (-1i64).into()]).is_err());
    assert!(fix(vec![8i64.into(), 0i64.into(), 2i64.into()]).is_err());
    assert!(fix(vec![8i64.into(), 0i64.into(), true.into(), 1i64.into()]).is_err());
    assert!(fix(vec!["8".into()]).is_err());
    refused("partial_eval", &p, arguments![["k"], [1i64]]);
}

#[test]
fn add_assertion_begins_a_family_and_must_not_contradict() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n]):
            assert n % 4 == 0
            for i in seq(0, n):
                x[i] = 0.0
        ",
    );
    let q = apply("add_assertion", &p, arguments!["n % 8 == 0"]).unwrap();
    assert!(crate::print::proc(q.ir()).contains("assert n % 8 == 0"));
    assert_ne!(q.ir().lineage.family, p.ir().lineage.family);
    step("divide_loop", &q, arguments!["i", 8i64, ["io", "ii"]; perfect = true]);
    refused("add_assertion", &p, arguments!["n % 4 == 1"]);
    refused("add_assertion", &p, arguments!["n < 0"]);
    refused("add_assertion", &p, arguments!["i < 8"]);
    refused("add_assertion", &p, arguments!["n +"]);
}

fn extracted(p: &Procedure, arguments: crate::schedule::apply::RawArguments) -> (Procedure, Procedure) {
    let q = step("extract_subproc", p, arguments);
    let operator = crate::schedule::registry::find("extract_subproc").unwrap();
    let sub = operator.further(p.ir(), q.ir()).unwrap();
    reads_back(&sub);
    (q, Procedure::new(sub))
}

#[test]
fn extract_takes_what_the_block_uses() {
    let p = procedure(
        "
        @proc
        def f(n: size, m: size, x: f32[n, 8] @ DRAM, y: f32[8]):
            assert n < 100
            t: f32[8]
            for k in seq(0, 8):
                t[k] = y[k]
            for i in seq(0, n):
                w = x[i, 0:8]
                if i < 4:
                    for j in seq(0, 8):
                        w[j] = t[j] * 2.0
        ",
    );
    let inner = cursor(&p, "for j in _: _");
    let block = crate::schedule::procedure::Cursor {
        procedure: p.clone(),
        place: match inner.place.clone() {
            crate::cursor::Place::Node(at) => {
                crate::cursor::Place::Block(crate::cursor::BlockPlace::of_statement(&at).unwrap())
            }
            _ => panic!(),
        },
    };
    let (q, sub) = extracted(&p, arguments!["for j in _: _", "scale"]);
    prints(
        &sub,
        "
        def scale(t: f32[8] @ DRAM, w: [f32][8] @ DRAM):
            for j in seq(0, 8):
                w[j] = t[j] * 2.0
        ",
    );
    assert_eq!(now(&q, &block).unwrap(), "scale(t, w)");
    assert_eq!(now(&q, &inner), None);
    let (_, sub) = extracted(&p, arguments!["if _: _", "scale"]);
    prints(
        &sub,
        "
        def scale(t: f32[8] @ DRAM, i: index, w: [f32][8] @ DRAM):
            assert 0 <= i
            if i < 4:
                for j in seq(0, 8):
                    w[j] = t[j] * 2.0
        ",
    );
    let (_, sub) = extracted(&p, arguments!["for i in _: _", "scale"]);
    assert!(
        crate::print::proc(sub.ir())
            .starts_with("def scale(n: size, x: f32[n, 8] @ DRAM, t: f32[8] @ DRAM):\n    assert n < 100")
    );
    // D13: what the block declares must not be needed after it.
    refused("extract_subproc", &p, arguments!["t: _", "alloc"]);
    // Without the assertions the access may be out of bounds.
    let bounded = procedure(
        "
        @proc
        def f(n: size, x: f32[n]):
            for i in seq(0, n):
                x[i] = 0.0
        ",
    );
    refused("extract_subproc", &bounded, arguments!["x[_] = _", "one", false]);
    let (q, _) = extracted(&bounded, arguments!["x[_] = _", "one"]);
    let _ = step("inline", &q, arguments!["one(_)"]);
}

#[test]
fn extract_refuses_two_names_for_one_buffer() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8]):
            w = x[0:4]
            for i in seq(0, 4):
                w[i] = x[i + 4]
        ",
    );
    refused("extract_subproc", &p, arguments!["for i in _: _", "two"]);
}

#[test]
fn transpose_swaps_a_matrix_argument() {
    let p = procedure(
        "
        @proc
        def f(A: [f32][4, 8], x: f32[8]):
            assert stride(A, 1) == 1
            for i in seq(0, 4):
                w = A[i, 0:8]
                for j in seq(0, 8):
                    w[j] = x[j] + A[i, j]
        ",
    );
    let q = apply("transpose", &p, arguments!["A"]).unwrap();
    prints(
        &q,
        "
        def f(A: [f32][8, 4] @ DRAM, x: f32[8] @ DRAM):
            assert stride(A, 0) == 1
            for i in seq(0, 4):
                w = A[0:8, i]
                for j in seq(0, 8):
                    w[j] = x[j] + A[j, i]
        ",
    );
    assert_ne!(q.ir().lineage.family, p.ir().lineage.family);
    refused("transpose", &p, arguments!["x"]);
}
