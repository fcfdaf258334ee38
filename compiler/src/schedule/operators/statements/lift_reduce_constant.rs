//! `lift_reduce_constant`: a factor common to all terms of a sum, multiplied once after the loop.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::editor::{EditResult, NoSuchPlace};
use crate::cursor::path::{self, Path, Step};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Access, BinaryOp, Block, Const, DataType, Expr, ExprKind, Proc, StmtKind, build, visit};
use crate::schedule::conversions;
use crate::schedule::obligation::ProofStep;
use crate::schedule::operators::buffers::staging::{Relation, relate};
use crate::schedule::operators::buffers::uses::{UseKind, uses};
use crate::schedule::reads::precisions;
use crate::schedule::target::{Loop, Write, after};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};
use crate::symbol::Sym;

pub struct LiftReduceConstant;

impl Operator for LiftReduceConstant {
    fn name(&self) -> &'static str {
        "lift_reduce_constant"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "block_cursor", kind: Kind::Block(Some(2)), default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "takes a constant factor out of a sum",
            text: "The block is `x = 0.0` and a loop. In the loop, everything that reaches `x` must be a reduction of a \
                   product with one and the same factor: a literal, or a value that the loop does not change. The products \
                   lose the factor, and `x` is multiplied by it after the loop.\n\
                   Cursors to the statements stay; a cursor to the other operand of a product follows it.",
            example: "@proc\n\
                      def dot(n: size, a: f32, x: f32[n], y: f32[n], s: f32):\n\
                      \x20   s = 0.0\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       s += a * (x[i] * y[i])\n\
                      print(lift_reduce_constant(dot, \"s = _\\nfor i in _: _\"))\n",
            prints: "def dot(n: size, a: f32 @ DRAM, x: f32[n] @ DRAM, y: f32[n] @ DRAM, s: f32 @ DRAM):\n\
                     \x20   s = 0.0\n\
                     \x20   for i in seq(0, n):\n\
                     \x20       s += x[i] * y[i]\n\
                     \x20   s = a * s\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("assign", "the assignment of zero"),
            ("loop", "the loop over the sum"),
            ("scale", "the multiplication after the loop"),
        ]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let block = arguments.block("block_cursor")?;
        let (assign, repeated) = (block.statement(0), block.statement(1));
        let sum = Sum { proc, target: Write::at(proc, &assign, arguments)?, at: repeated, arguments };
        sum.check_start()?;
        let looped = Loop::at(proc, &sum.at, arguments)?;
        let (terms, mut questions) = sum.terms(&looped, solver)?;
        let factor = sum.common_factor(&terms, &mut questions)?;
        // The target and the factor name the same elements before, in and after the loop.
        let exprs = sum.target.idx.iter().cloned().chain([factor.clone()]).collect();
        questions.push(Question::ConfigKept { side: Side::Before, at: sum.at.clone(), exprs });
        sum.check_factor(&factor, &mut questions)?;
        let read_after = sum.read_after(&looped, &terms, &factor, solver)?;
        let mut edited = Editor::new(proc);
        sum.edit(&mut edited, &terms, &factor).map_err(|gone| arguments.bug(gone))?;
        let results = vec![Returned::node(&assign), Returned::node(&sum.at), Returned::optional(sum.at.sibling(1))];
        let alone = sum.without_terms(&terms).map_err(|gone| arguments.bug(gone))?;
        let before = Proc::clone(proc);
        questions.extend(read_after);
        let scaled = ProofStep { before, after: edited.proc().clone(), questions };
        Ok(Proposal::same(edited, Obligation::Steps(vec![alone, scaled])).returning(results))
    }
}

/// One `x += factor * rest`.
struct Term {
    at: Path,
    factor: Expr,
    rest: Expr,
    /// Where in the product the rest stands.
    side: Step,
}

struct Sum<'a> {
    proc: &'a Proc,
    target: Write,
    /// The loop.
    at: Path,
    arguments: &'a Arguments,
}

