//! Walks over trees that change them: mapping, substitution, renaming of bound symbols.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::loop_ir::block::Block;
use crate::loop_ir::build;
use crate::loop_ir::expression::{Access, Expr, ExprKind};
use crate::loop_ir::procedure::{Arg, ArgType, Proc};
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::types::DataType;
use crate::symbol::Sym;

/// Rebuilds an expression bottom-up. `f` sees each node after its children; `None` keeps the node.
/// Subtrees in which nothing changes stay shared.
pub fn map_expr(expr: &Expr, f: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Expr {
    let rebuilt = map_children(expr, &mut |child| map_expr(child, f));
    f(&rebuilt).unwrap_or(rebuilt)
}

/// Rebuilds an expression with its direct children mapped; shared when no child changed.
pub fn map_children(expr: &Expr, f: &mut dyn FnMut(&Expr) -> Expr) -> Expr {
    let kind = match &expr.kind {
        ExprKind::Const(_) | ExprKind::Stride { .. } | ExprKind::ReadConfig(_) => return expr.clone(),
        ExprKind::Read { name, idx } => {
            if idx.is_empty() {
                return expr.clone();
            }
            let Some(idx) = map_list(idx, f) else { return expr.clone() };
            ExprKind::Read { name: name.clone(), idx }
        }
        ExprKind::Extern { function, args } => {
            let Some(args) = map_list(args, f) else { return expr.clone() };
            ExprKind::Extern { function: function.clone(), args }
        }
        ExprKind::Neg(operand) => {
            let new = f(operand);
            if Arc::ptr_eq(&new, operand) {
                return expr.clone();
            }
            // Of a literal, it is the negative literal.
            return build::neg(new);
        }
        ExprKind::Binary { op, lhs, rhs } => {
            let (new_lhs, new_rhs) = (f(lhs), f(rhs));
            if Arc::ptr_eq(&new_lhs, lhs) && Arc::ptr_eq(&new_rhs, rhs) {
                return expr.clone();
            }
            let ty = build::binary_type(*op, new_lhs.ty, new_rhs.ty);
            return build::expr(ExprKind::Binary { op: *op, lhs: new_lhs, rhs: new_rhs }, ty, &expr.span);
        }
        ExprKind::Window { name, idx } => {
            let mut changed = false;
            let mut map = |e: &Expr| {
                let new = f(e);
                changed |= !Arc::ptr_eq(&new, e);
                new
            };
            let idx = idx
                .iter()
                .map(|access| match access {
                    Access::Point(point) => Access::Point(map(point)),
                    Access::Interval { lo, hi } => Access::Interval { lo: map(lo), hi: map(hi) },
                })
                .collect();
            if !changed {
                return expr.clone();
            }
            ExprKind::Window { name: name.clone(), idx }
        }
    };
    build::expr(kind, expr.ty, &expr.span)
}

fn map_list(list: &[Expr], f: &mut dyn FnMut(&Expr) -> Expr) -> Option<Vec<Expr>> {
    let new: Vec<Expr> = list.iter().map(&mut *f).collect();
    let changed = new.iter().zip(list).any(|(a, b)| !Arc::ptr_eq(a, b));
    changed.then_some(new)
}

/// Rebuilds a statement with `f` applied to each of its own expressions (whole expressions, not every node), and to
/// those of the statements inside it. Shared where nothing changed.
pub fn map_stmt_exprs(stmt: &Stmt, f: &mut dyn FnMut(&Expr) -> Expr) -> Stmt {
    let own = map_own_exprs(stmt, f);
    let kind = match &own.kind {
        StmtKind::If { cond, body, orelse } => {
            let (new_body, new_orelse) = (map_block_exprs(body, f), map_block_exprs(orelse, f));
            if new_body.same(body) && new_orelse.same(orelse) {
                return own;
            }
            StmtKind::If { cond: cond.clone(), body: new_body, orelse: new_orelse }
        }
        StmtKind::For { iter, lo, hi, body, mode } => {
            let new_body = map_block_exprs(body, f);
            if new_body.same(body) {
                return own;
            }
            StmtKind::For { iter: iter.clone(), lo: lo.clone(), hi: hi.clone(), body: new_body, mode: *mode }
        }
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. } => return own,
    };
    build::stmt(kind, &stmt.span)
}

