//! `replace`: a block that does what a procedure does becomes a call of it.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::loop_ir::{Block, Proc, StmtKind, build};
use crate::schedule::Returned;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Default, Help, Kind, Operator, Parameter};
use crate::schedule::parallel;
use crate::source::Span;
use crate::unify::{Mismatch, unify};

pub struct Replace;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "block_cursor", kind: Kind::Block(None), default: None },
    Parameter { name: "subproc", kind: Kind::Procedure, default: None },
    Parameter { name: "quiet", kind: Kind::Bool, default: Some(Default::Bool(false)) },
];

impl Operator for Replace {
    fn name(&self) -> &'static str {
        "replace"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "replace a block by a call of a procedure with that body",
            text: "The block must be an instance of the body of `subproc`: the same statements with some choice of \
                arguments, which is found by solving the index expressions over the integers. Where several choices fit, \
                the first is taken that makes a valid call, preferring leading dimensions as points of windows. The call \
                must pass the call checker: assertions, positive sizes, window bounds, memories, precisions and aliasing. \
                A cursor to exactly the block follows to the call; all others into it die. `quiet` has no effect.",
            example: "\
@instr(\"copy8(&{dst_data}, &{src_data});\")
def copy8(dst: [f32][8], src: [f32][8]):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for i in seq(0, 8):
        dst[i] = src[i]

@proc
def f(x: f32[4, 8], y: f32[4, 8]):
    for i in seq(0, 4):
        for j in seq(0, 8):
            y[i, j] = x[i, j]

print(replace(f, \"for j in _: _\", copy8))
",
            prints: "\
def f(x: f32[4, 8] @ DRAM, y: f32[4, 8] @ DRAM):
    for i in seq(0, 4):
        copy8(y[i, 0:8], x[i, 0:8])
",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("call", "the new call")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let (block, callee) = (arguments.block("block_cursor")?, arguments.procedure("subproc")?);
        let call = || vec![Returned::node(&block.statement(0))];
        let choices = candidates(proc, block, callee).map_err(|why| mismatch(arguments, proc, callee, &why))?;
        let mut first = None;
        let several = choices.len() > 1;
        for edited in choices {
            let questions = valid_call(proc, block);
            if !several || questions.iter().all(|question| question.holds(proc, edited.proc(), solver)) {
                return Ok(Proposal::same(edited, Obligation::Proven(questions)).returning(call()));
            }
            first.get_or_insert(edited);
        }
        // No choice makes a valid call; the first one says why.
        let edited = first.ok_or_else(|| arguments.scheduling("there is no way to write the call"))?;
        Ok(Proposal::same(edited, Obligation::Proven(valid_call(proc, block))).returning(call()))
    }
}

/// The call that took the place of a block fits and passes the call checker, and `par` loops around it keep their iterations
/// apart as far as the callee shows.
pub(super) fn valid_call(proc: &Proc, block: &BlockPlace) -> Vec<Question> {
    let at = block.statement(0);
    let mut questions = vec![
        Question::CallFits { side: Side::After, at: at.clone() },
        Question::CallsValid { side: Side::After, under: at },
    ];
    questions.extend(parallel::around(proc, &block.parent));
    questions
}

/// All ways to write the call, each as an edit.
pub(super) fn candidates(proc: &Proc, block: &BlockPlace, callee: &Arc<Proc>) -> Result<Vec<Editor>, Mismatch> {
    let solutions = unify(callee, proc, block)?;
    let edits = solutions.into_iter().filter_map(|args| {
        let call = build::stmt(StmtKind::Call { callee: callee.clone(), args }, &Span::none());
        let mut editor = Editor::new(proc);
        editor.replace(block, Block::one(call)).is_ok().then_some(editor)
    });
    Ok(edits.collect())
}

fn mismatch(arguments: &Arguments, proc: &Proc, callee: &Proc, why: &Mismatch) -> Refusal {
    let message = format!("the block in `{}` does not match the body of `{}`: {}", proc.name, callee.name, why.reason);
    let diagnostic = Diagnostic::error(codes::UNIFICATION, message)
        .note(format!("the body to match:\n{}", crate::print::proc(callee)));
    let refusal = Refusal::new(RefusalKind::Scheduling, arguments.operator, diagnostic);
    why.hint.iter().fold(refusal, Refusal::hint)
}
