//! The rewrite rules: index normal form, division and modulus, folding, comparisons decided by ranges.
//!
//! Every rule is an identity of integers (or of reals, on data) for all values that the ranges allow.

use std::sync::Arc;

use crate::loop_ir::substitute::map_children;
use crate::loop_ir::{BinaryOp, Const, Expr, ExprKind, Ty, build};
use crate::schedule::operators::simplify::linear::{Linear, literal};
use crate::schedule::operators::simplify::ranges::Ranges;

/// What is known where an expression stands.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub ranges: Ranges,
    /// Index expressions that a surrounding branch fixes to a literal.
    pub fixed: Vec<(Expr, i64)>,
}

impl Scope {
    /// Adds what `condition` says about an expression inside its branch.
    pub(crate) fn assume(&mut self, condition: &Expr) {
        let ExprKind::Binary { op, lhs, rhs } = &condition.kind else { return };
        match op {
            BinaryOp::And => {
                self.assume(lhs);
                self.assume(rhs);
            }
            BinaryOp::Eq => match (literal(lhs), literal(rhs)) {
                (None, Some(value)) => self.fix(lhs, value),
                (Some(value), None) => self.fix(rhs, value),
                (Some(_), Some(_)) | (None, None) => {}
            },
            _ => {}
        }
    }

    fn fix(&mut self, expr: &Expr, value: i64) {
        self.fixed.push((expr.clone(), value));
        if let ExprKind::Binary { op: BinaryOp::Div, lhs, rhs } = &expr.kind
            && let (Some(numerator), Some(divisor)) = (Linear::of(lhs), literal(rhs))
        {
            self.ranges.narrow(&numerator, divisor, value);
        }
    }
}

/// Rounds after which an expression is taken as it is. Two or three are enough for what people and operators write.
const MOST_ROUNDS: usize = 16;

/// The simplified expression; the same node where nothing changes. One rule can make another apply further up or once
/// more, so the rules run until none does, which makes a second `simplify` find nothing.
pub(crate) fn simplify(expr: &Expr, scope: &Scope) -> Expr {
    let mut simple = expr.clone();
    for _ in 0..MOST_ROUNDS {
        let next = round(&simple, scope);
        if unchanged(&next, &simple) {
            break;
        }
        simple = next;
    }
    if simple == *expr { expr.clone() } else { simple }
}

/// Every rule once, innermost expressions first.
fn round(expr: &Expr, scope: &Scope) -> Expr {
    let children = map_children(expr, &mut |child| round(child, scope));
    let result = match children.ty {
        Ty::Data => data(&children),
        ty if ty.is_indexable() => index(&children, scope),
        _ => boolean(&children, scope),
    };
    if result == *expr { expr.clone() } else { result }
}

fn index(expr: &Expr, scope: &Scope) -> Expr {
    if let Some((_, value)) = scope.fixed.iter().find(|(known, _)| known == expr) {
        return build::int(*value);
    }
    if let Some(form) = Linear::of(expr) {
        let normal = form.expr();
        return match scope.fixed.iter().find(|(known, _)| *known == normal) {
            Some((_, value)) => build::int(*value),
            None => normal,
        };
    }
    let ExprKind::Binary { op, lhs, rhs } = &expr.kind else { return expr.clone() };
    match (op, literal(rhs)) {
        (BinaryOp::Div, Some(d)) if d > 0 => quotient(lhs, d, scope),
        (BinaryOp::Mod, Some(d)) if d > 0 => remainder(lhs, d, scope),
        _ => fold_index(*op, lhs, rhs).unwrap_or_else(|| expr.clone()),
    }
}

