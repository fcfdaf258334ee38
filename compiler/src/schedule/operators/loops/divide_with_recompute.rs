//! `divide_with_recompute`: one loop into two nested ones that overlap, running some iterations again.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{Path, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, substitute_block};
use crate::loop_ir::{BinaryOp, Block, Expr, ExprKind, LoopMode, Proc, build};
use crate::schedule::operators::loops::divide_loop::asked;
use crate::schedule::target::{Loop, list_moves};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};
use crate::symbol::Sym;

pub struct DivideWithRecompute;

impl Operator for DivideWithRecompute {
    fn name(&self) -> &'static str {
        "divide_with_recompute"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "loop_cursor", kind: Kind::For, default: None },
            Parameter { name: "outer_hi", kind: Kind::NewExpr("loop_cursor"), default: None },
            Parameter { name: "outer_stride", kind: Kind::PositiveInt, default: None },
            Parameter { name: "new_iters", kind: Kind::List(&Kind::Name, Some(2)), default: None },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "divides a loop into overlapping pieces that compute some iterations again",
            text: "The loop must start at 0. The outer loop makes `outer_hi` steps of `outer_stride`; each runs as many \
                   iterations as are needed to reach the old end in the last step, so that the pieces overlap by what \
                   `outer_hi * outer_stride` falls short of the extent. It must not exceed the extent, and there must be a \
                   step wherever there was an iteration. An iteration that runs again must not change anything: neither \
                   it nor those that run in between may change what it reads, and they may not write what it writes.\n\
                   Cursors to the loop go to the outer loop; cursors into its body follow it.",
            example: "@proc\n\
                      def double(n: size, x: f32[n + 2], y: f32[n + 2]):\n\
                      \x20   assert n % 4 == 0\n\
                      \x20   for i in seq(0, n + 2):\n\
                      \x20       y[i] = 2.0 * x[i]\n\
                      print(divide_with_recompute(double, \"i\", \"n / 4\", 4, [\"io\", \"ii\"]))\n",
            prints: "def double(n: size, x: f32[n + 2] @ DRAM, y: f32[n + 2] @ DRAM):\n\
                     \x20   assert n % 4 == 0\n\
                     \x20   for io in seq(0, n / 4):\n\
                     \x20       for ii in seq(0, 4 + (n + 2 - (n - n % 4))):\n\
                     \x20           y[io * 4 + ii] = 2.0 * x[io * 4 + ii]\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("outer", "the loop over the pieces"), ("inner", "the loop over the iterations of a piece")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("loop_cursor")?;
        let (divided, stride, [outer, inner]) = asked(proc, at, "outer_stride", arguments)?;
        let steps = arguments.expr("outer_hi")?;
        if !steps.ty.is_indexable() {
            return Err(arguments.argument("`outer_hi` needs an index expression"));
        }
        let overlap = build::sub(divided.hi.clone(), covered(steps, stride));
        let questions = questions(at, &divided, steps, stride, &overlap);
        let pieces = Pieces { divided, steps: steps.clone(), stride, overlap };
        let edited = pieces.edit(proc, at, outer, inner).map_err(|gone| arguments.bug(gone))?;
        let results = vec![Returned::node(at), Returned::node(&at.child(Step::Body(0)))];
        Ok(Proposal::same(edited, Obligation::Proven(questions)).returning(results))
    }
}

/// `steps * stride`, written without a product where the steps are a quotient by the stride.
fn covered(steps: &Expr, stride: i64) -> Expr {
    match &steps.kind {
        ExprKind::Binary { op: BinaryOp::Div, lhs, rhs } if build::int_value(rhs) == Some(stride) => {
            build::sub(lhs.clone(), build::modulo(lhs.clone(), stride))
        }
        _ => build::mul(steps.clone(), build::int(stride)),
    }
}

fn questions(at: &Path, divided: &Loop, steps: &Expr, stride: i64, overlap: &Expr) -> Vec<Question> {
    let holds =
        |cond: Expr, what: &str| Question::Holds { side: Side::Before, at: at.clone(), cond, what: what.to_string() };
    let at_most = |lhs: Expr, rhs: Expr| build::binary(BinaryOp::Le, lhs, rhs);
    let some_step = build::less(build::int(0), steps.clone());
    let no_iteration = at_most(divided.hi.clone(), build::int(0));
    vec![
        holds(at_most(covered(steps, stride), divided.hi.clone()), "the steps stay inside the loop"),
        holds(at_most(build::int(0), steps.clone()), "the number of steps is not negative"),
        holds(build::binary(BinaryOp::Or, some_step, no_iteration), "there is a step wherever there is an iteration"),
        Question::Recompute { side: Side::Before, scope: at.clone(), within: overlap.clone() },
        // The bounds of a piece are read again in each step.
        Question::ConfigKept { side: Side::Before, at: at.clone(), exprs: vec![divided.hi.clone(), steps.clone()] },
    ]
}

struct Pieces {
    divided: Loop,
    steps: Expr,
    stride: i64,
    /// How many iterations of a piece the next one runs again.
    overlap: Expr,
}

impl Pieces {
    fn edit(
        self,
        proc: &Proc,
        at: &Path,
        outer: Sym,
        inner: Sym,
    ) -> Result<Editor, crate::cursor::editor::NoSuchPlace> {
        let Pieces { divided, steps, stride, overlap } = self;
        let position = build::add(build::mul(build::index(&outer), build::int(stride)), build::index(&inner));
        let old = Substitution::from([(divided.iter.clone(), position)]);
        let count = divided.body.len();
        let piece = Loop {
            iter: inner,
            hi: build::add(build::int(stride), overlap),
            body: substitute_block(&divided.body, &old),
            mode: LoopMode::Seq,
            ..divided.clone()
        };
        let whole = divided.clone().into_stmt();
        let nest = Loop { iter: outer, hi: steps, body: Block::one(piece.into_stmt()), ..divided }.into_stmt();
        let mut edited = Editor::new(proc);
        edited.rewrite_stmt(at, whole, vec![at.child(Step::Hi)])?;
        let mut moves = list_moves(count, (&[], false), (&[Step::Body(0)], false));
        moves.push((vec![Step::Hi], vec![Step::Hi]));
        edited.restructure(at, nest, moves)?;
        Ok(edited)
    }
}
