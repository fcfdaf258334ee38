//! `add_unsafe_guard`: a block put under a condition that always holds.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::path::{self, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Block, Proc, Ty, visit};
use crate::schedule::target::{Branch, rest_of_list};
use crate::schedule::{Arguments, Default, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};
use crate::source::Span;

pub struct AddUnsafeGuard;

impl Operator for AddUnsafeGuard {
    fn name(&self) -> &'static str {
        "add_unsafe_guard"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "block_cursor", kind: Kind::Block(None), default: None },
            Parameter { name: "var_expr", kind: Kind::NewExpr("block_cursor"), default: None },
            Parameter { name: "unsafe_skip_check", kind: Kind::Bool, default: Some(Default::Bool(false)) },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "puts a block under a condition",
            text: "The condition must provably hold wherever the block is reached; with `unsafe_skip_check = True` that is \
                   taken on trust. What the block declares must not be used after it.\n\
                   Cursors to the statements of the block follow them into the branch.",
            example: "@proc\n\
                      def set(n: size, x: f32[n]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       x[i] = 1.0\n\
                      print(add_unsafe_guard(set, \"x[_] = _\", \"i < n\"))\n",
            prints: "def set(n: size, x: f32[n] @ DRAM):\n\
                     \x20   for i in seq(0, n):\n\
                     \x20       if i < n:\n\
                     \x20           x[i] = 1.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("if_stmt", "the new branch")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let place = arguments.block("block_cursor")?;
        let cond = arguments.expr("var_expr")?;
        if cond.ty != Ty::BOOL {
            return Err(arguments.argument("`var_expr` needs a condition"));
        }
        let block = path::block(proc, place).ok_or_else(|| arguments.bug(NoSuchPlace))?;
        let rest = rest_of_list(proc, place);
        if let Some(name) = block.iter().filter_map(visit::bound_by).find(|name| visit::block_mentions(&rest, name)) {
            return Err(arguments.scheduling(format!("`{name}` is declared in the block and used after it")));
        }
        let at = place.statement(0);
        let mut edited = Editor::new(proc);
        edited
            .wrap(place, &[Step::Body(0)], |body| {
                Branch { cond: cond.clone(), body, orelse: Block::default(), span: Span::none() }.into_stmt()
            })
            .map_err(|gone| arguments.bug(gone))?;
        let what = "the condition holds wherever the block is reached".to_string();
        let obligation = match arguments.bool("unsafe_skip_check")? {
            true => Obligation::Waived { what },
            false => Obligation::Proven(vec![Question::Holds {
                side: Side::Before,
                at: at.clone(),
                cond: cond.clone(),
                what,
            }]),
        };
        Ok(Proposal::same(edited, obligation).returning(vec![Returned::node(&at)]))
    }
}
