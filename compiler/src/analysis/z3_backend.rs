//! Z3, for the questions that splitting into conjunctions leaves open.

use z3::ast::{Ast, Bool, Int};
use z3::{Params, SatResult, Tactic};

use crate::analysis::cases::Tree;
use crate::analysis::conjunction::{Number, Row, Verdict};

/// One incremental Z3. Starting it costs milliseconds, so it is made when the first question needs it.
pub struct Backend {
    units: u32,
    solver: z3::Solver,
    /// The constant for each variable number; shared by all questions.
    constants: Vec<Int>,
}

impl Backend {
    /// `units` bounds one question in Z3's resource units, which do not depend on the machine's load.
    pub fn new(units: u32) -> Self {
        Backend { units, solver: z3::Solver::new(), constants: Vec::new() }
    }

    /// Whether all of `trees` can hold at once.
    pub fn decide(&mut self, trees: &[Tree], variables: u32) -> Verdict {
        for number in self.constants.len()..variables as usize {
            self.constants.push(Int::new_const(format!("v{number}")));
        }
        let Some(formulas) = trees.iter().map(|tree| self.formula(tree)).collect::<Option<Vec<Bool>>>() else {
            return Verdict::Unknown;
        };
        if trees.iter().any(has_quantifier) {
            // The incremental solver only guesses at instances of quantifiers; this one eliminates them.
            let solver = Tactic::new("qe").and_then(&Tactic::new("smt")).solver();
            return self.check(&solver, &formulas, variables);
        }
        self.solver.push();
        let verdict = self.check(&self.solver, &formulas, variables);
        self.solver.pop(1);
        verdict
    }

    fn check(&self, solver: &z3::Solver, formulas: &[Bool], variables: u32) -> Verdict {
        let mut limits = Params::new();
        limits.set_u32("rlimit", self.units);
        solver.set_params(&limits);
        for formula in formulas {
            solver.assert(formula);
        }
        match solver.check() {
            SatResult::Unsat => Verdict::Unsat,
            SatResult::Unknown => Verdict::Unknown,
            SatResult::Sat => self.model(solver, variables).map_or(Verdict::Unknown, Verdict::Sat),
        }
    }

    fn model(&self, solver: &z3::Solver, variables: u32) -> Option<Vec<i64>> {
        let model = solver.get_model()?;
        self.constants.iter().take(variables as usize).map(|c| model.eval(c, true)?.as_i64()).collect()
    }

    fn formula(&self, tree: &Tree) -> Option<Bool> {
        Some(match tree {
            Tree::Le(row) => self.sum(row)?.le(Int::from_i64(0)),
            Tree::Eq(row) => Ast::eq(&self.sum(row)?, Int::from_i64(0)),
            Tree::And(parts) => Bool::and(&self.formulas(parts)?),
            Tree::Or(parts) => Bool::or(&self.formulas(parts)?),
            Tree::False => Bool::from_bool(false),
            Tree::Forall(bound, body) => {
                let bound: Vec<&Int> = bound.iter().map(|number| self.constant(*number)).collect::<Option<_>>()?;
                let bound: Vec<&dyn Ast> = bound.into_iter().map(|constant| constant as &dyn Ast).collect();
                z3::ast::forall_const(&bound, &[], &self.formula(body)?)
            }
        })
    }

    fn formulas(&self, trees: &[Tree]) -> Option<Vec<Bool>> {
        trees.iter().map(|tree| self.formula(tree)).collect()
    }

    fn constant(&self, number: Number) -> Option<&Int> {
        self.constants.get(number as usize)
    }

    fn sum(&self, row: &Row) -> Option<Int> {
        let mut summands = vec![Int::from_i64(row.constant)];
        for (number, coefficient) in &row.terms {
            summands.push(Int::mul(&[Int::from_i64(*coefficient), self.constant(*number)?.clone()]));
        }
        Some(Int::add(&summands))
    }
}

fn has_quantifier(tree: &Tree) -> bool {
    match tree {
        Tree::Le(_) | Tree::Eq(_) | Tree::False => false,
        Tree::And(parts) | Tree::Or(parts) => parts.iter().any(has_quantifier),
        Tree::Forall(..) => true,
    }
}

/// Name and version of the solver.
pub fn version() -> String {
    let full = z3::full_version();
    // "Z3 4.8.12.0 ..." or "4.8.12.0"
    let number = full.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(full);
    let short: Vec<&str> = number.split('.').take(3).collect();
    format!("z3 {}", short.join("."))
}
