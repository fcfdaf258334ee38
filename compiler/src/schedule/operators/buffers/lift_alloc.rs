//! `lift_alloc`: an allocation moves out of the scopes around it.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::path::{self, GapPlace, Path};
use crate::cursor::{Editor, path::BlockPlace};
use crate::diagnostic::Refusal;
use crate::loop_ir::{LoopMode, Proc, StmtKind, visit};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Default, Help, Kind, Operator, Parameter};
use crate::schedule::operators::buffers::layout::Declared;

pub struct LiftAlloc;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "alloc_cursor", kind: Kind::Alloc, default: None },
    Parameter { name: "n_lifts", kind: Kind::PositiveInt, default: Some(Default::Int(1)) },
];

impl Operator for LiftAlloc {
    fn name(&self) -> &'static str {
        "lift_alloc"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "move an allocation out of the loops and branches around it",
            text: "Moves the allocation before the `n_lifts`-th loop or branch around it. Its shape must not mention the \
                iterator of a loop that it leaves and must be positive where it arrives. A fresh buffer holds nothing, so \
                no iteration can depend on getting a new one; but a `par` loop that it leaves must still have independent \
                iterations, which then share the buffer. The cursor follows the allocation.",
            example: "\
@proc
def f(x: f32[8]):
    for i in seq(0, 8):
        t: f32
        t = x[i]
        x[i] = t + t

print(lift_alloc(f, \"t\"))
",
            prints: "\
def f(x: f32[8] @ DRAM):
    t: f32 @ DRAM
    for i in seq(0, 8):
        t = x[i]
        x[i] = t + t
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let declared = Declared::find(proc, arguments, "alloc_cursor")?;
        let target = target(proc, arguments, &declared, arguments.int("n_lifts")?)?;
        let place = BlockPlace::of_statement(&declared.at).ok_or_else(|| arguments.argument("not a statement"))?;
        let gap = GapPlace { anchor: target.scope.clone(), side: path::Side::Before };
        let mut editor = Editor::new(proc);
        editor.move_block(&place, &gap).map_err(|gone| arguments.bug(gone))?;
        // The allocation now stands where the scope stood; the scope is the next statement.
        let mut questions = declared.allocated_outside(&target.scope, &declared.ty.shape);
        for scope in target.parallel {
            let scope = after_insertion(&scope, &target.scope).ok_or_else(|| arguments.argument("not a statement"))?;
            questions.push(Question::IndependentIterations { side: Side::After, scope });
        }
        let obligation = match questions.is_empty() {
            true => Obligation::ByConstruction("what a buffer holds when it is allocated cannot be read"),
            false => Obligation::Proven(questions),
        };
        Ok(Proposal::same(editor, obligation))
    }
}

struct Target {
    /// The statement before which the allocation goes.
    scope: Path,
    /// Parallel loops that it leaves.
    parallel: Vec<Path>,
}

fn target(proc: &Proc, arguments: &Arguments, declared: &Declared, lifts: i64) -> Result<Target, Refusal> {
    let mut target = Target { scope: declared.at.clone(), parallel: Vec::new() };
    for lift in 0..lifts {
        let scope = target.scope.parent().filter(|parent| !parent.0.is_empty());
        let Some((scope, stmt)) = scope.and_then(|scope| path::stmt(proc, &scope).map(|stmt| (scope, stmt))) else {
            let message = format!("only {lift} scopes are around `{}`, so it cannot leave {lifts}", declared.name);
            return Err(arguments.scheduling(message));
        };
        if let StmtKind::For { iter, mode, .. } = &stmt.kind {
            if declared.ty.shape.iter().any(|extent| visit::mentions(extent, iter)) {
                let message =
                    format!("the shape of `{}` depends on the loop `{iter}` that it would leave", declared.name);
                return Err(arguments.scheduling(message));
            }
            if *mode == LoopMode::Par {
                target.parallel.push(scope.clone());
            }
        }
        target.scope = scope;
    }
    Ok(target)
}

/// Where a statement at or inside `scope` is once one statement was put before `scope`.
fn after_insertion(path: &Path, scope: &Path) -> Option<Path> {
    let rest = path.0.get(scope.0.len()..)?;
    Some(scope.sibling(1)?.join(rest))
}
