//! `left_reassociate_expr`: moves the brackets of a sum or product to the left.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Expr, Proc, build};
use crate::print::Names;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::expressions::commute_expr::{misshapen, operands};

pub struct LeftReassociateExpr;

const PARAMETERS: &[Parameter] = &[Parameter { name: "expr", kind: Kind::Expr, default: None }];

impl Operator for LeftReassociateExpr {
    fn name(&self) -> &'static str {
        "left_reassociate_expr"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "turn `a + (b + c)` into `(a + b) + c`",
            text: "Also for `*`. Both operators must be the same, on data. Cursors follow the operands.",
            example: "\
@proc
def f(x: f32[8], y: f32[8]):
    for i in seq(0, 8):
        y[i] = x[i] * (y[i] * 2.0)

print(left_reassociate_expr(f, \"_ * _\"))
",
            prints: "\
def f(x: f32[8] @ DRAM, y: f32[8] @ DRAM):
    for i in seq(0, 8):
        y[i] = x[i] * y[i] * 2.0
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("expr")?;
        let expr = path::expr(proc, at);
        let nested = operands(expr).and_then(|(op, a, right)| {
            let (inner, b, c) = operands(Some(&right))?;
            (op == inner).then_some((op, a, b, c))
        });
        let Some((op, a, b, c)) = nested else { return Err(refused(proc, expr, arguments)) };
        let new = build::binary(op, build::binary(op, a, b), c);
        let inside = vec![
            (vec![Step::Left], vec![Step::Left, Step::Left]),
            (vec![Step::Right, Step::Left], vec![Step::Left, Step::Right]),
            (vec![Step::Right, Step::Right], vec![Step::Right]),
        ];
        let mut editor = Editor::new(proc);
        editor.restructure_expr(at, new, inside).map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(editor, Obligation::ByConstruction("sums and products of reals are associative")))
    }
}

/// The refusal for another shape, with what brings a near one into it.
fn refused(proc: &Proc, expr: Option<&Expr>, arguments: &Arguments) -> Refusal {
    let shape = "`left_reassociate_expr` needs the shape `a + (b + c)` or `a * (b * c)` of data";
    let refusal = misshapen(arguments, shape, proc, expr);
    let Some((op, left, right)) = operands(expr) else { return refusal };
    let same = |side: &Expr| operands(Some(side)).is_some_and(|(inner, ..)| inner == op);
    let names = Names::of(proc);
    match (same(&left), op) {
        (true, _) => refusal.hint(format!(
            "its brackets are on the left already; `commute_expr` on it first brings `{}` to the right",
            names.expr(&left)
        )),
        (false, op) => refusal.hint(format!(
            "`{}`, to the right of the `{}`, is no `{}`",
            names.expr(&right),
            op.text(),
            op.text()
        )),
    }
}
