//! The search for a pattern in a proc (spec/02, 2.5): pre-order, prefixes of statement lists.

use std::cell::OnceCell;

use crate::cursor::path::{self, BlockPlace, Node, Path, Place, Step};
use crate::diagnostic::{Diagnostic, codes};
use crate::hardware::config::ConfigField;
use crate::loop_ir::{Block, Const, Expr, ExprKind, Proc, Stmt, StmtKind, visit};
use crate::print::{self, Names};
use crate::symbol::Sym;
use crate::syntax::pattern::{ExprPattern, NamePattern, Pattern, PatternKind, StmtPattern};

/// All matches in search order, or the one that `#k` asks for; empty when there are none.
///
/// `start` limits the search: a statement with everything in it, a block, an expression; `None` is the whole proc.
/// Matches are `Place::Node` for one statement or expression and `Place::Block` for several statements.
/// A place that cannot hold the pattern is an `INVALID_CURSOR` diagnostic.
pub fn find(proc: &Proc, start: Option<&Place>, pattern: &Pattern) -> Result<Vec<Place>, Diagnostic> {
    search(proc, start, pattern, usize::MAX)
}

/// The first match, or the one that `#k` asks for. Looks no further than it.
pub fn find_first(proc: &Proc, start: Option<&Place>, pattern: &Pattern) -> Result<Option<Place>, Diagnostic> {
    Ok(search(proc, start, pattern, 1)?.into_iter().next())
}

fn search(proc: &Proc, start: Option<&Place>, pattern: &Pattern, most: usize) -> Result<Vec<Place>, Diagnostic> {
    let mut search = Search {
        proc,
        names: OnceCell::new(),
        pattern: &pattern.kind,
        most: pattern.nth.map_or(most, |nth| nth.saturating_add(1)),
        at: Path::root(),
        found: Vec::new(),
    };
    match start {
        None => search.list(&proc.body, false, 0),
        Some(Place::Block(block)) => {
            let stmts = path::block(proc, block).ok_or_else(nowhere)?;
            search.at = block.parent.clone();
            search.list(&stmts, block.orelse, block.lo);
        }
        Some(Place::Node(at)) => search.node(at)?,
        Some(Place::Exprs { parent, list, lo, hi }) => {
            for at in *lo..*hi {
                search.node(&parent.child(list.step(at)))?;
            }
        }
        Some(Place::Gap(_) | Place::Arg(_) | Place::ArgList { .. } | Place::Invalid) => return Err(nowhere()),
    }
    let found = search.found;
    Ok(match pattern.nth {
        Some(nth) => found.into_iter().nth(nth).into_iter().collect(),
        None => found,
    })
}

fn nowhere() -> Diagnostic {
    Diagnostic::error(codes::INVALID_CURSOR, "there is nothing to search at this cursor")
        .hint("search from a statement, a block, an expression or the proc itself")
}

struct Search<'a> {
    proc: &'a Proc,
    /// Worked out when a pattern has a name that only the printer can have made up.
    names: OnceCell<Names>,
    pattern: &'a PatternKind,
    /// Matches after which the search ends.
    most: usize,
    /// Where the search is.
    at: Path,
    found: Vec<Place>,
}

