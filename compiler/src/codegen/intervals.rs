//! Light interval reasoning on index expressions: enough to see that most dividends are not negative.

use std::collections::BTreeMap;

use crate::loop_ir::build;
use crate::loop_ir::expression::{BinaryOp, Expr, ExprKind};
use crate::loop_ir::procedure::{ArgType, Proc};
use crate::loop_ir::types::Control;
use crate::symbol::Sym;

/// Inclusive bounds; `None` is unbounded. Wide, so that sums of literals cannot wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub lo: Option<i128>,
    pub hi: Option<i128>,
}

impl Interval {
    const UNKNOWN: Interval = Interval { lo: None, hi: None };

    /// The values whose magnitude is no larger.
    pub fn up_to(magnitude: i128) -> Self {
        Interval { lo: Some(-magnitude), hi: Some(magnitude) }
    }

    /// Whether all values are known to be among those of another interval.
    pub fn is_within(self, other: Self) -> bool {
        let above = |least: Option<i128>| least.is_none_or(|least| self.lo.is_some_and(|lo| lo >= least));
        let below = |most: Option<i128>| most.is_none_or(|most| self.hi.is_some_and(|hi| hi <= most));
        above(other.lo) && below(other.hi)
    }

    /// The smallest interval with the values of both.
    pub fn hull(self, other: Self) -> Self {
        let both = |a: Option<i128>, b: Option<i128>, pick: fn(i128, i128) -> i128| Some(pick(a?, b?));
        Interval { lo: both(self.lo, other.lo, i128::min), hi: both(self.hi, other.hi, i128::max) }
    }

    fn exactly(value: i64) -> Self {
        Interval { lo: Some(i128::from(value)), hi: Some(i128::from(value)) }
    }

    fn negated(self) -> Self {
        Interval { lo: self.hi.map(|v| -v), hi: self.lo.map(|v| -v) }
    }

    fn plus(self, other: Self) -> Self {
        let add = |a: Option<i128>, b: Option<i128>| a?.checked_add(b?);
        Interval { lo: add(self.lo, other.lo), hi: add(self.hi, other.hi) }
    }

    fn scaled(self, factor: i128) -> Self {
        let scale = |v: Option<i128>| v?.checked_mul(factor);
        match factor {
            0 => Interval::exactly(0),
            f if f > 0 => Interval { lo: scale(self.lo), hi: scale(self.hi) },
            _ => Interval { lo: scale(self.hi), hi: scale(self.lo) },
        }
    }

    fn point(self) -> Option<i128> {
        if self.lo == self.hi { self.lo } else { None }
    }

    fn divided(self, divisor: i128) -> Self {
        let floor = |v: Option<i128>| v.map(|v| v.div_euclid(divisor));
        Interval { lo: floor(self.lo), hi: floor(self.hi) }
    }

    fn modulo(self, divisor: i128) -> Self {
        if let (Some(lo), Some(hi)) = (self.lo, self.hi)
            && lo.div_euclid(divisor) == hi.div_euclid(divisor)
        {
            return Interval { lo: Some(lo.rem_euclid(divisor)), hi: Some(hi.rem_euclid(divisor)) };
        }
        Interval { lo: Some(0), hi: Some(divisor - 1) }
    }
}

/// What is known of the control variables that are in scope.
#[derive(Debug)]
pub struct Intervals {
    known: BTreeMap<Sym, Interval>,
    /// What everything else may be: fields of configuration state, strides.
    otherwise: Interval,
}

impl Intervals {
    /// Sizes are positive; asserts that compare a size with a literal narrow it.
    pub fn of(proc: &Proc) -> Self {
        let mut intervals = Intervals { known: BTreeMap::new(), otherwise: Interval::UNKNOWN };
        for arg in &proc.args {
            if arg.ty == ArgType::Control(Control::Size) {
                intervals.known.insert(arg.name.clone(), Interval { lo: Some(1), hi: None });
            }
        }
        for pred in &proc.preds {
            intervals.assume(pred);
        }
        intervals
    }

    /// The same where it is known between which values the arguments are, and whatever else is read.
    pub fn between(proc: &Proc, arguments: &[Interval], otherwise: Interval) -> Self {
        let known = proc.args.iter().map(|arg| arg.name.clone()).zip(arguments.iter().copied()).collect();
        let mut intervals = Intervals { known, otherwise };
        for pred in &proc.preds {
            intervals.assume(pred);
        }
        intervals
    }

