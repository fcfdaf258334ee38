//! `left_reassociate_expr`: moves the brackets of a sum or product to the left.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Proc, build};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::expressions::commute_expr::operands;

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
        let (op, a, right) = operands(arguments, path::expr(proc, at))?;
        let (inner, b, c) = operands(arguments, Some(&right))?;
        if op != inner {
            return Err(arguments.argument("both operators must be the same"));
        }
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
