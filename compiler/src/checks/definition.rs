//! Safety of one definition, statement by statement, and the bounds of one buffer for rewrites of its shape.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analysis::conditions::Unproven;
use crate::analysis::effects;
use crate::analysis::facts::Facts;
use crate::analysis::formula::Formula;
use crate::analysis::iterations;
use crate::analysis::mutation;
use crate::analysis::solver::{Satisfiable, Solver};
use crate::analysis::unwritten;
use crate::checks::bounds;
use crate::checks::call::Call;
use crate::checks::claim::{Failure, Site};
use crate::checks::strides;
use crate::cursor::path::{self, Path, Step};
use crate::diagnostic::{Diagnostic, codes};
use crate::loop_ir::{
    Arg, ArgType, Block, Control, Expr, LoopMode, NameFilter, Proc, Stmt, StmtKind, configuration, visit,
};
use crate::print::Names;
use crate::symbol::Sym;

/// The whole check of a definition.
pub fn check(proc: &Proc, solver: &mut Solver) -> Result<(), Vec<Diagnostic>> {
    let (facts, mut failures) = header(proc, solver);
    let mut walk = Walk::new(proc, facts, Scope::Everything, solver);
    walk.block(&proc.body, &Path::root(), false);
    failures.append(&mut walk.failures);
    if failures.is_empty() {
        races(proc, solver, &mut failures);
        places(proc, solver, &mut failures);
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.into_iter().map(Failure::diagnostic).collect()) }
}

/// Asserts that can hold, and parameters of positive extent.
fn header(proc: &Proc, solver: &mut Solver) -> (Facts, Vec<Failure>) {
    let root = Path::root();
    let mut failures = Vec::new();
    let mut facts = Facts::of_args(proc);
    for (at, pred) in proc.preds.iter().enumerate() {
        let impossible =
            facts.boolean(pred).is_some_and(|formula| solver.satisfiable(&facts.known, &formula) == Satisfiable::No);
        if !mutation::passes("an assert can hold", !impossible) {
            failures.push(impossible_assert(proc, at, pred, solver));
            return (facts, failures);
        }
        facts.assume(pred);
    }
    for arg in &proc.args {
        let ArgType::Data(ty) = &arg.ty else { continue };
        let site = Site { proc, facts: &facts, at: &root };
        for extent in &ty.shape {
            failures.extend(extent_is_positive(&site, &arg.name, extent, solver).err());
        }
    }
    (facts, failures)
}

/// The failure for an assert that cannot hold after those before it, with the fewest of them that it contradicts.
fn impossible_assert(proc: &Proc, at: usize, pred: &Expr, solver: &mut Solver) -> Failure {
    let mut others: Vec<&Expr> = proc.preds.iter().take(at).collect();
    for k in (0..others.len()).rev() {
        let fewer: Vec<&Expr> =
            others.iter().enumerate().filter(|(position, _)| *position != k).map(|(_, other)| *other).collect();
        if contradict(proc, &fewer, pred, solver) {
            others = fewer;
        }
    }
    let names = Names::of(proc);
    let written: Vec<String> = others.iter().map(|other| format!("`{}`", names.expr(other))).collect();
    let condition = names.expr(pred);
    let message = match written.as_slice() {
        [] => format!("the assert `{condition}` can never hold"),
        [other] => format!("the assert `{condition}` can never hold where {other} does"),
        [before @ .., last] => {
            format!("the assert `{condition}` can never hold where {} and {last} do", before.join(", "))
        }
    };
    let failure = Failure::new(codes::ASSERTION, message, &pred.span, &Path::root(), "");
    let sizes = match contradicts_without_sizes(proc, &others, pred, solver) {
        true => Vec::new(),
        false => names_of_sizes(proc, others.iter().copied().chain([pred]), &names),
    };
    let failure = others.iter().fold(failure, |failure, other| failure.related(&other.span, "with this one"));
    match sizes.is_empty() {
        true => failure,
        false => failure.hint(format!("a `size` is at least 1: {}", sizes.join(", "))),
    }
}

