//! The operator: rewrite every expression once, then drop what cannot run.

use std::sync::Arc;

use crate::analysis::conditions::Question;
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, BlockPlace, Path, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::map_own_exprs;
use crate::loop_ir::{Block, Const, Expr, ExprKind, Proc, Stmt, StmtKind, build, configuration};
use crate::schedule::obligation::ProofStep;
use crate::schedule::operators::simplify::decisions::Decisions;
use crate::schedule::operators::simplify::linear::literal;
use crate::schedule::operators::simplify::ranges::Ranges;
use crate::schedule::operators::simplify::rules::{Scope, simplify, unchanged};
use crate::schedule::{Arguments, Help, Obligation, Operator, Parameter, Proposal};

/// `simplify(proc)`.
pub struct Simplify;

impl Operator for Simplify {
    fn name(&self) -> &'static str {
        "simplify"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    fn help(&self) -> Help {
        Help {
            summary: "brings index arithmetic into normal form, folds constants, drops code that cannot run",
            text: "Index expressions become `k + c * x + ...` with terms by coefficient and name. Divisions and moduli \
                   by a literal are resolved where sizes and loop bounds decide them. Branches whose condition is decided, by the \
                   asserts and the loops and branches around too, and loops without iterations disappear. Data constants are folded only where that is exact over \
                   the reals. The result is always equal, and simplifying again changes nothing.\n\n\
                   Cursors to surviving statements keep pointing to them; cursors inside a rewritten expression die.",
            example: "@proc\ndef f(n: size, x: f32[8 * n]):\n    for i in seq(0, n):\n        for j in seq(0, 8):\n            \
                      x[(8 * i + j) / 8 * 8 + j + 0] = 0.0\n\nprint(simplify(f))\n",
            prints: "def f(n: size, x: f32[8 * n] @ DRAM):\n    for i in seq(0, n):\n        for j in seq(0, 8):\n            \
                     x[j + 8 * i] = 0.0\n",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, _: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let mut editor = Editor::new(proc);
        let mut steps: Vec<ProofStep> = Vec::new();
        let mut before = proc.clone();
        loop {
            let questions = rewrite_expressions(&before, &mut editor, solver);
            drop_dead_code(&mut editor);
            if questions.is_empty() {
                break;
            }
            // Where a branch that writes configuration state is gone, more is known of that state.
            let again = configuration::may_write(&before.body);
            let after = editor.proc().clone();
            let old = std::mem::replace(&mut before, Arc::new(after.clone()));
            steps.push(ProofStep { before: old.as_ref().clone(), after, questions });
            if !again {
                break;
            }
        }
        let obligation = match steps.len() {
            0 => Obligation::ByConstruction("each rule is an identity of integers or reals for all values in range"),
            // The rules as before; what they leave open is shown.
            1 => Obligation::Proven(steps.into_iter().flat_map(|step| step.questions).collect()),
            _ => Obligation::Steps(steps),
        };
        Ok(Proposal::same(editor, obligation))
    }
}

fn rewrite_expressions(proc: &Proc, editor: &mut Editor, solver: &mut Solver) -> Vec<Question> {
    let scope = Scope { ranges: Ranges::of(proc), fixed: Vec::new() };
    let mut walk = Walk { dead: Vec::new(), decisions: Decisions::new(proc, solver) };
    let body = walk.block(&proc.body, &Path::root(), false, &scope);
    let Walk { dead, decisions } = walk;
    // The list has the same length as before, so the edit cannot name a missing place.
    let _ = editor.rewrite_list(&Path::root(), false, body, dead);
    let preds = proc.preds.iter().map(|pred| simplify_pred(pred, &scope)).collect();
    editor.header().preds = preds;
    decisions.questions
}

/// Preconditions are kept even when they are trivially true.
fn simplify_pred(pred: &Expr, scope: &Scope) -> Expr {
    let simple = simplify(pred, scope);
    match simple.kind {
        ExprKind::Const(_) => pred.clone(),
        _ => simple,
    }
}

struct Walk<'a> {
    /// Places of expressions that change.
    dead: Vec<Path>,
    decisions: Decisions<'a>,
}

