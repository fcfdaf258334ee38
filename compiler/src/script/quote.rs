//! `__quote__`: object code inside host code, and the host scope in which a definition runs the host code inside of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use allocative::Allocative;
use ruff_python_ast::{Expr as Syntax, Stmt as SyntaxStmt};
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};

use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::loop_ir::Block;
use crate::script::define::{captures, host_value, kind_of};
use crate::script::errors::refused;
use crate::script::host::Host;
use crate::script::values::quotes::{QuotedBlockValue, QuotedExprValue, SliceValue, SymbolValue};
use crate::syntax::module::{QUOTE, Quote, SplitModule};
use crate::typecheck::{self, Captures, HostFailed, HostValue, QuotedBlock, QuotedExpr};

/// Host code inside of object code inside of host code …: how often at most. Each level is a call of the evaluator within
/// a call of the type checker, so the limit on call depth would come too late.
const MAX_QUOTING: usize = 40;

/// What the host code that runs just now inside of a definition may do.
pub(crate) enum Quoting {
    /// A `with python:` block: the statements that it emitted so far.
    Statements(Block),
    /// The code in `{...}`, which only gives a value.
    Expression,
}

/// The function behind `__quote__` of one module.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct QuoteValue(#[allocative(skip)] pub Arc<SplitModule>);
starlark_simple_value!(QuoteValue);

impl std::fmt::Display for QuoteValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(QUOTE)
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for QuoteValue {
    fn name_for_call_stack(&self, _me: Value<'v>) -> String {
        "quote".to_string()
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let positional: Vec<Value<'v>> = args.positions(eval.heap())?.collect();
        let [number, entries, emit] = positional.as_slice() else { return Err(not_for_users()) };
        let quote = number.unpack_i32().and_then(|k| self.0.quotes.get(usize::try_from(k).ok()?));
        let (Some(quote), Some(entries)) = (quote, DictRef::from_value(*entries)) else { return Err(not_for_users()) };
        match quote {
            Quote::Expression(syntax) => expression(&self.0, syntax, &entries, eval),
            Quote::Statements(body) => statements(&self.0, body, entries, emit.to_bool(), eval),
        }
    }
}

fn not_for_users() -> starlark::Error {
    starlark::Error::new_other(anyhow::anyhow!("`{QUOTE}` is not for users"))
}

fn refuse(message: &str, hint: &str) -> starlark::Error {
    let diagnostic = Diagnostic::error(codes::OBJECT_SYNTAX, message).hint(hint);
    refused(Refusal::new(RefusalKind::Parse, "quote", diagnostic))
}

fn expression<'v>(
    module: &SplitModule,
    syntax: &Syntax,
    entries: &DictRef<'v>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let mut splices = BTreeMap::new();
    for (key, value) in entries.iter() {
        if let Some(offset) = key.unpack_i32().and_then(|offset| u32::try_from(offset).ok()) {
            splices.insert(offset, spliced_value(value)?);
        }
    }
    match QuotedExpr::new(module.file.clone(), syntax.clone(), captures(entries)?, splices) {
        Ok(quoted) => Ok(eval.heap().alloc(QuotedExprValue(Arc::new(quoted)))),
        Err(_) => Err(refuse("too many quotes inside of each other", "assign parts to scalars, and quote those")),
    }
}

fn statements<'v>(
    module: &SplitModule,
    body: &[SyntaxStmt],
    entries: DictRef<'v>,
    emit: bool,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let host = Host::of(eval)?;
    match host.quoting.borrow().last() {
        Some(Quoting::Statements(_)) => {}
        Some(Quoting::Expression) => {
            return Err(refuse(
                "`{...}` in an expression cannot quote statements",
                "quote them in a `with python:` block",
            ));
        }
        None => {
            return Err(refuse("the definition that this quote belongs to is finished", "quote only while it is read"));
        }
    }
    let known = captures(&entries)?;
    let scope = HostScope::new(known, entries, eval);
    let typed = typecheck::quoted_block(&module.file, body, &scope);
    if let Some(error) = scope.failed() {
        return Err(error);
    }
    let block = typed.map_err(|diagnostics| {
        let kind = diagnostics.first().map_or(RefusalKind::Type, |first| kind_of(first.code));
        refused(Refusal { kind, operator: "quote".to_string(), diagnostics })
    })?;
    if !emit {
        return Ok(eval.heap().alloc(QuotedBlockValue(Arc::new(QuotedBlock::new(block)))));
    }
    if let Some(Quoting::Statements(emitted)) = host.quoting.borrow_mut().last_mut() {
        emitted.extend(block);
    }
    Ok(Value::new_none())
}

/// The host scope of a definition that is being evaluated.
pub(crate) struct HostScope<'s, 'v, 'a, 'e> {
    known: BTreeMap<String, HostValue>,
    entries: DictRef<'v>,
    eval: RefCell<&'s mut Evaluator<'v, 'a, 'e>>,
    failed: RefCell<Option<starlark::Error>>,
}

