//! What staging part of a buffer around a block has to know: where each use lies, what to load and what to store.

use crate::analysis::callees::{self, kinds_through};
use crate::analysis::commute;
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::effects::{AccessKind, Effects};
use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::lift;
use crate::analysis::linear::Linear;
use crate::analysis::overlap;
use crate::analysis::regions::{self, Extent};
use crate::analysis::solver::Solver;
use crate::cursor::path::{self, BlockPlace, Path, Step};
use crate::loop_ir::declarations::{Alias, Declaration, window_shape};
use crate::loop_ir::{Access, Expr, ExprKind, Proc, Stmt, StmtKind, Ty, visit};
use crate::print::Names;
use crate::symbol::Sym;

/// How the elements that a use touches lie to the staged window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    Inside,
    Disjoint,
    /// Neither could be shown: the buffer cannot be staged around this block.
    Mixed,
}

/// What stands at a use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseKind {
    Read,
    /// The target of an assignment.
    Write,
    /// The target of a reduction.
    Reduce,
    /// A window statement inside the block; what goes through it lies in its region.
    Window,
    /// An argument of a call, with what the callee does to it.
    Argument(Vec<AccessKind>),
}

/// One place of a block that names the staged buffer, or an alias of it that was declared before the block.
#[derive(Clone, Debug)]
pub struct Use {
    pub statement: Path,
    /// The expression node; `None` for the target of an assignment or reduction.
    pub expr: Option<Path>,
    /// The name it goes by.
    pub name: Sym,
    pub kind: UseKind,
    pub placement: Placement,
}

/// Facts about staging one window around one block.
#[derive(Clone, Debug)]
pub struct Staging {
    /// In source order. Uses through windows declared inside the block are represented by the window statement.
    pub uses: Vec<Use>,
    /// The block may see a staged element that it did not surely write before.
    pub observes: bool,
    /// The block may change a staged element.
    pub modifies: bool,
    /// The block does nothing but reduce into staged elements.
    pub only_reduces: bool,
    /// The block surely writes every staged element.
    pub covers: bool,
}

impl Staging {
    /// Whether the copy has to start with the buffer's contents: for what the block reads, and for what it leaves alone but
    /// the store would write back.
    pub fn needs_load(&self) -> bool {
        self.observes || (self.modifies && !self.covers)
    }
}

/// Where a window may hang over the edge of its buffer in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhang {
    /// Indices below 0 could not be excluded.
    pub below: bool,
    /// Indices at or above the extent could not be excluded.
    pub beyond: bool,
}

/// Classifies every use of `buffer` in a block against a window of it.
///
/// Refuses when the window does not fit the buffer's rank, and when a window that the block declares over the buffer is
/// used after the block (it would keep pointing to the copy).
pub fn classify(
    proc: &Proc,
    block: &BlockPlace,
    buffer: &Sym,
    window: &[Access],
    solver: &mut Solver,
) -> Result<Staging, Unproven> {
    let Some((facts, effects)) = commute::block_effects(proc, block, solver) else {
        return Err(misplaced("the block"));
    };
    let staged = staged(&facts, buffer, window)?;
    let statements = path::block(proc, block).ok_or_else(|| misplaced("the block"))?;
    escaping(proc, block, statements, &staged.root, &facts)?;
    let mut survey = Survey {
        staged: &staged,
        facts: facts.clone(),
        inner: visit::bound_symbols(statements),
        uses: Vec::new(),
        solver,
    };
    survey.block(statements, &block.parent, block.orelse, block.lo);
    let uses = survey.uses;
    let summary = Summary { facts: &facts, effects: &effects, staged: &staged };
    Ok(Staging {
        uses,
        observes: summary.observes(solver),
        modifies: summary.any(&|kind| kind.modifies(), solver),
        only_reduces: !summary.any(&|kind| kind != AccessKind::Reduce, solver),
        covers: summary.covers(solver),
    })
}

