//! `fission`: a loop or branch split into two at a gap, outwards through as many scopes as asked.

use std::sync::Arc;

use crate::analysis::commute;
use crate::analysis::conditions::{self, Question};
use crate::analysis::solver::Solver;
use crate::cursor::editor::{EditResult, NoSuchPlace};
use crate::cursor::path::{self, Path, Step};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, substitute_block};
use crate::loop_ir::{Block, Proc, build};
use crate::schedule::obligation::ProofStep;
use crate::schedule::target::{Branch, Loop, before};
use crate::schedule::{Arguments, Default, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct Fission;

impl Operator for Fission {
    fn name(&self) -> &'static str {
        "fission"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "gap_cursor", kind: Kind::Gap, default: None },
            Parameter { name: "n_lifts", kind: Kind::PositiveInt, default: Some(Default::Int(1)) },
            Parameter { name: "unsafe_skip_check", kind: Kind::Bool, default: Some(Default::Bool(false)) },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "splits the loop or branch around a gap into two",
            text: "The statements before the gap run in all iterations before those after it run in any. What the first \
                   half allocates or windows must not be used by the second. With `n_lifts` the split goes on outwards.\n\
                   Cursors to a loop go to the first half; to a branch, to the half that keeps the `else`. Statements \
                   follow their half; a block across the gap dies.",
            example: "@proc\n\
                      def two(n: size, x: f32[n], y: f32[n]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       x[i] = 1.0\n\
                      \x20       y[i] = x[i]\n\
                      print(fission(two, two.find(\"x[_] = _\").after()))\n",
            prints: "def two(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):\n\
                     \x20   for i in seq(0, n):\n\
                     \x20       x[i] = 1.0\n\
                     \x20   for i in seq(0, n):\n\
                     \x20       y[i] = x[i]\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("scope1", "the outermost scope around the first half"),
            ("scope2", "the outermost scope around the second half"),
        ]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let gap = arguments.gap("gap_cursor")?;
        let (scope, orelse, at) = gap.insertion().ok_or_else(|| arguments.bug(NoSuchPlace))?;
        let mut split = Split { scope, orelse, at };
        if split.is_at_edge(proc) {
            return Err(arguments.argument("the gap must lie between two statements, not at the edge of a block"));
        }
        let mut edited = Editor::new(proc);
        let mut steps = Vec::new();
        for _ in 0..arguments.int("n_lifts")? {
            let earlier = edited.proc().clone();
            let (next, question) = split.lift(&mut edited, arguments)?;
            steps.push(ProofStep { before: earlier, after: edited.proc().clone(), questions: vec![question] });
            split = next;
        }
        let obligation = if arguments.bool("unsafe_skip_check")? {
            Obligation::Waived { what: "the two halves commute".to_string() }
        } else {
            Obligation::Steps(steps)
        };
        let half = |at| Returned::node(&split.scope.child(Step::statement(split.orelse, at)));
        let results = vec![half(split.at - 1), half(split.at)];
        Ok(Proposal::same(edited, obligation).returning(results))
    }
}

/// Where a scope is split: between `at - 1` and `at` of one of its lists.
pub(in crate::schedule::operators::loops) struct Split {
    pub(in crate::schedule::operators::loops) scope: Path,
    pub(in crate::schedule::operators::loops) orelse: bool,
    pub(in crate::schedule::operators::loops) at: usize,
}

impl Split {
    pub(in crate::schedule::operators::loops) fn is_at_edge(&self, proc: &Proc) -> bool {
        let length = path::list(proc, &self.scope, self.orelse).map_or(0, Block::len);
        self.at == 0 || self.at >= length
    }

