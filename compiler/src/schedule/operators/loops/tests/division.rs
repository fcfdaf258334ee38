//! `divide_loop`, `mult_loops`, `cut_loop`, `join_loops`, `shift_loop`, `unroll_loop`.

use crate::diagnostic::{RefusalKind, codes};
use crate::schedule::procedure::Procedure;
use crate::schedule::testing::*;

fn scale() -> Procedure {
    procedure(
        "
        @proc
        def scale(n: size, x: f32[n], y: f32[n]):
            for i in seq(0, n):
                y[i] = x[i]
                y[i] += 2.0
        ",
    )
}

#[test]
fn guarded_division() {
    let p = scale();
    let q = step("divide_loop", &p, arguments!["i", 4i64, ["io", "ii"]]);
    prints(
        &q,
        "
        def scale(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):
            for io in seq(0, (n + 3) / 4):
                for ii in seq(0, 4):
                    if 4 * io + ii < n:
                        y[4 * io + ii] = x[4 * io + ii]
                        y[4 * io + ii] += 2.0
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "for i in _: _")).unwrap(), "for io in seq(0, (n + 3) / 4):");
    assert_eq!(now(&q, &cursor(&p, "y[_] += _")).unwrap(), "y[4 * io + ii] += 2.0");
    assert_eq!(now(&q, &cursor(&p, "x[_]")).unwrap(), "x[4 * io + ii]");
}

#[test]
fn cut_division() {
    let p = scale();
    let q = step("divide_loop", &p, arguments!["i", 4i64, ["io", "ii"]; tail = "cut"]);
    prints(
        &q,
        "
        def scale(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):
            for io in seq(0, n / 4):
                for ii in seq(0, 4):
                    y[4 * io + ii] = x[4 * io + ii]
                    y[4 * io + ii] += 2.0
            for ii in seq(0, n % 4):
                y[ii + n / 4 * 4] = x[ii + n / 4 * 4]
                y[ii + n / 4 * 4] += 2.0
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "y[_] += _")).unwrap(), "y[4 * io + ii] += 2.0");
    let q = step("divide_loop", &p, arguments!["i", 4i64, ["io", "ii"]; tail = "cut_and_guard"]);
    prints(
        &q,
        "
        def scale(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):
            for io in seq(0, n / 4):
                for ii in seq(0, 4):
                    y[4 * io + ii] = x[4 * io + ii]
                    y[4 * io + ii] += 2.0
            if n % 4 > 0:
                for ii in seq(0, n % 4):
                    y[ii + n / 4 * 4] = x[ii + n / 4 * 4]
                    y[ii + n / 4 * 4] += 2.0
        ",
    );
}

#[test]
fn perfect_division_needs_divisibility() {
    let p = scale();
    let refusal = refused("divide_loop", &p, arguments!["i", 4i64, ["io", "ii"]; perfect = true]);
    assert_eq!(refusal.kind, RefusalKind::Scheduling);
    assert_eq!(refusal.operator, "divide_loop");
    assert!(refusal.message().contains("n % 4 == 0"), "{}", refusal.message());
    let notes = refusal.diagnostics[0].notes.join("\n");
    assert!(notes.contains("n = "), "{notes}");
    assert!(notes.contains("# <-- NODE"), "{notes}");
    assert!(notes.contains("divide_loop(scale, \"i\", 4, [\"io\", \"ii\"], perfect = True)"), "{notes}");

    let p = procedure(
        "
        @proc
        def clear(n: size, x: f32[n], z: f32[12]):
            assert n % 8 == 0
            for i in seq(0, n):
                x[i] = 0.0
            for j in seq(0, 12):
                z[j] = 0.0
        ",
    );
    let q = step("divide_loop", &p, arguments!["i", 4i64, ["io", "ii"]; perfect = true]);
    let q = step("divide_loop", &q, arguments!["j", 4i64, ["jo", "ji"]; perfect = true]);
    prints(
        &q,
        "
        def clear(n: size, x: f32[n] @ DRAM, z: f32[12] @ DRAM):
            assert n % 8 == 0
            for io in seq(0, n / 4):
                for ii in seq(0, 4):
                    x[4 * io + ii] = 0.0
            for jo in seq(0, 3):
                for ji in seq(0, 4):
                    z[4 * jo + ji] = 0.0
        ",
    );
    refused("divide_loop", &p, arguments!["i", 16i64, ["io", "ii"]; perfect = true]);
    refused("divide_loop", &p, arguments!["j", 5i64, ["io", "ii"]; perfect = true]);
}

