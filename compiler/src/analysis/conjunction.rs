//! Decides conjunctions of integer linear constraints: equality elimination, then Fourier-Motzkin with tightening.
//!
//! Deterministic and bounded. An answer "no solution" is exact; a solution is only reported after it was built; anything
//! else is "do not know". The method is Pugh's Omega test (1991) without the splinters.

use crate::analysis::linear::gcd;

/// A variable by number.
pub type Number = u32;

/// `sum(coefficient * variable) + constant`, read as `<= 0` or `== 0`. Terms sorted by variable, no zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub terms: Vec<(Number, i64)>,
    pub constant: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Unsat,
    /// A solution: a value for each numbered variable.
    Sat(Vec<i64>),
    Unknown,
}

/// More inequalities than this are left to Z3.
const MOST_ROWS: usize = 160;

/// Why elimination stopped early.
enum Stop {
    Contradiction,
    /// Too many rows, or a number beyond 64 bits.
    TooHard,
}

/// How a variable went away, for building a solution backwards.
enum Eliminated {
    /// It equals this form of the variables left.
    Defined { var: Number, value: Row },
    /// It lies between bounds; rows as they were.
    Bounded { var: Number, rows: Vec<Row> },
}

impl Row {
    fn coefficient(&self, var: Number) -> i64 {
        self.terms.iter().find(|(v, _)| *v == var).map_or(0, |(_, c)| *c)
    }

    /// `self * a + other * b`.
    pub fn combine(&self, a: i64, other: &Row, b: i64) -> Option<Row> {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some((v, c)), None) => {
                    terms.push((*v, c.checked_mul(a)?));
                    left.next();
                }
                (None, Some((v, c))) => {
                    terms.push((*v, c.checked_mul(b)?));
                    right.next();
                }
                (Some((v, c)), Some((w, d))) => {
                    if v < w {
                        terms.push((*v, c.checked_mul(a)?));
                        left.next();
                    } else if w < v {
                        terms.push((*w, d.checked_mul(b)?));
                        right.next();
                    } else {
                        terms.push((*v, c.checked_mul(a)?.checked_add(d.checked_mul(b)?)?));
                        left.next();
                        right.next();
                    }
                }
            }
        }
        terms.retain(|(_, c)| *c != 0);
        let constant = self.constant.checked_mul(a)?.checked_add(other.constant.checked_mul(b)?)?;
        Some(Row { terms, constant })
    }

    /// Replaces `var` by a form.
    fn replace(&self, var: Number, value: &Row) -> Option<Row> {
        match self.coefficient(var) {
            0 => Some(self.clone()),
            c => {
                let mut rest = self.clone();
                rest.terms.retain(|(v, _)| *v != var);
                rest.combine(1, value, c)
            }
        }
    }

    fn common(&self) -> i64 {
        self.terms.iter().fold(0, |g, (_, c)| gcd(g, *c))
    }

    /// The value under an assignment.
    fn evaluate(&self, values: &[i64]) -> Option<i64> {
        self.terms.iter().try_fold(self.constant, |sum, (var, c)| {
            sum.checked_add(c.checked_mul(values.get(*var as usize).copied().unwrap_or(0))?)
        })
    }

    /// Whether the row holds as an inequality under an assignment.
    pub fn holds_le(&self, values: &[i64]) -> bool {
        self.evaluate(values).is_some_and(|value| value <= 0)
    }

    pub fn holds_eq(&self, values: &[i64]) -> bool {
        self.evaluate(values) == Some(0)
    }

    fn without(&self, var: Number) -> Row {
        let mut rest = self.clone();
        rest.terms.retain(|(v, _)| *v != var);
        rest
    }
}

/// Decides `equalities == 0 and inequalities <= 0` over the variables `0..variables`.
///
/// `work` is what the whole question may still cost, in rows added; at 0 the answer is "unknown".
pub fn decide(equalities: &[Row], inequalities: &[Row], variables: u32, work: &mut u64) -> Verdict {
    let mut system = System { rows: Vec::new(), next: variables, gone: Vec::new(), work: *work };
    let outcome = system.solve(equalities, inequalities);
    *work = system.work;
    match outcome {
        Err(Stop::Contradiction) => Verdict::Unsat,
        Err(Stop::TooHard) => Verdict::Unknown,
        Ok(()) => match system.solution() {
            Some(values)
                if equalities.iter().all(|row| row.holds_eq(&values))
                    && inequalities.iter().all(|row| row.holds_le(&values)) =>
            {
                Verdict::Sat(values.into_iter().take(variables as usize).collect())
            }
            Some(_) | None => Verdict::Unknown,
        },
    }
}

