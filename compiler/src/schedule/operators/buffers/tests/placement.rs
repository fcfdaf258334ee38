//! `sink_alloc`, `reuse_buffer`, `unroll_buffer`, `inline_window`.

use crate::schedule::testing::*;

#[test]
fn sink_into_a_loop() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8]):
            t: f32[2]
            for i in seq(0, 8):
                t[0] = x[i]
                t[1] = t[0] * 2.0
                x[i] = t[0] + t[1]
        ",
    );
    let q = step("sink_alloc", &p, arguments!["t"]);
    prints(
        &q,
        "
        def f(x: f32[8] @ DRAM):
            for i in seq(0, 8):
                t: f32[2] @ DRAM
                t[0] = x[i]
                t[1] = t[0] * 2.0
                x[i] = t[0] + t[1]
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "t: _")).unwrap(), "t: f32[2] @ DRAM");
    assert_eq!(now(&q, &cursor(&p, "x[_] = _")).unwrap(), "x[i] = t[0] + t[1]");
    step("lift_alloc", &q, arguments!["t"]);
}

/// S12: a value carried from one iteration to the next.
#[test]
fn sink_refuses_carried_values_and_later_uses() {
    let carried = procedure(
        "
        @proc
        def p(v: f32[5]):
            run: f32
            for k in seq(0, 5):
                if k == 0:
                    run = 0.0
                run += v[k]
                v[k] = run
        ",
    );
    refused("sink_alloc", &carried, arguments!["run"]);
    let used = procedure(
        "
        @proc
        def p(v: f32[5]):
            t: f32
            for k in seq(0, 5):
                t = v[k]
            v[0] = t
        ",
    );
    refused("sink_alloc", &used, arguments!["t"]);
    let plain = procedure(
        "
        @proc
        def p(v: f32[5]):
            t: f32
            t = v[0]
            v[1] = t
        ",
    );
    refused("sink_alloc", &plain, arguments!["t"]);
}

/// D10: the `else` gets a buffer of its own.
#[test]
fn sink_into_both_branches() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[8]):
            t: f32
            if n < 4:
                t = x[0]
                x[1] = t
            else:
                t = x[2]
                x[3] = t
        ",
    );
    let q = step("sink_alloc", &p, arguments!["t"]);
    prints(
        &q,
        "
        def f(n: size, x: f32[8] @ DRAM):
            if n < 4:
                t: f32 @ DRAM
                t = x[0]
                x[1] = t
            else:
                t: f32 @ DRAM
                t = x[2]
                x[3] = t
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "x[3] = _")).unwrap(), "x[3] = t");
}

#[test]
fn reuse_a_dead_buffer() {
    let text = "
        @proc
        def f(x: f32[8]):
            a: f32[4]
            for i in seq(0, 4):
                a[i] = x[i]
            for i in seq(0, 4):
                x[i] = a[i] * 2.0
            b: f32[4]
            for i in seq(0, 4):
                b[i] = x[i + 4]
            for i in seq(0, 4):
                x[i + 4] = b[i]
        ";
    let p = procedure(text);
    let q = step("reuse_buffer", &p, arguments!["a: _", "b: _"]);
    assert!(!crate::print::proc(q.ir()).contains("b"), "{}", crate::print::proc(q.ir()));
    assert_eq!(now(&q, &cursor(&p, "b[_] = _")).unwrap(), "a[i] = x[i + 4]");
    assert_eq!(now(&q, &cursor(&p, "b: _")), None);
    // S16: the other one is not visible yet where `a` is declared.
    refused("reuse_buffer", &p, arguments!["b: _", "a: _"]);
    refused("reuse_buffer", &p, arguments!["a: _", "a: _"]);
    for (from, to) in [
        ("x[i + 4] = b[i]", "x[i + 4] = b[i] + a[i]"),
        ("b: f32[4]", "b: f64[4]"),
        ("b: f32[4]", "b: f32[5]"),
        ("b: f32[4]", "b: f32[4] @ DRAM_STACK"),
        ("x[i + 4] = b[i]", "a[i] = 1.0\n                x[i + 4] = b[i]"),
    ] {
        refused("reuse_buffer", &procedure(&text.replace(from, to)), arguments!["a: _", "b: _"]);
    }
}

/// D11: `y` is only filled by a call while `x` is alive in a later iteration.
#[test]
fn reuse_sees_calls_and_iterations() {
    let p = procedure(
        "
        @proc
        def fill(v: [f32][4]):
            for i in seq(0, 4):
                v[i] = 1.0
        @proc
        def f(x: f32[8]):
            a: f32[4]
            fill(a)
            for k in seq(0, 2):
                x[k] = a[0]
                b: f32[4]
                fill(b)
                x[k + 4] = b[k]
        ",
    );
    refused("reuse_buffer", &p, arguments!["a: _", "b: _"]);
    let inner = procedure(
        "
        @proc
        def f(n: size, x: f32[8]):
            if n < 4:
                a: f32
                a = 1.0
                x[0] = a
            b: f32
            b = 2.0
            x[1] = b
        ",
    );
    refused("reuse_buffer", &inner, arguments!["a: _", "b: _"]);
}