#[test]
fn division_renames_what_the_tail_copies() {
    let p = procedure(
        "
        @proc
        def copy(n: size, x: f32[n], y: f32[n]):
            for i in seq(0, n):
                t: f32
                t = x[i]
                w = y[i:i + 1]
                for k in seq(0, 1):
                    w[k] = t
        ",
    );
    let q = step("divide_loop", &p, arguments!["i", 3i64, ["io", "ii"]; tail = "cut"]);
    step("divide_loop", &q, arguments!["ii", 2i64, ["a", "b"]; tail = "guard"]);
}

#[test]
fn division_of_a_loop_that_does_not_start_at_zero() {
    let p = procedure(
        "
        @proc
        def clear(x: f32[8]):
            for i in seq(1, 8):
                x[i] = 0.0
        ",
    );
    let refusal = refused("divide_loop", &p, arguments!["i", 4i64, ["io", "ii"]]);
    assert_eq!(refusal.kind, RefusalKind::Scheduling);
    let q = step("shift_loop", &p, arguments!["i", 0i64]);
    step("divide_loop", &q, arguments!["i", 4i64, ["io", "ii"]]);
}

#[test]
fn wrong_arguments_say_what_is_accepted() {
    let p = scale();
    let message = |arguments| {
        let refusal = refused("divide_loop", &p, arguments);
        assert_eq!(refusal.kind, RefusalKind::Argument, "{}", refusal.message());
        assert_eq!(refusal.diagnostics[0].code, codes::ARGUMENT);
        refusal.message().to_string()
    };
    assert_eq!(
        message(arguments!["i", 0i64, ["io", "ii"]]),
        "argument 2 (`div_const`) of `divide_loop` needs an integer of at least 1, not 0"
    );
    assert_eq!(
        message(arguments!["i", true, ["io", "ii"]]),
        "argument 2 (`div_const`) of `divide_loop` needs an integer of at least 1, not True"
    );
    assert_eq!(
        message(arguments!["i", 4i64, ["io"]]),
        "argument 3 (`new_iters`) of `divide_loop` needs a list of 2 values, not of 1"
    );
    assert_eq!(
        message(arguments!["i", 4i64, ["io", "1i"]]),
        "argument 3 (`new_iters`) of `divide_loop` needs a name, and `1i` is not one"
    );
    assert_eq!(
        message(arguments!["i", 4i64, ["io", "for"]]),
        "argument 3 (`new_iters`) of `divide_loop` needs a name, and `for` is not one"
    );
    assert!(message(arguments!["i", 4i64, ["io", "ii"]; tail = "cat"]).contains("needs one of \"guard\", \"cut\""));
    assert!(message(arguments!["i", 4i64, ["io", "ii"]; tale = "cut"]).contains("no parameter `tale`"));
    assert!(message(arguments!["i", 4i64]).contains("needs an argument for `new_iters` (argument 3)"));
    assert!(message(arguments!["y[_] = _", 4i64, ["io", "ii"]]).contains("needs a loop"));
    assert!(message(arguments![3i64, 4i64, ["io", "ii"]]).contains("needs a loop"));

    let refusal = refused("divide_loop", &p, arguments!["k", 4i64, ["io", "ii"]]);
    assert_eq!(refusal.kind, RefusalKind::Scheduling);
    assert_eq!(refusal.diagnostics[0].code, codes::NO_MATCH);
}

