//! `commute_expr`: swaps the operands of sums and products.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, Path, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::{BinaryOp, Expr, ExprKind, Proc, Ty, build};
use crate::print::Names;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Matches, Operator, Parameter};

pub struct CommuteExpr;

const PARAMETERS: &[Parameter] = &[Parameter { name: "expr_cursors", kind: Kind::Exprs(Matches::All), default: None }];

impl Operator for CommuteExpr {
    fn name(&self) -> &'static str {
        "commute_expr"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "swap the operands of a sum or product of data",
            text: "Commutes every expression that is given, also where one lies inside another. A pattern stands for all \
                its matches. Cursors follow the operands.",
            example: "\
@proc
def f(x: f32[8], y: f32[8]):
    for i in seq(0, 8):
        y[i] += 2.0 * x[i]

print(commute_expr(f, \"_ * _\"))
",
            prints: "\
def f(x: f32[8] @ DRAM, y: f32[8] @ DRAM):
    for i in seq(0, 8):
        y[i] += x[i] * 2.0
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let mut paths: Vec<Path> = arguments.paths("expr_cursors")?.into_iter().cloned().collect();
        // Inner ones first: an outer swap moves the places inside it.
        paths.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.cmp(b)));
        paths.dedup();
        let mut editor = Editor::new(proc);
        for at in &paths {
            let expr = path::expr(editor.proc(), at).cloned();
            let shape = "`commute_expr` needs a sum `a + b` or a product `a * b` of data";
            let (op, lhs, rhs) =
                operands(expr.as_ref()).ok_or_else(|| misshapen(arguments, shape, proc, expr.as_ref()))?;
            let swapped = build::binary(op, rhs, lhs);
            let inside = vec![(vec![Step::Left], vec![Step::Right]), (vec![Step::Right], vec![Step::Left])];
            editor.restructure_expr(at, swapped, inside).map_err(|gone| arguments.bug(gone))?;
        }
        Ok(Proposal::same(editor, Obligation::ByConstruction("sums and products of reals commute")))
    }
}

/// The parts of a sum or product of data.
pub(super) fn operands(expr: Option<&Expr>) -> Option<(BinaryOp, Expr, Expr)> {
    match expr.map(|expr| (&expr.kind, expr.ty)) {
        Some((ExprKind::Binary { op: op @ (BinaryOp::Add | BinaryOp::Mul), lhs, rhs }, Ty::Data)) => {
            Some((*op, lhs.clone(), rhs.clone()))
        }
        Some(_) | None => None,
    }
}

/// The refusal for an expression that has not the shape that an operator needs.
pub(super) fn misshapen(arguments: &Arguments, shape: &str, proc: &Proc, found: Option<&Expr>) -> Refusal {
    let names = Names::of(proc);
    let found = found.map_or("nothing".to_string(), |expr| match expr.ty {
        Ty::Data => format!("`{}`", names.expr(expr)),
        _ => format!("`{}`, which is no data", names.expr(expr)),
    });
    arguments.argument(format!("{shape}, and got {found}"))
}
