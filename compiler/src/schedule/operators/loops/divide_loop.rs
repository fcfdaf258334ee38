//! `divide_loop`: one loop into two nested ones, with four ways to treat what is left over.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::path::{Path, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, alpha_rename, substitute_block};
use crate::loop_ir::{BinaryOp, Block, Expr, Proc, Stmt, StmtKind, build};
use crate::schedule::target::{Loop, list_moves};
use crate::schedule::{Arguments, Default, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};
use crate::symbol::Sym;

/// Larger divisors would overflow the index arithmetic of C where `int_fast32_t` has 32 bits.
const LARGEST_DIVISOR: i64 = 1 << 30;

/// What is asked of an operator that divides the loop at `at`, which starts at 0: the loop, its divisor, and the outer and
/// the inner iterator.
pub(in crate::schedule::operators::loops) fn asked(
    proc: &Proc,
    at: &Path,
    divisor: &str,
    arguments: &Arguments,
) -> Result<(Loop, i64, [Sym; 2]), Refusal> {
    let divided = Loop::at(proc, at, arguments)?;
    if !divided.starts_at_zero() {
        let refusal = arguments.scheduling(format!("the loop over `{}` must start at 0", divided.iter));
        return Err(refusal.hint("shift it first: shift_loop(p, loop, 0)"));
    }
    let value = arguments.int(divisor)?;
    if value > LARGEST_DIVISOR {
        return Err(arguments.argument(format!("`{divisor}` must be at most {LARGEST_DIVISOR}, not {value}")));
    }
    match arguments.texts("new_iters")?.as_slice() {
        [outer, inner] => Ok((divided, value, [Sym::new(outer), Sym::new(inner)])),
        _ => Err(arguments.argument("`new_iters` needs two names")),
    }
}

pub struct DivideLoop;

impl Operator for DivideLoop {
    fn name(&self) -> &'static str {
        "divide_loop"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "loop_cursor", kind: Kind::For, default: None },
            Parameter { name: "div_const", kind: Kind::PositiveInt, default: None },
            Parameter { name: "new_iters", kind: Kind::List(&Kind::Name, Some(2)), default: None },
            Parameter {
                name: "tail",
                kind: Kind::Word(&["guard", "cut", "cut_and_guard"]),
                default: Some(Default::Text("guard")),
            },
            Parameter { name: "perfect", kind: Kind::Bool, default: Some(Default::Bool(false)) },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "divides a loop by a constant into an outer and an inner loop",
            text: "The loop must start at 0. `new_iters` names the outer and the inner iterator. With `tail = \"guard\"` \
                   the inner body is guarded against running past the end; with `\"cut\"` the remaining iterations run \
                   in a loop of their own after the main one; `\"cut_and_guard\"` also puts that loop under a test that \
                   there are any. With `perfect = True` the constant must provably divide the extent, and nothing is \
                   left over.\n\
                   Cursors to the loop go to the outer loop; cursors into its body go to the main loops. Nothing maps \
                   to the tail loop, which is the statement after them.",
            example: "@proc\n\
                      def scale(n: size, x: f32[n]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       x[i] = 2.0 * x[i]\n\
                      print(divide_loop(scale, \"i\", 4, [\"io\", \"ii\"], tail = \"cut\"))\n",
            prints: "def scale(n: size, x: f32[n] @ DRAM):\n\
                     \x20   for io in seq(0, n / 4):\n\
                     \x20       for ii in seq(0, 4):\n\
                     \x20           x[4 * io + ii] = 2.0 * x[4 * io + ii]\n\
                     \x20   for ii in seq(0, n % 4):\n\
                     \x20       x[ii + n / 4 * 4] = 2.0 * x[ii + n / 4 * 4]\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("outer", "the loop over the quotients"),
            ("inner", "the loop in it"),
            ("tail", "what runs the iterations left over, or an invalid cursor where nothing does"),
        ]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("loop_cursor")?;
        let (divided, quotient, [outer, inner]) = asked(proc, at, "div_const", arguments)?;
        let tail = match (arguments.bool("perfect")?, arguments.text("tail")?) {
            (true, _) => Tail::Perfect,
            (false, "cut") => Tail::Cut,
            (false, "cut_and_guard") => Tail::CutAndGuard,
            (false, _) => Tail::Guard,
        };
        let division = Division { divided, quotient, outer, inner, tail };
        let edited = division.edit(proc, at).map_err(|gone| arguments.bug(gone))?;
        let tail = match tail {
            Tail::Cut | Tail::CutAndGuard => at.sibling(1),
            Tail::Guard | Tail::Perfect => None,
        };
        let results = vec![Returned::node(at), Returned::node(&at.child(Step::Body(0))), Returned::optional(tail)];
        Ok(Proposal::same(edited, division.obligation(at)).returning(results))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    Guard,
    Cut,
    CutAndGuard,
    Perfect,
}

