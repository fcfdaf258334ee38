//! `eliminate_dead_code`: a branch whose condition is decided, or a loop without iterations.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::path;
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::{BinaryOp, Const, Expr, ExprKind, Proc, Ty, build};
use crate::schedule::target::{Branch, Loop, block_of};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct EliminateDeadCode;

impl Operator for EliminateDeadCode {
    fn name(&self) -> &'static str {
        "eliminate_dead_code"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "stmt_cursor", kind: Kind::ForOrIf, default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "removes the side of a branch that never runs, or a loop that never does",
            text: "A branch is replaced by its body where its condition is provably true, and by its `else` where it is \
                   provably false. A loop is deleted when it provably has no iteration.\n\
                   Cursors to the scope and to what is removed die; the side that stays moves up.",
            example: "@proc\n\
                      def set(n: size, x: f32):\n\
                      \x20   if n > 0:\n\
                      \x20       x = 1.0\n\
                      print(eliminate_dead_code(set, \"if _: _\"))\n",
            prints: "def set(n: size, x: f32 @ DRAM):\n\
                     \x20   x = 1.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("block", "the side that stays, or an invalid cursor where nothing does")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("stmt_cursor")?;
        let stmt = path::stmt(proc, at).ok_or_else(|| arguments.bug(NoSuchPlace))?;
        let mut edited = Editor::new(proc);
        let holds = |cond: Expr| Question::Holds { side: Side::Before, at: at.clone(), cond, what: String::new() };
        let place = block_of(at, arguments)?;
        let (question, edit, left) = if let Some(dead) = Loop::of(stmt) {
            (holds(build::binary(BinaryOp::Ge, dead.lo, dead.hi)), edited.delete(&place), 0)
        } else if let Some(branch) = Branch::of(stmt) {
            let (always, never) = (holds(branch.cond.clone()), negated(&branch.cond).map(holds));
            if always.holds(proc, proc, solver) {
                (always, edited.unwrap(at, false), branch.body.len())
            } else {
                match never.filter(|never| never.holds(proc, proc, solver)) {
                    Some(never) if branch.orelse.is_empty() => (never, edited.delete(&place), 0),
                    Some(never) => (never, edited.unwrap(at, true), branch.orelse.len()),
                    None => return Err(undecided(proc, &branch, arguments)),
                }
            }
        } else {
            return Err(arguments.argument("`eliminate_dead_code` needs a loop or a branch"));
        };
        edit.map_err(|gone| arguments.bug(gone))?;
        let left = BlockPlace { hi: place.lo + left, ..place };
        Ok(Proposal::same(edited, Obligation::Proven(vec![question])).returning(vec![Returned::block(left)]))
    }
}

fn undecided(proc: &Proc, branch: &Branch, arguments: &Arguments) -> Refusal {
    let names = crate::print::Names::of(proc);
    arguments.scheduling(format!(
        "cannot show that the condition `{}` is always true, or that it is always false",
        names.expr(&branch.cond)
    ))
}

/// A condition that holds exactly where `cond` does not; `None` where the object language cannot write it.
pub(in crate::schedule) fn negated(cond: &Expr) -> Option<Expr> {
    let binary = |op, lhs: &Expr, rhs: &Expr| build::binary(op, lhs.clone(), rhs.clone());
    match &cond.kind {
        ExprKind::Const(Const::Bool(value)) => Some(build::boolean(!value)),
        ExprKind::Binary { op, lhs, rhs } => match op {
            BinaryOp::Lt => Some(binary(BinaryOp::Ge, lhs, rhs)),
            BinaryOp::Ge => Some(binary(BinaryOp::Lt, lhs, rhs)),
            BinaryOp::Gt => Some(binary(BinaryOp::Le, lhs, rhs)),
            BinaryOp::Le => Some(binary(BinaryOp::Gt, lhs, rhs)),
            BinaryOp::Eq if lhs.ty.is_indexable() && rhs.ty.is_indexable() => {
                let (below, above) = (binary(BinaryOp::Lt, lhs, rhs), binary(BinaryOp::Gt, lhs, rhs));
                Some(build::binary(BinaryOp::Or, below, above))
            }
            BinaryOp::And => Some(build::binary(BinaryOp::Or, negated(lhs)?, negated(rhs)?)),
            BinaryOp::Or => Some(build::binary(BinaryOp::And, negated(lhs)?, negated(rhs)?)),
            BinaryOp::Eq | BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => None,
        },
        ExprKind::Read { .. } | ExprKind::ReadConfig(_) if cond.ty == Ty::BOOL => {
            Some(build::binary(BinaryOp::Eq, cond.clone(), build::boolean(false)))
        }
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => None,
    }
}
