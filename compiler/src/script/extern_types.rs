//! What externs say about their calls in a definition: their `typecheck` is asked where precisions are known.

use std::cell::RefCell;

use starlark::eval::Evaluator;

use crate::codegen::externs::mistyped;
use crate::diagnostic::Diagnostic;
use crate::hardware::extern_function::ExternKind;
use crate::hardware::memory::Hooks;
use crate::hardware::precision::Precision;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Expr, ExprKind, Proc, Stmt, computation, visit};
use crate::script::hooks::ScriptHooks;

/// The calls of a definition that an extern refuses. Where a precision is still open (`R`) nothing is asked: a schedule
/// will set it, and the C that is generated is asked about again.
pub(crate) fn check(proc: &Proc, eval: &mut Evaluator<'_, '_, '_>) -> Result<(), Vec<Diagnostic>> {
    let mut calls_one = false;
    visit::each_extern(&proc.body, &mut |function| calls_one |= function.kind == ExternKind::User);
    if !calls_one {
        return Ok(());
    }
    let declarations = Declarations::of(proc);
    let hooks = ScriptHooks { eval: RefCell::new(eval) };
    let mut found = Vec::new();
    visit::each_stmt(&proc.body, &mut |stmt| {
        if let Some(precision) = computation::of_stmt(stmt, &declarations).filter(|_| !is_open(stmt, &declarations)) {
            visit::each_own_expr(stmt, &mut |expr| ask(expr, precision, &hooks, &mut found));
        }
    });
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Whether a statement reads or writes data of no precision yet.
fn is_open(stmt: &Stmt, declarations: &Declarations) -> bool {
    let mut open = visit::written_by(stmt).and_then(|name| declarations.precision(name)) == Some(Precision::R);
    visit::each_own_expr(stmt, &mut |expr| {
        computation::data_reads(expr, &mut |read| {
            open |= visit::named(read).and_then(|name| declarations.precision(name)) == Some(Precision::R);
        });
    });
    open
}

fn ask(expr: &Expr, precision: Precision, hooks: &dyn Hooks, found: &mut Vec<Diagnostic>) {
    visit::each_expr(expr, &mut |node| {
        let ExprKind::Extern { function, args } = &node.kind else { return };
        if function.kind != ExternKind::User {
            return;
        }
        for diagnostic in mistyped(hooks, function, args.len(), precision).into_iter().flat_map(|said| said.diagnostics)
        {
            found.push(match diagnostic.primary {
                None => diagnostic.at(&node.span, "called here"),
                Some(_) => diagnostic,
            });
        }
    });
}