struct Division {
    divided: Loop,
    quotient: i64,
    outer: Sym,
    inner: Sym,
    tail: Tail,
}

impl Division {
    fn obligation(&self, at: &Path) -> Obligation {
        match self.tail {
            // The bound is read again in the guard, or after the first loop.
            Tail::Guard | Tail::Cut | Tail::CutAndGuard if self.divided.hi.reads_config => {
                let exprs = vec![self.divided.hi.clone()];
                Obligation::Proven(vec![Question::ConfigKept { side: Side::Before, at: at.clone(), exprs }])
            }
            Tail::Guard | Tail::Cut | Tail::CutAndGuard => {
                Obligation::ByConstruction("quotient and remainder name each iteration exactly once, in the old order")
            }
            Tail::Perfect => Obligation::Proven(vec![Question::Holds {
                side: Side::Before,
                at: at.clone(),
                cond: build::binary(BinaryOp::Eq, self.remainder(), build::int(0)),
                what: String::new(),
            }]),
        }
    }

    fn remainder(&self) -> Expr {
        build::modulo(self.divided.hi.clone(), self.quotient)
    }

    fn outer_extent(&self) -> Expr {
        let (hi, q) = (&self.divided.hi, self.quotient);
        match (self.tail, build::int_value(hi)) {
            (Tail::Guard, _) => build::div(build::add(hi.clone(), build::int(q - 1)), q),
            (Tail::Perfect, Some(extent)) => build::int(extent / q),
            (Tail::Perfect, None) | (Tail::Cut | Tail::CutAndGuard, _) => build::div(hi.clone(), q),
        }
    }

    fn with(&self, iter: &Sym, hi: Expr, body: Block) -> Stmt {
        Loop { iter: iter.clone(), lo: build::int(0), hi, body, ..self.divided.clone() }.into_stmt()
    }

    fn edit(&self, proc: &Proc, at: &Path) -> Result<Editor, NoSuchPlace> {
        let q = build::int(self.quotient);
        let position = build::add(build::mul(q.clone(), build::index(&self.outer)), build::index(&self.inner));
        let old = Substitution::from([(self.divided.iter.clone(), position.clone())]);
        let mut body = substitute_block(&self.divided.body, &old);
        let mut inside = vec![Step::Body(0)];
        if self.tail == Tail::Guard {
            let cond = build::less(position, self.divided.hi.clone());
            body = Block::one(build::stmt(StmtKind::If { cond, body, orelse: Block::default() }, &self.divided.span));
            inside.push(Step::Body(0));
        }
        let nest = self.with(&self.outer, self.outer_extent(), Block::one(self.with(&self.inner, q, body)));

        let mut edited = Editor::new(proc);
        let whole = self.divided.clone().into_stmt();
        edited.rewrite_stmt(at, whole, vec![at.child(Step::Hi)])?;
        let mut moves = list_moves(self.divided.body.len(), (&[], false), (&inside, false));
        moves.push((vec![Step::Hi], vec![Step::Hi]));
        edited.restructure(at, nest, moves)?;
        if let Some(rest) = self.rest() {
            let (parent, orelse, position) = at.list_position().ok_or(NoSuchPlace)?;
            edited.insert_at(&parent, orelse, position + 1, Block::one(rest))?;
        }
        Ok(edited)
    }

    /// The loop over the iterations that are left over.
    fn rest(&self) -> Option<Stmt> {
        match self.tail {
            Tail::Guard | Tail::Perfect => return None,
            Tail::Cut | Tail::CutAndGuard => {}
        }
        let iter = Sym::new(self.inner.name());
        let start = build::mul(build::div(self.divided.hi.clone(), self.quotient), build::int(self.quotient));
        let position = build::add(build::index(&iter), start);
        let old = Substitution::from([(self.divided.iter.clone(), position)]);
        let body = alpha_rename(&substitute_block(&self.divided.body, &old));
        let rest = self.with(&iter, self.remainder(), body);
        if self.tail == Tail::Cut {
            return Some(rest);
        }
        let cond = build::binary(BinaryOp::Gt, self.remainder(), build::int(0));
        Some(build::stmt(StmtKind::If { cond, body: Block::one(rest), orelse: Block::default() }, &self.divided.span))
    }
}
