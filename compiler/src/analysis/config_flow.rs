//! How values of configuration fields change along a proc: what holds after a statement, and at the start of iterations.
//!
//! An analysis of one place keeps a field whose value it cannot follow as a fresh variable, with what is known about it
//! ([`Unknowns::Fresh`]). An analysis that compares several runs of the same code must not, since the variable would stand
//! for one value in all of them: there such a field is simply not known ([`Unknowns::Dropped`]).

use std::collections::BTreeSet;

use crate::analysis::callees;
use crate::analysis::formula::Formula;
use crate::analysis::lift;
use crate::analysis::linear::Var;
use crate::hardware::config::ConfigField;
use crate::loop_ir::configuration::{self, ConfigState, Touched};
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::substitute::{map_expr, substitute};
use crate::loop_ir::{ArgType, BinaryOp, Block, Expr, ExprKind, Proc, Stmt, StmtKind, Ty, build, visit};
use crate::symbol::Sym;

/// What becomes of a value that cannot be followed.
pub(crate) enum Unknowns<'a> {
    /// A fresh variable; facts about it are added here.
    Fresh(&'a mut Vec<Formula>),
    Dropped,
}

impl Unknowns<'_> {
    /// Some value of a field.
    fn value(&self, field: &ConfigField) -> Option<Expr> {
        match (self, configuration::control(field)) {
            (Unknowns::Fresh(_), Some(control)) => Some(build::control(&field.symbol().renewed(), control)),
            (Unknowns::Fresh(_) | Unknowns::Dropped, _) => None,
        }
    }

    fn learn(&mut self, formula: Option<Formula>) {
        if let (Unknowns::Fresh(facts), Some(formula)) = (self, formula) {
            facts.push(formula);
        }
    }
}

/// Takes the state over a statement. Declares what it binds.
pub(crate) fn after(stmt: &Stmt, scope: &mut Declarations, unknowns: &mut Unknowns<'_>) {
    scope.add_stmt(stmt);
    if !stmt.config.writes {
        return drop_overwritten(&Block::one(stmt.clone()), scope);
    }
    match &stmt.kind {
        StmtKind::WriteConfig { field, rhs } => {
            let value = stored(field, rhs, scope).or_else(|| unknowns.value(field));
            scope.config.set(field, value);
        }
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::Alloc { .. }
        | StmtKind::Window { .. } => {}
        StmtKind::Call { callee, args } => {
            let values = after_call(callee, args, scope, unknowns);
            drop_overwritten(&Block::one(stmt.clone()), scope);
            values.into_iter().for_each(|(field, value)| scope.config.set(&field, value));
        }
        StmtKind::If { cond, body, orelse } => {
            let start = scope.config.clone();
            // What decides is read before either branch.
            let decided = lift::boolean(cond, scope);
            block(body, scope, unknowns);
            let one = std::mem::replace(&mut scope.config, start);
            block(orelse, scope, unknowns);
            let bound = visit::bound_symbols(body).into_iter().chain(visit::bound_symbols(orelse)).collect();
            join(decided.as_ref(), one, &bound, &touched(stmt), scope, unknowns);
        }
        StmtKind::For { iter, lo, hi, body, .. } => after_loop(stmt, (iter, lo, hi), body, scope, unknowns),
    }
}

fn block(block: &Block, scope: &mut Declarations, unknowns: &mut Unknowns<'_>) {
    for stmt in block {
        after(stmt, scope, unknowns);
    }
}

/// The fields that a statement may write.
fn touched(stmt: &Stmt) -> BTreeSet<ConfigField> {
    if !stmt.config.writes {
        return BTreeSet::new();
    }
    Touched::by_block(&Block::one(stmt.clone())).writes
}

/// The value that a field holds after a write.
///
/// Storing converts, so data that comes out of a field is the value that went in only where no precision lies between: a copy
/// from field to field of one precision. Arithmetic on fields is not followed.
pub(crate) fn stored(field: &ConfigField, rhs: &Expr, scope: &Declarations) -> Option<Expr> {
    let followed = match &rhs.kind {
        ExprKind::ReadConfig(from) => from.ty() == field.ty() || rhs.ty != Ty::Data,
        _ => rhs.ty != Ty::Data || !reads_data_field(rhs),
    };
    followed.then(|| value_of(rhs, scope)).flatten()
}

