//! `autolift_alloc`: an allocation moves out of loops and gets a dimension for each that its values depend on.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, BlockPlace, GapPlace, Path};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Access, Block, Expr, LoopMode, Proc, StmtKind, build, visit};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Default, Help, Kind, Operator, Parameter, Value};
use crate::schedule::operators::buffers::layout::Declared;
use crate::schedule::operators::buffers::uses::{Changes, UseKind, everything};
use crate::symbol::Sym;

pub struct AutoliftAlloc;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "alloc_cursor", kind: Kind::Alloc, default: None },
    Parameter { name: "n_lifts", kind: Kind::PositiveInt, default: Some(Default::Int(1)) },
    Parameter { name: "mode", kind: Kind::Word(&["row", "col"]), default: Some(Default::Text("row")) },
    Parameter { name: "size", kind: Kind::Optional(&Kind::PositiveInt), default: Some(Default::None) },
    Parameter { name: "keep_dims", kind: Kind::Bool, default: Some(Default::Bool(false)) },
];

impl Operator for AutoliftAlloc {
    fn name(&self) -> &'static str {
        "autolift_alloc"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "lift an allocation and keep one copy for each iteration",
            text: "Moves the allocation out of `n_lifts` loops or branches, as `lift_alloc` does. With `keep_dims = True` \
                every loop that it leaves and whose iterator its contents depend on becomes a dimension: outermost in \
                mode `row`, innermost in mode `col`, with the loop's upper bound as extent (one more where that may be \
                0), or `size`. All accesses must stay inside, and `par` loops that it leaves must keep independent \
                iterations. The cursor follows the allocation.",
            example: "\
@proc
def f(x: f32[8, 4]):
    for i in seq(0, 8):
        for j in seq(0, 4):
            t: f32
            t = x[i, j]
            x[i, j] = t + t

print(autolift_alloc(f, \"t\", n_lifts = 2, keep_dims = True))
",
            prints: "\
def f(x: f32[8, 4] @ DRAM):
    t: f32[8, 4] @ DRAM
    for i in seq(0, 8):
        for j in seq(0, 4):
            t[i, j] = x[i, j]
            x[i, j] = t[i, j] + t[i, j]
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let declared = Declared::find(proc, arguments, "alloc_cursor")?;
        let left = Left::find(proc, arguments, &declared)?;
        let mut dims = Vec::new();
        if arguments.bool("keep_dims")? {
            let depends = dependencies(&path::block(proc, &declared.scope).unwrap_or_default(), &declared.name);
            for (iter, hi) in left.loops.iter().filter(|(iter, _)| depends.contains(iter)) {
                let runs = |hi: &Expr| surely_positive(proc, &left.target, hi, solver);
                dims.push((build::index(iter), extent(arguments, iter, hi, runs)?));
            }
        }
        // Loops were met from the inside out.
        let row = arguments.text("mode")? == "row";
        if row {
            dims.reverse();
        }
        let mut shape: Vec<Expr> = dims.iter().map(|(_, extent)| extent.clone()).collect();
        shape = around(row, &shape, &declared.ty.shape);
        if let Some(iter) =
            left.loops.iter().map(|(iter, _)| iter).find(|iter| shape.iter().any(|e| visit::mentions(e, iter)))
        {
            let message = format!("the shape of `{}` would depend on the loop `{iter}` that it leaves", declared.name);
            return Err(arguments.scheduling(message));
        }
        let indices: Vec<Expr> = dims.into_iter().map(|(index, _)| index).collect();
        let mut editor = Editor::new(proc);
        if !indices.is_empty() {
            // Outer dimensions leave the strides of the others as they are.
            if !row {
                declared.refuse_strides(proc, arguments)?;
            }
            indexed(arguments, &declared, row, &indices)?.apply(&mut editor).map_err(|gone| arguments.bug(gone))?;
            declared.reshape(&mut editor, arguments, shape.clone())?;
        }
        let place = BlockPlace::of_statement(&declared.at).ok_or_else(|| arguments.argument("not a statement"))?;
        let gap = GapPlace { anchor: left.target.clone(), side: path::Side::Before };
        editor.move_block(&place, &gap).map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(editor, Obligation::Proven(questions(&declared, &left, &shape, !indices.is_empty()))))
    }
}

/// The scopes that the allocation leaves.
struct Left {
    /// The statement before which it goes.
    target: Path,
    /// Iterators and upper bounds, from the inside out.
    loops: Vec<(Sym, Expr)>,
    parallel: Vec<Path>,
}

impl Left {
    fn find(proc: &Proc, arguments: &Arguments, declared: &Declared) -> Result<Self, Refusal> {
        let lifts = arguments.int("n_lifts")?;
        let mut left = Left { target: declared.at.clone(), loops: Vec::new(), parallel: Vec::new() };
        for lift in 0..lifts {
            let scope = left.target.parent().filter(|parent| !parent.0.is_empty());
            let Some((scope, stmt)) = scope.and_then(|scope| path::stmt(proc, &scope).map(|stmt| (scope, stmt))) else {
                let message = format!("only {lift} scopes are around `{}`, so it cannot leave {lifts}", declared.name);
                return Err(arguments.scheduling(message));
            };
            if let StmtKind::For { iter, hi, mode, .. } = &stmt.kind {
                left.loops.push((iter.clone(), hi.clone()));
                if *mode == LoopMode::Par {
                    left.parallel.push(scope.clone());
                }
            }
            left.target = scope;
        }
        Ok(left)
    }
}

