//! `delete_config`: a write of configuration state that makes no difference goes.

use std::sync::Arc;

use crate::analysis::conditions::Side;
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, BlockPlace};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Proc, StmtKind};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::configuration::writing::terms;

pub struct DeleteConfig;

impl Operator for DeleteConfig {
    fn name(&self) -> &'static str {
        "delete_config"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "stmt_cursor", kind: Kind::Stmt, default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "delete a statement that only writes configuration state",
            text: "Deletes a write of a field, a call of a procedure that does nothing else, or a loop or branch around such \
                statements. Each field that it writes either holds the value already, or is not read before it is written \
                again. Where it is not surely written again, the result equals the old procedure but for the field. The \
                cursor of the statement dies.",
            example: "\
@config
class Load:
    pitch: stride

@proc
def f(x: [f32][8, 8], y: f32[8]):
    Load.pitch = stride(x, 0)
    for i in seq(0, 8):
        Load.pitch = stride(x, 0)
        y[i] = x[i, 0]

print(delete_config(f, \"Load.pitch = _ #1\"))
",
            prints: "\
def f(x: [f32][8, 8] @ DRAM, y: f32[8] @ DRAM):
    Load.pitch = stride(x, 0)
    for i in seq(0, 8):
        y[i] = x[i, 0]
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("stmt_cursor")?;
        let stmt = path::stmt(proc, at).ok_or_else(|| arguments.argument("the cursor points to nothing"))?;
        if matches!(stmt.kind, StmtKind::Alloc { .. } | StmtKind::Window { .. }) {
            return Err(arguments.scheduling("a declaration does not write configuration state"));
        }
        let place = BlockPlace::of_statement(at).ok_or_else(|| arguments.argument("not a statement"))?;
        let (question, relation) = terms(proc, Side::Before, at, stmt, solver);
        let mut editor = Editor::new(proc);
        editor.delete(&place).map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::related(editor, Obligation::Proven(vec![question]), relation))
    }
}