impl Walk<'_> {
    fn block(&mut self, list: &Block, parent: &Path, orelse: bool, scope: &Scope) -> Block {
        list.iter()
            .enumerate()
            .map(|(at, stmt)| self.statement(stmt, &parent.child(Step::statement(orelse, at)), scope))
            .collect()
    }

    fn statement(&mut self, stmt: &Stmt, at: &Path, scope: &Scope) -> Stmt {
        let mut steps = path::own_expr_steps(stmt).into_iter();
        let own = map_own_exprs(stmt, &mut |expr| {
            let step = steps.next();
            let simple = simplify(expr, scope);
            if !unchanged(&simple, expr) {
                self.dead.extend(step.map(|step| at.child(step)));
            }
            simple
        });
        let kind = match (&own.kind, &stmt.kind) {
            (StmtKind::If { cond, body, orelse }, StmtKind::If { cond: original, .. }) => {
                self.branch(original, cond, (body, orelse), at, scope)
            }
            (StmtKind::For { iter, lo, hi, body, mode }, StmtKind::For { lo: from, hi: to, .. }) => {
                let bounds = match scope.ranges.runs(lo, hi) || !self.decisions.never_runs(from, to, at) {
                    true => (lo.clone(), hi.clone()),
                    false => (build::int(0), build::int(0)),
                };
                let mut inside = scope.clone();
                inside.ranges.bind(iter, lo, hi);
                let before = self.decisions.enter_loop(stmt);
                let body = self.block(body, at, false, &inside);
                self.decisions.leave(before);
                StmtKind::For { iter: iter.clone(), lo: bounds.0, hi: bounds.1, body, mode: *mode }
            }
            _ => {
                self.decisions.pass(stmt);
                return own;
            }
        };
        self.decisions.pass(stmt);
        build::stmt(kind, &stmt.span)
    }

    /// `original` is the condition of the proc, `cond` what the rules make of it.
    fn branch(
        &mut self,
        original: &Expr,
        cond: &Expr,
        (body, orelse): (&Block, &Block),
        at: &Path,
        scope: &Scope,
    ) -> StmtKind {
        let decided = self.decisions.condition(cond, at);
        if !unchanged(&decided, cond) && unchanged(cond, original) {
            self.dead.push(at.child(Step::Cond));
        }
        let mut inside = scope.clone();
        // What the branch writes is no longer what the condition said.
        if configuration::disturbed([&decided], body).is_none() {
            inside.assume(&decided);
        }
        let before = self.decisions.enter_branch(original, true);
        let body = self.block(body, at, false, &inside);
        self.decisions.leave(before);
        let before = self.decisions.enter_branch(original, false);
        let orelse = self.block(orelse, at, true, scope);
        self.decisions.leave(before);
        StmtKind::If { cond: decided, body, orelse }
    }
}

/// What to do with a scope whose fate is decided.
enum Fate {
    Delete,
    /// Keep only this list of it.
    Keep {
        orelse: bool,
    },
}

fn fate(stmt: &Stmt) -> Option<Fate> {
    match &stmt.kind {
        StmtKind::If { cond, orelse, .. } => match cond.kind {
            ExprKind::Const(Const::Bool(true)) => Some(Fate::Keep { orelse: false }),
            ExprKind::Const(Const::Bool(false)) if orelse.is_empty() => Some(Fate::Delete),
            ExprKind::Const(Const::Bool(false)) => Some(Fate::Keep { orelse: true }),
            _ => None,
        },
        StmtKind::For { lo, hi, .. } => match (literal(lo), literal(hi)) {
            (Some(lo), Some(hi)) if lo >= hi => Some(Fate::Delete),
            _ => None,
        },
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. } => None,
    }
}

fn drop_dead_code(editor: &mut Editor) {
    let mut decided = Vec::new();
    path::each_stmt_path(editor.proc(), &mut |at, stmt| {
        if let Some(fate) = fate(stmt) {
            decided.push((at.clone(), fate));
        }
    });
    // Innermost and last first, so that no edit moves the place of one still to come.
    for (at, fate) in decided.into_iter().rev() {
        let done = match fate {
            Fate::Delete => match BlockPlace::of_statement(&at) {
                Some(place) => editor.delete(&place),
                None => Ok(()),
            },
            Fate::Keep { orelse } => editor.unwrap(&at, orelse),
        };
        debug_assert!(done.is_ok(), "the place of a decided scope is in the working copy");
    }
}
