//! What tests add to the prelude: claims, comparisons, expected refusals, assertions.

use std::collections::{BTreeMap, BTreeSet};

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{UnpackValue, Value};

use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::hardware::config::ConfigField;
use crate::interpret::{self, Comparison, FaultKind, Options};
use crate::loop_ir::Proc;
use crate::print;
use crate::schedule::Procedure;
use crate::script::errors::{as_refusal, failed, refused};
use crate::script::host::Host;
use crate::script::prelude::call;
use crate::script::values::operator::not_a_proc;
use crate::script::values::procedure::ProcedureValue;

/// Hex digest of a proc's printed text: equal for procs that read alike.
pub(crate) fn digest(proc: &Proc) -> String {
    blake3::hash(print::proc(proc).as_bytes()).to_hex().to_string()
}

/// `sizes = {"n": 8, "m": [1, 2]}` as values by name.
pub(crate) fn sizes(given: Option<DictRef<'_>>) -> starlark::Result<BTreeMap<String, Vec<i64>>> {
    let mut sizes = BTreeMap::new();
    let Some(given) = given else { return Ok(sizes) };
    for (name, value) in given.iter() {
        let Some(name) = name.unpack_str() else {
            return Err(bad_sizes("its keys are the names of control arguments"));
        };
        let values = match ListRef::from_value(value) {
            Some(list) => list.content().to_vec(),
            None => vec![value],
        };
        let values = values
            .into_iter()
            .map(|value| match (value.unpack_bool(), i64::unpack_value(value).ok().flatten()) {
                (Some(flag), _) => Ok(i64::from(flag)),
                (None, Some(number)) => Ok(number),
                (None, None) => Err(bad_sizes(&format!("`{name}` needs an integer, a bool or a list of them"))),
            })
            .collect::<starlark::Result<Vec<i64>>>()?;
        sizes.insert(name.to_string(), values);
    }
    Ok(sizes)
}

fn bad_sizes(what: &str) -> starlark::Error {
    let diagnostic = Diagnostic::error(codes::ARGUMENT, format!("`sizes` is malformed: {what}"));
    refused(Refusal::new(RefusalKind::Argument, "check_equal", diagnostic))
}

fn proc_argument<'v>(operator: &str, value: Value<'v>) -> starlark::Result<&'v Procedure> {
    ProcedureValue::from_value(value)
        .map(|procedure| &procedure.0)
        .ok_or_else(|| refused(not_a_proc(operator, value.get_type())))
}

/// Runs both procs and refuses unless they agree everywhere.
pub(crate) fn compared(operator: &str, p: &Proc, q: &Proc, options: &Options) -> Result<(), Refusal> {
    let refuse = |kind, code, message: String| Refusal::new(kind, operator, Diagnostic::error(code, message));
    let options = Options { modulo: modulo(p, q), ..options.clone() };
    match interpret::compare(p, q, &options) {
        Comparison::Equal { .. } => Ok(()),
        Comparison::Unequal { sizes, buffer, index, left, right } => {
            let index: Vec<String> = index.iter().map(i64::to_string).collect();
            let place = if index.is_empty() { buffer } else { format!("{buffer}[{}]", index.join(", ")) };
            let message = format!("`{}` and `{}` differ in {place}", p.name, q.name);
            let mut refusal = refuse(RefusalKind::Unequal, codes::UNEQUAL, message);
            for diagnostic in &mut refusal.diagnostics {
                let values = format!("{left} and {right}");
                diagnostic.notes.push(match interpret::compare::describe(&sizes).as_str() {
                    "" => values,
                    sizes => format!("with {sizes}: {values}"),
                });
            }
            Err(refusal)
        }
        Comparison::Fault { side, sizes, fault } => {
            let name = match side {
                interpret::compare::Side::Left => &p.name,
                interpret::compare::Side::Right => &q.name,
            };
            let mut refusal =
                refuse(RefusalKind::Unequal, codes::UNEQUAL, format!("`{name}` goes wrong: {}", fault.message));
            for diagnostic in &mut refusal.diagnostics {
                if !sizes.is_empty() {
                    diagnostic.notes.push(format!("with {}", interpret::compare::describe(&sizes)));
                }
                *diagnostic = diagnostic.clone().at(&fault.span, "here");
                if fault.kind == FaultKind::Budget {
                    diagnostic.hints.push("give `sizes` for which it takes fewer steps".to_string());
                }
            }
            Err(refusal)
        }
        Comparison::BadSizes { message } | Comparison::NoDraw { message } | Comparison::Incomparable { message } => {
            Err(refuse(RefusalKind::Argument, codes::ARGUMENT, message))
        }
    }
}

/// The configuration fields that two procs may leave different.
fn modulo(p: &Proc, q: &Proc) -> BTreeSet<ConfigField> {
    match p.lineage.family == q.lineage.family {
        true => p.lineage.modulo(&q.lineage),
        false => BTreeSet::new(),
    }
}

/// That `result` derives from `algorithm`.
pub(crate) fn derives(operator: &str, algorithm: &Procedure, result: &Procedure) -> Result<(), Refusal> {
    if algorithm.ir().lineage.family == result.ir().lineage.family {
        return Ok(());
    }
    let message = format!("`{}` does not derive from `{}`", result.ir().name, algorithm.ir().name);
    let diagnostic = Diagnostic::error(codes::UNRELATED, message)
        .note("nothing shows that the two compute the same")
        .hint("return the proc that the operators made from the algorithm given to the schedule");
    Err(Refusal::new(RefusalKind::Scheduling, operator, diagnostic))
}

