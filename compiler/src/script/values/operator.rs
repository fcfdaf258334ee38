//! Scheduling operators as functions of host code. One type serves all: the registry tells them apart.

use allocative::Allocative;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::tuple::AllocTuple;
use starlark::values::{NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};

use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::schedule::argument::signature;
use crate::schedule::registry;
use crate::schedule::results::described;
use crate::schedule::{Operator, Procedure};
use crate::script::errors::refused;
use crate::script::host::Host;
use crate::script::raw_c;
use crate::script::values::procedure::ProcedureValue;
use crate::script::values::results::ResultsValue;
use crate::script::wording::{GIVES_NONE, kind};

/// An operator of the registry.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct OperatorValue(#[allocative(skip)] pub &'static dyn Operator);
starlark_simple_value!(OperatorValue);

impl std::fmt::Debug for OperatorValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OperatorValue({})", self.0.name())
    }
}

impl std::fmt::Display for OperatorValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for OperatorValue {
    fn name_for_call_stack(&self, _me: Value<'v>) -> String {
        self.0.name().to_string()
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let mut positional: Vec<Value<'v>> = args.positions(eval.heap())?.collect();
        let mut named = Vec::new();
        let mut wants_cursors = false;
        for (name, value) in args.names_map()? {
            if name.as_str() == "rc" {
                wants_cursors = value.unpack_bool().ok_or_else(|| refused(not_a_flag(self.0.name(), value)))?;
            } else if name.as_str() == "proc" && positional.is_empty() {
                positional.push(value);
            } else {
                named.push((name.as_str().to_string(), Host::raw(value)?));
            }
        }
        let Some((first, rest)) = positional.split_first() else {
            return Err(refused(not_a_proc(self.0.name(), "nothing")));
        };
        let Some(procedure) = ProcedureValue::from_value(*first) else {
            return Err(refused(not_a_proc(self.0.name(), first.get_type())));
        };
        let rest = rest.iter().map(|value| Host::raw(*value)).collect::<starlark::Result<Vec<_>>>()?;
        let host = Host::of(eval)?;
        let mut site = host.site(eval);
        if self.0.name() == raw_c::MAKES_INSTRUCTIONS {
            site.authors = host.authors(eval);
        }
        let result = host.apply(self.0, &procedure.0, rest, named, site)?;
        let further = self.0.further(procedure.0.ir(), result.ir());
        let heap = eval.heap();
        let cursors = wants_cursors.then(|| heap.alloc(cursors(self.0, &result)));
        let result = heap.alloc(ProcedureValue(result));
        let further = further.map(|proc| heap.alloc(ProcedureValue(Procedure::new(proc))));
        let all: Vec<Value<'v>> = [Some(result), further, cursors].into_iter().flatten().collect();
        Ok(match all.as_slice() {
            [only] => *only,
            several => heap.alloc(AllocTuple(several.iter().copied())),
        })
    }
}

/// What the operator hands back about the version that it just made.
fn cursors(operator: &dyn Operator, result: &Procedure) -> ResultsValue {
    let places = result.step().map(|step| step.results.clone()).unwrap_or_default();
    let names = described(operator).into_iter().map(|(name, _)| name);
    ResultsValue { procedure: result.clone(), results: names.zip(places).collect() }
}

fn not_a_flag(operator: &str, got: Value<'_>) -> Refusal {
    let message = format!("argument `rc` of `{operator}` must be True or False, not {}", kind(got.get_type()));
    Refusal::new(RefusalKind::Argument, operator, Diagnostic::error(codes::ARGUMENT, message))
}

pub(crate) fn not_a_proc(operator: &str, got: &str) -> Refusal {
    let message = format!("argument 0 (`proc`) of `{operator}` must be a proc, not {}", kind(got));
    let diagnostic = Diagnostic::error(codes::ARGUMENT, message);
    Refusal::new(
        RefusalKind::Argument,
        operator,
        match got {
            "NoneType" => diagnostic.hint(GIVES_NONE),
            "function" => diagnostic.hint("give the proc that it returns: call it"),
            _ => match registry::find(operator) {
                Some(operator) => diagnostic.hint(format!("the proc comes first: `{}`", signature(operator))),
                None => diagnostic,
            },
        },
    )
}
