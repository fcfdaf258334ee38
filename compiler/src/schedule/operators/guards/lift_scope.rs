//! `lift_scope`: a loop or branch exchanged with the scope around it.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::editor::{EditResult, NoSuchPlace};
use crate::cursor::path::{self, Path, Step};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, alpha_rename, substitute_block};
use crate::loop_ir::{BinaryOp, Block, Expr, Proc, StmtKind, build, visit};
use crate::schedule::operators::guards::eliminate_dead_code::negated;
use crate::schedule::operators::loops::reorder_loops::interchange;
use crate::schedule::target::{Branch, Loop, after, before, exchange};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};

pub struct LiftScope;

impl Operator for LiftScope {
    fn name(&self) -> &'static str {
        "lift_scope"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "scope_cursor", kind: Kind::ForOrIf, default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "exchanges a loop or branch with the loop or branch around it",
            text: "The scope must be all that its parent's list holds. A branch leaves a loop when its condition does not \
                   mention the iterator; a loop leaves a branch when its extent is not negative outside it either, and \
                   what the other side of the branch holds joins it when that is a loop with the same bounds, or else \
                   follows under a condition of its own; two branches swap, and code that both sides then need is copied; two loops swap \
                   under the condition of `reorder_loops`.\n\
                   Cursors follow their statements; copies are new.",
            example: "@proc\n\
                      def set(n: size, x: f32[n]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       if n > 8:\n\
                      \x20           x[i] = 1.0\n\
                      print(lift_scope(set, \"if _: _\"))\n",
            prints: "def set(n: size, x: f32[n] @ DRAM):\n\
                     \x20   if n > 8:\n\
                     \x20       for i in seq(0, n):\n\
                     \x20           x[i] = 1.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("scope", "the scope that is outside now"),
            ("inner", "the scope in it that was around it"),
            ("other", "the copy of that scope for the other side, or what was split off, or an invalid cursor"),
        ]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("scope_cursor")?;
        let (Some(child), Some(parent)) = (path::stmt(proc, at), at.parent()) else {
            return Err(arguments.bug(NoSuchPlace));
        };
        let Some(outer) = path::stmt(proc, &parent) else {
            return Err(arguments.scheduling("the scope is at the top level, so there is nothing to exchange it with"));
        };
        let (_, orelse, _) = at.list_position().ok_or_else(|| arguments.bug(NoSuchPlace))?;
        if path::list(proc, &parent, orelse).map_or(0, Block::len) != 1 {
            let hint = "split its other statements off first, with fission";
            return Err(arguments.scheduling("the scope is not alone in its parent's block").hint(hint));
        }
        let mut edited = Editor::new(proc);
        let reason = "conditions and bounds have no effects, so both orders decide alike";
        let (obligation, other) = match (Loop::of(outer), Branch::of(outer), Loop::of(child), Branch::of(child)) {
            (Some(_), _, Some(_), _) => {
                return Ok(interchange(proc, &parent, arguments)?.returning(results(&parent, None)));
            }
            (Some(outer), _, _, Some(inner)) => {
                if visit::mentions(&inner.cond, &outer.iter) {
                    let message = format!("the condition mentions the iterator `{}`", outer.iter);
                    return Err(arguments.scheduling(message));
                }
                branch_out_of_loop(&mut edited, &parent, &outer, &inner).map_err(|gone| arguments.bug(gone))?;
                let other = (!inner.orelse.is_empty()).then(|| parent.child(Step::Orelse(0)));
                let obligation = match inner.cond.reads_config {
                    true => Obligation::Proven(vec![kept(&parent, &inner.cond)]),
                    false => Obligation::ByConstruction(reason),
                };
                (obligation, other)
            }
            (_, Some(outer), Some(inner), _) => {
                let lifted = Lifted { at: &parent, from_orelse: orelse, outer: &outer, inner: &inner };
                let (questions, other) = lifted.out(&mut edited, proc, solver).map_err(|gone| arguments.bug(gone))?;
                (Obligation::Proven(questions), other)
            }
            (_, Some(outer), _, Some(inner)) => {
                branch_out_of_branch(&mut edited, &parent, orelse, &outer, &inner)
                    .map_err(|gone| arguments.bug(gone))?;
                let second = parent.child(Step::Orelse(0));
                let other = path::stmt(edited.proc(), &second).is_some().then_some(second);
                (Obligation::ByConstruction(reason), other)
            }
            _ => return Err(arguments.argument("`lift_scope` needs a loop or a branch in another")),
        };
        Ok(Proposal::same(edited, obligation).returning(results(&parent, other)))
    }
}

fn results(outside: &Path, other: Option<Path>) -> Vec<Returned> {
    vec![Returned::node(outside), Returned::node(&outside.child(Step::Body(0))), Returned::optional(other)]
}

/// A loop that is one side of a branch, to leave it.
struct Lifted<'a> {
    /// The branch.
    at: &'a Path,
    from_orelse: bool,
    outer: &'a Branch,
    inner: &'a Loop,
}

