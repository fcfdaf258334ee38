//! Staging a window around a block: placements, loads, stores, coverage.

use super::*;
use crate::analysis::effects::AccessKind;
use crate::analysis::staging::{self, Overhang, Placement, Staging, UseKind};
use crate::loop_ir::{Access, Expr};

fn span(lo: i64, hi: i64) -> Access {
    Access::Interval { lo: build::int(lo), hi: build::int(hi) }
}

fn stage(text: &str, stmt: &str, buffer: &str, window: &[Access]) -> Result<Staging, Unproven> {
    let p = proc(text);
    let mut solver = Solver::new(1_000_000);
    let found = staging::classify(&p, &block(&p, stmt), &symbol(&p, buffer), window, &mut solver);
    assert_eq!(solver.stats().z3, 0);
    found
}

fn placements(staging: &Staging) -> Vec<Placement> {
    staging.uses.iter().map(|used| used.placement).collect()
}

#[test]
fn a_callee_that_writes_is_stored() {
    // S2, D2
    let found = stage(
        "
        @proc
        def bump(t: [f32][3]):
            for k in seq(0, 3):
                t[k] = 9.0
        @proc
        def p(v: f32[3]):
            bump(v[0:3])
        ",
        "bump",
        "v",
        &[span(0, 3)],
    )
    .unwrap();
    assert_eq!(found.uses[0].kind, UseKind::Argument(vec![AccessKind::Write]));
    assert_eq!(placements(&found), [Placement::Inside]);
    assert!(found.modifies && found.covers && !found.needs_load());
}

#[test]
fn partial_and_conditional_writes_need_a_load() {
    // S3, D1
    let partial = "@proc\ndef p(v: f32[6]):\n    for k in seq(0, 3):\n        v[2 * k] = 7.0\n";
    let found = stage(partial, "for k", "v", &[span(0, 6)]).unwrap();
    assert!(found.modifies && !found.observes && !found.covers && found.needs_load());
    let conditional =
        "@proc\ndef p(m: index, v: f32[6]):\n    for k in seq(0, 6):\n        if k == m:\n            v[k] = 7.0\n";
    assert!(stage(conditional, "for k", "v", &[span(0, 6)]).unwrap().needs_load());
    let whole = "@proc\ndef p(v: f32[6]):\n    for o in seq(0, 2):\n        for i in seq(0, 3):\n            v[3 * o + i] = 7.0\n";
    assert!(!stage(whole, "for o", "v", &[span(0, 6)]).unwrap().needs_load());
    let both = "@proc\ndef p(m: index, v: f32[6]):\n    for k in seq(0, 6):\n        if k == m:\n            v[k] = 7.0\n        else:\n            v[k] = 8.0\n";
    assert!(!stage(both, "for k", "v", &[span(0, 6)]).unwrap().needs_load());
    let tail = "@proc\ndef p(n: size, v: f32[n]):\n    if n > 0:\n        for o in seq(0, n / 4):\n            for i in seq(0, 4):\n                v[4 * o + i] = 7.0\n        for t in seq(0, n % 4):\n            v[4 * (n / 4) + t] = 7.0\n";
    let p = proc(tail);
    let n = symbol(&p, "n");
    let window = [Access::Interval { lo: build::int(0), hi: build::index(&n) }];
    let found =
        staging::classify(&p, &block(&p, "if"), &symbol(&p, "v"), &window, &mut Solver::new(1_000_000)).unwrap();
    assert!(!found.needs_load(), "{found:?}");
}

#[test]
fn coverage_that_no_witness_shows_goes_to_z3() {
    // Every element is written twice, through a quotient of the iterator.
    let text = "@proc\ndef p(v: f32[6]):\n    for k in seq(0, 12):\n        v[k / 2] = 7.0\n";
    let p = proc(text);
    let mut solver = Solver::new(1_000_000);
    let classify = |hi: i64, solver: &mut Solver| {
        staging::classify(&p, &block(&p, "for k"), &symbol(&p, "v"), &[span(0, hi)], solver).unwrap()
    };
    assert!(!classify(6, &mut solver).needs_load());
    assert!(solver.stats().z3 > 0);
    let p = proc(&text.replace("12", "11").replace("k / 2", "k / 2 + k % 2"));
    let found = staging::classify(&p, &block(&p, "for k"), &symbol(&p, "v"), &[span(0, 6)], &mut solver).unwrap();
    assert!(found.covers);
    let p = proc(&text.replace("12", "10"));
    let found = staging::classify(&p, &block(&p, "for k"), &symbol(&p, "v"), &[span(0, 6)], &mut solver).unwrap();
    assert!(!found.covers && found.needs_load());
}

