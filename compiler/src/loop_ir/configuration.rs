//! Which configuration fields code reads and writes, and what is known of their values as control flows past it.

use std::collections::{BTreeMap, BTreeSet};

use crate::hardware::config::{ConfigField, FieldType};
use crate::loop_ir::block::Block;
use crate::loop_ir::build;
use crate::loop_ir::expression::{Access, Expr, ExprKind};
use crate::loop_ir::procedure::{ArgType, Proc};
use crate::loop_ir::statement::{ConfigUse, Stmt, StmtKind};
use crate::loop_ir::substitute::map_expr;
use crate::loop_ir::types::{Control, Ty};
use crate::loop_ir::visit;
use crate::symbol::Sym;

/// The type of a read of a field.
pub fn ty(field: &ConfigField) -> Ty {
    match field.ty() {
        FieldType::Size => Ty::SIZE,
        FieldType::Index => Ty::INDEX,
        FieldType::Bool => Ty::BOOL,
        FieldType::Stride => Ty::STRIDE,
        FieldType::Data(_) => Ty::Data,
    }
}

/// The control type of a field; `None` for data.
pub fn control(field: &ConfigField) -> Option<Control> {
    match ty(field) {
        Ty::Control(control) => Some(control),
        Ty::Data => None,
    }
}

/// What a statement has to do with configuration state, from what is known of its parts.
pub(crate) fn use_of(kind: &StmtKind) -> ConfigUse {
    let reads = |reads: bool| ConfigUse { reads, writes: false };
    let all = |exprs: &[Expr]| reads(exprs.iter().any(|expr| expr.reads_config));
    let block = |block: &Block| block.summary().config;
    match kind {
        StmtKind::Assign { idx, rhs, .. } | StmtKind::Reduce { idx, rhs, .. } => all(idx).or(reads(rhs.reads_config)),
        StmtKind::Pass => ConfigUse::default(),
        StmtKind::If { cond, body, orelse } => reads(cond.reads_config).or(block(body)).or(block(orelse)),
        StmtKind::For { lo, hi, body, .. } => reads(lo.reads_config || hi.reads_config).or(block(body)),
        StmtKind::Alloc { ty, .. } => all(&ty.shape),
        StmtKind::Call { callee, args } => all(args).or(all(&callee.preds)).or(block(&callee.body)),
        StmtKind::Window { rhs, .. } => reads(rhs.reads_config),
        StmtKind::WriteConfig { rhs, .. } => ConfigUse { reads: rhs.reads_config, writes: true },
    }
}

/// Whether a procedure reads a control field that it also writes, so that its checks rest on following the value.
pub fn followed(proc: &Proc) -> bool {
    let used = proc.body.summary().config;
    if !used.reads || !used.writes {
        return false;
    }
    let touched = Touched::by_block(&proc.body);
    touched.reads.intersection(&touched.writes).any(|field| control(field).is_some())
}

/// The fields that code reads and may write, through calls too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Touched {
    pub reads: BTreeSet<ConfigField>,
    pub writes: BTreeSet<ConfigField>,
}

impl Touched {
    /// Of a whole procedure, its asserts included.
    pub fn by_proc(proc: &Proc) -> Touched {
        let mut touched = Touched::by_block(&proc.body);
        proc.preds.iter().for_each(|pred| touched.add_expr(pred));
        touched
    }

    pub fn by_block(block: &Block) -> Touched {
        let mut touched = Touched::default();
        touched.add_block(block);
        touched
    }

    pub fn by_exprs<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Touched {
        let mut touched = Touched::default();
        exprs.into_iter().for_each(|expr| touched.add_expr(expr));
        touched
    }

    /// Every field that occurs.
    pub fn all(&self) -> BTreeSet<ConfigField> {
        self.reads.union(&self.writes).cloned().collect()
    }

    fn add_block(&mut self, block: &Block) {
        for (_, stmt) in block.picked(|summary| summary.config.reads || summary.config.writes) {
            self.add_stmt(stmt);
        }
    }

    fn add_stmt(&mut self, stmt: &Stmt) {
        visit::each_own_expr(stmt, &mut |expr| self.add_expr(expr));
        match &stmt.kind {
            StmtKind::WriteConfig { field, .. } => {
                self.writes.insert(field.clone());
            }
            StmtKind::If { body, orelse, .. } => {
                self.add_block(body);
                self.add_block(orelse);
            }
            StmtKind::For { body, .. } => self.add_block(body),
            StmtKind::Call { callee, .. } => {
                callee.preds.iter().for_each(|pred| self.add_expr(pred));
                self.add_block(&callee.body);
            }
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::Alloc { .. }
            | StmtKind::Window { .. } => {}
        }
    }

    fn add_expr(&mut self, expr: &Expr) {
        if expr.reads_config {
            visit::each_expr(expr, &mut |node| {
                if let ExprKind::ReadConfig(field) = &node.kind {
                    self.reads.insert(field.clone());
                }
            });
        }
    }
}

