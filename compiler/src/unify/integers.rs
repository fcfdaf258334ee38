//! Exact solution of linear equations whose unknowns are affine forms with integer coefficients.
//!
//! An equation is solved for an unknown with coefficient ±1 where there is one. Otherwise the smallest coefficient is
//! reduced by a change of variable, as in the equality step of the Omega test (Pugh, 1991), until there is one.

use std::collections::BTreeMap;

use super::affine::{Affine, Atoms, Term};

/// Equations solved so far: unknowns expressed by unknowns that are still free.
#[derive(Clone, Debug)]
pub(super) struct System {
    solved: BTreeMap<usize, Affine>,
    /// The next number for an unknown made here.
    next: usize,
}

impl System {
    /// `count`: how many unknowns the caller has numbered.
    pub(super) fn new(count: usize) -> Self {
        System { solved: BTreeMap::new(), next: count }
    }

    /// Adds `equation = 0`. `false` when the system then has no integer solution (or numbers get out of hand, which
    /// refuses too); the system must not be used any more in that case.
    pub(super) fn add(&mut self, equation: &Affine, atoms: &Atoms) -> bool {
        self.try_add(equation, atoms).unwrap_or(false)
    }

    /// The value of an affine form, with everything solved put in.
    pub(super) fn resolve(&self, form: &Affine) -> Option<Affine> {
        let mut out = Affine::constant(form.constant);
        for (term, coefficient) in &form.terms {
            let value = match term {
                Term::Unknown(unknown) => self.solved.get(unknown).cloned(),
                Term::Atom(_) => None,
            };
            out = out.plus(*coefficient, &value.unwrap_or_else(|| Affine::term(*term)))?;
        }
        Some(out)
    }

    fn try_add(&mut self, equation: &Affine, atoms: &Atoms) -> Option<bool> {
        let mut equation = self.resolve(equation)?;
        // Unknowns stand for values outside the block, so what is bound inside must cancel by itself.
        if equation.atoms().any(|(atom, _)| atoms.is_bound(atom)) {
            return Some(false);
        }
        loop {
            let Some((unknown, coefficient)) = equation.unknowns().min_by_key(|(_, coefficient)| coefficient.abs())
            else {
                return Some(equation.terms.is_empty() && equation.constant == 0);
            };
            let divisor = equation.unknowns().fold(0, |acc, (_, coefficient)| gcd(acc, coefficient));
            let known = equation.atoms().map(|(_, coefficient)| coefficient).chain([equation.constant]);
            if known.into_iter().any(|value| value % divisor != 0) {
                return Some(false);
            }
            if coefficient.abs() == divisor {
                // unknown = -(rest) / coefficient, where everything is divisible.
                let mut rest = equation.clone();
                rest.terms.remove(&Term::Unknown(unknown));
                let value = divided(&rest, -coefficient)?;
                self.define(unknown, &value)?;
                return Some(true);
            }
            let fresh = self.next;
            self.next += 1;
            // unknown = fresh - Σ floor(c/coefficient) · other, which leaves remainders smaller than the coefficient.
            let mut value = Affine::term(Term::Unknown(fresh));
            for (other, c) in equation.unknowns().filter(|(other, _)| *other != unknown) {
                value = value.plus(-c.div_euclid(coefficient), &Affine::term(Term::Unknown(other)))?;
            }
            self.define(unknown, &value)?;
            equation = self.resolve(&equation)?;
        }
    }

    fn define(&mut self, unknown: usize, value: &Affine) -> Option<()> {
        for known in self.solved.values_mut() {
            if let Some(coefficient) = known.terms.remove(&Term::Unknown(unknown)) {
                *known = known.plus(coefficient, value)?;
            }
        }
        self.solved.insert(unknown, value.clone());
        Some(())
    }
}

/// `form / divisor` where every number is divisible.
fn divided(form: &Affine, divisor: i128) -> Option<Affine> {
    let mut out = Affine::constant(form.constant.checked_div(divisor)?);
    for (term, coefficient) in &form.terms {
        out.terms.insert(*term, coefficient.checked_div(divisor)?);
    }
    Some(out)
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
    use super::*;
    use crate::loop_ir::build;
    use crate::symbol::Sym;

    fn form(unknowns: &[(usize, i128)], atoms: &[(usize, i128)], constant: i128) -> Affine {
        let mut out = Affine::constant(constant);
        for (unknown, c) in unknowns {
            out = out.plus(*c, &Affine::term(Term::Unknown(*unknown))).unwrap();
        }
        for (atom, c) in atoms {
            out = out.plus(*c, &Affine::term(Term::Atom(*atom))).unwrap();
        }
        out
    }

    fn atoms() -> Atoms {
        let mut atoms = Atoms::default();
        atoms.intern(&build::index(&Sym::new("n")), false);
        atoms.intern(&build::index(&Sym::new("i")), true);
        atoms
    }

    #[test]
    fn unit_coefficient_is_solved_directly() {
        let mut system = System::new(2);
        assert!(system.add(&form(&[(0, 1)], &[(0, -4)], 3), &atoms()));
        assert_eq!(system.resolve(&form(&[(0, 1)], &[], 0)), Some(form(&[], &[(0, 4)], -3)));
    }

    #[test]
    fn integers_only() {
        let mut system = System::new(1);
        assert!(!system.add(&form(&[(0, 2)], &[], 3), &atoms()));
        let mut system = System::new(1);
        assert!(system.add(&form(&[(0, 2)], &[(0, -4)], 6), &atoms()));
        assert_eq!(system.resolve(&form(&[(0, 1)], &[], 0)), Some(form(&[], &[(0, 2)], -3)));
    }

    #[test]
    fn coprime_coefficients_have_a_solution() {
        let mut system = System::new(2);
        let equation = form(&[(0, 3), (1, 5)], &[(0, -1)], 0);
        assert!(system.add(&equation, &atoms()));
        let left = system.resolve(&equation).unwrap();
        assert_eq!(left, Affine::default());
    }

    #[test]
    fn bound_atoms_must_cancel() {
        let mut system = System::new(1);
        assert!(!system.add(&form(&[(0, 1)], &[(1, 1)], 0), &atoms()));
    }

    #[test]
    fn contradiction_is_found() {
        let mut system = System::new(2);
        assert!(system.add(&form(&[(0, 1), (1, 1)], &[], -4), &atoms()));
        assert!(system.add(&form(&[(0, 1), (1, -1)], &[], -2), &atoms()));
        assert!(!system.add(&form(&[(0, 1)], &[], -4), &atoms()));
    }
}