/// Whether `pred` cannot hold for arguments that fulfil `others`.
fn contradict(proc: &Proc, others: &[&Expr], pred: &Expr, solver: &mut Solver) -> bool {
    let mut facts = Facts::of_args(proc);
    others.iter().for_each(|other| facts.assume(other));
    facts.boolean(pred).is_some_and(|formula| solver.satisfiable(&facts.known, &formula) == Satisfiable::No)
}

/// The same, were sizes any integers.
fn contradicts_without_sizes(proc: &Proc, others: &[&Expr], pred: &Expr, solver: &mut Solver) -> bool {
    let mut relaxed = proc.clone();
    for arg in &mut relaxed.args {
        if matches!(arg.ty, ArgType::Control(Control::Size)) {
            arg.ty = ArgType::Control(Control::Index);
        }
    }
    contradict(&relaxed, others, pred, solver)
}

/// The sizes that conditions mention.
fn names_of_sizes<'e>(proc: &Proc, conditions: impl Iterator<Item = &'e Expr>, names: &Names) -> Vec<String> {
    let mut mentioned = BTreeSet::new();
    conditions.for_each(|condition| visit::expr_symbols(condition, &mut mentioned));
    let sizes = proc.args.iter().filter(|arg| matches!(arg.ty, ArgType::Control(Control::Size)));
    sizes.filter(|arg| mentioned.contains(&arg.name)).map(|arg| format!("`{}`", names.get(&arg.name))).collect()
}

#[track_caller]
fn extent_is_positive(site: &Site<'_>, name: &Sym, extent: &Expr, solver: &mut Solver) -> Result<(), Failure> {
    site.require_at_least(extent, 1, solver, |names| {
        let message = format!("an extent of `{}` may not be positive", names.get(name));
        let condition = format!("{} > 0", names.expr(extent));
        let hint = match mentions_args_only(site.proc, [extent]) {
            true => format!("add `assert {condition}` at the start of the proc, or take a `size`, which is positive"),
            false => "put an `if` around the code that needs it, or make the extent larger".to_string(),
        };
        Failure::new(codes::EXTENT, message, &extent.span, site.at, condition).hint(hint)
    })
}

/// Whether an assert of the proc could say something about the expressions.
pub(in crate::checks) fn mentions_args_only<'e>(proc: &Proc, exprs: impl IntoIterator<Item = &'e Expr>) -> bool {
    let mut symbols = BTreeSet::new();
    exprs.into_iter().for_each(|expr| visit::expr_symbols(expr, &mut symbols));
    symbols.iter().all(|symbol| proc.args.iter().any(|arg| arg.name == *symbol))
}

/// What a walk looks at.
enum Scope {
    Everything,
    /// Accesses whose root is this buffer.
    Buffer(Sym),
    /// Calls at or below this place.
    Calls(Path),
}

struct Walk<'a> {
    proc: &'a Proc,
    facts: Facts,
    solver: &'a mut Solver,
    failures: Vec<Failure>,
    scope: Scope,
    /// Whether `facts` know every declaration of the proc, so that statements without interest can be left out.
    all_declared: bool,
    /// The names met so far that may stand for the buffer of [`Scope::Buffer`].
    aliases: NameFilter,
}

impl<'a> Walk<'a> {
    fn new(proc: &'a Proc, facts: Facts, scope: Scope, solver: &'a mut Solver) -> Self {
        let aliases = match &scope {
            Scope::Buffer(root) => NameFilter::of([root]),
            Scope::Everything | Scope::Calls(_) => NameFilter::default(),
        };
        Walk { proc, facts, solver, failures: Vec::new(), scope, all_declared: false, aliases }
    }

