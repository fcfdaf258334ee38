//! `expand_dim`: a new outermost dimension, indexed by one expression everywhere.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::Refusal;
use crate::loop_ir::{Access, Expr, Proc, build};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::buffers::layout::{Declared, positive};
use crate::schedule::operators::buffers::uses::{Changes, UseKind, everything};

pub struct ExpandDim;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "buf_cursor", kind: Kind::Alloc, default: None },
    Parameter { name: "alloc_dim", kind: Kind::NewExpr("buf_cursor"), default: None },
    Parameter { name: "indexing_expr", kind: Kind::NewExpr("buf_cursor"), default: None },
];

impl Operator for ExpandDim {
    fn name(&self) -> &'static str {
        "expand_dim"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "give a buffer a new outermost dimension",
            text: "Turns `x: T[...]` into `x: T[alloc_dim, ...]` and puts `indexing_expr` in front of the indices of \
                every use. Both expressions are read at the allocation, so iterators of loops around it may be used and \
                later ones may not. The new extent must be positive and every access must stay inside the buffer. A \
                buffer that is passed whole to a call is passed as a window afterwards, and the call is checked again. \
                Cursors to statements stay; cursors to indices of the buffer die.",
            example: "\
@proc
def f(x: f32[8]):
    for i in seq(0, 8):
        t: f32
        t = x[i]
        x[i] = t + t

print(expand_dim(f, \"t\", 8, \"i\"))
",
            prints: "\
def f(x: f32[8] @ DRAM):
    for i in seq(0, 8):
        t: f32[8] @ DRAM
        t[i] = x[i]
        x[i] = t[i] + t[i]
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let declared = Declared::find(proc, arguments, "buf_cursor")?;
        let (extent, index) = (arguments.expr("alloc_dim")?, arguments.expr("indexing_expr")?);
        if !extent.ty.is_indexable() || !index.ty.is_indexable() {
            return Err(arguments.argument("the extent and the index must be index expressions"));
        }
        if index.reads_config {
            return Err(arguments.scheduling("the index would read configuration state, which may change"));
        }
        let name = &declared.name;
        let prefixed = |idx: &[Expr]| {
            let mut all = vec![index.clone()];
            all.extend_from_slice(idx);
            all
        };
        let mut changes = Changes::default();
        for one in &declared.uses {
            match &one.kind {
                UseKind::Read { at, idx } => changes.expr(at, build::element(name, prefixed(idx))),
                UseKind::Write { idx, .. } => changes.target(&one.stmt, name, prefixed(idx)),
                UseKind::Window { at, idx } => {
                    let mut all = vec![Access::Point(index.clone())];
                    all.extend_from_slice(idx);
                    changes.expr(at, build::window(name, all));
                }
                UseKind::Whole { .. } if declared.ty.rank() == 0 => {
                    return Err(arguments.scheduling(format!(
                        "`{name}` is passed to a call by name, and an element of a buffer cannot be"
                    )));
                }
                UseKind::Whole { at } => {
                    let mut all = vec![Access::Point(index.clone())];
                    all.extend(everything(&declared.ty.shape));
                    changes.expr(at, build::window(name, all));
                }
                UseKind::Stride { at, dim } => changes.expr(at, build::stride(name, dim + 1)),
            }
        }
        let mut editor = Editor::new(proc);
        changes.apply(&mut editor).map_err(|gone| arguments.bug(gone))?;
        let mut shape = vec![extent.clone()];
        shape.extend_from_slice(&declared.ty.shape);
        declared.reshape(&mut editor, arguments, shape)?;
        let mut questions = vec![positive(&declared.at, extent, "the new extent is positive"), declared.in_bounds()];
        questions.extend(declared.call_questions());
        Ok(Proposal::same(editor, Obligation::Proven(questions)))
    }
}
