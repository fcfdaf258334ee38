//! C text written by user code: the functions of memories and externs, called when C is generated.

use std::cell::RefCell;

use starlark::collections::SmallMap;
use starlark::environment::FrozenModule;
use starlark::eval::Evaluator;
use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::list::AllocList;
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::TupleRef;

use crate::diagnostic::{Code, Diagnostic, Refusal, RefusalKind, codes};
use crate::hardware::extern_function::ExternFunction;
use crate::hardware::memory::{Hooks, Memory, MemoryQuestion};
use crate::hardware::precision::Precision;
use crate::script::errors::{as_failure, as_refusal, words};
use crate::script::host::Host;
use crate::script::values::words::{ExternValue, MemoryValue, PrecisionValue};
use crate::script::wording::{Words, kind};
use crate::symbol::Identity;

/// Remembers the functions of a memory or extern made in the module that is being evaluated.
///
/// They hang on the module as a chain `(owner, functions, rest)`, so that they are kept alive and frozen with it.
pub(crate) fn remember<'v>(
    eval: &Evaluator<'v, '_, '_>,
    owner: Value<'v>,
    functions: SmallMap<&'static str, Value<'v>>,
) {
    let heap = eval.heap();
    let rest = eval.module().extra_value().unwrap_or_else(Value::new_none);
    let functions = heap.alloc(starlark::values::dict::AllocDict(functions));
    eval.module().set_extra_value(heap.alloc((owner, functions, rest)));
}

/// Files the functions of a finished module under their owners' identities.
pub(crate) fn file(host: &Host, module: &FrozenModule) {
    let Some(chain) = module.owned_extra_value() else { return };
    let mut at = chain.clone();
    loop {
        let Some((owner, functions, rest)) = link(at.value()) else { return };
        let (Some(identity), Some(_)) = (identity(owner), functions.unpack_frozen()) else { return };
        let frozen_functions =
            chain.map(|_| functions.unpack_frozen().unwrap_or_else(starlark::values::FrozenValue::new_none));
        host.hooks.borrow_mut().insert(identity, frozen_functions);
        let Some(rest) = rest.unpack_frozen() else { return };
        at = chain.map(|_| rest);
    }
}

fn link<'v>(value: Value<'v>) -> Option<(Value<'v>, Value<'v>, Value<'v>)> {
    match TupleRef::from_value(value)?.content() {
        [owner, functions, rest] => Some((*owner, *functions, *rest)),
        _ => None,
    }
}

fn identity(owner: Value<'_>) -> Option<Identity> {
    if let Some(memory) = MemoryValue::from_value(owner) {
        return Some(memory.0.identity);
    }
    ExternValue::from_value(owner).map(|function| function.0.identity)
}

/// Calls user functions through an evaluator.
pub(crate) struct ScriptHooks<'s, 'v, 'a, 'e> {
    pub eval: RefCell<&'s mut Evaluator<'v, 'a, 'e>>,
}

impl<'v> ScriptHooks<'_, 'v, '_, '_> {
    /// The function `name` of an owner: in the module being evaluated, or in a finished one.
    fn function(&self, owner: Identity, name: &str) -> Option<Value<'v>> {
        let eval = self.eval.borrow();
        let mut at = eval.module().extra_value();
        while let Some((value, functions, rest)) = at.and_then(link) {
            if identity(value) == Some(owner) {
                let functions = DictRef::from_value(functions)?;
                return functions.get_str(name);
            }
            at = Some(rest);
        }
        let host = Host::of(&eval).ok()?;
        let functions = eval.heap().access_owned_frozen_value(host.hooks.borrow().get(&owner)?);
        DictRef::from_value(functions)?.get_str(name)
    }

    /// The function `name` of a memory or of the nearest base that has one.
    fn inherited(&self, memory: &Memory, name: &str) -> Option<Value<'v>> {
        memory.chain().find_map(|memory| self.function(memory.identity, name).filter(|function| !function.is_none()))
    }

    fn call(&self, call: &Call<'_>, function: Value<'v>, positional: &[Value<'v>]) -> Result<Value<'v>, Refusal> {
        let mut eval = self.eval.borrow_mut();
        eval.eval_function(function, positional, &[]).map_err(|error| match (as_refusal(&error), as_failure(&error)) {
            (Some(refusal), _) => refusal.clone(),
            (None, Some(diagnostics)) => {
                Refusal { kind: RefusalKind::Memory, operator: call.what.clone(), diagnostics: diagnostics.to_vec() }
            }
            (None, None) => {
                let Words { message, hint } = words(&error, "");
                hint.into_iter().fold(call.refusal_of(message), Refusal::hint).hint(call.shown())
            }
        })
    }

    fn text(&self, call: &Call<'_>, function: Value<'v>, positional: &[Value<'v>]) -> Result<String, Refusal> {
        let result = self.call(call, function, positional)?;
        result.unpack_str().map(str::to_string).ok_or_else(|| call.wrong_result("a text of C", result))
    }
}

/// A call of a user's function, for messages.
struct Call<'c> {
    /// Which function it is, such as `` `c` of extern `f` ``.
    what: String,
    /// The call with the names of its parameters.
    written: &'c str,
    code: Code,
}

impl Call<'_> {
    fn refusal_of(&self, message: String) -> Refusal {
        let diagnostic = Diagnostic::error(self.code, format!("{}: {message}", self.what));
        Refusal::new(RefusalKind::Memory, self.what.as_str(), diagnostic)
    }

    fn wrong_result(&self, wanted: &str, result: Value<'_>) -> Refusal {
        self.refusal_of(format!("it must return {wanted}, not {}", kind(result.get_type()))).hint(self.shown())
    }

    fn shown(&self) -> String {
        format!("it is called as `{}`", self.written)
    }
}

