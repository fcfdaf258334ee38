//! Configuration state in definitions: what a call may rely on, after writes, branches and loops.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::{check, refused};
use crate::diagnostic::codes;

/// A callee that needs `Cfg.i == 3`, and a caller with this body.
fn caller(args: &str, body: &str) -> String {
    let needs = "@proc\ndef needs(x: f32):\n    assert Cfg.i == 3\n    x = 0.0\n\n";
    let sets = "@proc\ndef sets(v: index):\n    Cfg.i = v\n\n";
    let body = body.replace('\n', "\n    ");
    format!("{needs}{sets}@proc\ndef p({args}x: f32):\n    {body}\n")
}

#[test]
fn a_write_helps_the_call_that_follows() {
    check(&caller("", "Cfg.i = 3\nneeds(x)")).unwrap();
    check(&caller("", "sets(3)\nneeds(x)")).unwrap();
    check(&caller("n: size, ", "assert n == 3\nsets(n)\nneeds(x)")).unwrap();
    check(&caller("n: size, ", "Dev.i = 3\nCfg.i = Dev.i\nDev.i = n\nneeds(x)")).unwrap();
    check(&caller("", "assert Cfg.i == 3\nneeds(x)")).unwrap();
    check(&caller("", "if Cfg.i == 3:\n    needs(x)")).unwrap();
}

#[test]
fn a_write_in_between_counts() {
    let found = refused(&caller("", "assert Cfg.i == 3\nCfg.i = 4\nneeds(x)"));
    assert_eq!(found[0].code, codes::ASSERTION);
    refused(&caller("", "Cfg.i = 3\nsets(4)\nneeds(x)"));
    refused(&caller("v: index, ", "Cfg.i = 3\nsets(v)\nneeds(x)"));
    refused(&caller("", "needs(x)"));
    refused(&caller("", "if Cfg.i == 3:\n    Cfg.i = 2\n    needs(x)"));
}

#[test]
fn branches_join() {
    check(&caller("n: size, ", "if n < 4:\n    Cfg.i = 3\nelse:\n    sets(3)\nneeds(x)")).unwrap();
    refused(&caller("n: size, ", "if n < 4:\n    Cfg.i = 3\nneeds(x)"));
    check(&caller("n: size, ", "if n < 4:\n    Cfg.i = 3\nif n < 4:\n    needs(x)")).unwrap();
    refused(&caller("n: size, ", "Cfg.i = 3\nif n < 4:\n    Cfg.i = 2\nneeds(x)"));
    check(&caller("n: size, ", "assert n > 8\nCfg.i = 3\nif n < 4:\n    Cfg.i = 2\nneeds(x)")).unwrap();
}

#[test]
fn loops_carry_state() {
    // Kept by every iteration.
    check(&caller("n: size, ", "Cfg.i = 3\nfor k in seq(0, n):\n    needs(x)\n    Cfg.i = 3")).unwrap();
    // The first iteration sees what was before, later ones what the last one left.
    refused(&caller("n: size, ", "for k in seq(0, n):\n    needs(x)\n    Cfg.i = 3"));
    refused(&caller("n: size, ", "Cfg.i = 3\nfor k in seq(0, n):\n    needs(x)\n    Cfg.i = 4"));
    check(&caller("n: size, ", "for k in seq(0, n):\n    Cfg.i = 3\n    needs(x)")).unwrap();
    check(&caller("n: size, ", "for k in seq(0, n):\n    if k > 0:\n        needs(x)\n    Cfg.i = 3")).unwrap();
    // After a loop that surely runs, and after one that may not.
    check(&caller("n: size, ", "for k in seq(0, n):\n    Cfg.i = 3\nneeds(x)")).unwrap();
    refused(&caller("n: size, ", "for k in seq(1, n):\n    Cfg.i = 3\nneeds(x)"));
    check(&caller("n: size, ", "assert n > 1\nfor k in seq(1, n):\n    Cfg.i = 3\nneeds(x)")).unwrap();
    refused(&caller("n: size, ", "for k in seq(0, n):\n    Cfg.i = k\nneeds(x)"));
}

