//! `stage_mem`: what is copied, what is guarded, what is refused.

use crate::cursor::{BlockPlace, Path, Place};
use crate::print;
use crate::schedule::testing::*;
use crate::schedule::{Cursor, Procedure};

const GEMM: &str = "
    @proc
    def gemm(M: size, N: size, K: size, A: f32[M, K], B: f32[K, N], C: f32[M, N]):
        assert M % 16 == 0
        assert N % 16 == 0
        assert K % 16 == 0
        for io in seq(0, M / 16):
            for jo in seq(0, N / 16):
                for ko in seq(0, K / 16):
                    for ii in seq(0, 16):
                        for ji in seq(0, 16):
                            for ki in seq(0, 16):
                                C[16 * io + ii, 16 * jo + ji] += A[16 * io + ii, 16 * ko + ki] * B[16 * ko + ki, 16 * jo + ji]
    ";

#[test]
fn tiles_of_a_matrix_product() {
    let p = procedure(GEMM);
    let inner = cursor(&p, "for ii in _: _");
    let q = step("stage_mem", &p, arguments!["for ko in _: _", "C[16*io:16*io+16, 16*jo:16*jo+16]", "Ct"]);
    assert_eq!(now(&q, &inner).unwrap(), "for ii in seq(0, 16):");
    assert!(now(&q, &cursor(&p, "C[_] += _")).unwrap().starts_with("Ct["));
    let q = step("stage_mem", &q, arguments!["for ii in _: _", "A[16*io:16*io+16, 16*ko:16*ko+16]", "At"]);
    prints(
        &q,
        "
        def gemm(M: size, N: size, K: size, A: f32[M, K] @ DRAM, B: f32[K, N] @ DRAM, C: f32[M, N] @ DRAM):
            assert M % 16 == 0
            assert N % 16 == 0
            assert K % 16 == 0
            for io in seq(0, M / 16):
                for jo in seq(0, N / 16):
                    Ct: f32[16 * io + 16 - 16 * io, 16 * jo + 16 - 16 * jo] @ DRAM
                    for i0 in seq(0, 16 * io + 16 - 16 * io):
                        for i1 in seq(0, 16 * jo + 16 - 16 * jo):
                            Ct[i0, i1] = C[i0 + 16 * io, i1 + 16 * jo]
                    for ko in seq(0, K / 16):
                        At: f32[16 * io + 16 - 16 * io, 16 * ko + 16 - 16 * ko] @ DRAM
                        for i0 in seq(0, 16 * io + 16 - 16 * io):
                            for i1 in seq(0, 16 * ko + 16 - 16 * ko):
                                At[i0, i1] = A[i0 + 16 * io, i1 + 16 * ko]
                        for ii in seq(0, 16):
                            for ji in seq(0, 16):
                                for ki in seq(0, 16):
                                    Ct[16 * io + ii - 16 * io, 16 * jo + ji - 16 * jo] += At[16 * io + ii - 16 * io, 16 * ko + ki - 16 * ko] * B[16 * ko + ki, 16 * jo + ji]
                    for i0 in seq(0, 16 * io + 16 - 16 * io):
                        for i1 in seq(0, 16 * jo + 16 - 16 * jo):
                            C[i0 + 16 * io, i1 + 16 * jo] = Ct[i0, i1]
        ",
    );
}

#[test]
fn load_only_store_only_and_both() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8], y: f32[8], z: f32[8]):
            for i in seq(0, 8):
                y[i] = x[i]
                z[i] += x[i]
        ",
    );
    let load = step("stage_mem", &p, arguments!["for i in _: _", "x[0:8]", "t"]);
    prints(
        &load,
        "
        def f(x: f32[8] @ DRAM, y: f32[8] @ DRAM, z: f32[8] @ DRAM):
            t: f32[8] @ DRAM
            for i0 in seq(0, 8):
                t[i0] = x[i0]
            for i in seq(0, 8):
                y[i] = t[i]
                z[i] += t[i]
        ",
    );
    let store = step("stage_mem", &p, arguments!["for i in _: _", "y[0:8]", "t"]);
    prints(
        &store,
        "
        def f(x: f32[8] @ DRAM, y: f32[8] @ DRAM, z: f32[8] @ DRAM):
            t: f32[8] @ DRAM
            for i in seq(0, 8):
                t[i] = x[i]
                z[i] += x[i]
            for i0 in seq(0, 8):
                y[i0] = t[i0]
        ",
    );
    let both = step("stage_mem", &p, arguments!["for i in _: _", "z[0:8]", "t"]);
    prints(
        &both,
        "
        def f(x: f32[8] @ DRAM, y: f32[8] @ DRAM, z: f32[8] @ DRAM):
            t: f32[8] @ DRAM
            for i0 in seq(0, 8):
                t[i0] = z[i0]
            for i in seq(0, 8):
                y[i] = x[i]
                t[i] += x[i]
            for i0 in seq(0, 8):
                z[i0] = t[i0]
        ",
    );
    let accum = step("stage_mem", &p, arguments!["for i in _: _", "z[0:8]", "t"; accum = true]);
    prints(
        &accum,
        "
        def f(x: f32[8] @ DRAM, y: f32[8] @ DRAM, z: f32[8] @ DRAM):
            t: f32[8] @ DRAM
            for i0 in seq(0, 8):
                t[i0] = 0.0
            for i in seq(0, 8):
                y[i] = x[i]
                t[i] += x[i]
            for i0 in seq(0, 8):
                z[i0] += t[i0]
        ",
    );
    refused("stage_mem", &p, arguments!["for i in _: _", "y[0:8]", "t"; accum = true]);
}

