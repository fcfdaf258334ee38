//! `unroll_loop`: the iterations of a loop with literal bounds, written out.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, alpha_rename, substitute_block};
use crate::loop_ir::{Block, Proc, build, visit};
use crate::schedule::target::{Loop, block_of};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

/// More statements than this are refused rather than written out.
const MOST_STATEMENTS: i64 = 1 << 17;

pub struct UnrollLoop;

impl Operator for UnrollLoop {
    fn name(&self) -> &'static str {
        "unroll_loop"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "loop_cursor", kind: Kind::For, default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "replaces a loop by its iterations, written out",
            text: "Both bounds must be literals.\n\
                   Cursors to the loop and into its body die; a block that is exactly the loop becomes the block of the \
                   copies.",
            example: "@proc\n\
                      def clear(x: f32[2]):\n\
                      \x20   for i in seq(0, 2):\n\
                      \x20       x[i] = 0.0\n\
                      print(unroll_loop(clear, \"i\"))\n",
            prints: "def clear(x: f32[2] @ DRAM):\n\
                     \x20   x[0] = 0.0\n\
                     \x20   x[1] = 0.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("block", "the iterations, or an invalid cursor where there are none")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("loop_cursor")?;
        let unrolled = Loop::at(proc, at, arguments)?;
        let (Some(lo), Some(hi)) = (build::int_value(&unrolled.lo), build::int_value(&unrolled.hi)) else {
            let message = format!("the bounds of the loop over `{}` must be literals", unrolled.iter);
            return Err(arguments.scheduling(message).hint("divide the loop first and unroll the inner one"));
        };
        let mut size = 0;
        visit::each_stmt(&unrolled.body, &mut |_| size += 1);
        if hi.saturating_sub(lo).saturating_mul(size) > MOST_STATEMENTS {
            let message =
                format!("the loop over `{}` would become more than {MOST_STATEMENTS} statements", unrolled.iter);
            return Err(arguments.scheduling(message));
        }
        let copies: Block = (lo..hi)
            .flat_map(|value| {
                let iteration = Substitution::from([(unrolled.iter.clone(), build::int(value))]);
                alpha_rename(&substitute_block(&unrolled.body, &iteration))
            })
            .collect();
        let mut edited = Editor::new(proc);
        let place = block_of(at, arguments)?;
        let written_out = BlockPlace { hi: place.lo + copies.len(), ..place.clone() };
        edited.replace(&place, copies).map_err(|gone| arguments.bug(gone))?;
        let reason = "the same iterations in the same order";
        let results = vec![Returned::block(written_out)];
        Ok(Proposal::same(edited, Obligation::ByConstruction(reason)).returning(results))
    }
}
