//! Tests of the operators on conditions and scopes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::diagnostic::RefusalKind;
use crate::schedule::testing::*;

#[test]
fn branch_out_of_loop() {
    let p = procedure(
        "
        @proc
        def f(n: size, m: size, x: f32[n]):
            for i in seq(0, n):
                if m > 4:
                    x[i] = 1.0
                    x[i] += 1.0
                else:
                    t: f32
                    t = 2.0
                    x[i] = t
            for i in seq(0, n):
                if i > 4:
                    x[i] = 1.0
        ",
    );
    let q = step("lift_scope", &p, arguments!["if _: _"]);
    prints(
        &q,
        "
        def f(n: size, m: size, x: f32[n] @ DRAM):
            if m > 4:
                for i in seq(0, n):
                    x[i] = 1.0
                    x[i] += 1.0
            else:
                for i in seq(0, n):
                    t: f32 @ DRAM
                    t = 2.0
                    x[i] = t
            for i in seq(0, n):
                if i > 4:
                    x[i] = 1.0
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "if _: _")).unwrap(), "if m > 4:");
    assert_eq!(now(&q, &cursor(&p, "x[_] = t")).unwrap(), "x[i] = t");
    assert_eq!(now(&q, &cursor(&p, "x[_] += _")).unwrap(), "x[i] += 1.0");
    let refusal = refused("lift_scope", &p, arguments!["if _: _ #1"]);
    assert!(refusal.message().contains("mentions the iterator `i`"), "{}", refusal.message());
    let refusal = refused("lift_scope", &p, arguments!["i"]);
    assert!(refusal.message().contains("top level"), "{}", refusal.message());
}

#[test]
fn loop_out_of_branch() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n]):
            if n > 4:
                for i in seq(0, n):
                    x[i] = 1.0
            if n > 4:
                for i in seq(4, n):
                    x[i] = 1.0
            if n > 4:
                for i in seq(0, n):
                    x[i] = 1.0
            else:
                x[0] = 1.0
            if n > 4:
                x[0] = 1.0
                for i in seq(0, n):
                    x[i] = 1.0
        ",
    );
    let q = step("lift_scope", &p, arguments!["i"]);
    assert!(
        crate::print::proc(q.ir()).contains("    for i in seq(0, n):\n        if n > 4:\n            x[i] = 1.0\n")
    );
    assert_eq!(now(&q, &cursor(&p, "for i in _: _")).unwrap(), "for i in seq(0, n):");
    assert_eq!(now(&q, &cursor(&p, "if _: _")).unwrap(), "if n > 4:");
    let refusal = refused("lift_scope", &p, arguments!["i #1"]);
    assert!(refusal.message().contains("not negative"), "{}", refusal.message());
    let q = step("lift_scope", &p, arguments!["i #2"]);
    assert!(crate::print::proc(q.ir()).contains("            x[i] = 1.0\n    if n <= 4:\n        x[0] = 1.0\n"));
    assert_eq!(now(&q, &cursor(&p, "x[0] = 1.0")).unwrap(), "x[0] = 1.0");
    let refusal = refused("lift_scope", &p, arguments!["i #3"]);
    assert!(refusal.message().contains("not alone"), "{}", refusal.message());
}

#[test]
fn branch_out_of_branch() {
    let p = procedure(
        "
        @proc
        def f(n: size, m: size, x: f32[6]):
            if n > 4:
                if m > 4:
                    x[0] = 1.0
                else:
                    x[1] = 1.0
            else:
                t: f32
                t = 3.0
                x[2] = t
        ",
    );
    let q = step("lift_scope", &p, arguments!["if m > 4: _"]);
    prints(
        &q,
        "
        def f(n: size, m: size, x: f32[6] @ DRAM):
            if m > 4:
                if n > 4:
                    x[0] = 1.0
                else:
                    t: f32 @ DRAM
                    t = 3.0
                    x[2] = t
            else:
                if n > 4:
                    x[1] = 1.0
                else:
                    t: f32 @ DRAM
                    t = 3.0
                    x[2] = t
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "x[1] = _")).unwrap(), "x[1] = 1.0");
    assert_eq!(now(&q, &cursor(&p, "if m > 4: _")).unwrap(), "if m > 4:");
}