#[test]
fn a_point_is_staged_as_a_scalar() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8, 4], y: f32[8]):
            for i in seq(0, 8):
                for j in seq(0, 4):
                    y[i] += x[i, j]
        ",
    );
    let q = step("stage_mem", &p, arguments!["for j in _: _", "y[i]", "t"]);
    prints(
        &q,
        "
        def f(x: f32[8, 4] @ DRAM, y: f32[8] @ DRAM):
            for i in seq(0, 8):
                t: f32 @ DRAM
                t = y[i]
                for j in seq(0, 4):
                    t += x[i, j]
                y[i] = t
        ",
    );
    let q = step("stage_mem", &p, arguments!["for j in _: _", "x[i, 0:4]", "row"]);
    assert!(crate::print::proc(q.ir()).contains("row: f32[4] @ DRAM"));
}

#[test]
fn filled_first_needs_no_load() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8, 8], y: f32[8]):
            for i in seq(0, 8):
                y[i] = 0.0
                for j in seq(0, 8):
                    y[i] += x[i, j]
        ",
    );
    let q = step("stage_mem", &p, arguments!["for i in _: _", "y[0:8]", "t"]);
    assert!(!crate::print::proc(q.ir()).contains("= y["));
    let body = crate::schedule::testing::cursors(&p, "y[_] = _");
    assert_eq!(now(&q, &body[0]).unwrap(), "t[i] = 0.0");
}

/// S3: what the block does not surely write must be loaded, or the store writes garbage.
#[test]
fn partial_and_conditional_writes_are_loaded() {
    let strided = procedure(
        "
        @proc
        def p(v: f32[6]):
            for k in seq(0, 3):
                v[2 * k] = 7.0
        ",
    );
    let q = step("stage_mem", &strided, arguments!["for k in _: _", "v[0:6]", "loc"]);
    assert!(crate::print::proc(q.ir()).contains("loc[i0] = v[i0]"));
    let conditional = procedure(
        "
        @proc
        def p(m: index, v: f32[6]):
            for k in seq(0, 6):
                if k == m:
                    v[k] = 7.0
        ",
    );
    let q = step("stage_mem", &conditional, arguments!["for k in _: _", "v[0:6]", "loc"]);
    assert!(crate::print::proc(q.ir()).contains("loc[i0] = v[i0]"));
    let shadow = procedure(
        "
        @proc
        def p(m: index, v: f32[6], o: f32):
            for k in seq(0, 6):
                if k == m:
                    v[0] = 7.0
                o = v[0]
        ",
    );
    let q = step("stage_mem", &shadow, arguments!["for k in _: _", "v[0]", "loc"]);
    assert!(crate::print::proc(q.ir()).contains("loc = v[0]"));
}

/// S2: a callee's writes are copied out.
#[test]
fn writes_of_a_callee_are_stored() {
    let p = procedure(
        "
        @proc
        def bump(t: [f32][3]):
            for k in seq(0, 3):
                t[k] = 9.0
        @proc
        def p(v: f32[5]):
            bump(v[1:4])
        ",
    );
    let q = step("stage_mem", &p, arguments!["bump(_)", "v[1:4]", "loc"]);
    prints(
        &q,
        "
        def p(v: f32[5] @ DRAM):
            loc: f32[4 - 1] @ DRAM
            bump(loc[1 - 1:4 - 1])
            for i0 in seq(0, 4 - 1):
                v[i0 + 1] = loc[i0]
        ",
    );
    let q = step("stage_mem", &p, arguments!["bump(_)", "v[0:5]", "loc"]);
    assert!(crate::print::proc(q.ir()).contains("loc[i0] = v[i0]"));
}