#[test]
fn cursors_of_earlier_versions_are_carried_forward() {
    let p = scale();
    let outer = cursor(&p, "for i in _: _");
    let q = step("divide_loop", &p, arguments![&outer, 4i64, ["io", "ii"]; tail = "cut"]);
    let r = step("divide_loop", &q, arguments![&outer, 2i64, ["ioo", "ioi"]]);
    assert_eq!(now(&r, &outer).unwrap(), "for ioo in seq(0, (n / 4 + 1) / 2):");

    let other = scale();
    let refusal = refused("divide_loop", &other, arguments![&outer, 4i64, ["io", "ii"]]);
    assert_eq!(refusal.kind, RefusalKind::InvalidCursor);
    assert_eq!(refusal.diagnostics[0].code, codes::UNRELATED_CURSOR);
}

#[test]
fn product_of_loops() {
    let p = procedure(
        "
        @proc
        def clear(n: size, x: f32[n, 4], y: f32[n, n]):
            for i in seq(0, n):
                for j in seq(0, 4):
                    x[i, j] = 1.0
                    x[i, j] += 1.0
            for i in seq(0, n):
                for j in seq(0, n):
                    y[i, j] = 1.0
            for i in seq(0, n):
                y[i, 0] = 1.0
                for j in seq(0, 1):
                    y[i, j] = 1.0
        ",
    );
    let q = step("mult_loops", &p, arguments!["i j", "k"]);
    let text = crate::print::proc(q.ir());
    assert!(text.contains("    for k in seq(0, n * 4):\n        x[k / 4, k % 4] = 1.0\n"), "{text}");
    assert_eq!(now(&q, &cursor(&p, "for i in _: _")).unwrap(), "for k in seq(0, n * 4):");
    assert_eq!(now(&q, &cursor(&p, "for j in _: _")), None);
    assert_eq!(now(&q, &cursor(&p, "x[_] += _")).unwrap(), "x[k / 4, k % 4] += 1.0");
    assert_eq!(refused("mult_loops", &p, arguments!["i j #1", "k"]).kind, RefusalKind::Scheduling);
    let third = cursors(&p, "for i in _: _")[2].clone();
    assert_eq!(refused("mult_loops", &p, arguments![third, "k"]).kind, RefusalKind::Argument);
    assert_eq!(refused("mult_loops", &p, arguments!["ij", "k"]).kind, RefusalKind::Scheduling);
}

#[test]
fn cutting_and_joining() {
    let p = procedure(
        "
        @proc
        def clear(n: size, x: f32[n + 4]):
            for i in seq(0, n + 4):
                t: f32
                t = 1.0
                x[i] = t
        ",
    );
    let q = step("cut_loop", &p, arguments!["i", "n"]);
    prints(
        &q,
        "
        def clear(n: size, x: f32[n + 4] @ DRAM):
            for i in seq(0, n):
                t: f32 @ DRAM
                t = 1.0
                x[i] = t
            for i in seq(n, n + 4):
                t: f32 @ DRAM
                t = 1.0
                x[i] = t
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "for i in _: _")).unwrap(), "for i in seq(0, n):");
    step("cut_loop", &p, arguments!["i", 4i64]);
    step("cut_loop", &p, arguments!["i", 0i64]);
    for point in ["n + 5", "n - 2"] {
        let refusal = refused("cut_loop", &p, arguments!["i", point]);
        assert_eq!(refusal.kind, RefusalKind::Scheduling);
        assert!(refusal.message().contains("the cut point lies within the loop"), "{}", refusal.message());
    }
    assert_eq!(refused("cut_loop", &p, arguments!["i", "m"]).kind, RefusalKind::Parse);
    let r = step("join_loops", &q, arguments!["i", "i #1"]);
    prints(
        &r,
        "
        def clear(n: size, x: f32[n + 4] @ DRAM):
            for i in seq(0, n + 4):
                t: f32 @ DRAM
                t = 1.0
                x[i] = t
        ",
    );
    assert_eq!(now(&r, &cursors(&q, "for i in _: _")[1]), None);
}

