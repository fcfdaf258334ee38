//! `replace_all`: calls of instructions wherever the code matches and the call is valid.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::path::{self, BlockPlace, Path, Step};
use crate::cursor::{Editor, Place};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Block, Proc, StmtKind};
use crate::schedule::Returned;
use crate::schedule::apply::{RawArguments, apply};
use crate::schedule::argument::RawValue;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter, Value};
use crate::schedule::operators::procedures::replace::{candidates, valid_call};
use crate::schedule::parallel;
use crate::schedule::procedure::Procedure;
use crate::unify::could_match;

/// Replaces code by calls of each instruction in turn, at every statement in source order, as one step.
///
/// # Errors
/// When a committed call cannot be shown valid after all; a place that does not match or whose call would not be valid
/// is passed over.
pub fn replace_all(
    procedure: &Procedure,
    instructions: &[Arc<Proc>],
    solver: &mut Solver,
) -> Result<Procedure, Refusal> {
    let list = instructions.iter().map(|instruction| RawValue::Procedure(Procedure::new(instruction.clone())));
    let arguments = RawArguments { positional: vec![RawValue::List(list.collect())], ..RawArguments::default() };
    apply(&ReplaceAll, procedure, arguments, solver)
}

pub struct ReplaceAll;

const PARAMETERS: &[Parameter] =
    &[Parameter { name: "subprocs", kind: Kind::ListOrOne(&Kind::Procedure), default: None }];

impl Operator for ReplaceAll {
    fn name(&self) -> &'static str {
        "replace_all"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "replace code by calls of instructions wherever they fit",
            text: "Takes the instructions in order; each is tried at every statement in source order, with a block as long \
                as its body. Where the block matches and the call passes the call checker (memories, precisions, \
                assertions, bounds), the block is replaced as by `replace`; everywhere else nothing happens.",
            example: "\
@instr(\"copy8(&{dst_data}, &{src_data});\")
def copy8(dst: [f32][8], src: [f32][8]):
    for i in seq(0, 8):
        dst[i] = src[i]

@proc
def f(x: f32[8], y: f32[8], z: f32[8]):
    for i in seq(0, 8):
        y[i] = x[i]
    for i in seq(0, 8):
        z[i] = x[i]

print(replace_all(f, [copy8]))
",
            prints: "\
def f(x: f32[8] @ DRAM, y: f32[8] @ DRAM, z: f32[8] @ DRAM):
    copy8(y[0:8], x[0:8])
    copy8(z[0:8], x[0:8])
",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("calls", "the calls of the given procedures, new and old")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let mut sweep = Sweep { editor: Editor::new(proc), solver, made: 0 };
        let mut callees = Vec::new();
        for value in arguments.list("subprocs")? {
            let Value::Procedure(callee) = value else {
                return Err(arguments.argument("`subprocs` must be procedures"));
            };
            sweep.list(&Path::root(), false, callee);
            callees.push(callee);
        }
        if sweep.made == 0 {
            let reason = "nothing was replaced";
            return Ok(Proposal::same(sweep.editor, Obligation::ByConstruction(reason))
                .returning(vec![Returned::Many(Vec::new())]));
        }
        let (mut questions, mut calls) = (Vec::new(), Vec::new());
        let mut parallel = BTreeSet::new();
        path::each_stmt_path(sweep.editor.proc(), &mut |at, stmt| {
            if let StmtKind::Call { callee, .. } = &stmt.kind
                && callees.iter().any(|known| Arc::ptr_eq(known, callee))
            {
                questions.push(Question::CallFits { side: Side::After, at: at.clone() });
                questions.push(Question::CallsValid { side: Side::After, under: at.clone() });
                calls.push(Place::Node(at.clone()));
                parallel.extend(parallel::scopes(sweep.editor.proc(), at));
            }
        });
        questions
            .extend(parallel.into_iter().map(|scope| Question::IndependentIterations { side: Side::After, scope }));
        Ok(Proposal::same(sweep.editor, Obligation::Proven(questions)).returning(vec![Returned::Many(calls)]))
    }
}

struct Sweep<'a> {
    editor: Editor,
    solver: &'a mut Solver,
    made: usize,
}

impl Sweep<'_> {
    /// Tries a callee at every statement of a list and everything inside.
    fn list(&mut self, parent: &Path, orelse: bool, callee: &Arc<Proc>) {
        let mut at = 0;
        while let Some(list) = path::list(self.editor.proc(), parent, orelse) {
            let Some(stmt) = list.get(at) else { break };
            let nested = match &stmt.kind {
                StmtKind::For { .. } => [Some(false), None],
                StmtKind::If { orelse, .. } => [Some(false), (!orelse.is_empty()).then_some(true)],
                StmtKind::Assign { .. }
                | StmtKind::Reduce { .. }
                | StmtKind::Pass
                | StmtKind::WriteConfig { .. }
                | StmtKind::Alloc { .. }
                | StmtKind::Call { .. }
                | StmtKind::Window { .. } => [None, None],
            };
            let hi = at + callee.body.len();
            let fits = list.part(at..hi).is_some_and(|block| could_match(&callee.body, &block));
            let place = BlockPlace { parent: parent.clone(), orelse, lo: at, hi };
            if !(fits && self.replaced(&place, callee)) {
                let inside = parent.child(Step::statement(orelse, at));
                for orelse in nested.into_iter().flatten() {
                    self.list(&inside, orelse, callee);
                }
            }
            at += 1;
        }
    }

    /// Replaces the block when some way to write the call is valid.
    fn replaced(&mut self, place: &BlockPlace, callee: &Arc<Proc>) -> bool {
        let Ok(choices) = candidates(self.editor.proc(), place, callee) else { return false };
        let questions = valid_call(self.editor.proc(), place);
        let valid = choices.into_iter().find(|edited| {
            questions.iter().all(|question| question.holds(self.editor.proc(), edited.proc(), self.solver))
        });
        let Some(edited) = valid else { return false };
        let Some(call) = path::stmt(edited.proc(), &place.statement(0)).cloned() else { return false };
        let done = self.editor.replace(place, Block::one(call)).is_ok();
        self.made += usize::from(done);
        done
    }
}
