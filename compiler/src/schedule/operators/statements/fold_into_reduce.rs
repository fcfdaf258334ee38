//! `fold_into_reduce`: `a = a + e` written as `a += e`.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::Refusal;
use crate::loop_ir::{BinaryOp, Block, Expr, ExprKind, Proc};
use crate::schedule::target::{Write, block_of};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct FoldIntoReduce;

impl Operator for FoldIntoReduce {
    fn name(&self) -> &'static str {
        "fold_into_reduce"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "assign", kind: Kind::Assign, default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "turns `a = a + e` into `a += e`",
            text: "The right side must be a sum whose left operand is the assigned element itself.\n\
                   Cursors to the statement and into it die.",
            example: "@proc\n\
                      def add(n: size, x: f32[n], y: f32[n]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       x[i] = x[i] + y[i]\n\
                      print(fold_into_reduce(add, \"x[_] = _\"))\n",
            prints: "def add(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):\n\
                     \x20   for i in seq(0, n):\n\
                     \x20       x[i] += y[i]\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("stmt", "the reduction")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("assign")?;
        let write = Write::at(proc, at, arguments)?;
        let Some((own, addend)) = own_sum(&write) else {
            let message =
                format!("the right side is not a sum that starts with the assigned element of `{}`", write.name);
            return Err(arguments.scheduling(message).hint("swap the operands first: commute_expr(p, \"_ + _\")"));
        };
        let questions = own
            .iter()
            .zip(&write.idx)
            .filter(|(read, written)| read != written)
            .map(|(read, written)| Question::Equal {
                side: Side::Before,
                at: at.clone(),
                lhs: read.clone(),
                rhs: written.clone(),
                what: "the sum starts with the assigned element".to_string(),
            })
            .collect();
        let reduce = Write { rhs: addend, reduces: true, ..write }.into_stmt();
        let mut edited = Editor::new(proc);
        edited.replace(&block_of(at, arguments)?, Block::one(reduce)).map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(edited, Obligation::Proven(questions)).returning(vec![Returned::node(at)]))
    }
}

/// The indices of the left operand, which reads the written buffer, and the right operand.
fn own_sum(write: &Write) -> Option<(Vec<Expr>, Expr)> {
    let ExprKind::Binary { op: BinaryOp::Add, lhs, rhs } = &write.rhs.kind else { return None };
    match &lhs.kind {
        ExprKind::Read { name, idx } if *name == write.name && idx.len() == write.idx.len() => {
            Some((idx.clone(), rhs.clone()))
        }
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => None,
    }
}
