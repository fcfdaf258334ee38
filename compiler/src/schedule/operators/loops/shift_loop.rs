//! `shift_loop`: the same iterations, counted from another start.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::Step;
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, substitute_block};
use crate::loop_ir::{BinaryOp, Proc, build};
use crate::schedule::target::Loop;
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal};

pub struct ShiftLoop;

impl Operator for ShiftLoop {
    fn name(&self) -> &'static str {
        "shift_loop"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "loop_cursor", kind: Kind::For, default: None },
            Parameter { name: "new_lo", kind: Kind::NewExpr("loop_cursor"), default: None },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "makes a loop count from another lower bound",
            text: "The new bound must provably not be negative. Uses of the iterator are shifted back.\n\
                   Cursors keep their places.",
            example: "@proc\n\
                      def clear(n: size, x: f32[n + 2]):\n\
                      \x20   for i in seq(2, n + 2):\n\
                      \x20       x[i] = 0.0\n\
                      print(shift_loop(clear, \"i\", 0))\n",
            prints: "def clear(n: size, x: f32[n + 2] @ DRAM):\n\
                     \x20   for i in seq(0, 0 + (n + 2 - 2)):\n\
                     \x20       x[i + (2 - 0)] = 0.0\n",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("loop_cursor")?;
        let old = Loop::at(proc, at, arguments)?;
        let start = arguments.expr("new_lo")?;
        if !start.ty.is_indexable() {
            return Err(arguments.argument("`new_lo` needs an index expression"));
        }
        let not_negative = Question::Holds {
            side: Side::Before,
            at: at.clone(),
            cond: build::binary(BinaryOp::Ge, start.clone(), build::int(0)),
            what: "the new lower bound is not negative".to_string(),
        };
        let exprs = vec![old.lo.clone(), start.clone()];
        let kept = Question::ConfigKept { side: Side::Before, at: at.clone(), exprs };
        let back = build::add(build::index(&old.iter), build::sub(old.lo.clone(), start.clone()));
        let body = substitute_block(&old.body, &Substitution::from([(old.iter.clone(), back)]));
        let hi = build::add(start.clone(), build::sub(old.hi.clone(), old.lo.clone()));
        let shifted = Loop { lo: start.clone(), hi, body, ..old }.into_stmt();
        let mut edited = Editor::new(proc);
        let dead = vec![at.child(Step::Lo), at.child(Step::Hi)];
        edited.rewrite_stmt(at, shifted, dead).map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(edited, Obligation::Proven(vec![not_negative, kept])))
    }
}