struct System {
    rows: Vec<Row>,
    next: Number,
    gone: Vec<Eliminated>,
    work: u64,
}

impl System {
    fn solve(&mut self, equalities: &[Row], inequalities: &[Row]) -> Result<(), Stop> {
        let mut pending = equalities.to_vec();
        for row in inequalities {
            self.push(row.clone())?;
        }
        loop {
            while let Some(row) = pending.pop() {
                self.eliminate_equality(row, &mut pending)?;
            }
            // Two opposite inequalities that touch are an equality, and equalities are exact.
            match self.touching() {
                Some(row) => pending.push(row),
                None => break,
            }
        }
        while let Some(var) = self.cheapest() {
            self.eliminate(var)?;
        }
        Ok(())
    }

    /// Adds an inequality, tightened, unless one at least as strong is there.
    fn push(&mut self, mut row: Row) -> Result<(), Stop> {
        if row.terms.is_empty() {
            return if row.constant > 0 { Err(Stop::Contradiction) } else { Ok(()) };
        }
        self.work = self.work.checked_sub(1).ok_or(Stop::TooHard)?;
        let common = row.common();
        if common > 1 {
            row.terms.iter_mut().for_each(|(_, c)| *c /= common);
            // Dividing `sum <= -c` by g lets the right side round down.
            let bound = row.constant.checked_neg().ok_or(Stop::TooHard)?.div_euclid(common);
            row.constant = bound.checked_neg().ok_or(Stop::TooHard)?;
        }
        let mut known = false;
        for other in &mut self.rows {
            if other.terms == row.terms {
                other.constant = other.constant.max(row.constant);
                known = true;
            } else if opposite(other, &row) && other.constant.checked_add(row.constant).is_some_and(|sum| sum > 0) {
                return Err(Stop::Contradiction);
            }
        }
        if known {
            return Ok(());
        }
        if self.rows.len() >= MOST_ROWS {
            return Err(Stop::TooHard);
        }
        self.rows.push(row);
        Ok(())
    }

    fn touching(&self) -> Option<Row> {
        self.rows.iter().enumerate().find_map(|(at, row)| {
            let rest = self.rows.get(at + 1..)?;
            rest.iter()
                .any(|other| opposite(row, other) && row.constant.checked_add(other.constant) == Some(0))
                .then(|| row.clone())
        })
    }

    /// Uses an equality to define one variable by the others.
    fn eliminate_equality(&mut self, mut row: Row, pending: &mut [Row]) -> Result<(), Stop> {
        loop {
            let common = row.common();
            if common == 0 {
                return if row.constant == 0 { Ok(()) } else { Err(Stop::Contradiction) };
            }
            if row.constant % common != 0 {
                return Err(Stop::Contradiction);
            }
            row.terms.iter_mut().for_each(|(_, c)| *c /= common);
            row.constant /= common;
            let smallest = row.terms.iter().min_by_key(|(_, c)| c.unsigned_abs()).copied();
            let Some((var, coefficient)) = smallest else { return Ok(()) };
            if coefficient.unsigned_abs() == 1 {
                let value = row.without(var).combine(-coefficient, &ZERO, 1).ok_or(Stop::TooHard)?;
                return self.define(var, value, pending);
            }
            // One step of Euclid: a new variable takes over the multiples of the smallest coefficient.
            let fresh = self.next;
            self.next += 1;
            let mut value = Row {
                terms: Vec::new(),
                constant: row.constant.div_euclid(coefficient).checked_neg().ok_or(Stop::TooHard)?,
            };
            for (other, c) in &row.terms {
                let q = c.div_euclid(coefficient);
                if *other != var && q != 0 {
                    value.terms.push((*other, -q));
                }
            }
            value.terms.push((fresh, 1));
            row = row.replace(var, &value).ok_or(Stop::TooHard)?;
            self.define(var, value, pending)?;
        }
    }

