//! Linear forms `k + Σ c·x` over control variables, and their normal text.

use std::collections::BTreeMap;

use crate::loop_ir::build;
use crate::loop_ir::{BinaryOp, Const, Expr, ExprKind, Ty};
use crate::symbol::Sym;

/// A linear form. Coefficients are never zero; the expression kept with each is the read of that variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Linear {
    pub constant: i64,
    pub terms: BTreeMap<Sym, (i64, Expr)>,
}

impl Linear {
    pub(crate) fn constant(value: i64) -> Self {
        Linear { constant: value, terms: BTreeMap::new() }
    }

    /// The form of an index-like expression; `None` where it has a division, a modulus or a stride, or overflows.
    pub(crate) fn of(expr: &Expr) -> Option<Linear> {
        match &expr.kind {
            ExprKind::Const(Const::Int(value)) => Some(Linear::constant(*value)),
            ExprKind::Read { name, idx } if idx.is_empty() && expr.ty.is_indexable() => {
                let terms = BTreeMap::from([(name.clone(), (1, expr.clone()))]);
                Some(Linear { constant: 0, terms })
            }
            ExprKind::Neg(operand) => Linear::of(operand)?.scaled(-1),
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (Linear::of(lhs)?, Linear::of(rhs)?);
                match op {
                    BinaryOp::Add => lhs.plus(&rhs),
                    BinaryOp::Sub => lhs.plus(&rhs.scaled(-1)?),
                    BinaryOp::Mul if lhs.terms.is_empty() => rhs.scaled(lhs.constant),
                    BinaryOp::Mul if rhs.terms.is_empty() => lhs.scaled(rhs.constant),
                    _ => None,
                }
            }
            ExprKind::Const(Const::Real(_) | Const::Bool(_))
            | ExprKind::Read { .. }
            | ExprKind::ReadConfig(_)
            | ExprKind::Extern { .. }
            | ExprKind::Window { .. }
            | ExprKind::Stride { .. } => None,
        }
    }

    pub(crate) fn plus(&self, other: &Linear) -> Option<Linear> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant)?;
        for (name, (coefficient, read)) in &other.terms {
            let entry = sum.terms.entry(name.clone()).or_insert_with(|| (0, read.clone()));
            entry.0 = entry.0.checked_add(*coefficient)?;
        }
        sum.terms.retain(|_, (coefficient, _)| *coefficient != 0);
        Some(sum)
    }

    pub(crate) fn scaled(&self, factor: i64) -> Option<Linear> {
        let mut product = Linear::constant(self.constant.checked_mul(factor)?);
        if factor != 0 {
            for (name, (coefficient, read)) in &self.terms {
                product.terms.insert(name.clone(), (coefficient.checked_mul(factor)?, read.clone()));
            }
        }
        Some(product)
    }

    /// The part whose coefficients `d` divides, divided by it, and the rest (without the constant).
    pub(crate) fn split(&self, d: i64) -> (Linear, Linear) {
        let (mut quotient, mut rest) = (Linear::default(), Linear::default());
        for (name, (coefficient, read)) in &self.terms {
            if coefficient % d == 0 {
                quotient.terms.insert(name.clone(), (coefficient / d, read.clone()));
            } else {
                rest.terms.insert(name.clone(), (*coefficient, read.clone()));
            }
        }
        (quotient, rest)
    }

    /// The normal text: the constant, then terms by coefficient and name: `-m + n`, `3 + 2 * j + 8 * i`.
    pub(crate) fn expr(&self) -> Expr {
        let mut terms: Vec<(i64, &Sym, &Expr)> =
            self.terms.iter().map(|(name, (coefficient, read))| (*coefficient, name, read)).collect();
        terms.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        let mut result = (self.constant != 0 || terms.is_empty()).then(|| build::int(self.constant));
        for (coefficient, _, read) in terms {
            result = Some(match result {
                None => product(coefficient, read),
                Some(before) if coefficient > 0 => build::add(before, product(coefficient, read)),
                // The smallest coefficient cannot be negated; it stays a product.
                Some(before) => match coefficient.checked_neg() {
                    Some(positive) => build::sub(before, product(positive, read)),
                    None => build::add(before, product(coefficient, read)),
                },
            });
        }
        result.unwrap_or_else(|| build::int(0))
    }
}

fn product(coefficient: i64, read: &Expr) -> Expr {
    match coefficient {
        1 => read.clone(),
        -1 => build::neg(read.clone()),
        _ => build::mul(build::int(coefficient), read.clone()),
    }
}

/// Whether an expression is a literal of an index position.
pub(crate) fn literal(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Const(Const::Int(value)) if expr.ty != Ty::Data => Some(*value),
        _ => None,
    }
}
