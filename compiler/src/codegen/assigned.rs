//! Whether a scalar variable of C may be read before it is assigned, which C leaves undefined.

use crate::loop_ir::NameFilter;
use crate::loop_ir::block::Block;
use crate::loop_ir::build;
use crate::loop_ir::expression::Expr;
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::visit;
use crate::symbol::Sym;

/// What a piece of code does first with the scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// It may read it before it has assigned it.
    Read,
    /// It assigns it, on every path.
    Assigned,
    /// Neither is sure: it does not read it first.
    Open,
}

/// Whether the code after the allocation of `scalar` may read it first. Seen from the statements alone, so "may" is said too
/// often.
pub fn may_be_read_first(rest: &Block, scalar: &Sym) -> bool {
    block(rest, scalar) == First::Read
}

fn block(list: &Block, scalar: &Sym) -> First {
    let filter = NameFilter::of([scalar]);
    for (_, stmt) in list.picked(|summary| summary.names.meets(filter)) {
        match statement(stmt, scalar) {
            First::Open => {}
            decided => return decided,
        }
    }
    First::Open
}

fn statement(stmt: &Stmt, scalar: &Sym) -> First {
    match &stmt.kind {
        StmtKind::Assign { name, .. } => match (mentioned(stmt, scalar), name == scalar) {
            (true, _) => First::Read,
            (false, true) => First::Assigned,
            (false, false) => First::Open,
        },
        StmtKind::Reduce { name, .. } if name == scalar => First::Read,
        StmtKind::Reduce { .. } | StmtKind::WriteConfig { .. } | StmtKind::Window { .. } => {
            if mentioned(stmt, scalar) {
                First::Read
            } else {
                First::Open
            }
        }
        StmtKind::Pass | StmtKind::Alloc { .. } => First::Open,
        StmtKind::If { body, orelse, .. } => match (block(body, scalar), block(orelse, scalar)) {
            (First::Read, _) | (_, First::Read) => First::Read,
            (First::Assigned, First::Assigned) => First::Assigned,
            (First::Assigned | First::Open, First::Assigned | First::Open) => First::Open,
        },
        StmtKind::For { lo, hi, body, .. } => {
            let runs = build::int_value(lo).zip(build::int_value(hi)).is_some_and(|(lo, hi)| lo < hi);
            match block(body, scalar) {
                First::Assigned if !runs => First::Open,
                first => first,
            }
        }
        StmtKind::Call { callee, args } => {
            let given = callee.args.iter().zip(args).filter(|(_, actual)| mentions(actual, scalar));
            given.map(|(formal, _)| block(&callee.body, &formal.name)).fold(First::Open, |all, one| match (all, one) {
                (First::Read, _) | (_, First::Read) => First::Read,
                (First::Assigned, _) | (_, First::Assigned) => First::Assigned,
                (First::Open, First::Open) => First::Open,
            })
        }
    }
}

fn mentioned(stmt: &Stmt, scalar: &Sym) -> bool {
    let mut found = false;
    visit::each_own_expr(stmt, &mut |expr| found |= mentions(expr, scalar));
    found
}

fn mentions(expr: &Expr, scalar: &Sym) -> bool {
    let mut found = false;
    visit::each_expr(expr, &mut |node| found |= visit::named(node) == Some(scalar));
    found
}
