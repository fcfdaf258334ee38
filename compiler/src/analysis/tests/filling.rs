//! A block fills a window before it reads it: what `stage_mem` may leave out a load for.

use super::*;
use crate::loop_ir::Access;

fn span(lo: i64, hi: i64) -> Access {
    Access::Interval { lo: build::int(lo), hi: build::int(hi) }
}

fn fills_with(text: &str, stmt: &str, window: Vec<Access>, solver: &mut Solver) -> Result<(), Unproven> {
    let p = proc(text);
    let question =
        Question::FilledFirst { side: Side::Before, block: block(&p, stmt), buffer: symbol(&p, "v"), window };
    question.answer(&p, &p, solver)
}

fn fills(text: &str, stmt: &str, lo: i64, hi: i64) -> Result<(), Unproven> {
    let mut solver = Solver::new(1_000_000);
    let answer = fills_with(text, stmt, vec![span(lo, hi)], &mut solver);
    assert_eq!(solver.stats().z3, 0);
    answer
}

#[test]
fn a_callee_may_fill() {
    let text = "
        @proc
        def bump(t: [f32][3]):
            for k in seq(0, 3):
                t[k] = 9.0
        @proc
        def p(v: f32[4]):
            bump(v[0:3])
    ";
    fills(text, "bump", 0, 3).unwrap();
    fills(text, "bump", 0, 4).unwrap_err();
    fills(&text.replace("t[k] = 9.0", "t[k] += 9.0"), "bump", 0, 3).unwrap_err();
}

#[test]
fn partial_and_conditional_writes_do_not_fill() {
    // S3, D1
    let partial = "@proc\ndef p(v: f32[6]):\n    for k in seq(0, 3):\n        v[2 * k] = 7.0\n";
    let refused = fills(partial, "for k", 0, 6).unwrap_err();
    assert!(refused.counterexample.is_some(), "{refused:?}");
    let conditional =
        "@proc\ndef p(m: index, v: f32[6]):\n    for k in seq(0, 6):\n        if k == m:\n            v[k] = 7.0\n";
    fills(conditional, "for k", 0, 6).unwrap_err();
    fills(&format!("{conditional}        else:\n            v[k] = 8.0\n"), "for k", 0, 6).unwrap();
    let tiled = "@proc\ndef p(v: f32[6]):\n    for o in seq(0, 2):\n        for i in seq(0, 3):\n            v[3 * o + i] = 7.0\n";
    fills(tiled, "for o", 0, 6).unwrap();
    fills(&tiled.replace("seq(0, 3)", "seq(0, 2)"), "for o", 0, 6).unwrap_err();
    let last = "@proc\ndef p(v: f32[6]):\n    for k in seq(0, 6):\n        for t in seq(0, 4):\n            if t == 3:\n                v[k] = 7.0\n";
    fills(last, "for k", 0, 6).unwrap();
    fills(&last.replace("t == 3", "t == 4"), "for k", 0, 6).unwrap_err();
}

#[test]
fn main_part_and_tail_fill_together() {
    let text = "@proc\ndef p(n: size, v: f32[n]):\n    if n > 0:\n        for o in seq(0, n / 4):\n            for i in seq(0, 4):\n                v[4 * o + i] = 7.0\n        for t in seq(0, n % 4):\n            v[4 * (n / 4) + t] = 7.0\n";
    let p = proc(text);
    let n = build::control(&symbol(&p, "n"), Control::Size);
    let whole = |hi| vec![Access::Interval { lo: build::int(0), hi }];
    let question = |p: &Proc, hi| {
        let question = Question::FilledFirst {
            side: Side::Before,
            block: block(p, "if"),
            buffer: symbol(p, "v"),
            window: whole(hi),
        };
        ask_fast(p, &question)
    };
    question(&p, n).unwrap();
    let p = proc(&text.replace("n % 4", "n % 4 - n % 2"));
    let n = build::control(&symbol(&p, "n"), Control::Size);
    question(&p, n).unwrap_err();
}

#[test]
fn reads_come_after_the_write_of_their_iteration() {
    let text = |body: &str| format!("@proc\ndef p(v: f32[6], o: f32[6]):\n    for k in seq(0, 6):\n        {body}\n");
    fills(&text("v[k] = 1.0\n        o[k] = v[k]"), "for k", 0, 6).unwrap();
    fills(&text("o[k] = v[k]\n        v[k] = 1.0"), "for k", 0, 6).unwrap_err();
    fills(&text("v[k] = 1.0\n        o[k] = v[5 - k]"), "for k", 0, 6).unwrap_err();
    fills(&text("v[k] += o[k]"), "for k", 0, 6).unwrap_err();
    fills(&text("w = v[k:k + 1]\n        w[0] = 2.0\n        o[k] = v[k]"), "for k", 0, 6).unwrap();
}

#[test]
fn branches_decide_by_their_own_side() {
    // D34
    let text = "@proc\ndef p(v: f32[8], o: f32):\n    for k in seq(0, 8):\n        if k < 4:\n            v[k] = 1.0\n        else:\n            o = v[k]\n";
    fills(text, "for k", 0, 4).unwrap();
    fills(text, "for k", 0, 5).unwrap_err();
}

#[test]
fn what_no_witness_shows_goes_to_z3() {
    // Every element is written twice, through a quotient of the iterator.
    let text = "@proc\ndef p(v: f32[6]):\n    for k in seq(0, 12):\n        v[k / 2] = 7.0\n";
    let mut solver = Solver::new(1_000_000);
    fills_with(text, "for k", vec![span(0, 6)], &mut solver).unwrap();
    assert!(solver.stats().z3 > 0);
    fills_with(&text.replace("12", "10"), "for k", vec![span(0, 6)], &mut solver).unwrap_err();
    fills_with(&text.replace("12", "11").replace("k / 2", "k / 2 + k % 2"), "for k", vec![span(0, 6)], &mut solver)
        .unwrap();
}