/// For each dimension of the window, whether it may hang over the edge of `buffer` where the block starts.
pub fn overhang(
    proc: &Proc,
    block: &BlockPlace,
    buffer: &Sym,
    window: &[Access],
    solver: &mut Solver,
) -> Result<Vec<Overhang>, Unproven> {
    let facts = Facts::at(proc, &block.statement(0));
    let shape = facts.scope.shape(buffer).ok_or_else(|| misplaced("the buffer"))?;
    if shape.len() != window.len() {
        return Err(rank(buffer, shape.len(), window.len()));
    }
    let mut dims = Vec::new();
    for (access, extent) in window.iter().zip(&shape) {
        let (first, last) = match access {
            Access::Point(point) => (
                facts.index(point),
                facts.index(point).zip(facts.index(extent)).and_then(|(p, e)| Formula::below(&p, &e)),
            ),
            Access::Interval { lo, hi } => {
                (facts.index(lo), facts.index(hi).zip(facts.index(extent)).and_then(|(h, e)| Formula::at_most(&h, &e)))
            }
        };
        let low = first.and_then(|first| Formula::at_most(&Linear::constant(0), &first));
        let below = facts.proves(solver, low.as_ref()) != Verified::Yes;
        let beyond = facts.proves(solver, last.as_ref()) != Verified::Yes;
        dims.push(Overhang { below, beyond });
    }
    Ok(dims)
}

/// The window in coordinates of the root.
struct Staged {
    root: Sym,
    extents: Vec<Extent>,
    /// The extents of the root itself.
    shape: Vec<Expr>,
}

fn staged(facts: &Facts, buffer: &Sym, window: &[Access]) -> Result<Staged, Unproven> {
    let rank_of = facts.scope.shape(buffer).ok_or_else(|| misplaced("the buffer"))?.len();
    if rank_of != window.len() {
        return Err(rank(buffer, rank_of, window.len()));
    }
    let alias = facts.scope.window(buffer, window).ok_or_else(|| misplaced("the buffer"))?;
    let extents = regions::of_alias(&alias, &window_shape(window), &facts.scope)
        .ok_or_else(|| Unproven { unknown: true, ..Unproven::new("the window is given by affine bounds") })?;
    let shape = facts.scope.shape(&alias.root).unwrap_or_default();
    Ok(Staged { root: alias.root, extents, shape })
}

fn rank(buffer: &Sym, has: usize, given: usize) -> Unproven {
    Unproven::new(format!("`{buffer}` has {has} dimensions, and the window gives {given} accesses"))
}

/// Windows over the buffer that the block declares for its own list must not be used after it.
fn escaping(proc: &Proc, place: &BlockPlace, block: &[Stmt], root: &Sym, facts: &Facts) -> Result<(), Unproven> {
    let list = path::list(proc, &place.parent, place.orelse).unwrap_or(&[]);
    let rest = list.get(place.hi..).unwrap_or(&[]);
    let mut scope = facts.scope.clone();
    scope.add_block(block);
    for stmt in block {
        if let StmtKind::Window { name, .. } = &stmt.kind
            && scope.root(name).as_ref() == Some(root)
            && visit::block_mentions(rest, name)
        {
            let name = Names::of(proc).get(name).to_string();
            return Err(Unproven::new(format!("the window `{name}` is not used after the block"))
                .hint("include its uses in the block, or inline the window first"));
        }
    }
    Ok(())
}

struct Survey<'a> {
    staged: &'a Staged,
    facts: Facts,
    /// Names bound inside the block.
    inner: std::collections::BTreeSet<Sym>,
    uses: Vec<Use>,
    solver: &'a mut Solver,
}

