//! `bind_expr`: a value gets a name.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::path::{self, Path, Step};
use crate::cursor::{Editor, Place, forward};
use crate::diagnostic::Refusal;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Block, DataType, Expr, ExprKind, NameFilter, Proc, StmtKind, Ty, build, visit};
use crate::schedule::Returned;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Matches, Operator, Parameter};
use crate::schedule::operators::buffers::touches;
use crate::schedule::parallel;
use crate::schedule::reads::precisions;
use crate::schedule::{conversions, divisions};
use crate::source::Span;
use crate::symbol::Sym;

pub struct BindExpr;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "expr_cursors", kind: Kind::Exprs(Matches::First), default: None },
    Parameter { name: "new_name", kind: Kind::Name, default: None },
];

impl Operator for BindExpr {
    fn name(&self) -> &'static str {
        "bind_expr"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "compute an expression once and read the result instead",
            text: "Puts `new_name: T @ DRAM` and `new_name = e` before the first statement that is given (before the \
                statement around all of them, where there are several) and reads `new_name` there. Expressions that differ \
                from the first one are left alone; a pattern stands for its first match, `p.find(pattern, many = True)` for all. `e` must not use names that are bound between the new assignment and \
                the places, and must have the same value at all of them. Statements keep their cursors.",
            example: "\
@proc
def f(x: f32[8], y: f32[8]):
    for i in seq(0, 8):
        y[i] = x[i] * x[i]

print(bind_expr(f, f.find(\"x[_]\", many = True), \"t\"))
",
            prints: "\
def f(x: f32[8] @ DRAM, y: f32[8] @ DRAM):
    for i in seq(0, 8):
        t: f32 @ DRAM
        t = x[i]
        y[i] = t * t
",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("alloc", "the allocation of the new scalar"),
            ("assign", "the assignment to it"),
            ("reads", "the expressions that now read it"),
        ]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let paths = arguments.paths("expr_cursors")?;
        let first = *paths.first().ok_or_else(|| arguments.argument("no expression is given"))?;
        let bound = path::expr(proc, first).ok_or_else(|| arguments.argument("the cursor points to no expression"))?;
        if bound.ty != Ty::Data || matches!(bound.kind, ExprKind::Window { .. }) {
            return Err(arguments.argument("only data expressions can be bound"));
        }
        let places: Vec<Path> = equal_places(proc, &paths, bound);
        let anchor = anchor(&places).ok_or_else(|| arguments.argument("an expression belongs to no statement"))?;
        check_names(proc, arguments, &anchor, bound)?;
        let own = precision(proc, arguments, bound, first)?;
        let precision = conversions::precision_of_name(proc, &places, bound, own);
        let mut questions = Vec::new();
        for place in &places {
            let stmt = place.statement().ok_or_else(|| arguments.argument("an expression belongs to no statement"))?;
            check_argument(proc, arguments, &stmt, place, bound)?;
            if precision == own {
                conversions::refuse_other_arithmetic(proc, place, bound, precision, arguments)?;
                conversions::refuse_narrowing(proc, place, bound, precision, arguments)?;
            }
            if stmt != anchor {
                let exprs = vec![bound.clone()];
                questions.push(Question::Unchanged { side: Side::Before, from: anchor.clone(), to: stmt, exprs });
            }
        }
        // Only what already stands at the anchor is sure to be computed there.
        let stands =
            |place: &Path| place.statement().as_ref() == Some(&anchor) && divisions::surely_computed(proc, place);
        if !places.iter().any(stands) {
            divisions::refuse_early(bound, precision, arguments)?;
        }
        if questions.iter().any(|question| matches!(question, Question::Unchanged { .. })) {
            let mut used = BTreeSet::new();
            visit::expr_symbols(bound, &mut used);
            let declarations = Declarations::of(proc);
            let roots: BTreeSet<Sym> = used.iter().filter_map(|name| declarations.root(name)).collect();
            questions.extend(roots.into_iter().map(|buffer| Question::BufferInBounds { side: Side::After, buffer }));
            questions.extend(parallel::around(proc, &anchor));
        }
        let name = Sym::new(arguments.text("new_name")?);
        let read = build::element(&name, Vec::new());
        let mut editor = Editor::new(proc);
        let replaced = places.iter().map(|place| (place.clone(), read.clone())).collect();
        editor.replace_exprs(replaced).map_err(|gone| arguments.bug(gone))?;
        let ty = DataType::scalar(precision);
        let alloc = StmtKind::Alloc { name: name.clone(), ty, mem: Memory::dram() };
        let assign = StmtKind::Assign { name, idx: Vec::new(), rhs: bound.clone() };
        let new = [alloc, assign].map(|kind| build::stmt(kind, &Span::none())).to_vec();
        let (parent, orelse, at) = anchor.list_position().ok_or_else(|| arguments.argument("not a statement"))?;
        editor.insert_at(&parent, orelse, at, new.into()).map_err(|gone| arguments.bug(gone))?;
        let obligation = match questions.is_empty() {
            true => Obligation::ByConstruction("the value is computed just before the statement that used it"),
            false => Obligation::Proven(questions),
        };
        let reads = places.iter().filter_map(|at| forward(&Place::Node(at.clone()), editor.steps())).collect();
        let results = vec![Returned::node(&anchor), Returned::optional(anchor.sibling(1)), Returned::Many(reads)];
        Ok(Proposal::same(editor, obligation).returning(results))
    }
}

/// The given places that hold the same expression (same symbols, not merely the same text), without duplicates.
fn equal_places(proc: &Proc, paths: &[&Path], bound: &Expr) -> Vec<Path> {
    let mut places: Vec<Path> = Vec::new();
    for at in paths {
        // A literal of an index is written as one of data is.
        let same = path::expr(proc, at).is_some_and(|found| found == bound && found.ty == bound.ty);
        if same && !places.contains(at) {
            places.push((*at).clone());
        }
    }
    places
}

/// The statement before which the value is computed: that of the only place, or the one in the innermost list that
/// holds all places, at or around the earliest.
fn anchor(places: &[Path]) -> Option<Path> {
    let statements: Vec<Path> = places.iter().map(Path::statement).collect::<Option<_>>()?;
    let first = statements.first()?;
    let mut common = first.0.len();
    for other in &statements {
        let shared = first.0.iter().zip(&other.0).take_while(|(a, b)| a == b).count();
        // One step further is the statement in the common list, unless both are one statement.
        let step = match (first.0.get(shared), other.0.get(shared)) {
            (None, None) => shared,
            // Paths that part between the branches of one `if`: compute before the `if`.
            (Some(Step::Body(_)), Some(Step::Orelse(_))) | (Some(Step::Orelse(_)), Some(Step::Body(_))) => shared,
            _ => shared + 1,
        };
        common = common.min(step);
    }
    let anchor = Path(first.0.get(..common)?.to_vec());
    // The earliest sibling that leads to a place.
    let parent = anchor.parent()?;
    let (orelse, _) = anchor.last()?.in_list()?;
    let earliest = statements
        .iter()
        .filter_map(|at| at.0.get(common - 1).and_then(|step| step.in_list()))
        .filter(|(other, _)| *other == orelse)
        .map(|(_, at)| at)
        .min()?;
    Some(parent.child(Step::statement(orelse, earliest)))
}

/// What the expression mentions must exist at the anchor.
fn check_names(proc: &Proc, arguments: &Arguments, anchor: &Path, bound: &Expr) -> Result<(), Refusal> {
    let (parent, orelse, at) = anchor.list_position().ok_or_else(|| arguments.argument("not a statement"))?;
    let list = path::list(proc, &parent, orelse).unwrap_or(Block::none());
    let mut used = BTreeSet::new();
    visit::expr_symbols(bound, &mut used);
    used.retain(|name| proc.args.iter().all(|arg| arg.name != *name));
    let wanted = NameFilter::of(&used);
    let mut bound_later = BTreeSet::new();
    let later = list.part(at..).unwrap_or_default();
    visit::each_stmt_where(&later, &|summary| summary.bound.meets(wanted), &mut |stmt| {
        bound_later.extend(visit::bound_by(stmt).filter(|name| used.contains(*name)).cloned());
    });
    match bound_later.first() {
        Some(name) => Err(arguments.scheduling(format!(
            "`{name}` does not exist yet where the value would be computed; bind the expressions one by one"
        ))),
        None => Ok(()),
    }
}

/// A scalar is passed by reference: binding it is only right when the callee does not write it.
fn check_argument(proc: &Proc, arguments: &Arguments, stmt: &Path, place: &Path, bound: &Expr) -> Result<(), Refusal> {
    let (Some(StmtKind::Call { callee, .. }), Some(Step::Arg(position)), true) =
        (path::stmt(proc, stmt).map(|stmt| &stmt.kind), place.last(), place.0.len() == stmt.0.len() + 1)
    else {
        return Ok(());
    };
    let scalar = visit::named(bound).and_then(|name| Declarations::of(proc).shape(name)).is_some_and(|s| s.is_empty());
    if !scalar || touches::by_callee(callee, position).writes {
        return Err(arguments.scheduling(format!("`{}` takes that argument by reference", callee.name)));
    }
    Ok(())
}

/// The one precision of all operands; that of the arithmetic around, where only literals are bound.
fn precision(proc: &Proc, arguments: &Arguments, bound: &Expr, place: &Path) -> Result<Precision, Refusal> {
    let found = precisions(bound, &Declarations::of(proc));
    let concrete: Vec<Precision> = found.iter().copied().filter(|precision| *precision != Precision::R).collect();
    match concrete.as_slice() {
        [] if !found.is_empty() => Ok(Precision::R),
        // `R` is what a literal alone is, so that it can still be set.
        [] => Ok(conversions::computed_in(proc, place).filter(|own| *own != Precision::F32).unwrap_or(Precision::R)),
        [one] => Ok(*one),
        [one, other, ..] => {
            let message = format!("the operands have the precisions `{}` and `{}`", one.word(), other.word());
            Err(arguments.scheduling(message))
        }
    }
}