fn questions(declared: &Declared, left: &Left, shape: &[Expr], reshaped: bool) -> Vec<Question> {
    let mut questions = declared.allocated_outside(&left.target, shape);
    if reshaped {
        questions.push(declared.in_bounds());
        let under = left.target.parent().unwrap_or_default();
        if declared.is_shared() {
            questions.push(Question::CallsValid { side: Side::After, under });
        }
    }
    for scope in &left.parallel {
        // The allocation now stands before the outermost scope, which moved one on.
        let rest = scope.0.get(left.target.0.len()..).unwrap_or_default();
        let moved = left.target.sibling(1).map(|next| next.join(rest)).unwrap_or_default();
        questions.push(Question::IndependentIterations { side: Side::After, scope: moved });
    }
    questions
}

/// Whether the upper bound of a loop is positive where the allocation goes.
fn surely_positive(proc: &Proc, target: &Path, hi: &Expr, solver: &mut Solver) -> bool {
    let cond = build::less(build::int(0), hi.clone());
    Question::Holds { side: Side::Before, at: target.clone(), cond, what: String::new() }.holds(proc, proc, solver)
}

/// The extent of the dimension that a loop becomes. A loop that may have no iteration gives one element more: extents are positive.
fn extent(
    arguments: &Arguments,
    iter: &Sym,
    hi: &Expr,
    surely_positive: impl FnOnce(&Expr) -> bool,
) -> Result<Expr, Refusal> {
    let Value::Int(size) = arguments.get("size")? else {
        return Ok(match build::int_value(hi).is_some() || surely_positive(hi) {
            true => hi.clone(),
            false => build::add(hi.clone(), build::int(1)),
        });
    };
    match build::int_value(hi) {
        Some(hi) if hi > *size => {
            Err(arguments.scheduling(format!("loop `{iter}` runs up to {hi}, which is more than {size}")))
        }
        Some(_) | None => Ok(build::int(*size)),
    }
}

fn around<T: Clone>(row: bool, new: &[T], old: &[T]) -> Vec<T> {
    let (first, second) = if row { (new, old) } else { (old, new) };
    [first, second].concat()
}

/// Every use with the iterators as further indices.
fn indexed(arguments: &Arguments, declared: &Declared, row: bool, new: &[Expr]) -> Result<Changes, Refusal> {
    let name = &declared.name;
    let points: Vec<Access> = new.iter().cloned().map(Access::Point).collect();
    let mut changes = Changes::default();
    for one in &declared.uses {
        match &one.kind {
            UseKind::Read { at, idx } => changes.expr(at, build::element(name, around(row, new, idx))),
            UseKind::Write { idx, .. } => changes.target(&one.stmt, name, around(row, new, idx)),
            UseKind::Window { at, idx } => changes.expr(at, build::window(name, around(row, &points, idx))),
            UseKind::Whole { .. } if declared.ty.rank() == 0 => {
                let message = format!("`{name}` is passed to a call by name, and an element of a buffer cannot be");
                return Err(arguments.scheduling(message));
            }
            UseKind::Whole { at } => {
                changes.expr(at, build::window(name, around(row, &points, &everything(&declared.ty.shape))));
            }
            UseKind::Stride { .. } => {
                return Err(arguments.scheduling(format!("the code asks for a stride of `{name}`, which would change")));
            }
        }
    }
    Ok(changes)
}

/// Every name that the contents of a buffer may depend on in a block: through values, indices, bounds and conditions.
fn dependencies(block: &Block, buffer: &Sym) -> BTreeSet<Sym> {
    let mut found = BTreeSet::from([buffer.clone()]);
    loop {
        let before = found.len();
        collect(block, &mut Vec::new(), &mut found);
        if found.len() == before {
            return found;
        }
    }
}

fn collect(block: &Block, control: &mut Vec<Expr>, found: &mut BTreeSet<Sym>) {
    for stmt in block {
        let reached = match &stmt.kind {
            StmtKind::Assign { name, .. } | StmtKind::Reduce { name, .. } | StmtKind::Window { name, .. } => {
                found.contains(name)
            }
            StmtKind::Call { args, .. } => args.iter().filter_map(visit::named).any(|name| found.contains(name)),
            StmtKind::For { lo, hi, body, .. } => {
                control.extend([lo.clone(), hi.clone()]);
                collect(body, control, found);
                control.truncate(control.len().saturating_sub(2));
                false
            }
            StmtKind::If { cond, body, orelse } => {
                control.push(cond.clone());
                collect(body, control, found);
                collect(orelse, control, found);
                control.pop();
                false
            }
            StmtKind::Pass | StmtKind::Alloc { .. } | StmtKind::WriteConfig { .. } => false,
        };
        if reached {
            visit::each_own_expr(stmt, &mut |expr| visit::expr_symbols(expr, found));
            control.iter().for_each(|expr| visit::expr_symbols(expr, found));
        }
    }
}