impl<'s, 'v, 'a, 'e> HostScope<'s, 'v, 'a, 'e> {
    /// `entries` is the dict of captures; `known` what its names stand for.
    pub(crate) fn new(
        known: BTreeMap<String, HostValue>,
        entries: DictRef<'v>,
        eval: &'s mut Evaluator<'v, 'a, 'e>,
    ) -> Self {
        HostScope { known, entries, eval: RefCell::new(eval), failed: RefCell::new(None) }
    }

    /// Why host code in the definition failed, if it did.
    pub(crate) fn failed(self) -> Option<starlark::Error> {
        self.failed.into_inner()
    }

    /// The function under an offset, with the values of its parameters.
    fn function(&self, offset: u32, names: &mut dyn FnMut(&str) -> HostValue) -> Option<(Value<'v>, Vec<Value<'v>>)> {
        let heap = self.eval.borrow().heap();
        let entry = self.entries.get(heap.alloc(offset)).ok().flatten()?;
        let [wanted, function] = TupleRef::from_value(entry)?.content() else { return None };
        let wanted = ListRef::from_value(*wanted)?;
        let arguments = wanted.iter().filter_map(|name| name.unpack_str()).map(|name| host(names(name), heap));
        Some((*function, arguments.collect()))
    }

    /// Calls host code; what it emitted comes back with its value.
    fn call(
        &self,
        function: Value<'v>,
        arguments: &[Value<'v>],
        quoting: Quoting,
    ) -> Result<(Value<'v>, Quoting), HostFailed> {
        if self.failed.borrow().is_some() {
            return Err(HostFailed);
        }
        let mut eval = self.eval.borrow_mut();
        let result = Host::of(&eval).and_then(|host| {
            if host.quoting.borrow().len() >= MAX_QUOTING {
                return Err(refuse(
                    "too much host code inside of quoted code",
                    "write a loop in one `with python:` block",
                ));
            }
            host.quoting.borrow_mut().push(quoting);
            let result = eval.eval_function(function, arguments, &[]);
            let quoting = host.quoting.borrow_mut().pop().unwrap_or(Quoting::Expression);
            Ok((result?, quoting))
        });
        result.map_err(|error| {
            *self.failed.borrow_mut() = Some(error);
            HostFailed
        })
    }
}

impl Captures for HostScope<'_, '_, '_, '_> {
    fn get(&self, expression: &str) -> Option<HostValue> {
        self.known.get(expression).cloned()
    }

    fn splice(&self, offset: u32, names: &mut dyn FnMut(&str) -> HostValue) -> Option<Result<HostValue, HostFailed>> {
        let (function, arguments) = self.function(offset, names)?;
        let called = self.call(function, &arguments, Quoting::Expression);
        Some(called.and_then(|(value, _)| {
            spliced_value(value).map_err(|error| {
                *self.failed.borrow_mut() = Some(error);
                HostFailed
            })
        }))
    }

    fn run(&self, offset: u32, names: &mut dyn FnMut(&str) -> HostValue) -> Option<Result<Block, HostFailed>> {
        let (function, arguments) = self.function(offset, names)?;
        let called = self.call(function, &arguments, Quoting::Statements(Block::default()));
        Some(called.map(|(_, quoting)| match quoting {
            Quoting::Statements(emitted) => emitted,
            Quoting::Expression => Block::default(),
        }))
    }
}

/// A value of the object code as host code holds it.
fn host<'v>(value: HostValue, heap: Heap<'v>) -> Value<'v> {
    match value {
        HostValue::Symbol(binding) => heap.alloc(SymbolValue(binding)),
        HostValue::Expression(quoted) => heap.alloc(QuotedExprValue(quoted)),
        HostValue::Statements(quoted) => heap.alloc(QuotedBlockValue(quoted)),
        HostValue::Int(_)
        | HostValue::Float(_)
        | HostValue::Bool(_)
        | HostValue::Precision(_)
        | HostValue::Memory(_)
        | HostValue::Proc(_)
        | HostValue::Extern(_)
        | HostValue::Text(_)
        | HostValue::Config(_)
        | HostValue::ConfigField(_)
        | HostValue::Slice(..)
        | HostValue::Tuple(_)
        | HostValue::Other(_) => Value::new_none(),
    }
}

/// What `{...}` gives; between brackets it may be several indices.
pub(crate) fn spliced_value(value: Value<'_>) -> starlark::Result<HostValue> {
    if let Some(slice) = SliceValue::from_value(value) {
        let boxed = |bound: &Option<HostValue>| bound.clone().map(Box::new);
        return Ok(HostValue::Slice(boxed(&slice.lo), boxed(&slice.hi)));
    }
    match TupleRef::from_value(value) {
        Some(tuple) => {
            let items = tuple.iter().map(|item| match TupleRef::from_value(item) {
                Some(_) => Ok(HostValue::Other("tuple".to_string())),
                None => spliced_value(item),
            });
            Ok(HostValue::Tuple(items.collect::<starlark::Result<_>>()?))
        }
        None => host_value(value),
    }
}
