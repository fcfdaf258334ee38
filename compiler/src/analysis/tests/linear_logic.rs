//! The decision procedure: quotients, remainders, case splits, counterexamples, and agreement with Z3.

use super::*;
use crate::analysis::cases;
use crate::analysis::conjunction::Verdict;
use crate::analysis::formula::Formula;
use crate::analysis::linear::{Linear, Var};
use crate::analysis::numbering::Numbered;
use crate::analysis::z3_backend::Backend;
use proptest::prelude::*;

fn index(name: &Sym) -> crate::loop_ir::Expr {
    build::index(name)
}

#[test]
fn divided_loop_index_is_in_range() {
    let (n, o, i) = (Sym::new("n"), Sym::new("o"), Sym::new("i"));
    let mut facts = Facts::default();
    facts.assume_range(&o, &build::int(0), &build::div(build::control(&n, Control::Size), 8));
    facts.assume_range(&i, &build::int(0), &build::int(8));
    let mut solver = Solver::new(1_000_000);
    let point = build::add(build::mul(build::int(8), index(&o)), index(&i));
    let below = build::less(point.clone(), index(&n));
    assert_eq!(prove(&mut solver, &facts, &below), Answer::Proved);
    let tight = build::less(point, build::sub(index(&n), build::int(1)));
    let Answer::Refuted(found) = prove(&mut solver, &facts, &tight) else { panic!("must be refuted") };
    assert!(found.values.iter().any(|(name, _)| name == "n"), "{found}");
    assert_eq!(solver.stats().z3, 0);
}

#[test]
fn quotient_and_remainder_make_the_whole() {
    let (x, facts) = (Sym::new("x"), Facts::default());
    let mut solver = Solver::new(1_000_000);
    let whole = build::add(build::mul(build::int(6), build::div(index(&x), 6)), build::modulo(index(&x), 6));
    let goal = build::binary(BinaryOp::Eq, whole, index(&x));
    assert_eq!(prove(&mut solver, &facts, &goal), Answer::Proved);
    let nested = build::div(build::div(build::add(index(&x), build::int(5)), 3), 4);
    let flat = build::div(build::add(index(&x), build::int(5)), 12);
    assert_eq!(prove(&mut solver, &facts, &build::binary(BinaryOp::Eq, nested, flat)), Answer::Proved);
    let remainder = build::less(build::modulo(index(&x), 6), build::int(6));
    assert_eq!(prove(&mut solver, &facts, &remainder), Answer::Proved);
    assert_eq!(solver.stats().z3, 0);
}

#[test]
fn integers_have_gaps() {
    let (x, y) = (Sym::new("x"), Sym::new("y"));
    let mut solver = Solver::new(1_000_000);
    // 3x + 6y == 7 has no integer solution; 3x + 5y == 7 has.
    let equation = |a: i64| {
        let sum = build::add(build::mul(build::int(3), index(&x)), build::mul(build::int(a), index(&y)));
        build::binary(BinaryOp::Eq, sum, build::int(7))
    };
    let mut facts = Facts::default();
    facts.assume(&equation(6));
    assert_eq!(prove(&mut solver, &facts, &build::boolean(false)), Answer::Proved);
    let mut facts = Facts::default();
    facts.assume(&equation(5));
    assert_ne!(prove(&mut solver, &facts, &build::boolean(false)), Answer::Proved);
}

#[test]
fn constant_ranges_follow_loops() {
    let (o, i, n) = (Sym::new("o"), Sym::new("i"), Sym::new("n"));
    let mut facts = Facts::default();
    facts.assume_range(&o, &build::int(2), &build::int(5));
    facts.assume_range(&i, &index(&o), &build::add(index(&o), build::int(3)));
    assert_eq!(constant_range(&facts, &index(&i)), (Some(2), Some(6)));
    let difference = build::sub(build::add(index(&n), index(&o)), index(&n));
    assert_eq!(constant_range(&facts, &difference), (Some(2), Some(4)));
    assert_eq!(constant_range(&facts, &build::modulo(index(&n), 4)), (Some(0), Some(3)));
    assert_eq!(constant_range(&facts, &index(&n)), (None, None));
    assert_eq!(constant_range(&facts, &build::sub(index(&o), build::int(5))), (Some(-3), Some(-1)));
}

#[test]
fn version_names_the_solver() {
    assert!(solver::version().starts_with("z3 4."), "{}", solver::version());
}

/// Small random formulas over three bounded variables with quotients.
fn formula() -> impl Strategy<Value = Vec<(u8, [i64; 4], i64)>> {
    prop::collection::vec((0u8..6, prop::array::uniform4(-4i64..5), 2i64..5), 1..6)
}

fn build_formula(parts: &[(u8, [i64; 4], i64)], vars: &[Sym]) -> Option<Formula> {
    let mut conjuncts = Vec::new();
    let mut disjuncts = Vec::new();
    for (kind, [a, b, c, d], den) in parts {
        let mut sum = Linear::constant(*d);
        for (factor, var) in [a, b, c].into_iter().zip(vars) {
            sum = sum.add_scaled(&Linear::symbol(var), *factor)?;
        }
        if kind % 2 == 1 {
            sum = sum.quotient(*den)?.add_scaled(&Linear::symbol(&vars[0]), *b)?;
        }
        match kind / 2 {
            0 => conjuncts.push(Formula::le(sum)),
            1 => conjuncts.push(Formula::eq(sum)),
            _ => disjuncts.push(Formula::eq(sum)),
        }
    }
    if !disjuncts.is_empty() {
        conjuncts.push(Formula::or(disjuncts).negated()?);
    }
    for var in vars {
        conjuncts.push(Formula::at_most(&Linear::constant(-6), &Linear::symbol(var))?);
        conjuncts.push(Formula::at_most(&Linear::symbol(var), &Linear::constant(6))?);
    }
    Some(Formula::And(conjuncts))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The fast procedure never contradicts Z3.
    #[test]
    fn agrees_with_z3(parts in formula()) {
        let vars = [Sym::new("x"), Sym::new("y"), Sym::new("z")];
        let formula = build_formula(&parts, &vars).unwrap();
        let (question, _) = Numbered::of(&formula, &[]).unwrap();
        let count = question.vars.len() as u32;
        let fast = cases::decide(&question.trees, count);
        let slow = Backend::new(5_000_000).decide(&question.trees, count);
        match (&fast, &slow) {
            (Verdict::Unsat, other) => prop_assert_eq!(other, &Verdict::Unsat),
            (Verdict::Sat(_), other) => prop_assert!(matches!(other, Verdict::Sat(_))),
            (Verdict::Unknown, _) => {}
        }
        prop_assert!(question.vars.iter().any(|var| matches!(var, Var::Sym(_))));
    }
}

#[test]
fn a_counterexample_lists_each_name_once() {
    let value = |name: &str, value: i64| (name.to_string(), value);
    let values = vec![value("C.a", 3), value("C.a", 3), value("C.b", 1), value("C.b", 2), value("n", 4)];
    assert_eq!(Counterexample { values }.to_string(), "C.a = 3, C.b = 1 first and 2 later, n = 4");
}
