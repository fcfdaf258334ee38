//! Paths from a procedure's root to its nodes, and the places that cursors name with them.

use crate::loop_ir::{Access, ArgType, Block, Expr, ExprKind, Proc, Stmt, StmtKind};

/// One edge of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Statement lists: of the proc, a loop or a branch.
    Body(usize),
    Orelse(usize),
    /// Expressions of statements.
    Cond,
    Lo,
    Hi,
    /// Right side of an assignment, reduction or window statement.
    Value,
    /// Index of an assignment, reduction or read.
    Idx(usize),
    /// Argument of a call or extern.
    Arg(usize),
    /// Extent of an allocation.
    Dim(usize),
    /// From the root: an extent of an argument, by the positions of both.
    ArgDim(usize, usize),
    /// Expressions of expressions.
    Operand,
    Left,
    Right,
    /// Accesses of a window expression.
    Point(usize),
    IntervalLo(usize),
    IntervalHi(usize),
}

impl Step {
    pub fn is_statement(self) -> bool {
        matches!(self, Step::Body(_) | Step::Orelse(_))
    }

    /// The position in a statement list, and whether that list is an `else`.
    pub fn in_list(self) -> Option<(bool, usize)> {
        match self {
            Step::Body(at) => Some((false, at)),
            Step::Orelse(at) => Some((true, at)),
            Step::Cond
            | Step::Lo
            | Step::Hi
            | Step::Value
            | Step::Idx(_)
            | Step::Arg(_)
            | Step::Dim(_)
            | Step::ArgDim(..)
            | Step::Operand
            | Step::Left
            | Step::Right
            | Step::Point(_)
            | Step::IntervalLo(_)
            | Step::IntervalHi(_) => None,
        }
    }

    /// A step into a statement list.
    pub fn statement(orelse: bool, at: usize) -> Step {
        if orelse { Step::Orelse(at) } else { Step::Body(at) }
    }
}

/// Edges from the root; the empty path is the proc itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub Vec<Step>);

impl Path {
    pub fn root() -> Self {
        Path::default()
    }

    pub fn child(&self, step: Step) -> Path {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        Path(steps)
    }

    pub fn join(&self, rest: &[Step]) -> Path {
        let mut steps = self.0.clone();
        steps.extend_from_slice(rest);
        Path(steps)
    }

    pub fn parent(&self) -> Option<Path> {
        let (_, init) = self.0.split_last()?;
        Some(Path(init.to_vec()))
    }

    pub fn last(&self) -> Option<Step> {
        self.0.last().copied()
    }

    /// Whether `self` is `other` or above it.
    pub fn is_prefix_of(&self, other: &Path) -> bool {
        other.0.starts_with(&self.0)
    }

    /// The nearest statement at or above this path; `None` for the root.
    pub fn statement(&self) -> Option<Path> {
        let end = self.0.iter().rposition(|step| step.is_statement())?;
        self.0.get(..=end).map(|steps| Path(steps.to_vec()))
    }

    /// The list that holds this statement and its position there. `None` for anything but a statement.
    pub fn list_position(&self) -> Option<(Path, bool, usize)> {
        let (orelse, at) = self.last()?.in_list()?;
        Some((self.parent()?, orelse, at))
    }

    /// The statement `offset` further in the same list (it may not exist).
    pub fn sibling(&self, offset: isize) -> Option<Path> {
        let (parent, orelse, at) = self.list_position()?;
        Some(parent.child(Step::statement(orelse, at.checked_add_signed(offset)?)))
    }
}

/// A run of statements of one list: `lo..hi`, not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    pub parent: Path,
    pub orelse: bool,
    pub lo: usize,
    pub hi: usize,
}

impl BlockPlace {
    /// The one-statement block of a statement's path.
    pub fn of_statement(path: &Path) -> Option<Self> {
        let (parent, orelse, at) = path.list_position()?;
        Some(BlockPlace { parent, orelse, lo: at, hi: at + 1 })
    }

    pub fn len(&self) -> usize {
        self.hi - self.lo
    }

    pub fn is_empty(&self) -> bool {
        self.lo == self.hi
    }

    /// The path of the `k`-th statement of the block.
    pub fn statement(&self, k: usize) -> Path {
        self.parent.child(Step::statement(self.orelse, self.lo + k))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

/// The place before or after a statement. It stays with that statement when others move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapPlace {
    pub anchor: Path,
    pub side: Side,
}

impl GapPlace {
    /// The list and the position at which something inserted here would stand.
    pub fn insertion(&self) -> Option<(Path, bool, usize)> {
        let (parent, orelse, at) = self.anchor.list_position()?;
        Some((
            parent,
            orelse,
            match self.side {
                Side::Before => at,
                Side::After => at + 1,
            },
        ))
    }