    fn block(&mut self, block: &Block, parent: &Path, orelse: bool) {
        for (k, stmt) in block.iter().enumerate() {
            let step = Step::statement(orelse, k);
            if !self.all_declared || self.may_count(stmt, parent, step) {
                self.stmt(stmt, &parent.child(step));
            }
        }
    }

    /// Whether something in a statement may be what the walk looks for.
    fn may_count(&self, stmt: &Stmt, parent: &Path, step: Step) -> bool {
        match &self.scope {
            Scope::Everything => true,
            // Whoever makes a new name for the buffer names it, so a statement that uses none of those known has none.
            Scope::Buffer(_) => stmt.summary().names.meets(self.aliases),
            Scope::Calls(under) => {
                stmt.summary().calls && under.0.get(parent.0.len()).is_none_or(|towards| *towards == step)
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt, at: &Path) {
        match &stmt.kind {
            StmtKind::Pass => {}
            StmtKind::Assign { name, idx, rhs } => self.update(stmt, name, idx, "written", rhs, at),
            StmtKind::Reduce { name, idx, rhs } => self.update(stmt, name, idx, "reduced into", rhs, at),
            StmtKind::If { cond, body, orelse } => {
                let (depth, start) = (self.facts.known.len(), self.facts.scope.config.clone());
                self.facts.assume(cond);
                self.block(body, at, false);
                self.facts.known.truncate(depth);
                self.facts.scope.config = start.clone();
                self.facts.assume_not(cond);
                self.block(orelse, at, true);
                self.facts.known.truncate(depth);
                self.facts.scope.config = start;
                self.facts.pass(stmt);
            }
            StmtKind::For { lo, hi, body, .. } => {
                self.extent(stmt, lo, hi, at);
                let (depth, start) = (self.facts.known.len(), self.facts.scope.config.clone());
                self.facts.enter_loop(stmt);
                self.block(body, at, false);
                self.facts.known.truncate(depth);
                self.facts.scope.config = start;
                self.facts.pass(stmt);
            }
            StmtKind::WriteConfig { rhs, .. } => {
                self.reads(rhs, at);
                self.facts.pass(stmt);
            }
            StmtKind::Alloc { name, ty, .. } => {
                if matches!(self.scope, Scope::Everything) || self.counts(name) {
                    for extent in &ty.shape {
                        let site = Site { proc: self.proc, facts: &self.facts, at };
                        self.failures.extend(extent_is_positive(&site, name, extent, self.solver).err());
                    }
                }
                self.facts.scope.add_stmt(stmt);
            }
            StmtKind::Window { name, rhs } => {
                self.reads(rhs, at);
                self.facts.scope.add_stmt(stmt);
                if self.counts(name) {
                    self.aliases.add(name);
                }
            }
            StmtKind::Call { callee, args } => {
                if self.call_counts(args, at) {
                    let site = Site { proc: self.proc, facts: &self.facts, at };
                    let call = Call { site, callee, args, span: &stmt.span };
                    self.failures.extend(call.check(self.solver));
                }
                self.facts.pass(stmt);
            }
        }
    }

    fn update(&mut self, stmt: &Stmt, name: &Sym, idx: &[Expr], verb: &str, rhs: &Expr, at: &Path) {
        self.reads(rhs, at);
        if !idx.is_empty() && self.counts(name) {
            let site = Site { proc: self.proc, facts: &self.facts, at };
            self.failures.extend(bounds::element(&site, name, idx, verb, &stmt.span, self.solver).err());
        }
        self.facts.pass(stmt);
    }

    fn extent(&mut self, stmt: &Stmt, lo: &Expr, hi: &Expr, at: &Path) {
        if !matches!(self.scope, Scope::Everything) {
            return;
        }
        let site = Site { proc: self.proc, facts: &self.facts, at };
        let goal = self.facts.index(lo).zip(self.facts.index(hi)).and_then(|(lo, hi)| Formula::at_most(&lo, &hi));
        let outcome = site.require(goal, self.solver, |names| {
            let condition = format!("{} <= {}", names.expr(lo), names.expr(hi));
            let hint = match mentions_args_only(self.proc, [lo, hi]) {
                true => format!("add `assert {condition}` at the start of the proc, or put an `if` around the loop"),
                false => format!("put `if {condition}:` around the loop"),
            };
            Failure::new(codes::EXTENT, "the extent of a loop may be negative", &stmt.span, at, condition).hint(hint)
        });
        self.failures.extend(outcome.err());
    }

    fn reads(&mut self, expr: &Expr, at: &Path) {
        let site = Site { proc: self.proc, facts: &self.facts, at };
        let scope = &self.scope;
        let declared = &self.facts.scope;
        let counts = |name: &Sym| match scope {
            Scope::Everything => true,
            Scope::Buffer(root) => declared.root(name).as_ref() == Some(root),
            Scope::Calls(_) => false,
        };
        self.failures.extend(bounds::expression(&site, expr, &counts, self.solver));
    }

    fn counts(&self, name: &Sym) -> bool {
        match &self.scope {
            Scope::Everything => true,
            // An allocation is asked for before it is in scope.
            Scope::Buffer(root) => name == root || self.facts.scope.root(name).as_ref() == Some(root),
            Scope::Calls(_) => false,
        }
    }

    fn call_counts(&self, args: &[Expr], at: &Path) -> bool {
        match &self.scope {
            Scope::Everything => true,
            Scope::Buffer(root) => args.iter().any(|arg| {
                let mut found = false;
                visit::each_expr(arg, &mut |node| {
                    if let Some(name) = visit::named(node) {
                        found |= self.facts.scope.root(name).as_ref() == Some(root);
                    }
                });
                found
            }),
            Scope::Calls(under) => at.0.starts_with(&under.0),
        }
    }
}

/// The elements of what is written are places of their own.
fn places(proc: &Proc, solver: &mut Solver, failures: &mut Vec<Failure>) {
    if !strides::asserted(proc) {
        return;
    }
    let facts = Facts::of(proc);
    let mut scope = facts.scope.clone();
    let (effects, _) = effects::with_locals(&proc.body, &Path::root(), false, 0, &mut scope, &mut solver.callees);
    let written = |arg: &Arg| effects.of_root(&arg.name).any(|cell| cell.kind.modifies());
    failures.extend(strides::overlapping(proc, &facts, &written, solver));
}

/// Warnings of reads of local buffers that surely see nothing.
///
/// Not refused: a step that takes one iteration apart from the others makes sure what was open before, and what a step made
/// has to be a definition again when it is printed.
pub fn unwritten_reads(proc: &Proc, solver: &mut Solver) -> Vec<Diagnostic> {
    let mut allocates = false;
    visit::each_stmt(&proc.body, &mut |stmt| allocates |= matches!(stmt.kind, StmtKind::Alloc { .. }));
    if !allocates {
        return Vec::new();
    }
    let facts = Facts::of(proc);
    let mut scope = facts.scope.clone();
    let (effects, locals) = effects::with_locals(&proc.body, &Path::root(), false, 0, &mut scope, &mut solver.callees);
    let names = Names::of(proc);
    let warning = |cell: &effects::Cell| {
        let stmt = path::stmt(proc, &cell.at)?;
        let (line, buffer) = (names.headline(stmt), names.get(&cell.root));
        let message = format!("`{line}` reads `{buffer}` where nothing was written before");
        let hint = "write it first, or make it a parameter if the caller gives its values";
        Some(Diagnostic::warning(codes::UNWRITTEN, message).at(&stmt.span, "").hint(hint))
    };
    unwritten::blind_reads(&facts, &effects.cells, &locals, solver).into_iter().filter_map(warning).collect()
}

/// `par` loops at any nesting.
fn races(proc: &Proc, solver: &mut Solver, failures: &mut Vec<Failure>) {
    for (at, stmt) in parallel_loops(proc) {
        if let Err(unproven) = iterations::independent(proc, &at, solver)
            && !mutation::passes("a `par` loop of a definition has no race", false)
        {
            let message = "iterations of a `par` loop may conflict";
            let failure = Failure::new(codes::RACE, message, &stmt.span, &at, "");
            failures.push(Failure { unproven, ..failure });
        }
    }
}

fn parallel_loops(proc: &Proc) -> Vec<(Path, &Stmt)> {
    let mut found = Vec::new();
    parallel_in(&proc.body, &Path::root(), false, &mut found);
    found
}

fn parallel_in<'a>(block: &'a Block, parent: &Path, orelse: bool, found: &mut Vec<(Path, &'a Stmt)>) {
    // Most statements hold none.
    for (k, stmt) in block.picked(|summary| summary.parallel) {
        let at = parent.child(Step::statement(orelse, k));
        if let StmtKind::For { mode: LoopMode::Par, .. } = &stmt.kind {
            found.push((at.clone(), stmt));
        }
        let [body, other] = visit::inner_lists(stmt);
        parallel_in(body, &at, false, found);
        parallel_in(other, &at, true, found);
    }
}

/// Whether the `par` loops that a rewrite made or changed have no races. Loops that both procs share were checked when
/// they were made.
pub fn no_new_races(before: &Proc, after: &Proc, solver: &mut Solver) -> Result<(), Unproven> {
    let parallel = parallel_loops(after);
    if parallel.is_empty() {
        return Ok(());
    }
    let checked = parallel_loops(before);
    for (at, stmt) in parallel {
        if !checked.iter().any(|(_, old)| Arc::ptr_eq(old, stmt)) {
            let answer = iterations::independent(after, &at, solver);
            if !mutation::passes("a `par` loop that a step made has no race", answer.is_ok()) {
                return answer;
            }
        }
    }
    Ok(())
}

/// Whether control that reads configuration state is still in order, in a procedure that writes such state too.
///
/// A step may move a write to where its value can no longer be followed (under a guard, into a loop), which takes away what a
/// bound or an extent far from the step rests on. A procedure that a waived step has already put out of order is not held up again.
pub fn followed_configuration(before: &Proc, after: &Proc, solver: &mut Solver) -> Result<(), Unproven> {
    if !configuration::followed(after) {
        return Ok(());
    }
    let answer = walk(after, Scope::Everything, solver);
    if mutation::passes("control that reads configuration state is still in order", answer.is_ok()) {
        return Ok(());
    }
    if walk(before, Scope::Everything, solver).is_err() { Ok(()) } else { answer }
}

/// Whether every access to a buffer stays in its shape and in the window it goes through.
pub fn buffer_in_bounds(proc: &Proc, buffer: &Sym, solver: &mut Solver) -> Result<(), Unproven> {
    walk(proc, Scope::Buffer(buffer.clone()), solver)
}

/// Whether every call at or below a place passes the call checker.
pub fn calls_valid(proc: &Proc, under: &Path, solver: &mut Solver) -> Result<(), Unproven> {
    walk(proc, Scope::Calls(under.clone()), solver)
}

fn walk(proc: &Proc, scope: Scope, solver: &mut Solver) -> Result<(), Unproven> {
    let mut walk = Walk::new(proc, Facts::of(proc), scope, solver);
    // Where configuration state changes, it has to be followed past every statement.
    if let Some(declared) = proc.committed.declarations().filter(|_| !configuration::may_write(&proc.body)) {
        walk.facts.scope = declared.clone();
        walk.all_declared = true;
    }
    walk.block(&proc.body, &Path::root(), false);
    match walk.failures.into_iter().next() {
        None => Ok(()),
        Some(failure) => {
            let (condition, is_fault) = match failure.unproven.condition.as_str() {
                "" => (failure.message, true),
                condition => (format!("{condition} ({})", failure.message), false),
            };
            Err(Unproven { condition, is_fault, ..failure.unproven })
        }
    }
}
