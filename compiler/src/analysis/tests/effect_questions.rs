//! Each question with programs for which it must be shown and programs for which it must not.

use super::*;

const SIDE: Side = Side::Before;

fn commute(text: &str, first: &str, second: &str) -> Result<(), Unproven> {
    let p = proc(text);
    ask_fast(&p, &Question::Commute { side: SIDE, first: block(&p, first), second: block(&p, second) })
}

fn interchange(body: &str) -> Result<(), Unproven> {
    let p = proc(&format!(
        "@proc
def p(n: size, m: size, x: f32[n, m], y: f32[n, m], s: f32):
    for i in seq(1, n - 1):
        for j in seq(1, m - 1):
            {body}
"
    ));
    ask_fast(&p, &Question::Interchange { side: SIDE, outer: at(&p, "for i") })
}

fn fission(text: &str, split: usize) -> Result<(), Unproven> {
    let p = proc(text);
    ask_fast(&p, &Question::Fission { side: SIDE, scope: at(&p, "for"), split })
}

fn idempotent(text: &str, stmt: &str) -> Result<(), Unproven> {
    let p = proc(text);
    ask_fast(&p, &Question::Idempotent { side: SIDE, block: block(&p, stmt) })
}

#[test]
fn statements_that_touch_different_elements_commute() {
    let with = |second: &str| {
        let text = format!(
            "@proc\ndef p(n: size, x: f32[n + 1], y: f32[n]):\n    for i in seq(0, n):\n        y[i] = x[i]\n        {second}\n"
        );
        commute(&text, "y[i] = x[i]", second)
    };
    with("x[i + 1] = 0.0").unwrap();
    with("y[i] += x[i]").unwrap_err();
    let refused = with("x[i] = 0.0").unwrap_err();
    assert!(refused.condition.contains("`x[i] = 0.0` writes `x`"), "{refused:?}");
    assert!(refused.place.is_some());
}

#[test]
fn reductions_commute_and_their_reads_do_not() {
    let text = |second: &str| format!("@proc\ndef p(x: f32[4], a: f32, b: f32):\n    x[1] += a\n    {second}\n");
    commute(&text("x[1] += b"), "x[1] += a", "x[1] += b").unwrap();
    commute(&text("x[1] = x[1] + b"), "x[1] += a", "x[1] = x[1] + b").unwrap();
    commute(&text("x[1] = b"), "x[1] += a", "x[1] = b").unwrap_err();
    commute(&text("b = x[1]"), "x[1] += a", "b = x[1]").unwrap_err();
    commute(&text("x[1] = x[1] * b"), "x[1] += a", "x[1] = x[1] * b").unwrap_err();
}

#[test]
fn windows_are_aliases_when_statements_swap() {
    let text = "
        @proc
        def p(x: f32[8], y: f32[8]):
            w = x[2:6]
            w[1] = 1.0
            y[0] = x[3]
            y[1] = x[4]
    ";
    commute(text, "w[1]", "y[0]").unwrap_err();
    let text = text.replace("y[0] = x[3]", "y[0] = x[2]");
    commute(&text, "w[1]", "y[0]").unwrap();
    // D12: a definition may not leave its uses.
    commute(&text, "w = x", "w[1]").unwrap_err();
    let text = "@proc\ndef p(y: f32[8]):\n    t: f32\n    t = 0.0\n    y[0] = 1.0\n";
    commute(text, "t: f32", "t = 0.0").unwrap_err();
    commute(text, "t = 0.0", "y[0]").unwrap();
}

#[test]
fn calls_commute_by_what_their_bodies_do() {
    let text = "
        @proc
        def fill(n: size, dst: [f32][n], v: f32):
            for k in seq(0, n):
                dst[k] = v
        @proc
        def p(x: f32[16], v: f32, y: f32):
            fill(8, x[0:8], v)
            y = x[8]
            y = x[7]
    ";
    commute(text, "fill", "y = x[8]").unwrap();
    commute(&text.replace("y = x[8]\n", "y = x[3]\n"), "fill", "y = x[3]").unwrap_err();
    // The callee only reads v.
    let text = text.replace("y = x[8]\n", "v = 0.0\n");
    commute(&text, "fill", "v = 0.0").unwrap_err();
}

