//! `merge_writes`: two consecutive writes to one element as one.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::editor::EditResult;
use crate::cursor::path::Path;
use crate::diagnostic::Refusal;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Block, Proc, build};
use crate::schedule::conversions;
use crate::schedule::reads::precisions;
use crate::schedule::target::{Write, block_of};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct MergeWrites;

impl Operator for MergeWrites {
    fn name(&self) -> &'static str {
        "merge_writes"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "block_cursor", kind: Kind::Block(Some(2)), default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "merges two consecutive writes to one element",
            text: "An assignment overrides the write before it; a reduction is added to it. The indices must provably be \
                   equal, and the second right side must not read the written element, through windows either.\n\
                   Cursors to the first statement die; the second one stays when it is an assignment.",
            example: "@proc\n\
                      def sum(x: f32, y: f32, z: f32):\n\
                      \x20   x = y\n\
                      \x20   x += z\n\
                      print(merge_writes(sum, \"x = _; x += _\"))\n",
            prints: "def sum(x: f32 @ DRAM, y: f32 @ DRAM, z: f32 @ DRAM):\n\
                     \x20   x = y + z\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("stmt", "the one write that is left")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let block = arguments.block("block_cursor")?;
        let (one, two) = (block.statement(0), block.statement(1));
        let (first, second) = (Write::at(proc, &one, arguments)?, Write::at(proc, &two, arguments)?);
        if first.name != second.name || first.idx.len() != second.idx.len() {
            let (one, two) = (&first.name, &second.name);
            return Err(arguments.argument(format!("the statements write `{one}` and `{two}`, not one buffer")));
        }
        let declarations = Declarations::of(proc);
        let mut mixed = precisions(&first.rhs, &declarations);
        mixed.extend(precisions(&second.rhs, &declarations));
        if second.reduces && mixed.len() > 1 {
            return Err(arguments.scheduling("the right sides have different precisions, so they cannot be added"));
        }
        if second.reduces {
            [&first, &second].into_iter().try_for_each(|write| conversions::refuse(write, proc, arguments))?;
        }
        let questions = first.idx.iter().zip(&second.idx).filter(|(one, two)| one != two).map(|(lhs, rhs)| {
            let (lhs, rhs) = (lhs.clone(), rhs.clone());
            let what = "both statements write the same element".to_string();
            Question::Equal { side: Side::Before, at: two.clone(), lhs, rhs, what }
        });
        let mut questions: Vec<Question> = questions.collect();
        // The second right side must not see what the first statement writes.
        let exprs = vec![second.rhs.clone()];
        questions.push(Question::Unchanged { side: Side::Before, from: one.clone(), to: two.clone(), exprs });
        let mut edited = Editor::new(proc);
        let merged = merge(&mut edited, &one, &two, first, second, arguments)?;
        merged.map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(edited, Obligation::Proven(questions)).returning(vec![Returned::node(&one)]))
    }
}

fn merge(
    edited: &mut Editor,
    one: &Path,
    two: &Path,
    first: Write,
    second: Write,
    arguments: &Arguments,
) -> Result<EditResult, Refusal> {
    let upper = block_of(one, arguments)?;
    if !second.reduces {
        return Ok(edited.delete(&upper));
    }
    let rhs = build::add(first.rhs.clone(), second.rhs);
    let merged = Write { rhs, ..first }.into_stmt();
    let lower = block_of(two, arguments)?;
    Ok(edited.replace(&lower, Block::one(merged)).and_then(|()| edited.delete(&upper)))
}