    /// The path of the first statement that is inserted here.
    pub fn inserted(&self) -> Option<Path> {
        let (parent, orelse, at) = self.insertion()?;
        Some(parent.child(Step::statement(orelse, at)))
    }
}

/// Which list of expressions a run belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprList {
    Idx,
    Args,
    Dims,
}

impl ExprList {
    pub fn step(self, at: usize) -> Step {
        match self {
            ExprList::Idx => Step::Idx(at),
            ExprList::Args => Step::Arg(at),
            ExprList::Dims => Step::Dim(at),
        }
    }
}

/// What a cursor points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Reached by navigating over an edge, or gone. Using it is a refusal.
    Invalid,
    /// A statement or an expression (never the root).
    Node(Path),
    Block(BlockPlace),
    Gap(GapPlace),
    /// A formal argument.
    Arg(usize),
    ArgList {
        lo: usize,
        hi: usize,
    },
    /// A run of expressions of one list; may be empty.
    Exprs {
        parent: Path,
        list: ExprList,
        lo: usize,
        hi: usize,
    },
}

/// What stands at a path.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    Proc(&'a Proc),
    Stmt(&'a Stmt),
    Expr(&'a Expr),
}

/// The node at a path, if there is one.
pub fn node<'a>(proc: &'a Proc, path: &Path) -> Option<Node<'a>> {
    path.0.iter().try_fold(Node::Proc(proc), |at, step| child(at, *step))
}

/// The statement at a path.
pub fn stmt<'a>(proc: &'a Proc, path: &Path) -> Option<&'a Stmt> {
    match node(proc, path)? {
        Node::Stmt(stmt) => Some(stmt),
        Node::Proc(_) | Node::Expr(_) => None,
    }
}

/// The expression at a path.
pub fn expr<'a>(proc: &'a Proc, path: &Path) -> Option<&'a Expr> {
    match node(proc, path)? {
        Node::Expr(expr) => Some(expr),
        Node::Proc(_) | Node::Stmt(_) => None,
    }
}

/// The statement list `body` or `orelse` of the node at a path.
pub fn list<'a>(proc: &'a Proc, parent: &Path, orelse: bool) -> Option<&'a Block> {
    match (node(proc, parent)?, orelse) {
        (Node::Proc(proc), false) => Some(&proc.body),
        (Node::Stmt(stmt), _) => match (&stmt.kind, orelse) {
            (StmtKind::For { body, .. } | StmtKind::If { body, .. }, false) => Some(body),
            (StmtKind::If { orelse, .. }, true) => Some(orelse),
            (
                StmtKind::For { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Reduce { .. }
                | StmtKind::Pass
                | StmtKind::WriteConfig { .. }
                | StmtKind::Alloc { .. }
                | StmtKind::Call { .. }
                | StmtKind::Window { .. },
                _,
            ) => None,
        },
        (Node::Proc(_) | Node::Expr(_), _) => None,
    }
}

/// The statements of a block.
pub fn block(proc: &Proc, place: &BlockPlace) -> Option<Block> {
    list(proc, &place.parent, place.orelse)?.part(place.lo..place.hi)
}

fn child<'a>(node: Node<'a>, step: Step) -> Option<Node<'a>> {
    match node {
        Node::Proc(proc) => match step {
            Step::Body(at) => proc.body.get(at).map(Node::Stmt),
            Step::ArgDim(arg, dim) => match &proc.args.get(arg)?.ty {
                ArgType::Data(ty) => ty.shape.get(dim).map(Node::Expr),
                ArgType::Control(_) => None,
            },
            _ => None,
        },
        Node::Stmt(stmt) => stmt_child(stmt, step),
        Node::Expr(expr) => expr_child(expr, step).map(Node::Expr),
    }
}

fn stmt_child(stmt: &Stmt, step: Step) -> Option<Node<'_>> {
    match (&stmt.kind, step) {
        (StmtKind::For { body, .. } | StmtKind::If { body, .. }, Step::Body(at)) => body.get(at).map(Node::Stmt),
        (StmtKind::If { orelse, .. }, Step::Orelse(at)) => orelse.get(at).map(Node::Stmt),
        (StmtKind::If { cond, .. }, Step::Cond) => Some(Node::Expr(cond)),
        (StmtKind::For { lo, .. }, Step::Lo) => Some(Node::Expr(lo)),
        (StmtKind::For { hi, .. }, Step::Hi) => Some(Node::Expr(hi)),
        (
            StmtKind::Assign { rhs, .. }
            | StmtKind::Reduce { rhs, .. }
            | StmtKind::Window { rhs, .. }
            | StmtKind::WriteConfig { rhs, .. },
            Step::Value,
        ) => Some(Node::Expr(rhs)),
        (StmtKind::Assign { idx, .. } | StmtKind::Reduce { idx, .. }, Step::Idx(at)) => idx.get(at).map(Node::Expr),
        (StmtKind::Alloc { ty, .. }, Step::Dim(at)) => ty.shape.get(at).map(Node::Expr),
        (StmtKind::Call { args, .. }, Step::Arg(at)) => args.get(at).map(Node::Expr),
        _ => None,
    }
}

