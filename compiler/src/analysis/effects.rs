//! What statements read, write and reduce, as symbolic sets of locations of root buffers.

use crate::analysis::callees::Callees;
use crate::analysis::config_flow::{self, Unknowns};
use crate::analysis::formula::Formula;
use crate::analysis::lift;
use crate::analysis::linear::{Linear, Var};
use crate::cursor::path::{Path, Step};
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::declarations::{Alias, Declarations, RootAccess};
use crate::loop_ir::{BinaryOp, Block, Expr, ExprKind, Stmt, StmtKind, Ty};
use crate::symbol::Sym;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
    /// `+=`: reductions into one place may be exchanged.
    Reduce,
}

impl AccessKind {
    pub fn modifies(self) -> bool {
        match self {
            AccessKind::Write | AccessKind::Reduce => true,
            AccessKind::Read => false,
        }
    }

    /// Whether the old value matters.
    pub fn observes(self) -> bool {
        match self {
            AccessKind::Read | AccessKind::Reduce => true,
            AccessKind::Write => false,
        }
    }

    pub fn verb(self) -> &'static str {
        match self {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Reduce => "reduces into",
        }
    }
}

/// One level of where in a block something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// Position in a list of things done one after the other.
    At(u32),
    /// One of two exclusive branches.
    Branch(bool),
    /// Inside a loop body; pairs with the next entry of [`Cell::bound`].
    Iteration,
}

/// All instances of one access: `{ kind root[coords] | for all values of bound with guard }`.
#[derive(Clone, Debug)]
pub struct Cell {
    pub kind: AccessKind,
    pub root: Sym,
    /// One for each dimension of the root; `None` when an index cannot be expressed: any element.
    pub coords: Option<Vec<Linear>>,
    /// Iterators of loops inside the block, outermost first.
    pub bound: Vec<Sym>,
    /// Loop ranges and branch conditions inside the block.
    pub guard: Vec<Formula>,
    /// Coordinates and guard say exactly when and where, so that a write surely happens.
    pub exact: bool,
    pub ticks: Vec<Tick>,
    /// What a write of a configuration field stores, where that is known and does not depend on `bound`.
    pub stored: Option<Expr>,
    /// The statement, as a path in the proc (of the call, for what a callee does).
    pub at: Path,
}

impl Cell {
    /// Whether `self` is over before `other` starts, within one iteration of the loops around both.
    pub fn precedes(&self, other: &Cell) -> bool {
        for (mine, its) in self.ticks.iter().zip(&other.ticks) {
            if mine != its {
                return matches!((mine, its), (Tick::At(a), Tick::At(b)) if a < b);
            }
        }
        false
    }

    /// How many iterators the two share.
    pub fn common_loops(&self, other: &Cell) -> usize {
        let shared = self.ticks.iter().zip(&other.ticks).take_while(|(a, b)| a == b);
        shared.filter(|(tick, _)| **tick == Tick::Iteration).count()
    }

    /// The cell with variables replaced; what leaves the 64-bit range becomes unknown.
    pub fn substitute(&self, f: &dyn Fn(&Var) -> Option<Linear>) -> Cell {
        let coords = self.coords.as_ref().and_then(|coords| coords.iter().map(|c| c.substitute(f)).collect());
        let guard: Vec<Formula> = self.guard.iter().filter_map(|g| g.substitute(f)).collect();
        let exact = self.exact && coords.is_some() && guard.len() == self.guard.len();
        Cell { coords, guard, exact, ..self.clone() }
    }
}

/// What a block does, in order. Buffers allocated inside do not occur.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    pub cells: Vec<Cell>,
    /// Statements that allocate in static memory, which all iterations share.
    pub statics: Vec<Path>,
}

