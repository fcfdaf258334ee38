//! What there is in a proc to point at: statements, expressions, and the names visible at a statement.

use exo_compiler::cursor::path::{self, each_stmt_path, expr_steps, own_expr_steps};
use exo_compiler::cursor::{Path, Step};
use exo_compiler::loop_ir::{Access, ArgType, Block, Control, Expr, ExprKind, Proc, Stmt, StmtKind};
use exo_compiler::print::Names;

/// All statements with their paths, in source order.
pub fn statements(proc: &Proc) -> Vec<(Path, Stmt)> {
    let mut found = Vec::new();
    each_stmt_path(proc, &mut |path, stmt| found.push((path.clone(), stmt.clone())));
    found
}

/// All expressions with their paths, in source order, parents first.
pub fn expressions(proc: &Proc) -> Vec<(Path, Expr)> {
    let mut found = Vec::new();
    for (path, stmt) in statements(proc) {
        for step in own_expr_steps(&stmt) {
            collect(proc, path.child(step), &mut found);
        }
    }
    found
}

fn collect(proc: &Proc, at: Path, found: &mut Vec<(Path, Expr)>) {
    let Some(expr) = path::expr(proc, &at) else { return };
    found.push((at.clone(), expr.clone()));
    for step in expr_steps(expr) {
        collect(proc, at.child(step), found);
    }
}

/// A loop around a place: its iterator and its bounds, as text.
pub struct EnclosingLoop {
    pub iter: String,
    pub hi: String,
}

/// The names that code at a statement may mention.
pub struct Visible {
    pub loops: Vec<EnclosingLoop>,
    pub sizes: Vec<String>,
    pub bools: Vec<String>,
    /// Buffers and windows with the texts of their extents.
    pub buffers: Vec<(String, Vec<String>)>,
}

/// What is visible just before the statement at `at`.
pub fn visible(proc: &Proc, at: &Path) -> Visible {
    let names = Names::of(proc);
    let mut visible = Visible { loops: Vec::new(), sizes: Vec::new(), bools: Vec::new(), buffers: Vec::new() };
    for arg in &proc.args {
        let name = names.get(&arg.name).to_string();
        match &arg.ty {
            ArgType::Control(Control::Size | Control::Index | Control::Int) => visible.sizes.push(name),
            ArgType::Control(Control::Bool) => visible.bools.push(name),
            ArgType::Control(Control::Stride) => {}
            ArgType::Data(ty) => visible.buffers.push((name, ty.shape.iter().map(|e| names.expr(e)).collect())),
        }
    }
    let mut prefix = Path::root();
    for step in &at.0 {
        let Some((orelse, position)) = step.in_list() else { break };
        let list = path::list(proc, &prefix, orelse).unwrap_or(Block::none());
        for stmt in list.iter().take(position) {
            match &stmt.kind {
                StmtKind::Alloc { name, ty, .. } => {
                    let shape = ty.shape.iter().map(|e| names.expr(e)).collect();
                    visible.buffers.push((names.get(name).to_string(), shape));
                }
                StmtKind::Window { name, rhs } => {
                    visible.buffers.push((names.get(name).to_string(), window_extents(rhs, &names)));
                }
                StmtKind::Assign { .. }
                | StmtKind::Reduce { .. }
                | StmtKind::Pass
                | StmtKind::WriteConfig { .. }
                | StmtKind::If { .. }
                | StmtKind::For { .. }
                | StmtKind::Call { .. } => {}
            }
        }
        prefix = prefix.child(Step::statement(orelse, position));
        if prefix != *at
            && let Some(stmt) = path::stmt(proc, &prefix)
            && let StmtKind::For { iter, hi, .. } = &stmt.kind
        {
            visible.loops.push(EnclosingLoop { iter: names.get(iter).to_string(), hi: names.expr(hi) });
        }
    }
    visible
}

fn window_extents(rhs: &Expr, names: &Names) -> Vec<String> {
    let ExprKind::Window { idx, .. } = &rhs.kind else { return Vec::new() };
    idx.iter()
        .filter_map(|access| match access {
            Access::Point(_) => None,
            Access::Interval { lo, hi } => Some(format!("{} - ({})", names.expr(hi), names.expr(lo))),
        })
        .collect()
}

/// Accesses to buffers inside a statement: name and indices as text.
pub fn accesses(proc: &Proc, at: &Path) -> Vec<(String, Vec<String>)> {
    let names = Names::of(proc);
    let mut found = Vec::new();
    let Some(stmt) = path::stmt(proc, at) else { return found };
    exo_compiler::loop_ir::visit::each_stmt(&Block::one(stmt.clone()), &mut |stmt| {
        if let StmtKind::Assign { name, idx, .. } | StmtKind::Reduce { name, idx, .. } = &stmt.kind {
            found.push((names.get(name).to_string(), idx.iter().map(|e| names.expr(e)).collect()));
        }
        exo_compiler::loop_ir::visit::each_own_expr(stmt, &mut |expr| {
            exo_compiler::loop_ir::visit::each_expr(expr, &mut |node| {
                if let ExprKind::Read { name, idx } = &node.kind
                    && node.ty == exo_compiler::loop_ir::Ty::Data
                {
                    found.push((names.get(name).to_string(), idx.iter().map(|e| names.expr(e)).collect()));
                }
            });
        });
    });
    found
}
