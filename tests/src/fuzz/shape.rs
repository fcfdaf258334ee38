//! What code looks like without its names: blocks of one shape are worth comparing.

use exo_compiler::loop_ir::{Block, Expr, ExprKind, StmtKind};

/// The kinds of statements in a block and how they nest.
pub(crate) fn shape(block: &Block) -> String {
    block
        .iter()
        .map(|stmt| match &stmt.kind {
            StmtKind::Assign { rhs, .. } => format!("={}", form(rhs)),
            StmtKind::Reduce { rhs, .. } => format!("+{}", form(rhs)),
            StmtKind::Pass => "p".to_string(),
            StmtKind::WriteConfig { field, .. } => format!("{field}="),
            StmtKind::If { body, orelse, .. } => format!("if({})({})", shape(body), shape(orelse)),
            StmtKind::For { body, .. } => format!("for({})", shape(body)),
            StmtKind::Alloc { .. } => "a".to_string(),
            StmtKind::Call { .. } => "c".to_string(),
            StmtKind::Window { .. } => "w".to_string(),
        })
        .collect()
}

/// The operations of a right side.
fn form(rhs: &Expr) -> String {
    match &rhs.kind {
        ExprKind::Read { .. } => "r".to_string(),
        ExprKind::Const(_) => "c".to_string(),
        ExprKind::ReadConfig(field) => field.to_string(),
        ExprKind::Neg(operand) => format!("-{}", form(operand)),
        ExprKind::Binary { op, lhs, rhs } => format!("({}{}{})", form(lhs), op.text(), form(rhs)),
        ExprKind::Extern { function, args } => {
            format!("{}({})", function.name, args.iter().map(form).collect::<Vec<_>>().join(","))
        }
        ExprKind::Window { .. } | ExprKind::Stride { .. } => "w".to_string(),
    }
}
