//! `fuse`: two consecutive loops, or two consecutive branches, into one.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::editor::{EditResult, NoSuchPlace};
use crate::cursor::path::{self, Path, Step};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, substitute_block};
use crate::loop_ir::{Block, Expr, LoopMode, Proc, build};
use crate::schedule::target::{Branch, Loop, after, before, block_of};
use crate::schedule::{Arguments, Default, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct Fuse;

impl Operator for Fuse {
    fn name(&self) -> &'static str {
        "fuse"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "stmt1", kind: Kind::ForOrIf, default: None },
            Parameter { name: "stmt2", kind: Kind::ForOrIf, default: None },
            Parameter { name: "unsafe_skip_check", kind: Kind::Bool, default: Some(Default::Bool(false)) },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "fuses two consecutive loops, or two consecutive branches, into one",
            text: "Loops must provably have the same bounds, and running the second body right after the first must not \
                   change what either sees. Branches must provably have equivalent conditions. The fused loop is parallel \
                   when both are.\n\
                   Cursors to the first statement stay, those to the second die; its statements follow behind the \
                   first one's.",
            example: "@proc\n\
                      def two(n: size, x: f32[n], y: f32[n]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       x[i] = 1.0\n\
                      \x20   for j in seq(0, n):\n\
                      \x20       y[j] = x[j]\n\
                      print(fuse(two, \"i\", \"j\"))\n",
            prints: "def two(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):\n\
                     \x20   for i in seq(0, n):\n\
                     \x20       x[i] = 1.0\n\
                     \x20       y[i] = x[i]\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("scope", "the fused loop or branch")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let (at, other) = (arguments.path("stmt1")?, arguments.path("stmt2")?);
        let (Some(first), Some(second)) = (path::stmt(proc, at), path::stmt(proc, other)) else {
            return Err(arguments.bug(NoSuchPlace));
        };
        if at.sibling(1).as_ref() != Some(other) {
            return Err(arguments.scheduling("the second statement must directly follow the first one"));
        }
        let mut edited = Editor::new(proc);
        let fused = match ((Loop::of(first), Loop::of(second)), (Branch::of(first), Branch::of(second))) {
            ((Some(first), Some(second)), _) => fuse_loops(&mut edited, at, other, first, second),
            (_, (Some(first), Some(second))) => fuse_branches(&mut edited, at, other, &first, &second),
            _ => return Err(arguments.argument("`fuse` needs two loops or two branches, not one of each")),
        };
        let questions = fused.map_err(|gone| arguments.bug(gone))?;
        edited.delete(&block_of(other, arguments)?).map_err(|gone| arguments.bug(gone))?;
        let obligation = match arguments.bool("unsafe_skip_check")? {
            true => Obligation::Waived { what: "the two statements may be fused".to_string() },
            false => Obligation::Proven(questions),
        };
        Ok(Proposal::same(edited, obligation).returning(vec![Returned::node(at)]))
    }
}

fn fuse_loops(
    edited: &mut Editor,
    at: &Path,
    other: &Path,
    first: Loop,
    second: Loop,
) -> Result<Vec<Question>, NoSuchPlace> {
    let equal = |lhs: &Expr, rhs: &Expr, what: &str| Question::Equal {
        side: Side::Before,
        at: at.clone(),
        lhs: lhs.clone(),
        rhs: rhs.clone(),
        what: what.to_string(),
    };
    let split = first.body.len();
    let mut questions = vec![
        Question::ConfigKept { side: Side::Before, at: at.clone(), exprs: vec![second.lo.clone(), second.hi.clone()] },
        equal(&first.lo, &second.lo, "the loops start alike"),
        equal(&first.hi, &second.hi, "the loops end alike"),
        Question::Fission { side: Side::After, scope: at.clone(), split },
    ];
    let mode = match (first.mode, second.mode) {
        (LoopMode::Par, LoopMode::Par) => {
            questions.push(Question::IndependentIterations { side: Side::After, scope: at.clone() });
            LoopMode::Par
        }
        (LoopMode::Seq, _) | (_, LoopMode::Seq) => LoopMode::Seq,
    };
    let renamed = Substitution::from([(second.iter.clone(), build::index(&first.iter))]);
    let run = BlockPlace { parent: other.clone(), orelse: false, lo: 0, hi: second.body.len() };
    edited.rewrite_list(other, false, substitute_block(&second.body, &renamed), Vec::new())?;
    let fused = Loop { mode, ..first }.into_stmt();
    edited.rewrite_stmt(at, fused, Vec::new())?;
    edited.move_block(&run, &after(&at.child(Step::Body(split.saturating_sub(1)))))?;
    Ok(questions)
}

fn fuse_branches(
    edited: &mut Editor,
    at: &Path,
    other: &Path,
    first: &Branch,
    second: &Branch,
) -> Result<Vec<Question>, NoSuchPlace> {
    // Each condition holds wherever the other one does.
    let implied = |inside: &Path, cond: &Expr| Question::Holds {
        side: Side::Before,
        at: inside.child(Step::Body(0)),
        cond: cond.clone(),
        what: "the conditions are equivalent".to_string(),
    };
    // The second condition is asked for before the first statement, and the first one behind it.
    let exprs = vec![first.cond.clone(), second.cond.clone()];
    let kept = Question::ConfigKept { side: Side::Before, at: at.clone(), exprs };
    let questions = if first.cond == second.cond {
        vec![kept]
    } else {
        vec![kept, implied(at, &second.cond), implied(other, &first.cond)]
    };
    append(edited, (at, false, first.body.len()), (other, false, second.body.len()))?;
    append(edited, (at, true, first.orelse.len()), (other, true, second.orelse.len()))?;
    Ok(questions)
}

/// Moves a whole list behind another one, which may be an absent `else`.
fn append(edited: &mut Editor, to: (&Path, bool, usize), from: (&Path, bool, usize)) -> EditResult {
    let ((to, to_orelse, length), (from, from_orelse, count)) = (to, from);
    if count == 0 {
        return Ok(());
    }
    edited.insert_at(to, to_orelse, length, Block::one(build::pass()))?;
    let placeholder = to.child(Step::statement(to_orelse, length));
    let run = BlockPlace { parent: from.clone(), orelse: from_orelse, lo: 0, hi: count };
    edited.move_block(&run, &before(&placeholder))?;
    let lo = length + count;
    edited.delete(&BlockPlace { parent: to.clone(), orelse: to_orelse, lo, hi: lo + 1 })
}