#[test]
fn unroll_by_literal_indices() {
    let text = "
        @proc
        def f(x: f32[8], y: f32[8]):
            t: f32[3, 8]
            for i in seq(0, 8):
                t[0, i] = x[i]
                t[2, i] = x[i] * 2.0
            w = t[2, 0:8]
            for i in seq(0, 8):
                y[i] = t[0, i] + w[i]
        ";
    let p = procedure(text);
    let q = step("unroll_buffer", &p, arguments!["t", 0i64]);
    prints(
        &q,
        "
        def f(x: f32[8] @ DRAM, y: f32[8] @ DRAM):
            t_0: f32[8] @ DRAM
            t_2: f32[8] @ DRAM
            for i in seq(0, 8):
                t_0[i] = x[i]
                t_2[i] = x[i] * 2.0
            w = t_2[0:8]
            for i in seq(0, 8):
                y[i] = t_0[i] + w[i]
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "t: _")), None);
    refused("unroll_buffer", &p, arguments!["t", 1i64]);
    refused("unroll_buffer", &p, arguments!["t", 2i64]);
    refused(
        "unroll_buffer",
        &procedure(&text.replace("t[2, 0:8]", "t[2, 0:8]\n            v = t[0:2, 0]")),
        arguments!["t", 0i64],
    );
}

#[test]
fn inline_windows_of_windows() {
    let p = procedure(
        "
        @proc
        def use(d: [f32][2]):
            for k in seq(0, 2):
                d[k] = 1.0
        @proc
        def f(x: f32[8, 8]):
            w = x[3, 2:6]
            v = w[1:3]
            for i in seq(0, 4):
                w[i] += 2.0
            v[0] = w[3]
            use(v)
        ",
    );
    let q = step("inline_window", &p, arguments!["w = _"]);
    prints(
        &q,
        "
        def f(x: f32[8, 8] @ DRAM):
            v = x[3, 1 + 2:3 + 2]
            for i in seq(0, 4):
                x[3, i + 2] += 2.0
            v[0] = x[3, 3 + 2]
            use(v)
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "w = _")), None);
    assert_eq!(now(&q, &cursor(&p, "w[_] += _")).unwrap(), "x[3, i + 2] += 2.0");
    let q = step("inline_window", &q, arguments!["v = _"]);
    assert!(crate::print::proc(q.ir()).contains("use(x[3, 1 + 2:3 + 2])"));
}

#[test]
fn iterations_of_a_par_loop_never_come_to_share_a_buffer() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n], y: f32[n]):
            a: f32
            a = 0.0
            y[0] = a
            for i in par(0, n):
                b: f32
                b = x[i]
                y[i] = b
        ",
    );
    let refusal = refused("reuse_buffer", &p, arguments!["a: _", "b: _"]);
    assert!(refusal.message().contains("iterations"), "{}", refusal.message());
    // One static array for all threads (S20).
    refused("set_memory", &p, arguments!["b", crate::hardware::memory::Memory::dram_static()]);
}

#[test]
fn autolift_adds_the_dimensions_that_matter() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[8, n], y: f32[n], z: f32[8, n]):
            for i in seq(0, 8):
                for j in seq(0, n):
                    t: f32[2]
                    for k in seq(0, 2):
                        t[k] = y[j]
                    z[i, j] = t[0] + x[i, j]
        ",
    );
    let plain = step("autolift_alloc", &p, arguments!["t"; n_lifts = 2i64]);
    assert_eq!(now(&plain, &cursor(&p, "t: _")).unwrap(), "t: f32[2] @ DRAM");
    let row = step("autolift_alloc", &p, arguments!["t"; n_lifts = 2i64, keep_dims = true]);
    assert_eq!(now(&row, &cursor(&p, "t: _")).unwrap(), "t: f32[n, 2] @ DRAM");
    assert_eq!(now(&row, &cursor(&p, "t[_] = _")).unwrap(), "t[j, k] = y[j]");
    let col = step("autolift_alloc", &p, arguments!["t"; n_lifts = 2i64, keep_dims = true, mode = "col"]);
    assert_eq!(now(&col, &cursor(&p, "t: _")).unwrap(), "t: f32[2, n] @ DRAM");
    refused("autolift_alloc", &p, arguments!["t"; n_lifts = 3i64]);
    refused("autolift_alloc", &p, arguments!["t"; n_lifts = 2i64, keep_dims = true, size = 4i64]);
}

#[test]
fn autolift_out_of_parallel_loops() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8]):
            for i in par(0, 8):
                t: f32
                t = x[i]
                x[i] = t * 2.0
        ",
    );
    step("autolift_alloc", &p, arguments!["t"; keep_dims = true]);
    refused("autolift_alloc", &p, arguments!["t"]);
}

#[test]
fn reuse_across_parallel_iterations_is_refused() {
    let p = procedure(
        "
        @proc
        def f(x: f32[8]):
            a: f32
            for i in par(0, 8):
                b: f32
                b = x[i]
                x[i] = b * 2.0
        ",
    );
    refused("reuse_buffer", &p, arguments!["a: _", "b: _"]);
    let sequential = procedure(
        "
        @proc
        def f(x: f32[8]):
            a: f32
            for i in seq(0, 8):
                b: f32
                b = x[i]
                x[i] = b * 2.0
        ",
    );
    step("reuse_buffer", &sequential, arguments!["a: _", "b: _"]);
}
