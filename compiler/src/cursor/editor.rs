//! Edits to a working copy of a procedure, each recorded with the way places move.
//!
//! An operator works on an [`Editor`] and hands the result over as part of its proposal; nothing here commits.

use std::sync::Arc;

use crate::cursor::forward::Forward;
use crate::cursor::path::{BlockPlace, GapPlace, Path, Step};
use crate::loop_ir::{Access, ArgType, Block, Expr, ExprKind, Proc, Stmt, StmtKind, build, configuration};

/// An edit named a place that is not in the working copy. A bug of the operator, reported as such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuchPlace;

pub type EditResult = Result<(), NoSuchPlace>;

/// A working copy of a proc, and the record of what was done to it.
#[derive(Clone, Debug)]
pub struct Editor {
    proc: Proc,
    forward: Vec<Forward>,
}

impl Editor {
    pub fn new(proc: &Proc) -> Self {
        Editor { proc: proc.clone(), forward: Vec::new() }
    }

    /// The working copy as it is now.
    pub fn proc(&self) -> &Proc {
        &self.proc
    }

    /// What was recorded so far; `forward::forward` takes a place of the original to the working copy.
    pub fn steps(&self) -> &[Forward] {
        &self.forward
    }

    pub fn finish(self) -> (Proc, Vec<Forward>) {
        (self.proc, self.forward)
    }

    /// For changes outside the body that move nothing: name, preconditions, types of arguments, instruction.
    pub fn header(&mut self) -> &mut Proc {
        &mut self.proc
    }

    /// Removes a formal argument. The body must not mention it any more.
    pub fn drop_arg(&mut self, at: usize) -> EditResult {
        if at >= self.proc.args.len() {
            return Err(NoSuchPlace);
        }
        self.proc.args.remove(at);
        self.forward.push(Forward::DropArg(at));
        Ok(())
    }

    /// Exchanges the two dimensions of a formal argument.
    pub fn transpose_arg(&mut self, at: usize) -> EditResult {
        match self.proc.args.get_mut(at).map(|arg| &mut arg.ty) {
            Some(ArgType::Data(ty)) if ty.rank() == 2 => ty.shape.reverse(),
            Some(ArgType::Data(_) | ArgType::Control(_)) | None => return Err(NoSuchPlace),
        }
        self.forward.push(Forward::TransposeArg(at));
        Ok(())
    }

    /// Replaces a run by new statements; the old ones die. An emptied list gets a `pass`.
    pub fn replace(&mut self, place: &BlockPlace, new: Block) -> EditResult {
        let count = new.len();
        let list = list_mut(&mut self.proc, &place.parent, place.orelse).ok_or(NoSuchPlace)?;
        if place.hi > list.len() || place.lo > place.hi {
            return Err(NoSuchPlace);
        }
        list.splice(place.lo..place.hi, new);
        refill(list, place.orelse);
        refresh(&mut self.proc, &place.parent);
        let BlockPlace { parent, orelse, lo, hi } = place.clone();
        self.forward.push(Forward::Replace { parent, orelse, lo, hi, count });
        Ok(())
    }

    pub fn delete(&mut self, place: &BlockPlace) -> EditResult {
        self.replace(place, Block::default())
    }

    /// Inserts statements at a gap.
    pub fn insert(&mut self, gap: &GapPlace, new: Block) -> EditResult {
        let (parent, orelse, at) = gap.insertion().ok_or(NoSuchPlace)?;
        self.insert_at(&parent, orelse, at, new)
    }

    /// Inserts statements so that the first one stands at position `at` of a list.
    pub fn insert_at(&mut self, parent: &Path, orelse: bool, at: usize, new: Block) -> EditResult {
        let count = new.len();
        let list = list_mut(&mut self.proc, parent, orelse).ok_or(NoSuchPlace)?;
        if at > list.len() {
            return Err(NoSuchPlace);
        }
        list.splice(at..at, new);
        refresh(&mut self.proc, parent);
        self.forward.push(Forward::Insert { parent: parent.clone(), orelse, at, count });
        Ok(())
    }

