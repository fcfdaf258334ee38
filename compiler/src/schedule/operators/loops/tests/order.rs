//! `reorder_loops`, `fission`, `fuse`, `parallelize_loop`.

use crate::diagnostic::RefusalKind;
use crate::schedule::procedure::Procedure;
use crate::schedule::testing::*;

fn nest(args: &str, lo: i64, body: &str) -> Procedure {
    procedure(&format!(
        "@proc\ndef nest(n: size, m: size, {args}):\n    for i in seq({lo}, n + {lo}):\n        for j in seq({lo}, m + {lo}):\n            {body}\n"
    ))
}

#[test]
fn interchange_of_independent_iterations() {
    let p = nest("a: f32[n, m]", 0, "a[i, j] = 1.0");
    let q = step("reorder_loops", &p, arguments!["i j"]);
    prints(
        &q,
        "
        def nest(n: size, m: size, a: f32[n, m] @ DRAM):
            for j in seq(0, m + 0):
                for i in seq(0, n + 0):
                    a[i, j] = 1.0
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "for i in _: _")).unwrap(), "for i in seq(0, n + 0):");
    assert_eq!(now(&q, &cursor(&p, "for j in _: _")).unwrap(), "for j in seq(0, m + 0):");
    assert_eq!(now(&q, &cursor(&p, "a[_] = _")).unwrap(), "a[i, j] = 1.0");
    let back = step("reorder_loops", &q, arguments!["j i"]);
    assert_eq!(crate::print::proc(back.ir()), crate::print::proc(p.ir()));
}

#[test]
fn interchange_of_reductions_and_stencils() {
    step("reorder_loops", &nest("a: f32[n, m], s: f32", 0, "s += a[i, j]"), arguments!["i j"]);
    let stencil = "a[i, j] += a[i - 1, j] + a[i, j - 1]";
    step("reorder_loops", &nest("a: f32[n + 1, m + 1]", 1, stencil), arguments!["i j"]);
    let four = "a[i, j] = a[i - 1, j] + a[i, j - 1] + a[i + 1, j] + a[i, j + 1]";
    step("reorder_loops", &nest("a: f32[n + 2, m + 2]", 1, four), arguments!["i j"]);
}

#[test]
fn interchange_that_would_change_the_result() {
    for (args, body) in [
        ("a: f32[n + 1, m + 2]", "a[i, j] = a[i - 1, j + 1]"),
        ("a: f32[n + 2, m + 1]", "a[i, j] += a[i + 1, j - 1]"),
        ("a: f32[n + m + 2, n + m + 2]", "a[i, j] = a[j, i]"),
        ("s: f32, a: f32[n + 1, m + 1]", "s = a[i, j]"),
    ] {
        let p = nest(args, 1, body);
        let refusal = refused("reorder_loops", &p, arguments!["i j"]);
        assert_eq!(refusal.kind, RefusalKind::Scheduling);
        assert_eq!(refusal.operator, "reorder_loops");
    }
}

#[test]
fn interchange_of_a_triangle() {
    let p = procedure(
        "
        @proc
        def triangle(n: size, a: f32[n, n]):
            for i in seq(0, n):
                for j in seq(0, i):
                    a[i, j] = 1.0
        ",
    );
    let refusal = refused("reorder_loops", &p, arguments!["i j"]);
    assert!(refusal.message().contains("depend on `i`"), "{}", refusal.message());
}

#[test]
fn fission_of_a_producer_and_its_consumer() {
    let p = procedure(
        "
        @proc
        def two(n: size, x: f32[n], y: f32[n]):
            for j in seq(0, n):
                for i in seq(0, n):
                    x[i] = 1.0
                    y[i] = x[i]
        ",
    );
    let gap = gap_after(&p, "x[_] = _");
    let once = step("fission", &p, arguments![&gap]);
    prints(
        &once,
        "
        def two(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):
            for j in seq(0, n):
                for i in seq(0, n):
                    x[i] = 1.0
                for i in seq(0, n):
                    y[i] = x[i]
        ",
    );
    let twice = step("fission", &p, arguments![&gap; n_lifts = 2i64]);
    prints(
        &twice,
        "
        def two(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):
            for j in seq(0, n):
                for i in seq(0, n):
                    x[i] = 1.0
            for j in seq(0, n):
                for i in seq(0, n):
                    y[i] = x[i]
        ",
    );
    assert_eq!(now(&twice, &cursor(&p, "for i in _: _")).unwrap(), "for i in seq(0, n):");
    assert_eq!(now(&twice, &cursor(&p, "y[_] = _")).unwrap(), "y[i] = x[i]");
    assert_eq!(now(&twice, &cursor(&p, "x[_] = _; y[_] = _")), None);
    refused("fission", &p, arguments![&gap; n_lifts = 3i64]);
}

