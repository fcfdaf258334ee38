//! Tests of the safety checks: what is accepted, what is refused, and what the refusal says.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used, clippy::panic)]

mod configuration;

use super::*;
use crate::diagnostic::{Code, codes};
use crate::testing::procs;

/// Checks every definition of a text in order; the codes of the first refused one.
fn check(text: &str) -> Result<(), Vec<Code>> {
    let mut solver = Solver::new(1_000_000);
    for proc in procs(text) {
        check_proc(&proc, &mut solver).map_err(|found| found.iter().map(|d| d.code).collect::<Vec<_>>())?;
    }
    assert_eq!(solver.stats().z3, 0);
    Ok(())
}

fn refused(text: &str) -> Vec<crate::diagnostic::Diagnostic> {
    let mut solver = Solver::new(1_000_000);
    for proc in procs(text) {
        if let Err(found) = check_proc(&proc, &mut solver) {
            return found;
        }
    }
    panic!("accepted: {text}");
}

#[test]
fn accesses_in_range() {
    check("@proc\ndef p(n: size, x: f32[n]):\n    for i in seq(0, n):\n        x[i] = x[n - 1 - i]\n").unwrap();
    let found = refused("@proc\ndef p(n: size, x: f32[n]):\n    for i in seq(0, n):\n        x[i + 1] = 0.0\n");
    assert_eq!(found[0].code, codes::BOUNDS);
    assert_eq!(found[0].message, "`x[i + 1]` may be written out of bounds");
    assert_eq!(found[0].notes[0], "cannot show `0 <= i + 1 and i + 1 < n`");
    assert!(found[0].notes[1].contains("n = 1"), "{:?}", found[0].notes);
    assert!(found[0].primary.is_some());
}

#[test]
fn conditions_and_asserts_count() {
    check("@proc\ndef p(n: size, x: f32[n]):\n    for i in seq(0, n + 3):\n        if i < n:\n            x[i] = 0.0\n        else:\n            x[i - n] = 0.0\n").unwrap_err();
    check("@proc\ndef p(n: size, x: f32[n]):\n    assert n > 2\n    for i in seq(0, n + 3):\n        if i < n:\n            x[i] = 0.0\n        else:\n            x[i - n] = 0.0\n").unwrap();
    let found = refused("@proc\ndef p(n: size):\n    assert n < 0\n    pass\n");
    assert_eq!(found[0].code, codes::ASSERTION);
}

#[test]
fn loops_run_forwards_and_shapes_are_positive() {
    let found = refused("@proc\ndef p(n: size, x: f32[n]):\n    for k in seq(2, n):\n        x[k] = 0.0\n");
    assert_eq!(found[0].code, codes::EXTENT);
    check("@proc\ndef p(n: size, x: f32[n]):\n    assert n >= 2\n    for k in seq(2, n):\n        x[k] = 0.0\n")
        .unwrap();
    check("@proc\ndef p(n: size):\n    t: f32[n - 1]\n").unwrap_err();
    check("@proc\ndef p(n: size, x: f32[n - 1]):\n    pass\n").unwrap_err();
    check("@proc\ndef p(n: size, x: f32[n + 1]):\n    for i in seq(3, 3):\n        x[0] = 0.0\n").unwrap();
}

#[test]
fn windows_bound_their_accesses() {
    // S1
    let found =
        refused("@proc\ndef p(v: f32[6]):\n    tail = v[4:6]\n    for k in seq(0, 9):\n        tail[k] = 5.0\n");
    assert_eq!(found[0].code, codes::BOUNDS);
    check("@proc\ndef p(v: f32[6]):\n    tail = v[4:6]\n    for k in seq(0, 2):\n        tail[k] += 5.0\n").unwrap();
    check("@proc\ndef p(v: f32[6], o: f32):\n    w = v[0:2]\n    o = w[3]\n").unwrap_err();
    check("@proc\ndef p(v: f32[6]):\n    w = v[2:6]\n    u = w[1:3]\n    u[1] = 0.0\n").unwrap();
    check("@proc\ndef p(v: f32[6]):\n    w = v[2:6]\n    u = w[1:5]\n    u[1] = 0.0\n").unwrap_err();
    check("@proc\ndef p(v: f32[6]):\n    w = v[0:20]\n").unwrap_err();
    let found = refused("@proc\ndef p(v: f32[6]):\n    w = v[3:2]\n");
    assert_eq!(found[0].code, codes::EXTENT);
    check("@proc\ndef p(v: f32[6]):\n    w = v[6:6]\n").unwrap();
    check("@proc\ndef p(v: f32[6]):\n    w = v[7:7]\n").unwrap_err();
    check("@proc\ndef p(v: f32[6]):\n    w = v[3:3]\n    w[0] = 0.0\n").unwrap_err();
    check("@proc\ndef p(v: f32[6], o: f32):\n    o = relu(v[7])\n").unwrap_err();
}

