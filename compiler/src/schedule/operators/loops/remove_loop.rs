//! `remove_loop`: a loop whose iterations all do the same, replaced by one of them.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::path::{Path, Step};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::{BinaryOp, Block, Proc, StmtKind, build, visit};
use crate::schedule::target::Loop;
use crate::schedule::{Arguments, Default, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct RemoveLoop;

impl Operator for RemoveLoop {
    fn name(&self) -> &'static str {
        "remove_loop"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "loop_cursor", kind: Kind::For, default: None },
            Parameter { name: "unsafe_skip_check", kind: Kind::Bool, default: Some(Default::Bool(false)) },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "replaces a loop by its body",
            text: "The body must not mention the iterator, and running it again right after itself must change nothing. \
                   Where the loop may have no iteration, the body is put under a test for that.\n\
                   Cursors to the loop die; those into its body follow it.",
            example: "@proc\n\
                      def set(n: size, x: f32):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       x = 1.0\n\
                      print(remove_loop(set, \"i\"))\n",
            prints: "def set(n: size, x: f32 @ DRAM):\n\
                     \x20   x = 1.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("block", "the body"), ("guard", "the branch around it, or an invalid cursor where none is needed")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("loop_cursor")?;
        let removed = Loop::at(proc, at, arguments)?;
        if visit::block_mentions(&removed.body, &removed.iter) {
            return Err(arguments.scheduling(format!("the body of the loop mentions its iterator `{}`", removed.iter)));
        }
        let (questions, guarded) = removable(proc, at, &removed, solver);
        let mut edited = Editor::new(proc);
        let body = unwrapped(&mut edited, at, &removed, guarded).map_err(|gone| arguments.bug(gone))?;
        let results = vec![Returned::block(body), Returned::optional(guarded.then(|| at.clone()))];
        let obligation = match arguments.bool("unsafe_skip_check")? {
            true => Obligation::Waived { what: "the body is idempotent".to_string() },
            false => Obligation::Proven(questions),
        };
        Ok(Proposal::same(edited, obligation).returning(results))
    }
}

/// What must hold for the removal of the loop at `at`, and whether its body then needs a test for an iteration.
pub(in crate::schedule::operators::loops) fn removable(
    proc: &Proc,
    at: &Path,
    removed: &Loop,
    solver: &mut Solver,
) -> (Vec<Question>, bool) {
    let runs = Question::Holds {
        side: Side::Before,
        at: at.clone(),
        cond: build::binary(BinaryOp::Gt, removed.hi.clone(), removed.lo.clone()),
        what: "the loop has an iteration".to_string(),
    };
    let block = BlockPlace { parent: at.clone(), orelse: false, lo: 0, hi: removed.body.len() };
    let mut questions = vec![Question::Idempotent { side: Side::Before, block }];
    let guarded = !runs.holds(proc, proc, solver);
    if !guarded {
        questions.push(runs);
    }
    (questions, guarded)
}

/// Replaces the loop at `at` by its body, under a test for an iteration where `guarded`; where the body then stands.
pub(in crate::schedule::operators::loops) fn unwrapped(
    edited: &mut Editor,
    at: &Path,
    removed: &Loop,
    guarded: bool,
) -> Result<BlockPlace, NoSuchPlace> {
    edited.unwrap(at, false)?;
    let (parent, orelse, lo) = at.list_position().ok_or(NoSuchPlace)?;
    let run = BlockPlace { parent, orelse, lo, hi: lo + removed.body.len() };
    if !guarded {
        return Ok(run);
    }
    let cond = build::binary(BinaryOp::Gt, removed.hi.clone(), removed.lo.clone());
    edited.wrap(&run, &[Step::Body(0)], |body| {
        build::stmt(StmtKind::If { cond, body, orelse: Block::default() }, &removed.span)
    })?;
    Ok(BlockPlace { parent: at.clone(), orelse: false, lo: 0, hi: removed.body.len() })
}