impl Effects {
    /// A copy for another iteration: `iter` and everything bound inside get fresh, primed symbols.
    pub fn of_other_iteration(&self, iters: &[&Sym]) -> (Effects, Vec<Sym>) {
        let primed = |symbol: &Sym| Sym::new(&format!("{}'", symbol.name()));
        let fresh: Vec<Sym> = iters.iter().map(|iter| primed(iter)).collect();
        let mut map: Vec<(Sym, Sym)> = iters.iter().map(|iter| (*iter).clone()).zip(fresh.iter().cloned()).collect();
        for cell in &self.cells {
            for bound in &cell.bound {
                if !map.iter().any(|(from, _)| from == bound) {
                    map.push((bound.clone(), primed(bound)));
                }
            }
        }
        let renamed = self.cells.iter().map(|cell| rename(cell, &map)).collect();
        (Effects { cells: renamed, statics: self.statics.clone() }, fresh)
    }

    pub fn of_root<'a>(&'a self, root: &'a Sym) -> impl Iterator<Item = &'a Cell> {
        self.cells.iter().filter(move |cell| cell.root == *root)
    }
}

/// Renames symbols in a cell, binders included.
pub fn rename(cell: &Cell, map: &[(Sym, Sym)]) -> Cell {
    let target = |symbol: &Sym| map.iter().find(|(from, _)| from == symbol).map(|(_, to)| to.clone());
    let mut cell = cell.substitute(&|var| match var {
        Var::Sym(symbol) => target(symbol).map(|to| Linear::symbol(&to)),
        Var::Stride(..) | Var::Quotient(_) => None,
    });
    for bound in &mut cell.bound {
        if let Some(to) = target(bound) {
            *bound = to;
        }
    }
    cell
}

/// Replaces a variable by a form, in a cell.
pub fn fix(cell: &Cell, symbol: &Sym, value: &Linear) -> Cell {
    cell.substitute(&|var| match var {
        Var::Sym(s) if s == symbol => Some(value.clone()),
        Var::Sym(_) | Var::Stride(..) | Var::Quotient(_) => None,
    })
}

/// The effects of a run of statements that starts at position `first` of the list `orelse` of `parent`.
///
/// `scope` holds what is visible there; what the block declares is added to it.
pub fn of_block(
    block: &Block,
    parent: &Path,
    orelse: bool,
    first: usize,
    scope: &mut Declarations,
    callees: &mut Callees,
) -> Effects {
    let (mut found, locals) = with_locals(block, parent, orelse, first, scope, callees);
    found.cells.retain(|cell| !locals.iter().any(|local| local.name == cell.root));
    found
}

/// A buffer that a block allocates.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) name: Sym,
    /// How many loops of the block stand around the allocation.
    pub(crate) depth: usize,
}

/// The same, with what happens to buffers that the block allocates itself, and those buffers.
pub(crate) fn with_locals(
    block: &Block,
    parent: &Path,
    orelse: bool,
    first: usize,
    scope: &mut Declarations,
    callees: &mut Callees,
) -> (Effects, Vec<Local>) {
    let mut walk = Walk {
        scope,
        callees,
        found: Effects::default(),
        locals: Vec::new(),
        bound: Vec::new(),
        guard: Vec::new(),
        exact: true,
        ticks: Vec::new(),
        at: Path::root(),
    };
    walk.block(block, parent, orelse, first);
    let Walk { found, locals, .. } = walk;
    (found, locals)
}

