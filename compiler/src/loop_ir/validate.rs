//! Structural laws of a proc: symbols bound once and used in scope, no empty bodies, one index for each dimension.
//!
//! A violation is a bug of whoever built the tree. `revalidate` holds the same laws for what one step changed.

use std::collections::BTreeMap;

use crate::diagnostic::counted;
use crate::loop_ir::block::Block;
use crate::loop_ir::configuration;
use crate::loop_ir::declarations::{Declarations, window_shape};
use crate::loop_ir::expression::{Expr, ExprKind};
use crate::loop_ir::procedure::{Arg, ArgType, Proc};
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::summary::NameFilter;
use crate::loop_ir::visit;
use crate::symbol::{Identity, Sym};

/// Checks the laws; the error says which one is broken and where, in symbols' own spellings.
pub fn validate(proc: &Proc) -> Result<(), String> {
    let mut scope = Scope::default();
    for arg in &proc.args {
        scope.bind(&arg.name, Role::of_arg(arg))?;
    }
    for arg in &proc.args {
        if let ArgType::Data(ty) = &arg.ty {
            ty.shape.iter().try_for_each(|extent| scope.expr(extent))?;
        }
    }
    no_dependent_declaration(proc)?;
    proc.preds.iter().try_for_each(|pred| scope.expr(pred))?;
    scope.body(&proc.body, "the proc")
}

/// What a declaration depends on must not change while it is in use.
pub(in crate::loop_ir) fn no_dependent_declaration(proc: &Proc) -> Result<(), String> {
    match configuration::dependent_declaration(proc) {
        Some(name) => Err(format!("the declaration of `{name}` depends on configuration state")),
        None => Ok(()),
    }
}

/// Checks the laws of a proc that is finished, and remembers its declarations with it.
pub fn commit(proc: &Proc) -> Result<(), String> {
    validate(proc)?;
    proc.committed.set(Declarations::of(proc));
    Ok(())
}

/// The declarations of a proc that is finished and keeps the laws; remembered with it. `None` where it breaks one.
pub(in crate::loop_ir) fn committed(proc: &Proc) -> Option<&Declarations> {
    if proc.committed.declarations().is_none() {
        commit(proc).ok()?;
    }
    proc.committed.declarations()
}

/// What a name may be used as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::loop_ir) enum Role {
    Control,
    Data { rank: usize },
}

impl Role {
    pub(in crate::loop_ir) fn of_arg(arg: &Arg) -> Role {
        match &arg.ty {
            ArgType::Control(_) => Role::Control,
            ArgType::Data(ty) => Role::Data { rank: ty.shape.len() },
        }
    }

    /// What a statement binds for those after it in its list.
    pub(in crate::loop_ir) fn of_later(stmt: &Stmt) -> Option<(&Sym, Role)> {
        match &stmt.kind {
            StmtKind::Alloc { name, ty, .. } => Some((name, Role::Data { rank: ty.shape.len() })),
            StmtKind::Window { name, rhs } => match &rhs.kind {
                ExprKind::Window { idx, .. } => Some((name, Role::Data { rank: window_shape(idx).len() })),
                ExprKind::Read { .. }
                | ExprKind::Const(_)
                | ExprKind::ReadConfig(_)
                | ExprKind::Neg(_)
                | ExprKind::Binary { .. }
                | ExprKind::Extern { .. }
                | ExprKind::Stride { .. } => None,
            },
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::Call { .. } => None,
        }
    }
}

/// The names that a check knows: those bound by what it went through, and those visible where it started.
#[derive(Default)]
pub(in crate::loop_ir) struct Scope<'a> {
    /// Everything bound so far, whether still in scope or not.
    pub(in crate::loop_ir) ever: BTreeMap<Identity, Sym>,
    pub(in crate::loop_ir) visible: BTreeMap<Identity, Role>,
    /// Parameters, and the lists around the place where the check started, outermost first, each with the position of
    /// the statement that the next one is inside of. Empty for a check of everything.
    pub(in crate::loop_ir) args: &'a [Arg],
    pub(in crate::loop_ir) around: Vec<(&'a Block, usize)>,
}