#[test]
fn interchange_looks_at_flipped_pairs_only() {
    interchange("x[i, j] = y[i, j]").unwrap();
    interchange("s += y[i, j]").unwrap();
    interchange("x[i, j] += x[i - 1, j] + x[i, j - 1]").unwrap();
    interchange("x[i, j] = x[i - 1, j - 1]").unwrap();
    // P3: a reduction in other words.
    interchange("s = s + y[i, j]").unwrap();
    interchange("s = y[i, j]").unwrap_err();
    interchange("s = s * y[i, j]").unwrap_err();
    let refused = interchange("x[i, j] = x[i - 1, j + 1]").unwrap_err();
    let found = refused.counterexample.expect("values");
    assert!(found.values.iter().any(|(name, _)| name == "i'"), "{found}");
}

#[test]
fn interchange_needs_independent_bounds() {
    let p = proc(
        "@proc\ndef p(n: size, x: f32[n, n]):\n    for i in seq(0, n):\n        for j in seq(0, i + 1):\n            x[i, j] = 0.0\n",
    );
    ask(&p, &Question::Interchange { side: SIDE, outer: at(&p, "for i") }).unwrap_err();
}

#[test]
fn temporaries_inside_the_nest_do_not_conflict() {
    let p = proc(
        "
        @proc
        def p(n: size, x: f32[n, n]):
            for i in seq(0, n):
                for j in seq(0, n):
                    t: f32
                    t = x[i, j]
                    x[i, j] = t * t
        ",
    );
    ask_fast(&p, &Question::Interchange { side: SIDE, outer: at(&p, "for i") }).unwrap();
}

#[test]
fn loops_split_between_independent_halves() {
    let two = |first: &str, second: &str| {
        fission(
            &format!(
                "@proc\ndef p(n: size, x: f32[n + 2], y: f32[n + 2], s: f32):\n    for i in seq(0, n):\n        {first}\n        {second}\n"
            ),
            1,
        )
    };
    two("x[i] = 1.0", "y[i] = 2.0").unwrap();
    two("x[i] = 1.0", "y[i] = x[i]").unwrap();
    two("s += x[i]", "s += y[i]").unwrap();
    two("y[i + 1] = x[i]", "x[i] = 0.0").unwrap();
    two("x[i] = 1.0", "y[i] = x[i + 1]").unwrap_err();
    two("y[i] = x[i]", "x[i + 1] = 0.0").unwrap_err();
    two("s = x[i]", "y[i] = s").unwrap_err();
}

#[test]
fn a_first_half_without_iterator_may_run_once_for_all() {
    let two = |first: &str, second: &str| {
        fission(
            &format!(
                "@proc\ndef p(n: size, x: f32[n], y: f32[n], s: f32, c: f32):\n    for i in seq(0, n):\n        {first}\n        {second}\n"
            ),
            1,
        )
    };
    two("s = c", "y[i] = s").unwrap();
    two("s = c", "s = y[i]").unwrap_err();
    // Exo takes this one; every iteration resets s before it adds.
    two("s = c", "s += y[i]").unwrap_err();
    two("s += c", "y[i] = s").unwrap_err();
    two("s = c", "c = y[i]").unwrap_err();
}