/// `e / d` for `d > 0`.
fn quotient(numerator: &Expr, d: i64, scope: &Scope) -> Expr {
    if d == 1 {
        return numerator.clone();
    }
    if let ExprKind::Binary { op: BinaryOp::Div, lhs, rhs } = &numerator.kind
        && let Some(combined) = literal(rhs).and_then(|inner| inner.checked_mul(d))
    {
        return build::div(lhs.clone(), combined);
    }
    let Some(form) = Linear::of(numerator) else { return build::div(numerator.clone(), d) };
    if let Some(exact) = exact_quotient(&form, d, scope) {
        return exact.expr();
    }
    // `e / (a·b)` is `(e / a) / b`; useful when dividing by `a` leaves no division.
    let root = (2..).take_while(|a: &i64| a.checked_mul(*a).is_some_and(|square| square <= d));
    for a in root.filter(|a| d % a == 0) {
        for (first, second) in [(a, d / a), (d / a, a)] {
            if let Some(inner) = exact_quotient(&form, first, scope) {
                return build::div(inner.expr(), second);
            }
        }
    }
    build::div(form.expr(), d)
}

/// The quotient as a linear form, where the terms that `d` does not divide (with the constant's remainder) are
/// provably in `0..d`.
fn exact_quotient(form: &Linear, d: i64, scope: &Scope) -> Option<Linear> {
    let (mut quotient, mut rest) = form.split(d);
    rest.constant = form.constant.rem_euclid(d);
    quotient.constant = form.constant.div_euclid(d);
    scope.ranges.of_linear(&rest).within(0, d).then_some(quotient)
}

/// `e % m` for `m > 0`.
fn remainder(operand: &Expr, m: i64, scope: &Scope) -> Expr {
    if m == 1 {
        return build::int(0);
    }
    let Some(form) = Linear::of(operand) else { return build::modulo(operand.clone(), m) };
    let (_, mut rest) = form.split(m);
    rest.constant =
        if form.constant % m == 0 || rest.terms.is_empty() { form.constant.rem_euclid(m) } else { form.constant };
    if rest.terms.is_empty() {
        return build::int(rest.constant);
    }
    if scope.ranges.of_linear(&rest).within(0, m) {
        return rest.expr();
    }
    build::modulo(rest.expr(), m)
}

