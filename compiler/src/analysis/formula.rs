//! Quantifier-free formulas over linear forms, in negation normal form.

use crate::analysis::linear::{Linear, Var, gcd};
use crate::symbol::Sym;

#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    True,
    False,
    /// `linear <= 0`.
    Le(Linear),
    /// `linear == 0`.
    Eq(Linear),
    And(Vec<Formula>),
    Or(Vec<Formula>),
    /// Holds for all values of these symbols, which occur nowhere else. Only Z3 sees inside.
    Forall(Vec<Sym>, Box<Formula>),
}

impl Formula {
    /// `linear <= 0`, tightened to integers.
    pub fn le(linear: Linear) -> Formula {
        if let Some(value) = linear.value() {
            return if value <= 0 { Formula::True } else { Formula::False };
        }
        Formula::Le(linear)
    }

    /// `linear == 0`.
    pub fn eq(linear: Linear) -> Formula {
        if let Some(value) = linear.value() {
            return if value == 0 { Formula::True } else { Formula::False };
        }
        let common = linear.terms().iter().fold(0, |g, (_, c)| gcd(g, *c));
        if common > 1 && linear.offset() % common != 0 {
            return Formula::False;
        }
        Formula::Eq(linear)
    }

    /// `lhs <= rhs`; `None` on overflow, here and below.
    pub fn at_most(lhs: &Linear, rhs: &Linear) -> Option<Formula> {
        Some(Formula::le(lhs.sub(rhs)?))
    }

    /// `lhs < rhs`.
    pub fn below(lhs: &Linear, rhs: &Linear) -> Option<Formula> {
        Some(Formula::le(lhs.sub(rhs)?.plus(1)?))
    }

    pub fn equal(lhs: &Linear, rhs: &Linear) -> Option<Formula> {
        Some(Formula::eq(lhs.sub(rhs)?))
    }

    /// A boolean control variable.
    pub fn truth(var: Var) -> Option<Formula> {
        Formula::at_most(&Linear::constant(1), &Linear::var(var))
    }

    pub fn and(parts: Vec<Formula>) -> Formula {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Formula::True => {}
                Formula::False => return Formula::False,
                Formula::And(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Formula::True,
            1 => flat.pop().unwrap_or(Formula::True),
            _ => Formula::And(flat),
        }
    }

    pub fn or(parts: Vec<Formula>) -> Formula {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Formula::False => {}
                Formula::True => return Formula::True,
                Formula::Or(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Formula::False,
            1 => flat.pop().unwrap_or(Formula::False),
            _ => Formula::Or(flat),
        }
    }

    /// The negation. The bound symbols of a universal formula become free ones: a satisfiability question asks for
    /// values of them.
    pub fn negated(&self) -> Option<Formula> {
        Some(match self {
            Formula::True => Formula::False,
            Formula::False => Formula::True,
            Formula::Le(linear) => Formula::le(linear.scale(-1)?.plus(1)?),
            Formula::Eq(linear) => {
                Formula::Or(vec![Formula::le(linear.plus(1)?), Formula::le(linear.scale(-1)?.plus(1)?)])
            }
            Formula::And(parts) => Formula::or(parts.iter().map(Formula::negated).collect::<Option<_>>()?),
            Formula::Or(parts) => Formula::and(parts.iter().map(Formula::negated).collect::<Option<_>>()?),
            Formula::Forall(_, body) => body.negated()?,
        })
    }

    /// Replaces variables; symbols that a universal formula binds must not be among them.
    pub fn substitute(&self, f: &dyn Fn(&Var) -> Option<Linear>) -> Option<Formula> {
        Some(match self {
            Formula::True => Formula::True,
            Formula::False => Formula::False,
            Formula::Le(linear) => Formula::le(linear.substitute(f)?),
            Formula::Eq(linear) => Formula::eq(linear.substitute(f)?),
            Formula::And(parts) => Formula::and(parts.iter().map(|p| p.substitute(f)).collect::<Option<_>>()?),
            Formula::Or(parts) => Formula::or(parts.iter().map(|p| p.substitute(f)).collect::<Option<_>>()?),
            Formula::Forall(bound, body) => Formula::Forall(bound.clone(), Box::new(body.substitute(f)?)),
        })
    }

    pub fn any_var(&self, f: &mut dyn FnMut(&Var) -> bool) -> bool {
        match self {
            Formula::True | Formula::False => false,
            Formula::Le(linear) | Formula::Eq(linear) => linear.any_var(f),
            Formula::And(parts) | Formula::Or(parts) => parts.iter().any(|part| part.any_var(f)),
            Formula::Forall(_, body) => body.any_var(f),
        }
    }

    pub fn mentions(&self, symbol: &Sym) -> bool {
        self.any_var(&mut |var| matches!(var, Var::Sym(s) if s == symbol))
    }
}
