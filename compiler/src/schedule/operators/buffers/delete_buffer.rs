//! `delete_buffer`: an allocation that nothing uses disappears.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::Proc;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::buffers::layout::Declared;

pub struct DeleteBuffer;

const PARAMETERS: &[Parameter] = &[Parameter { name: "buf_cursor", kind: Kind::Alloc, default: None }];

impl Operator for DeleteBuffer {
    fn name(&self) -> &'static str {
        "delete_buffer"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "delete an allocation that is not used",
            text: "The buffer must not be mentioned anywhere after its allocation. The cursor dies.",
            example: "\
@proc
def f(x: f32[8]):
    t: f32[8]
    for i in seq(0, 8):
        x[i] = 0.0

print(delete_buffer(f, \"t\"))
",
            prints: "\
def f(x: f32[8] @ DRAM):
    for i in seq(0, 8):
        x[i] = 0.0
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let declared = Declared::find(proc, arguments, "buf_cursor")?;
        if !declared.uses.is_empty() {
            return Err(arguments.scheduling(format!("`{}` is still used", declared.name)));
        }
        let place = BlockPlace::of_statement(&declared.at).ok_or_else(|| arguments.argument("not a statement"))?;
        let mut editor = Editor::new(proc);
        editor.delete(&place).map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(editor, Obligation::ByConstruction("nothing mentions the buffer")))
    }
}
