//! `insert_pass`: a statement that does nothing.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::Refusal;
use crate::loop_ir::{Block, Proc, build};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct InsertPass;

impl Operator for InsertPass {
    fn name(&self) -> &'static str {
        "insert_pass"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "gap_cursor", kind: Kind::Gap, default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "inserts a `pass` at a gap",
            text: "Cursors keep pointing to their statements.",
            example: "@proc\n\
                      def set(x: f32):\n\
                      \x20   x = 1.0\n\
                      print(insert_pass(set, set.find(\"x = _\").after()))\n",
            prints: "def set(x: f32 @ DRAM):\n\
                     \x20   x = 1.0\n\
                     \x20   pass\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("stmt", "the new statement")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let mut edited = Editor::new(proc);
        let gap = arguments.gap("gap_cursor")?;
        edited.insert(gap, Block::one(build::pass())).map_err(|gone| arguments.bug(gone))?;
        let new = Returned::optional(gap.inserted());
        Ok(Proposal::same(edited, Obligation::ByConstruction("`pass` does nothing")).returning(vec![new]))
    }
}
