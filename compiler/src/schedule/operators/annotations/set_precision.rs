//! `set_precision`: the element type of a buffer.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path;
use crate::diagnostic::Refusal;
use crate::loop_ir::{ArgType, DataType, Proc, StmtKind, build};
use crate::schedule::obligation::Relation;
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Value};

pub struct SetPrecision;

impl Operator for SetPrecision {
    fn name(&self) -> &'static str {
        "set_precision"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "cursor", kind: Kind::ArgOrAlloc, default: None },
            Parameter { name: "typ", kind: Kind::Precision, default: None },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "sets the precision of an argument or allocation",
            text: "The new procedure equals the old one up to precision, and that is recorded. Whether calls that the buffer is \
                   passed to want it so is checked when C is generated.\n\
                   Cursors keep their places.",
            example: "@proc\n\
                      def set(x: R):\n\
                      \x20   x = 1.0\n\
                      print(set_precision(set, \"x\", f32))\n",
            prints: "def set(x: f32 @ DRAM):\n\
                     \x20   x = 1.0\n",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let precision = arguments.precision("typ")?;
        let mut edited = Editor::new(proc);
        let old = match arguments.get("cursor")? {
            Value::Arg(at) => match edited.header().args.get_mut(*at).map(|arg| &mut arg.ty) {
                Some(ArgType::Data(ty)) => std::mem::replace(&mut ty.precision, precision),
                Some(ArgType::Control(_)) | None => {
                    return Err(arguments.argument("a control argument has no precision"));
                }
            },
            _ => {
                let at = arguments.path("cursor")?;
                let Some(StmtKind::Alloc { name, ty, mem }) = path::stmt(proc, at).map(|stmt| stmt.kind.clone()) else {
                    return Err(arguments.argument("`cursor` needs an allocation"));
                };
                let span = path::stmt(proc, at).map(|stmt| stmt.span.clone()).unwrap_or_default();
                let old = ty.precision;
                let alloc = StmtKind::Alloc { name, ty: DataType { precision, ..ty }, mem };
                edited.rewrite_stmt(at, build::stmt(alloc, &span), Vec::new()).map_err(|gone| arguments.bug(gone))?;
                old
            }
        };
        // `R` stands for the default precision, so giving it that one changes nothing.
        let relation = if old.concrete() == precision.concrete() { Relation::Same } else { Relation::UpToPrecision };
        let reason = "the values are the same up to precision, which the relation says";
        Ok(Proposal::related(edited, Obligation::ByConstruction(reason), relation))
    }
}
