//! `autofission`: scopes split at a gap, and loops dropped from halves that need only one iteration.

use std::sync::Arc;

use crate::analysis::conditions::Question;
use crate::analysis::solver::Solver;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::path::{self, Path, Step};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Proc, visit};
use crate::schedule::obligation::ProofStep;
use crate::schedule::operators::loops::fission::Split;
use crate::schedule::operators::loops::remove_loop::{removable, unwrapped};
use crate::schedule::target::Loop;
use crate::schedule::{Arguments, Default, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct Autofission;

impl Operator for Autofission {
    fn name(&self) -> &'static str {
        "autofission"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "gap_cursor", kind: Kind::Gap, default: None },
            Parameter { name: "n_lifts", kind: Kind::PositiveInt, default: Some(Default::Int(1)) },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "splits scopes at a gap and drops the loops that a half does not need",
            text: "Splits up to `n_lifts` scopes around the gap, from the inside out, under the conditions of `fission`. A \
                   half that does not mention the iterator, and that may be repeated without effect, loses its loop; where \
                   the loop may have no iteration, a test for that takes its place. A gap at the edge of a block is passed \
                   on to the scope around it.\n\
                   Cursors go where `fission` and `remove_loop` send them.",
            example: "@proc\n\
                      def two(n: size, x: f32, y: f32[n]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       x = 1.0\n\
                      \x20       y[i] = x\n\
                      print(autofission(two, two.find(\"x = _\").after()))\n",
            prints: "def two(n: size, x: f32 @ DRAM, y: f32[n] @ DRAM):\n\
                     \x20   x = 1.0\n\
                     \x20   for i in seq(0, n):\n\
                     \x20       y[i] = x\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("first", "what became of the first half"), ("second", "what became of the second half")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let gap = arguments.gap("gap_cursor")?;
        let (scope, orelse, at) = gap.insertion().ok_or_else(|| arguments.bug(NoSuchPlace))?;
        let mut halves =
            Halves { edited: Editor::new(proc), split: Split { scope, orelse, at }, counts: (0, 0), steps: Vec::new() };
        for _ in 0..arguments.int("n_lifts")? {
            if halves.split.scope.0.is_empty() {
                break;
            }
            halves.lift(arguments, solver)?;
        }
        if halves.steps.is_empty() {
            return Err(arguments.scheduling("there is no loop or branch to split around the gap"));
        }
        let Halves { edited, split: Split { scope, orelse, at }, counts: (first, second), steps } = halves;
        let run = |lo, hi| Returned::block(BlockPlace { parent: scope.clone(), orelse, lo, hi });
        let results = vec![run(at - first, at), run(at, at + second)];
        Ok(Proposal::same(edited, Obligation::Steps(steps)).returning(results))
    }
}

/// The two halves on their way outwards.
struct Halves {
    edited: Editor,
    /// The point between them.
    split: Split,
    /// How many statements before and after that point are theirs.
    counts: (usize, usize),
    steps: Vec<ProofStep>,
}

impl Halves {
    /// One scope further out.
    fn lift(&mut self, arguments: &Arguments, solver: &mut Solver) -> Result<(), Refusal> {
        if self.split.is_at_edge(self.edited.proc()) {
            let (parent, orelse, at) = self.split.scope.list_position().ok_or_else(|| arguments.bug(NoSuchPlace))?;
            let at = if self.split.at == 0 { at } else { at + 1 };
            self.split = Split { scope: parent, orelse, at };
            return Ok(());
        }
        let before = self.edited.proc().clone();
        let (next, question) = self.split.lift(&mut self.edited, arguments)?;
        self.steps.push(ProofStep { before, after: self.edited.proc().clone(), questions: vec![question] });
        let half = |at| next.scope.child(Step::statement(next.orelse, at));
        // The second one first: taking the first one apart moves it.
        let (first, second) = (half(next.at - 1), half(next.at));
        let second = self.drop_loop(&second, arguments, solver)?;
        let first = self.drop_loop(&first, arguments, solver)?;
        self.split = Split { at: next.at - 1 + first, ..next };
        self.counts = (first, second);
        Ok(())
    }

    /// Takes away the loop at `at` where one run of its body does the same; how many statements stand there then.
    fn drop_loop(&mut self, at: &Path, arguments: &Arguments, solver: &mut Solver) -> Result<usize, Refusal> {
        let before = self.edited.proc().clone();
        let Some(half) = path::stmt(&before, at).and_then(Loop::of) else { return Ok(1) };
        if visit::block_mentions(&half.body, &half.iter) {
            return Ok(1);
        }
        let (questions, guarded) = removable(&before, at, &half, solver);
        if !questions.iter().all(|question: &Question| question.holds(&before, &before, solver)) {
            return Ok(1);
        }
        unwrapped(&mut self.edited, at, &half, guarded).map_err(|gone| arguments.bug(gone))?;
        self.steps.push(ProofStep { before, after: self.edited.proc().clone(), questions });
        Ok(if guarded { 1 } else { half.body.len() })
    }
}
