//! What is checked of a proc before any C is made: precisions, memories of arguments, windows, static storage.

use std::sync::Arc;

use crate::checks::fit;
use crate::codegen::precision;
use crate::codegen::problems::Problems;
use crate::cursor::path;
use crate::diagnostic::{Diagnostic, Severity, codes};
use crate::hardware::config::FieldType;
use crate::loop_ir::block::Block;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::expression::{Expr, ExprKind};
use crate::loop_ir::procedure::{Arg, ArgType, Proc};
use crate::loop_ir::statement::{LoopMode, Stmt, StmtKind};
use crate::loop_ir::visit;
use crate::source::Span;
use crate::symbol::Sym;

/// Refuses a call to a proc with C of its own where numbered places of a memory are taken: it might take the same ones.
pub fn check_leaf(proc: &Proc, errors: &mut Problems) {
    let mut counted = None;
    visit::each_stmt(&proc.body, &mut |stmt| {
        if let StmtKind::Alloc { name, mem, .. } = &stmt.kind
            && mem.pool().is_some()
        {
            counted.get_or_insert_with(|| (name.clone(), mem.clone(), stmt.span.clone()));
        }
    });
    let Some((name, memory, allocated)) = counted else { return };
    path::each_stmt_path(proc, &mut |at, stmt| {
        if let StmtKind::Call { callee, .. } = &stmt.kind
            && callee.instr.is_none()
        {
            let message = format!("`{}` holds `{name}` in {} and calls `{}`", proc.name, memory.name(), callee.name);
            errors.push(
                Diagnostic::error(codes::MEMORY, message)
                    .at(&stmt.span, "called here")
                    .label(&allocated, "takes a numbered place")
                    .hint(
                        "only instructions may be called there, since a proc might take the same place; use `inline`",
                    ),
            );
            errors.concern(proc, at);
        }
    });
}

/// Appends every reason why `proc` has no C. Callees are checked on their own.
pub fn check(proc: &Proc, declarations: &Declarations, errors: &mut Problems) {
    path::each_stmt_path(proc, &mut |at, stmt| {
        check_stmt(stmt, declarations, errors);
        errors.concern(proc, at);
    });
}

fn check_stmt(stmt: &Stmt, declarations: &Declarations, errors: &mut Problems) {
    match &stmt.kind {
        StmtKind::Assign { name, rhs, .. } | StmtKind::Reduce { name, rhs, .. } => {
            if let Some(target) = declarations.precision(name) {
                precision::check_rhs(rhs, target.concrete(), declarations, errors);
            }
        }
        StmtKind::WriteConfig { field, rhs } => {
            if let FieldType::Data(target) = field.ty() {
                precision::check_rhs(rhs, target, declarations, errors);
            }
        }
        StmtKind::Call { callee, args } => {
            let misfits = fit::misfits(callee, args, declarations);
            misfits.iter().for_each(|misfit| errors.push(misfit.diagnostic(Severity::Error)));
            for (formal, actual) in callee.args.iter().zip(args) {
                check_dense(callee, formal, actual, declarations, errors);
            }
        }
        StmtKind::For { body, mode: LoopMode::Par, .. } => {
            no_static_storage(body, &stmt.span, errors);
            no_places_from_outside(body, &stmt.span, declarations, errors);
        }
        StmtKind::For { .. }
        | StmtKind::If { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Window { .. }
        | StmtKind::Pass => {}
    }
}

fn check_dense(callee: &Proc, formal: &Arg, actual: &Expr, declarations: &Declarations, errors: &mut Problems) {
    let ArgType::Data(ty) = &formal.ty else { return };
    let Some(name) = visit::named(actual) else { return };
    if !ty.is_window && ty.rank() > 0 && is_strided(actual, name, declarations) {
        let message =
            format!("`{}` takes `{}` as a dense tensor, and a window may have gaps", callee.name, formal.name);
        errors.push(
            Diagnostic::error(codes::CALL, message)
                .at(&actual.span, "this is a window")
                .label(&formal.span, "dense parameter")
                .hint("declare the parameter as a window, `[T][...]`, or pass a whole buffer"),
        );
    }
}

fn is_strided(actual: &Expr, name: &Sym, declarations: &Declarations) -> bool {
    match &actual.kind {
        ExprKind::Window { .. } => true,
        ExprKind::Read { idx, .. } => idx.is_empty() && declarations.is_window(name),
        ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Stride { .. } => false,
    }
}

/// Refuses `static` buffers inside a parallel loop, in callees too: all iterations would share them.
fn no_static_storage(body: &Block, par: &Span, errors: &mut Problems) {
    visit::each_stmt(body, &mut |stmt| match &stmt.kind {
        StmtKind::Alloc { name, mem, .. } if mem.is_static() => {
            errors.push(static_in_par(name.name(), par).at(&stmt.span, "allocated here"));
        }
        StmtKind::Call { callee, .. } => {
            if let Some(name) = static_buffer(callee) {
                errors.push(static_in_par(name.name(), par).at(&stmt.span, format!("allocated in `{}`", callee.name)));
            }
        }
        StmtKind::Alloc { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Window { .. } => {}
    });
}

fn static_in_par(name: &str, par: &crate::source::Span) -> Diagnostic {
    Diagnostic::error(
        codes::MEMORY,
        format!("static buffer `{name}` would be shared by the iterations of a `par` loop"),
    )
    .label(par, "parallel loop")
    .hint("use DRAM_STACK or DRAM, which every iteration has for itself")
}

/// Refuses buffers in numbered places inside a parallel loop: each processor has places of its own.
fn no_places_from_outside(body: &Block, par: &Span, declarations: &Declarations, errors: &mut Problems) {
    let mut known: Vec<Sym> = Vec::new();
    visit::each_stmt(body, &mut |stmt| {
        let mut mention = |name: &Sym| {
            let Some(root) = declarations.root(name) else { return };
            let Some(memory) = declarations.memory(&root).filter(|memory| memory.pool().is_some()) else { return };
            if !known.contains(&root) {
                let message =
                    format!("`{root}` is in {} of one processor, and a `par` loop runs on several", memory.name());
                let refusal = Diagnostic::error(codes::MEMORY, message).at(&stmt.span, "used here");
                errors
                    .push(refusal.label(par, "parallel loop").hint("make the loop sequential, or set another memory"));
                known.push(root);
            }
        };
        visit::written_by(stmt).into_iter().for_each(&mut mention);
        visit::each_own_expr(stmt, &mut |expr| {
            visit::each_expr(expr, &mut |node| visit::named(node).into_iter().for_each(&mut mention));
        });
    });
}

/// A buffer of static storage in a proc or in what it calls.
fn static_buffer(proc: &Arc<Proc>) -> Option<Sym> {
    let mut found = None;
    visit::each_stmt(&proc.body, &mut |stmt| {
        if found.is_some() {
            return;
        }
        match &stmt.kind {
            StmtKind::Alloc { name, mem, .. } if mem.is_static() => found = Some(name.clone()),
            StmtKind::Call { callee, .. } => found = static_buffer(callee),
            StmtKind::Alloc { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::Window { .. } => {}
        }
    });
    found
}