#[test]
fn reads_before_writes_need_a_load() {
    let text = |body: &str| format!("@proc\ndef p(v: f32[6], o: f32[6]):\n    for k in seq(0, 6):\n        {body}\n");
    let window = [span(0, 6)];
    assert!(stage(&text("v[k] = 1.0\n        o[k] = v[k]"), "for k", "v", &window).is_ok_and(|s| !s.needs_load()));
    assert!(stage(&text("o[k] = v[k]\n        v[k] = 1.0"), "for k", "v", &window).is_ok_and(|s| s.needs_load()));
    let found = stage(&text("o[k] = v[k]"), "for k", "v", &window).unwrap();
    assert!(found.needs_load() && !found.modifies);
    let found = stage(&text("v[k] += o[k]"), "for k", "v", &window).unwrap();
    assert!(found.needs_load() && found.modifies && found.only_reduces);
    assert!(!stage(&text("v[k] += v[k]"), "for k", "v", &window).unwrap().only_reduces);
}

#[test]
fn aliases_from_outside_are_named() {
    // S4, D51
    let text = "@proc\ndef p(v: f32[8]):\n    w = v[1:5]\n    for k in seq(0, 4):\n        w[k] = 2.0\n        v[k + 1] += 1.0\n";
    let found = stage(text, "for k", "v", &[span(1, 5)]).unwrap();
    assert_eq!(placements(&found), [Placement::Inside, Placement::Inside]);
    assert_eq!(found.uses[0].name.name(), "w");
    assert_eq!(found.uses[1].name.name(), "v");
}

#[test]
fn windows_declared_inside_stand_for_their_uses() {
    let text = "@proc\ndef p(v: f32[8]):\n    for k in seq(0, 4):\n        w = v[k:k + 1]\n        w[0] = 2.0\n    v[7] = 1.0\n";
    let found = stage(text, "for k", "v", &[span(0, 4)]).unwrap();
    assert_eq!(found.uses.len(), 1);
    assert_eq!(found.uses[0].kind, UseKind::Window);
    assert!(found.covers && found.modifies);
    let text = "@proc\ndef p(v: f32[8]):\n    w = v[0:4]\n    w[0] = 2.0\n";
    stage(text, "w = v", "v", &[span(0, 4)]).unwrap_err();
}

#[test]
fn branches_count_for_placement() {
    // D34
    let text = "@proc\ndef p(v: f32[8]):\n    for k in seq(0, 8):\n        if k < 4:\n            v[k] = 1.0\n        else:\n            v[k] = 2.0\n";
    let found = stage(text, "for k", "v", &[span(0, 4)]).unwrap();
    assert_eq!(placements(&found), [Placement::Inside, Placement::Disjoint]);
    assert!(found.covers);
    let found = stage(text, "for k", "v", &[span(0, 5)]).unwrap();
    assert_eq!(placements(&found), [Placement::Inside, Placement::Mixed]);
}

#[test]
fn ranks_and_overhang() {
    let text = "@proc\ndef p(n: size, v: f32[n, 4]):\n    for k in seq(0, n):\n        v[k, 0] = 1.0\n";
    stage(text, "for k", "v", &[span(0, 4)]).unwrap_err();
    let p = proc(text);
    let n = symbol(&p, "n");
    let hang = |lo: Expr, hi: Expr| {
        let window = [Access::Interval { lo, hi }, Access::Point(build::int(0))];
        staging::overhang(&p, &block(&p, "for k"), &symbol(&p, "v"), &window, &mut Solver::new(1_000_000)).unwrap()
    };
    let fits = Overhang { below: false, beyond: false };
    assert_eq!(hang(build::int(0), build::index(&n)), [fits, fits]);
    assert_eq!(hang(build::int(-1), build::int(3))[0], Overhang { below: true, beyond: true });
}