/// The expression of a statement itself over one edge.
pub fn own_expr(stmt: &Stmt, step: Step) -> Option<&Expr> {
    match stmt_child(stmt, step)? {
        Node::Expr(expr) => Some(expr),
        Node::Proc(_) | Node::Stmt(_) => None,
    }
}

/// The child of an expression over one edge.
pub fn expr_child(expr: &Expr, step: Step) -> Option<&Expr> {
    match (&expr.kind, step) {
        (ExprKind::Read { idx, .. }, Step::Idx(at)) => idx.get(at),
        (ExprKind::Extern { args, .. }, Step::Arg(at)) => args.get(at),
        (ExprKind::Neg(operand), Step::Operand) => Some(operand),
        (ExprKind::Binary { lhs, .. }, Step::Left) => Some(lhs),
        (ExprKind::Binary { rhs, .. }, Step::Right) => Some(rhs),
        (ExprKind::Window { idx, .. }, Step::Point(at)) => match idx.get(at)? {
            Access::Point(point) => Some(point),
            Access::Interval { .. } => None,
        },
        (ExprKind::Window { idx, .. }, Step::IntervalLo(at)) => match idx.get(at)? {
            Access::Interval { lo, .. } => Some(lo),
            Access::Point(_) => None,
        },
        (ExprKind::Window { idx, .. }, Step::IntervalHi(at)) => match idx.get(at)? {
            Access::Interval { hi, .. } => Some(hi),
            Access::Point(_) => None,
        },
        _ => None,
    }
}

/// The steps to an expression's direct children, in source order.
pub fn expr_steps(expr: &Expr) -> Vec<Step> {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Stride { .. } | ExprKind::ReadConfig(_) => Vec::new(),
        ExprKind::Read { idx, .. } => (0..idx.len()).map(Step::Idx).collect(),
        ExprKind::Extern { args, .. } => (0..args.len()).map(Step::Arg).collect(),
        ExprKind::Neg(_) => vec![Step::Operand],
        ExprKind::Binary { .. } => vec![Step::Left, Step::Right],
        ExprKind::Window { idx, .. } => idx
            .iter()
            .enumerate()
            .flat_map(|(at, access)| match access {
                Access::Point(_) => vec![Step::Point(at)],
                Access::Interval { .. } => vec![Step::IntervalLo(at), Step::IntervalHi(at)],
            })
            .collect(),
    }
}

/// The steps to the expressions that belong to a statement itself, in source order.
pub fn own_expr_steps(stmt: &Stmt) -> Vec<Step> {
    match &stmt.kind {
        StmtKind::Assign { idx, .. } | StmtKind::Reduce { idx, .. } => {
            (0..idx.len()).map(Step::Idx).chain([Step::Value]).collect()
        }
        StmtKind::Pass => Vec::new(),
        StmtKind::If { .. } => vec![Step::Cond],
        StmtKind::For { .. } => vec![Step::Lo, Step::Hi],
        StmtKind::Alloc { ty, .. } => (0..ty.shape.len()).map(Step::Dim).collect(),
        StmtKind::Call { args, .. } => (0..args.len()).map(Step::Arg).collect(),
        StmtKind::Window { .. } | StmtKind::WriteConfig { .. } => vec![Step::Value],
    }
}

/// Calls `f` with the path of every statement of a proc, parents first, in source order.
pub fn each_stmt_path<'a>(proc: &'a Proc, f: &mut dyn FnMut(&Path, &'a Stmt)) {
    each_in_list(&proc.body, &Path::root(), false, f);
}

/// Calls `f` with the path of every statement of one list and everything inside, parents first.
pub fn each_in_list<'a>(list: &'a Block, parent: &Path, orelse: bool, f: &mut dyn FnMut(&Path, &'a Stmt)) {
    for (at, stmt) in list.iter().enumerate() {
        let path = parent.child(Step::statement(orelse, at));
        f(&path, stmt);
        match &stmt.kind {
            StmtKind::For { body, .. } => each_in_list(body, &path, false, f),
            StmtKind::If { body, orelse, .. } => {
                each_in_list(body, &path, false, f);
                each_in_list(orelse, &path, true, f);
            }
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::Alloc { .. }
            | StmtKind::Call { .. }
            | StmtKind::Window { .. } => {}
        }
    }
}