pub(in crate::loop_ir) fn bound_twice(symbol: &Sym) -> String {
    format!("`{symbol}` is bound twice")
}

impl Scope<'_> {
    fn bind(&mut self, symbol: &Sym, role: Role) -> Result<(), String> {
        if self.ever.insert(symbol.identity(), symbol.clone()).is_some() {
            return Err(bound_twice(symbol));
        }
        self.visible.insert(symbol.identity(), role);
        Ok(())
    }

    fn body(&mut self, block: &Block, of: &str) -> Result<(), String> {
        not_empty(block, of)?;
        self.block(block)
    }

    fn block(&mut self, block: &Block) -> Result<(), String> {
        block.iter().try_for_each(|stmt| self.stmt(stmt))?;
        self.leave(block);
        Ok(())
    }

    /// Ends the life of what a list binds.
    pub(in crate::loop_ir) fn leave(&mut self, block: &Block) {
        for symbol in block.iter().filter_map(|stmt| visit::bound_by(stmt)) {
            self.visible.remove(&symbol.identity());
        }
    }

    /// A statement with everything in it; what it binds stays visible.
    pub(in crate::loop_ir) fn stmt(&mut self, stmt: &Stmt) -> Result<(), String> {
        self.own_exprs(stmt)?;
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
                self.visible.remove(&iter.identity());
                Ok(())
            }
            StmtKind::Alloc { .. } | StmtKind::Window { .. } => match Role::of_later(stmt) {
                Some((name, role)) => self.bind(name, role),
                None => Err("a window statement is without a window".to_string()),
            },
        }
    }

    /// The expressions of the statement itself.
    pub(in crate::loop_ir) fn own_exprs(&self, stmt: &Stmt) -> Result<(), String> {
        let mut result = Ok(());
        visit::each_own_expr(stmt, &mut |expr| {
            if result.is_ok() {
                result = self.expr(expr);
            }
        });
        result
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
        let inside = self.visible.get(&name.identity()).copied();
        inside.or_else(|| self.role_around(name)).ok_or_else(|| format!("`{name}` is used outside its scope"))
    }

    fn role_around(&self, name: &Sym) -> Option<Role> {
        if let Some(arg) = self.args.iter().find(|arg| arg.name == *name) {
            return Some(Role::of_arg(arg));
        }
        let innermost = self.around.len().checked_sub(1)?;
        self.around.iter().enumerate().rev().find_map(|(level, (list, at))| {
            // The check goes on inside the statements of the outer lists, and with that of the innermost itself.
            if let Some(StmtKind::For { iter, .. }) = list.get(*at).map(|stmt| &stmt.kind)
                && level < innermost
                && iter == name
            {
                return Some(Role::Control);
            }
            let wanted = NameFilter::of([name]);
            let mut earlier = list
                .picked_before(*at, move |summary| summary.names.meets(wanted))
                .filter_map(|(_, stmt)| Role::of_later(stmt));
            earlier.find(|(bound, _)| *bound == name).map(|(_, role)| role)
        })
    }

    fn access(&self, name: &Sym, indices: usize, what: &str) -> Result<(), String> {
        match self.role(name)? {
            Role::Data { rank } if rank == indices => Ok(()),
            Role::Data { rank } => {
                let (indices, rank) = (counted(indices, "index"), counted(rank, "dimension"));
                Err(format!("a {what} of `{name}` has {indices} for {rank}"))
            }
            Role::Control => Err(format!("a {what} indexes `{name}`, which is a control value")),
        }
    }
}

pub(in crate::loop_ir) fn not_empty(block: &Block, of: &str) -> Result<(), String> {
    if block.is_empty() { Err(format!("the body of {of} is empty")) } else { Ok(()) }
}
