//! Whether code may read or write a buffer, through windows and calls too.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::loop_ir::{ArgType, Block, Expr, ExprKind, NameFilter, Proc, StmtKind, visit};
use crate::symbol::Sym;

/// What code may do with a buffer. An over-approximation: `false` is certain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::schedule::operators) struct Touches {
    pub(in crate::schedule::operators) reads: bool,
    pub(in crate::schedule::operators) writes: bool,
    /// It may do something else than reduce into it.
    pub(in crate::schedule::operators) unreduced: bool,
}

impl Touches {
    fn add(&mut self, other: Touches) {
        self.reads |= other.reads;
        self.writes |= other.writes;
        self.unreduced |= other.unreduced;
    }
}

/// What a block may do with the buffer behind a name, also under names that the block gives it.
pub(in crate::schedule::operators) fn in_block(block: &Block, name: &Sym) -> Touches {
    let mut names = BTreeSet::from([name.clone()]);
    let known = Cell::new(NameFilter::of([name]));
    let mut touches = Touches::default();
    // Windows are declared before they are used, so one walk in source order sees every alias in time.
    visit::each_stmt_where(block, &|summary| summary.names.meets(known.get()), &mut |stmt| {
        match &stmt.kind {
            StmtKind::Window { name, rhs } => {
                if visit::named(rhs).is_some_and(|base| names.contains(base)) {
                    names.insert(name.clone());
                    known.set(NameFilter::of(&names));
                }
            }
            StmtKind::Assign { name, .. } if names.contains(name) => {
                touches.add(Touches { reads: false, writes: true, unreduced: true });
            }
            StmtKind::Reduce { name, .. } if names.contains(name) => {
                touches.add(Touches { reads: true, writes: true, unreduced: false });
            }
            StmtKind::Call { callee, args } => {
                for (at, arg) in args.iter().enumerate() {
                    if visit::named(arg).is_some_and(|base| names.contains(base)) {
                        touches.add(by_callee(callee, at));
                    }
                }
                return;
            }
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::Alloc { .. } => {}
        }
        if !matches!(stmt.kind, StmtKind::Window { .. }) {
            visit::each_own_expr(stmt, &mut |expr| {
                let read = reads(expr, &names);
                touches.add(Touches { reads: read, writes: false, unreduced: read });
            });
        }
    });
    touches
}

/// The names that a block declares for the buffer behind `name`, through windows of windows too.
pub(in crate::schedule::operators) fn aliases(block: &Block, name: &Sym) -> BTreeSet<Sym> {
    let mut names = BTreeSet::from([name.clone()]);
    let known = Cell::new(NameFilter::of([name]));
    visit::each_stmt_where(block, &|summary| summary.names.meets(known.get()), &mut |stmt| {
        if let StmtKind::Window { name, rhs } = &stmt.kind
            && visit::named(rhs).is_some_and(|base| names.contains(base))
        {
            names.insert(name.clone());
            known.set(NameFilter::of(&names));
        }
    });
    names.remove(name);
    names
}

fn reads(expr: &Expr, names: &BTreeSet<Sym>) -> bool {
    let mut found = false;
    visit::each_expr(expr, &mut |node| {
        if let ExprKind::Read { name, .. } = &node.kind {
            found |= names.contains(name);
        }
    });
    found
}

/// What a callee may do with its parameter at a position.
pub(in crate::schedule::operators) fn by_callee(callee: &Proc, at: usize) -> Touches {
    match callee.args.get(at) {
        Some(arg) if matches!(arg.ty, ArgType::Data(_)) => in_block(&callee.body, &arg.name),
        Some(_) | None => Touches::default(),
    }
}