#[test]
fn joining_needs_equal_bodies_and_meeting_bounds() {
    let p = procedure(
        "
        @proc
        def clear(n: size, x: f32[n + 8]):
            for i in seq(0, n):
                x[i] = 1.0
            for i in seq(n, n + 4):
                x[i] = 1.0
                x[i] += 1.0
            for i in seq(n + 4, n + 6):
                x[i] = 1.0
            for i in seq(n + 7, n + 8):
                x[i] = 1.0
            for i in seq(n + 8, n + 8):
                x[0] = 1.0
        ",
    );
    refused("join_loops", &p, arguments!["i", "i #1"]);
    refused("join_loops", &p, arguments!["i #1", "i"]);
    refused("join_loops", &p, arguments!["i", "i #2"]);
    refused("join_loops", &p, arguments!["i #2", "i #3"]);
    refused("join_loops", &p, arguments!["i #3", "i #4"]);
}

#[test]
fn shifting() {
    let p = procedure(
        "
        @proc
        def clear(n: size, x: f32[n + 2]):
            for i in seq(2, n + 2):
                x[i] = 0.0
        ",
    );
    let q = step("shift_loop", &p, arguments!["i", 0i64]);
    prints(
        &q,
        "
        def clear(n: size, x: f32[n + 2] @ DRAM):
            for i in seq(0, 0 + (n + 2 - 2)):
                x[i + (2 - 0)] = 0.0
        ",
    );
    assert_eq!(now(&q, &cursor(&p, "x[_] = _")).unwrap(), "x[i + (2 - 0)] = 0.0");
    step("shift_loop", &p, arguments!["i", "n"]);
    let refusal = refused("shift_loop", &p, arguments!["i", -1i64]);
    assert!(refusal.message().contains("not negative"), "{}", refusal.message());
    refused("shift_loop", &p, arguments!["i", "n - 2"]);
}

#[test]
fn unrolling() {
    let p = procedure(
        "
        @proc
        def clear(n: size, x: f32[4], y: f32[n]):
            for i in seq(1, 3):
                t: f32
                t = 1.0
                x[i] = t
            for i in seq(0, n):
                for j in seq(0, 0):
                    y[i] = 1.0
            for k in seq(0, n):
                y[k] = 0.0
        ",
    );
    let q = step("unroll_loop", &p, arguments!["i"]);
    let text = crate::print::proc(q.ir());
    assert!(text.contains("x[1] = t\n"), "{text}");
    assert!(text.contains("x[2] = t_1\n"), "{text}");
    assert_eq!(now(&q, &cursor(&p, "for i in _: _")), None);
    assert_eq!(now(&q, &cursor(&p, "x[_] = _")), None);
    let q = step("unroll_loop", &q, arguments!["j"]);
    assert!(crate::print::proc(q.ir()).contains("    for i in seq(0, n):\n        pass\n"));
    assert_eq!(refused("unroll_loop", &p, arguments!["k"]).kind, RefusalKind::Scheduling);

    let p = procedure(
        "
        @proc
        def clear(x: f32[4000000]):
            for i in seq(0, 4000000):
                x[i] = 1.0
        ",
    );
    refused("unroll_loop", &p, arguments!["i"]);
    let huge = arguments!["i", 1i64 << 40, ["io", "ii"]];
    assert_eq!(refused("divide_loop", &p, huge).kind, RefusalKind::Argument);
}

/// Found by the fuzzer: an iterator that is called like a callee, an extern or a memory would hide it in the text.
#[test]
fn new_iterators_hide_nothing() {
    let p = procedure(
        "
        @proc
        def g(x: f32[8]):
            x[0] = sin(x[1])

        @proc
        def f(x: f32[8]):
            for i in seq(0, 8):
                x[i] = sin(x[i])
                g(x)
        ",
    );
    for name in ["g", "sin", "DRAM", "x"] {
        let q = step("divide_loop", &p, arguments!["i", 4i64, [name, "ii"]]);
        assert!(print_of(&q).contains(&format!("for {name}_1 in seq(0, ")), "{}", print_of(&q));
    }
}

fn print_of(p: &Procedure) -> String {
    crate::print::proc(p.ir())
}
