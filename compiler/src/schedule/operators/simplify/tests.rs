//! Tests of `simplify`: its normal form, and that nothing changes meaning.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use proptest::prelude::*;

use crate::analysis::Solver;
use crate::interpret::{self, Options};
use crate::print;
use crate::schedule::apply::RawArguments;
use crate::schedule::{Procedure, apply, registry};
use crate::testing;

fn simplified(text: &str) -> Procedure {
    let procedure = Procedure::new(Arc::new(testing::proc(text)));
    let operator = registry::find("simplify").expect("simplify is registered");
    let mut solver = Solver::new(1_000_000);
    let once = apply(operator, &procedure, RawArguments::default(), &mut solver).expect("simplify is never refused");
    let twice = apply(operator, &once, RawArguments::default(), &mut solver).expect("simplify is never refused");
    assert_eq!(print::proc(once.ir()), print::proc(twice.ir()), "simplifying again changes nothing");
    let equal = interpret::compare(procedure.ir(), once.ir(), &Options::default());
    assert!(equal.is_equal(), "{equal:?}\n{}", print::proc(once.ir()));
    once
}

/// The statement lines of the simplified body of a proc over `n: size, x: f32[64 * n + 64]`.
fn body(lines: &str) -> String {
    let indented: Vec<String> = lines.lines().map(|line| format!("    {line}")).collect();
    let text = format!("@proc\ndef f(n: size, k: index, x: f32[64 * n + 64]):\n{}\n", indented.join("\n"));
    let printed = print::proc(simplified(&text).ir());
    let kept: Vec<&str> = printed.lines().skip(1).map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
    kept.join("\n")
}

#[track_caller]
fn becomes(before: &str, after: &str) {
    assert_eq!(body(before), after);
}

#[test]
fn linear_forms_are_ordered_by_coefficient_and_name() {
    becomes(
        "for i in seq(0, n):\n    for j in seq(0, 4):\n        x[8 * i + 2 * j + 3] = 0.0",
        "for i in seq(0, n):\n    for j in seq(0, 4):\n        x[3 + 2 * j + 8 * i] = 0.0",
    );
    becomes("for i in seq(0, n):\n    x[n - 1 - i + i * 0] = 0.0", "for i in seq(0, n):\n    x[-1 - i + n] = 0.0");
}

#[test]
fn divisions_are_resolved_where_ranges_decide() {
    becomes(
        "for i in seq(0, n):\n    for j in seq(0, 8):\n        x[(8 * i + j) / 8] = 0.0",
        "for i in seq(0, n):\n    for j in seq(0, 8):\n        x[i] = 0.0",
    );
    becomes(
        "for i in seq(0, n):\n    for j in seq(0, 8):\n        x[(8 * i + j) % 8] = 0.0",
        "for i in seq(0, n):\n    for j in seq(0, 8):\n        x[j] = 0.0",
    );
    becomes("for i in seq(0, n):\n    x[i / 2 / 3] = 0.0", "for i in seq(0, n):\n    x[i / 6] = 0.0");
    becomes("for i in seq(0, n):\n    x[i % 4 + 4 * (i / 4)] = 0.0", "for i in seq(0, n):\n    x[i] = 0.0");
}

#[test]
fn a_modulus_of_a_possibly_negative_value_stays() {
    becomes("for i in seq(0, n):\n    x[(i - 5) % 4] = 0.0", "for i in seq(0, n):\n    x[(-5 + i) % 4] = 0.0");
    becomes("for i in seq(0, n):\n    x[(i - 4) % 4] = 0.0", "for i in seq(0, n):\n    x[i % 4] = 0.0");
    becomes("for i in seq(0, 4):\n    x[(i + 4) / 8] = 0.0", "for i in seq(0, 4):\n    x[0] = 0.0");
}