/// S4: another name for the staged memory is refused.
#[test]
fn aliases_are_refused() {
    let p = procedure(
        "
        @proc
        def p(v: f32[8]):
            w = v[1:5]
            for k in seq(0, 4):
                w[k] = 2.0
                v[k + 1] += 1.0
        ",
    );
    refused("stage_mem", &p, arguments!["for k in _: _", "v[1:5]", "loc"]);
    let inside = procedure(
        "
        @proc
        def p(v: f32[8]):
            for k in seq(0, 4):
                w = v[1:5]
                w[k] = 2.0
                v[k + 1] += 1.0
        ",
    );
    step("stage_mem", &inside, arguments!["for k in _: _", "v[1:5]", "loc"]);
}

/// D34: an access in an `else` is judged by the negated condition.
#[test]
fn branches_count() {
    let p = procedure(
        "
        @proc
        def p(v: f32[8], o: f32[8]):
            for k in seq(0, 8):
                if k < 4:
                    o[k] = v[k]
                else:
                    o[k] = v[k - 4]
        ",
    );
    step("stage_mem", &p, arguments!["for k in _: _", "v[0:4]", "loc"]);
    let wrong = procedure(
        "
        @proc
        def p(v: f32[8], o: f32[8]):
            for k in seq(0, 8):
                if k < 4:
                    o[k] = 0.0
                else:
                    o[k] = v[k]
        ",
    );
    refused("stage_mem", &wrong, arguments!["for k in _: _", "v[0:4]", "loc"]);
    step("stage_mem", &wrong, arguments!["for k in _: _", "v[4:8]", "loc"]);
}

#[test]
fn accesses_across_the_edge_wrong_ranks_and_unused_buffers_are_refused() {
    let p = procedure(
        "
        @proc
        def p(v: f32[8, 8], u: f32[8], o: f32[8]):
            for k in seq(0, 8):
                o[k] = v[k, 0]
        ",
    );
    refused("stage_mem", &p, arguments!["for k in _: _", "v[0:4, 0]", "loc"]);
    refused("stage_mem", &p, arguments!["for k in _: _", "v[0:8, 1]", "loc"]);
    refused("stage_mem", &p, arguments!["for k in _: _", "v[0:8]", "loc"]);
    refused("stage_mem", &p, arguments!["for k in _: _", "u[0:8]", "loc"]);
    refused("stage_mem", &p, arguments!["for k in _: _", "v[4:4, 0]", "loc"]);
    step("stage_mem", &p, arguments!["for k in _: _", "v[0:8, 0]", "loc"]);
    step("stage_mem", &p, arguments!["for k in _: _", "v[0:8, 0:2]", "loc"]);
}

#[test]
fn copies_are_guarded_only_where_bounds_are_open() {
    let p = procedure(
        "
        @proc
        def p(n: size, x: f32[n], y: f32[n]):
            for io in seq(0, (n + 3) / 4):
                for ii in seq(0, 4):
                    if 4 * io + ii < n:
                        y[4 * io + ii] = x[4 * io + ii]
        ",
    );
    let q = step("stage_mem", &p, arguments!["for ii in _: _", "x[4*io:4*io+4]", "t"]);
    let text = crate::print::proc(q.ir());
    assert!(text.contains("if i0 + 4 * io < n:\n"), "{text}");
    let q = step("stage_mem", &p, arguments!["for ii in _: _", "y[4*io:4*io+4]", "t"]);
    // The block writes all that the buffer has of the window, so that only the copy out is left, and its bounds.
    let text = crate::print::proc(q.ir());
    assert_eq!(text.matches("if i0 + 4 * io < n:\n").count(), 1, "{text}");
    assert!(!text.contains("t[i0] = "), "{text}");
}

#[test]
fn what_lies_over_the_edge_need_not_be_filled() {
    let body = |cond: &str, value: &str| {
        let text = format!(
            "
            @proc
            def p(n: size, y: f32[n], z: f32[n, 8]):
                for io in seq(0, (n + 3) / 4):
                    v = z[4 * io:n, 3]
                    for ii in seq(0, 4):
                        if {cond}:
                            y[4 * io + ii] = {value}
                            v[ii] = 1.0
            "
        );
        procedure(&text)
    };
    let loads = |p: &Procedure, window: &str| {
        let text = print::proc(step("stage_mem", p, arguments!["for ii in _: _", window, "t"]).ir());
        text.contains("t[i0] = ")
    };
    let all = body("4 * io + ii < n", "2.0");
    assert!(!loads(&all, "y[4*io:4*io+4]"));
    assert!(!loads(&all, "v[0:4]"));
    // Elements that the buffer has and the block leaves alone are loaded.
    assert!(loads(&body("4 * io + ii < n - 1", "2.0"), "y[4*io:4*io+4]"));
    assert!(loads(&body("4 * io + ii < n and ii > 0", "2.0"), "v[0:4]"));
    assert!(loads(&all, "y[4*io:4*io+5]"));
    assert!(loads(&all, "y[4*io-1:4*io+4]"));
    // And so are those that it reads first.
    assert!(loads(&body("4 * io + ii < n", "y[4 * io + ii] + 1.0"), "y[4*io:4*io+4]"));
}