fn reads_data_field(value: &Expr) -> bool {
    let mut found = false;
    visit::each_expr(value, &mut |node| {
        found |= node.ty == Ty::Data && matches!(node.kind, ExprKind::ReadConfig(_));
    });
    found
}

/// The value of a right side where control stands: fields by their values, strides of windows by those of their buffers.
pub(crate) fn value_of(rhs: &Expr, scope: &Declarations) -> Option<Expr> {
    let resolved = scope.config.resolve(rhs)?;
    Some(map_expr(&resolved, &mut |node| match &node.kind {
        ExprKind::Stride { name, dim } => {
            let alias = scope.alias(name)?;
            Some(build::stride(&alias.root, alias.root_dim(*dim)?))
        }
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. } => None,
    }))
}

fn reads_root(value: &Expr, root: &Sym, scope: &Declarations) -> bool {
    let mut found = false;
    visit::each_expr(value, &mut |node| {
        if let ExprKind::Read { name, .. } = &node.kind
            && node.ty == Ty::Data
        {
            found |= name == root || scope.root(name).as_ref() == Some(root);
        }
    });
    found
}

/// Values that mention what ends here are values of before.
fn leave(bound: &BTreeSet<Sym>, config: &mut ConfigState) {
    config.forget(&mut |value| {
        let mut symbols = BTreeSet::new();
        visit::expr_symbols(value, &mut symbols);
        symbols.iter().any(|symbol| bound.contains(symbol))
    });
}

/// The state after both branches: `one` after the first, that of `scope` after the second; `decided` says which one ran.
fn join(
    decided: Option<&Formula>,
    mut one: ConfigState,
    bound: &BTreeSet<Sym>,
    fields: &BTreeSet<ConfigField>,
    scope: &mut Declarations,
    unknowns: &mut Unknowns<'_>,
) {
    leave(bound, &mut one);
    leave(bound, &mut scope.config);
    let two = std::mem::take(&mut scope.config);
    let mut merged = two.clone();
    // Copies of buffers can go stale in either branch, whatever field they are in.
    merged.forget_as(&one);
    for field in fields {
        let (a, b) = (one.value(field), two.value(field));
        if a == b && a.is_some() {
            merged.set(field, a);
            continue;
        }
        let value = unknowns.value(field);
        if let Some(value) = &value {
            for (side, other) in [(a, decided.and_then(Formula::negated)), (b, decided.cloned())] {
                let same = side.and_then(|side| equal(value, &side, scope));
                unknowns.learn(other.zip(same).map(|(other, same)| Formula::or(vec![other, same])));
            }
        }
        merged.set(field, value);
    }
    scope.config = merged;
}

/// Whether a value is taken from a buffer.
fn visit_data(value: &Expr) -> bool {
    let mut found = false;
    visit::each_expr(value, &mut |node| {
        found |= node.ty == Ty::Data && matches!(node.kind, ExprKind::Read { .. });
    });
    found
}

/// `value == other` as a formula. Both are values, so that the state does not matter.
pub(crate) fn equal(value: &Expr, other: &Expr, scope: &Declarations) -> Option<Formula> {
    if value.ty == Ty::Data || other.ty == Ty::Data {
        return (value == other).then_some(Formula::True);
    }
    lift::boolean(&build::binary(BinaryOp::Eq, value.clone(), other.clone()), scope)
}

