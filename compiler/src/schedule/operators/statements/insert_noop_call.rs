//! `insert_noop_call`: a call of an instruction that computes nothing, such as a prefetch.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::editor::NoSuchPlace;
use crate::diagnostic::{Refusal, counted};
use crate::loop_ir::{Block, Proc, StmtKind, build};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned, Value};
use crate::source::Span;

pub struct InsertNoopCall;

impl Operator for InsertNoopCall {
    fn name(&self) -> &'static str {
        "insert_noop_call"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "gap_cursor", kind: Kind::Gap, default: None },
            Parameter { name: "instr", kind: Kind::Procedure, default: None },
            Parameter { name: "args", kind: Kind::List(&Kind::NewExprOrWindow("gap_cursor"), None), default: None },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "inserts a call of a procedure that does nothing, such as a prefetch",
            text: "The body of `instr` must be one `pass`. Arguments are expressions or windows as text, in the scope of \
                   the gap; the call must pass the call checker, assertions included.\n\
                   Cursors keep pointing to their statements.",
            example: "@instr(\"__builtin_prefetch(&{x_data});\")\n\
                      def prefetch(x: [f32][8]):\n\
                      \x20   pass\n\
                      \n\
                      @proc\n\
                      def scale(n: size, x: f32[n, 8]):\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       for j in seq(0, 8):\n\
                      \x20           x[i, j] = 2.0 * x[i, j]\n\
                      print(insert_noop_call(scale, scale.find_loop(\"j\").before(), prefetch, [\"x[i, 0:8]\"]))\n",
            prints: "def scale(n: size, x: f32[n, 8] @ DRAM):\n\
                     \x20   for i in seq(0, n):\n\
                     \x20       prefetch(x[i, 0:8])\n\
                     \x20       for j in seq(0, 8):\n\
                     \x20           x[i, j] = 2.0 * x[i, j]\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("call", "the new call")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let (gap, callee) = (arguments.gap("gap_cursor")?, arguments.procedure("instr")?);
        if !matches!(callee.body.only(), Some(only) if matches!(only.kind, StmtKind::Pass)) {
            let refusal = arguments.scheduling(format!("`{}` does something: its body is not one `pass`", callee.name));
            return Err(refusal);
        }
        let args: Vec<_> = arguments
            .list("args")?
            .iter()
            .filter_map(|value| if let Value::Expr(expr) = value { Some(expr.clone()) } else { None })
            .collect();
        if args.len() != callee.args.len() {
            let (needs, got) = (counted(callee.args.len(), "argument"), args.len());
            return Err(arguments.argument(format!("`{}` takes {needs}, not {got}", callee.name)));
        }
        let at = gap.inserted().ok_or_else(|| arguments.bug(NoSuchPlace))?;
        let call = build::stmt(StmtKind::Call { callee: callee.clone(), args }, &Span::none());
        let mut edited = Editor::new(proc);
        edited.insert(gap, Block::one(call)).map_err(|gone| arguments.bug(gone))?;
        let valid = Question::CallsValid { side: Side::After, under: at.clone() };
        Ok(Proposal::same(edited, Obligation::Proven(vec![valid])).returning(vec![Returned::node(&at)]))
    }
}