impl Hooks for ScriptHooks<'_, '_, '_, '_> {
    fn memory(&self, memory: &Memory, question: &MemoryQuestion<'_>) -> Result<Option<String>, Refusal> {
        let name = question_name(question);
        let Some(found) = self.inherited(memory, name) else { return Ok(None) };
        if let Some(text) = found.unpack_str() {
            return Ok(Some(text.to_string()));
        }
        let heap = self.eval.borrow().heap();
        let list = |texts: &[String]| heap.alloc(AllocList(texts.iter().map(String::as_str)));
        let nowhere = heap.alloc("");
        let arguments = match question {
            MemoryQuestion::Global => vec![],
            MemoryQuestion::Alloc { name, c_type, shape, chunk }
            | MemoryQuestion::Free { name, c_type, shape, chunk } => {
                let mut arguments = vec![heap.alloc(*name), heap.alloc(*c_type), list(shape), nowhere];
                arguments.extend(chunk.map(|chunk| heap.alloc(chunk)));
                arguments
            }
            MemoryQuestion::Window { c_type, is_window, base, indices, strides } => {
                let ty =
                    heap.alloc(AllocStruct([("is_win", Value::new_bool(*is_window)), ("ctype", heap.alloc(*c_type))]));
                vec![ty, heap.alloc(*base), list(indices), list(strides), nowhere]
            }
            MemoryQuestion::Read { place } => vec![heap.alloc(*place)],
            MemoryQuestion::Write { lhs, rhs } | MemoryQuestion::Reduce { lhs, rhs } => {
                vec![nowhere, heap.alloc(*lhs), heap.alloc(*rhs)]
            }
        };
        let what = format!("`{name}` of memory `{}`", memory.name());
        self.text(&Call { what, written: call_of(question), code: codes::MEMORY }, found, &arguments).map(Some)
    }

    fn defines(&self, memory: &Memory, function: &str) -> bool {
        self.inherited(memory, function).is_some()
    }

    fn extern_call(&self, function: &ExternFunction, arguments: &[String], c_type: &str) -> Result<String, Refusal> {
        let call = Call {
            what: format!("`c` of extern `{}`", function.name),
            written: "c(args, prim_type)",
            code: codes::EXTERN,
        };
        let Some(code) = self.function(function.identity, "c") else {
            return Err(call.refusal_of("there is no such function".to_string()));
        };
        let heap = self.eval.borrow().heap();
        let arguments = heap.alloc(AllocList(arguments.iter().map(String::as_str)));
        self.text(&call, code, &[arguments, heap.alloc(c_type)])
    }

    fn extern_global(&self, function: &ExternFunction, c_type: &str) -> Result<String, Refusal> {
        match self.function(function.identity, "globals").filter(|globals| !globals.is_none()) {
            None => Ok(String::new()),
            Some(globals) => match globals.unpack_str() {
                Some(text) => Ok(text.to_string()),
                None => {
                    let c_type = self.eval.borrow().heap().alloc(c_type);
                    let what = format!("`globals` of extern `{}`", function.name);
                    let call = Call { what, written: "globals(prim_type)", code: codes::EXTERN };
                    self.text(&call, globals, &[c_type])
                }
            },
        }
    }

    fn extern_type(&self, function: &ExternFunction, arguments: &[Precision]) -> Result<Option<Precision>, Refusal> {
        let Some(typecheck) = self.function(function.identity, "typecheck") else { return Ok(None) };
        let what = format!("`typecheck` of extern `{}`", function.name);
        let call = Call { what, written: "typecheck(precisions)", code: codes::PRECISION };
        let heap = self.eval.borrow().heap();
        let precisions = heap.alloc(AllocList(arguments.iter().map(|precision| PrecisionValue(*precision))));
        let result = self.call(&call, typecheck, &[precisions])?;
        match PrecisionValue::from_value(result) {
            _ if result.is_none() => Ok(None),
            Some(precision) => Ok(Some(precision.0)),
            None => Err(call.wrong_result("a precision or `None`", result)),
        }
    }
}

/// How a function of a memory is called.
fn call_of(question: &MemoryQuestion<'_>) -> &'static str {
    match question {
        MemoryQuestion::Global => "global_()",
        MemoryQuestion::Alloc { chunk: None, .. } => "alloc(name, prim_type, shape, srcinfo)",
        MemoryQuestion::Alloc { chunk: Some(_), .. } => "alloc(name, prim_type, shape, srcinfo, chunk)",
        MemoryQuestion::Free { chunk: None, .. } => "free(name, prim_type, shape, srcinfo)",
        MemoryQuestion::Free { chunk: Some(_), .. } => "free(name, prim_type, shape, srcinfo, chunk)",
        MemoryQuestion::Window { .. } => "window(basetyp, baseptr, indices, strides, srcinfo)",
        MemoryQuestion::Read { .. } => "read(place)",
        MemoryQuestion::Write { .. } => "write(srcinfo, lhs, rhs)",
        MemoryQuestion::Reduce { .. } => "reduce(srcinfo, lhs, rhs)",
    }
}

fn question_name(question: &MemoryQuestion<'_>) -> &'static str {
    match question {
        MemoryQuestion::Global => "global_",
        MemoryQuestion::Alloc { .. } => "alloc",
        MemoryQuestion::Free { .. } => "free",
        MemoryQuestion::Window { .. } => "window",
        MemoryQuestion::Read { .. } => "read",
        MemoryQuestion::Write { .. } => "write",
        MemoryQuestion::Reduce { .. } => "reduce",
    }
}
