//! Structural laws of a proc: symbols bound once and used in scope, no empty bodies, one index for each dimension.
//!
//! Cheap enough to run after every edit. A violation is a bug of whoever built the tree.

use std::collections::{BTreeMap, BTreeSet};

use crate::loop_ir::configuration;
use crate::loop_ir::declarations::window_shape;
use crate::loop_ir::expression::{Expr, ExprKind};
use crate::loop_ir::procedure::{ArgType, Proc};
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::visit;
use crate::symbol::Sym;

/// Checks the laws; the error says which one is broken and where, in symbols' own spellings.
pub fn validate(proc: &Proc) -> Result<(), String> {
    let mut scope = Scope::default();
    for arg in &proc.args {
        let role = match &arg.ty {
            ArgType::Control(_) => Role::Control,
            ArgType::Data(ty) => Role::Data { rank: ty.shape.len() },
        };
        scope.bind(&arg.name, role)?;
    }
    for arg in &proc.args {
        if let ArgType::Data(ty) = &arg.ty {
            ty.shape.iter().try_for_each(|extent| scope.expr(extent))?;
        }
    }
    if let Some(name) = configuration::dependent_declaration(proc) {
        return Err(format!("the declaration of `{name}` depends on configuration state"));
    }
    proc.preds.iter().try_for_each(|pred| scope.expr(pred))?;
    scope.body(&proc.body, "the proc")
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Control,
    Data { rank: usize },
}

#[derive(Default)]
struct Scope {
    /// Everything bound so far, whether still in scope or not.
    ever: BTreeSet<Sym>,
    visible: BTreeMap<Sym, Role>,
}

impl Scope {
    fn bind(&mut self, symbol: &Sym, role: Role) -> Result<(), String> {
        if !self.ever.insert(symbol.clone()) {
            return Err(format!("`{symbol}` is bound twice"));
        }
        self.visible.insert(symbol.clone(), role);
        Ok(())
    }

    fn body(&mut self, block: &[Stmt], of: &str) -> Result<(), String> {
        if block.is_empty() {
            return Err(format!("the body of {of} is empty"));
        }
        self.block(block)
    }

    fn block(&mut self, block: &[Stmt]) -> Result<(), String> {
        block.iter().try_for_each(|stmt| self.stmt(stmt))?;
        for stmt in block {
            if let Some(symbol) = visit::bound_by(stmt) {
                self.visible.remove(symbol);
            }
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), String> {
        let mut failed = Ok(());
        visit::each_own_expr(stmt, &mut |expr| {
            if failed.is_ok() {
                failed = self.expr(expr);
            }
        });
        failed?;
        match &stmt.kind {
            StmtKind::Assign { name, idx, .. } | StmtKind::Reduce { name, idx, .. } => {
                self.access(name, idx.len(), "write")
            }
            StmtKind::Pass | StmtKind::Call { .. } | StmtKind::WriteConfig { .. } => Ok(()),
            StmtKind::If { body, orelse, .. } => {
                self.body(body, "an `if`")?;
                self.block(orelse)
            }
            StmtKind::For { iter, body, .. } => {
                self.bind(iter, Role::Control)?;
                self.body(body, "a loop")?;
                self.visible.remove(iter);
                Ok(())
            }
            StmtKind::Alloc { name, ty, .. } => self.bind(name, Role::Data { rank: ty.shape.len() }),
            StmtKind::Window { name, rhs } => match &rhs.kind {
                ExprKind::Window { idx, .. } => self.bind(name, Role::Data { rank: window_shape(idx).len() }),
                ExprKind::Read { .. }
                | ExprKind::Const(_)
                | ExprKind::ReadConfig(_)
                | ExprKind::Neg(_)
                | ExprKind::Binary { .. }
                | ExprKind::Extern { .. }
                | ExprKind::Stride { .. } => Err(format!("`{name}` is a window statement without a window")),
            },
        }
    }

    fn expr(&self, expr: &Expr) -> Result<(), String> {
        let mut result = Ok(());
        visit::each_expr(expr, &mut |node| {
            if result.is_ok() {
                result = self.node(node);
            }
        });
        result
    }

    fn node(&self, expr: &Expr) -> Result<(), String> {
        match &expr.kind {
            // A bare name may stand for a whole buffer in a call.
            ExprKind::Read { name, idx } if idx.is_empty() => self.role(name).map(|_| ()),
            ExprKind::Read { name, idx } => self.access(name, idx.len(), "read"),
            ExprKind::Window { name, idx } => self.access(name, idx.len(), "window"),
            ExprKind::Stride { name, dim } => match self.role(name)? {
                Role::Data { rank } if *dim < rank => Ok(()),
                Role::Data { .. } | Role::Control => Err(format!("`{name}` has no dimension {dim}")),
            },
            ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. } => Ok(()),
        }
    }

    fn role(&self, name: &Sym) -> Result<Role, String> {
        self.visible.get(name).copied().ok_or_else(|| format!("`{name}` is used outside its scope"))
    }

    fn access(&self, name: &Sym, indices: usize, what: &str) -> Result<(), String> {
        match self.role(name)? {
            Role::Data { rank } if rank == indices => Ok(()),
            Role::Data { rank } => Err(format!("a {what} of `{name}` has {indices} indices for {rank} dimensions")),
            Role::Control => Err(format!("a {what} indexes `{name}`, which is a control value")),
        }
    }
}
