//! `parallelize_loop`: a sequential loop made parallel.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::{Refusal, RefusalKind};
use crate::loop_ir::{LoopMode, Proc, StmtKind, visit};
use crate::schedule::target::Loop;
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal};

pub struct ParallelizeLoop;

impl Operator for ParallelizeLoop {
    fn name(&self) -> &'static str {
        "parallelize_loop"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "loop_cursor", kind: Kind::For, default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "makes a loop parallel",
            text: "No two iterations may touch one location unless both only read it; two reductions into one location \
                   are a race. Nothing in the body may live in static memory, which all iterations would share.\n\
                   Cursors keep their places.",
            example: "@proc\n\
                      def clear(n: size, x: f32[n]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       x[i] = 0.0\n\
                      print(parallelize_loop(clear, \"i\"))\n",
            prints: "def clear(n: size, x: f32[n] @ DRAM):\n\
                     \x20   for i in par(0, n):\n\
                     \x20       x[i] = 0.0\n",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("loop_cursor")?;
        let parallel = Loop { mode: LoopMode::Par, ..Loop::at(proc, at, arguments)? };
        let mut shared = None;
        visit::each_stmt(&parallel.body, &mut |stmt| {
            if let StmtKind::Alloc { name, mem, .. } = &stmt.kind
                && mem.is_static()
            {
                shared.get_or_insert_with(|| name.clone());
            }
        });
        if let Some(name) = shared {
            let message = format!("`{name}` lives in static memory, which all iterations would share");
            return Err(arguments.refuse(RefusalKind::Memory, message));
        }
        let question = Question::IndependentIterations { side: Side::After, scope: at.clone() };
        let mut edited = Editor::new(proc);
        edited.rewrite_stmt(at, parallel.into_stmt(), Vec::new()).map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(edited, Obligation::Proven(vec![question])))
    }
}
