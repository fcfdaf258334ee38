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

use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::hardware::extern_function::ExternFunction;
use crate::hardware::memory::{Hooks, Memory, MemoryQuestion};
use crate::script::errors::{as_refusal, words};
use crate::script::host::Host;
use crate::script::values::words::{ExternValue, MemoryValue};
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

    /// `called` shows the call, for messages.
    fn call(&self, what: &str, called: &str, function: Value<'v>, positional: &[Value<'v>]) -> Result<String, Refusal> {
        let mut eval = self.eval.borrow_mut();
        let result = eval.eval_function(function, positional, &[]).map_err(|error| match as_refusal(&error) {
            Some(refusal) => refusal.clone(),
            None => {
                let Words { message, hint } = words(&error, "");
                let refusal = refusal(what, message);
                hint.into_iter().fold(refusal, Refusal::hint).hint(format!("it is called as `{called}`"))
            }
        })?;
        match result.unpack_str() {
            Some(text) => Ok(text.to_string()),
            None => Err(refusal(what, format!("it must return a text of C, not {}", kind(result.get_type())))
                .hint(format!("it is called as `{called}`"))),
        }
    }
}

fn refusal(what: &str, message: String) -> Refusal {
    let diagnostic = Diagnostic::error(codes::MEMORY, format!("{what}: {message}"));
    Refusal::new(RefusalKind::Memory, what, diagnostic)
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
        let called = call_of(question);
        self.call(&format!("`{name}` of memory `{}`", memory.name()), called, found, &arguments).map(Some)
    }

    fn defines(&self, memory: &Memory, function: &str) -> bool {
        self.inherited(memory, function).is_some()
    }

    fn extern_call(&self, function: &ExternFunction, arguments: &[String], c_type: &str) -> Result<String, Refusal> {
        let what = format!("`c` of extern `{}`", function.name);
        let Some(code) = self.function(function.identity, "c") else {
            return Err(refusal(&what, "there is no such function".into()));
        };
        let heap = self.eval.borrow().heap();
        let arguments = heap.alloc(AllocList(arguments.iter().map(String::as_str)));
        self.call(&what, "c(args, prim_type)", code, &[arguments, heap.alloc(c_type)])
    }

    fn extern_global(&self, function: &ExternFunction, c_type: &str) -> Result<String, Refusal> {
        match self.function(function.identity, "globals").filter(|globals| !globals.is_none()) {
            None => Ok(String::new()),
            Some(globals) => match globals.unpack_str() {
                Some(text) => Ok(text.to_string()),
                None => {
                    let c_type = self.eval.borrow().heap().alloc(c_type);
                    let what = format!("`globals` of extern `{}`", function.name);
                    self.call(&what, "globals(prim_type)", globals, &[c_type])
                }
            },
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