#[test]
fn fission_keeps_declarations_with_their_uses() {
    fission("@proc\ndef p(n: size, x: f32[n]):\n    for i in seq(0, n):\n        t: f32\n        t = 0.0\n        x[i] = t\n", 1)
        .unwrap_err();
    // S17
    fission(
        "@proc\ndef p(n: size, v: f32[4], o: f32):\n    for k in seq(0, n):\n        h = v[1:2]\n        o += h[0]\n",
        1,
    )
    .unwrap_err();
    let p = proc(
        "@proc\ndef p(n: size, x: f32[n]):\n    for i in seq(0, n):\n        if i < 3:\n            t: f32\n            t = 1.0\n            x[i] = t\n",
    );
    let split = |split| Question::BranchSplit { side: SIDE, scope: at(&p, "if"), split, orelse: false };
    ask(&p, &split(1)).unwrap_err();
    ask(&p, &split(9)).unwrap_err();
    let p = proc("@proc\ndef p(n: size, x: f32[n]):\n    if n < 3:\n        x[0] = 1.0\n        x[0] = 2.0\n");
    ask(&p, &Question::BranchSplit { side: SIDE, scope: at(&p, "if"), split: 1, orelse: false }).unwrap();
}

#[test]
fn running_twice_changes_nothing_for_pure_stores() {
    let text = "
        @proc
        def p(x: f32[8], y: f32[8], s: f32, t: f32):
            for i in seq(0, 8):
                x[i] = y[i]
            for j in seq(0, 8):
                s += y[j]
            for k in seq(0, 7):
                x[k] = x[k + 1]
            for l in seq(0, 8):
                t = 0.0
                t += y[l]
                x[l] = t
    ";
    idempotent(text, "for i").unwrap();
    idempotent(text, "for j").unwrap_err();
    idempotent(text, "for k").unwrap_err();
    idempotent(text, "for l").unwrap();
}

#[test]
fn guarded_copies_are_idempotent() {
    // P1
    let text = "
        @proc
        def p(n: size, i: index, x: f32[8], y: f32[8]):
            if i == 0:
                for k in seq(0, 8):
                    x[k] = y[k]
            pass
    ";
    idempotent(text, "if").unwrap();
    let text = "
        @proc
        def p(n: size, x: f32[8], s: f32):
            for k in seq(0, 8):
                if k < 4:
                    s = x[k]
                x[k] = s
    ";
    idempotent(text, "for k").unwrap_err();
}

#[test]
fn initialised_accumulators_are_idempotent_through_loops() {
    let text = "
        @proc
        def p(n: size, x: f32[4, 8], y: f32[4, 8, n]):
            for i in seq(0, 4):
                for j in seq(0, 8):
                    x[i, j] = 0.0
                for k in seq(0, n):
                    for j in seq(0, 8):
                        x[i, j] += y[i, j, k]
    ";
    idempotent(text, "for i").unwrap();
    idempotent(&text.replace("x[i, j] = 0.0", "x[i, 0] = 0.0"), "for i").unwrap_err();
    let tiled = text.replace("for j in seq(0, 8):\n                    x[i, j] = 0.0", "for jo in seq(0, 2):\n                    for ji in seq(0, 4):\n                        x[i, 4 * jo + ji] = 0.0");
    idempotent(&tiled, "for i").unwrap();
    let partial = tiled.replace("seq(0, 4):\n                        x", "seq(0, 3):\n                        x");
    idempotent(&partial, "for i").unwrap_err();
}

#[test]
fn parallel_iterations_share_nothing_written() {
    let par = |body: &str| {
        let p = proc(&format!(
            "@proc\ndef p(n: size, x: f32[n + 1], y: f32[n + 1], s: f32):\n    for i in par(0, n):\n        {body}\n"
        ));
        ask_fast(&p, &Question::IndependentIterations { side: SIDE, scope: at(&p, "for i") })
    };
    par("x[i] = y[i] + y[i + 1]").unwrap();
    par("x[i] += s").unwrap();
    par("s += x[i]").unwrap_err();
    par("x[i] = x[i + 1]").unwrap_err();
    par("t: f32\n        t = x[i]\n        y[i] = t").unwrap();
    // S20
    par("t: f32[4] @ DRAM_STATIC\n        t[0] = x[i]\n        y[i] = t[0]").unwrap_err();
    par("w = x[i:i + 1]\n        w[0] = 1.0").unwrap();
    par("w = x[0:1]\n        w[0] = y[i]").unwrap_err();
}