/// Rebuilds a statement with `f` applied to the expressions that belong to the statement itself.
pub fn map_own_exprs(stmt: &Stmt, f: &mut dyn FnMut(&Expr) -> Expr) -> Stmt {
    let mut changed = false;
    let mut map = |e: &Expr| {
        let new = f(e);
        changed |= !Arc::ptr_eq(&new, e);
        new
    };
    let kind = match &stmt.kind {
        StmtKind::Pass => StmtKind::Pass,
        StmtKind::Assign { name, idx, rhs } => {
            StmtKind::Assign { name: name.clone(), idx: idx.iter().map(&mut map).collect(), rhs: map(rhs) }
        }
        StmtKind::Reduce { name, idx, rhs } => {
            StmtKind::Reduce { name: name.clone(), idx: idx.iter().map(&mut map).collect(), rhs: map(rhs) }
        }
        StmtKind::If { cond, body, orelse } => {
            StmtKind::If { cond: map(cond), body: body.clone(), orelse: orelse.clone() }
        }
        StmtKind::For { iter, lo, hi, body, mode } => {
            StmtKind::For { iter: iter.clone(), lo: map(lo), hi: map(hi), body: body.clone(), mode: *mode }
        }
        StmtKind::Alloc { name, ty, mem } => StmtKind::Alloc {
            name: name.clone(),
            ty: DataType { shape: ty.shape.iter().map(&mut map).collect(), ..ty.clone() },
            mem: mem.clone(),
        },
        StmtKind::Call { callee, args } => {
            StmtKind::Call { callee: callee.clone(), args: args.iter().map(&mut map).collect() }
        }
        StmtKind::Window { name, rhs } => StmtKind::Window { name: name.clone(), rhs: map(rhs) },
        StmtKind::WriteConfig { field, rhs } => StmtKind::WriteConfig { field: field.clone(), rhs: map(rhs) },
    };
    if changed { build::stmt(kind, &stmt.span) } else { stmt.clone() }
}

pub fn map_block_exprs(block: &Block, f: &mut dyn FnMut(&Expr) -> Expr) -> Block {
    block.iter().map(|stmt| map_stmt_exprs(stmt, f)).collect()
}

/// Replacements for free symbols. Control variables and scalars may become any expression of their kind; a buffer that
/// is indexed, written or windowed may only be renamed (its replacement is a bare read).
pub type Substitution = BTreeMap<Sym, Expr>;

/// Replaces reads of control variables and renames buffers in an expression.
pub fn substitute(expr: &Expr, map: &Substitution) -> Expr {
    map_expr(expr, &mut |node| substitute_node(node, map))
}

fn substitute_node(node: &Expr, map: &Substitution) -> Option<Expr> {
    match &node.kind {
        ExprKind::Read { name, idx } if idx.is_empty() => map.get(name).cloned(),
        ExprKind::Read { name, idx } => {
            let name = renamed(name, map)?;
            Some(build::expr(ExprKind::Read { name, idx: idx.clone() }, node.ty, &node.span))
        }
        ExprKind::Window { name, idx } => {
            let name = renamed(name, map)?;
            Some(build::expr(ExprKind::Window { name, idx: idx.clone() }, node.ty, &node.span))
        }
        ExprKind::Stride { name, dim } => {
            let name = renamed(name, map)?;
            Some(build::expr(ExprKind::Stride { name, dim: *dim }, node.ty, &node.span))
        }
        ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. } => None,
    }
}

/// The new name of a buffer, where its replacement is a bare read.
fn renamed(name: &Sym, map: &Substitution) -> Option<Sym> {
    match &map.get(name)?.kind {
        ExprKind::Read { name, idx } if idx.is_empty() => Some(name.clone()),
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => None,
    }
}

/// Replaces free symbols in statements: reads, written names and windows alike.
pub fn substitute_block(block: &Block, map: &Substitution) -> Block {
    if map.is_empty() {
        return block.clone();
    }
    block.iter().map(|stmt| substitute_stmt(stmt, map)).collect()
}

pub fn substitute_stmt(stmt: &Stmt, map: &Substitution) -> Stmt {
    let own = map_own_exprs(stmt, &mut |expr| substitute(expr, map));
    let kind = match &own.kind {
        StmtKind::Assign { name, idx, rhs } => match renamed(name, map) {
            Some(name) => StmtKind::Assign { name, idx: idx.clone(), rhs: rhs.clone() },
            None => return own,
        },
        StmtKind::Reduce { name, idx, rhs } => match renamed(name, map) {
            Some(name) => StmtKind::Reduce { name, idx: idx.clone(), rhs: rhs.clone() },
            None => return own,
        },
        StmtKind::If { cond, body, orelse } => StmtKind::If {
            cond: cond.clone(),
            body: substitute_block(body, map),
            orelse: substitute_block(orelse, map),
        },
        StmtKind::For { iter, lo, hi, body, mode } => StmtKind::For {
            iter: iter.clone(),
            lo: lo.clone(),
            hi: hi.clone(),
            body: substitute_block(body, map),
            mode: *mode,
        },
        StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. } => return own,
    };
    build::stmt(kind, &stmt.span)
}

