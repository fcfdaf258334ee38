//! The one call checker: arguments agree with parameters, preconditions hold, arguments do not alias.

use std::sync::Arc;

use crate::analysis::callees;
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::mutation;
use crate::analysis::regions;
use crate::analysis::solver::Solver;
use crate::checks::bounds;
use crate::checks::claim::{Failure, Site};
use crate::checks::precondition::Precondition;
use crate::cursor::path::{self, Path};
use crate::diagnostic::{Diagnostic, codes, counted};
use crate::loop_ir::declarations::{Alias, Declarations, window_shape};
use crate::loop_ir::substitute::{Substitution, alpha_rename_header, substitute};
use crate::loop_ir::{Arg, ArgType, Control, DataType, Expr, ExprKind, Proc, StmtKind, Ty};
use crate::print::Names;
use crate::source::Span;
use crate::symbol::Sym;

/// Checks the call at a path.
pub fn check_at(proc: &Proc, at: &Path, solver: &mut Solver) -> Result<(), Vec<Diagnostic>> {
    let facts = Facts::at(proc, at);
    let failures = match path::stmt(proc, at).map(|stmt| (&stmt.kind, &stmt.span)) {
        Some((StmtKind::Call { callee, args }, span)) => {
            Call { site: Site { proc, facts: &facts, at }, callee, args, span }.check(solver)
        }
        Some(_) | None => vec![Failure::new(codes::CALL, "there is no call here", &Span::none(), at, "")],
    };
    if failures.is_empty() { Ok(()) } else { Err(failures.into_iter().map(Failure::diagnostic).collect()) }
}

/// One call and where it stands.
pub struct Call<'a> {
    pub site: Site<'a>,
    pub callee: &'a Arc<Proc>,
    pub args: &'a [Expr],
    pub span: &'a Span,
}

