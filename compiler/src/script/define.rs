//! `__define__`: object definitions are typed and checked when host code reaches them.

use std::collections::BTreeMap;
use std::sync::Arc;

use allocative::Allocative;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::dict::DictRef;
use starlark::values::{
    NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, UnpackValue, Value, ValueLike, starlark_value,
};

use crate::checks;
use crate::codegen::template;
use crate::diagnostic::{Code, Diagnostic, Refusal, RefusalKind, codes};
use crate::hardware::instruction::Instruction;
use crate::loop_ir::Proc;
use crate::profile::Phase;
use crate::schedule::Procedure;
use crate::script::errors::{as_refusal, refused};
use crate::script::extern_types;
use crate::script::host::Host;
use crate::script::quote::HostScope;
use crate::script::raw_c;
use crate::script::values::configs::{ConfigFieldValue, ConfigValue};
use crate::script::values::procedure::ProcedureValue;
use crate::script::values::quotes::{QuotedBlockValue, QuotedExprValue, SymbolValue};
use crate::script::values::words::{ExternValue, MemoryValue, MissingValue, PrecisionValue};
use crate::script::wording::kind;
use crate::source::ModuleId;
use crate::syntax::module::{Definition, DefinitionKind, SplitModule};
use crate::typecheck::{self, HostValue};

/// The function behind `__define__` of one module.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct DefineValue {
    #[allocative(skip)]
    pub module: ModuleId,
    #[allocative(skip)]
    pub split: Arc<SplitModule>,
}
starlark_simple_value!(DefineValue);

impl std::fmt::Display for DefineValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("__define__")
    }
}

/// Bound to the name of a definition at the top level of a module that was refused: the rest of the module is still
/// looked at, and any use of the name is the same refusal again.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct RefusedValue(#[allocative(skip)] pub Refusal);
starlark_simple_value!(RefusedValue);

impl std::fmt::Display for RefusedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<refused definition `{}`>", self.0.operator)
    }
}

/// The type of [`RefusedValue`] in messages of the evaluator.
pub(crate) const REFUSED_DEFINITION: &str = "refused_definition";

