//! Constant bounds of index expressions by interval arithmetic, without a solver.

use std::collections::BTreeMap;

use crate::analysis::facts::Facts;
use crate::analysis::formula::Formula;
use crate::analysis::linear::{Linear, Var};
use crate::loop_ir::{BinaryOp, Expr, ExprKind};

/// Inclusive bounds; `None` is unbounded.
pub type Range = (Option<i64>, Option<i64>);

/// Rounds of propagation through facts that relate variables: enough for the nesting of real loops.
const ROUNDS: usize = 4;

/// Constant bounds of an expression under the facts. Never too narrow; may be wider than the truth.
pub fn constant_range(facts: &Facts, expr: &Expr) -> Range {
    let bounds = Bounds::of(&facts.known);
    bounds.expr(facts, expr)
}

/// Constant bounds of variables.
pub struct Bounds {
    known: BTreeMap<Var, Range>,
}

impl Bounds {
    pub fn of(facts: &[Formula]) -> Self {
        let mut bounds = Bounds { known: BTreeMap::new() };
        for _ in 0..ROUNDS {
            let before = bounds.known.clone();
            for fact in facts {
                match fact {
                    Formula::Le(linear) => bounds.learn(linear),
                    Formula::Eq(linear) => {
                        bounds.learn(linear);
                        if let Some(opposite) = linear.scale(-1) {
                            bounds.learn(&opposite);
                        }
                    }
                    Formula::True | Formula::False | Formula::And(_) | Formula::Or(_) | Formula::Forall(..) => {}
                }
            }
            if bounds.known == before {
                break;
            }
        }
        bounds
    }

    /// Each variable of `linear <= 0` is bounded by the least value of the rest.
    fn learn(&mut self, linear: &Linear) {
        for (var, coefficient) in linear.terms() {
            let own = Linear::var(var.clone());
            let Some(rest) = linear.add_scaled(&own, -coefficient) else { continue };
            let (Some(least), _) = self.linear(&rest) else { continue };
            // coefficient * var <= -least
            let Some(most) = least.checked_neg() else { continue };
            let (lo, hi) = self.var(var);
            let range = if *coefficient > 0 {
                (lo, tighter(hi, Some(most.div_euclid(*coefficient)), i64::min))
            } else {
                let Some(size) = coefficient.checked_neg() else { continue };
                (tighter(lo, most.div_euclid(size).checked_neg(), i64::max), hi)
            };
            self.known.insert(var.clone(), range);
        }
    }

    pub fn var(&self, var: &Var) -> Range {
        let (lo, hi) = self.known.get(var).copied().unwrap_or((None, None));
        match var {
            Var::Sym(_) | Var::Stride(..) => (lo, hi),
            Var::Quotient(quotient) => {
                let (low, high) = self.linear(&quotient.num);
                (
                    tighter(lo, low.map(|v| v.div_euclid(quotient.den)), i64::max),
                    tighter(hi, high.map(|v| v.div_euclid(quotient.den)), i64::min),
                )
            }
        }
    }

    fn linear(&self, linear: &Linear) -> Range {
        let start = (Some(linear.offset()), Some(linear.offset()));
        linear.terms().iter().fold(start, |sum, (var, coefficient)| add(sum, scale(self.var(var), *coefficient)))
    }

    /// The tighter of two views: the shape of the expression, and its linear form in which equal terms cancel.
    fn expr(&self, facts: &Facts, expr: &Expr) -> Range {
        let whole = facts.index(expr).map_or((None, None), |linear| self.linear(&linear));
        let parts = match &expr.kind {
            ExprKind::Neg(operand) => scale(self.expr(facts, operand), -1),
            ExprKind::Binary { op, lhs, rhs } => {
                let (a, b) = (self.expr(facts, lhs), self.expr(facts, rhs));
                operation(*op, a, b)
            }
            ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Read { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Window { .. }
            | ExprKind::Stride { .. } => (None, None),
        };
        (tighter(whole.0, parts.0, i64::max), tighter(whole.1, parts.1, i64::min))
    }
}

fn operation(op: BinaryOp, a: Range, b: Range) -> Range {
    let literal = match b {
        (Some(lo), Some(hi)) if lo == hi => Some(lo),
        _ => None,
    };
    match (op, literal) {
        (BinaryOp::Add, _) => add(a, b),
        (BinaryOp::Sub, _) => add(a, scale(b, -1)),
        (BinaryOp::Mul, Some(factor)) => scale(a, factor),
        (BinaryOp::Div, Some(den)) if den > 0 => (a.0.map(|v| v.div_euclid(den)), a.1.map(|v| v.div_euclid(den))),
        (BinaryOp::Mod, Some(den)) if den > 0 => match a {
            (Some(lo), Some(hi)) if lo.div_euclid(den) == hi.div_euclid(den) => {
                (Some(lo.rem_euclid(den)), Some(hi.rem_euclid(den)))
            }
            _ => (Some(0), Some(den - 1)),
        },
        _ => (None, None),
    }
}

fn add(a: Range, b: Range) -> Range {
    let sum = |x: Option<i64>, y: Option<i64>| x?.checked_add(y?);
    (sum(a.0, b.0), sum(a.1, b.1))
}

fn scale(range: Range, factor: i64) -> Range {
    let times = |x: Option<i64>| x?.checked_mul(factor);
    match factor {
        0 => (Some(0), Some(0)),
        1.. => (times(range.0), times(range.1)),
        _ => (times(range.1), times(range.0)),
    }
}

fn tighter(a: Option<i64>, b: Option<i64>, pick: fn(i64, i64) -> i64) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(pick(a, b)),
        (a, b) => a.or(b),
    }
}
