//! `rename`: the same procedure under another name.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::Refusal;
use crate::loop_ir::Proc;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};

pub struct Rename;

const PARAMETERS: &[Parameter] = &[Parameter { name: "name", kind: Kind::Name, default: None }];

impl Operator for Rename {
    fn name(&self) -> &'static str {
        "rename"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "give the procedure another name",
            text: "The name is also that of the C function. All cursors stay.",
            example: "\
@proc
def f(x: f32[8]):
    for i in seq(0, 8):
        x[i] = 0.0

print(rename(f, \"clear\"))
",
            prints: "\
def clear(x: f32[8] @ DRAM):
    for i in seq(0, 8):
        x[i] = 0.0
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let mut editor = Editor::new(proc);
        editor.header().name = arguments.text("name")?.into();
        Ok(Proposal::same(editor, Obligation::ByConstruction("names of procedures mean nothing")))
    }
}
