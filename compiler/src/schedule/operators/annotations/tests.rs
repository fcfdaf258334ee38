//! Tests of the operators that annotate declarations.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::diagnostic::RefusalKind;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::schedule::procedure::Procedure;
use crate::schedule::testing::*;
use crate::testing::avx2;

fn calls() -> Procedure {
    procedure(
        "
        @proc
        def copy(n: size, d: f32[n], s: [f32][n] @ DRAM):
            for i in seq(0, n):
                d[i] = s[i]

        @proc
        def f(n: size, x: f32[n], y: f32[n], k: index):
            t: f32[n]
            u: f32[n]
            copy(n, t, x[0:n])
            for i in par(0, n):
                v: f32
                v = 1.0
                u[i] = v
            for i in seq(0, n):
                y[i] = t[i] + u[i]
        ",
    )
}

#[test]
fn memories() {
    let p = calls();
    let q = step("set_memory", &p, arguments!["u", Memory::dram_stack()]);
    assert!(crate::print::proc(q.ir()).contains("u: f32[n] @ DRAM_STACK"));
    assert_eq!(now(&q, &cursor(&p, "u: _")).unwrap(), "u: f32[n] @ DRAM_STACK");
    step("set_memory", &p, arguments!["t", Memory::dram_stack()]);
    // `copy` wants DRAM, which a later step may see to.
    let q = apply("set_memory", &p, arguments!["t", avx2()]).unwrap();
    assert!(crate::print::proc(q.ir()).contains("t: f32[n] @ AVX2"));
    let q = apply("set_memory", &p, arguments!["y", avx2()]).unwrap();
    assert!(crate::print::proc(q.ir()).contains("y: f32[n] @ AVX2"));
    assert_eq!(refused("set_memory", &p, arguments!["k", avx2()]).kind, RefusalKind::Argument);
    assert_eq!(refused("set_memory", &p, arguments!["v", Memory::dram_static()]).kind, RefusalKind::Memory);
    assert_eq!(refused("set_memory", &p, arguments!["u", "DRAM"]).kind, RefusalKind::Argument);
    assert_eq!(refused("set_memory", &p, arguments!["none", avx2()]).kind, RefusalKind::Scheduling);
}

#[test]
fn precisions() {
    let p = calls();
    let q = apply("set_precision", &p, arguments!["u", "f64"]).unwrap();
    assert!(crate::print::proc(q.ir()).contains("u: f64[n] @ DRAM"));
    assert_eq!(q.ir().lineage.family, p.ir().lineage.family);
    assert_ne!(q.ir().lineage.precision_class, p.ir().lineage.precision_class);
    let q = apply("set_precision", &p, arguments!["y", Precision::F64]).unwrap();
    assert!(crate::print::proc(q.ir()).contains("y: f64[n] @ DRAM"));
    apply("set_precision", &p, arguments!["t", "f64"]).unwrap();
    assert_eq!(refused("set_precision", &p, arguments!["k", "f64"]).kind, RefusalKind::Argument);
    assert_eq!(refused("set_precision", &p, arguments!["u", "f65"]).kind, RefusalKind::Argument);

    let p = procedure("@proc\ndef f(x: R):\n    x = 1.0\n");
    let q = apply("set_precision", &p, arguments!["x", "f32"]).unwrap();
    assert_eq!(q.ir().lineage.precision_class, p.ir().lineage.precision_class);
}

#[test]
fn windows() {
    let p = calls();
    let q = apply("set_window", &p, arguments!["x"]).unwrap();
    assert!(crate::print::proc(q.ir()).contains("x: [f32][n] @ DRAM"));
    let r = apply("set_window", &q, arguments!["x", false]).unwrap();
    assert_eq!(r.ir(), p.ir());
    assert_eq!(refused("set_window", &p, arguments!["k"]).kind, RefusalKind::Scheduling);
    assert_eq!(refused("set_window", &p, arguments!["t"]).kind, RefusalKind::Scheduling);

    let p = procedure(
        "
        @proc
        def clear(n: size, d: f32[n]):
            for i in seq(0, n):
                d[i] = 0.0

        @proc
        def f(n: size, x: f32[n]):
            clear(n, x)
        ",
    );
    refused("set_window", &p, arguments!["x"]);

    let p = procedure(
        "
        @proc
        def f(x: [f32][8, 8], y: [f32][8]):
            assert stride(x, 1) == 1
            assert stride(y, 0) == 2
            x[0, 0] = y[0]
        ",
    );
    apply("set_window", &p, arguments!["x", false]).unwrap();
    let refusal = refused("set_window", &p, arguments!["y", false]);
    assert!(refusal.message().contains("would not be valid"), "{}", refusal.message());
}