    /// Splits one scope; the split of the scope around it, and what must hold.
    pub(in crate::schedule::operators::loops) fn lift(
        &self,
        edited: &mut Editor,
        arguments: &Arguments,
    ) -> Result<(Split, Question), Refusal> {
        let proc = edited.proc().clone();
        let Some(stmt) = path::stmt(&proc, &self.scope) else {
            return Err(arguments.scheduling("there is no loop or branch around the gap to split"));
        };
        let list = path::list(&proc, &self.scope, self.orelse).unwrap_or(Block::none());
        let halves = list.part(..self.at).zip(list.part(self.at..));
        let (first, second) = halves.ok_or_else(|| arguments.bug(NoSuchPlace))?;
        if let Some(escaping) = commute::declared_and_used(&first, &second) {
            let message = format!("`{escaping}` is declared before the gap and used after it");
            let hint = "lift the allocation out of the scope first: lift_alloc(p, ...)";
            return Err(arguments.scheduling(message).hint(hint));
        }
        let side = conditions::Side::Before;
        let scope = self.scope.clone();
        let question = match Loop::of(stmt) {
            Some(_) => Question::Fission { side, scope, split: self.at },
            None => Question::BranchSplit { side, scope, split: self.at, orelse: self.orelse },
        };
        let split = match (Loop::of(stmt), Branch::of(stmt)) {
            (Some(whole), _) => self.split_loop(edited, whole, &second),
            (None, Some(whole)) => self.split_branch(edited, whole, list.len()),
            (None, None) => Err(NoSuchPlace),
        };
        split.map_err(|gone| arguments.bug(gone))?;
        let (parent, orelse, at) = self.scope.list_position().ok_or_else(|| arguments.bug(NoSuchPlace))?;
        Ok((Split { scope: parent, orelse, at: at + 1 }, question))
    }

    fn split_loop(&self, edited: &mut Editor, whole: Loop, second: &Block) -> EditResult {
        let iter = whole.iter.renewed();
        let renamed = Substitution::from([(whole.iter.clone(), build::index(&iter))]);
        for (offset, stmt) in substitute_block(second, &renamed).into_iter().enumerate() {
            edited.rewrite_stmt(&self.scope.child(Step::Body(self.at + offset)), stmt, Vec::new())?;
        }
        let (parent, orelse, at) = self.scope.list_position().ok_or(NoSuchPlace)?;
        let half = Loop { iter, body: Block::one(build::pass()), ..whole }.into_stmt();
        edited.insert_at(&parent, orelse, at + 1, Block::one(half))?;
        let half = parent.child(Step::statement(orelse, at + 1));
        let run = BlockPlace { parent: self.scope.clone(), orelse: false, lo: self.at, hi: self.at + second.len() };
        fill(edited, &run, &half.child(Step::Body(0)))
    }

    fn split_branch(&self, edited: &mut Editor, whole: Branch, length: usize) -> EditResult {
        let (parent, orelse, at) = self.scope.list_position().ok_or(NoSuchPlace)?;
        let (cond, span) = (whole.cond, whole.span);
        let empty = || vec![build::pass()];
        if self.orelse {
            let half = Branch { cond, body: empty().into(), orelse: empty().into(), span }.into_stmt();
            edited.insert_at(&parent, orelse, at + 1, Block::one(half))?;
            let half = parent.child(Step::statement(orelse, at + 1));
            let run = BlockPlace { parent: self.scope.clone(), orelse: true, lo: self.at, hi: length };
            return fill(edited, &run, &half.child(Step::Orelse(0)));
        }
        let half = Branch { cond, body: empty().into(), orelse: Block::default(), span }.into_stmt();
        edited.insert_at(&parent, orelse, at, Block::one(half))?;
        let kept = parent.child(Step::statement(orelse, at + 1));
        let half = parent.child(Step::statement(orelse, at));
        let run = BlockPlace { parent: kept, orelse: false, lo: 0, hi: self.at };
        fill(edited, &run, &half.child(Step::Body(0)))
    }
}

/// Moves a run to where a placeholder stands.
fn fill(edited: &mut Editor, run: &BlockPlace, placeholder: &Path) -> EditResult {
    edited.move_block(run, &before(placeholder))?;
    let (parent, orelse, at) = placeholder.list_position().ok_or(NoSuchPlace)?;
    let lo = at + run.len();
    edited.delete(&BlockPlace { parent, orelse, lo, hi: lo + 1 })
}
