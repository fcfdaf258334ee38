//! Accesses and windows stay inside what they are taken from.

use crate::analysis::formula::Formula;
use crate::analysis::linear::Linear;
use crate::analysis::solver::Solver;
use crate::checks::claim::{Failure, Site};
use crate::diagnostic::{codes, counted};
use crate::loop_ir::visit;
use crate::loop_ir::{Access, Expr, ExprKind, Ty};
use crate::print::Names;
use crate::source::Span;
use crate::symbol::Sym;

/// An element access by name: each index lies in the extent of its dimension of that very name, window or buffer.
#[track_caller]
pub fn element(
    site: &Site<'_>,
    name: &Sym,
    idx: &[Expr],
    verb: &str,
    span: &Span,
    solver: &mut Solver,
) -> Result<(), Failure> {
    let shape = site.facts.scope.shape(name).unwrap_or_default();
    if shape.len() != idx.len() {
        let (rank, given) = (counted(shape.len(), "dimension"), counted(idx.len(), "index"));
        let message = format!("`{name}` has {rank} but is {verb} with {given}");
        return Err(Failure::new(codes::TYPE, message, span, site.at, ""));
    }
    for (index, extent) in idx.iter().zip(&shape) {
        let goal = match (site.facts.index(index), site.facts.index(extent)) {
            (Some(index), Some(extent)) => inside(&index, &extent),
            _ => None,
        };
        site.require(goal, solver, |names| {
            let message = format!("`{}` may be {verb} out of bounds", names.place(name, idx));
            let failure = Failure::new(codes::BOUNDS, message, span, site.at, between(index, extent, names));
            failure.hint(remedy(names.get(name)))
        })?;
    }
    Ok(())
}

/// What usually helps against an access that may lie outside.
fn remedy(name: &str) -> String {
    format!("state what bounds the index (an `assert`, or an `if` around the access), or make `{name}` larger")
}

fn inside(index: &Linear, extent: &Linear) -> Option<Formula> {
    Some(Formula::and(vec![Formula::at_most(&Linear::constant(0), index)?, Formula::below(index, extent)?]))
}

fn between(index: &Expr, extent: &Expr, names: &Names) -> String {
    format!("0 <= {} and {} < {}", names.expr(index), names.expr(index), names.expr(extent))
}

/// A window: points inside, intervals inside. An interval may have no element, and then nothing is reached through it: each
/// element access is held against the extents of the window, and a parameter has positive extents.
#[track_caller]
pub fn window(site: &Site<'_>, name: &Sym, idx: &[Access], span: &Span, solver: &mut Solver) -> Result<(), Failure> {
    let shape = site.facts.scope.shape(name).unwrap_or_default();
    if shape.len() != idx.len() {
        let message = format!("`{name}` has {} but the window gives {}", counted(shape.len(), "dimension"), idx.len());
        return Err(Failure::new(codes::TYPE, message, span, site.at, ""));
    }
    for (access, extent) in idx.iter().zip(&shape) {
        match access {
            Access::Point(point) => {
                let goal = match (site.facts.index(point), site.facts.index(extent)) {
                    (Some(point), Some(extent)) => inside(&point, &extent),
                    _ => None,
                };
                site.require(goal, solver, |names| {
                    let message = format!("a window of `{}` may lie out of bounds", names.get(name));
                    let failure = Failure::new(codes::BOUNDS, message, span, site.at, between(point, extent, names));
                    failure.hint(remedy(names.get(name)))
                })?;
            }
            Access::Interval { lo, hi } => interval(site, name, lo, hi, extent, span, solver)?,
        }
    }
    Ok(())
}

#[track_caller]
fn interval(
    site: &Site<'_>,
    name: &Sym,
    lo: &Expr,
    hi: &Expr,
    extent: &Expr,
    span: &Span,
    solver: &mut Solver,
) -> Result<(), Failure> {
    let (low, high, end) = (site.facts.index(lo), site.facts.index(hi), site.facts.index(extent));
    let within = match (&low, &high, &end) {
        (Some(low), Some(high), Some(end)) => {
            let parts = [Formula::at_most(&Linear::constant(0), low), Formula::at_most(high, end)];
            parts.into_iter().collect::<Option<Vec<_>>>().map(Formula::and)
        }
        _ => None,
    };
    site.require(within, solver, |names| {
        let message = format!("a window of `{}` may lie out of bounds", names.get(name));
        let condition = format!("0 <= {} and {} <= {}", names.expr(lo), names.expr(hi), names.expr(extent));
        Failure::new(codes::BOUNDS, message, span, site.at, condition).hint(remedy(names.get(name)))
    })?;
    let ordered = low.zip(high).and_then(|(low, high)| Formula::at_most(&low, &high));
    site.require(ordered, solver, |names| {
        let message = format!("a window of `{}` may end before it starts", names.get(name));
        let condition = format!("{} <= {}", names.expr(lo), names.expr(hi));
        Failure::new(codes::EXTENT, message, span, site.at, condition)
            .hint("state it with an `assert`, or put an `if` around the code")
    })
}

/// All element reads and windows in an expression. `counts` picks the names that are looked at.
pub fn expression(site: &Site<'_>, expr: &Expr, counts: &dyn Fn(&Sym) -> bool, solver: &mut Solver) -> Vec<Failure> {
    let mut failures = Vec::new();
    visit::each_expr(expr, &mut |node| {
        let outcome = match &node.kind {
            ExprKind::Read { name, idx } if node.ty == Ty::Data && !idx.is_empty() && counts(name) => {
                element(site, name, idx, "read", &node.span, solver)
            }
            ExprKind::Window { name, idx } if counts(name) => window(site, name, idx, &node.span, solver),
            ExprKind::Read { .. }
            | ExprKind::Window { .. }
            | ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => Ok(()),
        };
        failures.extend(outcome.err());
    });
    failures
}
