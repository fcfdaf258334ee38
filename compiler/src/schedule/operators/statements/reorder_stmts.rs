//! `reorder_stmts`: two adjacent statements swapped.

use std::sync::Arc;

use crate::analysis::conditions::{self, Question};
use crate::analysis::solver::Solver;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::{Editor, path};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Block, Proc, StmtKind, visit};
use crate::schedule::target::{before, block_of};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal};

pub struct ReorderStmts;

impl Operator for ReorderStmts {
    fn name(&self) -> &'static str {
        "reorder_stmts"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "block_cursor", kind: Kind::Block(Some(2)), default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "swaps two adjacent statements",
            text: "The two must commute, through windows and calls too. A declaration does not move behind its uses.\n\
                   Cursors follow their statements; a block of the two stays one.",
            example: "@proc\n\
                      def two(x: f32, y: f32):\n\
                      \x20   x = 1.0\n\
                      \x20   y = 2.0\n\
                      print(reorder_stmts(two, \"x = _; y = _\"))\n",
            prints: "def two(x: f32 @ DRAM, y: f32 @ DRAM):\n\
                     \x20   y = 2.0\n\
                     \x20   x = 1.0\n",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let place = arguments.block("block_cursor")?;
        let block = path::block(proc, place).ok_or_else(|| arguments.bug(NoSuchPlace))?;
        let (Some(first), Some(second), 2) = (block.get(0), block.get(1), block.len()) else {
            return Err(arguments.argument("`block_cursor` needs a block of 2 statements"));
        };
        if let StmtKind::Alloc { name, .. } | StmtKind::Window { name, .. } = &first.kind
            && visit::block_mentions(&Block::one(second.clone()), name)
        {
            return Err(arguments.scheduling(format!("the second statement uses `{name}`, which the first declares")));
        }
        let (one, two) = (place.statement(0), place.statement(1));
        let (lower, upper) = (block_of(&one, arguments)?, block_of(&two, arguments)?);
        let mut edited = Editor::new(proc);
        edited.move_block(&upper, &before(&one)).map_err(|gone| arguments.bug(gone))?;
        let commute = Question::Commute { side: conditions::Side::Before, first: lower, second: upper };
        Ok(Proposal::same(edited, Obligation::Proven(vec![commute])))
    }
}
