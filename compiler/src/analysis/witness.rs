//! Existential iterators by construction: which iteration of a write touches a given element.
//!
//! `exists k. guard(k) and coords(k) == target` is shown by solving for `k` as floor quotients of the target (mixed radix)
//! and checking the result. The check keeps the whole formula, so a bad guess can only fail to show something.

use crate::analysis::effects::Cell;
use crate::analysis::formula::Formula;
use crate::analysis::linear::{Linear, Var};
use crate::analysis::ranges::Bounds;
use crate::symbol::Sym;

/// A quantifier-free formula that implies that `cell`, for some values of its iterators after the first `common`,
/// touches exactly `target`. `None` when no candidate iteration is found.
pub fn touches(cell: &Cell, common: usize, target: &[Linear]) -> Option<Formula> {
    let coords = cell.coords.as_ref()?;
    if coords.iter().zip(target).any(|(coord, target)| coord.differs_by_constant(target)) {
        return Some(Formula::False);
    }
    let free = cell.bound.get(common..).unwrap_or(&[]);
    let mut solved = Solved { free, values: Vec::new() };
    let mut equations: Vec<(Linear, Linear)> = coords.iter().cloned().zip(target.iter().cloned()).collect();
    // Simple equations first: they fix iterators that the others then know.
    equations.sort_by_key(|(coord, _)| solved.open_terms(coord).len());
    for _ in 0..=free.len() {
        for (coord, target) in &equations {
            solved.equation(coord, target, &cell.guard)?;
        }
    }
    solved.rest(coords, &cell.guard)?;
    let mut parts = Vec::new();
    for (coord, target) in coords.iter().zip(target) {
        parts.push(Formula::equal(&solved.apply(coord)?, target)?);
    }
    for guard in &cell.guard {
        parts.push(guard.substitute(&|var| solved.value(var))?);
    }
    Some(Formula::and(parts))
}

struct Solved<'a> {
    free: &'a [Sym],
    values: Vec<(Sym, Linear)>,
}

impl Solved<'_> {
    fn value(&self, var: &Var) -> Option<Linear> {
        match var {
            Var::Sym(symbol) => self.values.iter().find(|(s, _)| s == symbol).map(|(_, value)| value.clone()),
            Var::Stride(..) | Var::Quotient(_) => None,
        }
    }

    fn apply(&self, linear: &Linear) -> Option<Linear> {
        linear.substitute(&|var| self.value(var))
    }

    fn is_open(&self, symbol: &Sym) -> bool {
        self.free.contains(symbol) && !self.values.iter().any(|(s, _)| s == symbol)
    }

    /// The iterators of a form that have no value yet, with coefficients, largest first.
    fn open_terms(&self, linear: &Linear) -> Vec<(Sym, i64)> {
        let mut open: Vec<(Sym, i64)> = linear
            .terms()
            .iter()
            .filter_map(|(var, coefficient)| match var {
                Var::Sym(symbol) if self.is_open(symbol) => Some((symbol.clone(), *coefficient)),
                Var::Sym(_) | Var::Stride(..) | Var::Quotient(_) => None,
            })
            .collect();
        open.sort_by_key(|(_, coefficient)| std::cmp::Reverse(coefficient.unsigned_abs()));
        open
    }

    /// Solves `coord == target` for its open iterators.
    fn equation(&mut self, coord: &Linear, target: &Linear, guard: &[Formula]) -> Option<()> {
        let mut coord = self.apply(coord)?;
        let open = self.open_terms(&coord);
        let inside = coord.terms().iter().any(|(var, _)| match var {
            Var::Quotient(quotient) => {
                self.free.iter().any(|symbol| self.is_open(symbol) && quotient.num.mentions(symbol))
            }
            Var::Sym(_) | Var::Stride(..) => false,
        });
        if inside {
            return Some(());
        }
        for (at, (symbol, coefficient)) in open.iter().enumerate() {
            // target - everything but the open iterators
            let mut left = target.clone();
            let mut rest = coord.clone();
            for (other, c) in open.iter().skip(at) {
                rest = rest.add_scaled(&Linear::symbol(other), -*c)?;
            }
            left = left.sub(&rest)?;
            let smaller = open.get(at + 1..).unwrap_or(&[]);
            let value = if smaller.is_empty() {
                share(&left, *coefficient)?
            } else {
                share(&left.plus(-least(smaller, guard)?)?, *coefficient)?
            };
            coord = coord.substitute(&|var| match var {
                Var::Sym(s) if s == symbol => Some(value.clone()),
                Var::Sym(_) | Var::Stride(..) | Var::Quotient(_) => None,
            })?;
            self.values.push((symbol.clone(), value));
        }
        Some(())
    }

    /// Iterators that no coordinate mentions: the first iteration will do as well as any.
    fn rest(&mut self, coords: &[Linear], guard: &[Formula]) -> Option<()> {
        for symbol in self.free {
            if !self.is_open(symbol) {
                continue;
            }
            if coords.iter().any(|coord| coord.mentions(symbol)) {
                return None;
            }
            // A condition that fixes the iterator, else its lower bound.
            let fixed = guard.iter().find_map(|formula| fixing(formula, symbol));
            let value = fixed.or_else(|| guard.iter().find_map(|formula| lower_bound(formula, symbol)))?;
            let value = self.apply(&value)?;
            self.values.push((symbol.clone(), value));
        }
        Some(())
    }
}

/// `floor(left / coefficient)` for either sign.
fn share(left: &Linear, coefficient: i64) -> Option<Linear> {
    if coefficient > 0 { left.quotient(coefficient) } else { left.scale(-1)?.quotient(coefficient.checked_neg()?) }
}

/// The least value of a sum of iterators.
fn least(terms: &[(Sym, i64)], guard: &[Formula]) -> Option<i64> {
    let bounds = Bounds::of(guard);
    terms.iter().try_fold(0i64, |sum, (symbol, coefficient)| {
        let (lo, hi) = bounds.var(&Var::Sym(symbol.clone()));
        let extreme = if *coefficient > 0 { lo? } else { hi? };
        sum.checked_add(extreme.checked_mul(*coefficient)?)
    })
}

/// The `e` of a guard `symbol == e`.
fn fixing(formula: &Formula, symbol: &Sym) -> Option<Linear> {
    let Formula::Eq(linear) = formula else { return None };
    let var = Var::Sym(symbol.clone());
    let coefficient = linear.coefficient(&var);
    if coefficient.unsigned_abs() != 1 {
        return None;
    }
    let rest = linear.add_scaled(&Linear::var(var), -coefficient)?.scale(-coefficient)?;
    (!rest.mentions(symbol)).then_some(rest)
}

/// The `lo` of a guard `lo <= symbol`.
fn lower_bound(formula: &Formula, symbol: &Sym) -> Option<Linear> {
    let Formula::Le(linear) = formula else { return None };
    let var = Var::Sym(symbol.clone());
    if linear.coefficient(&var) != -1 {
        return None;
    }
    let rest = linear.add(&Linear::var(var))?;
    (!rest.mentions(symbol)).then_some(rest)
}