#[test]
fn fission_that_would_change_the_result() {
    for body in ["x[i] = y[i]; y[i + 1] = x[i]", "x[i] = s; s = y[i]", "s = y[i]; x[i] = s", "s += y[i]; x[i] = s"] {
        let (first, second) = body.split_once("; ").unwrap();
        let p = procedure(&format!(
            "@proc\ndef f(n: size, s: f32, x: f32[n + 1], y: f32[n + 1]):\n    for i in seq(0, n):\n        {first}\n        {second}\n"
        ));
        let gap = gap_after(&p, &format!("{} _", first.split_inclusive('=').next().unwrap()));
        refused("fission", &p, arguments![&gap]);
        let refusal = refused("fission", &p, arguments![&gap; unsafe_disable_checks = true]);
        assert!(refusal.message().contains("it is called `unsafe_skip_check`"), "{}", refusal.message());
        let waived = apply("fission", &p, arguments![&gap; unsafe_skip_check = true]).unwrap();
        assert_eq!(waived.ir().lineage.waived.len(), 1, "{body}");
        assert!(waived.ir().lineage.waived[0].step.contains("fission(f"));
    }
}

#[test]
fn fission_that_is_fine() {
    for body in ["x[i] = 2.0; y[i] += 1.0", "s += x[i]; s += y[i]", "x[i] = y[i]; y[i] = 1.0", "s = 3.0; x[i] = s"] {
        let (first, second) = body.split_once("; ").unwrap();
        let p = procedure(&format!(
            "@proc\ndef f(n: size, s: f32, x: f32[n + 1], y: f32[n + 1]):\n    for i in seq(0, n):\n        {first}\n        {second}\n"
        ));
        let gap = gap_after(&p, &format!("{} _", first.split_inclusive('=').next().unwrap()));
        step("fission", &p, arguments![&gap]);
    }
}

#[test]
fn fission_does_not_part_a_declaration_from_its_uses() {
    let p = procedure(
        "
        @proc
        def f(n: size, o: f32, v: f32[4]):
            for k in seq(0, n):
                h = v[1:2]
                o += h[0]
            for k in seq(0, n):
                t: f32
                t = 1.0
                o += t
        ",
    );
    for pattern in ["h = _", "t: _", "t = _"] {
        let refusal = refused("fission", &p, arguments![gap_after(&p, pattern)]);
        assert_eq!(refusal.kind, RefusalKind::Scheduling);
        assert!(refusal.message().contains("declared before the gap"), "{}", refusal.message());
    }
}

#[test]
fn fission_of_branches() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32, y: f32):
            if n > 3:
                x = 1.0
                y = 1.0
            else:
                x = 2.0
                y = 2.0
        ",
    );
    let q = step("fission", &p, arguments![gap_after(&p, "x = 1.0")]);
    prints(
        &q,
        "
        def f(n: size, x: f32 @ DRAM, y: f32 @ DRAM):
            if n > 3:
                x = 1.0
            if n > 3:
                y = 1.0
            else:
                x = 2.0
                y = 2.0
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "if _: _")).unwrap(), "if n > 3:");
    assert_eq!(now(&q, &cursor(&p, "y = 2.0")).unwrap(), "y = 2.0");
    let q = step("fission", &p, arguments![gap_after(&p, "x = 2.0")]);
    prints(
        &q,
        "
        def f(n: size, x: f32 @ DRAM, y: f32 @ DRAM):
            if n > 3:
                x = 1.0
                y = 1.0
            else:
                x = 2.0
            if n > 3:
                pass
            else:
                y = 2.0
        ",
    );
}

#[test]
fn fission_at_an_edge_or_at_the_top() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n]):
            for i in seq(0, n):
                x[i] = 1.0
            pass
        ",
    );
    assert_eq!(refused("fission", &p, arguments![gap_after(&p, "x[_] = _")]).kind, RefusalKind::Argument);
    let top = refused("fission", &p, arguments![gap_after(&p, "for i in _: _")]);
    assert!(top.message().contains("no loop or branch"), "{}", top.message());
    assert_eq!(refused("fission", &p, arguments!["x[_] = _"]).kind, RefusalKind::Argument);
}

