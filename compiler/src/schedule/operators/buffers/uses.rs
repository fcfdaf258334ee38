//! Every place where a buffer is used, and the edits that change uses together.

use std::ops::Range;

use crate::cursor::Editor;
use crate::cursor::editor::{EditResult, NoSuchPlace};
use crate::cursor::path::{self, BlockPlace, Path, Step};
use crate::loop_ir::{Access, Block, Expr, ExprKind, NameFilter, Proc, Stmt, StmtKind, build, visit};
use crate::symbol::Sym;

/// One use of a buffer, by its own name (not through an alias).
#[derive(Clone, Debug)]
pub(in crate::schedule::operators) struct Use {
    /// The statement that holds it.
    pub(in crate::schedule::operators) stmt: Path,
    pub(in crate::schedule::operators) kind: UseKind,
}

#[derive(Clone, Debug)]
pub(in crate::schedule::operators) enum UseKind {
    /// An element (or scalar) is read, at this expression.
    Read { at: Path, idx: Vec<Expr> },
    /// The statement assigns or reduces an element.
    Write { idx: Vec<Expr>, reduce: bool },
    /// A window is taken: of a window statement or as the argument at this expression.
    Window { at: Path, idx: Vec<Access> },
    /// The name alone is the argument of a call.
    Whole { at: Path },
    /// A stride of it is asked for.
    Stride { at: Path, dim: usize },
}

/// The rest of the list after a statement: the scope of what it declares. May be empty.
pub(in crate::schedule::operators) fn scope_after(proc: &Proc, declaration: &Path) -> Option<BlockPlace> {
    let (parent, orelse, at) = declaration.list_position()?;
    let len = path::list(proc, &parent, orelse)?.len();
    Some(BlockPlace { parent, orelse, lo: at + 1, hi: len })
}

/// All uses in a block, in source order; in one statement, reads before the write.
pub(in crate::schedule::operators) fn uses(proc: &Proc, block: &BlockPlace, buffer: &Sym) -> Vec<Use> {
    let mut found = Vec::new();
    let Some(list) = path::list(proc, &block.parent, block.orelse) else { return found };
    in_list(list, block.lo..block.hi, (&block.parent, block.orelse), buffer, &mut found);
    found
}

/// The uses in a range of a list.
fn in_list(list: &Block, range: Range<usize>, at: (&Path, bool), buffer: &Sym, found: &mut Vec<Use>) {
    let (wanted, (parent, orelse)) = (NameFilter::of([buffer]), at);
    let naming = list.picked_in(range, move |summary| summary.names.meets(wanted));
    for (at, stmt) in naming {
        let place = parent.child(Step::statement(orelse, at));
        own_uses(&place, stmt, buffer, found);
        let [body, other] = visit::inner_lists(stmt);
        in_list(body, 0..body.len(), (&place, false), buffer, found);
        in_list(other, 0..other.len(), (&place, true), buffer, found);
    }
}

fn own_uses(place: &Path, stmt: &Stmt, buffer: &Sym, found: &mut Vec<Use>) {
    for step in path::own_expr_steps(stmt) {
        if let Some(expr) = path::own_expr(stmt, step) {
            in_expr(place, place.child(step), expr, buffer, found);
        }
    }
    match &stmt.kind {
        StmtKind::Assign { name, idx, .. } if name == buffer => {
            found.push(Use { stmt: place.clone(), kind: UseKind::Write { idx: idx.clone(), reduce: false } });
        }
        StmtKind::Reduce { name, idx, .. } if name == buffer => {
            found.push(Use { stmt: place.clone(), kind: UseKind::Write { idx: idx.clone(), reduce: true } });
        }
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. } => {}
    }
}

fn in_expr(stmt: &Path, at: Path, expr: &Expr, buffer: &Sym, found: &mut Vec<Use>) {
    let kind = match &expr.kind {
        ExprKind::Read { name, idx } if name == buffer => {
            let whole = idx.is_empty() && is_call_argument(stmt, &at);
            Some(if whole {
                UseKind::Whole { at: at.clone() }
            } else {
                UseKind::Read { at: at.clone(), idx: idx.clone() }
            })
        }
        ExprKind::Window { name, idx } if name == buffer => Some(UseKind::Window { at: at.clone(), idx: idx.clone() }),
        ExprKind::Stride { name, dim } if name == buffer => Some(UseKind::Stride { at: at.clone(), dim: *dim }),
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => None,
    };
    if let Some(kind) = kind {
        found.push(Use { stmt: stmt.clone(), kind });
        return;
    }
    for step in path::expr_steps(expr) {
        if let Some(inner) = path::expr_child(expr, step) {
            in_expr(stmt, at.child(step), inner, buffer, found);
        }
    }
}

/// Arguments are by reference exactly when they are the direct operands of a call statement.
fn is_call_argument(stmt: &Path, at: &Path) -> bool {
    at.0.len() == stmt.0.len() + 1 && matches!(at.last(), Some(Step::Arg(_)))
}

/// New texts for uses, applied in one go so that all places stay those of the tree before.
#[derive(Default)]
pub(in crate::schedule::operators) struct Changes {
    exprs: Vec<(Path, Expr)>,
    targets: Vec<(Path, Sym, Vec<Expr>)>,
}

impl Changes {
    /// The expression at a path becomes another.
    pub(in crate::schedule::operators) fn expr(&mut self, at: &Path, new: Expr) {
        self.exprs.push((at.clone(), new));
    }

    /// The statement at a path writes another element.
    pub(in crate::schedule::operators) fn target(&mut self, stmt: &Path, name: &Sym, idx: Vec<Expr>) {
        self.targets.push((stmt.clone(), name.clone(), idx));
    }

    pub(in crate::schedule::operators) fn apply(self, editor: &mut Editor) -> EditResult {
        editor.replace_exprs(self.exprs)?;
        for (at, name, idx) in self.targets {
            let stmt = path::stmt(editor.proc(), &at).ok_or(NoSuchPlace)?;
            let kind = match &stmt.kind {
                StmtKind::Assign { rhs, .. } => StmtKind::Assign { name, idx, rhs: rhs.clone() },
                StmtKind::Reduce { rhs, .. } => StmtKind::Reduce { name, idx, rhs: rhs.clone() },
                StmtKind::Pass
                | StmtKind::WriteConfig { .. }
                | StmtKind::If { .. }
                | StmtKind::For { .. }
                | StmtKind::Alloc { .. }
                | StmtKind::Call { .. }
                | StmtKind::Window { .. } => return Err(NoSuchPlace),
            };
            let new = build::stmt(kind, &stmt.span);
            // The right side stays where it is; places in the old indices die.
            editor.restructure(&at, new, vec![(vec![Step::Value], vec![Step::Value])])?;
        }
        Ok(())
    }
}

/// The accesses that select all of a buffer.
pub(in crate::schedule::operators) fn everything(shape: &[Expr]) -> Vec<Access> {
    shape.iter().map(|extent| Access::Interval { lo: build::int(0), hi: extent.clone() }).collect()
}
