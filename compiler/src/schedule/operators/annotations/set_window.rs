//! `set_window`: whether a parameter is a window or a dense buffer.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::checks::check_proc;
use crate::cursor::Editor;
use crate::cursor::path::Path;
use crate::diagnostic::Refusal;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Arg, ArgType, BinaryOp, Expr, ExprKind, Proc, build, strides, visit};
use crate::schedule::obligation::Relation;
use crate::schedule::{Arguments, Default, Help, Kind, Obligation, Operator, Parameter, Proposal, Value};
use crate::symbol::Sym;

pub struct SetWindow;

impl Operator for SetWindow {
    fn name(&self) -> &'static str {
        "set_window"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "cursor", kind: Kind::Arg, default: None },
            Parameter { name: "is_window", kind: Kind::Bool, default: Some(Default::Bool(true)) },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "makes a tensor argument a window, or a window a dense tensor",
            text: "A window may have any strides; a tensor is dense. Every call that the buffer is passed to is checked \
                   again. Where the code asks for strides of the argument, the result is a procedure of its own, and does not count as \
                   equal.\n\
                   Cursors keep their places.",
            example: "@proc\n\
                      def set(x: f32[8]):\n\
                      \x20   x[0] = 1.0\n\
                      print(set_window(set, \"x\"))\n",
            prints: "def set(x: [f32][8] @ DRAM):\n\
                     \x20   x[0] = 1.0\n",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let is_window = arguments.bool("is_window")?;
        let Value::Arg(at) = arguments.get("cursor")? else {
            return Err(arguments.argument("`cursor` needs an argument of the procedure"));
        };
        let mut edited = Editor::new(proc);
        let was_window = match edited.header().args.get_mut(*at).map(|arg| &mut arg.ty) {
            Some(ArgType::Data(ty)) if ty.rank() > 0 => std::mem::replace(&mut ty.is_window, is_window),
            Some(ArgType::Data(_) | ArgType::Control(_)) | None => {
                return Err(arguments.scheduling("only an argument with dimensions can be a window"));
            }
        };
        // The strides that the asserts speak about are others now; the whole definition must still hold together.
        if let Err(problems) = check_proc(edited.proc(), solver) {
            let problem = problems.first().map_or("", |problem| problem.message.as_str());
            return Err(arguments.scheduling(format!("the procedure would not be valid any more: {problem}")));
        }
        let question = Question::CallsValid { side: Side::After, under: Path::root() };
        let relation = match was_window != is_window && sees_strides(proc, *at) {
            true => Relation::NewFamily,
            false => Relation::Same,
        };
        Ok(Proposal::related(edited, Obligation::Proven(vec![question]), relation))
    }
}

/// Whether what a procedure computes may depend on the strides of an argument.
///
/// Steps on the dense form may use the strides that it has, and nothing says so afterwards, so that two windows made of equal
/// dense forms may differ for other strides. Where no stride is asked for, the values of the elements decide alone. An assert can
/// tie strides to sizes, of which the dense form then knows more; that the elements of the last dimension are adjacent ties nothing.
fn sees_strides(proc: &Proc, at: usize) -> bool {
    let Some(arg) = proc.args.get(at) else { return true };
    let declarations = Declarations::of(proc);
    let mut sees = proc.preds.iter().any(|pred| asks_stride(pred, &arg.name) && !says_adjacent(pred, arg));
    strides::each_asked(&proc.body, &mut |asked| sees |= declarations.root(asked.name).as_ref() == Some(&arg.name));
    sees
}

fn asks_stride(pred: &Expr, arg: &Sym) -> bool {
    let mut asks = false;
    visit::each_expr(pred, &mut |node| asks |= matches!(&node.kind, ExprKind::Stride { name, .. } if name == arg));
    asks
}

/// Whether an assert is `stride(x, last) == 1` and nothing else.
fn says_adjacent(pred: &Expr, arg: &Arg) -> bool {
    let ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs } = &pred.kind else { return false };
    let rank = match &arg.ty {
        ArgType::Data(ty) => ty.rank(),
        ArgType::Control(_) => return false,
    };
    let last = |e: &Expr| matches!(&e.kind, ExprKind::Stride { name, dim } if *name == arg.name && dim + 1 == rank);
    let one = |e: &Expr| build::int_value(e) == Some(1);
    (last(lhs) && one(rhs)) || (one(lhs) && last(rhs))
}