#[test]
fn remainders_are_never_negative() {
    check("@proc\ndef p(v: f32[3]):\n    for k in seq(0, 3):\n        v[(k - 3) % 3] += 1.0\n").unwrap();
    check(
        "@proc\ndef p(n: size, v: f32[n]):\n    for k in seq(0, 3):\n        v[k % n] += 1.0\n"
            .replace("% n", "% 4")
            .as_str(),
    )
    .unwrap_err();
}

const COPY: &str = "
@proc
def copy(n: size, dst: [f32][n], src: [f32][n]):
    assert n <= 8
    assert stride(dst, 0) == 1
    for i in seq(0, n):
        dst[i] = src[i]
";

fn calling(caller: &str) -> Result<(), Vec<Code>> {
    check(&format!("{COPY}{caller}"))
}

#[test]
fn calls_establish_preconditions() {
    calling("@proc\ndef p(x: f32[16], y: f32[16]):\n    copy(8, x[0:8], y[8:16])\n").unwrap();
    assert_eq!(
        calling("@proc\ndef p(x: f32[16], y: f32[16]):\n    copy(9, x[0:9], y[0:9])\n").unwrap_err(),
        [codes::ASSERTION]
    );
    assert_eq!(
        calling("@proc\ndef p(x: f32[16], y: f32[16]):\n    copy(8, x[0:8], y[0:7])\n").unwrap_err(),
        [codes::CALL]
    );
    assert_eq!(
        calling("@proc\ndef p(x: f32[16], y: f32[16]):\n    copy(8, x[9:17], y[0:8])\n").unwrap_err(),
        [codes::BOUNDS]
    );
    calling("@proc\ndef p(n: size, x: f32[n], y: f32[n]):\n    assert n <= 8\n    copy(n, x, y)\n").unwrap();
    // S5: a column is not contiguous, a row is.
    calling("@proc\ndef p(x: f32[8, 8], y: f32[8]):\n    copy(8, x[3, 0:8], y)\n").unwrap();
    assert_eq!(
        calling("@proc\ndef p(x: f32[8, 8], y: f32[8]):\n    copy(8, x[0:8, 3], y)\n").unwrap_err(),
        [codes::ASSERTION]
    );
    // Strides of window parameters are unknown unless asserted.
    calling("@proc\ndef p(x: [f32][8], y: f32[8]):\n    copy(8, x, y)\n").unwrap_err();
    calling("@proc\ndef p(x: [f32][8], y: f32[8]):\n    assert stride(x, 0) == 1\n    copy(8, x, y)\n").unwrap();
    calling("@proc\ndef p(x: [f32][8], y: f32[8]):\n    if stride(x, 0) == 1:\n        copy(8, x, y)\n").unwrap();
}

#[test]
fn size_arguments_are_positive() {
    // S7
    let found = calling("@proc\ndef p(n: size, g: index, x: f32[8], y: f32[8]):\n    assert n - g <= 8\n    copy(n - g, x[0:n - g], y[0:n - g])\n").unwrap_err();
    assert!(found.contains(&codes::EXTENT), "{found:?}");
}

#[test]
fn callee_facts_stay_in_the_callee() {
    // Exo cannot call this one at all (spec/01, 3.5).
    check(
        "
@proc
def zero(n: index, x: [f32][8]):
    assert n >= 0
    assert n <= 8
    for i in seq(0, n):
        x[i] = 0.0
@proc
def p(x: f32[8]):
    zero(3, x)
",
    )
    .unwrap();
}

#[test]
fn arguments_are_whole_where_they_have_to_be_and_may_not_fit_yet() {
    let text = |callee: &str, caller: &str| format!("@proc\ndef f({callee}):\n    pass\n@proc\ndef p({caller}");
    let with = |callee: &str, caller: &str| check(&text(callee, caller));
    let warned = |callee: &str, caller: &str| -> Vec<Code> {
        with(callee, caller).unwrap();
        super::fit::warnings(procs(&text(callee, caller)).last().unwrap()).iter().map(|found| found.code).collect()
    };
    assert_eq!(warned("x: [f32][4]", "x: f64[4]):\n    f(x)\n"), [codes::PRECISION]);
    assert_eq!(warned("x: [R][4]", "x: f32[4]):\n    f(x)\n"), []);
    assert_eq!(warned("x: [f32][4] @ DRAM_STACK", "x: f32[4]):\n    f(x)\n"), [codes::MEMORY]);
    assert_eq!(warned("x: [f32][4]", "x: f32[4] @ DRAM_STACK):\n    f(x)\n"), []);
    assert_eq!(with("x: f32[4]", "x: f32[8]):\n    f(x[0:4])\n").unwrap_err(), [codes::CALL]);
    with("x: f32[4]", "x: f32[4]):\n    f(x)\n").unwrap();
}

