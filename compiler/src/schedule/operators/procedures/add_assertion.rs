//! `add_assertion`: a further precondition.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::diagnostic::{Refusal, RefusalKind};
use crate::hardware::config::Config;
use crate::loop_ir::Proc;
use crate::schedule::obligation::{Obligation, Proposal, Relation};
use crate::schedule::operator::{Arguments, Default, Help, Kind, Operator, Parameter, Value};
use crate::schedule::operators::procedures::partial_eval::sound;
use crate::syntax::fragment;

pub struct AddAssertion;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "assertion", kind: Kind::Text, default: None },
    Parameter { name: "configs", kind: Kind::List(&Kind::Config, None), default: Some(Default::None) },
];

impl Operator for AddAssertion {
    fn name(&self) -> &'static str {
        "add_assertion"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "assume one more thing about the arguments",
            text: "Appends an `assert` over the arguments. It may speak of configuration state at the \
                call: of the configs that the proc uses, and of those in `configs`. Callers must establish it, so the result \
                is another procedure, which begins a new family. An assertion that contradicts the others is refused. All cursors stay.",
            example: "\
@proc
def f(n: size, x: f32[n]):
    for i in seq(0, n):
        x[i] = 0.0

print(f.add_assertion(\"n % 8 == 0\"))
",
            prints: "\
def f(n: size, x: f32[n] @ DRAM):
    assert n % 8 == 0
    for i in seq(0, n):
        x[i] = 0.0
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let configs: Vec<Config> = match arguments.get("configs")? {
            Value::List(values) => values
                .iter()
                .filter_map(|value| match value {
                    Value::Config(config) => Some(config.clone()),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        let pred = fragment::assertion(arguments.text("assertion")?, proc, &configs)
            .map_err(|diagnostic| Refusal::new(RefusalKind::Parse, arguments.operator, diagnostic))?;
        let mut editor = Editor::new(proc);
        editor.header().preds.push(pred);
        sound(editor.proc(), arguments, solver)?;
        let obligation = Obligation::ByConstruction("the result is another procedure, checked as a definition");
        Ok(Proposal::related(editor, obligation, Relation::NewFamily))
    }
}
