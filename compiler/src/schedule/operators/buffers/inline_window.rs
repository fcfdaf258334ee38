//! `inline_window`: uses of a window become uses of what it is a window of.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, BlockPlace};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Access, Expr, ExprKind, Proc, StmtKind, build};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::buffers::uses::{Changes, UseKind, scope_after, uses};

pub struct InlineWindow;

const PARAMETERS: &[Parameter] = &[Parameter { name: "winstmt_cursor", kind: Kind::WindowStmt, default: None }];

impl Operator for InlineWindow {
    fn name(&self) -> &'static str {
        "inline_window"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "use the buffer instead of a window of it",
            text: "Deletes the window statement; indices move by the window's low ends, windows compose, and the bare name \
                as an argument becomes the window expression. The cursor dies; cursors to indices of the window die.",
            example: "\
@proc
def f(x: f32[8, 8]):
    w = x[3, 2:6]
    for i in seq(0, 4):
        w[i] = 0.0

print(inline_window(f, \"w = _\"))
",
            prints: "\
def f(x: f32[8, 8] @ DRAM):
    for i in seq(0, 4):
        x[3, i + 2] = 0.0
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("winstmt_cursor")?;
        let (Some(StmtKind::Window { name, rhs }), Some(scope)) =
            (path::stmt(proc, at).map(|stmt| &stmt.kind), scope_after(proc, at))
        else {
            return Err(arguments.argument("the cursor does not point to a window statement"));
        };
        let ExprKind::Window { name: base, idx: window } = &rhs.kind else {
            return Err(arguments.argument("the cursor does not point to a window statement"));
        };
        let mut changes = Changes::default();
        let mut shared = false;
        for one in &uses(proc, &scope, name) {
            match &one.kind {
                UseKind::Read { at, idx } => changes.expr(at, build::element(base, element(window, idx))),
                UseKind::Write { idx, .. } => changes.target(&one.stmt, base, element(window, idx)),
                UseKind::Window { at, idx } => {
                    shared = true;
                    changes.expr(at, build::window(base, composed(window, idx)));
                }
                UseKind::Whole { at } => {
                    shared = true;
                    changes.expr(at, rhs.clone());
                }
                UseKind::Stride { at, dim } => {
                    let dims =
                        (0..window.len()).filter(|dim| matches!(window.get(*dim), Some(Access::Interval { .. })));
                    let dim =
                        dims.clone().nth(*dim).ok_or_else(|| arguments.scheduling("a stride names no dimension"))?;
                    changes.expr(at, build::stride(base, dim));
                }
            }
        }
        let mut editor = Editor::new(proc);
        changes.apply(&mut editor).map_err(|gone| arguments.bug(gone))?;
        let place = BlockPlace::of_statement(at).ok_or_else(|| arguments.argument("not a statement"))?;
        editor.delete(&place).map_err(|gone| arguments.bug(gone))?;
        let obligation = match shared {
            true => Obligation::Proven(vec![Question::CallsValid { side: Side::After, under: scope.parent }]),
            false => Obligation::ByConstruction("a window is another name for part of a buffer"),
        };
        Ok(Proposal::same(editor, obligation))
    }
}

/// The index in the base of an index in the window.
fn element(window: &[Access], idx: &[Expr]) -> Vec<Expr> {
    let mut own = idx.iter();
    let dims = window.iter().map(|access| match access {
        Access::Point(point) => point.clone(),
        Access::Interval { lo, .. } => own.next().map_or_else(|| lo.clone(), |index| build::sum(index, lo)),
    });
    dims.collect()
}

/// The accesses to the base of accesses to the window.
fn composed(window: &[Access], idx: &[Access]) -> Vec<Access> {
    let mut own = idx.iter();
    let dims = window.iter().map(|access| match access {
        Access::Point(_) => access.clone(),
        Access::Interval { lo, .. } => match own.next() {
            Some(Access::Point(point)) => Access::Point(build::sum(point, lo)),
            Some(Access::Interval { lo: from, hi: to }) => {
                Access::Interval { lo: build::sum(from, lo), hi: build::sum(to, lo) }
            }
            None => access.clone(),
        },
    });
    dims.collect()
}
