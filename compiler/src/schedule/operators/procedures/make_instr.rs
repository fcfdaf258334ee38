//! `make_instr`: a procedure becomes an instruction.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::Refusal;
use crate::hardware::instruction::Instruction;
use crate::loop_ir::Proc;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Default, Help, Kind, Operator, Parameter};

pub struct MakeInstr;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "c_instr", kind: Kind::Text, default: None },
    Parameter { name: "c_global", kind: Kind::Text, default: Some(Default::Text("")) },
];

impl Operator for MakeInstr {
    fn name(&self) -> &'static str {
        "make_instr"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "turn the procedure into an instruction",
            text: "Calls of the result emit the C template `c_instr`, with `c_global` once per file, instead of a C call. \
                The body keeps saying what the instruction does: a later step that changes what callers see of it (parameters, \
                asserts, precisions, configuration state) makes a plain procedure of it again. In a schedule that `exo build` \
                runs, instructions are used and not made: their C must have been counted before. All cursors stay.",
            example: "\
@proc
def zero8(dst: [f32][8]):
    assert stride(dst, 0) == 1
    for i in seq(0, 8):
        dst[i] = 0.0

print(make_instr(zero8, \"memset(&{dst_data}, 0, 32);\", \"#include <string.h>\"))
",
            prints: "\
def zero8(dst: [f32][8] @ DRAM):
    # @instr memset(&{dst_data}, 0, 32);
    assert stride(dst, 0) == 1
    for i in seq(0, 8):
        dst[i] = 0.0
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let template = arguments.text("c_instr")?.to_string();
        let global = arguments.text("c_global")?.to_string();
        let mut editor = Editor::new(proc);
        editor.header().instr = Some(Instruction { template, global });
        Ok(Proposal::same(editor, Obligation::ByConstruction("the body stays what it was")))
    }
}