/// The state at the start of an arbitrary iteration. Declares the iterator.
pub(crate) fn enter_loop(stmt: &Stmt, scope: &mut Declarations, unknowns: &mut Unknowns<'_>) {
    scope.add_stmt(stmt);
    if let StmtKind::For { iter, lo, body, .. } = &stmt.kind {
        if !stmt.config.writes {
            return drop_overwritten(body, scope);
        }
        let flow = LoopFlow::of(stmt, iter, body, scope, unknowns);
        let before = scope.config.clone();
        // The bounds were read before the first iteration.
        let low = lift::index(lo, scope);
        scope.config = flow.start.clone();
        let previous = before_it(&build::index(iter));
        flow.learn(iter, Some(&previous), scope, unknowns);
        for (field, left) in &flow.varying {
            let value = unknowns.value(field);
            let last = left.as_ref().and_then(|left| in_iteration(left, iter, Some(&previous)));
            if let (Some(value), Some(last)) = (&value, &last) {
                let index = lift::index(&build::index(iter), scope);
                let first = low.as_ref().zip(index).and_then(|(lo, at)| Formula::at_most(&at, lo));
                let later = first.as_ref().and_then(Formula::negated);
                let stored = equal(value, last, scope);
                unknowns.learn(first.zip(stored).map(|(first, stored)| Formula::or(vec![first, stored])));
                let kept = before.value(field).and_then(|old| equal(value, &old, scope));
                unknowns.learn(later.zip(kept).map(|(later, kept)| Formula::or(vec![later, kept])));
            }
            scope.config.set(field, value);
        }
    }
}

fn after_loop(
    stmt: &Stmt,
    (iter, lo, hi): (&Sym, &Expr, &Expr),
    body: &Block,
    scope: &mut Declarations,
    unknowns: &mut Unknowns<'_>,
) {
    let (low, high) = (lift::index(lo, scope), lift::index(hi, scope));
    let runs = low.zip(high).and_then(|(lo, hi)| Formula::below(&lo, &hi));
    let surely = surely_runs(lo, hi);
    let before = scope.config.clone();
    let end = value_of(hi, scope).map(|hi| before_it(&hi));
    let flow = LoopFlow::of(stmt, iter, body, scope, unknowns);
    scope.config = flow.start.clone();
    flow.learn(iter, end.as_ref(), scope, unknowns);
    for (field, left) in &flow.varying {
        let last = left.as_ref().and_then(|left| in_iteration(left, iter, end.as_ref()));
        if surely && last.is_some() {
            scope.config.set(field, last);
            continue;
        }
        let value = unknowns.value(field);
        if let (Some(value), Some(last)) = (&value, &last) {
            let not = runs.as_ref().and_then(Formula::negated);
            let stored = equal(value, last, scope);
            unknowns.learn(not.zip(stored).map(|(not, stored)| Formula::or(vec![not, stored])));
            let kept = before.value(field).and_then(|old| equal(value, &old, scope));
            unknowns.learn(runs.clone().zip(kept).map(|(runs, kept)| Formula::or(vec![runs, kept])));
        }
        scope.config.set(field, value);
    }
}

/// Whether a loop runs at least once, as far as its bounds show by themselves.
fn surely_runs(lo: &Expr, hi: &Expr) -> bool {
    match (build::int_value(lo), build::int_value(hi)) {
        (Some(lo), Some(hi)) => lo < hi,
        (Some(lo), None) => lo <= 0 && hi.ty == Ty::SIZE && matches!(hi.kind, ExprKind::Read { .. }),
        (None, _) => false,
    }
}

fn before_it(index: &Expr) -> Expr {
    match build::int_value(index).and_then(|value| value.checked_sub(1)) {
        Some(value) => build::int(value),
        None => build::binary(BinaryOp::Sub, index.clone(), build::int(1)),
    }
}

/// A value that each iteration leaves, for the iteration `at`; `None` where it takes an iteration that has no value.
fn in_iteration(left: &Expr, iter: &Sym, at: Option<&Expr>) -> Option<Expr> {
    let mut symbols = BTreeSet::new();
    visit::expr_symbols(left, &mut symbols);
    match symbols.contains(iter) {
        false => Some(left.clone()),
        true => at.map(|at| substitute(left, &[(iter.clone(), at.clone())].into_iter().collect())),
    }
}

/// How many loops inside of a loop are followed. Each is gone through a few times for each time of the loop around it, so that the
/// work doubles with every level; outside of deeper nests nothing is known of the fields that they write.
const FOLLOWED_LOOPS: usize = 6;

/// How deep loops that write fields are nested in a block.
fn nested_writes(block: &Block) -> usize {
    let writing = block.iter().filter(|stmt| stmt.config.writes);
    let depths = writing.map(|stmt| {
        let own = usize::from(matches!(stmt.kind, StmtKind::For { .. }));
        own + visit::inner_lists(stmt).into_iter().map(nested_writes).max().unwrap_or(0)
    });
    depths.max().unwrap_or(0)
}

