//! What data an expression reads: which buffers, behind windows, and in which precisions.

use std::collections::BTreeSet;

use crate::hardware::config::FieldType;
use crate::hardware::precision::Precision;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Expr, ExprKind, visit};
use crate::symbol::Sym;

/// The buffers that own what an expression reads.
pub fn roots(expr: &Expr, declarations: &Declarations) -> BTreeSet<Sym> {
    let mut roots = BTreeSet::new();
    visit::each_expr(expr, &mut |node| {
        if let Some(name) = visit::named(node) {
            roots.extend(declarations.root(name));
        }
    });
    roots
}

/// The precisions of what an expression reads; literals take any.
pub fn precisions(expr: &Expr, declarations: &Declarations) -> BTreeSet<Precision> {
    let mut found: BTreeSet<Precision> =
        roots(expr, declarations).iter().filter_map(|root| declarations.precision(root)).collect();
    visit::each_expr(expr, &mut |node| {
        if let ExprKind::ReadConfig(field) = &node.kind
            && let FieldType::Data(precision) = field.ty()
        {
            found.insert(precision);
        }
    });
    found
}