#[test]
fn aliasing_arguments() {
    let text = |args: &str| {
        format!(
            "@proc\ndef f(a: [f32][4], b: [f32][4]):\n    for i in seq(0, 4):\n        a[i] = b[i]\n@proc\ndef g(a: [f32][4], b: [f32][4], o: f32):\n    o = a[0] + b[0]\n@proc\ndef p(x: f32[16], k: index, o: f32):\n    assert k >= 0\n    assert k <= 8\n    {args}\n"
        )
    };
    assert_eq!(check(&text("f(x[0:4], x[0:4])")).unwrap_err(), [codes::ALIASING]);
    assert_eq!(check(&text("f(x[k:k + 4], x[4:8])")).unwrap_err(), [codes::ALIASING]);
    check(&text("f(x[0:4], x[4:8])")).unwrap();
    check(&text("f(x[k:k + 4], x[k + 4:k + 8])")).unwrap();
    check(&text("g(x[0:4], x[2:6], o)")).unwrap();
    let through = text("w = x[2:6]\n    f(w[0:4], x[4:8])");
    assert_eq!(check(&through).unwrap_err(), [codes::ALIASING]);
}

#[test]
fn races_at_any_nesting() {
    let found = refused(
        "@proc\ndef p(n: size, x: f32[n], s: f32):\n    for j in seq(0, n):\n        for i in par(0, n):\n            s += x[i]\n",
    );
    assert_eq!(found[0].code, codes::RACE);
    check("@proc\ndef p(n: size, x: f32[n, n]):\n    for j in seq(0, n):\n        for i in par(0, n):\n            x[i, j] = 1.0\n").unwrap();
    check("@proc\ndef p(n: size, x: f32[n, n], y: f32[n]):\n    for i in par(0, n):\n        for j in par(0, n):\n            y[i] += x[i, j]\n").unwrap_err();
}

#[test]
fn one_call_of_a_proc() {
    let all = procs(&format!(
        "{COPY}@proc\ndef p(x: f32[16], y: f32[16]):\n    copy(8, x[0:8], y[8:16])\n    copy(9, x[0:9], y[0:9])\n"
    ));
    let proc = all.last().unwrap();
    let mut solver = Solver::new(1_000_000);
    let at = |k| Path::root().child(crate::cursor::Step::Body(k));
    check_call(proc, &at(0), &mut solver).unwrap();
    let found = check_call(proc, &at(1), &mut solver).unwrap_err();
    assert_eq!(found[0].code, codes::ASSERTION);
    assert_eq!(found[0].message, "the assert `n <= 8` of `copy` may not hold");
    assert!(found[0].notes[0].contains("9 <= 8"), "{:?}", found[0].notes);
    check_call(proc, &at(7), &mut solver).unwrap_err();
}

#[test]
fn a_read_of_what_nothing_wrote() {
    let proc = |lines: &str| {
        let lines: Vec<String> = lines.lines().map(|line| format!("    {line}\n")).collect();
        format!(
            "@proc\ndef add(a: [f32][2]):\n    a[0] += 1.0\n@proc\ndef p(n: size, x: f32[n + 4], y: f32[n + 4]):\n{}",
            lines.concat()
        )
    };
    for blind in [
        "t: f32\ny[0] = t",
        "t: f32\nt += x[0]",
        "t: f32\nt = t + x[0]\ny[0] = t",
        "t: f32\ny[0] = t\nt = 0.0",
        "t: f32[n + 1]\nt[0] = 0.0\ny[0] = t[1]",
        "t: f32[n + 1]\nfor i in seq(0, n):\n    t[i] = x[i]\ny[0] = t[n]",
        "t: f32[8]\nfor i in seq(0, 4):\n    t[2 * i] = x[0]\nfor i in seq(0, 4):\n    y[0] = t[2 * i + 1]",
        "t: f32[n + 1]\nfor i in seq(0, n):\n    y[i] = t[i]\n    t[i] = 0.0",
        "for i in seq(0, n):\n    t: f32\n    if i > 0:\n        y[i] = t\n    t = x[i]",
        "t: f32\nif n > 3:\n    t = 0.0\nelse:\n    y[0] = t",
        "t: f32\nif n > 3:\n    t = 0.0\nif n < 3:\n    y[0] = t",
        "t: f32[4]\nw = t[1:3]\ny[0] = w[0]",
        "t: f32[4]\nt[0] = 0.0\nadd(t[1:3])",
    ] {
        let found = warned(&proc(blind));
        assert_eq!(found[0].code, codes::UNWRITTEN, "{blind}");
        assert!(found[0].message.ends_with("`t` where nothing was written before"), "{}", found[0].message);
    }
    for seen in [
        "t: f32\nfor i in seq(0, n):\n    if i > 0:\n        y[i] = t\n    t = x[i]",
        "t: f32\nif n > 3:\n    t = 0.0\ny[0] = t",
        "t: f32[n + 1]\nfor i in seq(0, n):\n    t[i] = x[i]\nfor i in seq(0, n + 1):\n    y[i] = t[i]",
        "t: f32[n + 1]\nfor i in seq(0, n):\n    t[i + 1] = 0.0\n    y[i] = t[i]",
        "t: f32[4]\nw = t[1:3]\nt[2] = 0.0\ny[0] = w[1]",
        "t: f32[4]\nt[1] = 0.0\nadd(t[1:3])\ny[0] = t[1]",
        "t: f32\nif n < 0:\n    y[0] = t",
        "t: f32",
    ] {
        assert!(warned(&proc(seen)).is_empty(), "{seen}");
    }
}

