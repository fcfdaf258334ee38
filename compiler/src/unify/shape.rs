//! The cheap question asked before unification: do two blocks have the same statements and operators at all?

use std::sync::Arc;

use crate::loop_ir::{Block, Const, Expr, ExprKind, Stmt, StmtKind, build};

/// Whether a callee's body might match a block. `false` is certain; `true` promises nothing.
///
/// Looks at kinds, loop modes, literal bounds, numbers of indices and the operators of data expressions; allocates
/// nothing, so that it can be asked at every statement of a large program.
pub fn could_match(body: &Block, block: &Block) -> bool {
    body.len() == block.len() && body.iter().zip(block).all(|(f, b)| stmt(f, b))
}

fn stmt(f: &Stmt, b: &Stmt) -> bool {
    match (&f.kind, &b.kind) {
        (StmtKind::Assign { idx: fi, rhs: fr, .. }, StmtKind::Assign { idx: bi, rhs: br, .. })
        | (StmtKind::Reduce { idx: fi, rhs: fr, .. }, StmtKind::Reduce { idx: bi, rhs: br, .. }) => {
            fi.len() <= bi.len() && data(fr, br)
        }
        (StmtKind::Pass, StmtKind::Pass) => true,
        (StmtKind::If { body: fb, orelse: fo, .. }, StmtKind::If { body: bb, orelse: bo, .. }) => {
            could_match(fb, bb) && could_match(fo, bo)
        }
        (
            StmtKind::For { lo: fl, hi: fh, body: fb, mode: fm, .. },
            StmtKind::For { lo: bl, hi: bh, body: bb, mode: bm, .. },
        ) => fm == bm && bound(fl, bl) && bound(fh, bh) && could_match(fb, bb),
        (StmtKind::Alloc { ty: ft, mem: fm, .. }, StmtKind::Alloc { ty: bt, mem: bm, .. }) => {
            ft.precision == bt.precision && ft.rank() == bt.rank() && fm == bm
        }
        (StmtKind::Call { callee: f, args: fa }, StmtKind::Call { callee: b, args: ba }) => {
            (Arc::ptr_eq(f, b) || f.name == b.name) && fa.len() == ba.len()
        }
        (StmtKind::Window { .. }, StmtKind::Window { .. }) => true,
        (StmtKind::WriteConfig { field: f, .. }, StmtKind::WriteConfig { field: b, .. }) => f == b,
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

/// Two literal bounds must be one number; anything else may still be equal.
fn bound(f: &Expr, b: &Expr) -> bool {
    match (build::int_value(f), build::int_value(b)) {
        (Some(f), Some(b)) => f == b,
        (Some(_) | None, _) => true,
    }
}

fn data(f: &Expr, b: &Expr) -> bool {
    match (&f.kind, &b.kind) {
        (ExprKind::Read { idx: fi, .. }, ExprKind::Read { idx: bi, .. }) => fi.len() <= bi.len(),
        (ExprKind::Const(f), ExprKind::Const(b)) => same_number(f, b),
        (ExprKind::ReadConfig(f), ExprKind::ReadConfig(b)) => f == b,
        (ExprKind::Neg(f), ExprKind::Neg(b)) => data(f, b),
        (ExprKind::Binary { op: fo, lhs: fl, rhs: fr }, ExprKind::Binary { op: bo, lhs: bl, rhs: br }) => {
            fo == bo && data(fl, bl) && data(fr, br)
        }
        (ExprKind::Extern { function: ff, args: fa }, ExprKind::Extern { function: bf, args: ba }) => {
            ff == bf && fa.len() == ba.len() && fa.iter().zip(ba).all(|(f, b)| data(f, b))
        }
        (
            ExprKind::Read { .. }
            | ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Window { .. }
            | ExprKind::Stride { .. },
            _,
        ) => false,
    }
}

/// Whether two data literals are one real number.
pub(super) fn same_number(f: &Const, b: &Const) -> bool {
    match (f, b) {
        (Const::Int(int), Const::Real(real)) | (Const::Real(real), Const::Int(int)) => {
            // Exact only where the integer has a double of its own.
            int.unsigned_abs() <= 1 << 53 && *real == *int as f64
        }
        (Const::Real(f), Const::Real(b)) => f == b,
        (Const::Int(f), Const::Int(b)) => f == b,
        (Const::Bool(f), Const::Bool(b)) => f == b,
        (Const::Int(_) | Const::Real(_) | Const::Bool(_), _) => false,
    }
}
