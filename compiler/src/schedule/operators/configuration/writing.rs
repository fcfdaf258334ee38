//! What the operators share: does a value fit a field, and on what terms is a proc with one write more or less equal?

use std::collections::BTreeSet;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::config_change;
use crate::analysis::solver::Solver;
use crate::cursor::path::Path;
use crate::diagnostic::Refusal;
use crate::hardware::config::{ConfigField, FieldType};
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Block, Control, Expr, ExprKind, Proc, Stmt, Ty, configuration, visit};
use crate::schedule::obligation::Relation;
use crate::schedule::operator::Arguments;
use crate::symbol::Sym;

/// The question about a write at `at` of the proc on this side, and what follows for the proc without it.
///
/// Which fields stay different is worked out here; that no others do is part of the question.
pub(super) fn terms(proc: &Proc, side: Side, at: &Path, stmt: &Stmt, solver: &mut Solver) -> (Question, Relation) {
    let all = || Touched::by_block(&Block::one(stmt.clone())).writes;
    // Where it cannot be shown that nothing else changes, the question says so when it is asked.
    let seen = config_change::seen(proc, at, solver).unwrap_or_else(|_| all());
    let relation = match seen.is_empty() {
        true => Relation::Same,
        false => Relation::Modulo { fields: seen.clone(), precision: false },
    };
    (Question::ConfigWrite { side, at: at.clone(), seen }, relation)
}

/// Refuses a value of another type than the field's.
pub(super) fn check_type(
    value: &Expr,
    field: &ConfigField,
    declarations: &Declarations,
    arguments: &Arguments,
) -> Result<(), Refusal> {
    let fits = match configuration::control(field) {
        None => value.ty == Ty::Data && is_scalar(value, declarations),
        Some(Control::Int | Control::Size | Control::Index) => value.ty.is_indexable(),
        Some(Control::Bool) => value.ty == Ty::BOOL,
        Some(Control::Stride) => value.ty == Ty::STRIDE || value.ty == Ty::INT,
    };
    if fits {
        return Ok(());
    }
    let found = match value.ty {
        Ty::Control(control) => control.word(),
        Ty::Data => "data",
    };
    Err(arguments.argument(format!("the field `{field}` is a `{}`, and the value is `{found}`", field.ty().word())))
}

fn is_scalar(value: &Expr, declarations: &Declarations) -> bool {
    match &value.kind {
        ExprKind::Window { .. } => false,
        ExprKind::Read { name, idx } => declarations.shape(name).is_some_and(|shape| shape.len() == idx.len()),
        ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Stride { .. } => true,
    }
}

/// The precision of a field of data.
pub(super) fn precision(field: &ConfigField) -> Option<crate::hardware::precision::Precision> {
    match field.ty() {
        FieldType::Data(precision) => Some(precision),
        FieldType::Size | FieldType::Index | FieldType::Bool | FieldType::Stride => None,
    }
}

/// The buffers that a new expression reads, whose accesses have to stay in bounds there.
pub(super) fn bounds(value: &Expr, declarations: &Declarations) -> Vec<Question> {
    let mut roots: BTreeSet<Sym> = BTreeSet::new();
    visit::each_expr(value, &mut |node| {
        if let ExprKind::Read { name, idx } = &node.kind
            && !idx.is_empty()
        {
            roots.extend(declarations.root(name));
        }
    });
    roots.into_iter().map(|buffer| Question::BufferInBounds { side: Side::After, buffer }).collect()
}