#[test]
fn parallel_iterations_must_stay_apart() {
    let p = procedure(
        "
        @proc
        def p(y: f32[8]):
            for i in par(0, 8):
                y[i] = 1.0
        ",
    );
    step("stage_mem", &p, arguments!["y[_] = _", "y[i]", "t"]);
    refused("stage_mem", &p, arguments!["y[_] = _", "y[0:8]", "t"]);
}

#[test]
fn a_window_that_outlives_the_block_is_refused() {
    let p = procedure(
        "
        @proc
        def p(y: f32[8], o: f32):
            w = y[0:4]
            w[1] = 2.0
            o = w[1]
        ",
    );
    let window = cursor(&p, "w = _");
    refused("stage_mem", &p, arguments![&window, "y[0:4]", "t"]);
}

#[test]
fn scalars_and_windows_as_sources() {
    let p = procedure(
        "
        @proc
        def p(s: f32, y: [f32][8]):
            for i in seq(0, 8):
                s += y[i]
        ",
    );
    let q = step("stage_mem", &p, arguments!["for i in _: _", "s", "t"]);
    assert!(crate::print::proc(q.ir()).contains("t += y[i]"));
    step("stage_mem", &p, arguments!["for i in _: _", "y[0:8]", "t"]);
}

/// Found by the fuzzer: the window that escapes the block is a window of a window.
#[test]
fn a_window_of_a_window_must_not_outlive_the_block() {
    let p = procedure(
        "
    @proc
    def f(x: f32[4], y: f32[4]):
        a = x[0:4]
        y[0] = a[1]
        b = a[1:3]
        b[0] = y[1]
        y[2] = x[1]
    ",
    );
    let block = |hi: usize| Cursor {
        procedure: p.clone(),
        place: Place::Block(BlockPlace { parent: Path::root(), orelse: false, lo: 0, hi }),
    };
    let refusal = refused("stage_mem", &p, arguments![block(3), "x[0:4]", "t"]);
    assert!(refusal.message().contains("`b` is used after the block"), "{}", refusal.message());
    step("stage_mem", &p, arguments![block(4), "x[0:4]", "t"]);
}

#[test]
fn what_nobody_writes_is_not_copied_out() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[8]):
            t: f32[8]
            for i in seq(0, 0):
                t[i] = 1.0
            for i in seq(0, n):
                if i < 0:
                    t[2] = x[3]
            t[4] = 1.0
        ",
    );
    for pattern in ["for i in _: _", "for i in _: _ #1"] {
        let refusal = refused("stage_mem", &p, arguments![pattern, "t[0:4]", "s"]);
        assert!(refusal.message().contains("never comes to use `t` inside the window"), "{}", refusal.message());
    }
    step("stage_mem", &p, arguments!["t[4] = _", "t[0:8]", "s"]);
}

#[test]
fn what_was_never_written_is_not_copied_in() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n + 8], y: f32[n + 8]):
            t: f32[8]
            for i in seq(0, 4):
                t[i] = x[i]
            for i in seq(0, 4):
                t[i] += y[i]
            for i in seq(0, 4):
                y[i] = t[i]
        ",
    );
    let first = step("stage_mem", &p, arguments!["for i in _: _", "t[0:8]", "s"]);
    prints(
        &first,
        "
        def f(n: size, x: f32[n + 8] @ DRAM, y: f32[n + 8] @ DRAM):
            t: f32[8] @ DRAM
            s: f32[8] @ DRAM
            for i in seq(0, 4):
                s[i] = x[i]
            for i0 in seq(0, 8):
                t[i0] = s[i0]
            for i in seq(0, 4):
                t[i] += y[i]
            for i in seq(0, 4):
                y[i] = t[i]
        ",
    );
    // The second loop sees what the first one wrote.
    let second = print::proc(step("stage_mem", &p, arguments!["for i in _: _ #1", "t[0:8]", "s"]).ir());
    assert!(second.contains("s[i0] = t[i0]"), "{second}");
    let carried = procedure(
        "
        @proc
        def f(n: size, x: f32[n], y: f32[n]):
            t: f32
            for i in seq(0, n):
                if i < 3:
                    t = x[i]
                y[i] = t
        ",
    );
    let carried = print::proc(step("stage_mem", &carried, arguments!["if _: _", "t", "s"]).ir());
    assert!(carried.contains("s = t\n"), "{carried}");
}
