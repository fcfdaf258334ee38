//! `join_loops`: two consecutive loops with one body into one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::Step;
use crate::diagnostic::Refusal;
use crate::loop_ir::alpha::equal_blocks;
use crate::loop_ir::{LoopMode, Proc};
use crate::schedule::target::{Loop, block_of};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct JoinLoops;

impl Operator for JoinLoops {
    fn name(&self) -> &'static str {
        "join_loops"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "loop1_cursor", kind: Kind::For, default: None },
            Parameter { name: "loop2_cursor", kind: Kind::For, default: None },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "joins two consecutive loops that have the same body",
            text: "The first loop must provably end where the second one starts, and the bodies must be the same code up \
                   to the names bound in them. Of a parallel loop, all iterations together must be independent.\n\
                   Cursors to the first loop stay; those to the second loop and into it die.",
            example: "@proc\n\
                      def clear(n: size, x: f32[n + 4]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       x[i] = 0.0\n\
                      \x20   for i in seq(n, n + 4):\n\
                      \x20       x[i] = 0.0\n\
                      print(join_loops(clear, \"i\", \"i #1\"))\n",
            prints: "def clear(n: size, x: f32[n + 4] @ DRAM):\n\
                     \x20   for i in seq(0, n + 4):\n\
                     \x20       x[i] = 0.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("loop", "the joined loop")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let (at, other) = (arguments.path("loop1_cursor")?, arguments.path("loop2_cursor")?);
        let (first, second) = (Loop::at(proc, at, arguments)?, Loop::at(proc, other, arguments)?);
        if at.sibling(1).as_ref() != Some(other) {
            return Err(arguments.scheduling("the second loop must directly follow the first one"));
        }
        let same_iterator = BTreeMap::from([(first.iter.clone(), second.iter.clone())]);
        if first.mode != second.mode || !equal_blocks(&first.body, &second.body, &same_iterator) {
            let (one, two) = (&first.iter, &second.iter);
            return Err(arguments.scheduling(format!("the bodies of the loops over `{one}` and `{two}` differ")));
        }
        let mut questions = vec![Question::Equal {
            side: Side::Before,
            at: at.clone(),
            lhs: first.hi.clone(),
            rhs: second.lo.clone(),
            what: "the first loop ends where the second one starts".to_string(),
        }];
        let exprs = vec![second.lo.clone(), second.hi.clone()];
        questions.push(Question::ConfigKept { side: Side::Before, at: at.clone(), exprs });
        if first.mode == LoopMode::Par {
            questions.push(Question::IndependentIterations { side: Side::After, scope: at.clone() });
        }
        let joined = Loop { hi: second.hi, ..first }.into_stmt();
        let gone = block_of(other, arguments)?;
        let mut edited = Editor::new(proc);
        edited
            .rewrite_stmt(at, joined, vec![at.child(Step::Hi)])
            .and_then(|()| edited.delete(&gone))
            .map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(edited, Obligation::Proven(questions)).returning(vec![Returned::node(at)]))
    }
}