#[test]
fn values_between_iterations() {
    let dead = |body: &str| {
        let p = proc(&format!("@proc\ndef p(v: f32[5]):\n    run: f32\n    for k in seq(0, 5):\n        {body}\n"));
        let question =
            Question::DeadBetweenIterations { side: SIDE, scope: at(&p, "for k"), buffer: symbol(&p, "run") };
        ask_fast(&p, &question)
    };
    dead("run = v[k]\n        v[k] = run * 2.0").unwrap();
    // S12
    dead("if k == 0:\n            run = 0.0\n        run += v[k]\n        v[k] = run").unwrap_err();
    dead("run += v[k]").unwrap_err();
}

#[test]
fn dead_after_looks_at_every_later_statement() {
    let text = "
        @proc
        def p(v: f32[5], o: f32[5]):
            t: f32[5]
            for k in seq(0, 5):
                t[k] = v[k]
            for k2 in seq(0, 5):
                o[k2] = t[k2]
            for k3 in seq(0, 5):
                t[k3] = 0.0
                o[k3] += t[k3]
    ";
    let p = proc(text);
    let dead =
        |place: &str| ask_fast(&p, &Question::DeadAfter { side: SIDE, at: at(&p, place), buffer: symbol(&p, "t") });
    dead("for k ").unwrap_err();
    dead("for k2").unwrap();
    dead("for k3").unwrap();
    // Inside the loop the next iteration reads.
    dead("o[k2]").unwrap_err();
    dead("o[k3]").unwrap();
    dead("t[k3]").unwrap_err();
    ask(&p, &Question::DeadAfter { side: SIDE, at: at(&p, "for k3"), buffer: symbol(&p, "o") }).unwrap_err();
}

#[test]
fn windows_and_calls_keep_a_buffer_alive() {
    let p = proc(
        "
        @proc
        def get(a: [f32][2], o: f32):
            o = a[1]
        @proc
        def p(o: f32):
            t: f32[5]
            w = t[1:4]
            t[2] = 1.0
            get(w[0:2], o)
            o = 0.0
        ",
    );
    let dead =
        |place: &str| ask_fast(&p, &Question::DeadAfter { side: SIDE, at: at(&p, place), buffer: symbol(&p, "t") });
    dead("t[2]").unwrap_err();
    dead("get").unwrap();
}

#[test]
fn expressions_keep_their_values() {
    let text = "
        @proc
        def clear(a: [f32][2]):
            a[0] = 0.0
        @proc
        def p(x: f32[8], y: f32[8]):
            w = x[0:4]
            y[0] = x[5]
            y[1] = x[5]
            x[6] = 1.0
            y[2] = x[5]
            w[0] = 2.0
            y[3] = x[5]
            clear(x[5:7])
            y[4] = x[5]
            for i in seq(0, 4):
                y[5] = x[3]
                x[i] = 3.0
    ";
    let p = proc(text);
    let StmtKind::Assign { rhs, .. } = &path::stmt(&p, &at(&p, "y[0]")).unwrap().kind else { panic!() };
    let same = |to: &str| {
        let question =
            Question::Unchanged { side: SIDE, from: at(&p, "y[0]"), to: at(&p, to), exprs: vec![rhs.clone()] };
        ask_fast(&p, &question)
    };
    same("y[0]").unwrap();
    same("y[1]").unwrap();
    same("y[3]").unwrap();
    same("y[4]").unwrap_err();
    same("clear").unwrap();
    let StmtKind::Assign { rhs, .. } = &path::stmt(&p, &at(&p, "y[5]")).unwrap().kind else { panic!() };
    let later = |from: &str, to: &str| {
        let question = Question::Unchanged { side: SIDE, from: at(&p, from), to: at(&p, to), exprs: vec![rhs.clone()] };
        ask_fast(&p, &question)
    };
    // The loop's own back edge.
    later("for i", "y[5]").unwrap_err();
    later("y[5]", "x[i]").unwrap();
    later("w[0]", "for i").unwrap();
}

