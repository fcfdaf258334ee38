//! Decides and/or combinations of linear constraints by splitting cases, each a conjunction.

use crate::analysis::conjunction::{self, Row, Verdict};

/// A formula over numbered variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// `row <= 0`.
    Le(Row),
    /// `row == 0`.
    Eq(Row),
    And(Vec<Tree>),
    Or(Vec<Tree>),
    False,
    /// For all values of these variables; not decided here.
    Forall(Vec<conjunction::Number>, Box<Tree>),
}

/// Conjunctions that one question may cost before it is left to Z3.
const MOST_CASES: u32 = 1500;

/// Rows that one question may add, over all its cases: some tens of milliseconds.
const MOST_WORK: u64 = 100_000;

/// Decides whether all of `trees` can hold at once, over the variables `0..variables`.
pub fn decide(trees: &[Tree], variables: u32) -> Verdict {
    let mut split = Split { variables, budget: MOST_CASES, work: MOST_WORK, quantified: false };
    let mut case = Case::default();
    for tree in trees {
        case.add(tree, &mut split);
    }
    split.decide(case)
}

/// Whether a tree holds under an assignment; a quantified one is not known to.
fn holds(tree: &Tree, values: &[i64]) -> bool {
    match tree {
        Tree::Le(row) => row.holds_le(values),
        Tree::Eq(row) => row.holds_eq(values),
        Tree::And(parts) => parts.iter().all(|part| holds(part, values)),
        Tree::Or(parts) => parts.iter().any(|part| holds(part, values)),
        Tree::False | Tree::Forall(..) => false,
    }
}

#[derive(Clone, Default)]
struct Case<'a> {
    equalities: Vec<Row>,
    inequalities: Vec<Row>,
    choices: Vec<&'a [Tree]>,
    contradiction: bool,
}

impl<'a> Case<'a> {
    fn add(&mut self, tree: &'a Tree, split: &mut Split) {
        match tree {
            Tree::Le(row) => self.inequalities.push(row.clone()),
            Tree::Eq(row) => self.equalities.push(row.clone()),
            Tree::And(parts) => parts.iter().for_each(|part| self.add(part, split)),
            Tree::Or(parts) => self.choices.push(parts),
            Tree::False => self.contradiction = true,
            // Leaving a constraint out keeps "no solution" true and makes a solution doubtful.
            Tree::Forall(..) => split.quantified = true,
        }
    }
}

struct Split {
    variables: u32,
    budget: u32,
    work: u64,
    quantified: bool,
}

impl Split {
    fn decide(&mut self, mut case: Case<'_>) -> Verdict {
        if case.contradiction {
            return Verdict::Unsat;
        }
        let Some(left) = self.budget.checked_sub(1) else { return Verdict::Unknown };
        self.budget = left;
        let here = conjunction::decide(&case.equalities, &case.inequalities, self.variables, &mut self.work);
        let settled = |choice: &&[Tree], values: &[i64]| choice.iter().any(|tree| holds(tree, values));
        let next = match &here {
            Verdict::Unsat => return Verdict::Unsat,
            // Split on a choice that the solution at hand breaks; when there is none, it is a solution of all.
            Verdict::Sat(values) => case
                .choices
                .iter()
                .enumerate()
                .filter(|(_, choice)| !settled(choice, values))
                .min_by_key(|(_, c)| c.len()),
            Verdict::Unknown => case.choices.iter().enumerate().min_by_key(|(_, choice)| choice.len()),
        };
        let Some(at) = next.map(|(at, _)| at) else {
            return if self.quantified { Verdict::Unknown } else { here };
        };
        let choice = case.choices.remove(at);
        let mut outcome = Verdict::Unsat;
        for tree in choice {
            let mut next = case.clone();
            next.add(tree, self);
            match self.decide(next) {
                Verdict::Unsat => {}
                Verdict::Sat(values) => return Verdict::Sat(values),
                Verdict::Unknown => outcome = Verdict::Unknown,
            }
        }
        outcome
    }
}