    fn define(&mut self, var: Number, value: Row, pending: &mut [Row]) -> Result<(), Stop> {
        for row in pending.iter_mut() {
            *row = row.replace(var, &value).ok_or(Stop::TooHard)?;
        }
        let (affected, kept): (Vec<Row>, Vec<Row>) =
            std::mem::take(&mut self.rows).into_iter().partition(|row| row.coefficient(var) != 0);
        self.rows = kept;
        for row in affected {
            self.push(row.replace(var, &value).ok_or(Stop::TooHard)?)?;
        }
        self.gone.push(Eliminated::Defined { var, value });
        Ok(())
    }

    /// The variable whose elimination adds the fewest rows; exact eliminations first.
    fn cheapest(&self) -> Option<Number> {
        let mut seen: Vec<(Number, usize, usize, bool, bool)> = Vec::new();
        for (var, c) in self.rows.iter().flat_map(|row| &row.terms) {
            let at = match seen.iter().position(|(v, ..)| v == var) {
                Some(at) => at,
                None => {
                    seen.push((*var, 0, 0, true, true));
                    seen.len() - 1
                }
            };
            if let Some((_, lower, upper, unit_lower, unit_upper)) = seen.get_mut(at) {
                if *c < 0 {
                    *lower += 1;
                    *unit_lower &= *c == -1;
                } else {
                    *upper += 1;
                    *unit_upper &= *c == 1;
                }
            }
        }
        seen.into_iter()
            .min_by_key(|(var, lower, upper, unit_lower, unit_upper)| {
                let exact = *unit_lower || *unit_upper || *lower == 0 || *upper == 0;
                (!exact, (lower * upper) as i64 - (lower + upper) as i64, *var)
            })
            .map(|(var, ..)| var)
    }

    fn eliminate(&mut self, var: Number) -> Result<(), Stop> {
        let (bounds, kept): (Vec<Row>, Vec<Row>) =
            std::mem::take(&mut self.rows).into_iter().partition(|row| row.coefficient(var) != 0);
        self.rows = kept;
        for lower in bounds.iter().filter(|row| row.coefficient(var) < 0) {
            for upper in bounds.iter().filter(|row| row.coefficient(var) > 0) {
                let (a, b) = (upper.coefficient(var), -lower.coefficient(var));
                let common = gcd(a, b);
                self.push(lower.combine(a / common, upper, b / common).ok_or(Stop::TooHard)?)?;
            }
        }
        self.gone.push(Eliminated::Bounded { var, rows: bounds });
        Ok(())
    }

    /// Values that satisfy every elimination, last first; variables without a bound are 0.
    fn solution(&self) -> Option<Vec<i64>> {
        let mut values = vec![0; self.next as usize];
        for step in self.gone.iter().rev() {
            let (var, value) = match step {
                Eliminated::Defined { var, value } => (*var, value.evaluate(&values)?),
                Eliminated::Bounded { var, rows } => (*var, within(*var, rows, &values)?),
            };
            *values.get_mut(var as usize)? = value;
        }
        Some(values)
    }
}

const ZERO: Row = Row { terms: Vec::new(), constant: 0 };

fn opposite(a: &Row, b: &Row) -> bool {
    a.terms.len() == b.terms.len()
        && a.terms.iter().zip(&b.terms).all(|((v, c), (w, d))| v == w && c.checked_neg() == Some(*d))
}

/// The value nearest to zero that the bounds of `var` allow.
fn within(var: Number, rows: &[Row], values: &[i64]) -> Option<i64> {
    let (mut lo, mut hi) = (i64::MIN, i64::MAX);
    for row in rows {
        let (coefficient, rest) = (row.coefficient(var), row.without(var).evaluate(values)?);
        // coefficient * var + rest <= 0
        if coefficient > 0 {
            hi = hi.min(rest.checked_neg()?.div_euclid(coefficient));
        } else {
            let size = coefficient.checked_neg()?;
            lo = lo.max(rest.checked_add(size - 1)?.div_euclid(size));
        }
    }
    (lo <= hi).then(|| 0.clamp(lo, hi))
}
