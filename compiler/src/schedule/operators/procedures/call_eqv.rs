//! `call_eqv`: a call goes to an equivalent procedure.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::config_change;
use crate::analysis::mutation;
use crate::analysis::solver::Solver;
use crate::cursor::{Editor, path};
use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::loop_ir::{Arg, ArgType, Proc, StmtKind, Waiver, build};
use crate::schedule::obligation::{Obligation, Proposal, Relation};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::parallel;

pub struct CallEqv;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "call_cursor", kind: Kind::Call, default: None },
    Parameter { name: "eqv_proc", kind: Kind::Procedure, default: None },
];

impl Operator for CallEqv {
    fn name(&self) -> &'static str {
        "call_eqv"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "call an equivalent procedure instead",
            text: "Both procedures must derive from one algorithm by proven steps. Where a step between them changed a \
                precision, the caller is equal to the old one up to precision only, and that is recorded; where it changed what \
                configuration fields hold at the end, the caller must not read those any more, and is equal to the old one \
                but for the fields that stay changed; checks that were \
                waived on the way are recorded too. The new call must pass the call checker. All cursors stay.",
            example: "\
@proc
def clear(x: [f32][8]):
    for i in seq(0, 8):
        x[i] = 0.0

@proc
def f(y: f32[4, 8]):
    for j in seq(0, 4):
        clear(y[j, 0:8])

print(call_eqv(f, \"clear(_)\", rename(clear, \"clear_fast\")))
",
            prints: "\
def f(y: f32[4, 8] @ DRAM):
    for j in seq(0, 4):
        clear_fast(y[j, 0:8])
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let (at, new) = (arguments.path("call_cursor")?, arguments.procedure("eqv_proc")?);
        let Some(stmt) = path::stmt(proc, at) else { return Err(arguments.argument("the cursor points to nothing")) };
        let StmtKind::Call { callee, args } = &stmt.kind else {
            return Err(arguments.argument("the cursor does not point to a call"));
        };
        let related = callee.lineage.family == new.lineage.family;
        if !mutation::passes("procedures that are exchanged derive from one algorithm", related) {
            let message =
                format!("`{}` and `{}` do not derive from one algorithm by proven steps", callee.name, new.name);
            let diagnostic = Diagnostic::error(codes::NOT_EQUIVALENT, message);
            return Err(Refusal::new(RefusalKind::Scheduling, arguments.operator, diagnostic));
        }
        if !mutation::passes(
            "procedures that are exchanged take the same arguments",
            same_parameters(&callee.args, &new.args),
        ) {
            return Err(arguments.scheduling(format!("`{}` and `{}` take different arguments", callee.name, new.name)));
        }
        let call = build::stmt(StmtKind::Call { callee: new.clone(), args: args.clone() }, &stmt.span);
        let mut editor = Editor::new(proc);
        editor.rewrite_stmt(at, call, Vec::new()).map_err(|gone| arguments.bug(gone))?;
        let waived: Vec<Waiver> = [callee, new].iter().flat_map(|proc| proc.lineage.waived.iter().cloned()).collect();
        let known = Arc::make_mut(&mut editor.header().lineage.waived);
        for text in waived {
            if !known.contains(&text) {
                known.push(text);
            }
        }
        let precision = callee.lineage.precision_class != new.lineage.precision_class;
        let mut questions = vec![Question::CallsValid { side: Side::After, under: at.clone() }];
        let fields = callee.lineage.modulo(&new.lineage);
        let relation = match (fields.is_empty(), precision) {
            (true, false) => Relation::Same,
            (true, true) => Relation::UpToPrecision,
            (false, _) => {
                // What cannot be shown is refused when the question is asked; until then every field may be seen.
                let seen = config_change::seen_of_change((proc, editor.proc()), at, &fields, solver)
                    .unwrap_or_else(|_| fields.clone());
                let change = Question::ConfigChange { side: Side::After, at: at.clone(), fields, seen: seen.clone() };
                questions.push(change);
                Relation::Modulo { fields: seen, precision }
            }
        };
        questions.extend(parallel::around(proc, at));
        Ok(Proposal::related(editor, Obligation::Proven(questions), relation))
    }
}

/// Kinds and ranks must agree; precisions, memories and extents are the call checker's to say.
fn same_parameters(old: &[Arg], new: &[Arg]) -> bool {
    old.len() == new.len()
        && old.iter().zip(new).all(|(old, new)| match (&old.ty, &new.ty) {
            (ArgType::Control(old), ArgType::Control(new)) => old == new,
            (ArgType::Data(old), ArgType::Data(new)) => old.rank() == new.rank(),
            (ArgType::Control(_) | ArgType::Data(_), _) => false,
        })
}
