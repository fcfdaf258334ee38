//! `remove_loop`, `add_loop`.

use crate::diagnostic::RefusalKind;
use crate::schedule::testing::*;

#[test]
fn removing_a_loop() {
    let p = procedure(
        "
        @proc
        def f(n: size, m: index, x: f32, y: f32[n]):
            assert m >= 0
            for i in seq(0, n):
                x = y[0]
                y[0] = 2.0
            for i in seq(0, n):
                x = 1.0
                y[0] = x
            for i in seq(2, m + 2):
                x = 1.0
            for i in seq(0, n):
                x += 1.0
            for i in seq(0, n):
                y[i] = 1.0
            for i in seq(3, 3):
                x = 5.0
        ",
    );
    refused("remove_loop", &p, arguments!["i"]);
    let q = step("remove_loop", &p, arguments!["i #1"]);
    assert_eq!(now(&q, &cursors(&p, "for i in _: _")[1]), None);
    assert_eq!(now(&q, &cursor(&p, "y[0] = x")).unwrap(), "y[0] = x");
    let q = step("remove_loop", &p, arguments!["i #2"]);
    assert!(crate::print::proc(q.ir()).contains("    if m + 2 > 2:\n        x = 1.0\n"));
    assert_eq!(now(&q, &cursors(&p, "x = 1.0")[1]).unwrap(), "x = 1.0");
    refused("remove_loop", &p, arguments!["i #3"]);
    let refusal = refused("remove_loop", &p, arguments!["i #4"]);
    assert!(refusal.message().contains("mentions its iterator `i`"), "{}", refusal.message());
    let q = step("remove_loop", &p, arguments!["i #5"]);
    assert!(crate::print::proc(q.ir()).contains("    if 3 > 3:\n        x = 5.0"));
    let waived = apply("remove_loop", &p, arguments!["i #3"; unsafe_skip_check = true]).unwrap();
    assert_eq!(waived.ir().lineage.waived.len(), 1);
    assert_eq!(waived.ir().lineage.family, p.ir().lineage.family);
}

#[test]
fn adding_a_loop() {
    let p = procedure(
        "
        @proc
        def f(n: size, m: index, x: f32, y: f32):
            assert m >= 0
            x = 1.0
            y += x
            t: f32
            t = y
            x = t
        ",
    );
    let q = step("add_loop", &p, arguments!["x = 1.0", "i", "n"]);
    prints(
        &q,
        "
        def f(n: size, m: index, x: f32 @ DRAM, y: f32 @ DRAM):
            assert m >= 0
            for i in seq(0, n):
                x = 1.0
            y += x
            t: f32 @ DRAM
            t = y
            x = t
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "x = 1.0")).unwrap(), "x = 1.0");
    refused("add_loop", &p, arguments!["y += _", "i", "n"]);
    let q = step("add_loop", &p, arguments!["y += _", "i", 4i64; guard = true]);
    assert!(crate::print::proc(q.ir()).contains("    for i in seq(0, 4):\n        if i == 0:\n            y += x\n"));
    assert_eq!(now(&q, &cursor(&p, "y += _")).unwrap(), "y += x");
    let refusal = refused("add_loop", &p, arguments!["x = 1.0", "i", "m"]);
    assert!(refusal.message().contains("has an iteration"), "{}", refusal.message());
    refused("add_loop", &p, arguments!["x = 1.0", "i", "m"; guard = true]);
    let refusal = refused("add_loop", &p, arguments!["t: _", "i", "n"]);
    assert!(refusal.message().contains("used after it"), "{}", refusal.message());
    assert_eq!(refused("add_loop", &p, arguments!["x = 1.0", "i", "x"]).kind, RefusalKind::Argument);
    step("add_loop", &p, arguments!["t: _; t = _; x = t", "i", "n"]);
    refused("add_loop", &p, arguments!["x = 1.0; y += _", "i", "n"]);
}
