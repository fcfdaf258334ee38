//! Formulas with their variables numbered in order of appearance: the form that is decided, cached and sent to Z3.

use std::collections::HashMap;

use crate::analysis::cases::Tree;
use crate::analysis::conjunction::{Number, Row};
use crate::analysis::formula::Formula;
use crate::analysis::linear::{Linear, Quotient, Var};
use crate::symbol::Sym;

/// A closed question: can all these hold at once? Quotients are defined by constraints of their own.
#[derive(Debug, Default)]
pub struct Numbered {
    pub trees: Vec<Tree>,
    /// The variable behind each number.
    pub vars: Vec<Var>,
    numbers: HashMap<Var, Number>,
    /// Constraints that define quotients met since the last flush.
    definitions: Vec<Tree>,
}

impl Numbered {
    /// The question whether `goal` can hold together with those of `facts` that bear on it. Also gives the others.
    pub fn of<'a>(goal: &Formula, facts: &'a [Formula]) -> Option<(Self, Vec<&'a Formula>)> {
        let mut numbered = Numbered::default();
        numbered.add(goal)?;
        let mut rest: Vec<&Formula> = facts.iter().collect();
        loop {
            let before = rest.len();
            let mut left = Vec::with_capacity(before);
            for fact in rest {
                if fact.any_var(&mut |var| numbered.numbers.contains_key(var)) || *fact == Formula::False {
                    numbered.add(fact)?;
                } else {
                    left.push(fact);
                }
            }
            rest = left;
            if rest.len() == before {
                return Some((numbered, rest));
            }
        }
    }

    fn add(&mut self, formula: &Formula) -> Option<()> {
        let tree = self.tree(formula)?;
        self.trees.push(tree);
        self.trees.append(&mut self.definitions);
        Some(())
    }

    fn tree(&mut self, formula: &Formula) -> Option<Tree> {
        Some(match formula {
            Formula::True => Tree::And(Vec::new()),
            Formula::False => Tree::False,
            Formula::Le(linear) => Tree::Le(self.row(linear)?),
            Formula::Eq(linear) => Tree::Eq(self.row(linear)?),
            Formula::And(parts) => Tree::And(parts.iter().map(|part| self.tree(part)).collect::<Option<_>>()?),
            Formula::Or(parts) => Tree::Or(parts.iter().map(|part| self.tree(part)).collect::<Option<_>>()?),
            Formula::Forall(bound, body) => self.universal(bound, body)?,
        })
    }

    /// Quotients of bound variables are bound as well: they are unique, so "for all" with their definition as a premise
    /// says the same.
    fn universal(&mut self, bound: &[Sym], body: &Formula) -> Option<Tree> {
        let mut free = std::mem::take(&mut self.definitions);
        let first = self.vars.len();
        for symbol in bound {
            self.number(&Var::Sym(symbol.clone()));
        }
        let body = self.tree(body)?;
        let dependent = |var: &Var| match var {
            Var::Sym(symbol) => bound.contains(symbol),
            Var::Stride(..) => false,
            Var::Quotient(quotient) => bound.iter().any(|symbol| quotient.num.mentions(symbol)),
        };
        let numbers: Vec<Number> = (first..self.vars.len())
            .filter(|at| self.vars.get(*at).is_some_and(dependent))
            .map(|at| at as Number)
            .collect();
        let mut parts = Vec::new();
        for definition in std::mem::take(&mut self.definitions) {
            if mentions(&definition, &numbers) {
                parts.push(refuted(&definition)?);
            } else {
                free.push(definition);
            }
        }
        self.definitions = free;
        parts.push(body);
        Some(Tree::Forall(numbers, Box::new(Tree::Or(parts))))
    }

    fn row(&mut self, linear: &Linear) -> Option<Row> {
        let mut terms: Vec<(Number, i64)> =
            linear.terms().iter().map(|(var, coefficient)| (self.number(var), *coefficient)).collect();
        terms.sort_unstable_by_key(|(number, _)| *number);
        Some(Row { terms, constant: linear.offset() })
    }

    fn number(&mut self, var: &Var) -> Number {
        if let Some(number) = self.numbers.get(var) {
            return *number;
        }
        let number = self.vars.len() as Number;
        self.vars.push(var.clone());
        self.numbers.insert(var.clone(), number);
        if let Var::Quotient(quotient) = var {
            // Without its definition a quotient is only less known, so an overflow here loses no soundness.
            let _ = self.define(number, quotient);
        }
        number
    }

    /// `den * q <= num <= den * q + den - 1`.
    fn define(&mut self, number: Number, quotient: &Quotient) -> Option<()> {
        let num = self.row(&quotient.num)?;
        let multiple = Row { terms: vec![(number, quotient.den)], constant: 0 };
        let below = multiple.combine(1, &num, -1)?;
        let mut above = num.combine(1, &multiple, -1)?;
        above.constant = above.constant.checked_sub(quotient.den - 1)?;
        self.definitions.extend([Tree::Le(below), Tree::Le(above)]);
        Some(())
    }

    /// Equal for questions that differ in the names of their variables only.
    pub fn key(&self) -> Vec<i64> {
        let mut key = vec![self.vars.len() as i64];
        self.trees.iter().for_each(|tree| write_key(tree, &mut key));
        key
    }
}

fn write_key(tree: &Tree, key: &mut Vec<i64>) {
    match tree {
        Tree::Le(row) => write_row(0, row, key),
        Tree::Eq(row) => write_row(1, row, key),
        Tree::And(parts) => write_parts(2, parts, key),
        Tree::Or(parts) => write_parts(3, parts, key),
        Tree::False => key.push(4),
        Tree::Forall(bound, body) => {
            key.extend([5, bound.len() as i64]);
            key.extend(bound.iter().map(|number| i64::from(*number)));
            write_key(body, key);
        }
    }
}

fn write_row(tag: i64, row: &Row, key: &mut Vec<i64>) {
    key.extend([tag, row.terms.len() as i64, row.constant]);
    key.extend(row.terms.iter().flat_map(|(number, coefficient)| [i64::from(*number), *coefficient]));
}

fn write_parts(tag: i64, parts: &[Tree], key: &mut Vec<i64>) {
    key.extend([tag, parts.len() as i64]);
    parts.iter().for_each(|part| write_key(part, key));
}

fn mentions(tree: &Tree, numbers: &[Number]) -> bool {
    match tree {
        Tree::Le(row) | Tree::Eq(row) => row.terms.iter().any(|(var, _)| numbers.contains(var)),
        Tree::And(parts) | Tree::Or(parts) => parts.iter().any(|part| mentions(part, numbers)),
        Tree::False => false,
        Tree::Forall(_, body) => mentions(body, numbers),
    }
}

/// The negation of an inequality.
fn refuted(tree: &Tree) -> Option<Tree> {
    match tree {
        Tree::Le(row) => {
            let mut row = row.combine(-1, &Row { terms: Vec::new(), constant: 1 }, 1)?;
            row.terms.retain(|(_, c)| *c != 0);
            Some(Tree::Le(row))
        }
        Tree::Eq(_) | Tree::And(_) | Tree::Or(_) | Tree::False | Tree::Forall(..) => None,
    }
}
