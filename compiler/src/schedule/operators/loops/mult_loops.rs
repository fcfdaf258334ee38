//! `mult_loops`: two perfectly nested loops into one.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{Path, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, substitute_block};
use crate::loop_ir::{LoopMode, Proc, build};
use crate::schedule::target::{Loop, list_moves};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};
use crate::symbol::Sym;

pub struct MultLoops;

impl Operator for MultLoops {
    fn name(&self) -> &'static str {
        "mult_loops"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "nested_loops", kind: Kind::NestedFor, default: None },
            Parameter { name: "new_iter_name", kind: Kind::Name, default: None },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "joins two perfectly nested loops into one over the product of their extents",
            text: "Both loops must start at 0 and the inner extent must be a literal. The iterators become the quotient \
                   and the remainder of the new one. The new loop is parallel when both loops are.\n\
                   Cursors to the outer loop go to the new one, cursors into the body stay, those to the inner loop die.",
            example: "@proc\n\
                      def clear(n: size, x: f32[n, 4]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       for j in seq(0, 4):\n\
                      \x20           x[i, j] = 0.0\n\
                      print(mult_loops(clear, \"i j\", \"k\"))\n",
            prints: "def clear(n: size, x: f32[n, 4] @ DRAM):\n\
                     \x20   for k in seq(0, n * 4):\n\
                     \x20       x[k / 4, k % 4] = 0.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("loop", "the loop over the product")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("nested_loops")?;
        let outer = Loop::at(proc, at, arguments)?;
        let inner = Loop::at(proc, &at.child(Step::Body(0)), arguments)?;
        for nested in [&outer, &inner] {
            if !nested.starts_at_zero() {
                let refusal = arguments.scheduling(format!("the loop over `{}` must start at 0", nested.iter));
                return Err(refusal.hint("shift it first: shift_loop(p, loop, 0)"));
            }
        }
        let Some(extent) = build::int_value(&inner.hi).filter(|extent| *extent >= 1) else {
            let message = format!("the extent of the loop over `{}` must be a positive literal", inner.iter);
            return Err(arguments.scheduling(message));
        };
        let iter = Sym::new(arguments.text("new_iter_name")?);
        let edited = multiply(proc, at, outer, inner, (iter, extent)).map_err(|gone| arguments.bug(gone))?;
        let reason = "quotient and remainder name each pair of iterations exactly once, in the old order";
        Ok(Proposal::same(edited, Obligation::ByConstruction(reason)).returning(vec![Returned::node(at)]))
    }
}

fn multiply(
    proc: &Proc,
    at: &Path,
    outer: Loop,
    inner: Loop,
    (iter, extent): (Sym, i64),
) -> Result<Editor, crate::cursor::editor::NoSuchPlace> {
    let old = Substitution::from([
        (outer.iter.clone(), build::div(build::index(&iter), extent)),
        (inner.iter.clone(), build::modulo(build::index(&iter), extent)),
    ]);
    let count = inner.body.len();
    let mode = match (outer.mode, inner.mode) {
        (LoopMode::Par, LoopMode::Par) => LoopMode::Par,
        (LoopMode::Seq, _) | (_, LoopMode::Seq) => LoopMode::Seq,
    };
    let body = substitute_block(&inner.body, &old);
    let hi = build::mul(outer.hi.clone(), inner.hi.clone());
    let whole = outer.clone().into_stmt();
    let product = Loop { iter, hi, body, mode, ..outer }.into_stmt();
    let mut edited = Editor::new(proc);
    edited.rewrite_stmt(at, whole, vec![at.child(Step::Hi)])?;
    let mut moves = list_moves(count, (&[Step::Body(0)], false), (&[], false));
    moves.push((vec![Step::Hi], vec![Step::Hi]));
    edited.restructure(at, product, moves)?;
    Ok(edited)
}
