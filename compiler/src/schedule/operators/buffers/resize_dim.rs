//! `resize_dim`: another extent for one dimension, by shifting or by folding.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::Refusal;
use crate::loop_ir::{Access, Expr, Proc, build};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Default, Help, Kind, Operator, Parameter};
use crate::schedule::operators::buffers::layout::{Declared, positive};
use crate::schedule::operators::buffers::uses::{Changes, UseKind, everything};

pub struct ResizeDim;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "buf_cursor", kind: Kind::Alloc, default: None },
    Parameter { name: "dim_idx", kind: Kind::Int, default: None },
    Parameter { name: "size", kind: Kind::NewExpr("buf_cursor"), default: None },
    Parameter { name: "offset", kind: Kind::NewExpr("buf_cursor"), default: None },
    Parameter { name: "fold", kind: Kind::Bool, default: Some(Default::Bool(false)) },
];

impl Operator for ResizeDim {
    fn name(&self) -> &'static str {
        "resize_dim"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "change the extent of one dimension of a buffer",
            text: "The dimension gets the extent `size`, and an index `e` in it becomes `e - offset`; all accesses must \
                stay inside. With `fold = True` the dimension becomes circular: `size` must be a literal, `e` becomes \
                `e % size`, `offset` is not used, and no access may go `size` or more below an earlier one, so that no \
                element is overwritten while it is needed; windows must be points in the dimension. Cursors to statements \
                stay; cursors to indices of the buffer die.",
            example: "\
@proc
def f(x: f32[16]):
    for i in seq(4, 8):
        t: f32[16]
        t[i] = x[i]
        x[i + 8] = t[i]

print(resize_dim(f, \"t\", 0, 4, 4))
",
            prints: "\
def f(x: f32[16] @ DRAM):
    for i in seq(4, 8):
        t: f32[4] @ DRAM
        t[i - 4] = x[i]
        x[i + 8] = t[i - 4]
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let declared = Declared::find(proc, arguments, "buf_cursor")?;
        let dim = declared.dimension(arguments, arguments.int("dim_idx")?)?;
        let (size, offset) = (arguments.expr("size")?, arguments.expr("offset")?);
        if !size.ty.is_indexable() || !offset.ty.is_indexable() {
            return Err(arguments.argument("`size` and `offset` must be index expressions"));
        }
        if offset.reads_config {
            return Err(arguments.scheduling("the offset would read configuration state, which may change"));
        }
        declared.refuse_strides(proc, arguments)?;
        let (changes, mut questions) = match arguments.bool("fold")? {
            true => folded(&declared, arguments, dim, size)?,
            false => shifted(&declared, arguments, dim, size, offset)?,
        };
        let mut shape = declared.ty.shape.clone();
        if let Some(slot) = shape.get_mut(dim) {
            *slot = size.clone();
        }
        let mut editor = Editor::new(proc);
        changes.apply(&mut editor).map_err(|gone| arguments.bug(gone))?;
        declared.reshape(&mut editor, arguments, shape)?;
        questions.extend(declared.call_questions());
        Ok(Proposal::same(editor, Obligation::Proven(questions)))
    }
}

fn folded(
    declared: &Declared,
    arguments: &Arguments,
    dim: usize,
    size: &Expr,
) -> Result<(Changes, Vec<Question>), Refusal> {
    let Some(literal) = build::int_value(size).filter(|size| *size > 0) else {
        return Err(arguments.argument("to fold, `size` must be a positive literal"));
    };
    let element = |idx: &[Expr]| Ok(at_dim(idx, dim, |e| build::modulo(e.clone(), literal)));
    let window = |idx: &[Access]| match idx.get(dim) {
        Some(Access::Interval { .. }) => {
            Err(arguments.scheduling(format!("a window of `{}` runs along the folded dimension", declared.name)))
        }
        Some(Access::Point(_)) | None => Ok(at_dim(idx, dim, |access| match access {
            Access::Point(e) => Access::Point(build::modulo(e.clone(), literal)),
            Access::Interval { .. } => access.clone(),
        })),
    };
    let changes = declared.rewrite_indices(arguments, &element, &window)?;
    let folds = Question::Folds {
        side: Side::Before,
        at: declared.at.clone(),
        buffer: declared.name.clone(),
        dim,
        size: literal,
    };
    Ok((changes, vec![folds]))
}

fn shifted(
    declared: &Declared,
    arguments: &Arguments,
    dim: usize,
    size: &Expr,
    offset: &Expr,
) -> Result<(Changes, Vec<Question>), Refusal> {
    let name = &declared.name;
    let element = |idx: &[Expr]| at_dim(idx, dim, |e| build::difference(e, offset));
    let window = |idx: &[Access]| {
        at_dim(idx, dim, |access| match access {
            Access::Point(e) => Access::Point(build::difference(e, offset)),
            Access::Interval { lo, hi } => {
                Access::Interval { lo: build::difference(lo, offset), hi: build::difference(hi, offset) }
            }
        })
    };
    let mut changes = Changes::default();
    for one in &declared.uses {
        match &one.kind {
            UseKind::Read { at, idx } => changes.expr(at, build::element(name, element(idx))),
            UseKind::Write { idx, .. } => changes.target(&one.stmt, name, element(idx)),
            UseKind::Window { at, idx } => changes.expr(at, build::window(name, window(idx))),
            // The callee goes on seeing the old extent, now as a window.
            UseKind::Whole { at } => changes.expr(at, build::window(name, window(&everything(&declared.ty.shape)))),
            UseKind::Stride { .. } => return Err(arguments.scheduling(format!("a stride of `{name}` would change"))),
        }
    }
    Ok((changes, vec![positive(&declared.at, size, "the new extent is positive"), declared.in_bounds()]))
}

fn at_dim<T: Clone>(idx: &[T], dim: usize, f: impl Fn(&T) -> T) -> Vec<T> {
    idx.iter().enumerate().map(|(at, item)| if at == dim { f(item) } else { item.clone() }).collect()
}
