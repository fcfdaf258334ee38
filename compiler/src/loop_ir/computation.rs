//! The precision that data expressions are computed in: that of what they read, or of where the result goes.

use crate::hardware::config::FieldType;
use crate::hardware::precision::Precision;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::expression::{Expr, ExprKind};
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::visit;

/// The precision that `rhs` is computed in: that of the buffers it reads, or `target` when it reads none.
pub fn of_rhs(rhs: &Expr, target: Precision, declarations: &Declarations) -> Precision {
    let mut found = None;
    data_reads(rhs, &mut |expr| {
        if found.is_none() {
            found = precision_of(expr, declarations);
        }
    });
    found.unwrap_or(target)
}

/// The precision that the right side of a statement is computed in; `None` where the statement computes no data.
pub fn of_stmt(stmt: &Stmt, declarations: &Declarations) -> Option<Precision> {
    let (rhs, target) = match &stmt.kind {
        StmtKind::Assign { name, rhs, .. } | StmtKind::Reduce { name, rhs, .. } => (rhs, declarations.precision(name)?),
        StmtKind::WriteConfig { field, rhs } => match field.ty() {
            FieldType::Data(precision) => (rhs, precision),
            FieldType::Size | FieldType::Index | FieldType::Bool | FieldType::Stride => return None,
        },
        StmtKind::Pass
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. } => return None,
    };
    Some(of_rhs(rhs, target, declarations).concrete())
}

/// The concrete precision of a read or window.
pub fn precision_of(expr: &Expr, declarations: &Declarations) -> Option<Precision> {
    let declared = match &expr.kind {
        ExprKind::ReadConfig(field) => match field.ty() {
            FieldType::Data(precision) => Some(precision),
            FieldType::Size | FieldType::Index | FieldType::Bool | FieldType::Stride => None,
        },
        _ => visit::named(expr).and_then(|name| declarations.precision(name)),
    };
    declared.map(Precision::concrete)
}

/// One read with its precision.
pub type PreciseRead = (Expr, Precision);

/// The first read of a right side, and the first that has another precision; no C can be made of such a right side.
pub fn disagreement(rhs: &Expr, declarations: &Declarations) -> Option<(PreciseRead, PreciseRead)> {
    let mut first: Option<PreciseRead> = None;
    let mut other = None;
    data_reads(rhs, &mut |expr| {
        let Some(precision) = precision_of(expr, declarations) else { return };
        match &first {
            None => first = Some((expr.clone(), precision)),
            Some((_, seen)) if *seen != precision && other.is_none() => other = Some((expr.clone(), precision)),
            Some(_) => {}
        }
    });
    first.zip(other)
}

/// Calls `f` on the reads among the data operands of an expression; indices are control and not visited.
pub fn data_reads(expr: &Expr, f: &mut dyn FnMut(&Expr)) {
    visit_data(expr, &mut |node| {
        if matches!(node.kind, ExprKind::Read { .. } | ExprKind::ReadConfig(_)) {
            f(node);
        }
    });
}

/// Calls `f` on the data operands of an expression, itself first; indices are control and not visited.
pub fn visit_data(expr: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(expr);
    match &expr.kind {
        ExprKind::Neg(operand) => visit_data(operand, f),
        ExprKind::Binary { lhs, rhs, .. } => {
            visit_data(lhs, f);
            visit_data(rhs, f);
        }
        ExprKind::Extern { args, .. } => args.iter().for_each(|arg| visit_data(arg, f)),
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => {}
    }
}
