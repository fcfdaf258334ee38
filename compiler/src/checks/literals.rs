//! Warnings of negative literals in unsigned precisions: C takes them, and so do we, but few mean the value that they wrap to.

use crate::diagnostic::{Diagnostic, codes};
use crate::loop_ir::computation::{self, visit_data};
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::expression::{Const, Expr, ExprKind};
use crate::loop_ir::{Proc, StmtKind, visit};

/// One warning for each negative literal that is computed in `ui8`, `ui16` or `ui32`.
pub fn wrapping(proc: &Proc) -> Vec<Diagnostic> {
    let declarations = Declarations::of(proc);
    let mut found = Vec::new();
    visit::each_stmt(&proc.body, &mut |stmt| {
        let Some(precision) = computation::of_stmt(stmt, &declarations).filter(|p| p.is_unsigned()) else { return };
        let (StmtKind::Assign { rhs, .. } | StmtKind::Reduce { rhs, .. } | StmtKind::WriteConfig { rhs, .. }) =
            &stmt.kind
        else {
            return;
        };
        visit_data(rhs, &mut |expr| {
            if let Some(value) = negative(expr) {
                let word = precision.word();
                let message = format!("the literal {value} is no value of `{word}` and wraps around");
                let hint = format!("write the value of `{word}` that is meant, or compute in a signed precision");
                found.push(Diagnostic::warning(codes::PRECISION, message).at(&expr.span, "literal").hint(hint));
            }
        });
    });
    found
}

fn negative(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Const(Const::Int(value)) if *value < 0 => Some(value.to_string()),
        ExprKind::Const(Const::Real(value)) if *value < 0.0 => Some(format!("{value:?}")),
        _ => None,
    }
}
