//! `bind_config`: a value is read back from configuration state.

use std::sync::Arc;

use crate::analysis::conditions::Side;
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Block, Proc, StmtKind, Ty, build};
use crate::schedule::Returned;
use crate::schedule::obligation::{Obligation, ProofStep, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::configuration::writing::{check_type, precision, terms};
use crate::schedule::reads::precisions;
use crate::schedule::{conversions, divisions};
use crate::source::Span;

pub struct BindConfig;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "var_cursor", kind: Kind::Expr, default: None },
    Parameter { name: "config", kind: Kind::Config, default: None },
    Parameter { name: "field", kind: Kind::ConfigField("config"), default: None },
];

impl Operator for BindConfig {
    fn name(&self) -> &'static str {
        "bind_config"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "write a value to a field and read it from there",
            text: "Writes the expression to the field just before its statement, and reads the field in its place. Type and \
                precision must be those of the field. The write must make no other difference, as for `write_config`. The \
                cursor of the expression moves to the read of the field.",
            example: "\
@config
class Store:
    scale: f32

@proc
def f(scale: f32, x: f32[8]):
    for i in seq(0, 8):
        x[i] = scale * x[i]

print(bind_config(f, \"scale\", Store, \"scale\"))
",
            prints: "\
def f(scale: f32 @ DRAM, x: f32[8] @ DRAM):
    for i in seq(0, 8):
        Store.scale = scale
        x[i] = Store.scale * x[i]
",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("write", "the new write"), ("read", "the read of the field")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let (at, field) = (arguments.path("var_cursor")?, arguments.config_field("field")?);
        let value = path::expr(proc, at).ok_or_else(|| arguments.argument("the cursor points to no expression"))?;
        let declarations = Declarations::of(proc);
        check_type(value, field, &declarations, arguments)?;
        if value.ty == Ty::INT {
            let message = "an integer literal stays: index arithmetic multiplies and divides by literals only";
            return Err(arguments.scheduling(message));
        }
        let wanted = precision(field);
        if wanted.is_some_and(|wanted| precisions(value, &declarations).iter().any(|own| own.concrete() != wanted)) {
            return Err(arguments.argument(format!("`{field}` has another precision than the expression")));
        }
        if let Some(wanted) = wanted {
            if conversions::refuse_other_arithmetic(proc, at, value, wanted, arguments).is_err() {
                return Err(arguments.argument(format!("`{field}` has another precision than the arithmetic around")));
            }
            conversions::refuse_narrowing(proc, at, value, wanted, arguments)?;
            if !divisions::surely_computed(proc, at) {
                divisions::refuse_early(value, wanted, arguments)?;
            }
        }
        let stmt = at.statement().ok_or_else(|| arguments.argument("the expression belongs to no statement"))?;
        let by_reference = at.0.len() == stmt.0.len() + 1
            && matches!(at.last(), Some(Step::Arg(_)))
            && matches!(path::stmt(proc, &stmt).map(|stmt| &stmt.kind), Some(StmtKind::Call { .. }));
        if wanted.is_some() && by_reference {
            return Err(arguments.scheduling("data arguments are passed by reference, and a field is not a buffer"));
        }
        let write = StmtKind::WriteConfig { field: field.clone(), rhs: value.clone() };
        let write = build::stmt(write, &Span::none());
        let read = build::read_config(field);
        let (parent, orelse, position) =
            stmt.list_position().ok_or_else(|| arguments.argument("the expression belongs to no statement"))?;
        let mut editor = Editor::new(proc);
        editor.insert_at(&parent, orelse, position, Block::one(write.clone())).map_err(|gone| arguments.bug(gone))?;
        let written = editor.proc().clone();
        // Before anything reads the field in its new role.
        let (question, relation) = terms(&written, Side::After, &stmt, &write, solver);
        let below = at.0.get(stmt.0.len()..).unwrap_or_default();
        let place = parent.child(Step::statement(orelse, position + 1)).join(below);
        editor.replace_expr(&place, read).map_err(|gone| arguments.bug(gone))?;
        let steps = vec![
            ProofStep { before: Proc::clone(proc), after: written.clone(), questions: vec![question] },
            // The read directly follows the write of its value.
            ProofStep { before: written, after: editor.proc().clone(), questions: Vec::new() },
        ];
        let results = vec![Returned::node(&stmt), Returned::node(&place)];
        Ok(Proposal::related(editor, Obligation::Steps(steps), relation).returning(results))
    }
}
