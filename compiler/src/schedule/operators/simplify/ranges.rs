//! Constant ranges of index expressions, from sizes and loop bounds alone.

use std::collections::BTreeMap;

use crate::loop_ir::{ArgType, BinaryOp, Const, Control, Expr, ExprKind, Proc, build};
use crate::schedule::operators::simplify::linear::Linear;
use crate::symbol::Sym;

/// An inclusive range; an open end is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub lo: Option<i64>,
    pub hi: Option<i64>,
}

impl Range {
    pub(crate) const ANY: Range = Range { lo: None, hi: None };

    fn exactly(value: i64) -> Range {
        Range { lo: Some(value), hi: Some(value) }
    }

    fn plus(self, other: Range) -> Range {
        let add = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
        Range { lo: add(self.lo, other.lo), hi: add(self.hi, other.hi) }
    }

    fn scaled(self, factor: i64) -> Range {
        let mul = |end: Option<i64>| end?.checked_mul(factor);
        match factor {
            0 => Range::exactly(0),
            f if f > 0 => Range { lo: mul(self.lo), hi: mul(self.hi) },
            _ => Range { lo: mul(self.hi), hi: mul(self.lo) },
        }
    }

    fn divided(self, divisor: i64) -> Range {
        Range { lo: self.lo.map(|end| end.div_euclid(divisor)), hi: self.hi.map(|end| end.div_euclid(divisor)) }
    }

    fn modulo(self, divisor: i64) -> Range {
        match (self.lo, self.hi) {
            (Some(lo), Some(hi)) if lo.div_euclid(divisor) == hi.div_euclid(divisor) => {
                Range { lo: Some(lo.rem_euclid(divisor)), hi: Some(hi.rem_euclid(divisor)) }
            }
            _ => Range { lo: Some(0), hi: Some(divisor - 1) },
        }
    }

    /// Whether all values are in `lo..hi`.
    pub(crate) fn within(self, lo: i64, hi: i64) -> bool {
        self.lo.is_some_and(|end| end >= lo) && self.hi.is_some_and(|end| end < hi)
    }
}

/// What is known of the control variables in scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    known: BTreeMap<Sym, Range>,
}

impl Ranges {
    /// Sizes are at least 1; nothing is known of other parameters.
    pub(crate) fn of(proc: &Proc) -> Self {
        let sizes = proc.args.iter().filter(|arg| arg.ty == ArgType::Control(Control::Size));
        Ranges { known: sizes.map(|arg| (arg.name.clone(), Range { lo: Some(1), hi: None })).collect() }
    }

    /// Binds an iterator for the statements inside its loop, where at least one iteration runs.
    pub(crate) fn bind(&mut self, iter: &Sym, lo: &Expr, hi: &Expr) {
        let range = Range { lo: self.of_expr(lo).lo, hi: self.of_expr(hi).hi.and_then(|end| end.checked_sub(1)) };
        self.known.insert(iter.clone(), range);
    }

    /// Takes in that `numerator / divisor` is `quotient`, for a numerator that is one variable and a constant.
    pub(crate) fn narrow(&mut self, numerator: &Linear, divisor: i64, quotient: i64) {
        let mut terms = numerator.terms.iter();
        let (Some((name, (1, _))), None) = (terms.next(), terms.next()) else { return };
        let lo = divisor.checked_mul(quotient).and_then(|lo| lo.checked_sub(numerator.constant));
        let (Some(lo), true) = (lo, divisor > 0) else { return };
        let Some(hi) = lo.checked_add(divisor - 1) else { return };
        let known = self.known.get(name).copied().unwrap_or(Range::ANY);
        let narrowed = Range {
            lo: Some(known.lo.map_or(lo, |known| known.max(lo))),
            hi: Some(known.hi.map_or(hi, |known| known.min(hi))),
        };
        self.known.insert(name.clone(), narrowed);
    }

    /// Whether a loop surely has an iteration.
    pub(crate) fn runs(&self, lo: &Expr, hi: &Expr) -> bool {
        self.of_expr(&build::sub(hi.clone(), lo.clone())).lo.is_some_and(|end| end > 0)
    }

    pub(crate) fn of_linear(&self, form: &Linear) -> Range {
        form.terms.iter().fold(Range::exactly(form.constant), |sum, (name, (coefficient, _))| {
            sum.plus(self.known.get(name).copied().unwrap_or(Range::ANY).scaled(*coefficient))
        })
    }

    pub(crate) fn of_expr(&self, expr: &Expr) -> Range {
        if let Some(form) = Linear::of(expr) {
            return self.of_linear(&form);
        }
        match &expr.kind {
            ExprKind::Const(Const::Int(value)) => Range::exactly(*value),
            ExprKind::Neg(operand) => self.of_expr(operand).scaled(-1),
            ExprKind::Binary { op, lhs, rhs } => {
                let (left, right) = (self.of_expr(lhs), self.of_expr(rhs));
                let factor = |range: Range| range.lo.filter(|lo| range.hi == Some(*lo));
                match op {
                    BinaryOp::Add => left.plus(right),
                    BinaryOp::Sub => left.plus(right.scaled(-1)),
                    BinaryOp::Mul => match (factor(left), factor(right)) {
                        (Some(factor), _) => right.scaled(factor),
                        (None, Some(factor)) => left.scaled(factor),
                        (None, None) => Range::ANY,
                    },
                    BinaryOp::Div => factor(right).filter(|d| *d > 0).map_or(Range::ANY, |d| left.divided(d)),
                    BinaryOp::Mod => factor(right).filter(|d| *d > 0).map_or(Range::ANY, |d| left.modulo(d)),
                    BinaryOp::Lt
                    | BinaryOp::Gt
                    | BinaryOp::Le
                    | BinaryOp::Ge
                    | BinaryOp::Eq
                    | BinaryOp::And
                    | BinaryOp::Or => Range::ANY,
                }
            }
            ExprKind::Const(Const::Real(_) | Const::Bool(_))
            | ExprKind::Read { .. }
            | ExprKind::ReadConfig(_)
            | ExprKind::Extern { .. }
            | ExprKind::Window { .. }
            | ExprKind::Stride { .. } => Range::ANY,
        }
    }
}
