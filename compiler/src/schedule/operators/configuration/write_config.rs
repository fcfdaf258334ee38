//! `write_config`: a write of configuration state that nobody reads the effect of.

use std::sync::Arc;

use crate::analysis::conditions::Side;
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::path::Step;
use crate::diagnostic::Refusal;
use crate::hardware::config::FieldType;
use crate::loop_ir::computation;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Block, Const, Expr, ExprKind, Proc, StmtKind, Ty, build, configuration};
use crate::schedule::Returned;
use crate::schedule::divisions;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::configuration::writing::{bounds, check_type, terms};
use crate::source::Span;

pub struct WriteConfig;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "gap_cursor", kind: Kind::Gap, default: None },
    Parameter { name: "config", kind: Kind::Config, default: None },
    Parameter { name: "field", kind: Kind::ConfigField("config"), default: None },
    Parameter { name: "rhs", kind: Kind::NewExpr("gap_cursor"), default: None },
];

impl Operator for WriteConfig {
    fn name(&self) -> &'static str {
        "write_config"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "write configuration state at a gap",
            text: "Inserts `config.field = rhs`. Either the field holds that value there already, or nothing reads it before it \
                is written again. Where it is not surely written again, the result equals the old procedure but for the field: \
                it may end with another value, which `check_equal`, `claim`, `call_eqv` and kernels take into account. \
                Cursors move with the statements around the gap.",
            example: "\
@config
class Load:
    pitch: stride

@proc
def f(x: [f32][8, 8], y: f32[8]):
    for i in seq(0, 8):
        y[i] = x[i, 0]

print(write_config(f, f.body()[0].before(), Load, \"pitch\", \"stride(x, 0)\"))
",
            prints: "\
def f(x: [f32][8, 8] @ DRAM, y: f32[8] @ DRAM):
    Load.pitch = stride(x, 0)
    for i in seq(0, 8):
        y[i] = x[i, 0]
",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("write", "the new write")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let gap = arguments.gap("gap_cursor")?;
        let field = arguments.config_field("field")?;
        let rhs = as_data(arguments.expr("rhs")?, configuration::ty(field));
        let declarations = Declarations::of(proc);
        check_type(&rhs, field, &declarations, arguments)?;
        if let FieldType::Data(precision) = field.ty() {
            divisions::refuse_early(&rhs, computation::of_rhs(&rhs, precision, &declarations), arguments)?;
        }
        let (parent, orelse, position) = gap.insertion().ok_or_else(|| arguments.bug(NoSuchPlace))?;
        let write = build::stmt(StmtKind::WriteConfig { field: field.clone(), rhs: rhs.clone() }, &Span::none());
        let mut editor = Editor::new(proc);
        editor.insert(gap, Block::one(write.clone())).map_err(|gone| arguments.bug(gone))?;
        let at = parent.child(Step::statement(orelse, position));
        let (question, relation) = terms(editor.proc(), Side::After, &at, &write, solver);
        let mut questions = vec![question];
        questions.extend(bounds(&rhs, &declarations));
        let results = vec![Returned::node(&at)];
        Ok(Proposal::related(editor, Obligation::Proven(questions), relation).returning(results))
    }
}

/// An integer literal where a field of data takes a real.
fn as_data(rhs: &Expr, ty: Ty) -> Expr {
    match (&rhs.kind, ty) {
        (ExprKind::Const(Const::Int(value)), Ty::Data) => {
            build::expr(ExprKind::Const(Const::Int(*value)), Ty::Data, &rhs.span)
        }
        _ => rhs.clone(),
    }
}