/// Warnings of the last proc, which is accepted.
fn warned(text: &str) -> Vec<crate::diagnostic::Diagnostic> {
    check(text).unwrap_or_else(|codes| panic!("{codes:?}: {text}"));
    let all = procs(text);
    super::definition::unwritten_reads(all.last().unwrap(), &mut Solver::new(1_000_000))
}

#[test]
fn asserted_strides_keep_written_elements_apart() {
    let proc = |preds: &str, shape: &str, write: bool| {
        let preds: String = preds.lines().map(|pred| format!("    assert {pred}\n")).collect();
        let body = if write { "x[0, 0] = y" } else { "y = x[0, 0]" };
        format!("@proc\ndef p(n: size, m: size, x: [f32][{shape}], y: f32):\n{preds}    {body}\n")
    };
    for (preds, shape) in [
        ("stride(x, 0) == 0", "n, m"),
        ("stride(x, 1) == 0", "n, 2"),
        ("stride(x, 0) == 1\nstride(x, 1) == 1", "n, m"),
        ("stride(x, 0) == stride(x, 1)", "n, m"),
        ("stride(x, 0) == 8\nstride(x, 1) == 1", "n, m"),
        ("stride(x, 0) == 8\nstride(x, 1) == 1", "n, 9"),
        ("stride(x, 0) == 2\nstride(x, 1) == 8", "5, m"),
    ] {
        let found = refused(&proc(preds, shape, true));
        assert_eq!(found[0].code, codes::STRIDES, "{preds}");
        check(&proc(preds, shape, false)).unwrap();
    }
    for (preds, shape) in [
        ("stride(x, 0) == 0", "1, m"),
        ("stride(x, 1) == 1", "n, m"),
        ("stride(x, 0) == 1", "n, m"),
        ("stride(x, 0) == 8\nstride(x, 1) == 1", "n, 8"),
        ("stride(x, 0) == 8\nstride(x, 1) == 1\nm <= 8", "n, m"),
        ("stride(x, 0) == 1\nstride(x, 1) == 16", "16, m"),
        ("stride(x, 0) == 1\nstride(x, 1) == 1", "1, m"),
    ] {
        check(&proc(preds, shape, true)).unwrap_or_else(|codes| panic!("{codes:?}: {preds}"));
    }
}

#[test]
fn negative_literals_of_unsigned_precisions_are_warned_of() {
    let warnings = |ty: &str, value: &str| {
        let text = format!("@proc\ndef p(x: {ty}[2]):\n    x[0] = {value}\n");
        check(&text).unwrap();
        super::literals::wrapping(procs(&text).last().unwrap())
    };
    for (ty, value) in [("ui8", "-1"), ("ui32", "-2.0"), ("ui16", "x[1] + 2.0 * -3.0")] {
        let found = warnings(ty, value);
        assert_eq!(found.len(), 1, "{ty} {value}");
        assert!(found[0].message.contains(&format!("is no value of `{ty}` and wraps around")));
        assert!(found[0].primary.is_some());
    }
    for (ty, value) in [("ui8", "1"), ("i8", "-1"), ("f32", "-1.0"), ("ui8", "-x[1]"), ("ui8", "x[1] - 3.0")] {
        assert!(warnings(ty, value).is_empty(), "{ty} {value}");
    }
}
