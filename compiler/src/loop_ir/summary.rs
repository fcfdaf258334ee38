//! What a shared statement holds, worked out once for each node: its size, its depth, the names in it, its `par` loops.
//!
//! Walks over a whole proc that look for something rare (a name, a `par` loop, an extern) ask here which statements they
//! may skip, so that a step of a schedule costs about as much as what it touches.

use crate::loop_ir::block::Block;
use crate::loop_ir::expression::{Expr, ExprKind};
use crate::loop_ir::extent::{MOST_LEVELS, MOST_NODES};
use crate::loop_ir::statement::{ConfigUse, LoopMode, StmtKind, StmtNode};
use crate::loop_ir::visit;
use crate::symbol::Sym;

/// A set of names that may claim to hold more than it does, never less: one bit for each of 64 classes of symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameFilter(u64);

impl NameFilter {
    /// Every name.
    pub const ALL: NameFilter = NameFilter(u64::MAX);

    pub fn of<'a>(symbols: impl IntoIterator<Item = &'a Sym>) -> Self {
        let mut filter = NameFilter::default();
        symbols.into_iter().for_each(|symbol| filter.add(symbol));
        filter
    }

    pub fn add(&mut self, symbol: &Sym) {
        // Identities count upwards, so the low bits alone spread the names of one proc evenly.
        self.0 |= 1 << (symbol.identity().number() % 64);
    }

    pub fn join(&mut self, other: NameFilter) {
        self.0 |= other.0;
    }

    /// False when no name is in both.
    pub fn meets(self, other: NameFilter) -> bool {
        self.0 & other.0 != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A set of spellings that may claim to hold more than it does, never less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpellingFilter(u64);

impl SpellingFilter {
    /// Every spelling.
    pub const ALL: SpellingFilter = SpellingFilter(u64::MAX);

    pub fn of<'a>(spellings: impl IntoIterator<Item = &'a str>) -> Self {
        let bit = |spelling: &str| {
            // FNV-1a, and one more multiplication so that the highest bits depend on every byte.
            let hash = spelling
                .bytes()
                .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            1_u64 << ((hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
        };
        SpellingFilter(spellings.into_iter().fold(0, |set, spelling| set | bit(spelling)))
    }

    /// False when no spelling is in both.
    pub fn meets(self, other: SpellingFilter) -> bool {
        self.0 & other.0 != 0
    }
}

/// Facts about one statement, or the statements of a list, with everything in it. Callees are not entered where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Statements and expressions, each counted at every place where it stands. At least [`MOST_NODES`] stands for
    /// "too many", not for a number.
    pub nodes: usize,
    /// Levels of nesting below the statement; more than [`MOST_LEVELS`] stands for "too many".
    pub levels: usize,
    /// Holds a `par` loop.
    pub parallel: bool,
    /// Calls a proc.
    pub calls: bool,
    /// Calls an extern.
    pub externs: bool,
    /// Asks for a stride, callees included.
    pub strides: bool,
    /// All names in it, in any role, binders included.
    pub names: NameFilter,
    /// The names that it binds, itself or inside.
    pub bound: NameFilter,
    /// What it declares for the statements after it in its list: allocations and windows.
    pub declared: SpellingFilter,
    /// What it has to do with configuration state, callees included.
    pub config: ConfigUse,
}

impl Summary {
    pub(in crate::loop_ir) fn of(stmt: &StmtNode) -> Self {
        let mut summary = Summary {
            nodes: 1,
            parallel: matches!(stmt.kind, StmtKind::For { mode: LoopMode::Par, .. }),
            calls: matches!(stmt.kind, StmtKind::Call { .. }),
            strides: matches!(&stmt.kind, StmtKind::Call { callee, .. } if callee.body.summary().strides),
            config: stmt.config,
            ..Summary::default()
        };
        summary.bound = NameFilter::of(visit::binds(&stmt.kind));
        summary.names = NameFilter::of(visit::writes(&stmt.kind));
        summary.names.join(summary.bound);
        if let StmtKind::Alloc { name, .. } | StmtKind::Window { name, .. } = &stmt.kind {
            summary.declared = SpellingFilter::of([name.name()]);
        }
        visit::each_own_expr(stmt, &mut |expr| summary.expr(expr, 1));
        visit::inner_lists(stmt).into_iter().for_each(|list| summary.block(list));
        summary
    }

    /// Of two runs of one list together.
    pub(in crate::loop_ir) fn beside(self, other: Summary) -> Summary {
        Summary {
            nodes: self.nodes.saturating_add(other.nodes),
            levels: self.levels.max(other.levels),
            parallel: self.parallel | other.parallel,
            calls: self.calls | other.calls,
            externs: self.externs | other.externs,
            strides: self.strides | other.strides,
            names: NameFilter(self.names.0 | other.names.0),
            bound: NameFilter(self.bound.0 | other.bound.0),
            declared: SpellingFilter(self.declared.0 | other.declared.0),
            config: self.config.or(other.config),
        }
    }

    /// Adds a list below the statement, whose declarations end with it.
    fn block(&mut self, block: &Block) {
        if block.is_empty() {
            return;
        }
        let inner = block.summary();
        let (declared, config) = (self.declared, self.config);
        *self = Summary { declared, config, ..self.beside(Summary { levels: inner.levels + 1, ..inner }) };
    }

    /// Looks at no more nodes than a proc may hold: shared expressions can stand for more than could be visited.
    fn expr(&mut self, expr: &Expr, level: usize) {
        self.nodes += 1;
        self.levels = self.levels.max(level);
        if self.nodes > MOST_NODES || level > MOST_LEVELS {
            // What was not looked at may hold anything.
            self.nodes = MOST_NODES + 1;
            self.externs = true;
            self.strides = true;
            self.names = NameFilter::ALL;
            return;
        }
        visit::named(expr).into_iter().for_each(|name| self.names.add(name));
        self.externs |= matches!(expr.kind, ExprKind::Extern { .. });
        self.strides |= matches!(expr.kind, ExprKind::Stride { .. });
        visit::each_child(expr, &mut |child| self.expr(child, level + 1));
    }
}