#[test]
fn branch_without_else_keeps_the_other_side() {
    let p = procedure(
        "
        @proc
        def f(n: size, m: size, x: f32[6]):
            if n > 4:
                if m > 4:
                    x[0] = 1.0
            else:
                x[2] = 1.0
            if n > 4:
                x[3] = 1.0
            else:
                if m > 4:
                    x[4] = 1.0
            if n > 4:
                if m > 4:
                    x[5] = 1.0
            if n > 2:
                x[0] += 1.0
            else:
                if m > 2:
                    x[1] += 1.0
                else:
                    x[2] += 1.0
        ",
    );
    let q = step("lift_scope", &p, arguments!["if m > 4: _"]);
    prints(
        &step("lift_scope", &q, arguments!["if m > 4: _ #1"]),
        "
        def f(n: size, m: size, x: f32[6] @ DRAM):
            if m > 4:
                if n > 4:
                    x[0] = 1.0
                else:
                    x[2] = 1.0
            else:
                if n > 4:
                    pass
                else:
                    x[2] = 1.0
            if m > 4:
                if n > 4:
                    x[3] = 1.0
                else:
                    x[4] = 1.0
            else:
                if n > 4:
                    x[3] = 1.0
            if n > 4:
                if m > 4:
                    x[5] = 1.0
            if n > 2:
                x[0] += 1.0
            else:
                if m > 2:
                    x[1] += 1.0
                else:
                    x[2] += 1.0
        ",
    );
    let q = step("lift_scope", &p, arguments!["if m > 4: _ #2"]);
    assert!(crate::print::proc(q.ir()).contains("    if m > 4:\n        if n > 4:\n            x[5] = 1.0\n"));
    let q = step("lift_scope", &p, arguments!["if m > 2: _"]);
    assert!(crate::print::proc(q.ir()).ends_with(
        "    if m > 2:\n        if n > 2:\n            x[0] += 1.0\n        else:\n            x[1] += 1.0\n    else:\n        if n > 2:\n            x[0] += 1.0\n        else:\n            x[2] += 1.0"
    ));
}

#[test]
fn loops_swap_under_the_condition_of_reorder_loops() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n + 1, n + 1]):
            for i in seq(0, n):
                for j in seq(0, n):
                    x[i, j] = 1.0
            for i in seq(0, n):
                for j in seq(0, n):
                    x[i + 1, j] = x[i, j + 1]
        ",
    );
    step("lift_scope", &p, arguments!["j"]);
    assert_eq!(refused("lift_scope", &p, arguments!["j #1"]).operator, "lift_scope");
}

#[test]
fn dead_code() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n + 8], b: bool):
            for i in seq(4, 8):
                if i < 4:
                    x[i] = 1.0
                else:
                    x[i] = 2.0
            if n > 0:
                x[0] = 1.0
                x[1] = 1.0
            for j in seq(0, n):
                if j >= n:
                    x[j] = 5.0
            for k in seq(3, 3):
                x[k] = 4.0
            if n > 3:
                x[0] = 3.0
            if b:
                x[0] = 4.0
        ",
    );
    let q = step("eliminate_dead_code", &p, arguments!["if i < 4: _"]);
    assert!(crate::print::proc(q.ir()).contains("    for i in seq(4, 8):\n        x[i] = 2.0\n"));
    assert_eq!(now(&q, &cursor(&p, "x[i] = 2.0")).unwrap(), "x[i] = 2.0");
    assert_eq!(now(&q, &cursor(&p, "x[i] = 1.0")), None);
    let q = step("eliminate_dead_code", &p, arguments!["if n > 0: _"]);
    assert!(crate::print::proc(q.ir()).contains("\n    x[0] = 1.0\n    x[1] = 1.0\n"));
    let q = step("eliminate_dead_code", &p, arguments!["if j >= n: _"]);
    assert!(crate::print::proc(q.ir()).contains("    for j in seq(0, n):\n        pass\n"));
    let q = step("eliminate_dead_code", &p, arguments!["k"]);
    assert!(!crate::print::proc(q.ir()).contains("for k"));
    let refusal = refused("eliminate_dead_code", &p, arguments!["if n > 3: _"]);
    assert!(refusal.message().contains("`n > 3`"), "{}", refusal.message());
    refused("eliminate_dead_code", &p, arguments!["if b: _"]);
    refused("eliminate_dead_code", &p, arguments!["j"]);
}

#[test]
fn specialization() {
    let p = procedure(
        "
        @proc
        def f(n: size, x: f32[n], y: f32):
            for i in seq(0, n):
                x[i] = 1.0
            t: f32
            t = 1.0
            y = t
        ",
    );
    let conditions = ["n > 9", "n == 12 and n < 14"];
    let q = step("specialize", &p, arguments!["for i in _: _", conditions]);
    prints(
        &q,
        "
        def f(n: size, x: f32[n] @ DRAM, y: f32 @ DRAM):
            if n > 9:
                for i in seq(0, n):
                    x[i] = 1.0
            else:
                if n == 12 and n < 14:
                    for i in seq(0, n):
                        x[i] = 1.0
                else:
                    for i in seq(0, n):
                        x[i] = 1.0
            t: f32 @ DRAM
            t = 1.0
            y = t
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "for i in _: _")), None);
    step("specialize", &p, arguments!["t: _; t = _; y = _", "n > 3"]);
    refused("specialize", &p, arguments!["t: _; t = _", "n > 3"]);
    assert_eq!(refused("specialize", &p, arguments!["for i in _: _", "n + 3"]).kind, RefusalKind::Scheduling);
    assert_eq!(refused("specialize", &p, arguments!["for i in _: _", "k > 3"]).kind, RefusalKind::Parse);
    let none: [&str; 0] = [];
    assert_eq!(refused("specialize", &p, arguments!["for i in _: _", none]).kind, RefusalKind::Argument);
}
