//! The loop, branch or write that an operator was given, taken apart.

use crate::cursor::editor::{EditResult, NoSuchPlace};
use crate::cursor::path::{self, Path, Step};
use crate::cursor::{BlockPlace, Editor, GapPlace, Side};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Block, Expr, LoopMode, Proc, Stmt, StmtKind, build};
use crate::schedule::operator::Arguments;
use crate::source::Span;
use crate::symbol::Sym;

/// The parts of a loop.
#[derive(Clone, Debug)]
pub struct Loop {
    pub iter: Sym,
    pub lo: Expr,
    pub hi: Expr,
    pub body: Block,
    pub mode: LoopMode,
    pub span: Span,
}

impl Loop {
    /// The loop that a statement is.
    pub fn of(stmt: &Stmt) -> Option<Loop> {
        match &stmt.kind {
            StmtKind::For { iter, lo, hi, body, mode } => Some(Loop {
                iter: iter.clone(),
                lo: lo.clone(),
                hi: hi.clone(),
                body: body.clone(),
                mode: *mode,
                span: stmt.span.clone(),
            }),
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::If { .. }
            | StmtKind::Alloc { .. }
            | StmtKind::Call { .. }
            | StmtKind::Window { .. } => None,
        }
    }

    pub fn at(proc: &Proc, at: &Path, arguments: &Arguments) -> Result<Loop, Refusal> {
        let stmt = path::stmt(proc, at).and_then(Loop::of);
        stmt.ok_or_else(|| arguments.scheduling(format!("`{}` needs a loop", arguments.operator)))
    }

    pub fn into_stmt(self) -> Stmt {
        let Loop { iter, lo, hi, body, mode, span } = self;
        build::stmt(StmtKind::For { iter, lo, hi, body, mode }, &span)
    }

    /// Whether the lower bound is the literal 0.
    pub fn starts_at_zero(&self) -> bool {
        build::int_value(&self.lo) == Some(0)
    }
}

/// The parts of an `if`.
#[derive(Clone, Debug)]
pub struct Branch {
    pub cond: Expr,
    pub body: Block,
    pub orelse: Block,
    pub span: Span,
}

impl Branch {
    /// The `if` that a statement is.
    pub fn of(stmt: &Stmt) -> Option<Branch> {
        match &stmt.kind {
            StmtKind::If { cond, body, orelse } => {
                Some(Branch { cond: cond.clone(), body: body.clone(), orelse: orelse.clone(), span: stmt.span.clone() })
            }
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::For { .. }
            | StmtKind::Alloc { .. }
            | StmtKind::Call { .. }
            | StmtKind::Window { .. } => None,
        }
    }

    pub fn into_stmt(self) -> Stmt {
        let Branch { cond, body, orelse, span } = self;
        build::stmt(StmtKind::If { cond, body, orelse }, &span)
    }
}

/// An assignment or reduction.
#[derive(Clone, Debug)]
pub struct Write {
    pub name: Sym,
    pub idx: Vec<Expr>,
    pub rhs: Expr,
    /// `+=` rather than `=`.
    pub reduces: bool,
    pub span: Span,
}

impl Write {
    /// The write that a statement is.
    pub fn of(stmt: &Stmt) -> Option<Write> {
        let (name, idx, rhs, reduces) = match &stmt.kind {
            StmtKind::Assign { name, idx, rhs } => (name, idx, rhs, false),
            StmtKind::Reduce { name, idx, rhs } => (name, idx, rhs, true),
            StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::Alloc { .. }
            | StmtKind::Call { .. }
            | StmtKind::Window { .. } => return None,
        };
        Some(Write { name: name.clone(), idx: idx.clone(), rhs: rhs.clone(), reduces, span: stmt.span.clone() })
    }

    pub fn at(proc: &Proc, at: &Path, arguments: &Arguments) -> Result<Write, Refusal> {
        let stmt = path::stmt(proc, at).and_then(Write::of);
        stmt.ok_or_else(|| arguments.scheduling(format!("`{}` needs an assignment or reduction", arguments.operator)))
    }

    pub fn into_stmt(self) -> Stmt {
        let Write { name, idx, rhs, reduces, span } = self;
        let kind = if reduces { StmtKind::Reduce { name, idx, rhs } } else { StmtKind::Assign { name, idx, rhs } };
        build::stmt(kind, &span)
    }
}

/// The one-statement block of a statement.
pub fn block_of(at: &Path, arguments: &Arguments) -> Result<BlockPlace, Refusal> {
    BlockPlace::of_statement(at)
        .ok_or_else(|| arguments.scheduling(format!("`{}` needs a statement", arguments.operator)))
}

/// The gap after a statement.
pub fn after(at: &Path) -> GapPlace {
    GapPlace { anchor: at.clone(), side: Side::After }
}

/// The statements that follow a position of a list.
pub fn rest_of_list(proc: &Proc, block: &BlockPlace) -> Block {
    path::list(proc, &block.parent, block.orelse).and_then(|list| list.part(block.hi..)).unwrap_or_default()
}

/// Where each of `count` statements goes when a list moves from under `from` to under `to` (relative steps).
pub fn list_moves(count: usize, from: (&[Step], bool), to: (&[Step], bool)) -> Vec<(Vec<Step>, Vec<Step>)> {
    let steps = |(above, orelse): (&[Step], bool), at: usize| {
        above.iter().copied().chain([Step::statement(orelse, at)]).collect::<Vec<Step>>()
    };
    (0..count).map(|at| (steps(from, at), steps(to, at))).collect()
}

/// Exchanges a scope with the scope that is the only statement of one of its lists (`inner`: `Body(0)` or `Orelse(0)`).
///
/// The inner scope takes the outer one's place; the outer one becomes all of the inner one's body, and the inner one's
/// old body takes the inner scope's old place. Every cursor follows its statement.
pub fn exchange(edited: &mut Editor, outer: &Path, inner: Step) -> EditResult {
    let (in_orelse, _) = inner.in_list().ok_or(NoSuchPlace)?;
    let lifted = outer.sibling(1).ok_or(NoSuchPlace)?;
    edited.move_block(&only(&outer.child(inner))?, &after(outer))?;
    if in_orelse {
        edited.insert_at(outer, true, 0, Block::one(build::pass()))?;
    }
    // The outer scope now holds a `pass` where the inner one was.
    let count = path::list(edited.proc(), &lifted, false).ok_or(NoSuchPlace)?.len();
    let body = BlockPlace { parent: lifted.clone(), orelse: false, lo: 0, hi: count };
    edited.move_block(&body, &before(&outer.child(inner)))?;
    edited.delete(&only(&outer.child(Step::statement(in_orelse, count)))?)?;
    edited.move_block(&only(outer)?, &before(&lifted.child(Step::Body(0))))?;
    edited.delete(&only(&outer.child(Step::Body(1)))?)
}

/// The gap before a statement.
pub fn before(at: &Path) -> GapPlace {
    GapPlace { anchor: at.clone(), side: Side::Before }
}

fn only(at: &Path) -> Result<BlockPlace, NoSuchPlace> {
    BlockPlace::of_statement(at).ok_or(NoSuchPlace)
}