#[test]
fn fusion_of_loops() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n + 1], y: f32[n + 1], z: f32[n + 1]):
            for i in seq(0, n):
                x[i] = 1.0
            for j in seq(0, n):
                y[j] = x[j]
                t: f32
                t = y[j]
                z[j] = t
        ",
    );
    let q = step("fuse", &p, arguments!["i", "j"]);
    prints(
        &q,
        "
        def f(n: size, x: f32[n + 1] @ DRAM, y: f32[n + 1] @ DRAM, z: f32[n + 1] @ DRAM):
            for i in seq(0, n):
                x[i] = 1.0
                y[i] = x[i]
                t: f32 @ DRAM
                t = y[i]
                z[i] = t
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "for j in _: _")), None);
    assert_eq!(now(&q, &cursor(&p, "z[_] = _")).unwrap(), "z[i] = t");
    assert_eq!(now(&q, &cursor(&p, "for i in _: _\nfor j in _: _")).unwrap(), "for i in seq(0, n):");
}

#[test]
fn fusion_that_would_change_the_result() {
    let p = |second: &str, read: &str| {
        procedure(&format!(
            "@proc\ndef f(n: size, x: f32[n + 2], y: f32[n + 2]):\n    for i in seq(0, n):\n        x[i] = y[i]\n    for j in {second}:\n        y[j] = {read}\n"
        ))
    };
    refused("fuse", &p("seq(0, n)", "x[j + 1]"), arguments!["i", "j"]);
    refused("fuse", &p("seq(1, n)", "2.0"), arguments!["i", "j"]);
    refused("fuse", &p("seq(0, n + 1)", "2.0"), arguments!["i", "j"]);
    step("fuse", &p("seq(0, n)", "x[j]"), arguments!["i", "j"]);
    let refusal = refused("fuse", &p("seq(0, n)", "x[j]"), arguments!["j", "i"]);
    assert!(refusal.message().contains("directly follow"), "{}", refusal.message());
}

#[test]
fn fusion_of_branches() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32, y: f32):
            if n > 3:
                x = 1.0
            if n >= 4:
                y = 1.0
            else:
                y = 2.0
            if n > 4:
                y += 1.0
            for i in seq(0, n):
                pass
        ",
    );
    let q = step("fuse", &p, arguments!["if _: _ #0", "if _: _ #1"]);
    prints(
        &q,
        "
        def f(n: size, x: f32 @ DRAM, y: f32 @ DRAM):
            if n > 3:
                x = 1.0
                y = 1.0
            else:
                y = 2.0
            if n > 4:
                y += 1.0
            for i in seq(0, n):
                pass
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "y = 2.0")).unwrap(), "y = 2.0");
    refused("fuse", &q, arguments!["if _: _ #0", "if _: _ #1"]);
    assert_eq!(refused("fuse", &p, arguments!["if _: _ #2", "i"]).kind, RefusalKind::Argument);
}

#[test]
fn parallel_loops() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n + 1], s: f32):
            for i in seq(0, n):
                t: f32
                t = x[i]
                x[i] = t
            for j in seq(0, n):
                x[j] = x[j + 1]
            for k in seq(0, n):
                s += x[k]
        ",
    );
    let q = step("parallelize_loop", &p, arguments!["i"]);
    assert!(crate::print::proc(q.ir()).contains("for i in par(0, n):"));
    refused("parallelize_loop", &p, arguments!["j"]);
    refused("parallelize_loop", &p, arguments!["k"]);
    let q = step("set_memory", &p, arguments!["t", crate::hardware::memory::Memory::dram_static()]);
    assert_eq!(refused("parallelize_loop", &q, arguments!["i"]).kind, RefusalKind::Memory);
}

#[test]
fn parallel_loops_stay_free_of_races() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n, n], y: f32[n + 1], z: f32[n + 1]):
            for i in seq(0, n):
                for j in par(0, n):
                    x[i, j] = 1.0
            for i in seq(0, n):
                for j in par(0, n):
                    y[j] += 1.0
            for a in par(0, n):
                y[a] = 1.0
            for b in par(0, n):
                z[b] = y[b]
            for c in par(0, n):
                z[c] = 2.0
            for d in par(0, n):
                y[d] = z[d]
        ",
    );
    let q = step("reorder_loops", &p, arguments!["i j"]);
    step("reorder_loops", &q, arguments!["i j"]);
    let q = step("fuse", &p, arguments!["a", "b"]);
    assert!(crate::print::proc(q.ir()).contains("for a in par(0, n):\n        y[a] = 1.0\n        z[a] = y[a]"));
    let r = step("divide_loop", &p, arguments!["a", 4i64, ["ao", "ai"]; tail = "cut"]);
    assert!(crate::print::proc(r.ir()).contains("for ai in par(0, 4):"));
}