    /// Puts a run inside a new statement. `make` gets the run; `inner` leads from the new statement to where the run's
    /// first statement then stands, such as `[Body(0)]` for one new loop and `[Body(0), Body(0)]` for two.
    pub fn wrap(&mut self, place: &BlockPlace, inner: &[Step], make: impl FnOnce(Block) -> Stmt) -> EditResult {
        let list = list_mut(&mut self.proc, &place.parent, place.orelse).ok_or(NoSuchPlace)?;
        if place.hi > list.len() || place.lo >= place.hi {
            return Err(NoSuchPlace);
        }
        let run = list.part(place.lo..place.hi).ok_or(NoSuchPlace)?;
        list.splice(place.lo..place.hi, Block::one(make(run)));
        refresh(&mut self.proc, &place.parent);
        let BlockPlace { parent, orelse, lo, hi } = place.clone();
        self.forward.push(Forward::Wrap { parent, orelse, lo, hi, inner: inner.to_vec() });
        Ok(())
    }

    /// Replaces a loop or branch by one of its lists.
    pub fn unwrap(&mut self, scope: &Path, inner_orelse: bool) -> EditResult {
        let (parent, orelse, at) = scope.list_position().ok_or(NoSuchPlace)?;
        let inner = crate::cursor::path::list(&self.proc, scope, inner_orelse).ok_or(NoSuchPlace)?.clone();
        let count = inner.len();
        let list = list_mut(&mut self.proc, &parent, orelse).ok_or(NoSuchPlace)?;
        list.splice(at..at + 1, inner);
        refill(list, orelse);
        refresh(&mut self.proc, &parent);
        self.forward.push(Forward::Unwrap { parent, orelse, at, inner_orelse, count });
        Ok(())
    }

    /// Moves a run to a gap (coordinates of the working copy before the move). A gap at the run's own edge, or inside
    /// it, changes nothing. An emptied list gets a `pass`.
    pub fn move_block(&mut self, place: &BlockPlace, gap: &GapPlace) -> EditResult {
        let (to_parent, to_orelse, to_at) = gap.insertion().ok_or(NoSuchPlace)?;
        if place.statement(0).is_prefix_of(&to_parent) {
            return Err(NoSuchPlace);
        }
        let BlockPlace { parent, orelse, lo, hi } = place.clone();
        let same_list = parent == to_parent && orelse == to_orelse;
        if same_list && lo <= to_at && to_at <= hi {
            return Ok(());
        }
        let run = crate::cursor::path::block(&self.proc, place).ok_or(NoSuchPlace)?.clone();
        let step = Forward::Move { parent, orelse, lo, hi, to_parent, to_orelse, to_at };
        let first = crate::cursor::forward::node(&place.statement(0), &step).ok_or(NoSuchPlace)?;
        let list = list_mut(&mut self.proc, &place.parent, place.orelse).ok_or(NoSuchPlace)?;
        list.splice(lo..hi, Block::default());
        let (target, target_orelse, target_at) = first.list_position().ok_or(NoSuchPlace)?;
        let list = list_mut(&mut self.proc, &target, target_orelse).ok_or(NoSuchPlace)?;
        if target_at > list.len() {
            return Err(NoSuchPlace);
        }
        list.splice(target_at..target_at, run);
        let source = crate::cursor::forward::node(&place.parent, &step).ok_or(NoSuchPlace)?;
        if let Some(list) = list_mut(&mut self.proc, &source, orelse) {
            refill(list, orelse);
        }
        refresh(&mut self.proc, &source);
        refresh(&mut self.proc, &target);
        self.forward.push(step);
        Ok(())
    }

    /// Replaces one expression. Its place maps to the new one; places strictly inside it die.
    pub fn replace_expr(&mut self, path: &Path, new: Expr) -> EditResult {
        self.replace_exprs(vec![(path.clone(), new)])
    }

    /// The place that a new expression ends up at: a literal merges with the negations around it.
    fn merged_into(&self, path: &Path, new: &Expr) -> Path {
        let mut at = path.clone();
        while let ExprKind::Const(_) = new.kind
            && at.last() == Some(Step::Operand)
            && let Some(parent) = at.parent()
        {
            at = parent;
        }
        at
    }

