//! `cut_loop`: one loop into two that follow each other.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::Step;
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::alpha_rename;
use crate::loop_ir::{BinaryOp, Block, Proc, build};
use crate::schedule::target::{Loop, after};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct CutLoop;

impl Operator for CutLoop {
    fn name(&self) -> &'static str {
        "cut_loop"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "loop_cursor", kind: Kind::For, default: None },
            Parameter { name: "cut_point", kind: Kind::NewExpr("loop_cursor"), default: None },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "cuts a loop into two consecutive loops at an iteration",
            text: "The cut point must provably lie between the bounds of the loop, bounds included.\n\
                   Cursors to the loop and into its body go to the first loop; nothing maps to the second one, which is \
                   the statement after it.",
            example: "@proc\n\
                      def clear(n: size, x: f32[n + 4]):\n\
                      \x20   for i in seq(0, n + 4):\n\
                      \x20       x[i] = 0.0\n\
                      print(cut_loop(clear, \"i\", \"n\"))\n",
            prints: "def clear(n: size, x: f32[n + 4] @ DRAM):\n\
                     \x20   for i in seq(0, n):\n\
                     \x20       x[i] = 0.0\n\
                     \x20   for i in seq(n, n + 4):\n\
                     \x20       x[i] = 0.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("loop1", "the loop up to the cut point"), ("loop2", "the loop from there on")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("loop_cursor")?;
        let whole = Loop::at(proc, at, arguments)?;
        let point = arguments.expr("cut_point")?;
        if !point.ty.is_indexable() {
            return Err(arguments.argument("`cut_point` needs an index expression"));
        }
        let holds = |lhs, rhs| Question::Holds {
            side: Side::Before,
            at: at.clone(),
            cond: build::binary(BinaryOp::Le, lhs, rhs),
            what: "the cut point lies within the loop".to_string(),
        };
        let exprs = vec![point.clone(), whole.hi.clone()];
        let questions = vec![
            holds(whole.lo.clone(), point.clone()),
            holds(point.clone(), whole.hi.clone()),
            Question::ConfigKept { side: Side::Before, at: at.clone(), exprs },
        ];
        let first = Loop { hi: point.clone(), ..whole.clone() }.into_stmt();
        let second = alpha_rename(&Block::one(Loop { lo: point.clone(), ..whole }.into_stmt()));
        let mut edited = Editor::new(proc);
        edited
            .rewrite_stmt(at, first, vec![at.child(Step::Hi)])
            .and_then(|()| edited.insert(&after(at), second))
            .map_err(|gone| arguments.bug(gone))?;
        let results = vec![Returned::node(at), Returned::optional(at.sibling(1))];
        Ok(Proposal::same(edited, Obligation::Proven(questions)).returning(results))
    }
}
