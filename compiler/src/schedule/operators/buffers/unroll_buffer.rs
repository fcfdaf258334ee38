//! `unroll_buffer`: one buffer for each index of a dimension.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Access, DataType, Expr, Proc, StmtKind, build};
use crate::schedule::Returned;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::buffers::layout::Declared;
use crate::schedule::operators::buffers::uses::{Changes, UseKind};
use crate::source::Span;
use crate::symbol::Sym;

pub struct UnrollBuffer;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "alloc_cursor", kind: Kind::Alloc, default: None },
    Parameter { name: "dimension", kind: Kind::Int, default: None },
];

impl Operator for UnrollBuffer {
    fn name(&self) -> &'static str {
        "unroll_buffer"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "turn a buffer into one buffer for each index of a dimension",
            text: "The dimension must have a literal extent and every use a literal index in it, as after unrolling the \
                loops around. Index `k` gets the buffer `name_k`; indices that are not used get none. A cursor to the \
                allocation dies; its one-statement block becomes the block of the new ones.",
            example: "\
@proc
def f(x: f32[8]):
    t: f32[2]
    t[0] = x[0]
    t[1] = x[1]
    x[2] = t[0] + t[1]

print(unroll_buffer(f, \"t\", 0))
",
            prints: "\
def f(x: f32[8] @ DRAM):
    t_0: f32 @ DRAM
    t_1: f32 @ DRAM
    t_0 = x[0]
    t_1 = x[1]
    x[2] = t_0 + t_1
",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("allocs", "the new allocations, or an invalid cursor where there are none")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let declared = Declared::find(proc, arguments, "alloc_cursor")?;
        let dim = declared.dimension(arguments, arguments.int("dimension")?)?;
        if build::int_value(declared.extent(arguments, dim)?).is_none() {
            return Err(arguments.scheduling(format!("dimension {dim} of `{}` has no literal extent", declared.name)));
        }
        declared.refuse_strides(proc, arguments)?;
        let mut parts = Parts { declared: &declared, dim, names: BTreeMap::new() };
        let mut changes = Changes::default();
        for one in &declared.uses {
            match &one.kind {
                UseKind::Read { at, idx } => {
                    let name = parts.name(arguments, idx.get(dim))?;
                    changes.expr(at, build::element(&name, without(idx, dim)));
                }
                UseKind::Write { idx, .. } => {
                    let name = parts.name(arguments, idx.get(dim))?;
                    changes.target(&one.stmt, &name, without(idx, dim));
                }
                UseKind::Window { at, idx } => {
                    let index = match idx.get(dim) {
                        Some(Access::Point(point)) => Some(point),
                        Some(Access::Interval { .. }) | None => None,
                    };
                    let name = parts.name(arguments, index)?;
                    changes.expr(at, build::window(&name, without(idx, dim)));
                }
                UseKind::Whole { .. } | UseKind::Stride { .. } => {
                    return Err(arguments.scheduling(format!("`{}` is used as a whole", declared.name)));
                }
            }
        }
        let mut editor = Editor::new(proc);
        changes.apply(&mut editor).map_err(|gone| arguments.bug(gone))?;
        let place = BlockPlace::of_statement(&declared.at).ok_or_else(|| arguments.argument("not a statement"))?;
        let results = vec![Returned::block(BlockPlace { hi: place.lo + parts.names.len(), ..place.clone() })];
        editor.replace(&place, parts.allocations().into()).map_err(|gone| arguments.bug(gone))?;
        let questions = declared.call_questions();
        let obligation = match questions.is_empty() {
            true => Obligation::ByConstruction("every use names its part"),
            false => Obligation::Proven(questions),
        };
        Ok(Proposal::same(editor, obligation).returning(results))
    }
}

struct Parts<'a> {
    declared: &'a Declared,
    dim: usize,
    names: BTreeMap<i64, Sym>,
}

impl Parts<'_> {
    fn name(&mut self, arguments: &Arguments, index: Option<&Expr>) -> Result<Sym, Refusal> {
        let whole = &self.declared.name;
        let Some(index) = index.and_then(build::int_value) else {
            let message = format!("a use of `{whole}` has no literal index in dimension {}", self.dim);
            return Err(arguments.scheduling(message));
        };
        Ok(self.names.entry(index).or_insert_with(|| Sym::new(&format!("{}_{index}", whole.name()))).clone())
    }

    fn allocations(&self) -> Vec<crate::loop_ir::Stmt> {
        let ty = DataType { shape: without(&self.declared.ty.shape, self.dim), ..self.declared.ty.clone() };
        let alloc = |name: &Sym| {
            let kind = StmtKind::Alloc { name: name.clone(), ty: ty.clone(), mem: self.declared.mem.clone() };
            build::stmt(kind, &Span::none())
        };
        self.names.values().map(alloc).collect()
    }
}

fn without<T: Clone>(list: &[T], dim: usize) -> Vec<T> {
    list.iter().enumerate().filter(|(at, _)| *at != dim).map(|(_, item)| item.clone()).collect()
}
