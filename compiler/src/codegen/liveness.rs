//! After which statement of its block an allocation is dead, uses through windows and calls included.

use std::collections::{BTreeMap, BTreeSet};

use crate::loop_ir::block::Block;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::visit;
use crate::symbol::Sym;

/// For each position of `block`: the buffers allocated in it whose last use is there, in order of allocation.
pub fn deaths(block: &Block, declarations: &Declarations) -> BTreeMap<usize, Vec<Sym>> {
    let mut last = Vec::new();
    let mut position: BTreeMap<Sym, usize> = BTreeMap::new();
    for (at, stmt) in block.iter().enumerate() {
        if let StmtKind::Alloc { name, .. } = &stmt.kind {
            position.insert(name.clone(), last.len());
            last.push((name.clone(), at));
        }
        for root in mentioned_roots(stmt, declarations) {
            if let Some((_, until)) = position.get(&root).and_then(|index| last.get_mut(*index)) {
                *until = at;
            }
        }
    }
    let mut deaths: BTreeMap<usize, Vec<Sym>> = BTreeMap::new();
    for (name, at) in last {
        deaths.entry(at).or_default().push(name);
    }
    deaths
}

/// Every root buffer that a statement mentions in any role, at any depth. A window mentions what it is taken from, so
/// that a buffer lives as long as any alias of it is used.
fn mentioned_roots(stmt: &Stmt, declarations: &Declarations) -> BTreeSet<Sym> {
    let mut roots = BTreeSet::new();
    visit::each_stmt(&Block::one(stmt.clone()), &mut |stmt| {
        roots.extend(visit::written_by(stmt).and_then(|name| declarations.root(name)));
        visit::each_own_expr(stmt, &mut |expr| {
            visit::each_expr(expr, &mut |node| {
                roots.extend(visit::named(node).and_then(|name| declarations.root(name)));
            });
        });
    });
    roots
}