#[test]
fn bounds_of_one_buffer() {
    let p = proc(
        "
        @proc
        def p(n: size, x: f32[n]):
            t: f32[n]
            u: f32[4]
            for i in seq(0, n):
                t[i] = x[i]
            w = u[1:4]
            w[3] = 1.0
        ",
    );
    ask_fast(&p, &Question::BufferInBounds { side: SIDE, buffer: symbol(&p, "t") }).unwrap();
    // Inside u, but past the end of w: no.
    let refused = ask(&p, &Question::BufferInBounds { side: SIDE, buffer: symbol(&p, "u") }).unwrap_err();
    assert!(refused.condition.contains("3 < 4 - 1"), "{refused:?}");
}

#[test]
fn conditions_at_places() {
    let p = proc(
        "@proc\ndef p(n: size, x: f32[n]):\n    assert n % 8 == 0\n    for i in seq(0, n / 8):\n        if i > 2:\n            x[8 * i] = 1.0\n        else:\n            x[i] = 2.0\n",
    );
    let (n, i) = (symbol(&p, "n"), symbol(&p, "i"));
    let holds =
        |place: &str, cond| ask_fast(&p, &Question::Holds { side: SIDE, at: at(&p, place), cond, what: String::new() });
    holds("x[8", build::less(build::add(build::mul(build::int(8), build::index(&i)), build::int(7)), build::index(&n)))
        .unwrap();
    holds("x[i]", build::less(build::index(&i), build::int(3))).unwrap();
    let refused = holds("x[8", build::less(build::index(&i), build::int(9))).unwrap_err();
    assert_eq!(refused.condition, "i < 9");
    assert!(refused.counterexample.is_some());
    let equal = |lhs, rhs| {
        let question = Question::Equal { side: SIDE, at: at(&p, "for"), lhs, rhs, what: "extents agree".into() };
        ask_fast(&p, &question)
    };
    let eighth = build::div(build::index(&n), 8);
    equal(build::mul(build::int(8), eighth.clone()), build::index(&n)).unwrap();
    let refused = equal(eighth, build::index(&n)).unwrap_err();
    assert_eq!(refused.condition, "extents agree: n / 8 == n");
}

#[test]
fn a_store_that_repeats_its_value_may_run_again_after_it_was_read() {
    let split = |store: &str, read: &str| {
        fission(
            &format!(
                "@proc
def p(n: size, x: f32[8 * n + 2], t: f32[8 * n + 2], y: f32[8 * n]):
    for i in seq(0, n):
        for j in seq(0, 10):
            {store}
        for j in seq(0, 8):
            {read}
"
            ),
            1,
        )
    };
    let (store, read) = ("t[8 * i + j] = 2.0 * x[8 * i + j]", "y[8 * i + j] = t[8 * i + j + 2]");
    split(store, read).unwrap();
    split("t[8 * i + j] = 1.0", read).unwrap();
    // Another value in another iteration; a sum; values that are changed; a read of what a later iteration stores first.
    split("t[8 * i + j] = x[i]", read).unwrap_err();
    split("t[8 * i + j] += x[8 * i + j]", read).unwrap_err();
    split("t[8 * i + j] = t[8 * i + j] * 2.0", read).unwrap_err();
    split(store, "x[8 * i + j] = t[8 * i + j + 2]").unwrap_err();
    split(store, "t[8 * i + j] = t[8 * i + j + 2]").unwrap_err();
    split("t[i + 2 + j - j] = 1.0", "y[8 * i + j] = t[n - i]").unwrap_err();
}
