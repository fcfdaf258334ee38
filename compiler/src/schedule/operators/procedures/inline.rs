//! `inline`: a call becomes the body of its callee.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::{BlockPlace, Editor, path};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::{Substitution, alpha_rename, substitute_block};
use crate::loop_ir::{Expr, ExprKind, Proc, Stmt, StmtKind, build};
use crate::schedule::Returned;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};

pub struct Inline;

const PARAMETERS: &[Parameter] = &[Parameter { name: "call_cursor", kind: Kind::Call, default: None }];

impl Operator for Inline {
    fn name(&self) -> &'static str {
        "inline"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "replace a call by the body of its callee",
            text: "Window arguments become window statements named like the parameters; other arguments take the place of \
                the parameters. What the callee asserts was shown at the call and is not repeated. The cursor dies.",
            example: "\
@proc
def clear(n: size, x: [f32][n]):
    for i in seq(0, n):
        x[i] = 0.0

@proc
def f(y: f32[4, 8]):
    for j in seq(0, 4):
        clear(8, y[j, 0:8])

print(inline(f, \"clear(_)\"))
",
            prints: "\
def f(y: f32[4, 8] @ DRAM):
    for j in seq(0, 4):
        x = y[j, 0:8]
        for i in seq(0, 8):
            x[i] = 0.0
",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("block", "the statements of the callee")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("call_cursor")?;
        let Some(StmtKind::Call { callee, args }) = path::stmt(proc, at).map(|stmt| &stmt.kind) else {
            return Err(arguments.argument("the cursor does not point to a call"));
        };
        // Arguments are evaluated at the call, but stand inside the body afterwards.
        let exprs: Vec<Expr> = args.iter().filter(|arg| arg.reads_config).cloned().collect();
        let obligation = match exprs.is_empty() {
            true => Obligation::ByConstruction("a call does what the body of its callee does"),
            false => Obligation::Proven(vec![Question::ConfigKept { side: Side::Before, at: at.clone(), exprs }]),
        };
        let place = BlockPlace::of_statement(at).ok_or_else(|| arguments.argument("not a statement"))?;
        let mut editor = Editor::new(proc);
        let body = body(callee, args);
        let results = vec![Returned::block(BlockPlace { hi: place.lo + body.len(), ..place.clone() })];
        editor.replace(&place, body.into()).map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(editor, obligation).returning(results))
    }
}

/// The body of a callee with arguments in place of its parameters, and with symbols of its own.
fn body(callee: &Proc, args: &[Expr]) -> Vec<Stmt> {
    let mut map = Substitution::new();
    let mut block = Vec::new();
    for (formal, arg) in callee.args.iter().zip(args) {
        match &arg.kind {
            ExprKind::Window { .. } => {
                let name = formal.name.renewed();
                map.insert(formal.name.clone(), build::element(&name, Vec::new()));
                block.push(build::stmt(StmtKind::Window { name, rhs: arg.clone() }, &arg.span));
            }
            ExprKind::Read { .. }
            | ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => {
                map.insert(formal.name.clone(), arg.clone());
            }
        }
    }
    // Fresh binders first: the callee may share symbols with the caller, and arguments must not be caught by them.
    block.extend(substitute_block(&alpha_rename(&callee.body), &map));
    block
}