    /// Replaces several expressions, none inside another, as one step. Their places map to the new ones; places
    /// strictly inside them die.
    pub fn replace_exprs(&mut self, new: Vec<(Path, Expr)>) -> EditResult {
        let mut dead = Vec::with_capacity(new.len());
        for (path, expr) in new {
            let merged = self.merged_into(&path, &expr);
            self.set_expr(&path, expr)?;
            dead.push(merged);
        }
        if !dead.is_empty() {
            self.forward.push(Forward::Rewrite { dead });
        }
        Ok(())
    }

    /// Replaces one expression by another made from its parts; `inside` tells where the parts went, as relative steps.
    pub fn restructure_expr(&mut self, path: &Path, new: Expr, inside: Vec<(Vec<Step>, Vec<Step>)>) -> EditResult {
        self.set_expr(path, new)?;
        self.forward.push(Forward::Restructure { path: path.clone(), inside });
        Ok(())
    }

    fn set_expr(&mut self, path: &Path, new: Expr) -> EditResult {
        let statement = path.statement().ok_or(NoSuchPlace)?;
        let steps = path.0.get(statement.0.len()..).ok_or(NoSuchPlace)?;
        let stmt = stmt_mut(&mut self.proc, &statement).ok_or(NoSuchPlace)?;
        replace_own_expr(stmt, steps, new).ok_or(NoSuchPlace)?;
        refresh(&mut self.proc, &statement);
        Ok(())
    }

    /// Replaces a statement by one of the same shape (same statements inside, at the same places): places of
    /// statements stay; places strictly inside the listed expressions die. `dead` paths are absolute.
    pub fn rewrite_stmt(&mut self, path: &Path, new: Stmt, dead: Vec<Path>) -> EditResult {
        *stmt_mut(&mut self.proc, path).ok_or(NoSuchPlace)? = new;
        refresh_above(&mut self.proc, path);
        self.forward.push(Forward::Rewrite { dead });
        Ok(())
    }

    /// Like [`Editor::rewrite_stmt`] for a whole statement list.
    pub fn rewrite_list(&mut self, parent: &Path, orelse: bool, new: Block, dead: Vec<Path>) -> EditResult {
        let list = list_mut(&mut self.proc, parent, orelse).ok_or(NoSuchPlace)?;
        if list.len() != new.len() {
            return Err(NoSuchPlace);
        }
        *list = new;
        refresh(&mut self.proc, parent);
        self.forward.push(Forward::Rewrite { dead });
        Ok(())
    }

    /// Replaces a statement by another; `inside` tells where statements inside it went, as relative steps.
    pub fn restructure(&mut self, path: &Path, new: Stmt, inside: Vec<(Vec<Step>, Vec<Step>)>) -> EditResult {
        *stmt_mut(&mut self.proc, path).ok_or(NoSuchPlace)? = new;
        refresh_above(&mut self.proc, path);
        self.forward.push(Forward::Restructure { path: path.clone(), inside });
        Ok(())
    }
}

/// Notes again what the statement at or above a place, and those around it, have to do with configuration state, after a
/// change inside.
fn refresh(proc: &mut Proc, place: &Path) {
    let mut at = place.statement();
    while let Some(here) = at {
        let Some(stmt) = crate::cursor::path::stmt(proc, &here) else { return };
        let config = configuration::use_of(&stmt.kind);
        if config == stmt.config {
            return;
        }
        if let Some(stmt) = stmt_mut(proc, &here) {
            Arc::make_mut(stmt).set_config(config);
        }
        at = here.parent().and_then(|above| above.statement());
    }
}

/// Like [`refresh`], where the statement at the place is a new one.
fn refresh_above(proc: &mut Proc, place: &Path) {
    if let Some(above) = place.parent() {
        refresh(proc, &above);
    }
}

/// A list that became empty gets a `pass`, unless it is an `else`, which may be absent.
fn refill(list: &mut Block, orelse: bool) {
    if list.is_empty() && !orelse {
        list.push(build::pass());
    }
}

fn inner_list(stmt: &mut Stmt, orelse: bool) -> Option<&mut Block> {
    match (Arc::make_mut(stmt).kind_mut(), orelse) {
        (StmtKind::For { body, .. } | StmtKind::If { body, .. }, false) => Some(body),
        (StmtKind::If { orelse, .. }, true) => Some(orelse),
        _ => None,
    }
}

