//! `mult_dim`: two dimensions of a buffer become one.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::Refusal;
use crate::loop_ir::{Access, Expr, Proc, build};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::buffers::layout::Declared;

pub struct MultDim;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "alloc_cursor", kind: Kind::Alloc, default: None },
    Parameter { name: "hi_dim_idx", kind: Kind::Int, default: None },
    Parameter { name: "lo_dim_idx", kind: Kind::Int, default: None },
];

impl Operator for MultDim {
    fn name(&self) -> &'static str {
        "mult_dim"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "fold one dimension of a buffer into another",
            text: "Dimension `lo_dim_idx` must have a literal extent `c`. It disappears; dimension `hi_dim_idx` of extent \
                `n` gets the extent `c * n`, and indices `h` and `l` become `c * h + l`. The buffer must not be passed \
                whole to a call, and windows of it must be points in both dimensions. Cursors to statements stay; cursors \
                to indices of the buffer die.",
            example: "\
@proc
def f(n: size, x: f32[n, 4]):
    t: f32[n, 4]
    for i in seq(0, n):
        for j in seq(0, 4):
            t[i, j] = x[i, j]
            x[i, j] = t[i, j]

print(mult_dim(f, \"t\", 0, 1))
",
            prints: "\
def f(n: size, x: f32[n, 4] @ DRAM):
    t: f32[4 * n] @ DRAM
    for i in seq(0, n):
        for j in seq(0, 4):
            t[4 * i + j] = x[i, j]
            x[i, j] = t[4 * i + j]
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let declared = Declared::find(proc, arguments, "alloc_cursor")?;
        let hi = declared.dimension(arguments, arguments.int("hi_dim_idx")?)?;
        let lo = declared.dimension(arguments, arguments.int("lo_dim_idx")?)?;
        if hi == lo {
            return Err(arguments.argument("the two dimensions must differ"));
        }
        let Some(factor) = build::int_value(declared.extent(arguments, lo)?) else {
            return Err(arguments.scheduling(format!("dimension {lo} of `{}` has no literal extent", declared.name)));
        };
        declared.refuse_strides(proc, arguments)?;
        let element = |idx: &[Expr]| merged(idx, hi, lo, factor).ok_or_else(|| arguments.scheduling("wrong rank"));
        let window = |idx: &[Access]| {
            let points = [hi, lo].map(|dim| match idx.get(dim) {
                Some(Access::Point(point)) => Some(point.clone()),
                Some(Access::Interval { .. }) | None => None,
            });
            let [Some(high), Some(low)] = points else {
                let message = format!("a window of `{}` runs along dimension {hi} or {lo}", declared.name);
                return Err(arguments.scheduling(message));
            };
            let kept = idx.iter().enumerate().filter(|(at, _)| *at != lo);
            Ok(kept
                .map(|(at, access)| match at == hi {
                    true => Access::Point(joined(&high, &low, factor)),
                    false => access.clone(),
                })
                .collect())
        };
        let changes = declared.rewrite_indices(arguments, &element, &window)?;
        let high = declared.extent(arguments, hi)?;
        let product = match build::int_value(high).map(|high| high.checked_mul(factor)) {
            Some(Some(product)) => build::int(product),
            Some(None) => return Err(arguments.scheduling("the extent is too large")),
            None => build::mul(build::int(factor), high.clone()),
        };
        let mut shape = declared.ty.shape.clone();
        if let Some(slot) = shape.get_mut(hi) {
            *slot = product;
        }
        shape.remove(lo);
        let mut editor = Editor::new(proc);
        changes.apply(&mut editor).map_err(|gone| arguments.bug(gone))?;
        declared.reshape(&mut editor, arguments, shape)?;
        let questions = declared.call_questions();
        let obligation = match questions.is_empty() {
            true => Obligation::ByConstruction("in-bounds index pairs and products of one row length correspond"),
            false => Obligation::Proven(questions),
        };
        Ok(Proposal::same(editor, obligation))
    }
}

fn joined(high: &Expr, low: &Expr, factor: i64) -> Expr {
    build::sum(&build::mul(build::int(factor), high.clone()), low)
}

fn merged(idx: &[Expr], hi: usize, lo: usize, factor: i64) -> Option<Vec<Expr>> {
    let joined = joined(idx.get(hi)?, idx.get(lo)?, factor);
    let mut idx = idx.to_vec();
    *idx.get_mut(hi)? = joined;
    idx.remove(lo);
    Some(idx)
}