/// Whether a block may change configuration state.
pub fn may_write(block: &Block) -> bool {
    block.summary().config.writes
}

/// A field that the expressions read and the block may write.
pub fn disturbed<'a>(exprs: impl IntoIterator<Item = &'a Expr>, block: &Block) -> Option<ConfigField> {
    if !may_write(block) {
        return None;
    }
    let reads = Touched::by_exprs(exprs).reads;
    if reads.is_empty() {
        return None;
    }
    Touched::by_block(block).writes.into_iter().find(|field| reads.contains(field))
}

/// What is known of the values of the fields at a point of a procedure.
///
/// Values are expressions over control variables, strides, buffer elements and the values that fields had on entry, which
/// are written as reads of the fields' own symbols. A field without entry still has its value of the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigState {
    values: BTreeMap<Sym, Option<Expr>>,
}

/// The value that a field had when the procedure was entered.
pub fn on_entry(field: &ConfigField) -> Expr {
    let read = ExprKind::Read { name: field.symbol(), idx: Vec::new() };
    build::expr(read, ty(field), &crate::source::Span::none())
}

impl ConfigState {
    /// The value of a field; `None` when nothing is known.
    pub fn value(&self, field: &ConfigField) -> Option<Expr> {
        match self.values.get(&field.symbol()) {
            Some(value) => value.clone(),
            None => Some(on_entry(field)),
        }
    }

    pub fn set(&mut self, field: &ConfigField, value: Option<Expr>) {
        self.values.insert(field.symbol(), value);
    }

    /// The value of a field's symbol, where the field was written.
    pub fn written(&self, symbol: &Sym) -> Option<&Option<Expr>> {
        self.values.get(symbol)
    }

    /// The symbols of fields that were written.
    pub fn written_symbols(&self) -> impl Iterator<Item = (&Sym, &Option<Expr>)> {
        self.values.iter()
    }

    /// An expression with reads of fields replaced by their values; `None` when one is not known.
    pub fn resolve(&self, expr: &Expr) -> Option<Expr> {
        if !expr.reads_config {
            return Some(expr.clone());
        }
        let mut known = true;
        let resolved = map_expr(expr, &mut |node| match &node.kind {
            ExprKind::ReadConfig(field) => {
                let value = self.value(field);
                known &= value.is_some();
                value
            }
            ExprKind::Read { .. }
            | ExprKind::Const(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Window { .. }
            | ExprKind::Stride { .. } => None,
        });
        known.then_some(resolved)
    }

    pub fn any(&self, f: &mut dyn FnMut(&Expr) -> bool) -> bool {
        self.values.values().flatten().any(f)
    }

    /// Forgets the values that another state does not know.
    pub fn forget_as(&mut self, other: &ConfigState) {
        for (symbol, value) in &mut self.values {
            if other.values.get(symbol) == Some(&None) {
                *value = None;
            }
        }
    }

    /// Forgets values for which `stale` says so.
    pub fn forget(&mut self, stale: &mut dyn FnMut(&Expr) -> bool) {
        for value in self.values.values_mut() {
            if value.as_ref().is_some_and(&mut *stale) {
                *value = None;
            }
        }
    }
}

/// A declaration whose extents or accesses would read configuration state, which may change while they are in use.
pub fn dependent_declaration(proc: &Proc) -> Option<String> {
    let interval = |access: &Access| match access {
        Access::Point(point) => point.reads_config,
        Access::Interval { lo, hi } => lo.reads_config || hi.reads_config,
    };
    for arg in &proc.args {
        if let ArgType::Data(ty) = &arg.ty
            && ty.shape.iter().any(|extent| extent.reads_config)
        {
            return Some(arg.name.to_string());
        }
    }
    let mut found = None;
    each_reading(&proc.body, &mut |stmt| match &stmt.kind {
        StmtKind::Alloc { name, ty, .. } if ty.shape.iter().any(|extent| extent.reads_config) => {
            found = Some(name.to_string());
        }
        StmtKind::Window { name, rhs } => {
            if let ExprKind::Window { idx, .. } = &rhs.kind
                && idx.iter().any(interval)
            {
                found = Some(name.to_string());
            }
        }
        StmtKind::Alloc { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Call { .. }
        | StmtKind::WriteConfig { .. } => {}
    });
    found
}

/// The statements that read configuration state, at any depth.
fn each_reading(block: &Block, f: &mut dyn FnMut(&Stmt)) {
    for (_, stmt) in block.picked(|summary| summary.config.reads) {
        f(stmt);
        match &stmt.kind {
            StmtKind::If { body, orelse, .. } => {
                each_reading(body, f);
                each_reading(orelse, f);
            }
            StmtKind::For { body, .. } => each_reading(body, f),
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::Alloc { .. }
            | StmtKind::Call { .. }
            | StmtKind::Window { .. }
            | StmtKind::WriteConfig { .. } => {}
        }
    }
}