#[starlark_value(type = REFUSED_DEFINITION)]
impl<'v> StarlarkValue<'v> for RefusedValue {
    fn to_bool(&self) -> bool {
        false
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for DefineValue {
    fn name_for_call_stack(&self, _me: Value<'v>) -> String {
        "definition".to_string()
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let positional: Vec<Value<'v>> = args.positions(eval.heap())?.collect();
        let mut rest = positional.iter().copied();
        let number = rest.next().and_then(|value| value.unpack_i32());
        let definition = number.and_then(|k| self.split.definitions.get(usize::try_from(k).ok()?));
        let (Some(definition), Some(captured)) = (definition, rest.next().and_then(DictRef::from_value)) else {
            return Err(starlark::Error::new_other(anyhow::anyhow!("`__define__` is not for users")));
        };
        let named = args.names_map()?;
        let instruction_args: Vec<Value<'v>> = rest.collect();
        let named: Vec<(String, Value<'v>)> =
            named.iter().map(|(name, value)| (name.as_str().to_string(), *value)).collect();
        let instruction = match definition.kind {
            DefinitionKind::Instr => Some(instruction(&definition.name, &instruction_args, &named)?),
            DefinitionKind::Proc => None,
        };
        let host = Host::of(eval)?;
        // A definition that uses a refused one is refused like it, and there is nothing more to say about it.
        let broken = captured.iter().find_map(|(_, value)| RefusedValue::from_value(value));
        if let Some(broken) = broken.filter(|_| eval.call_stack_count() <= TOP_LEVEL) {
            return Ok(eval.heap().alloc(RefusedValue(broken.0.clone())));
        }
        let known = captures(&captured)?;
        let scope = HostScope::new(known, captured, eval);
        let span = host.solver.borrow().span(Phase::Define);
        let typed = typecheck::definition(&self.split.file, &definition.function, instruction, &scope);
        let result = match scope.failed() {
            // Host code inside of the definition failed; a refusal there refuses the definition.
            Some(error) => match as_refusal(&error) {
                Some(refusal) => Err(refusal.clone()),
                None => return Err(error),
            },
            None => {
                let typed = typed.and_then(|proc| extern_types::check(&proc, eval).map(|()| proc));
                define(host, self, definition, typed)
            }
        };
        drop(span);
        match result {
            Ok(procedure) => {
                if procedure.ir().instr.is_some() {
                    raw_c::note_instruction(host, procedure.ir(), &host.authors(eval))?;
                }
                Ok(eval.heap().alloc(ProcedureValue(procedure)))
            }
            // At the top level of a module nothing could catch the refusal, so the module goes on to the next one.
            Err(refusal) if eval.call_stack_count() <= TOP_LEVEL => {
                host.record.borrow_mut().refused.push((self.module.clone(), refusal.clone()));
                Ok(eval.heap().alloc(RefusedValue(refusal)))
            }
            Err(refusal) => Err(refused(refusal)),
        }
    }
}

/// Frames on the call stack while a top-level statement calls `__define__`: the module and the call itself.
const TOP_LEVEL: usize = 2;

fn define(
    host: &Host,
    value: &DefineValue,
    definition: &Definition,
    typed: Result<Proc, Vec<Diagnostic>>,
) -> Result<Procedure, Refusal> {
    let refuse = |diagnostics: Vec<Diagnostic>| Refusal {
        kind: diagnostics.first().map_or(RefusalKind::Type, |first| kind_of(first.code)),
        operator: definition.name.clone(),
        diagnostics,
    };
    let proc = typed.map_err(refuse)?;
    checks::check_proc(&proc, &mut host.solver.borrow_mut()).map_err(refuse)?;
    template::check(&proc).map_err(|problem| refuse(vec![problem]))?;
    let proc = Arc::new(proc);
    // Whoever runs the definition answers for it: the C of an instruction can come as an argument from another pack.
    let evaluated = host.loading.borrow().last().cloned().unwrap_or_else(|| value.module.clone());
    host.record.borrow_mut().defined.push((evaluated, proc.clone()));
    Ok(Procedure::new(proc))
}

/// What a library sees of a refused definition.
pub(crate) fn kind_of(code: Code) -> RefusalKind {
    match code {
        codes::SYNTAX | codes::OBJECT_SYNTAX | codes::UNDEFINED_NAME | codes::NOT_IN_DIALECT => RefusalKind::Parse,
        codes::BOUNDS | codes::EXTENT | codes::ASSERTION | codes::ALIASING | codes::RACE => RefusalKind::Bounds,
        codes::MEMORY => RefusalKind::Memory,
        _ => RefusalKind::Type,
    }
}

fn instruction<'v>(
    name: &str,
    positional: &[Value<'v>],
    named: &[(String, Value<'v>)],
) -> starlark::Result<Instruction> {
    let wrong = |message: String| {
        refused(Refusal::new(RefusalKind::Argument, name, Diagnostic::error(codes::TEMPLATE, message)))
    };
    let text = |at: usize, names: &[&str]| -> starlark::Result<Option<String>> {
        let value = positional
            .get(at)
            .copied()
            .or_else(|| named.iter().find(|(given, _)| names.contains(&given.as_str())).map(|(_, value)| *value));
        match value.map(|value| (value, value.unpack_str())) {
            None => Ok(None),
            Some((_, Some(text))) => Ok(Some(text.to_string())),
            Some((value, None)) => {
                Err(wrong(format!("`@instr` of `{name}` takes C as text, not {}", kind(value.get_type()))))
            }
        }
    };
    let Some(template) = text(0, &["c_instr", "template"])? else {
        return Err(wrong(format!("`@instr` of `{name}` needs its C template: `@instr(\"...\")`")));
    };
    Ok(Instruction { template, global: text(1, &["c_global", "global_"])?.unwrap_or_default() })
}

pub(crate) fn captures(values: &DictRef<'_>) -> starlark::Result<BTreeMap<String, HostValue>> {
    let mut known = BTreeMap::new();
    for (name, value) in values.iter() {
        if let Some(name) = name.unpack_str() {
            known.insert(name.to_string(), host_value(value)?);
        }
    }
    add_prelude(&mut known);
    Ok(known)
}

/// The names of the prelude that object code may use, where the module does not bind them itself.
fn add_prelude(known: &mut BTreeMap<String, HostValue>) {
    for function in crate::hardware::extern_function::ExternFunction::builtin() {
        known.entry(function.name.clone()).or_insert_with(|| HostValue::Extern(function.clone()));
    }
    use crate::hardware::memory::Memory;
    for memory in Memory::builtins() {
        known.entry(memory.name().to_string()).or_insert(HostValue::Memory(memory));
    }
}

pub(crate) fn host_value(value: Value<'_>) -> starlark::Result<HostValue> {
    if let Some(flag) = value.unpack_bool() {
        return Ok(HostValue::Bool(flag));
    }
    if let Some(number) = i64::unpack_value(value).ok().flatten() {
        return Ok(HostValue::Int(number));
    }
    if let Some(number) = value.downcast_ref::<starlark::values::float::StarlarkFloat>() {
        return Ok(HostValue::Float(number.0));
    }
    if let Some(text) = value.unpack_str() {
        return Ok(HostValue::Text(text.to_string()));
    }
    if let Some(precision) = PrecisionValue::from_value(value) {
        return Ok(HostValue::Precision(precision.0));
    }
    if let Some(memory) = MemoryValue::from_value(value) {
        return Ok(HostValue::Memory(memory.0.clone()));
    }
    if let Some(procedure) = ProcedureValue::from_value(value) {
        return Ok(HostValue::Proc(procedure.0.ir().clone()));
    }
    if let Some(function) = ExternValue::from_value(value) {
        return Ok(HostValue::Extern(function.0.clone()));
    }
    if let Some(symbol) = SymbolValue::from_value(value) {
        return Ok(HostValue::Symbol(symbol.0.clone()));
    }
    if let Some(quoted) = QuotedExprValue::from_value(value) {
        return Ok(HostValue::Expression(quoted.0.clone()));
    }
    if let Some(quoted) = QuotedBlockValue::from_value(value) {
        return Ok(HostValue::Statements(quoted.0.clone()));
    }
    if let Some(config) = ConfigValue::from_value(value) {
        return Ok(HostValue::Config(config.0.clone()));
    }
    if let Some(field) = ConfigFieldValue::from_value(value) {
        return Ok(HostValue::ConfigField(field.0.clone()));
    }
    if let Some(missing) = MissingValue::from_value(value) {
        return Err(refused(missing.refusal()));
    }
    if let Some(broken) = RefusedValue::from_value(value) {
        return Err(refused(broken.0.clone()));
    }
    Ok(HostValue::Other(value.get_type().to_string()))
}