impl Call<'_> {
    /// Everything that is wrong with the call.
    pub fn check(&self, solver: &mut Solver) -> Vec<Failure> {
        if !mutation::passes("a call gives every argument", self.callee.args.len() == self.args.len()) {
            let message = format!(
                "`{}` takes {} but is given {}",
                self.callee.name,
                counted(self.callee.args.len(), "argument"),
                self.args.len()
            );
            return vec![self.failure(message, "")];
        }
        let mut failures: Vec<Failure> = Vec::new();
        for (formal, actual) in self.callee.args.iter().zip(self.args) {
            failures.extend(bounds::expression(&self.site, actual, &|_| true, solver));
            failures.extend(self.kind(formal, actual).err());
        }
        if !failures.is_empty() {
            return failures;
        }
        let values = self.substitution();
        for (formal, actual) in self.callee.args.iter().zip(self.args) {
            let outcome = match &formal.ty {
                ArgType::Control(Control::Size) => self.positive(formal, actual, solver),
                ArgType::Control(_) => Ok(()),
                ArgType::Data(ty) => self.data(formal, ty, actual, &values, solver),
            };
            failures.extend(outcome.err());
        }
        if failures.is_empty() {
            failures.extend(self.asserts(solver));
            failures.extend(self.aliasing(solver));
        }
        failures
    }

    fn failure(&self, message: String, condition: impl Into<String>) -> Failure {
        Failure::new(codes::CALL, message, self.span, self.site.at, condition)
    }

    fn scope(&self) -> &Declarations {
        &self.site.facts.scope
    }

    /// Kind and rank.
    fn kind(&self, formal: &Arg, actual: &Expr) -> Result<(), Failure> {
        let fits = match (&formal.ty, actual.ty) {
            (ArgType::Control(Control::Size | Control::Index | Control::Int), ty) => ty.is_indexable(),
            (ArgType::Control(Control::Bool), ty) => ty == Ty::BOOL,
            (ArgType::Control(Control::Stride), ty) => ty == Ty::STRIDE || ty == Ty::INT,
            (ArgType::Data(_), ty) => ty == Ty::Data,
        };
        if !mutation::passes("an argument is of its parameter's kind", fits) {
            return Err(self.mismatch(formal, "is of another kind"));
        }
        let ArgType::Data(ty) = &formal.ty else { return Ok(()) };
        // As in source text: what is passed by reference has a name of its own, or is a window.
        if matches!(&actual.kind, ExprKind::Read { idx, .. } if !idx.is_empty()) {
            return Err(self
                .mismatch(formal, "is an element of a buffer, and scalars are passed by name")
                .hint("store it in a scalar first, with `bind_expr` or an assignment, and pass that"));
        }
        let Some(shape) = self.shape(actual) else {
            return Err(self
                .mismatch(formal, "is a value without a place")
                .hint("data is passed by reference: store the value in a scalar first"));
        };
        if !mutation::passes("an argument has its parameter's rank", shape.len() == ty.rank()) {
            let what = format!("has {} instead of {}", counted(shape.len(), "dimension"), ty.rank());
            return Err(self.mismatch(formal, &what));
        }
        Ok(())
    }

    fn mismatch(&self, formal: &Arg, what: &str) -> Failure {
        self.failure(format!("argument `{}` of `{}` {what}", formal.name, self.callee.name), "")
    }

    /// The extents of a data argument; `None` for a value that has no place.
    fn shape(&self, actual: &Expr) -> Option<Vec<Expr>> {
        match &actual.kind {
            ExprKind::Read { name, idx } if idx.is_empty() => self.scope().shape(name),
            ExprKind::Window { idx, .. } => Some(window_shape(idx)),
            ExprKind::Read { .. }
            | ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => None,
        }
    }

    /// Formals to actuals: control parameters to expressions, buffers left alone.
    fn substitution(&self) -> Substitution {
        let pairs = self.callee.args.iter().zip(self.args);
        pairs
            .filter(|(formal, _)| matches!(formal.ty, ArgType::Control(_)))
            .map(|(formal, actual)| (formal.name.clone(), actual.clone()))
            .collect()
    }

    fn positive(&self, formal: &Arg, actual: &Expr, solver: &mut Solver) -> Result<(), Failure> {
        self.site.require_at_least(actual, 1, solver, |names| {
            let message = format!("size `{}` of `{}` may not be positive", formal.name, self.callee.name);
            let condition = format!("{} > 0", names.expr(actual));
            Failure::new(codes::EXTENT, message, self.span, self.site.at, condition).hint(
                "a `size` is at least 1: put an `if` around the call, or state with an `assert` that it is not empty",
            )
        })
    }

    /// Shape of a data argument, and whether it may be a part of a buffer: strides can be seen. (Memory and precision are in `fit`.)
    fn data(
        &self,
        formal: &Arg,
        ty: &DataType,
        actual: &Expr,
        values: &Substitution,
        solver: &mut Solver,
    ) -> Result<(), Failure> {
        for (dim, (expected, given)) in ty.shape.iter().zip(self.shape(actual).unwrap_or_default()).enumerate() {
            let expected = substitute(expected, values);
            let facts = self.site.facts;
            let goal = match (facts.index(&expected), facts.index(&given)) {
                (Some(expected), Some(given)) => Formula::equal(&expected, &given),
                _ => None,
            };
            self.site.require(goal, solver, |names| {
                let message = format!("extent {dim} of argument `{}` of `{}` differs", formal.name, self.callee.name);
                self.failure(message, format!("{} == {}", names.expr(&given), names.expr(&expected)))
            })?;
        }
        let Some(name) = named(actual) else { return Err(self.mismatch(formal, "is a value without a place")) };
        let partial = matches!(actual.kind, ExprKind::Window { .. }) || self.scope().is_window(name);
        if !mutation::passes(
            "a whole buffer is given where one is expected",
            ty.rank() == 0 || ty.is_window || !partial,
        ) {
            return Err(self
                .mismatch(formal, "is a window where a whole buffer is expected")
                .hint("declare the parameter as a window, such as `[f32][n]`"));
        }
        Ok(())
    }

    /// The callee's preconditions, with strides mapped through the windows that are passed.
    fn asserts(&self, solver: &mut Solver) -> Vec<Failure> {
        // Caller and callee can have symbols in common, when one derives from the other.
        let header = alpha_rename_header(self.callee);
        let precondition = Precondition::new(&header, self.args, self.scope());
        let mut failures = Vec::new();
        for (pred, renamed) in self.callee.preds.iter().zip(&header.preds) {
            let goal = precondition.at_call(renamed);
            let outcome = self.site.require(goal, solver, |names| {
                let stated = Names::of(self.callee).expr(pred);
                let message = format!("the assert `{stated}` of `{}` may not hold", self.callee.name);
                let condition = names.expr(&substitute(pred, &self.substitution()));
                Failure::new(codes::ASSERTION, message, self.span, self.site.at, condition)
            });
            failures.extend(outcome.err());
        }
        failures
    }

    /// Callees take their buffers to be distinct: two arguments of one root must both be only read, or be provably apart.
    fn aliasing(&self, solver: &mut Solver) -> Vec<Failure> {
        let mut failures = Vec::new();
        let places: Vec<(&Arg, &Expr, Alias)> = self
            .callee
            .args
            .iter()
            .zip(self.args)
            .filter_map(|(formal, actual)| Some((formal, actual, callees::argument(actual, self.scope())?)))
            .collect();
        for (k, (first, one, a)) in places.iter().enumerate() {
            for (second, two, b) in places.iter().skip(k + 1) {
                if a.root != b.root {
                    continue;
                }
                let written = [first, second].iter().any(|arg| solver.callees.modifies(self.callee, &arg.name));
                if written && !self.apart(one, a, two, b, solver) {
                    let names = Names::of(self.site.proc);
                    let message = format!(
                        "arguments `{}` and `{}` of `{}` may both be parts of `{}`, and it is written",
                        first.name,
                        second.name,
                        self.callee.name,
                        names.get(&a.root)
                    );
                    let condition = format!("{} and {} do not overlap", names.expr(one), names.expr(two));
                    failures.push(Failure::new(codes::ALIASING, message, self.span, self.site.at, condition));
                }
            }
        }
        failures
    }

    /// Whether two regions of one root are disjoint in some dimension.
    fn apart(&self, one: &Expr, a: &Alias, two: &Expr, b: &Alias, solver: &mut Solver) -> bool {
        let (Some(x), Some(y)) = (self.region(one, a), self.region(two, b)) else { return false };
        x.iter().zip(&y).any(|((low, high), (start, end))| {
            let parts = [Formula::at_most(high, start), Formula::at_most(end, low)];
            let goal = parts.into_iter().collect::<Option<Vec<_>>>().map(Formula::or);
            self.site.facts.proves(solver, goal.as_ref()) == Verified::Yes
        })
    }

    /// `lo..hi` in each dimension of the root.
    fn region(&self, actual: &Expr, alias: &Alias) -> Option<Vec<regions::Extent>> {
        regions::of_alias(alias, &self.shape(actual)?, self.scope())
    }
}

/// The name that a data argument is taken from.
fn named(actual: &Expr) -> Option<&Sym> {
    match &actual.kind {
        ExprKind::Read { name, .. } | ExprKind::Window { name, .. } => Some(name),
        ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Stride { .. } => None,
    }
}