/// A copy of a block in which every symbol bound inside is a fresh one of the same spelling.
pub fn alpha_rename(block: &Block) -> Block {
    block_with_fresh_binders(block, &mut Substitution::new())
}

fn block_with_fresh_binders(block: &Block, map: &mut Substitution) -> Block {
    block.iter().map(|stmt| stmt_with_fresh_binders(stmt, map)).collect()
}

fn stmt_with_fresh_binders(stmt: &Stmt, map: &mut Substitution) -> Stmt {
    let own = map_own_exprs(stmt, &mut |expr| substitute(expr, map));
    let rename = |name: &Sym, map: &Substitution| renamed(name, map).unwrap_or_else(|| name.clone());
    let kind = match &own.kind {
        StmtKind::Assign { name, idx, rhs } => {
            StmtKind::Assign { name: rename(name, map), idx: idx.clone(), rhs: rhs.clone() }
        }
        StmtKind::Reduce { name, idx, rhs } => {
            StmtKind::Reduce { name: rename(name, map), idx: idx.clone(), rhs: rhs.clone() }
        }
        StmtKind::Pass | StmtKind::Call { .. } | StmtKind::WriteConfig { .. } => return own,
        StmtKind::If { cond, body, orelse } => StmtKind::If {
            cond: cond.clone(),
            body: block_with_fresh_binders(body, map),
            orelse: block_with_fresh_binders(orelse, map),
        },
        StmtKind::For { iter, lo, hi, body, mode } => {
            let fresh = iter.renewed();
            map.insert(iter.clone(), build::index(&fresh));
            let body = block_with_fresh_binders(body, map);
            StmtKind::For { iter: fresh, lo: lo.clone(), hi: hi.clone(), body, mode: *mode }
        }
        StmtKind::Alloc { name, ty, mem } => {
            let fresh = name.renewed();
            map.insert(name.clone(), build::element(&fresh, Vec::new()));
            StmtKind::Alloc { name: fresh, ty: ty.clone(), mem: mem.clone() }
        }
        StmtKind::Window { name, rhs } => {
            let fresh = name.renewed();
            map.insert(name.clone(), build::element(&fresh, Vec::new()));
            StmtKind::Window { name: fresh, rhs: rhs.clone() }
        }
    };
    build::stmt(kind, &stmt.span)
}

/// A copy of a proc in which parameters and everything bound inside are fresh symbols.
pub fn alpha_rename_proc(proc: &Proc) -> Proc {
    let mut map = Substitution::new();
    let header = header_with_fresh_args(proc, &mut map);
    Proc { body: block_with_fresh_binders(&proc.body, &mut map), ..header }
}

/// A proc without a body that has the parameters and asserts of `proc`, under fresh symbols.
pub fn alpha_rename_header(proc: &Proc) -> Proc {
    header_with_fresh_args(proc, &mut Substitution::new())
}

fn header_with_fresh_args(proc: &Proc, map: &mut Substitution) -> Proc {
    let args = proc
        .args
        .iter()
        .map(|arg| {
            let fresh = arg.name.renewed();
            let ty = substitute_arg_type(&arg.ty, map);
            let read = match &arg.ty {
                ArgType::Control(control) => build::control(&fresh, *control),
                ArgType::Data(_) => build::element(&fresh, Vec::new()),
            };
            map.insert(arg.name.clone(), read);
            Arg { name: fresh, ty, mem: arg.mem.clone(), span: arg.span.clone() }
        })
        .collect();
    let preds = proc.preds.iter().map(|pred| substitute(pred, map)).collect();
    Proc { args, preds, body: Block::default(), ..proc.clone() }
}

/// Substitutes in the shape of a parameter's type.
pub fn substitute_arg_type(ty: &ArgType, map: &Substitution) -> ArgType {
    match ty {
        ArgType::Control(control) => ArgType::Control(*control),
        ArgType::Data(data) => ArgType::Data(DataType {
            shape: data.shape.iter().map(|extent| substitute(extent, map)).collect(),
            ..data.clone()
        }),
    }
}