    fn assume(&mut self, pred: &Expr) {
        let ExprKind::Binary { op, lhs, rhs } = &pred.kind else { return };
        match op {
            BinaryOp::And => {
                self.assume(lhs);
                self.assume(rhs);
            }
            BinaryOp::Lt => self.at_most(lhs, rhs, 1),
            BinaryOp::Le => self.at_most(lhs, rhs, 0),
            BinaryOp::Gt => self.at_most(rhs, lhs, 1),
            BinaryOp::Ge => self.at_most(rhs, lhs, 0),
            BinaryOp::Eq => {
                self.at_most(lhs, rhs, 0);
                self.at_most(rhs, lhs, 0);
            }
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod | BinaryOp::Or => {}
        }
    }

    /// Learns from `small + gap <= large` where one side is a size and the other a literal.
    fn at_most(&mut self, small: &Expr, large: &Expr, gap: i128) {
        if let (Some(size), Some(bound)) = (self.size(small), build::int_value(large)) {
            let bound = i128::from(bound) - gap;
            size.hi = Some(size.hi.map_or(bound, |hi| hi.min(bound)));
        } else if let (Some(bound), Some(size)) = (build::int_value(small), self.size(large)) {
            let bound = i128::from(bound) + gap;
            size.lo = Some(size.lo.map_or(bound, |lo| lo.max(bound)));
        }
    }

    fn size(&mut self, expr: &Expr) -> Option<&mut Interval> {
        match &expr.kind {
            ExprKind::Read { name, idx } if idx.is_empty() => self.known.get_mut(name),
            ExprKind::Read { .. }
            | ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Window { .. }
            | ExprKind::Stride { .. } => None,
        }
    }

    /// Learns the range of a loop's iterator.
    pub fn enter_loop(&mut self, iter: &Sym, lo: &Expr, hi: &Expr) {
        let lo = self.range(lo).lo;
        let hi = self.range(hi).hi.map(|hi| hi - 1);
        let empty = matches!((lo, hi), (Some(lo), Some(hi)) if lo > hi);
        let range = if empty { self.otherwise } else { Interval { lo, hi } };
        self.known.insert(iter.clone(), range);
    }

    pub fn is_non_negative(&self, expr: &Expr) -> bool {
        self.range(expr).lo.is_some_and(|lo| lo >= 0)
    }

    pub fn range(&self, expr: &Expr) -> Interval {
        if let Some(value) = build::int_value(expr) {
            return Interval::exactly(value);
        }
        match &expr.kind {
            ExprKind::Read { name, idx } if idx.is_empty() => self.known.get(name).copied().unwrap_or(self.otherwise),
            ExprKind::Neg(operand) => self.range(operand).negated(),
            ExprKind::Binary { op, lhs, rhs } => self.binary(*op, lhs, rhs),
            ExprKind::ReadConfig(_) | ExprKind::Stride { .. } => self.otherwise,
            ExprKind::Read { .. } | ExprKind::Const(_) | ExprKind::Extern { .. } | ExprKind::Window { .. } => {
                Interval::UNKNOWN
            }
        }
    }

    fn binary(&self, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Interval {
        let (left, right) = (self.range(lhs), self.range(rhs));
        let divisor = right.point().filter(|divisor| *divisor > 0);
        match (op, divisor) {
            (BinaryOp::Add, _) => left.plus(right),
            (BinaryOp::Sub, _) => left.plus(right.negated()),
            (BinaryOp::Mul, _) => match (left.point(), right.point()) {
                (_, Some(factor)) => left.scaled(factor),
                (Some(factor), None) => right.scaled(factor),
                (None, None) => Interval::UNKNOWN,
            },
            (BinaryOp::Div, Some(divisor)) => left.divided(divisor),
            (BinaryOp::Mod, Some(divisor)) => left.modulo(divisor),
            (
                BinaryOp::Div
                | BinaryOp::Mod
                | BinaryOp::Lt
                | BinaryOp::Gt
                | BinaryOp::Le
                | BinaryOp::Ge
                | BinaryOp::Eq
                | BinaryOp::And
                | BinaryOp::Or,
                _,
            ) => Interval::UNKNOWN,
        }
    }
}