/// What a loop does to the fields.
struct LoopFlow {
    /// The state at the start of every iteration; fields that iterations change are left as before the loop.
    start: ConfigState,
    /// The fields that iterations change, with the value that each iteration leaves, in terms of what stands outside of the
    /// loop and of its iterator.
    varying: Vec<(ConfigField, Option<Expr>)>,
    /// What is known of those values, in the same terms. It says what variables stand for, and so holds of an iteration that
    /// does not run too, of some values.
    known: Vec<Formula>,
}

impl LoopFlow {
    /// Starts from the guess that no iteration changes anything and takes back what does not hold, until all of it does.
    fn of(stmt: &Stmt, iter: &Sym, body: &Block, scope: &mut Declarations, unknowns: &Unknowns<'_>) -> LoopFlow {
        let fields = touched(stmt);
        let before = scope.config.clone();
        drop_overwritten(body, scope);
        let mut start = scope.config.clone();
        if nested_writes(body) > FOLLOWED_LOOPS {
            fields.iter().for_each(|field| start.set(field, None));
            scope.config = before;
            let varying = fields.into_iter().map(|field| (field, None)).collect();
            return LoopFlow { start, varying, known: Vec::new() };
        }
        let mut changed: BTreeSet<ConfigField> = BTreeSet::new();
        let bound: BTreeSet<Sym> = visit::bound_symbols(body).into_iter().chain([iter.clone()]).collect();
        loop {
            let guess = start.clone();
            scope.config = guess.clone();
            block(body, scope, &mut Unknowns::Dropped);
            let end = std::mem::take(&mut scope.config);
            let broken: Vec<&ConfigField> = fields
                .iter()
                .filter(|field| {
                    let (first, last) = (guess.value(field), end.value(field));
                    !changed.contains(*field) && (first.is_none() || first != last)
                })
                .collect();
            if broken.is_empty() {
                let last = last_iteration(&start, &changed, (iter, body, &bound), scope, unknowns);
                let (end, known) = last.unwrap_or((end, Vec::new()));
                let stale = |value: &Expr| {
                    let mut symbols = BTreeSet::new();
                    visit::expr_symbols(value, &mut symbols);
                    symbols.iter().any(|symbol| symbol != iter && bound.contains(symbol)) || visit_data(value)
                };
                let varying = changed
                    .iter()
                    .map(|field| (field.clone(), end.value(field).filter(|value| !stale(value))))
                    .collect();
                scope.config = before;
                return LoopFlow { start, varying, known };
            }
            for field in broken {
                changed.insert(field.clone());
                start.set(field, None);
            }
        }
    }

    /// Learns what is known of the values that the iteration `at` leaves.
    fn learn(&self, iter: &Sym, at: Option<&Expr>, scope: &Declarations, unknowns: &mut Unknowns<'_>) {
        let at = at.and_then(|at| lift::index(at, scope));
        for formula in &self.known {
            let there = match formula.mentions(iter) {
                false => Some(formula.clone()),
                true => at.as_ref().and_then(|at| {
                    formula.substitute(&|var| match var {
                        Var::Sym(symbol) if symbol == iter => Some(at.clone()),
                        Var::Sym(_) | Var::Stride(..) | Var::Quotient(_) => None,
                    })
                }),
            };
            unknowns.learn(there);
        }
    }
}

/// The state after the iteration `iter` that starts from an unknown one, with what is known of it; `None` where unknown
/// values have no variables.
fn last_iteration(
    start: &ConfigState,
    changed: &BTreeSet<ConfigField>,
    (iter, body, bound): (&Sym, &Block, &BTreeSet<Sym>),
    scope: &mut Declarations,
    unknowns: &Unknowns<'_>,
) -> Option<(ConfigState, Vec<Formula>)> {
    if changed.is_empty() || matches!(unknowns, Unknowns::Dropped) {
        return None;
    }
    scope.config = start.clone();
    for field in changed {
        scope.config.set(field, unknowns.value(field));
    }
    let mut learned = Vec::new();
    block(body, scope, &mut Unknowns::Fresh(&mut learned));
    // What speaks of variables of loops inside would be misread as speaking of others.
    learned.retain(|formula| !bound.iter().any(|symbol| symbol != iter && formula.mentions(symbol)));
    Some((std::mem::take(&mut scope.config), learned))
}

