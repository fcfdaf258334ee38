//! `divide_dim`: one dimension of a buffer becomes two.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::Refusal;
use crate::loop_ir::{Access, BinaryOp, Expr, Proc, build};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::buffers::layout::Declared;

pub struct DivideDim;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "alloc_cursor", kind: Kind::Alloc, default: None },
    Parameter { name: "dim_idx", kind: Kind::Int, default: None },
    Parameter { name: "quotient", kind: Kind::PositiveInt, default: None },
];

impl Operator for DivideDim {
    fn name(&self) -> &'static str {
        "divide_dim"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "split one dimension of a buffer in two",
            text: "Turns dimension `dim_idx` of extent `n` into two of extents `n / quotient` and `quotient`; an index `e` \
                becomes `e / quotient, e % quotient`. `quotient` must divide `n`. The buffer must not be passed whole to a \
                call, and windows of it must be points in that dimension. Cursors to statements stay; cursors to indices \
                of the buffer die.",
            example: "\
@proc
def f(x: f32[16]):
    t: f32[16]
    for i in seq(0, 16):
        t[i] = x[i]
    for i in seq(0, 16):
        x[i] = t[i]

print(divide_dim(f, \"t\", 0, 4))
",
            prints: "\
def f(x: f32[16] @ DRAM):
    t: f32[4, 4] @ DRAM
    for i in seq(0, 16):
        t[i / 4, i % 4] = x[i]
    for i in seq(0, 16):
        x[i] = t[i / 4, i % 4]
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let declared = Declared::find(proc, arguments, "alloc_cursor")?;
        let dim = declared.dimension(arguments, arguments.int("dim_idx")?)?;
        let quotient = arguments.int("quotient")?;
        declared.refuse_strides(proc, arguments)?;
        let split = |idx: &[Expr]| {
            let divided = idx.iter().enumerate().flat_map(|(at, e)| match at == dim {
                true => vec![build::div(e.clone(), quotient), build::modulo(e.clone(), quotient)],
                false => vec![e.clone()],
            });
            Ok(divided.collect())
        };
        let windows = |idx: &[Access]| {
            let mut out = Vec::new();
            for (at, access) in idx.iter().enumerate() {
                match access {
                    Access::Point(e) if at == dim => {
                        out.push(Access::Point(build::div(e.clone(), quotient)));
                        out.push(Access::Point(build::modulo(e.clone(), quotient)));
                    }
                    Access::Interval { .. } if at == dim => {
                        let message = format!("a window of `{}` runs along dimension {dim}", declared.name);
                        return Err(arguments.scheduling(message));
                    }
                    Access::Point(_) | Access::Interval { .. } => out.push(access.clone()),
                }
            }
            Ok(out)
        };
        let changes = declared.rewrite_indices(arguments, &split, &windows)?;
        let extent = declared.extent(arguments, dim)?.clone();
        let mut shape = declared.ty.shape.clone();
        let outer = match build::int_value(&extent) {
            Some(value) => build::int(value.div_euclid(quotient)),
            None => build::div(extent.clone(), quotient),
        };
        shape.splice(dim..=dim, [outer, build::int(quotient)]);
        let mut editor = Editor::new(proc);
        changes.apply(&mut editor).map_err(|gone| arguments.bug(gone))?;
        declared.reshape(&mut editor, arguments, shape)?;
        let mut questions = vec![Question::Holds {
            side: Side::Before,
            at: declared.at.clone(),
            cond: build::binary(BinaryOp::Eq, build::modulo(extent, quotient), build::int(0)),
            what: format!("{quotient} divides the extent of `{}`", declared.name),
        }];
        questions.extend(declared.call_questions());
        Ok(Proposal::same(editor, Obligation::Proven(questions)))
    }
}
