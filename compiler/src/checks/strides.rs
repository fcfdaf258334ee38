//! Strides that the asserts of a definition fix must keep the elements of a written window apart.
//!
//! Everything else that is proven takes distinct elements to be distinct places. Of strides that no assert fixes that is what
//! callers owe: the compiler's own windows have it, and the checked mode of the C code tests it.

use crate::analysis::facts::Facts;
use crate::analysis::formula::Formula;
use crate::analysis::linear::{Linear, Var};
use crate::analysis::mutation;
use crate::analysis::solver::{Satisfiable, Solver};
use crate::checks::claim::Failure;
use crate::cursor::path::Path;
use crate::diagnostic::codes;
use crate::loop_ir::{Arg, ArgType, DataType, ExprKind, Proc, visit};
use crate::print::Names;

/// Whether an assert speaks of strides at all.
pub(super) fn asserted(proc: &Proc) -> bool {
    let mut found = false;
    for pred in &proc.preds {
        visit::each_expr(pred, &mut |node| found |= matches!(node.kind, ExprKind::Stride { .. }));
    }
    found
}

/// The window parameters, among those that `written` picks, whose asserted strides make elements overlap.
pub(super) fn overlapping(
    proc: &Proc,
    facts: &Facts,
    written: &dyn Fn(&Arg) -> bool,
    solver: &mut Solver,
) -> Vec<Failure> {
    let mut failures = Vec::new();
    for arg in &proc.args {
        let ArgType::Data(ty) = &arg.ty else { continue };
        if !ty.is_window || !written(arg) {
            continue;
        }
        let apart = Window { arg, facts }.apart(ty, solver);
        if !mutation::passes("asserted strides keep the elements of a written window apart", apart) {
            let names = Names::of(proc);
            let name = names.get(&arg.name);
            let message = format!("elements of `{name}`, which is written, overlap with the strides that are asserted");
            let hint = "leave the strides open, give them values at which each row ends before the next one starts, or \
                        bound the extents with an assert";
            failures.push(Failure::new(codes::STRIDES, message, &arg.span, &Path::root(), "").hint(hint));
        }
    }
    failures
}

/// A window parameter where the asserts hold.
struct Window<'a> {
    arg: &'a Arg,
    facts: &'a Facts,
}

impl Window<'_> {
    fn apart(&self, ty: &DataType, solver: &mut Solver) -> bool {
        // Dimensions of extent 1 have no second element.
        let mut dims: Vec<(usize, Linear)> = Vec::new();
        for (dim, extent) in ty.shape.iter().enumerate() {
            let Some(extent) = self.facts.index(extent) else { continue };
            let more = Formula::below(&Linear::constant(1), &extent);
            if more.is_none_or(|more| solver.satisfiable(&self.facts.known, &more) != Satisfiable::No) {
                dims.push((dim, extent));
            }
        }
        let distinct = dims.iter().enumerate().all(|(at, (one, _))| {
            dims.iter().skip(at + 1).all(|(other, _)| !self.sure(self.equal(*one, *other), solver))
        });
        distinct && self.fixed_apart(&dims, solver)
    }

    /// For the strides with a fixed value, smallest first: each steps over all that the smaller ones reach.
    fn fixed_apart(&self, dims: &[(usize, Linear)], solver: &mut Solver) -> bool {
        let mut fixed: Vec<(i64, &Linear)> = Vec::new();
        for (dim, extent) in dims {
            if let Some(step) = self.value(*dim, solver).and_then(i64::checked_abs) {
                fixed.push((step, extent));
            }
        }
        fixed.sort_by_key(|(step, _)| *step);
        // The farthest element that the strides so far reach.
        let mut reach = Some(Linear::constant(0));
        fixed.into_iter().all(|(step, extent)| {
            let clear = reach.as_ref().and_then(|reach| Formula::below(reach, &Linear::constant(step)));
            let clear = clear.and_then(|clear| clear.negated());
            let further = extent.plus(-1);
            reach = reach.as_ref().zip(further).and_then(|(reach, further)| reach.add_scaled(&further, step));
            clear.is_some_and(|meets| solver.satisfiable(&self.facts.known, &meets) == Satisfiable::No)
        })
    }

    fn stride(&self, dim: usize) -> Linear {
        Linear::var(Var::Stride(self.arg.name.clone(), dim))
    }

    fn equal(&self, one: usize, other: usize) -> Option<Formula> {
        Formula::equal(&self.stride(one), &self.stride(other))
    }

    /// The only value that the asserts leave for a stride.
    fn value(&self, dim: usize, solver: &mut Solver) -> Option<i64> {
        let stride = self.stride(dim);
        let any = Formula::or(vec![
            Formula::at_most(&stride, &Linear::constant(0))?,
            Formula::below(&Linear::constant(0), &stride)?,
        ]);
        let Satisfiable::Yes(values) = solver.satisfiable(&self.facts.known, &any) else { return None };
        let wanted = Var::Stride(self.arg.name.clone(), dim);
        let (_, value) = values.into_iter().find(|(var, _)| *var == wanted)?;
        self.sure(Formula::equal(&stride, &Linear::constant(value)), solver).then_some(value)
    }

    fn sure(&self, formula: Option<Formula>, solver: &mut Solver) -> bool {
        let opposite = formula.and_then(|formula| formula.negated());
        opposite.is_some_and(|opposite| solver.satisfiable(&self.facts.known, &opposite) == Satisfiable::No)
    }
}
