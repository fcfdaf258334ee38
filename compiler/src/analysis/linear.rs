//! Linear forms over control variables, with floor quotients as variables of their own.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::symbol::Sym;

/// An integer unknown of the logic.
///
/// A quotient is named by what it divides, so that equal quotients are one variable wherever they were met and no
/// state is needed to make them. Booleans are integers: true is `>= 1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Var {
    Sym(Sym),
    /// The stride of a dimension of a root buffer.
    Stride(Sym, usize),
    Quotient(Arc<Quotient>),
}

/// `floor(num / den)` with `den >= 2`, in normal form: the coefficients of `num` lie in `0..den`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quotient {
    pub num: Linear,
    pub den: i64,
}

impl Var {
    fn rank(&self) -> u8 {
        match self {
            Var::Sym(_) => 0,
            Var::Stride(..) => 1,
            Var::Quotient(_) => 2,
        }
    }
}

impl Ord for Var {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Var::Sym(a), Var::Sym(b)) => a.identity().cmp(&b.identity()),
            (Var::Stride(a, d), Var::Stride(b, e)) => a.identity().cmp(&b.identity()).then(d.cmp(e)),
            (Var::Quotient(a), Var::Quotient(b)) => a
                .den
                .cmp(&b.den)
                .then_with(|| a.num.constant.cmp(&b.num.constant))
                .then_with(|| a.num.terms.cmp(&b.num.terms)),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for Var {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `sum(coefficient * variable) + constant`; terms sorted by variable, no zero coefficients.
///
/// Operations give `None` when a number leaves the 64-bit range; callers treat that as "not known".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Linear {
    terms: Vec<(Var, i64)>,
    constant: i64,
}

impl Linear {
    pub fn constant(value: i64) -> Self {
        Linear { terms: Vec::new(), constant: value }
    }

    pub fn var(var: Var) -> Self {
        Linear { terms: vec![(var, 1)], constant: 0 }
    }

    pub fn symbol(symbol: &Sym) -> Self {
        Linear::var(Var::Sym(symbol.clone()))
    }

    pub fn terms(&self) -> &[(Var, i64)] {
        &self.terms
    }

    pub fn offset(&self) -> i64 {
        self.constant
    }

    /// The value, when there are no variables.
    pub fn value(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The coefficient of a variable (0 when it does not occur outside quotients).
    pub fn coefficient(&self, var: &Var) -> i64 {
        self.terms.iter().find(|(v, _)| v == var).map_or(0, |(_, c)| *c)
    }

    pub fn add(&self, other: &Linear) -> Option<Linear> {
        self.add_scaled(other, 1)
    }

    pub fn sub(&self, other: &Linear) -> Option<Linear> {
        self.add_scaled(other, -1)
    }

    pub fn plus(&self, value: i64) -> Option<Linear> {
        Some(Linear { terms: self.terms.clone(), constant: self.constant.checked_add(value)? })
    }

    /// `self + factor * other`.
    pub fn add_scaled(&self, other: &Linear, factor: i64) -> Option<Linear> {
        if factor == 0 {
            return Some(self.clone());
        }
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((a, _)), Some((b, _))) => a.cmp(b),
            };
            match order {
                Ordering::Less => terms.extend(left.next().cloned()),
                Ordering::Greater => {
                    if let Some((var, coefficient)) = right.next() {
                        terms.push((var.clone(), coefficient.checked_mul(factor)?));
                    }
                }
                Ordering::Equal => {
                    if let (Some((var, a)), Some((_, b))) = (left.next(), right.next()) {
                        let sum = a.checked_add(b.checked_mul(factor)?)?;
                        if sum != 0 {
                            terms.push((var.clone(), sum));
                        }
                    }
                }
            }
        }
        let constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        Some(Linear { terms, constant })
    }

    pub fn scale(&self, factor: i64) -> Option<Linear> {
        Linear::constant(0).add_scaled(self, factor)
    }

    /// The product, when one side is a constant.
    pub fn product(&self, other: &Linear) -> Option<Linear> {
        match (self.value(), other.value()) {
            (Some(factor), _) => other.scale(factor),
            (_, Some(factor)) => self.scale(factor),
            (None, None) => None,
        }
    }

    /// `floor(self / den)` for a positive divisor, brought to normal form so that equal quotients compare equal.
    pub fn quotient(&self, den: i64) -> Option<Linear> {
        if den <= 0 {
            return None;
        }
        let mut whole = Linear::constant(self.constant.div_euclid(den));
        let mut num = Linear::constant(self.constant.rem_euclid(den));
        for (var, coefficient) in &self.terms {
            let (q, r) = (coefficient.div_euclid(den), coefficient.rem_euclid(den));
            if q != 0 {
                whole = whole.add_scaled(&Linear::var(var.clone()), q)?;
            }
            if r != 0 {
                num.terms.push((var.clone(), r));
            }
        }
        if num.terms.is_empty() {
            return Some(whole);
        }
        // floor((g*x + r) / (g*d)) = floor((x + floor(r/g)) / d)
        let common = num.terms.iter().fold(den, |g, (_, c)| gcd(g, *c));
        if common > 1 {
            num.terms.iter_mut().for_each(|(_, c)| *c /= common);
            num.constant = num.constant.div_euclid(common);
            return whole.add(&num.quotient(den / common)?);
        }
        // floor(floor(x / a) / b) = floor(x / (a*b))
        if let ([(Var::Quotient(inner), 1)], true) = (num.terms.as_slice(), den > 1) {
            let shifted = inner.num.plus(num.constant.checked_mul(inner.den)?)?;
            return whole.add(&shifted.quotient(inner.den.checked_mul(den)?)?);
        }
        if den == 1 {
            return whole.add(&num);
        }
        whole.add(&Linear::var(Var::Quotient(Arc::new(Quotient { num, den }))))
    }

    /// The remainder in `0..den` that belongs to the floor quotient.
    pub fn remainder(&self, den: i64) -> Option<Linear> {
        self.add_scaled(&self.quotient(den)?, den.checked_neg()?)
    }

    /// Replaces variables, inside quotients too. `f` gives `None` for variables that stay.
    pub fn substitute(&self, f: &dyn Fn(&Var) -> Option<Linear>) -> Option<Linear> {
        let mut result = Linear::constant(self.constant);
        for (var, coefficient) in &self.terms {
            let replacement = match var {
                Var::Sym(_) | Var::Stride(..) => f(var).unwrap_or_else(|| Linear::var(var.clone())),
                Var::Quotient(quotient) => quotient.num.substitute(f)?.quotient(quotient.den)?,
            };
            result = result.add_scaled(&replacement, *coefficient)?;
        }
        Some(result)
    }

    /// Whether `f` holds of some variable; those inside quotients, and the quotients themselves, are asked too.
    pub fn any_var(&self, f: &mut dyn FnMut(&Var) -> bool) -> bool {
        self.terms.iter().any(|(var, _)| {
            f(var)
                || match var {
                    Var::Sym(_) | Var::Stride(..) => false,
                    Var::Quotient(quotient) => quotient.num.any_var(f),
                }
        })
    }

    /// Whether the two are never equal because they differ in their constants only.
    pub fn differs_by_constant(&self, other: &Linear) -> bool {
        self.constant != other.constant && self.terms == other.terms
    }

    pub fn mentions(&self, symbol: &Sym) -> bool {
        self.any_var(&mut |var| matches!(var, Var::Sym(s) if s == symbol))
    }
}

/// Greatest common divisor, never negative.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}