/// Values that were copied from a buffer are not known any more when the block may write the buffer.
fn drop_overwritten(block: &Block, scope: &mut Declarations) {
    let mut config = std::mem::take(&mut scope.config);
    if config.any(&mut |value| visit_data(value)) {
        let mut inner = scope.clone();
        inner.add_block(block);
        let mut roots = BTreeSet::new();
        written_roots(block, &inner, &mut roots);
        config.forget(&mut |value| roots.iter().any(|root| reads_root(value, root, &inner)));
    }
    scope.config = config;
}

/// The buffers that a block may write, calls included.
fn written_roots(block: &Block, scope: &Declarations, into: &mut BTreeSet<Sym>) {
    visit::each_stmt(block, &mut |stmt| {
        into.extend(visit::written_by(stmt).and_then(|name| scope.root(name)));
        if let StmtKind::Call { callee, args } = &stmt.kind {
            let written = written_formals(callee);
            for (_, arg) in callee.args.iter().zip(args).filter(|(formal, _)| written.contains(&formal.name)) {
                into.extend(callees::argument(arg, scope).map(|alias| alias.root));
            }
        }
    });
}

fn written_formals(callee: &Proc) -> BTreeSet<Sym> {
    let mut written = BTreeSet::new();
    written_roots(&callee.body, &Declarations::of(callee), &mut written);
    written
}

/// What a call leaves: the callee's writes, in terms of what the caller gave it.
fn after_call(
    callee: &Proc,
    args: &[Expr],
    scope: &Declarations,
    unknowns: &Unknowns<'_>,
) -> Vec<(ConfigField, Option<Expr>)> {
    left_by(callee)
        .into_iter()
        .map(|(field, value)| {
            let value = value.and_then(|value| instantiated(&value, callee, args, scope));
            let value = value.or_else(|| unknowns.value(&field));
            (field, value)
        })
        .collect()
}

/// The values of the fields that a procedure writes, when it returns, in terms of its parameters and the state on entry.
pub(crate) fn left_by(callee: &Proc) -> Vec<(ConfigField, Option<Expr>)> {
    let mut scope = Declarations::of_args(callee);
    block(&callee.body, &mut scope, &mut Unknowns::Dropped);
    leave(&visit::bound_symbols(&callee.body), &mut scope.config);
    Touched::by_block(&callee.body)
        .writes
        .into_iter()
        .map(|field| (field.clone(), scope.config.value(&field)))
        .collect()
}

/// A value of a callee's in terms of the caller's; `None` for one that cannot be said there.
pub(crate) fn instantiated(value: &Expr, callee: &Proc, args: &[Expr], scope: &Declarations) -> Option<Expr> {
    let mut known = true;
    let actual = |symbol: &Sym| callee.args.iter().zip(args).find(|(formal, _)| formal.name == *symbol);
    let result = map_expr(value, &mut |node| match &node.kind {
        ExprKind::Read { name, idx } => {
            let new = match actual(name) {
                Some((formal, actual)) => match &formal.ty {
                    ArgType::Control(_) => value_of(actual, scope),
                    // A scalar that the callee copied: it wrote it no more, or the copy would be forgotten.
                    ArgType::Data(_) if idx.is_empty() => match &actual.kind {
                        ExprKind::Read { .. } => value_of(actual, scope),
                        _ => None,
                    },
                    ArgType::Data(_) => None,
                },
                // Otherwise it is the value of a field on entry.
                None if idx.is_empty() => match scope.config.written(name) {
                    Some(value) => value.clone(),
                    None => return None,
                },
                None => None,
            };
            known &= new.is_some();
            new
        }
        ExprKind::Stride { name, dim } => {
            let new = actual(name).and_then(|(_, actual)| {
                let alias = callees::argument(actual, scope)?;
                Some(build::stride(&alias.root, alias.root_dim(*dim)?))
            });
            known &= new.is_some();
            new
        }
        ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. } => None,
    });
    known.then_some(result)
}
