//! `lift_scope`: a loop or branch exchanged with the scope around it.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::editor::{EditResult, NoSuchPlace};
use crate::cursor::path::{self, Path, Step};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, alpha_rename, substitute_block};
use crate::loop_ir::{BinaryOp, Block, Expr, Proc, Stmt, build, visit};
use crate::schedule::operators::loops::reorder_loops::interchange;
use crate::schedule::target::{Branch, Loop, exchange};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal};

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
                   mention the iterator; a loop leaves a branch that has no `else`, when its extent is not negative \
                   outside it either; two branches swap, and code that both sides then need is copied; two loops swap \
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

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("scope_cursor")?;
        let (Some(child), Some(parent)) = (path::stmt(proc, at), at.parent()) else {
            return Err(arguments.bug(NoSuchPlace));
        };
        let Some(outer) = path::stmt(proc, &parent) else {
            return Err(arguments.scheduling("the scope is at the top level, so there is nothing to exchange it with"));
        };
        let (_, orelse, _) = at.list_position().ok_or_else(|| arguments.bug(NoSuchPlace))?;
        if path::list(proc, &parent, orelse).map_or(0, <[Stmt]>::len) != 1 {
            let hint = "split its other statements off first, with fission";
            return Err(arguments.scheduling("the scope is not alone in its parent's block").hint(hint));
        }
        let mut edited = Editor::new(proc);
        let reason = "conditions and bounds have no effects, so both orders decide alike";
        match (Loop::of(outer), Branch::of(outer), Loop::of(child), Branch::of(child)) {
            (Some(_), _, Some(_), _) => interchange(proc, &parent, arguments),
            (Some(outer), _, _, Some(inner)) => {
                if visit::mentions(&inner.cond, &outer.iter) {
                    let message = format!("the condition mentions the iterator `{}`", outer.iter);
                    return Err(arguments.scheduling(message));
                }
                branch_out_of_loop(&mut edited, &parent, &outer, &inner).map_err(|gone| arguments.bug(gone))?;
                let obligation = match inner.cond.reads_config {
                    true => Obligation::Proven(vec![kept(&parent, &inner.cond)]),
                    false => Obligation::ByConstruction(reason),
                };
                Ok(Proposal::same(edited, obligation))
            }
            (_, Some(outer), Some(inner), _) => {
                if orelse || !outer.orelse.is_empty() {
                    return Err(arguments.scheduling("a loop can only leave a branch that has no `else`"));
                }
                exchange(&mut edited, &parent, Step::Body(0)).map_err(|gone| arguments.bug(gone))?;
                let extent = Question::Holds {
                    side: Side::After,
                    at: parent.clone(),
                    cond: build::binary(BinaryOp::Le, inner.lo.clone(), inner.hi.clone()),
                    what: "the extent of the loop is not negative outside the branch".to_string(),
                };
                Ok(Proposal::same(edited, Obligation::Proven(vec![extent, kept(&parent, &outer.cond)])))
            }
            (_, Some(outer), _, Some(inner)) => {
                branch_out_of_branch(&mut edited, &parent, orelse, &outer, &inner)
                    .map_err(|gone| arguments.bug(gone))?;
                Ok(Proposal::same(edited, Obligation::ByConstruction(reason)))
            }
            _ => Err(arguments.argument("`lift_scope` needs a loop or a branch in another")),
        }
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
        let body = if body.is_empty() { vec![build::pass()] } else { body };
        Branch { cond: outer.cond.clone(), body, orelse, span: outer.span.clone() }.into_stmt()
    };
    if inner.orelse.is_empty() {
        return edited.insert_at(at, true, 0, vec![make(Vec::new())]);
    }
    let run = BlockPlace { parent: at.clone(), orelse: true, lo: 0, hi: inner.orelse.len() };
    edited.wrap(&run, &[step], make)
}
