//! Equality of code up to the names of what is bound inside it.

use std::collections::BTreeMap;

use crate::loop_ir::block::Block;
use crate::loop_ir::expression::{Expr, ExprKind};
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::substitute::{Substitution, substitute};
use crate::loop_ir::types::DataType;
use crate::loop_ir::{build, visit};
use crate::symbol::Sym;

/// Whether two blocks are the same code, given which symbols of the left one stand for which of the right one.
///
/// Exact: no statement, index or extent more on either side; loop modes, memories, types and callees count.
pub fn equal_blocks(left: &Block, right: &Block, bound: &BTreeMap<Sym, Sym>) -> bool {
    let mut pairing = Pairing { to_right: bound.clone() };
    pairing.blocks(left, right)
}

struct Pairing {
    /// Symbols of the left side and what they are called on the right.
    to_right: BTreeMap<Sym, Sym>,
}

impl Pairing {
    fn blocks(&mut self, left: &Block, right: &Block) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| self.stmts(left, right))
    }

    fn name(&self, left: &Sym) -> Sym {
        self.to_right.get(left).unwrap_or(left).clone()
    }

    fn exprs(&self, left: &[Expr], right: &[Expr]) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| self.expr(left, right))
    }

    fn expr(&self, left: &Expr, right: &Expr) -> bool {
        renamed(left, &self.to_right) == *right
    }

    fn types(&self, left: &DataType, right: &DataType) -> bool {
        left.precision == right.precision && left.is_window == right.is_window && self.exprs(&left.shape, &right.shape)
    }

    fn bind(&mut self, left: &Sym, right: &Sym) {
        self.to_right.insert(left.clone(), right.clone());
    }

    fn stmts(&mut self, left: &Stmt, right: &Stmt) -> bool {
        match (&left.kind, &right.kind) {
            (StmtKind::Assign { name, idx, rhs }, StmtKind::Assign { name: name2, idx: idx2, rhs: rhs2 })
            | (StmtKind::Reduce { name, idx, rhs }, StmtKind::Reduce { name: name2, idx: idx2, rhs: rhs2 }) => {
                self.name(name) == *name2 && self.exprs(idx, idx2) && self.expr(rhs, rhs2)
            }
            (StmtKind::Pass, StmtKind::Pass) => true,
            (StmtKind::If { cond, body, orelse }, StmtKind::If { cond: cond2, body: body2, orelse: orelse2 }) => {
                self.expr(cond, cond2) && self.blocks(body, body2) && self.blocks(orelse, orelse2)
            }
            (
                StmtKind::For { iter, lo, hi, body, mode },
                StmtKind::For { iter: iter2, lo: lo2, hi: hi2, body: body2, mode: mode2 },
            ) => {
                if mode != mode2 || !self.expr(lo, lo2) || !self.expr(hi, hi2) {
                    return false;
                }
                self.bind(iter, iter2);
                self.blocks(body, body2)
            }
            (StmtKind::Alloc { name, ty, mem }, StmtKind::Alloc { name: name2, ty: ty2, mem: mem2 }) => {
                let equal = mem == mem2 && self.types(ty, ty2);
                self.bind(name, name2);
                equal
            }
            (StmtKind::Call { callee, args }, StmtKind::Call { callee: callee2, args: args2 }) => {
                (std::sync::Arc::ptr_eq(callee, callee2) || callee == callee2) && self.exprs(args, args2)
            }
            (StmtKind::WriteConfig { field, rhs }, StmtKind::WriteConfig { field: field2, rhs: rhs2 }) => {
                field == field2 && self.expr(rhs, rhs2)
            }
            (StmtKind::Window { name, rhs }, StmtKind::Window { name: name2, rhs: rhs2 }) => {
                let equal = self.expr(rhs, rhs2);
                self.bind(name, name2);
                equal
            }
            (
                StmtKind::Assign { .. }
                | StmtKind::Reduce { .. }
                | StmtKind::Pass
                | StmtKind::WriteConfig { .. }
                | StmtKind::If { .. }
                | StmtKind::For { .. }
                | StmtKind::Alloc { .. }
                | StmtKind::Call { .. }
                | StmtKind::Window { .. },
                _,
            ) => false,
        }
    }
}

/// An expression under the renaming.
fn renamed(expr: &Expr, names: &BTreeMap<Sym, Sym>) -> Expr {
    let mut map = Substitution::new();
    visit::each_expr(expr, &mut |node| {
        if let Some(name) = visit::named(node)
            && let Some(new) = names.get(name)
        {
            let read = ExprKind::Read { name: new.clone(), idx: Vec::new() };
            map.insert(name.clone(), build::expr(read, node.ty, &node.span));
        }
    });
    if map.is_empty() { expr.clone() } else { substitute(expr, &map) }
}
