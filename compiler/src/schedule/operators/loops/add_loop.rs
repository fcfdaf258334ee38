//! `add_loop`: a block put into a loop that repeats it without effect, or runs it once.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::path::{self, Step};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::{BinaryOp, Block, Expr, LoopMode, Proc, Stmt, StmtKind, build, visit};
use crate::schedule::target::{Loop, rest_of_list};
use crate::schedule::{Arguments, Default, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};
use crate::source::Span;
use crate::symbol::Sym;

pub struct AddLoop;

impl Operator for AddLoop {
    fn name(&self) -> &'static str {
        "add_loop"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "block_cursor", kind: Kind::Block(None), default: None },
            Parameter { name: "iter_name", kind: Kind::Name, default: None },
            Parameter { name: "hi_expr", kind: Kind::NewExpr("block_cursor"), default: None },
            Parameter { name: "guard", kind: Kind::Bool, default: Some(Default::Bool(false)) },
            Parameter { name: "unsafe_skip_check", kind: Kind::Bool, default: Some(Default::Bool(false)) },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "puts a block into a new loop",
            text: "The loop must provably have an iteration. Without `guard`, running the block again right after itself \
                   must change nothing; with `guard = True` the block runs in the first iteration only.\n\
                   Cursors to the statements of the block follow them into the loop.",
            example: "@proc\n\
                      def set(n: size, x: f32):\n\
                      \x20   x = 1.0\n\
                      print(add_loop(set, \"x = _\", \"i\", \"n\", guard = True))\n",
            prints: "def set(n: size, x: f32 @ DRAM):\n\
                     \x20   for i in seq(0, n):\n\
                     \x20       if i == 0:\n\
                     \x20           x = 1.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("loop", "the new loop"), ("block", "the block in it")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let block = arguments.block("block_cursor")?;
        let extent = arguments.expr("hi_expr")?;
        if !extent.ty.is_indexable() {
            return Err(arguments.argument("`hi_expr` needs an index expression"));
        }
        let stmts = path::block(proc, block).unwrap_or_default();
        let rest = rest_of_list(proc, block);
        if let Some(name) = stmts.iter().filter_map(declared).find(|name| visit::block_mentions(&rest, name)) {
            let message = format!("`{name}` is declared in the block and used after it");
            return Err(arguments.scheduling(message));
        }
        let guard = arguments.bool("guard")?;
        let mut questions = vec![Question::Holds {
            side: Side::Before,
            at: block.statement(0),
            cond: build::binary(BinaryOp::Gt, extent.clone(), build::int(0)),
            what: "the new loop has an iteration".to_string(),
        }];
        if !guard {
            questions.push(Question::Idempotent { side: Side::Before, block: block.clone() });
        }
        let iter = Sym::new(arguments.text("iter_name")?);
        let edited = looped(proc, block, &iter, extent, guard).map_err(|gone| arguments.bug(gone))?;
        let obligation = match arguments.bool("unsafe_skip_check")? {
            true => Obligation::Waived { what: "the block may be repeated".to_string() },
            false => Obligation::Proven(questions),
        };
        let new = block.statement(0);
        let parent = if guard { new.child(Step::Body(0)) } else { new.clone() };
        let inside = BlockPlace { parent, orelse: false, lo: 0, hi: block.len() };
        Ok(Proposal::same(edited, obligation).returning(vec![Returned::node(&new), Returned::block(inside)]))
    }
}

/// The buffer or window that a statement declares for the rest of its block.
fn declared(stmt: &Stmt) -> Option<&Sym> {
    match &stmt.kind {
        StmtKind::Alloc { name, .. } | StmtKind::Window { name, .. } => Some(name),
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Call { .. } => None,
    }
}

fn looped(
    proc: &Proc,
    block: &BlockPlace,
    iter: &Sym,
    extent: &Expr,
    guard: bool,
) -> Result<Editor, crate::cursor::editor::NoSuchPlace> {
    let span = Span::none();
    let inner = if guard { vec![Step::Body(0), Step::Body(0)] } else { vec![Step::Body(0)] };
    let make = |run: Block| {
        let body = if guard {
            let cond = build::binary(BinaryOp::Eq, build::index(iter), build::int(0));
            Block::one(build::stmt(StmtKind::If { cond, body: run, orelse: Block::default() }, &span))
        } else {
            run
        };
        let (lo, hi) = (build::int(0), extent.clone());
        Loop { iter: iter.clone(), lo, hi, body, mode: LoopMode::Seq, span: span.clone() }.into_stmt()
    };
    let mut edited = Editor::new(proc);
    edited.wrap(block, &inner, make)?;
    Ok(edited)
}
