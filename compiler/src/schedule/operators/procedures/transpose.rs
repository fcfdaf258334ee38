//! `transpose`: a matrix argument with its dimensions swapped.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::{BlockPlace, Editor, Path};
use crate::diagnostic::Refusal;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::substitute::map_expr;
use crate::loop_ir::{Access, ArgType, Expr, ExprKind, Proc, build};
use crate::schedule::obligation::{Obligation, Proposal, Relation};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter, Value};
use crate::schedule::operators::buffers::layout::refuse_asked;
use crate::schedule::operators::buffers::uses::{Changes, UseKind, uses};
use crate::schedule::operators::procedures::partial_eval::sound;
use crate::symbol::Sym;

pub struct Transpose;

const PARAMETERS: &[Parameter] = &[Parameter { name: "arg_cursor", kind: Kind::Arg, default: None }];

impl Operator for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "swap the dimensions of a matrix argument",
            text: "Callers pass the transposed matrix, so the result is another procedure, which begins a new family. The \
                argument must not be passed whole to a call, nor as a window that runs along both dimensions. Cursors to \
                statements stay; cursors to indices of the argument die.",
            example: "\
@proc
def f(A: f32[4, 8], x: f32[8]):
    for i in seq(0, 4):
        for j in seq(0, 8):
            A[i, j] = x[j]

print(f.transpose(f.args()[0]))
",
            prints: "\
def f(A: f32[8, 4] @ DRAM, x: f32[8] @ DRAM):
    for i in seq(0, 4):
        for j in seq(0, 8):
            A[j, i] = x[j]
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let Value::Arg(position) = arguments.get("arg_cursor")? else {
            return Err(arguments.argument("the cursor does not point to an argument"));
        };
        let arg = proc.args.get(*position).ok_or_else(|| arguments.argument("there is no such argument"))?;
        let name = &arg.name;
        match &arg.ty {
            ArgType::Data(ty) if ty.rank() == 2 => {}
            ArgType::Data(_) | ArgType::Control(_) => {
                return Err(arguments.argument(format!("`{name}` is not a matrix")));
            }
        }
        refuse_strides(proc, name, arguments)?;
        let body = BlockPlace { parent: Path::root(), orelse: false, lo: 0, hi: proc.body.len() };
        let mut changes = Changes::default();
        for one in uses(proc, &body, name) {
            match &one.kind {
                UseKind::Read { at, idx } => changes.expr(at, build::element(name, swapped(idx))),
                UseKind::Write { idx, .. } => changes.target(&one.stmt, name, swapped(idx)),
                UseKind::Window { idx, .. } if idx.iter().all(|one| matches!(one, Access::Interval { .. })) => {
                    return Err(arguments.scheduling(format!("a window runs along both dimensions of `{name}`")));
                }
                UseKind::Window { at, idx } => changes.expr(at, build::window(name, swapped(idx))),
                UseKind::Whole { .. } => {
                    return Err(arguments.scheduling(format!("`{name}` is passed whole to a call")));
                }
                UseKind::Stride { at, dim } => changes.expr(at, build::stride(name, other(*dim))),
            }
        }
        let mut editor = Editor::new(proc);
        changes.apply(&mut editor).map_err(|gone| arguments.bug(gone))?;
        let header = editor.header();
        header.preds = header.preds.iter().map(|pred| strides_swapped(pred, name)).collect();
        editor.transpose_arg(*position).map_err(|gone| arguments.bug(gone))?;
        sound(editor.proc(), arguments, solver)?;
        let obligation = Obligation::ByConstruction("the result is another procedure, checked as a definition");
        Ok(Proposal::related(editor, obligation, Relation::NewFamily))
    }
}

/// The strides of a dense matrix follow from its shape: the transposed one has others, and not the old ones swapped.
fn refuse_strides(proc: &Proc, name: &Sym, arguments: &Arguments) -> Result<(), Refusal> {
    let declarations = Declarations::of(proc);
    if proc.args.iter().any(|arg| arg.name == *name && matches!(&arg.ty, ArgType::Data(ty) if ty.is_window)) {
        return Ok(());
    }
    refuse_asked(&proc.body, arguments, &|asked| declarations.root(asked.name).as_ref() == Some(name))
}

fn swapped<T: Clone>(pair: &[T]) -> Vec<T> {
    pair.iter().rev().cloned().collect()
}

fn other(dim: usize) -> usize {
    usize::from(dim == 0)
}

fn strides_swapped(pred: &Expr, name: &Sym) -> Expr {
    map_expr(pred, &mut |node| match &node.kind {
        ExprKind::Stride { name: of, dim } if of == name => Some(build::stride(name, other(*dim))),
        ExprKind::Stride { .. }
        | ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. } => None,
    })
}