impl Sum<'_> {
    fn refuse<T>(&self, message: String) -> Result<T, Refusal> {
        Err(self.arguments.scheduling(message))
    }

    fn check_start(&self) -> Result<(), Refusal> {
        let zero = match &self.target.rhs.kind {
            ExprKind::Const(Const::Real(value)) => *value == 0.0,
            ExprKind::Const(Const::Int(value)) => *value == 0,
            _ => false,
        };
        match zero && !self.target.reduces {
            true => Ok(()),
            false => self.refuse(format!(
                "the first statement must assign the literal 0 to `{}`, since the factor would reach any other value too",
                self.target.name
            )),
        }
    }

    /// The target as a window of its buffer.
    fn window(&self) -> Vec<Access> {
        self.target.idx.iter().cloned().map(Access::Point).collect()
    }

    /// The reductions into the target, and what shows that they are.
    fn terms(&self, looped: &Loop, solver: &mut Solver) -> Result<(Vec<Term>, Vec<Question>), Refusal> {
        let name = &self.target.name;
        let body = BlockPlace { parent: self.at.clone(), orelse: false, lo: 0, hi: looped.body.len() };
        let inner = bound(looped);
        let (mut terms, mut questions): (Vec<Term>, Vec<Question>) = (Vec::new(), Vec::new());
        for one in uses(self.proc, &body, name) {
            let UseKind::Write { idx, reduce: true } = &one.kind else { continue };
            let access: Vec<Access> = idx.iter().cloned().map(Access::Point).collect();
            match relate(self.proc, &one.stmt, &access, &self.window(), solver) {
                Relation::Inside(question) => questions.push(question),
                Relation::Disjoint(_) => continue,
                Relation::Neither => {
                    return self
                        .refuse(format!("a reduction into `{name}` may or may not be into the assigned element"));
                }
            }
            let write = Write::at(self.proc, &one.stmt, self.arguments)?;
            // The product would be taken after the conversion.
            conversions::refuse(&write, self.proc, self.arguments)?;
            let Some((factor, rest, side)) = product(&write.rhs, &inner, terms.first().map(|term| &term.factor)) else {
                return self.refuse(format!(
                    "a reduction into `{name}` does not add a product with a factor that the loop keeps"
                ));
            };
            terms.push(Term { at: one.stmt, factor, rest, side });
        }
        match terms.is_empty() {
            true => self.refuse(format!("the loop does not reduce into `{name}`")),
            false => Ok((terms, questions)),
        }
    }

    /// The factor of all terms. Reads of one element that are written differently are asked about.
    fn common_factor(&self, terms: &[Term], questions: &mut Vec<Question>) -> Result<Expr, Refusal> {
        let Some((first, others)) = terms.split_first() else { return Err(self.arguments.bug(NoSuchPlace)) };
        for term in others.iter().filter(|term| term.factor != first.factor) {
            let (ExprKind::Read { name, idx }, ExprKind::Read { name: other, idx: others }) =
                (&first.factor.kind, &term.factor.kind)
            else {
                return self.refuse("the terms have different factors".to_string());
            };
            if name != other || idx.len() != others.len() {
                return self.refuse(format!("the terms have the different factors `{name}` and `{other}`"));
            }
            questions.extend(idx.iter().zip(others).map(|(lhs, rhs)| Question::Equal {
                side: Side::Before,
                at: term.at.clone(),
                lhs: lhs.clone(),
                rhs: rhs.clone(),
                what: "all terms have one factor".to_string(),
            }));
        }
        Ok(first.factor.clone())
    }

    /// The factor must mean the same before, in and after the loop.
    fn check_factor(&self, factor: &Expr, questions: &mut Vec<Question>) -> Result<(), Refusal> {
        let mut used = BTreeSet::new();
        visit::expr_symbols(factor, &mut used);
        let declarations = Declarations::of(self.proc);
        let mut mixed = precisions(factor, &declarations);
        mixed.extend(declarations.precision(&self.target.name));
        if !used.is_empty() && mixed.len() > 1 {
            return self.refuse(format!("the factor has another precision than `{}`", self.target.name));
        }
        if let Some(to) = self.at.sibling(1)
            && !used.is_empty()
        {
            let exprs = vec![factor.clone()];
            questions.push(Question::Unchanged { side: Side::Before, from: self.at.clone(), to, exprs });
        }
        Ok(())
    }

    /// The factor is read after the loop, also when no iteration reads it: it must be in bounds there and hold a value.
    fn read_after(
        &self,
        looped: &Loop,
        terms: &[Term],
        factor: &Expr,
        solver: &mut Solver,
    ) -> Result<Vec<Question>, Refusal> {
        let ExprKind::Read { name, idx } = &factor.kind else { return Ok(Vec::new()) };
        let Some(root) = Declarations::of(self.proc).root(name) else { return Ok(Vec::new()) };
        let mut questions = vec![Question::BufferInBounds { side: Side::After, buffer: root.clone() }];
        if self.proc.args.iter().any(|arg| arg.name == root) {
            return Ok(questions);
        }
        let runs = Question::Holds {
            side: Side::Before,
            at: self.at.clone(),
            cond: build::binary(BinaryOp::Gt, looped.hi.clone(), looped.lo.clone()),
            what: "the loop has an iteration".to_string(),
        };
        let every_time = terms.iter().any(|term| term.at.parent().as_ref() == Some(&self.at));
        if every_time && runs.holds(self.proc, self.proc, solver) {
            questions.push(runs);
            return Ok(questions);
        }
        let block = self.since_allocated(&root).ok_or_else(|| self.arguments.bug(NoSuchPlace))?;
        let window = idx.iter().cloned().map(Access::Point).collect();
        questions.push(Question::FilledFirst { side: Side::Before, block, buffer: name.clone(), window });
        Ok(questions)
    }

    /// The statements that run from the allocation of a buffer to the loop, as far as the list of the allocation goes.
    fn since_allocated(&self, buffer: &Sym) -> Option<BlockPlace> {
        let mut allocated = None;
        path::each_stmt_path(self.proc, &mut |at, stmt| {
            if matches!(&stmt.kind, StmtKind::Alloc { name, .. } if name == buffer) {
                allocated = Some(at.clone());
            }
        });
        let (parent, orelse, at) = allocated?.list_position()?;
        let (_, hi) = self.at.0.get(parent.0.len())?.in_list()?;
        Some(BlockPlace { parent, orelse, lo: at + 1, hi })
    }

    fn edit(&self, edited: &mut Editor, terms: &[Term], factor: &Expr) -> EditResult {
        for term in terms {
            let inside = vec![(vec![term.side], Vec::new())];
            edited.restructure_expr(&term.at.child(Step::Value), term.rest.clone(), inside)?;
        }
        let product = build::mul(factor.clone(), build::element(&self.target.name, self.target.idx.clone()));
        let scale = Write { rhs: product, ..self.target.clone() }.into_stmt();
        edited.insert(&after(&self.at), Block::one(scale))
    }

    /// The procedure with every term computed but not added, in which the loop must leave the target alone.
    fn without_terms(&self, terms: &[Term]) -> Result<ProofStep, NoSuchPlace> {
        let mut probe = Editor::new(self.proc);
        // Last first: each one becomes two statements.
        for term in terms.iter().rev() {
            let write = path::stmt(self.proc, &term.at).and_then(Write::of).ok_or(NoSuchPlace)?;
            let name = Sym::new("term");
            let ty = DataType::scalar(Precision::R);
            let alloc = StmtKind::Alloc { name: name.clone(), ty, mem: Memory::dram() };
            let own = Write { name, idx: Vec::new(), reduces: false, ..write };
            let new = vec![build::stmt(alloc, &own.span), own.into_stmt()];
            probe.replace(&BlockPlace::of_statement(&term.at).ok_or(NoSuchPlace)?, new.into())?;
        }
        let block = BlockPlace::of_statement(&self.at).ok_or(NoSuchPlace)?;
        let (buffer, window) = (self.target.name.clone(), self.window());
        let alone = Question::Untouched { side: Side::Before, block, buffer, window };
        let probe = probe.proc().clone();
        Ok(ProofStep { before: probe.clone(), after: probe, questions: vec![alone] })
    }
}

/// Names that exist only inside the loop.
fn bound(looped: &Loop) -> BTreeSet<Sym> {
    let mut inner = visit::bound_symbols(&looped.body);
    inner.insert(looped.iter.clone());
    inner
}

/// The constant factor of a product, the other operand, and the side of that. An operand is constant when it is a literal
/// or a read without the names that the loop binds; `wanted` is preferred.
fn product(expr: &Expr, inner: &BTreeSet<Sym>, wanted: Option<&Expr>) -> Option<(Expr, Expr, Step)> {
    let ExprKind::Binary { op: BinaryOp::Mul, lhs, rhs } = &expr.kind else { return None };
    let constant = |e: &Expr| {
        matches!(e.kind, ExprKind::Const(_) | ExprKind::Read { .. })
            && !inner.iter().any(|name| visit::mentions(e, name))
    };
    let left = (lhs.clone(), rhs.clone(), Step::Right);
    let right = (rhs.clone(), lhs.clone(), Step::Left);
    match (constant(lhs), constant(rhs)) {
        (true, true) if wanted == Some(rhs) => Some(right),
        (true, _) => Some(left),
        (false, true) => Some(right),
        (false, false) => None,
    }
}
