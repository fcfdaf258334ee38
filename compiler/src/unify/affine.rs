//! Affine forms over the unknowns of a unification and the variables of the caller.

use std::collections::BTreeMap;

use crate::loop_ir::Expr;

/// What an affine form is a sum of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Term {
    /// Something to solve for; itself an affine form over atoms that exist outside the block.
    Unknown(usize),
    /// A variable or an opaque quotient or remainder of the caller, by its number in [`Atoms`].
    Atom(usize),
}

/// Σ coefficient · term + constant. Zero coefficients are never stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Affine {
    pub(super) terms: BTreeMap<Term, i128>,
    pub(super) constant: i128,
}

impl Affine {
    pub(super) fn constant(value: i128) -> Self {
        Affine { terms: BTreeMap::new(), constant: value }
    }

    pub(super) fn term(term: Term) -> Self {
        Affine { terms: BTreeMap::from([(term, 1)]), constant: 0 }
    }

    /// `self + factor * other`; `None` on overflow.
    pub(super) fn plus(&self, factor: i128, other: &Affine) -> Option<Affine> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(factor.checked_mul(other.constant)?)?;
        for (term, coefficient) in &other.terms {
            let scaled = factor.checked_mul(*coefficient)?;
            let new = sum.terms.get(term).copied().unwrap_or(0).checked_add(scaled)?;
            if new == 0 {
                sum.terms.remove(term);
            } else {
                sum.terms.insert(*term, new);
            }
        }
        Some(sum)
    }

    pub(super) fn minus(&self, other: &Affine) -> Option<Affine> {
        self.plus(-1, other)
    }

    pub(super) fn scaled(&self, factor: i128) -> Option<Affine> {
        Affine::default().plus(factor, self)
    }

    /// The value, where no term is left.
    pub(super) fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The unknowns with their coefficients.
    pub(super) fn unknowns(&self) -> impl Iterator<Item = (usize, i128)> + '_ {
        self.terms.iter().filter_map(|(term, coefficient)| match term {
            Term::Unknown(unknown) => Some((*unknown, *coefficient)),
            Term::Atom(_) => None,
        })
    }

    /// The atoms with their coefficients.
    pub(super) fn atoms(&self) -> impl Iterator<Item = (usize, i128)> + '_ {
        self.terms.iter().filter_map(|(term, coefficient)| match term {
            Term::Atom(atom) => Some((*atom, *coefficient)),
            Term::Unknown(_) => None,
        })
    }
}

/// The atoms met so far, in order of their first appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Atoms {
    list: Vec<Atom>,
}

#[derive(Clone, Debug)]
struct Atom {
    expr: Expr,
    /// Whether it mentions something bound inside the block, so that no argument may use it.
    bound: bool,
}

impl Atoms {
    /// The number of an atom; equal expressions share one.
    pub(super) fn intern(&mut self, expr: &Expr, bound: bool) -> usize {
        match self.list.iter().position(|atom| &atom.expr == expr) {
            Some(at) => at,
            None => {
                self.list.push(Atom { expr: expr.clone(), bound });
                self.list.len() - 1
            }
        }
    }

    pub(super) fn is_bound(&self, atom: usize) -> bool {
        self.list.get(atom).is_some_and(|atom| atom.bound)
    }

    pub(super) fn expr(&self, atom: usize) -> Option<&Expr> {
        self.list.get(atom).map(|atom| &atom.expr)
    }
}
