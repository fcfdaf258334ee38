//! Walks over trees that look without changing: expressions, statements, symbols.

use std::collections::BTreeSet;

use crate::hardware::extern_function::ExternFunction;
use crate::loop_ir::block::Block;
use crate::loop_ir::expression::{Access, Expr, ExprKind};
use crate::loop_ir::statement::{Stmt, StmtKind, StmtNode};
use crate::loop_ir::summary::{NameFilter, Summary};
use crate::symbol::Sym;

/// Calls `f` on `expr` and everything below it, parents first.
pub fn each_expr(expr: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(expr);
    each_child(expr, &mut |child| each_expr(child, f));
}

/// Calls `f` on the direct children of an expression, in source order.
pub fn each_child(expr: &Expr, f: &mut dyn FnMut(&Expr)) {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Stride { .. } | ExprKind::ReadConfig(_) => {}
        ExprKind::Read { idx, .. } => idx.iter().for_each(f),
        ExprKind::Extern { args, .. } => args.iter().for_each(f),
        ExprKind::Neg(operand) => f(operand),
        ExprKind::Binary { lhs, rhs, .. } => {
            f(lhs);
            f(rhs);
        }
        ExprKind::Window { idx, .. } => {
            for access in idx {
                match access {
                    Access::Point(point) => f(point),
                    Access::Interval { lo, hi } => {
                        f(lo);
                        f(hi);
                    }
                }
            }
        }
    }
}

/// Calls `f` on the expressions that belong to the statement itself, not to statements inside it:
/// indices, right sides, bounds, conditions, shapes, arguments.
pub fn each_own_expr(stmt: &StmtNode, f: &mut dyn FnMut(&Expr)) {
    match &stmt.kind {
        StmtKind::Assign { idx, rhs, .. } | StmtKind::Reduce { idx, rhs, .. } => {
            idx.iter().for_each(&mut *f);
            f(rhs);
        }
        StmtKind::Pass => {}
        StmtKind::If { cond, .. } => f(cond),
        StmtKind::For { lo, hi, .. } => {
            f(lo);
            f(hi);
        }
        StmtKind::Alloc { ty, .. } => ty.shape.iter().for_each(f),
        StmtKind::Call { args, .. } => args.iter().for_each(f),
        StmtKind::Window { rhs, .. } | StmtKind::WriteConfig { rhs, .. } => f(rhs),
    }
}

/// Calls `f` on every statement of a block and everything inside, parents first. Does not enter callees.
pub fn each_stmt(block: &Block, f: &mut dyn FnMut(&Stmt)) {
    for stmt in block {
        f(stmt);
        inner_lists(stmt).into_iter().for_each(|list| each_stmt(list, f));
    }
}

/// Calls `f` on every expression node in a block, at any depth.
pub fn each_expr_in(block: &Block, f: &mut dyn FnMut(&Expr)) {
    each_stmt(block, &mut |stmt| each_own_expr(stmt, &mut |expr| each_expr(expr, f)));
}

/// The symbol that an expression node names itself (read, window, stride).
pub fn named(expr: &Expr) -> Option<&Sym> {
    match &expr.kind {
        ExprKind::Read { name, .. } | ExprKind::Window { name, .. } | ExprKind::Stride { name, .. } => Some(name),
        ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. } => None,
    }
}

/// All symbols that an expression mentions.
pub fn expr_symbols(expr: &Expr, into: &mut BTreeSet<Sym>) {
    each_expr(expr, &mut |node| {
        if let Some(name) = named(node) {
            into.insert(name.clone());
        }
    });
}

/// Whether an expression mentions a symbol.
pub fn mentions(expr: &Expr, symbol: &Sym) -> bool {
    let mut found = false;
    each_expr(expr, &mut |node| found |= named(node) == Some(symbol));
    found
}

/// The symbol that a statement itself binds: allocation, window, iterator.
pub fn bound_by(stmt: &Stmt) -> Option<&Sym> {
    binds(&stmt.kind)
}

/// Like [`bound_by`], of a node that is not shared yet.
pub(in crate::loop_ir) fn binds(kind: &StmtKind) -> Option<&Sym> {
    match kind {
        StmtKind::Alloc { name, .. } | StmtKind::Window { name, .. } => Some(name),
        StmtKind::For { iter, .. } => Some(iter),
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::If { .. }
        | StmtKind::Call { .. } => None,
    }
}

/// The buffer that a statement assigns or reduces directly.
pub fn written_by(stmt: &Stmt) -> Option<&Sym> {
    writes(&stmt.kind)
}

/// Like [`written_by`], of a node that is not shared yet.
pub(in crate::loop_ir) fn writes(kind: &StmtKind) -> Option<&Sym> {
    match kind {
        StmtKind::Assign { name, .. } | StmtKind::Reduce { name, .. } => Some(name),
        StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. } => None,
    }
}

/// Symbols bound anywhere inside a block.
pub fn bound_symbols(block: &Block) -> BTreeSet<Sym> {
    let mut bound = BTreeSet::new();
    each_stmt(block, &mut |stmt| bound.extend(bound_by(stmt).cloned()));
    bound
}

/// Symbols that a block mentions (reads, writes, windows, strides) but does not bind.
pub fn free_symbols(block: &Block) -> BTreeSet<Sym> {
    let mut used = BTreeSet::new();
    each_stmt(block, &mut |stmt| {
        used.extend(written_by(stmt).cloned());
        each_own_expr(stmt, &mut |expr| expr_symbols(expr, &mut used));
    });
    // Symbols are unique bindings, so removing every bound one is exact whatever the nesting.
    let bound = bound_symbols(block);
    used.retain(|symbol| !bound.contains(symbol));
    used
}

/// Whether a block mentions a symbol at all, in any role but binding it.
pub fn block_mentions(block: &Block, symbol: &Sym) -> bool {
    let mut found = false;
    each_stmt_naming(block, NameFilter::of([symbol]), &mut |stmt| {
        found |= written_by(stmt) == Some(symbol);
        each_own_expr(stmt, &mut |expr| found |= mentions(expr, symbol));
    });
    found
}

/// Like [`each_stmt`], without the statements that surely name none of `names`, neither themselves nor inside.
pub fn each_stmt_naming(block: &Block, names: NameFilter, f: &mut dyn FnMut(&Stmt)) {
    each_stmt_where(block, &|summary| summary.names.meets(names), f);
}

/// Like [`each_stmt`], without the statements whose summary does not pass, and all that is in them.
pub fn each_stmt_where(block: &Block, passes: &dyn Fn(&Summary) -> bool, f: &mut dyn FnMut(&Stmt)) {
    for (_, stmt) in block.picked(passes) {
        f(stmt);
        inner_lists(stmt).into_iter().for_each(|list| each_stmt_where(list, passes, f));
    }
}

/// The externs that a block calls, in source order, each at every place.
pub fn each_extern(block: &Block, f: &mut dyn FnMut(&ExternFunction)) {
    each_stmt_where(block, &|summary| summary.externs, &mut |stmt| {
        each_own_expr(stmt, &mut |expr| {
            each_expr(expr, &mut |node| {
                if let ExprKind::Extern { function, .. } = &node.kind {
                    f(function);
                }
            });
        });
    });
}

/// The statement lists inside a statement: the body, and the `else` of a branch.
pub fn inner_lists(stmt: &StmtNode) -> [&Block; 2] {
    match &stmt.kind {
        StmtKind::If { body, orelse, .. } => [body, orelse],
        StmtKind::For { body, .. } => [body, Block::none()],
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. } => [Block::none(), Block::none()],
    }
}