impl Survey<'_> {
    fn block(&mut self, block: &[Stmt], parent: &Path, orelse: bool, first: usize) {
        for (k, stmt) in block.iter().enumerate() {
            let at = parent.child(Step::statement(orelse, first + k));
            self.stmt(stmt, &at);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, at: &Path) {
        match &stmt.kind {
            StmtKind::Pass => {}
            StmtKind::Alloc { .. } => self.facts.scope.add_stmt(stmt),
            StmtKind::Assign { name, idx, rhs } => {
                self.reads(rhs, at, &at.child(Step::Value));
                self.element(name, idx, UseKind::Write, at, None);
            }
            StmtKind::Reduce { name, idx, rhs } => {
                self.reads(rhs, at, &at.child(Step::Value));
                self.element(name, idx, UseKind::Reduce, at, None);
            }
            StmtKind::Window { rhs, .. } => {
                self.region(rhs, UseKind::Window, at, &at.child(Step::Value));
                self.facts.scope.add_stmt(stmt);
            }
            StmtKind::If { cond, body, orelse } => {
                let depth = self.facts.known.len();
                self.facts.assume(cond);
                self.block(body, at, false, 0);
                self.facts.known.truncate(depth);
                self.facts.assume_not(cond);
                self.block(orelse, at, true, 0);
                self.facts.known.truncate(depth);
            }
            StmtKind::For { iter, lo, hi, body, .. } => {
                self.facts.scope.add_stmt(stmt);
                let depth = self.facts.known.len();
                self.facts.assume_range(iter, lo, hi);
                self.block(body, at, false, 0);
                self.facts.known.truncate(depth);
            }
            StmtKind::Call { callee, args } => {
                for (k, (formal, arg)) in callee.args.iter().zip(args).enumerate() {
                    let place = at.child(Step::Arg(k));
                    if callees::argument(arg, &self.facts.scope).is_some() {
                        let kinds = kinds_through(&mut self.solver.callees, callee, &formal.name);
                        self.region(arg, UseKind::Argument(kinds), at, &place);
                    } else {
                        self.reads(arg, at, &place);
                    }
                }
            }
        }
    }

    /// The element reads of a data expression.
    fn reads(&mut self, expr: &Expr, at: &Path, place: &Path) {
        if let ExprKind::Read { name, idx } = &expr.kind
            && expr.ty == Ty::Data
        {
            self.element(name, idx, UseKind::Read, at, Some(place));
            return;
        }
        let mut children = Vec::new();
        visit::each_child(expr, &mut |child| children.push(child.clone()));
        for (child, step) in children.iter().zip(path::expr_steps(expr)) {
            self.reads(child, at, &place.child(step));
        }
    }

    fn counts(&self, name: &Sym) -> bool {
        let own = self.inner.contains(name) && matches!(self.facts.scope.get(name), Some(Declaration::Window { .. }));
        !own && self.facts.scope.root(name).as_ref() == Some(&self.staged.root)
    }

    fn element(&mut self, name: &Sym, idx: &[Expr], kind: UseKind, at: &Path, place: Option<&Path>) {
        if !self.counts(name) {
            return;
        }
        let points: Vec<Access> = idx.iter().cloned().map(Access::Point).collect();
        let alias = self.facts.scope.window(name, &points);
        self.record(name, alias, &[], kind, at, place);
    }

    /// A window or a whole buffer.
    fn region(&mut self, expr: &Expr, kind: UseKind, at: &Path, place: &Path) {
        let (name, shape) = match &expr.kind {
            ExprKind::Window { name, idx } => (name, window_shape(idx)),
            ExprKind::Read { name, idx } if idx.is_empty() => (name, self.facts.scope.shape(name).unwrap_or_default()),
            ExprKind::Read { name, .. } => (name, Vec::new()),
            ExprKind::Const(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => return,
        };
        if self.counts(name) {
            let alias = callees::argument(expr, &self.facts.scope);
            self.record(&name.clone(), alias, &shape, kind, at, Some(place));
        }
    }

    fn record(
        &mut self,
        name: &Sym,
        alias: Option<Alias>,
        shape: &[Expr],
        kind: UseKind,
        at: &Path,
        place: Option<&Path>,
    ) {
        let touched = alias.and_then(|alias| regions::of_alias(&alias, shape, &self.facts.scope));
        let placement = touched.map_or(Placement::Mixed, |touched| self.placement(&touched));
        self.uses.push(Use { statement: at.clone(), expr: place.cloned(), name: name.clone(), kind, placement });
    }

    fn placement(&mut self, touched: &[Extent]) -> Placement {
        if self.holds(inside(touched, &self.staged.extents)) {
            Placement::Inside
        } else if self.holds(overlapping(touched, &self.staged.extents).and_then(|formula| formula.negated())) {
            Placement::Disjoint
        } else {
            Placement::Mixed
        }
    }

    fn holds(&mut self, goal: Option<Formula>) -> bool {
        self.facts.proves(self.solver, goal.as_ref()) == Verified::Yes
    }
}

fn inside(inner: &[Extent], outer: &[Extent]) -> Option<Formula> {
    let mut parts = Vec::new();
    for ((lo, hi), (low, high)) in inner.iter().zip(outer) {
        parts.push(Formula::at_most(low, lo)?);
        parts.push(Formula::at_most(hi, high)?);
    }
    Some(Formula::and(parts))
}

fn overlapping(a: &[Extent], b: &[Extent]) -> Option<Formula> {
    let mut parts = Vec::new();
    for ((lo, hi), (low, high)) in a.iter().zip(b) {
        parts.push(Formula::below(lo, high)?);
        parts.push(Formula::below(low, hi)?);
    }
    Some(Formula::and(parts))
}

/// What the block as a whole does to the staged elements.
struct Summary<'a> {
    facts: &'a Facts,
    effects: &'a Effects,
    staged: &'a Staged,
}