#[test]
fn iterations_leave_values_of_their_own() {
    // The last iteration is the one before the end, and each finds what the one before it left.
    check(&caller("", "for k in seq(0, 4):\n    Cfg.i = k\nneeds(x)")).unwrap();
    check(&caller("n: size, ", "assert n == 2\nfor k in seq(0, n):\n    Cfg.i = 2 * k + 1\nneeds(x)")).unwrap();
    check(&caller("", "for k in seq(0, 9):\n    if k == 3:\n        needs(x)\n    Cfg.i = k + 1")).unwrap();
    check(&caller("", "for k in seq(2, 9):\n    if k == 3:\n        needs(x)\n    Cfg.i = k + 1")).unwrap();
    check(&caller("", "Cfg.n = 4\nfor k in seq(0, Cfg.n):\n    Cfg.n = 9\n    Cfg.i = k\nneeds(x)")).unwrap();
    check(&caller("", "for j in seq(0, 5):\n    for k in seq(0, 7):\n        Cfg.i = k + j - 7\nneeds(x)")).unwrap();
    refused(&caller("", "for k in seq(0, 5):\n    Cfg.i = k\nneeds(x)"));
    refused(&caller("", "for k in seq(0, 3):\n    Cfg.i = k\nneeds(x)"));
    refused(&caller("", "for k in seq(0, 9):\n    if k == 3:\n        needs(x)\n    Cfg.i = k"));
    // The first iteration has none before it, and there may be no iteration at all.
    refused(&caller("", "for k in seq(3, 9):\n    if k == 3:\n        needs(x)\n    Cfg.i = k + 1"));
    refused(&caller("n: size, ", "for k in seq(4, n):\n    Cfg.i = 3 + 0 * k\nneeds(x)"));
    refused(&caller("", "for k in seq(0, 9):\n    if k < 4:\n        Cfg.i = k\nneeds(x)"));
    // What an iteration found is not what it leaves.
    refused(&caller("", "Cfg.i = 3\nfor k in seq(0, 9):\n    Cfg.i = Cfg.i + k\nneeds(x)"));
    refused(&caller(
        "",
        "for k in seq(0, 9):\n    for l in seq(0, k):\n        Cfg.i = l\n    if k == 4:\n        Cfg.i = 0\nneeds(x)",
    ));
}

#[test]
fn nested_loops_carry_state() {
    let nest = "for k in seq(0, n / 4):\n    for l in seq(0, m / 4):\n        Cfg.i = 3\n";
    let args = "n: size, m: size, ";
    let inside = "for k in seq(0, n / 4):\n    for l in seq(0, m / 4):\n        needs(x)";
    check(&caller(args, &format!("{nest}{inside}"))).unwrap();
    refused(&caller(args, &format!("{nest}needs(x)")));
    check(&caller(args, &format!("assert n >= 4 and m >= 4\n{nest}needs(x)"))).unwrap();
    refused(&caller(args, &format!("assert n >= 4\n{nest}needs(x)")));
    check(&caller(args, &format!("Cfg.i = 3\n{nest}needs(x)"))).unwrap();
    // Whether the inner loop ran in the last iteration is not whether it would run in this one.
    let triangle = "for k in seq(0, n):\n    if k > 0:\n        if k < 2:\n            needs(x)\n    for l in seq(0, k):\n        Cfg.i = 3";
    refused(&caller(args, triangle));
    refused(&caller(args, "for k in seq(0, n):\n    for l in seq(0, k):\n        Cfg.i = 3\nneeds(x)"));
    refused(&caller(args, "for k in seq(0, n):\n    if k > 1:\n        Cfg.i = 3\nfor k in seq(2, 3):\n    needs(x)"));
}

