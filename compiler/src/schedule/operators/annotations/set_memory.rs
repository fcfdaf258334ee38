//! `set_memory`: where a buffer lives.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, Path};
use crate::diagnostic::{Refusal, RefusalKind};
use crate::loop_ir::{ArgType, LoopMode, Proc, StmtKind, build};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Value};

pub struct SetMemory;

impl Operator for SetMemory {
    fn name(&self) -> &'static str {
        "set_memory"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "cursor", kind: Kind::ArgOrAlloc, default: None },
            Parameter { name: "memory_type", kind: Kind::Memory, default: None },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "sets the memory of an argument or allocation",
            text: "Whether the memory allows what the code does with the buffer, and whether calls that it is passed to want it \
                   there, is checked when C is generated.\n\
                   Cursors keep their places.",
            example: "@proc\n\
                      def copy(x: f32[8]):\n\
                      \x20   t: f32[8]\n\
                      \x20   for i in seq(0, 8):\n\
                      \x20       t[i] = x[i]\n\
                      print(set_memory(copy, \"t\", DRAM_STACK))\n",
            prints: "def copy(x: f32[8] @ DRAM):\n\
                     \x20   t: f32[8] @ DRAM_STACK\n\
                     \x20   for i in seq(0, 8):\n\
                     \x20       t[i] = x[i]\n",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let memory = arguments.memory("memory_type")?.clone();
        let mut edited = Editor::new(proc);
        match arguments.get("cursor")? {
            Value::Arg(at) => {
                let arg = edited.header().args.get_mut(*at);
                match arg.map(|arg| (arg.ty.clone(), arg)) {
                    Some((ArgType::Data(_), arg)) => arg.mem = memory,
                    _ => return Err(arguments.argument("a control argument has no memory")),
                }
            }
            _ => {
                let at = arguments.path("cursor")?;
                let Some(StmtKind::Alloc { name, ty, .. }) = path::stmt(proc, at).map(|stmt| stmt.kind.clone()) else {
                    return Err(arguments.argument("`cursor` needs an allocation"));
                };
                if memory.is_static() && in_parallel_loop(proc, at) {
                    let message = format!("`{name}` is allocated in a parallel loop, whose iterations would share it");
                    return Err(arguments.refuse(RefusalKind::Memory, message));
                }
                let span = path::stmt(proc, at).map(|stmt| stmt.span.clone()).unwrap_or_default();
                let alloc = build::stmt(StmtKind::Alloc { name, ty, mem: memory }, &span);
                edited.rewrite_stmt(at, alloc, Vec::new()).map_err(|gone| arguments.bug(gone))?;
            }
        }
        Ok(Proposal::same(edited, Obligation::ByConstruction("where a buffer lives does not change its values")))
    }
}

fn in_parallel_loop(proc: &Proc, at: &Path) -> bool {
    let mut above = at.parent();
    while let Some(scope) = above {
        let stmt = path::stmt(proc, &scope);
        if stmt.is_some_and(|stmt| matches!(stmt.kind, StmtKind::For { mode: LoopMode::Par, .. })) {
            return true;
        }
        above = scope.parent();
    }
    false
}