impl<'a> Search<'a> {
    fn node(&mut self, at: &Path) -> Result<(), Diagnostic> {
        self.at = at.clone();
        match (path::node(self.proc, at).ok_or_else(nowhere)?, self.pattern) {
            (Node::Stmt(stmt), _) => {
                let (parent, orelse, position) = at.list_position().ok_or_else(nowhere)?;
                self.at = parent;
                self.list(&Block::one(stmt.clone()), orelse, position);
            }
            (Node::Expr(expr), PatternKind::Expr(pattern)) => self.expr(expr, pattern),
            (Node::Expr(_), PatternKind::Stmts(_)) => {
                return Err(Diagnostic::error(codes::INVALID_CURSOR, "an expression holds no statements to find")
                    .hint("search from the statement or the proc instead"));
            }
            (Node::Proc(proc), _) => self.list(&proc.body, false, 0),
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.found.len() >= self.most
    }

    /// Searches part of a statement list of the node at `self.at`; it starts at position `first` of it.
    fn list(&mut self, stmts: &Block, orelse: bool, first: usize) {
        for (k, stmt) in stmts.iter().enumerate() {
            if self.is_over() {
                return;
            }
            let lo = first + k;
            if let PatternKind::Stmts(patterns) = self.pattern
                && let Some(count) = self.matches_list(patterns, stmts, k)
            {
                self.found.push(match count {
                    1 => Place::Node(self.at.child(Step::statement(orelse, lo))),
                    _ => Place::Block(BlockPlace { parent: self.at.clone(), orelse, lo, hi: lo + count }),
                });
            }
            self.at.0.push(Step::statement(orelse, lo));
            if let PatternKind::Expr(pattern) = self.pattern {
                self.own_exprs(stmt, pattern);
            }
            let [body, other] = visit::inner_lists(stmt);
            self.list(body, false, 0);
            self.list(other, true, 0);
            self.at.0.pop();
        }
    }

    /// The expressions of the statement itself; extents of allocations are not searched.
    fn own_exprs(&mut self, stmt: &Stmt, pattern: &ExprPattern) {
        for step in path::own_expr_steps(stmt) {
            if let (false, Some(expr)) = (matches!(step, Step::Dim(_)), path::own_expr(stmt, step)) {
                self.at.0.push(step);
                self.expr(expr, pattern);
                self.at.0.pop();
            }
        }
    }

    fn expr(&mut self, expr: &Expr, pattern: &ExprPattern) {
        if self.is_over() {
            return;
        }
        if self.matches_expr(pattern, expr) {
            self.found.push(Place::Node(self.at.clone()));
        }
        for step in path::expr_steps(expr) {
            if let Some(child) = path::expr_child(expr, step) {
                self.at.0.push(step);
                self.expr(child, pattern);
                self.at.0.pop();
            }
        }
    }

    /// How many statements of `stmts` the patterns match, from position `first` on.
    fn matches_list(&self, patterns: &[StmtPattern], stmts: &Block, first: usize) -> Option<usize> {
        let mut at = first;
        let mut skipping = false;
        for pattern in patterns {
            if matches!(pattern, StmtPattern::Hole) {
                skipping = true;
                continue;
            }
            let mut rest = stmts.iter().skip(at);
            let skipped = if skipping {
                rest.position(|stmt| self.matches_stmt(pattern, stmt))?
            } else {
                rest.next().filter(|stmt| self.matches_stmt(pattern, stmt)).map(|_| 0)?
            };
            at += skipped + 1;
            skipping = false;
        }
        match skipping {
            // A hole at the end takes the rest, which must not be empty.
            true => (at < stmts.len()).then_some(stmts.len() - first),
            false => Some(at - first),
        }
    }

    fn matches_stmt(&self, pattern: &StmtPattern, stmt: &Stmt) -> bool {
        match (pattern, &stmt.kind) {
            (StmtPattern::Hole, _) | (StmtPattern::Pass, StmtKind::Pass) => true,
            (StmtPattern::Assign { name, idx, rhs }, StmtKind::Assign { name: n, idx: i, rhs: r })
            | (StmtPattern::Reduce { name, idx, rhs }, StmtKind::Reduce { name: n, idx: i, rhs: r }) => {
                self.matches_name(name, n) && self.matches_shorter(idx, i) && self.matches_expr(rhs, r)
            }
            (StmtPattern::Assign { name, idx, rhs }, StmtKind::Window { name: n, rhs: r }) => {
                idx.is_empty() && self.matches_name(name, n) && self.matches_expr(rhs, r)
            }
            (StmtPattern::Alloc { name, sizes }, StmtKind::Alloc { name: n, ty, .. }) => {
                self.matches_name(name, n) && self.matches_shorter(sizes, &ty.shape)
            }
            (StmtPattern::For { iter, lo, hi, body }, StmtKind::For { iter: i, lo: l, hi: h, body: b, .. }) => {
                self.matches_name(iter, i)
                    && self.matches_expr(lo, l)
                    && self.matches_expr(hi, h)
                    && self.matches_list(body, b, 0).is_some()
            }
            (StmtPattern::If { cond, body, orelse }, StmtKind::If { cond: c, body: b, orelse: o }) => {
                self.matches_expr(cond, c)
                    && self.matches_list(body, b, 0).is_some()
                    && self.matches_list(orelse, o, 0).is_some()
            }
            (StmtPattern::Call { name }, StmtKind::Call { callee, .. }) => match name {
                NamePattern::Any => true,
                NamePattern::Text(text) => **text == *callee.name,
                NamePattern::Symbol(_) => false,
            },
            (StmtPattern::WriteConfig { config, field, rhs }, StmtKind::WriteConfig { field: f, rhs: r }) => {
                matches_field(config, field, f) && self.matches_expr(rhs, r)
            }
            (
                StmtPattern::WriteConfig { .. }
                | StmtPattern::Assign { .. }
                | StmtPattern::Reduce { .. }
                | StmtPattern::Alloc { .. }
                | StmtPattern::For { .. }
                | StmtPattern::If { .. }
                | StmtPattern::Call { .. }
                | StmtPattern::Pass,
                _,
            ) => false,
        }
    }

    /// The name as the binding spells it or, where names clash, as the proc is printed.
    fn matches_name(&self, pattern: &NamePattern, symbol: &Sym) -> bool {
        match pattern {
            NamePattern::Any => true,
            NamePattern::Text(text) => {
                text == symbol.name()
                    || print::may_spell(text, symbol)
                        && text == self.names.get_or_init(|| Names::of(self.proc)).get(symbol)
            }
            NamePattern::Symbol(wanted) => wanted == symbol,
        }
    }

    /// Pairwise, up to the end of the shorter list.
    fn matches_shorter(&self, patterns: &[ExprPattern], exprs: &[Expr]) -> bool {
        patterns.iter().zip(exprs).all(|(pattern, expr)| self.matches_expr(pattern, expr))
    }

    fn matches_expr(&self, pattern: &ExprPattern, expr: &Expr) -> bool {
        match (pattern, &expr.kind) {
            (ExprPattern::Hole, _) => true,
            (ExprPattern::Const(wanted), ExprKind::Const(value)) => same_value(wanted, value),
            (ExprPattern::Read { name, idx }, ExprKind::Read { name: n, idx: i }) => {
                self.matches_name(name, n) && self.matches_shorter(idx, i)
            }
            (ExprPattern::Read { name, idx }, ExprKind::Window { name: n, .. }) => {
                matches!(idx.as_slice(), [ExprPattern::Hole]) && self.matches_name(name, n)
            }
            (ExprPattern::Neg(operand), ExprKind::Neg(o)) => self.matches_expr(operand, o),
            (ExprPattern::Binary { op, lhs, rhs }, ExprKind::Binary { op: o, lhs: l, rhs: r }) => {
                op == o && self.matches_expr(lhs, l) && self.matches_expr(rhs, r)
            }
            (ExprPattern::Extern { name, args }, ExprKind::Extern { function, args: a }) => {
                *name == function.name && self.matches_shorter(args, a)
            }
            (ExprPattern::Stride { name, dim }, ExprKind::Stride { name: n, dim: d }) => {
                // Dimension 0 of a pattern stands for every dimension, as in Exo.
                let dim_fits = dim.is_none_or(|dim| dim == 0 || usize::try_from(dim) == Ok(*d));
                dim_fits && self.matches_name(name, n)
            }
            (ExprPattern::ReadConfig { config, field }, ExprKind::ReadConfig(f)) => matches_field(config, field, f),
            (
                ExprPattern::Const(_)
                | ExprPattern::ReadConfig { .. }
                | ExprPattern::Read { .. }
                | ExprPattern::Neg(_)
                | ExprPattern::Binary { .. }
                | ExprPattern::Extern { .. }
                | ExprPattern::Stride { .. },
                _,
            ) => false,
        }
    }
}

fn matches_field(config: &NamePattern, field: &NamePattern, found: &ConfigField) -> bool {
    let matches = |pattern: &NamePattern, name: &str| match pattern {
        NamePattern::Any => true,
        NamePattern::Text(text) => text == name,
        NamePattern::Symbol(_) => false,
    };
    matches(config, found.config().name()) && matches(field, found.name())
}

/// Equal as numbers, whatever their kinds; `True` is 1.
fn same_value(a: &Const, b: &Const) -> bool {
    match (a, b) {
        (Const::Real(a), Const::Real(b)) => a == b,
        (Const::Real(real), other) | (other, Const::Real(real)) => integer(other).is_some_and(|i| i as f64 == *real),
        (a, b) => integer(a) == integer(b),
    }
}

fn integer(value: &Const) -> Option<i64> {
    match value {
        Const::Int(value) => Some(*value),
        Const::Bool(value) => Some(i64::from(*value)),
        Const::Real(_) => None,
    }
}