impl Lifted<'_> {
    /// What must hold, and where code of the other side went when it did not join the loop.
    fn out(
        &self,
        edited: &mut Editor,
        proc: &Proc,
        solver: &mut Solver,
    ) -> Result<(Vec<Question>, Option<Path>), NoSuchPlace> {
        let own = Step::statement(self.from_orelse, 0);
        let mut questions = vec![Question::Holds {
            side: Side::After,
            at: self.at.clone(),
            cond: build::binary(BinaryOp::Le, self.inner.lo.clone(), self.inner.hi.clone()),
            what: "the extent of the loop is not negative outside the branch".to_string(),
        }];
        questions.push(kept(self.at, &self.outer.cond));
        let other = if self.from_orelse { &self.outer.body } else { &self.outer.orelse };
        if other.iter().all(|stmt| matches!(stmt.kind, StmtKind::Pass)) {
            exchange(edited, self.at, own)?;
            return Ok((questions, None));
        }
        if let Some((second, alike)) = self.loop_alike(other, proc, solver) {
            questions.extend(alike);
            exchange(edited, self.at, own)?;
            let at = self.at.child(Step::Body(0)).child(Step::statement(!self.from_orelse, 0));
            let renamed = Substitution::from([(second.iter.clone(), build::index(&self.inner.iter))]);
            edited.rewrite_list(&at, false, substitute_block(&second.body, &renamed), Vec::new())?;
            edited.unwrap(&at, false)?;
            return Ok((questions, None));
        }
        let split_off = self.split_off(edited, other.len())?;
        exchange(edited, self.at, own)?;
        Ok((questions, Some(split_off)))
    }

    /// The other side, when it is a loop over provably the same range, with what shows that.
    fn loop_alike(&self, other: &Block, proc: &Proc, solver: &mut Solver) -> Option<(Loop, Vec<Question>)> {
        let only = other.only()?;
        let second = Loop::of(only).filter(|second| second.mode == self.inner.mode)?;
        let at = self.at.child(Step::statement(!self.from_orelse, 0));
        let equal = |lhs: &Expr, rhs: &Expr| Question::Equal {
            side: Side::Before,
            at: at.clone(),
            lhs: lhs.clone(),
            rhs: rhs.clone(),
            what: "the loops of both sides have the same bounds".to_string(),
        };
        let alike = vec![equal(&second.lo, &self.inner.lo), equal(&second.hi, &self.inner.hi)];
        alike.iter().all(|question| question.holds(proc, proc, solver)).then_some((second, alike))
    }

    /// Moves the other side into a branch of its own after this one.
    fn split_off(&self, edited: &mut Editor, count: usize) -> Result<Path, NoSuchPlace> {
        let new = self.at.sibling(1).ok_or(NoSuchPlace)?;
        let (cond, span) = (self.outer.cond.clone(), self.outer.span.clone());
        let pass = || vec![build::pass()];
        let (branch, into) = match (self.from_orelse, negated(&cond)) {
            (true, _) => (Branch { cond, body: pass().into(), orelse: Block::default(), span }, Step::Body(0)),
            (false, Some(cond)) => {
                (Branch { cond, body: pass().into(), orelse: Block::default(), span }, Step::Body(0))
            }
            (false, None) => (Branch { cond, body: pass().into(), orelse: pass().into(), span }, Step::Orelse(0)),
        };
        edited.insert(&after(self.at), Block::one(branch.into_stmt()))?;
        let run = BlockPlace { parent: self.at.clone(), orelse: !self.from_orelse, lo: 0, hi: count };
        edited.move_block(&run, &before(&new.child(into)))?;
        let (in_orelse, _) = into.in_list().ok_or(NoSuchPlace)?;
        edited.delete(&BlockPlace { parent: new.clone(), orelse: in_orelse, lo: count, hi: count + 1 })?;
        Ok(new)
    }
}

/// A condition that is decided once instead of in every iteration, or the other way round.
fn kept(at: &Path, cond: &Expr) -> Question {
    Question::ConfigKept { side: Side::Before, at: at.clone(), exprs: vec![cond.clone()] }
}

/// `for i: if Q: A else: B` becomes `if Q: for i: A else: for i: B`.
fn branch_out_of_loop(edited: &mut Editor, at: &Path, outer: &Loop, inner: &Branch) -> EditResult {
    exchange(edited, at, Step::Body(0))?;
    if inner.orelse.is_empty() {
        return Ok(());
    }
    let iter = outer.iter.renewed();
    let renamed = Substitution::from([(outer.iter.clone(), build::index(&iter))]);
    let count = inner.orelse.len();
    edited.rewrite_list(at, true, substitute_block(&inner.orelse, &renamed), Vec::new())?;
    let run = BlockPlace { parent: at.clone(), orelse: true, lo: 0, hi: count };
    edited.wrap(&run, &[Step::Body(0)], |body| Loop { iter, body, ..outer.clone() }.into_stmt())
}

/// `if P: (if Q: A else: B) else: C` becomes `if Q: (if P: A else: C) else: (if P: B else: C)`; likewise from the
/// `else`. The side without a statement of its own still runs the outer branch's other side.
fn branch_out_of_branch(
    edited: &mut Editor,
    at: &Path,
    from_orelse: bool,
    outer: &Branch,
    inner: &Branch,
) -> EditResult {
    let step = Step::statement(from_orelse, 0);
    exchange(edited, at, step)?;
    let other = if from_orelse { &outer.body } else { &outer.orelse };
    if inner.orelse.is_empty() && other.is_empty() {
        return Ok(());
    }
    let other = alpha_rename(other);
    let make = |own: Block| {
        let (body, orelse) = if from_orelse { (other.clone(), own) } else { (own, other.clone()) };
        let body = if body.is_empty() { Block::one(build::pass()) } else { body };
        Branch { cond: outer.cond.clone(), body, orelse, span: outer.span.clone() }.into_stmt()
    };
    if inner.orelse.is_empty() {
        return edited.insert_at(at, true, 0, Block::one(make(Block::default())));
    }
    let run = BlockPlace { parent: at.clone(), orelse: true, lo: 0, hi: inner.orelse.len() };
    edited.wrap(&run, &[step], make)
}
