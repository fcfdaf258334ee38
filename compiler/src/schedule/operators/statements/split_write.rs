//! `split_write`: the write of a sum as two writes.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::editor::NoSuchPlace;
use crate::diagnostic::Refusal;
use crate::loop_ir::{BinaryOp, Block, ExprKind, Proc};
use crate::schedule::conversions;
use crate::schedule::target::{Write, block_of};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct SplitWrite;

impl Operator for SplitWrite {
    fn name(&self) -> &'static str {
        "split_write"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "stmt", kind: Kind::AssignOrReduce, default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "splits the write of a sum into a write of the first operand and a reduction of the second",
            text: "`a = b + c` becomes `a = b` and `a += c`; `a += b + c` becomes `a += b` and `a += c`. The second operand \
                   must not read the written element, through windows either.\n\
                   Cursors to the statement and into it die; its block becomes that of the two.",
            example: "@proc\n\
                      def sum(x: f32, y: f32, z: f32):\n\
                      \x20   x = y + z\n\
                      print(split_write(sum, \"x = _\"))\n",
            prints: "def sum(x: f32 @ DRAM, y: f32 @ DRAM, z: f32 @ DRAM):\n\
                     \x20   x = y\n\
                     \x20   x += z\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("first", "the write of the first operand"), ("second", "the reduction of the second")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("stmt")?;
        let write = Write::at(proc, at, arguments)?;
        let ExprKind::Binary { op: BinaryOp::Add, lhs, rhs } = write.rhs.kind.clone() else {
            return Err(arguments.scheduling("the right side is not a sum"));
        };
        conversions::refuse(&write, proc, arguments)?;
        let first = Write { rhs: lhs, ..write.clone() }.into_stmt();
        let second = Write { rhs: rhs.clone(), reduces: true, ..write }.into_stmt();
        let mut edited = Editor::new(proc);
        edited.replace(&block_of(at, arguments)?, Block::from([first, second])).map_err(|gone| arguments.bug(gone))?;
        let to = at.sibling(1).ok_or_else(|| arguments.bug(NoSuchPlace))?;
        let results = vec![Returned::node(at), Returned::node(&to)];
        let unchanged = Question::Unchanged { side: Side::After, from: at.clone(), to, exprs: vec![rhs] };
        Ok(Proposal::same(edited, Obligation::Proven(vec![unchanged])).returning(results))
    }
}