impl Summary<'_> {
    /// `lo <= x < hi` in each dimension; what cannot be expressed is left out.
    fn within(&self, point: &[Linear]) -> Formula {
        let mut parts = Vec::new();
        for (x, (lo, hi)) in point.iter().zip(&self.staged.extents) {
            parts.extend([Formula::at_most(lo, x), Formula::below(x, hi)].into_iter().flatten());
        }
        Formula::and(parts)
    }

    fn happens(&self, guard: &[Formula], coords: Option<&Vec<Linear>>, extra: Formula) -> Formula {
        let place = coords.map_or(Formula::True, |coords| self.within(coords));
        Formula::and(guard.iter().cloned().chain([place, extra]).collect())
    }

    /// Whether an access of a kind may touch a staged element.
    fn any(&self, counts: &dyn Fn(AccessKind) -> bool, solver: &mut Solver) -> bool {
        self.effects.of_root(&self.staged.root).filter(|cell| counts(cell.kind)).any(|cell| {
            let happens = self.happens(&cell.guard, cell.coords.as_ref(), Formula::True);
            overlap::impossible(self.facts, happens, solver) != Verified::Yes
        })
    }

    fn observes(&self, solver: &mut Solver) -> bool {
        self.effects.of_root(&self.staged.root).filter(|cell| cell.kind.observes()).any(|cell| {
            let exposed = overlap::exposed(cell, self.effects);
            let happens = self.happens(&cell.guard, cell.coords.as_ref(), exposed);
            overlap::impossible(self.facts, happens, solver) != Verified::Yes
        })
    }

    /// Whether every element of the window that exists in the buffer is surely written.
    fn covers(&self, solver: &mut Solver) -> bool {
        let point: Vec<Linear> =
            (0..self.staged.extents.len()).map(|dim| Linear::symbol(&Sym::new(&format!("x{dim}")))).collect();
        let mut parts = vec![self.within(&point)];
        for (x, extent) in point.iter().zip(&self.staged.shape) {
            let extent = lift::index(extent, &self.facts.scope);
            parts.extend(Formula::at_most(&Linear::constant(0), x));
            parts.extend(extent.and_then(|extent| Formula::below(x, &extent)));
        }
        parts.push(overlap::unwritten(self.effects, &self.staged.root, &point));
        overlap::impossible(self.facts, Formula::and(parts), solver) == Verified::Yes
    }
}