/// Folding of sums and products that contain a division, a modulus or a stride.
fn fold_index(op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Option<Expr> {
    match op {
        BinaryOp::Add => match (literal(lhs), literal(rhs)) {
            (Some(0), _) => Some(rhs.clone()),
            (_, Some(0)) => Some(lhs.clone()),
            _ => recombined(lhs, rhs).or_else(|| recombined(rhs, lhs)),
        },
        BinaryOp::Sub => match (literal(lhs), literal(rhs)) {
            (_, Some(0)) => Some(lhs.clone()),
            (Some(0), _) => Some(build::neg(rhs.clone())),
            _ if lhs == rhs => Some(build::int(0)),
            _ => match &lhs.kind {
                ExprKind::Binary { op: BinaryOp::Add, lhs: a, rhs: b } if a == rhs => Some(b.clone()),
                ExprKind::Binary { op: BinaryOp::Add, lhs: a, rhs: b } if b == rhs => Some(a.clone()),
                _ => None,
            },
        },
        BinaryOp::Mul => match (literal(lhs), literal(rhs)) {
            (Some(0), _) | (_, Some(0)) => Some(build::int(0)),
            (Some(1), _) => Some(rhs.clone()),
            (_, Some(1)) => Some(lhs.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// `x % k + k * (x / k)` is `x`.
fn recombined(modulus: &Expr, product: &Expr) -> Option<Expr> {
    let ExprKind::Binary { op: BinaryOp::Mod, lhs: x, rhs: k } = &modulus.kind else { return None };
    let ExprKind::Binary { op: BinaryOp::Mul, lhs: a, rhs: b } = &product.kind else { return None };
    let (factor, quotient) = if literal(a).is_some() { (a, b) } else { (b, a) };
    let ExprKind::Binary { op: BinaryOp::Div, lhs: y, rhs: d } = &quotient.kind else { return None };
    (literal(factor).is_some() && literal(factor) == literal(k) && literal(d) == literal(k) && x == y)
        .then(|| x.clone())
}

fn boolean(expr: &Expr, scope: &Scope) -> Expr {
    let ExprKind::Binary { op, lhs, rhs } = &expr.kind else { return expr.clone() };
    match op {
        BinaryOp::And => match (truth(lhs), truth(rhs)) {
            (Some(true), _) => rhs.clone(),
            (_, Some(true)) => lhs.clone(),
            (Some(false), _) | (_, Some(false)) => build::boolean(false),
            (None, None) => expr.clone(),
        },
        BinaryOp::Or => match (truth(lhs), truth(rhs)) {
            (Some(false), _) => rhs.clone(),
            (_, Some(false)) => lhs.clone(),
            (Some(true), _) | (_, Some(true)) => build::boolean(true),
            (None, None) => expr.clone(),
        },
        _ if lhs.ty.is_indexable() && rhs.ty.is_indexable() => match decided(*op, lhs, rhs, scope) {
            Some(value) => build::boolean(value),
            None => expr.clone(),
        },
        _ => expr.clone(),
    }
}

fn truth(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Const(Const::Bool(value)) => Some(*value),
        _ => None,
    }
}

/// A comparison that the ranges decide, by the range of the difference of its sides.
fn decided(op: BinaryOp, lhs: &Expr, rhs: &Expr, scope: &Scope) -> Option<bool> {
    let difference = build::sub(lhs.clone(), rhs.clone());
    let range = scope.ranges.of_expr(&difference);
    let below = |bound: i64| range.hi.is_some_and(|hi| hi < bound);
    let above = |bound: i64| range.lo.is_some_and(|lo| lo > bound);
    match op {
        BinaryOp::Lt if below(0) => Some(true),
        BinaryOp::Lt if above(-1) => Some(false),
        BinaryOp::Le if below(1) => Some(true),
        BinaryOp::Le if above(0) => Some(false),
        BinaryOp::Gt if above(0) => Some(true),
        BinaryOp::Gt if below(1) => Some(false),
        BinaryOp::Ge if above(-1) => Some(true),
        BinaryOp::Ge if below(0) => Some(false),
        BinaryOp::Eq if below(1) && above(-1) => Some(true),
        BinaryOp::Eq if below(0) || above(0) => Some(false),
        _ => None,
    }
}

/// Data: only identities that are exact over the reals and drop no read of a buffer.
fn data(expr: &Expr) -> Expr {
    let ExprKind::Binary { op, lhs, rhs } = &expr.kind else { return expr.clone() };
    let folded = match (op, number(lhs), number(rhs)) {
        (BinaryOp::Add, Some(a), Some(b)) => whole(a.checked_add(b), (a, b), expr),
        (BinaryOp::Sub, Some(a), Some(b)) => whole(a.checked_sub(b), (a, b), expr),
        (BinaryOp::Mul, Some(a), Some(b)) => whole(a.checked_mul(b), (a, b), expr),
        (BinaryOp::Add, _, _) if is_real(lhs, 0.0) => Some(rhs.clone()),
        (BinaryOp::Add | BinaryOp::Sub, _, _) if is_real(rhs, 0.0) => Some(lhs.clone()),
        (BinaryOp::Mul, _, _) if is_real(lhs, 1.0) => Some(rhs.clone()),
        (BinaryOp::Mul | BinaryOp::Div, _, _) if is_real(rhs, 1.0) => Some(lhs.clone()),
        _ => None,
    };
    folded.unwrap_or_else(|| expr.clone())
}

fn number(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Const(Const::Int(value)) => Some(*value),
        _ => None,
    }
}

fn is_real(expr: &Expr, wanted: f64) -> bool {
    match &expr.kind {
        ExprKind::Const(Const::Int(value)) => *value as f64 == wanted,
        ExprKind::Const(Const::Real(value)) => *value == wanted,
        _ => false,
    }
}

/// A folded literal, where every precision that holds the operands holds it too: `100 + 100` is a value of `i8` after it has
/// wrapped, `200` is none.
fn whole(value: Option<i64>, (a, b): (i64, i64), like: &Expr) -> Option<Expr> {
    let value = value?;
    let held = (0..=i64::from(i8::MAX)).contains(&value) || (a.min(b).min(0)..=a.max(b).max(0)).contains(&value);
    let kind = held.then_some(ExprKind::Const(Const::Int(value)))?;
    Some(build::expr(kind, Ty::Data, &like.span))
}

/// Whether two expressions are the same node.
pub(crate) fn unchanged(a: &Expr, b: &Expr) -> bool {
    Arc::ptr_eq(a, b)
}
