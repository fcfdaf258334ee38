//! `reorder_loops`: interchange of two perfectly nested loops.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{Path, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::{BinaryOp, LoopMode, Proc, build, visit};
use crate::schedule::target::{Loop, exchange};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct ReorderLoops;

impl Operator for ReorderLoops {
    fn name(&self) -> &'static str {
        "reorder_loops"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "nested_loops", kind: Kind::NestedFor, default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "interchanges two perfectly nested loops",
            text: "The bounds of the inner loop must not mention the outer iterator, and iterations whose order is \
                   reversed must commute.\n\
                   Cursors to both loops and to the body follow them.",
            example: "@proc\n\
                      def add(n: size, m: size, x: f32[n, m]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       for j in seq(0, m):\n\
                      \x20           x[i, j] += 1.0\n\
                      print(reorder_loops(add, \"i j\"))\n",
            prints: "def add(n: size, m: size, x: f32[n, m] @ DRAM):\n\
                     \x20   for j in seq(0, m):\n\
                     \x20       for i in seq(0, n):\n\
                     \x20           x[i, j] += 1.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("outer", "the loop that is outside now"), ("inner", "the loop that is inside now")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("nested_loops")?;
        let results = vec![Returned::node(at), Returned::node(&at.child(Step::Body(0)))];
        Ok(interchange(proc, at, arguments)?.returning(results))
    }
}

/// Proposes the interchange of the loop at `at` with the loop that is its whole body.
pub(in crate::schedule::operators) fn interchange(
    proc: &Proc,
    at: &Path,
    arguments: &Arguments,
) -> Result<Proposal, Refusal> {
    let outer = Loop::at(proc, at, arguments)?;
    let inner = Loop::at(proc, &at.child(Step::Body(0)), arguments)?;
    if [&inner.lo, &inner.hi].iter().any(|bound| visit::mentions(bound, &outer.iter)) {
        let message = format!("the bounds of the loop over `{}` depend on `{}`", inner.iter, outer.iter);
        return Err(arguments.scheduling(message));
    }
    let mut questions = vec![
        Question::Interchange { side: Side::Before, outer: at.clone() },
        // That the outer loop has an iteration may be all that shows it inside.
        Question::Holds {
            side: Side::After,
            at: at.clone(),
            cond: build::binary(BinaryOp::Le, inner.lo.clone(), inner.hi.clone()),
            what: format!(
                "the extent of the loop over `{}` is not negative outside the one over `{}`",
                inner.iter, outer.iter
            ),
        },
    ];
    let inner_now = at.child(Step::Body(0));
    for (mode, scope) in [(outer.mode, &inner_now), (inner.mode, at)] {
        if mode == LoopMode::Par {
            questions.push(Question::IndependentIterations { side: Side::After, scope: scope.clone() });
        }
    }
    let mut edited = Editor::new(proc);
    exchange(&mut edited, at, Step::Body(0)).map_err(|gone| arguments.bug(gone))?;
    Ok(Proposal::same(edited, Obligation::Proven(questions)))
}