#[test]
fn what_a_loop_writes_is_not_what_it_started_with() {
    // The iterator of an inner loop means nothing outside of it.
    refused(&caller("n: size, ", "for k in seq(3, 5):\n    Cfg.i = k\nfor k in seq(0, n):\n    needs(x)"));
    refused(&caller("n: size, ", "Cfg.i = 3\nfor k in seq(0, n):\n    needs(x)\n    Cfg.i = Dev.i\n    Dev.i = 3"));
}

#[test]
fn bounds_follow_values() {
    let p = |body: &str| format!("@proc\ndef p(n: size, x: f32[n]):\n    {}\n", body.replace('\n', "\n    "));
    check(&p("Cfg.i = 0\nx[Cfg.i] = 1.0")).unwrap();
    check(&p("assert Cfg.i >= 0\nassert Cfg.i < n\nx[Cfg.i] = 1.0")).unwrap();
    assert_eq!(refused(&p("x[Cfg.i] = 1.0"))[0].code, codes::BOUNDS);
    assert_eq!(refused(&p("assert Cfg.i == 0\nCfg.i = n\nx[Cfg.i] = 1.0"))[0].code, codes::BOUNDS);
    check(&p("Cfg.n = n\nfor i in seq(0, Cfg.n):\n    x[i] = 1.0")).unwrap();
    // The bound was read before the first iteration.
    check(&p("Cfg.n = n\nfor i in seq(0, Cfg.n):\n    Cfg.n = n + 1\n    x[i] = 1.0")).unwrap();
    assert_eq!(refused(&p("for i in seq(0, Cfg.n):\n    pass"))[0].code, codes::EXTENT);
}

#[test]
fn booleans_and_strides_are_followed() {
    let on = "@proc\ndef on(x: f32):\n    assert Cfg.on\n    x = 0.0\n\n";
    let p = |body: &str| format!("{on}@proc\ndef p(n: size, b: bool, x: f32):\n    {}\n", body.replace('\n', "\n    "));
    check(&p("Cfg.on = True\non(x)")).unwrap();
    check(&p("Cfg.on = n < 4\nif n < 3:\n    on(x)")).unwrap();
    check(&p("Cfg.on = b\nif b:\n    on(x)")).unwrap();
    refused(&p("Cfg.on = n < 4\nif n < 5:\n    on(x)"));
    refused(&p("Cfg.on = False\non(x)"));
    let load = "@proc\ndef load(src: [f32][4, 4], d: f32[4, 4]):\n    assert Cfg.pitch == stride(src, 0)\n    for i in seq(0, 4):\n        d[i, 0] = src[i, 0]\n\n";
    let set = "@proc\ndef set(s: stride):\n    Cfg.pitch = s\n\n";
    let q = |body: &str| {
        format!(
            "{load}{set}@proc\ndef p(x: [f32][8, 8], y: f32[8, 8], d: f32[4, 4]):\n    {}\n",
            body.replace('\n', "\n    ")
        )
    };
    check(&q("set(stride(x, 0))\nload(x[0:4, 4:8], d)")).unwrap();
    check(&q("Cfg.pitch = 8\nload(y[0:4, 4:8], d)")).unwrap();
    check(&q("w = x[2:8, 0:4]\nset(stride(w, 0))\nload(x[0:4, 4:8], d)")).unwrap();
    refused(&q("set(stride(x, 0))\nload(y[0:4, 4:8], d)"));
    refused(&q("set(stride(x, 1))\nload(x[0:4, 4:8], d)"));
}

#[test]
fn parallel_iterations_share_the_state() {
    let found = refused("@proc\ndef p(n: size):\n    for i in par(0, n):\n        Cfg.i = 3\n");
    assert_eq!(found[0].code, codes::RACE);
    refused(
        "@proc\ndef p(n: size, x: f32[n]):\n    for i in par(0, n):\n        x[i] = Cfg.gain\n        Cfg.gain = 1.0\n",
    );
    check("@proc\ndef p(n: size, x: f32[n]):\n    for i in par(0, n):\n        x[i] = Cfg.gain\n").unwrap();
    refused("@proc\ndef s():\n    Cfg.i = 3\n@proc\ndef p(n: size):\n    for i in par(0, n):\n        s()\n");
}
