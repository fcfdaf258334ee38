//! The operator: rewrite every expression once, then drop what cannot run.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, BlockPlace, Path, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::map_own_exprs;
use crate::loop_ir::{Block, Const, Expr, ExprKind, Proc, Stmt, StmtKind, build, configuration};
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
                   by a literal are resolved where sizes and loop bounds decide them. Branches with a decided condition \
                   and loops without iterations disappear. Data constants are folded only where that is exact over \
                   the reals. The result is always equal, and simplifying again changes nothing.\n\n\
                   Cursors to surviving statements keep pointing to them; cursors inside a rewritten expression die.",
            example: "@proc\ndef f(n: size, x: f32[8 * n]):\n    for i in seq(0, n):\n        for j in seq(0, 8):\n            \
                      x[(8 * i + j) / 8 * 8 + j + 0] = 0.0\n\nprint(simplify(f))\n",
            prints: "def f(n: size, x: f32[8 * n] @ DRAM):\n    for i in seq(0, n):\n        for j in seq(0, 8):\n            \
                     x[j + 8 * i] = 0.0\n",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, _: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let mut editor = Editor::new(proc);
        rewrite_expressions(proc, &mut editor);
        drop_dead_code(&mut editor);
        Ok(Proposal::same(
            editor,
            Obligation::ByConstruction("each rule is an identity of integers or reals for all values in range"),
        ))
    }
}

fn rewrite_expressions(proc: &Proc, editor: &mut Editor) {
    let scope = Scope { ranges: Ranges::of(proc), fixed: Vec::new() };
    let mut dead = Vec::new();
    let body = block(&proc.body, &Path::root(), false, &scope, &mut dead);
    // The list has the same length as before, so the edit cannot name a missing place.
    let _ = editor.rewrite_list(&Path::root(), false, body, dead);
    let preds = proc.preds.iter().map(|pred| simplify_pred(pred, &scope)).collect();
    editor.header().preds = preds;
}

/// Preconditions are kept even when they are trivially true.
fn simplify_pred(pred: &Expr, scope: &Scope) -> Expr {
    let simple = simplify(pred, scope);
    match simple.kind {
        ExprKind::Const(_) => pred.clone(),
        _ => simple,
    }
}

fn block(list: &Block, parent: &Path, orelse: bool, scope: &Scope, dead: &mut Vec<Path>) -> Block {
    list.iter()
        .enumerate()
        .map(|(at, stmt)| statement(stmt, &parent.child(Step::statement(orelse, at)), scope, dead))
        .collect()
}

fn statement(stmt: &Stmt, at: &Path, scope: &Scope, dead: &mut Vec<Path>) -> Stmt {
    let mut steps = path::own_expr_steps(stmt).into_iter();
    let own = map_own_exprs(stmt, &mut |expr| {
        let step = steps.next();
        let simple = simplify(expr, scope);
        if !unchanged(&simple, expr) {
            dead.extend(step.map(|step| at.child(step)));
        }
        simple
    });
    let kind = match &own.kind {
        StmtKind::If { cond, body, orelse } => {
            let mut inside = scope.clone();
            // What the branch writes is no longer what the condition said.
            if configuration::disturbed([cond], body).is_none() {
                inside.assume(cond);
            }
            StmtKind::If {
                cond: cond.clone(),
                body: block(body, at, false, &inside, dead),
                orelse: block(orelse, at, true, scope, dead),
            }
        }
        StmtKind::For { iter, lo, hi, body, mode } => {
            let mut inside = scope.clone();
            inside.ranges.bind(iter, lo, hi);
            let body = block(body, at, false, &inside, dead);
            StmtKind::For { iter: iter.clone(), lo: lo.clone(), hi: hi.clone(), body, mode: *mode }
        }
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. } => return own,
    };
    build::stmt(kind, &stmt.span)
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