#[test]
fn decided_branches_and_empty_loops_disappear() {
    becomes("for i in seq(4, 8):\n    if i < 4:\n        x[i] = 1.0\n    else:\n        x[i] = 2.0", {
        "for i in seq(4, 8):\n    x[i] = 2.0"
    });
    becomes("x[0] = 1.0\nfor i in seq(0, 0):\n    x[i] = 2.0", "x[0] = 1.0");
    becomes("for i in seq(0, 0):\n    x[i] = 2.0", "pass");
    becomes("for i in seq(0, 3):\n    if i < 0:\n        x[i] = 1.0", "for i in seq(0, 3):\n    pass");
}

#[test]
fn a_branch_knows_its_condition() {
    becomes(
        "for i in seq(0, n):\n    if i / 4 == 0:\n        x[i % 4 + i / 4] = 1.0\n    else:\n        x[i % 4] = 2.0",
        "for i in seq(0, n):\n    if i / 4 == 0:\n        x[i] = 1.0\n    else:\n        x[i % 4] = 2.0",
    );
    becomes(
        "for i in seq(0, n):\n    if (i + 2) / 8 == 1:\n        x[(i - 6) % 8] = 1.0",
        "for i in seq(0, n):\n    if (2 + i) / 8 == 1:\n        x[-6 + i] = 1.0",
    );
    becomes(
        "if n % 4 == 0:\n    x[n % 4 + 1] = 1.0\nelse:\n    x[n % 4 + 1] = 2.0",
        "if n % 4 == 0:\n    x[1] = 1.0\nelse:\n    x[n % 4 + 1] = 2.0",
    );
}

#[test]
fn data_is_folded_exactly_or_not_at_all() {
    becomes("x[0] = x[1] * (3.0 / 2.0)\nx[1] = 1.0 / 8.0", "x[0] = x[1] * (3.0 / 2.0)\nx[1] = 1.0 / 8.0");
    becomes("x[0] = 1.0 * x[1] + 0.0", "x[0] = x[1]");
    becomes("x[0] = 0.0 * x[1]", "x[0] = 0.0 * x[1]");
    becomes("x[0] = x[1] * (2 + 3)", "x[0] = x[1] * 5");
}

/// Found by the fuzzer: the negation of a literal is the negative literal, whatever rewrite made the literal.
#[test]
fn negations_of_folded_literals_are_literals() {
    use crate::schedule::testing::{arguments, procedure, step};
    let p = procedure(
        "
        @proc
        def f(x: f32[4]):
            x[0] = -(-1.0 + 0.0)
        ",
    );
    let q = step("simplify", &p, arguments![]);
    assert_eq!(crate::print::proc(q.ir()), "def f(x: f32[4] @ DRAM):\n    x[0] = 1.0");
}

/// Found by the fuzzer: a variable under a negation becomes a literal and merges with it.
#[test]
fn cursors_into_merged_negations_are_gone() {
    use crate::schedule::argument::RawValue;
    use crate::schedule::procedure::ForwardError;
    use crate::schedule::testing::{arguments, cursor, procedure, step};
    let p = procedure(
        "
        @proc
        def f(k: index, x: f32[4]):
            assert k >= 0
            assert k < 4
            x[-k + 3] = 1.0
        ",
    );
    let inner = cursor(&p, "k");
    let q = crate::schedule::testing::apply(
        "partial_eval",
        &p,
        arguments![RawValue::List(vec![RawValue::from("k")]), RawValue::List(vec![RawValue::from(2i64)])],
    );
    let q = q.unwrap();
    assert_eq!(q.forward(&inner).err(), Some(ForwardError::Gone));
    step("simplify", &q, arguments![]);
}

/// Index arithmetic over `n`, `k`, `i` and `innermost`.
fn index(innermost: &'static str) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop_oneof![Just("n"), Just("k"), Just("i"), Just(innermost)].prop_map(str::to_string),
        (0i64..20).prop_map(|value| value.to_string()),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} + {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} - {b})")),
            (-9i64..9, inner.clone()).prop_map(|(c, a)| format!("({c} * {a})")),
            (inner.clone(), 1i64..12).prop_map(|(a, d)| format!("({a} / {d})")),
            (inner.clone(), 1i64..12).prop_map(|(a, d)| format!("({a} % {d})")),
            // What `divide_loop` and its inverses leave behind.
            (inner.clone(), 2i64..9).prop_map(|(a, d)| format!("({a} % {d} + {d} * ({a} / {d}))")),
        ]
    })
}

