//! `sink_alloc`: an allocation moves into the loop or branch that follows it.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, BlockPlace, GapPlace, Path, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, substitute_block};
use crate::loop_ir::{Block, Proc, StmtKind, build};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::buffers::layout::Declared;
use crate::schedule::operators::buffers::uses::uses;
use crate::source::Span;

pub struct SinkAlloc;

const PARAMETERS: &[Parameter] = &[Parameter { name: "alloc_cursor", kind: Kind::Alloc, default: None }];

impl Operator for SinkAlloc {
    fn name(&self) -> &'static str {
        "sink_alloc"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "move an allocation into the loop or branch that follows it",
            text: "The next statement must be a loop or an `if`, and the buffer must not be used after it. A loop must not \
                carry values in the buffer from one iteration to a later one. Under an `if` with an `else`, each branch \
                gets a buffer of its own. The cursor follows into the body.",
            example: "\
@proc
def f(x: f32[8]):
    t: f32
    for i in seq(0, 8):
        t = x[i]
        x[i] = t + t

print(sink_alloc(f, \"t\"))
",
            prints: "\
def f(x: f32[8] @ DRAM):
    for i in seq(0, 8):
        t: f32 @ DRAM
        t = x[i]
        x[i] = t + t
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let declared = Declared::find(proc, arguments, "alloc_cursor")?;
        let scope = declared.at.sibling(1).unwrap_or_default();
        let Some(stmt) = path::stmt(proc, &scope) else {
            return Err(arguments.scheduling("no statement follows the allocation"));
        };
        let after = BlockPlace { lo: declared.scope.lo + 1, ..declared.scope.clone() };
        if let Some(late) = uses(proc, &after, &declared.name).first() {
            let names = crate::print::Names::of(proc);
            let line = path::stmt(proc, &late.stmt).map(|stmt| names.headline(stmt)).unwrap_or_default();
            return Err(arguments.scheduling(format!("`{}` is used after that scope: `{line}`", declared.name)));
        }
        let mut editor = Editor::new(proc);
        let obligation = match &stmt.kind {
            StmtKind::For { .. } => Obligation::Proven(vec![Question::DeadBetweenIterations {
                side: Side::Before,
                scope: scope.clone(),
                buffer: declared.name.clone(),
            }]),
            StmtKind::If { orelse, .. } => {
                if !orelse.is_empty() {
                    split_else(&mut editor, arguments, &declared, &scope)?;
                }
                Obligation::ByConstruction("only one branch runs, and a fresh buffer holds nothing")
            }
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::Alloc { .. }
            | StmtKind::Call { .. }
            | StmtKind::Window { .. } => {
                return Err(arguments.argument("the statement after the allocation is neither a loop nor an `if`"));
            }
        };
        let place = BlockPlace::of_statement(&declared.at).ok_or_else(|| arguments.argument("not a statement"))?;
        let gap = GapPlace { anchor: scope.child(Step::Body(0)), side: path::Side::Before };
        editor.move_block(&place, &gap).map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(editor, obligation))
    }
}

/// Gives the `else` a buffer of its own.
fn split_else(editor: &mut Editor, arguments: &Arguments, declared: &Declared, scope: &Path) -> Result<(), Refusal> {
    let fresh = declared.name.renewed();
    let map = Substitution::from([(declared.name.clone(), build::element(&fresh, Vec::new()))]);
    let list = path::list(editor.proc(), scope, true).unwrap_or(Block::none());
    let renamed = substitute_block(list, &map);
    editor.rewrite_list(scope, true, renamed, Vec::new()).map_err(|gone| arguments.bug(gone))?;
    let kind = StmtKind::Alloc { name: fresh, ty: declared.ty.clone(), mem: declared.mem.clone() };
    let alloc = build::stmt(kind, &Span::none());
    editor.insert_at(scope, true, 0, Block::one(alloc)).map_err(|gone| arguments.bug(gone))
}