/// The statement list below the node at `parent`, unshared down to it.
fn list_mut<'a>(proc: &'a mut Proc, parent: &Path, orelse: bool) -> Option<&'a mut Block> {
    let mut list = &mut proc.body;
    let mut steps = parent.0.iter().peekable();
    if steps.peek().is_none() {
        return (!orelse).then_some(list);
    }
    while let Some(step) = steps.next() {
        let (_, at) = step.in_list()?;
        let next_orelse = match steps.peek() {
            Some(next) => next.in_list()?.0,
            None => orelse,
        };
        list = inner_list(list.get_mut(at)?, next_orelse)?;
    }
    Some(list)
}

fn stmt_mut<'a>(proc: &'a mut Proc, path: &Path) -> Option<&'a mut Stmt> {
    let (parent, orelse, at) = path.list_position()?;
    list_mut(proc, &parent, orelse)?.get_mut(at)
}

fn replace_own_expr(stmt: &mut Stmt, steps: &[Step], new: Expr) -> Option<()> {
    let (first, rest) = steps.split_first()?;
    let slot = match (Arc::make_mut(stmt).kind_mut(), *first) {
        (
            StmtKind::Assign { rhs, .. }
            | StmtKind::Reduce { rhs, .. }
            | StmtKind::Window { rhs, .. }
            | StmtKind::WriteConfig { rhs, .. },
            Step::Value,
        ) => rhs,
        (StmtKind::Assign { idx, .. } | StmtKind::Reduce { idx, .. }, Step::Idx(at)) => idx.get_mut(at)?,
        (StmtKind::If { cond, .. }, Step::Cond) => cond,
        (StmtKind::For { lo, .. }, Step::Lo) => lo,
        (StmtKind::For { hi, .. }, Step::Hi) => hi,
        (StmtKind::Alloc { ty, .. }, Step::Dim(at)) => ty.shape.get_mut(at)?,
        (StmtKind::Call { args, .. }, Step::Arg(at)) => args.get_mut(at)?,
        _ => return None,
    };
    *slot = replaced(slot, rest, new)?;
    Some(())
}

/// A copy of `expr` with the node at `steps` replaced; types of operations above it are worked out anew.
pub fn replaced(expr: &Expr, steps: &[Step], new: Expr) -> Option<Expr> {
    let Some((first, rest)) = steps.split_first() else { return Some(new) };
    let kind = match (&expr.kind, *first) {
        (ExprKind::Binary { op, lhs, rhs }, Step::Left) => {
            return Some(build::binary(*op, replaced(lhs, rest, new)?, rhs.clone()));
        }
        (ExprKind::Binary { op, lhs, rhs }, Step::Right) => {
            return Some(build::binary(*op, lhs.clone(), replaced(rhs, rest, new)?));
        }
        (ExprKind::Neg(operand), Step::Operand) => return Some(build::neg(replaced(operand, rest, new)?)),
        (ExprKind::Read { name, idx }, Step::Idx(at)) => {
            ExprKind::Read { name: name.clone(), idx: replaced_in(idx, at, rest, new)? }
        }
        (ExprKind::Extern { function, args }, Step::Arg(at)) => {
            ExprKind::Extern { function: function.clone(), args: replaced_in(args, at, rest, new)? }
        }
        (ExprKind::Window { name, idx }, Step::Point(at) | Step::IntervalLo(at) | Step::IntervalHi(at)) => {
            let mut idx = idx.clone();
            let slot = match (idx.get_mut(at)?, *first) {
                (Access::Point(point), Step::Point(_)) => point,
                (Access::Interval { lo, .. }, Step::IntervalLo(_)) => lo,
                (Access::Interval { hi, .. }, Step::IntervalHi(_)) => hi,
                _ => return None,
            };
            *slot = replaced(slot, rest, new)?;
            ExprKind::Window { name: name.clone(), idx }
        }
        _ => return None,
    };
    Some(build::expr(kind, expr.ty, &expr.span))
}

fn replaced_in(list: &[Expr], at: usize, rest: &[Step], new: Expr) -> Option<Vec<Expr>> {
    let mut list = list.to_vec();
    let slot = list.get_mut(at)?;
    *slot = replaced(slot, rest, new)?;
    Some(list)
}