fn condition(innermost: &'static str) -> impl Strategy<Value = String> {
    let comparison =
        (index(innermost), prop_oneof![Just("<"), Just("<="), Just("=="), Just(">"), Just(">=")], index(innermost))
            .prop_map(|(a, op, b)| format!("{a} {op} {b}"));
    comparison.prop_recursive(2, 4, 2, |inner| {
        (inner.clone(), prop_oneof![Just("and"), Just("or")], inner).prop_map(|(a, op, b)| format!("({a}) {op} ({b})"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// `simplified` holds both: a second time changes nothing, and the interpreter sees no difference.
    #[test]
    fn any_program_is_simplified_once_and_for_all(
        outer in condition("i"), inner in condition("j"), one in index("i"), other in index("j"), lo in 0i64..4, hi in 0i64..9,
    ) {
        simplified(&format!(
            "
            @proc
            def f(n: size, k: index, x: f32[16]):
                assert k >= -6
                assert k < 6
                for i in seq(0, n):
                    if {outer}:
                        x[({one}) % 16] = 1.0
                    else:
                        x[({one}) % 8 + 3] = 0.5 + 1.0 / 2.0 * x[1]
                    for j in seq({lo}, {}):
                        if {inner}:
                            x[({other}) % 16] += 3.0
                        x[({other} + {one}) % 16] = x[({one}) % 5] - 0.0
            ",
            lo + hi,
        ));
    }
}

#[test]
fn asserts_loops_and_branches_decide_conditions() {
    let simple = |text: &str| {
        let printed = print::proc(simplified(text).ir());
        printed
            .lines()
            .skip_while(|line| line.starts_with("def") || line.contains("assert"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let halves = "@proc\ndef f(n: size, x: f32[n]):\n    for i in seq(0, n / 2):\n        if i < n / 2:\n            x[i] = 0.0\n";
    assert_eq!(simple(halves), "    for i in seq(0, n / 2):\n        x[i] = 0.0");
    let never = "@proc\ndef f(n: size, x: f32[n]):\n    for i in seq(n, n):\n        x[0] = 0.0\n    x[n - 1] = 1.0\n";
    assert_eq!(simple(never), "    x[-1 + n] = 1.0");
    let multiple = "@proc\ndef f(n: size, x: f32[n]):\n    assert n % 8 == 0\n    if n / 8 * 8 == n:\n        x[0] = 0.0\n    else:\n        x[0] = 1.0\n    for i in seq(0, n % 8):\n        x[i] = 2.0\n";
    assert_eq!(simple(multiple), "    x[0] = 0.0");
    let parts = "@proc\ndef f(n: size, m: size, x: f32[n]):\n    for i in seq(0, n):\n        if i < m and i < n:\n            if not_needed:\n                x[i] = 0.0\n"
        .replace("not_needed", "i >= m or i + 1 < m + 1");
    assert_eq!(simple(&parts), "    for i in seq(0, n):\n        if i < m:\n            x[i] = 0.0");
    let other = "@proc\ndef f(n: size, m: size, x: f32[n]):\n    for i in seq(0, n):\n        if i < m:\n            x[i] = 0.0\n        else:\n            if i < m:\n                x[i] = 1.0\n            else:\n                x[i] = 2.0\n";
    assert_eq!(
        simple(other),
        "    for i in seq(0, n):\n        if i < m:\n            x[i] = 0.0\n        else:\n            x[i] = 2.0"
    );
    let open = "@proc\ndef f(n: size, m: size, x: f32[n]):\n    assert m % 4 == 0\n    for i in seq(0, n):\n        if i < m / 4 * 4 and m % 8 == 0:\n            x[i] = 0.0\n    for i in seq(m / 8, m / 4):\n        x[0] = 1.0\n";
    assert!(
        simple(open).contains("if i < ") && simple(open).contains("for i in seq(m / 8, m / 4)"),
        "{}",
        simple(open)
    );
}