/// Refuses to run C while a module of a pack's `src` is evaluated: the module could be another one where C runs than where it is
/// verified, and what it makes there would be seen by nobody. The evaluation fails, so that no `attempt` learns anything.
fn in_a_test(host: &Host, function: &str) -> starlark::Result<()> {
    match host.loading.borrow().last() {
        Some(module) if !module.pack.is_empty() && !module.path.starts_with("tests.") => {
            let message = format!("`{function}` is for tests and for `exo run`, and `{module}` is a module of a pack");
            let diagnostic = Diagnostic::error(codes::TEST, message);
            Err(failed_here(vec![diagnostic.hint("move the call into a function `test_...` of a file in `tests/`")]))
        }
        Some(_) | None => Ok(()),
    }
}

fn test_failure(message: String) -> starlark::Error {
    failed_here(vec![Diagnostic::error(codes::TEST, message)])
}

fn failed_here(diagnostics: Vec<Diagnostic>) -> starlark::Error {
    failed(diagnostics)
}

#[starlark_module]
pub(crate) fn natives(builder: &mut GlobalsBuilder) {
    /// Applies a schedule and states that the result is equivalent to the algorithm; the interpreter runs both.
    fn claim<'v>(
        #[starlark(require = pos)] algorithm: Value<'v>,
        #[starlark(require = pos)] schedule: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] kwargs: DictRef<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let before = proc_argument("claim", algorithm)?;
        let positional: Vec<Value<'v>> = std::iter::once(algorithm).chain(args.items.iter().copied()).collect();
        let value = call(eval, schedule, &positional, &kwargs)?;
        let after = proc_argument("claim", value)?;
        derives("claim", before, after).map_err(refused)?;
        compared("claim", before.ir(), after.ir(), &Options::default()).map_err(refused)?;
        let mut record = Host::of(eval)?.record.borrow_mut();
        let fields: Vec<String> = modulo(before.ir(), after.ir()).iter().map(ToString::to_string).collect();
        let but_for = if fields.is_empty() { String::new() } else { format!(" (but for {})", fields.join(", ")) };
        record.claim(
            format!("{} -> {}{but_for}", before.ir().name, after.ir().name),
            (digest(before.ir()), digest(after.ir())),
        );
        // The schedule may have run before the test did, when the module was loaded.
        for line in after.ir().lineage.waived.iter() {
            if !record.waived.iter().any(|(_, known)| known == line) {
                record.waived.push((None, line.clone()));
            }
        }
        Ok(value)
    }

    /// Runs the reference interpreter on both procs with random exact data.
    fn check_equal<'v>(
        #[starlark(require = pos)] p: Value<'v>,
        #[starlark(require = pos)] q: Value<'v>,
        #[starlark(require = named)] sizes: Option<DictRef<'v>>,
    ) -> starlark::Result<NoneType> {
        let (p, q) = (proc_argument("check_equal", p)?, proc_argument("check_equal", q)?);
        let options = Options { sizes: self::sizes(sizes)?, ..Options::default() };
        compared("check_equal", p.ir(), q.ir(), &options).map_err(refused)?;
        Ok(NoneType)
    }

    /// Compiles a proc for a target and compares the C with the interpreter.
    fn check_c<'v>(
        #[starlark(require = pos)] p: Value<'v>,
        #[starlark(require = pos)] target: Value<'v>,
        #[starlark(require = named)] sizes: Option<DictRef<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        in_a_test(Host::of(eval)?, "check_c")?;
        let procedure = proc_argument("check_c", p)?.clone();
        let sizes = self::sizes(sizes)?;
        crate::script::run_c::check(&procedure, target, &sizes, eval)?;
        Ok(NoneType)
    }

    /// The call must be refused with this text in its message.
    fn refused<'v>(
        #[starlark(require = pos)] f: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(require = named, default = "")] message: &str,
        #[starlark(kwargs)] kwargs: DictRef<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let name = f.to_str();
        match call(eval, f, &args.items, &kwargs) {
            Ok(_) => Err(test_failure(format!("`{name}` was accepted, but the test expects a refusal"))),
            Err(error) => match as_refusal(&error) {
                Some(refusal) if refusal.diagnostics.iter().any(|d| d.message.contains(message)) => Ok(NoneType),
                Some(refusal) => Err(test_failure(format!(
                    "`{name}` was refused with `{}`, but the test expects `{message}`",
                    refusal.message()
                ))),
                None => Err(error),
            },
        }
    }

    /// Both values must be equal.
    fn assert_eq<'v>(
        #[starlark(require = pos)] a: Value<'v>,
        #[starlark(require = pos)] b: Value<'v>,
    ) -> starlark::Result<NoneType> {
        if a.equals(b)? {
            return Ok(NoneType);
        }
        let mut diagnostic = Diagnostic::error(codes::TEST, "the two values differ");
        for (side, value) in [("left", a), ("right", b)] {
            diagnostic = diagnostic.note(format!("{side}:\n{}", value.to_str()));
        }
        Err(failed_here(vec![diagnostic]))
    }

    /// The value must be true.
    fn assert_true<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(default = "the value is not true")] message: &str,
    ) -> starlark::Result<NoneType> {
        match value.to_bool() {
            true => Ok(NoneType),
            false => Err(test_failure(message.to_string())),
        }
    }
}
