//! `rearrange_dim`: the dimensions of a buffer in another order.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::Refusal;
use crate::loop_ir::{Access, Expr, Proc};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter, Value};
use crate::schedule::operators::buffers::layout::Declared;

pub struct RearrangeDim;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "buf_cursor", kind: Kind::Alloc, default: None },
    Parameter { name: "permute_vector", kind: Kind::List(&Kind::Int, None), default: None },
];

impl Operator for RearrangeDim {
    fn name(&self) -> &'static str {
        "rearrange_dim"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "permute the dimensions of a buffer",
            text: "The new dimension `k` is the old dimension `permute_vector[k]`. The list must be a permutation. The \
                buffer must not be passed whole to a call, and the intervals of a window must keep their order among \
                themselves; calls that get windows are checked again, because strides change. Cursors to statements stay; \
                cursors to indices of the buffer die.",
            example: "\
@proc
def f(x: f32[4, 8]):
    t: f32[4, 8]
    for i in seq(0, 4):
        for j in seq(0, 8):
            t[i, j] = x[i, j]
            x[i, j] = t[i, j]

print(rearrange_dim(f, \"t\", [1, 0]))
",
            prints: "\
def f(x: f32[4, 8] @ DRAM):
    t: f32[8, 4] @ DRAM
    for i in seq(0, 4):
        for j in seq(0, 8):
            t[j, i] = x[i, j]
            x[i, j] = t[j, i]
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let declared = Declared::find(proc, arguments, "buf_cursor")?;
        let order = permutation(arguments, declared.ty.rank())?;
        declared.refuse_strides(proc, arguments)?;
        let element = |idx: &[Expr]| Ok(permuted(idx, &order));
        let window = |idx: &[Access]| {
            let intervals = order.iter().filter(|dim| matches!(idx.get(**dim), Some(Access::Interval { .. })));
            if !intervals.is_sorted() {
                let message = format!("a window of `{}` would have its dimensions swapped", declared.name);
                return Err(arguments.scheduling(message));
            }
            Ok(permuted(idx, &order))
        };
        let changes = declared.rewrite_indices(arguments, &element, &window)?;
        let mut editor = Editor::new(proc);
        changes.apply(&mut editor).map_err(|gone| arguments.bug(gone))?;
        declared.reshape(&mut editor, arguments, permuted(&declared.ty.shape, &order))?;
        let questions = declared.call_questions();
        let obligation = match questions.is_empty() {
            true => Obligation::ByConstruction("all indices are permuted alike"),
            false => Obligation::Proven(questions),
        };
        Ok(Proposal::same(editor, obligation))
    }
}

fn permuted<T: Clone>(list: &[T], order: &[usize]) -> Vec<T> {
    order.iter().filter_map(|dim| list.get(*dim).cloned()).collect()
}

fn permutation(arguments: &Arguments, rank: usize) -> Result<Vec<usize>, Refusal> {
    let wrong = || arguments.argument(format!("`permute_vector` must be a permutation of 0 to {}", rank.max(1) - 1));
    let order: Vec<usize> = arguments
        .list("permute_vector")?
        .iter()
        .map(|value| match value {
            Value::Int(dim) => usize::try_from(*dim).map_err(|_| wrong()),
            _ => Err(wrong()),
        })
        .collect::<Result<_, _>>()?;
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if rank == 0 || sorted != (0..rank).collect::<Vec<_>>() {
        return Err(wrong());
    }
    Ok(order)
}