pub(crate) struct Walk<'a> {
    pub(crate) scope: &'a mut Declarations,
    pub(crate) callees: &'a mut Callees,
    pub(crate) found: Effects,
    locals: Vec<Local>,
    pub(crate) bound: Vec<Sym>,
    pub(crate) guard: Vec<Formula>,
    pub(crate) exact: bool,
    pub(crate) ticks: Vec<Tick>,
    pub(crate) at: Path,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, parent: &Path, orelse: bool, first: usize) {
        for (k, stmt) in block.iter().enumerate() {
            self.ticks.push(Tick::At(k as u32));
            self.at = parent.child(Step::statement(orelse, first + k));
            self.stmt(stmt);
            self.ticks.pop();
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.config_reads(stmt);
        self.effects_of(stmt);
        match &stmt.kind {
            // These keep the state themselves, on their way through.
            StmtKind::If { .. } | StmtKind::For { .. } => {}
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::Alloc { .. }
            | StmtKind::Call { .. }
            | StmtKind::Window { .. }
            | StmtKind::WriteConfig { .. } => config_flow::after(stmt, self.scope, &mut Unknowns::Dropped),
        }
    }

    /// Control depends on configuration state: the fields that indices, conditions, bounds and arguments mention are read,
    /// before the statement does anything.
    fn config_reads(&mut self, stmt: &Stmt) {
        if !stmt.config.reads {
            return;
        }
        let mut own: Vec<Expr> = Vec::new();
        crate::loop_ir::visit::each_own_expr(stmt, &mut |expr| own.push(expr.clone()));
        if let StmtKind::Call { callee, .. } = &stmt.kind {
            own.extend(callee.preds.iter().cloned());
        }
        self.ticks.push(Tick::At(0));
        for field in Touched::by_exprs(&own).reads {
            self.push(AccessKind::Read, field.symbol(), Some(Vec::new()));
        }
        self.ticks.pop();
    }

    fn effects_of(&mut self, stmt: &Stmt) {
        self.scope.add_stmt(stmt);
        match &stmt.kind {
            StmtKind::WriteConfig { field, rhs } => {
                self.ticks.push(Tick::At(1));
                self.reads(rhs);
                self.ticks.pop();
                self.ticks.push(Tick::At(2));
                self.push(AccessKind::Write, field.symbol(), Some(Vec::new()));
                let value = config_flow::stored(field, rhs, self.scope).filter(|value| self.is_outside(value));
                if let Some(cell) = self.found.cells.last_mut() {
                    cell.stored = value;
                }
                self.ticks.pop();
            }
            StmtKind::Assign { name, idx, rhs } => match self.added(name, idx, rhs) {
                Some(addend) => self.update(AccessKind::Reduce, name, idx, &addend.clone()),
                None => self.update(AccessKind::Write, name, idx, rhs),
            },
            StmtKind::Reduce { name, idx, rhs } => self.update(AccessKind::Reduce, name, idx, rhs),
            StmtKind::Pass | StmtKind::Window { .. } => {}
            StmtKind::Alloc { name, mem, .. } => {
                self.locals.push(Local { name: name.clone(), depth: self.bound.len() });
                if mem.is_static() {
                    self.found.statics.push(self.at.clone());
                }
            }
            StmtKind::If { cond, body, orelse } => {
                let start = self.scope.config.clone();
                self.branches(cond, body, orelse);
                self.scope.config = start;
                config_flow::after(stmt, self.scope, &mut Unknowns::Dropped);
            }
            StmtKind::For { iter, lo, hi, body, .. } => {
                let start = self.scope.config.clone();
                self.repeated(stmt, iter, (lo, hi), body);
                self.scope.config = start;
                config_flow::after(stmt, self.scope, &mut Unknowns::Dropped);
            }
            StmtKind::Call { callee, args } => {
                let callee = callee.clone();
                self.call(&callee, args);
            }
        }
    }

    fn branches(&mut self, cond: &Expr, body: &Block, orelse: &Block) {
        let at = self.at.clone();
        let condition = lift::boolean(cond, self.scope);
        let negated = condition.as_ref().and_then(Formula::negated);
        let start = self.scope.config.clone();
        for (branch, guard, block) in [(false, condition, body), (true, negated, orelse)] {
            let (depth, exact) = (self.guard.len(), self.exact);
            self.exact &= guard.is_some();
            self.guard.extend(guard);
            self.scope.config = start.clone();
            self.ticks.push(Tick::Branch(branch));
            self.block(block, &at, branch, 0);
            self.ticks.pop();
            self.guard.truncate(depth);
            self.exact = exact;
        }
        self.at = at;
    }

    fn repeated(&mut self, stmt: &Stmt, iter: &Sym, (lo, hi): (&Expr, &Expr), body: &Block) {
        let at = self.at.clone();
        let (depth, exact) = (self.guard.len(), self.exact);
        let range = range(iter, lift::index(lo, self.scope), lift::index(hi, self.scope));
        self.exact &= range.len() == 2;
        self.guard.extend(range);
        config_flow::enter_loop(stmt, self.scope, &mut Unknowns::Dropped);
        self.bound.push(iter.clone());
        self.ticks.push(Tick::Iteration);
        self.block(body, &at, false, 0);
        self.ticks.pop();
        self.bound.pop();
        self.guard.truncate(depth);
        self.exact = exact;
        self.at = at;
    }

    /// The `e` of `x = x + e`, where that is a reduction in all but spelling.
    fn added<'e>(&self, name: &Sym, idx: &[Expr], rhs: &'e Expr) -> Option<&'e Expr> {
        let ExprKind::Binary { op: BinaryOp::Add, lhs, rhs: second } = &rhs.kind else { return None };
        let same = |e: &Expr| matches!(&e.kind, ExprKind::Read { name: n, idx: i } if n == name && i == idx);
        let addend = match (same(lhs), same(second)) {
            (true, false) => second,
            (false, true) => lhs,
            _ => return None,
        };
        let root = self.scope.root(name)?;
        let mut reads = false;
        crate::loop_ir::visit::each_expr(addend, &mut |node| {
            if let ExprKind::Read { name, .. } = &node.kind {
                reads |= self.scope.root(name).is_some_and(|other| other == root);
            }
        });
        (!reads).then_some(addend)
    }

    fn update(&mut self, kind: AccessKind, name: &Sym, idx: &[Expr], rhs: &Expr) {
        self.ticks.push(Tick::At(0));
        self.reads(rhs);
        self.ticks.pop();
        self.ticks.push(Tick::At(1));
        self.access(kind, name, idx);
        self.ticks.pop();
    }

    /// The reads of a data expression.
    pub(crate) fn reads(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Read { name, idx } => {
                if expr.ty == Ty::Data {
                    self.access(AccessKind::Read, name, idx);
                }
            }
            // Reads of configuration state are the statement's.
            ExprKind::Const(_) | ExprKind::Stride { .. } | ExprKind::Window { .. } | ExprKind::ReadConfig(_) => {}
            ExprKind::Neg(operand) => self.reads(operand),
            ExprKind::Binary { lhs, rhs, .. } => {
                self.reads(lhs);
                self.reads(rhs);
            }
            ExprKind::Extern { args, .. } => args.iter().for_each(|arg| self.reads(arg)),
        }
    }

    fn access(&mut self, kind: AccessKind, name: &Sym, idx: &[Expr]) {
        let Some(alias) = self.scope.alias(name) else { return };
        let index: Option<Vec<Linear>> = idx.iter().map(|e| lift::index(e, self.scope)).collect();
        let coords = index.and_then(|index| root_coordinates(&alias, &index, self.scope));
        self.push(kind, alias.root, coords);
    }

    pub(crate) fn push(&mut self, kind: AccessKind, root: Sym, coords: Option<Vec<Linear>>) {
        self.found.cells.push(Cell {
            kind,
            root,
            exact: self.exact && coords.is_some(),
            coords,
            bound: self.bound.clone(),
            guard: self.guard.clone(),
            ticks: self.ticks.clone(),
            stored: None,
            at: self.at.clone(),
        });
    }

    /// Whether an expression does not depend on the loops inside the block.
    pub(crate) fn is_outside(&self, value: &Expr) -> bool {
        !self.bound.iter().any(|iter| crate::loop_ir::visit::mentions(value, iter))
    }
}

/// `lo <= iter < hi`, as far as it can be expressed.
pub fn range(iter: &Sym, lo: Option<Linear>, hi: Option<Linear>) -> Vec<Formula> {
    let value = Linear::symbol(iter);
    let low = lo.and_then(|lo| Formula::at_most(&lo, &value));
    let high = hi.and_then(|hi| Formula::below(&value, &hi));
    [low, high].into_iter().flatten().collect()
}

/// The coordinates in the root of an index into an alias.
pub fn root_coordinates(alias: &Alias, index: &[Linear], scope: &Declarations) -> Option<Vec<Linear>> {
    alias
        .dims
        .iter()
        .map(|dim| match dim {
            RootAccess::Point(point) => lift::index(point, scope),
            RootAccess::Shifted { dim, offset } => lift::index(offset, scope)?.add(index.get(*dim)?),
        })
        .collect()
}
