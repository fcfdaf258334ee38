//! The prelude: what every module finds in scope (design/01).

#![allow(clippy::too_many_arguments, reason = "the parameters of a native function are what users write")]

use std::collections::BTreeSet;
use std::sync::OnceLock;

use starlark::collections::SmallMap;
use starlark::docs::DocType;
use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::UnpackTuple;

use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::hardware::extern_function::{ExternDefinition, ExternFunction, ExternKind};
use crate::hardware::memory::{Copies, Memory, MemoryDefinition, MemoryKind};
use crate::hardware::precision::Precision;
use crate::loop_ir::Control;
use crate::schedule::registry;
use crate::script::define::host_value;
use crate::script::errors::{as_refusal, refused};
use crate::script::hooks;
use crate::script::host::Host;
use crate::script::raw_c::{self, Writer};
use crate::script::values::cc;
use crate::script::values::configs::{self, ConfigValue};
use crate::script::values::cursor::CursorValue;
use crate::script::values::operator::OperatorValue;
use crate::script::values::procedure::ProcedureValue;
use crate::script::values::quotes::SliceValue;
use crate::script::values::words::{ExternValue, FormattedValue, MemoryValue, MissingValue, PrecisionValue, WordValue};
use crate::script::wording::kind;
use crate::symbol::Identity;

/// The part of the prelude that is written in host code.
pub(crate) const SOURCE: &str = include_str!("prelude.star");

/// What the prelude takes from Starlark's library.
const STANDARD: [LibraryExtension; 7] = [
    LibraryExtension::StructType,
    LibraryExtension::RecordType,
    LibraryExtension::EnumType,
    LibraryExtension::Map,
    LibraryExtension::Filter,
    LibraryExtension::Print,
    LibraryExtension::SetType,
];

/// What `type()` of cursors gives, under the names that Exo has for it.
fn exo_types(builder: &mut GlobalsBuilder) {
    for precision in Precision::ALL {
        builder.set(&precision.word().to_uppercase(), PrecisionValue(precision));
    }
    for (name, control) in [
        ("Index", Control::Index),
        ("Bool", Control::Bool),
        ("Size", Control::Size),
        ("Int", Control::Int),
        ("Stride", Control::Stride),
    ] {
        builder.set(name, WordValue(control.word()));
    }
}

/// Native names in scope in every module.
pub(crate) fn globals() -> &'static Globals {
    static GLOBALS: OnceLock<Globals> = OnceLock::new();
    GLOBALS.get_or_init(|| {
        let mut builder = GlobalsBuilder::extended_by(&STANDARD);
        for operator in registry::OPERATORS {
            builder.set(operator.name(), OperatorValue(*operator));
        }
        for precision in Precision::ALL {
            builder.set(precision.word(), PrecisionValue(precision));
        }
        for memory in Memory::builtins() {
            let name = memory.name().to_string();
            builder.set(&name, MemoryValue(memory));
        }
        for function in ExternFunction::builtin() {
            builder.set(&function.name, ExternValue(function.clone()));
        }
        builder.namespace("ExoType", exo_types);
        natives(&mut builder);
        cc::natives(&mut builder);
        crate::script::testing::natives(&mut builder);
        builder.build()
    })
}

/// What [`globals`] adds to Starlark besides operators, what the host part defines, and the methods of procs and cursors.
pub(crate) fn names() -> Vec<String> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let standard = Globals::extended_by(&STANDARD);
    let standard: BTreeSet<&str> = standard.names().map(|name| name.as_str()).collect();
    let natives = globals().names().map(|name| name.as_str());
    names.extend(natives.filter(|name| !standard.contains(name) && registry::find(name).is_none()).map(str::to_string));
    let defined = SOURCE.lines().filter_map(|line| line.strip_prefix("def ")?.split('(').next());
    names.extend(defined.map(str::to_string));
    names.extend(DocType::from_starlark_value::<ProcedureValue>().members.keys().cloned());
    names.extend(DocType::from_starlark_value::<CursorValue>().members.keys().cloned());
    names.into_iter().filter(|name| !name.starts_with('_')).collect()
}

fn refusal_kind(text: &str) -> Option<RefusalKind> {
    [
        RefusalKind::Scheduling,
        RefusalKind::InvalidCursor,
        RefusalKind::Parse,
        RefusalKind::Type,
        RefusalKind::Bounds,
        RefusalKind::Memory,
        RefusalKind::Argument,
        RefusalKind::Unequal,
    ]
    .into_iter()
    .find(|kind| kind.name() == text)
}

/// Calls a host function with arguments collected from a native one.
pub(crate) fn call<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    function: Value<'v>,
    positional: &[Value<'v>],
    named: &DictRef<'v>,
) -> starlark::Result<Value<'v>> {
    let named: Vec<(&str, Value<'v>)> =
        named.iter().filter_map(|(name, value)| Some((name.unpack_str()?, value))).collect();
    eval.eval_function(function, positional, &named)
}

/// What `attempt` returns.
pub(crate) fn outcome<'v>(eval: &Evaluator<'v, '_, '_>, result: Result<Value<'v>, &Refusal>) -> Value<'v> {
    let heap = eval.heap();
    let (ok, value, error) = match result {
        Ok(value) => (true, value, Value::new_none()),
        Err(refusal) => {
            let error = heap.alloc(AllocStruct([
                ("kind", heap.alloc(refusal.kind.name())),
                ("message", heap.alloc(refusal.message())),
                ("operator", heap.alloc(refusal.operator.as_str())),
            ]));
            (false, Value::new_none(), error)
        }
    };
    heap.alloc(AllocStruct([("ok", Value::new_bool(ok)), ("value", value), ("error", error)]))
}

fn malformed_memory(name: &str, reason: &str) -> starlark::Error {
    let diagnostic = Diagnostic::error(codes::ARGUMENT, format!("memory `{name}`: {reason}"));
    refused(Refusal::new(RefusalKind::Argument, "memory", diagnostic))
}

#[starlark_module]
fn natives(builder: &mut GlobalsBuilder) {
    /// Calls `f` and returns a record: `.ok`, `.value`, `.error` (`.kind`, `.message`, `.operator`). Catches refusals only.
    fn attempt<'v>(
        #[starlark(require = pos)] f: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] kwargs: DictRef<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        match call(eval, f, &args.items, &kwargs) {
            Ok(value) => Ok(outcome(eval, Ok(value))),
            Err(error) => match as_refusal(&error) {
                Some(refusal) => Ok(outcome(eval, Err(refusal))),
                None => Err(error),
            },
        }
    }

    /// Refuses on behalf of a library; `attempt` sees it like an operator's refusal.
    fn refuse<'v>(
        #[starlark(require = pos)] message: &str,
        #[starlark(default = "scheduling")] kind: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let Some(kind) = refusal_kind(kind) else {
            return Err(starlark::Error::new_other(anyhow::anyhow!("there is no kind of refusal `{kind}`")));
        };
        let operator = eval.call_stack().into_frames().into_iter().rev().nth(1).map_or("refuse".into(), |f| f.name);
        Err(refused(Refusal::new(kind, operator, Diagnostic::error(codes::LIBRARY, message))))
    }

    /// The texts after `--` in `exo run FILE -- TEXT...`, as a list; empty everywhere else.
    fn arguments<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let host = Host::of(eval)?;
        let given = host.arguments.borrow().clone();
        let run = host.loading.borrow().first().map(|module| module.pack.clone());
        // What a dependency does is what was verified, whatever the user's program is told.
        let strange = host.authors(eval).into_iter().find(|author| run.as_ref() != Some(&author.pack));
        if let Some(author) = strange.filter(|_| !given.is_empty()) {
            let message =
                format!("`{author}` asks for the arguments of `exo run`, and is no module of the program that is run");
            let diagnostic = Diagnostic::error(codes::TEST, message);
            return Err(crate::script::errors::failed(vec![
                diagnostic.hint("take what the function needs as a parameter"),
            ]));
        }
        Ok(eval.heap().alloc(given))
    }

    /// A value that stands for a feature that is not there; using it is a refusal with this message.
    fn missing<'v>(#[starlark(require = pos)] message: &str) -> starlark::Result<MissingValue> {
        Ok(MissingValue(message.to_string()))
    }

    /// An expression for an operator with `_` holes that the cursors' expressions fill, in order.
    fn FormattedExprStr<'v>(
        #[starlark(require = pos)] text: &str,
        #[starlark(args)] holes: UnpackTuple<Value<'v>>,
    ) -> starlark::Result<FormattedValue> {
        let holes = holes
            .items
            .iter()
            .map(|value| match CursorValue::from_value(*value) {
                Some(cursor) => Ok(cursor.0.clone()),
                None => {
                    let message = format!("holes are filled by expression cursors, not by {}", kind(value.get_type()));
                    let diagnostic = Diagnostic::error(codes::ARGUMENT, message);
                    Err(refused(Refusal::new(RefusalKind::Argument, "FormattedExprStr", diagnostic)))
                }
            })
            .collect::<starlark::Result<_>>()?;
        Ok(FormattedValue { text: text.to_string(), holes })
    }

    /// A memory: where a buffer lives, and how C declares, addresses, reads and writes it there.
    ///
    /// Its functions return C as text. They are called when C is generated, once for each buffer or access, and
    /// may refuse with `refuse(message, kind = "memory")`:
    ///
    ///     alloc(name, prim_type, shape, srcinfo)    the declaration of a buffer, a statement
    ///     free(name, prim_type, shape, srcinfo)     the statement that gives it back, or ""
    ///     window(basetyp, baseptr, indices, strides, srcinfo)
    ///                                               the element at `indices` as an lvalue: of elements
    ///                                               that plain C reads or writes, and the first of
    ///                                               windows that go to instructions and calls
    ///     read(place)                               the value of that element
    ///     write(srcinfo, lhs, rhs)                  the statement for `lhs = rhs`
    ///     reduce(srcinfo, lhs, rhs)                 the statement for `lhs += rhs`
    ///     global_()                                 C that a file needs once; a text will do
    ///
    /// `name`, `baseptr`, `place`, `lhs` and `rhs` are C as text; `prim_type` is the C type of an element, such
    /// as "float"; `shape`, `indices` and `strides` are lists of C expressions as text, outermost dimension
    /// first, so that an extent of eight is "8"; what is not one operand comes in parentheses. `basetyp` is a record: `basetyp.ctype` is the C type, and
    /// `basetyp.is_win` says whether `baseptr` is a window struct with `.data` and `.strides`, as it is in a
    /// callee; a memory whose places are no sums of index times stride has to refuse that. `place` and `lhs`
    /// are what `window` returned. `srcinfo` is kept for code from Exo and is empty.
    ///
    /// A function that is left out is taken from `base`. Without one, buffers cannot be allocated, and single
    /// elements not be written; without `window`, `baseptr` is a pointer or an array with row-major strides.
    /// `can_read = True` lets plain C read single elements, by `read` where there is one.
    ///
    /// With `base = StaticMemory` buffers take numbered places, `capacity` of them: `alloc` and `free` get the
    /// number as a fifth argument.
    ///
    /// `fill` and `drain` are for conformance tests: C templates that copy between a buffer `{register}` and
    /// dense `{elements}`, `{count}` of them, of extents `{d0}`, `{d1}`.
    fn memory<'v>(
        name: &str,
        #[starlark(require = named, default = NoneOr::None)] alloc: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] free: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] window: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] read: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] write: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] reduce: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] can_read: NoneOr<bool>,
        #[starlark(require = named, default = NoneOr::None)] global_: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] base: NoneOr<&MemoryValue>,
        #[starlark(require = named, default = NoneOr::None)] capacity: NoneOr<i64>,
        #[starlark(require = named, default = NoneOr::None)] fill: NoneOr<&str>,
        #[starlark(require = named, default = NoneOr::None)] drain: NoneOr<&str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let base = base.into_option().map(|base| base.0.clone());
        let can_read = can_read.into_option().unwrap_or_else(|| base.as_ref().is_some_and(|base| base.can_read));
        let copies = match (fill.into_option(), drain.into_option()) {
            (Some(fill), Some(drain)) => Some(Copies { fill: fill.to_string(), drain: drain.to_string() }),
            (None, None) => base.as_ref().and_then(|base| base.copies.clone()),
            (Some(_), None) | (None, Some(_)) => return Err(malformed_memory(name, "`fill` and `drain` go together")),
        };
        let memory = Memory::new(MemoryDefinition {
            identity: Identity::fresh(),
            name: name.to_string(),
            base,
            kind: MemoryKind::User,
            can_read,
            capacity: capacity.into_option(),
            copies,
        });
        let mut functions = SmallMap::new();
        for (name, function) in [
            ("alloc", alloc),
            ("free", free),
            ("window", window),
            ("read", read),
            ("write", write),
            ("reduce", reduce),
            ("global_", global_),
        ] {
            if let Some(function) = function.into_option() {
                functions.insert(name, function);
            }
        }
        let host = Host::of(eval)?;
        raw_c::note_functions(host, Writer::Memory, name, &host.authors(eval))?;
        let value = eval.heap().alloc(MemoryValue(memory));
        hooks::remember(eval, value, functions);
        Ok(value)
    }

    /// A scalar C function that object code may call in expressions.
    ///
    /// `c` returns the call as a C expression. `globals` is C that a file needs once for each element type, a
    /// text or a function:
    ///
    ///     c(args, prim_type)      args: the arguments as C expressions
    ///     globals(prim_type)      prim_type: the C type of the elements, such as "float"
    ///
    /// All arguments and the result have the precision of the place where the call stands. `arity` is the
    /// number of arguments; left out, any number is taken. `typecheck(precisions)` is asked about each call, with
    /// a list of the precisions of its arguments: where a definition is made, unless a precision is still open
    /// (`R`), and where C is generated. It returns the precision of the result or `None`, and refuses what it
    /// does not take: `refuse("only f32", kind = "type")`.
    ///
    /// An extern means a pure function of its arguments, and nothing else is known of it. Operators move calls
    /// as they move any value; `check_equal` and `claim` take it as an unknown function, so that two procs are
    /// equal only where they call it with equal arguments. `check_c` cannot know its values and says so. That
    /// the C is such a function, without effects, is for its author to see to.
    fn r#extern<'v>(
        #[starlark(require = pos)] name: &str,
        #[starlark(require = named)] c: Value<'v>,
        #[starlark(require = named, default = NoneOr::None)] arity: NoneOr<i32>,
        #[starlark(require = named, default = NoneOr::None)] typecheck: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] globals: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let arity = arity.into_option().and_then(|arity| usize::try_from(arity).ok());
        let function = ExternFunction::new(ExternDefinition {
            identity: Identity::fresh(),
            name: name.to_string(),
            arity,
            kind: ExternKind::User,
        });
        let mut functions = SmallMap::new();
        functions.insert("c", c);
        for (name, function) in [("typecheck", typecheck), ("globals", globals)] {
            if let Some(function) = function.into_option() {
                functions.insert(name, function);
            }
        }
        let host = Host::of(eval)?;
        raw_c::note_functions(host, Writer::Extern, name, &host.authors(eval))?;
        let value = eval.heap().alloc(ExternValue(function));
        hooks::remember(eval, value, functions);
        Ok(value)
    }

    /// Refuses to keep what makes C for a later call, which no line of the pack that says so would be part of.
    fn __calls_later__<'v>(#[starlark(require = pos)] values: UnpackList<Value<'v>>) -> starlark::Result<NoneOr<i32>> {
        match values.items.iter().find_map(|value| raw_c::maker_of_c(*value)) {
            None => Ok(NoneOr::None),
            Some(name) => {
                let message = format!("`partial` does not keep `{name}`, which makes C");
                let hint = format!("write a function that calls `{name}`, so that its module counts the C");
                let diagnostic = Diagnostic::error(codes::TEMPLATE, message).hint(hint);
                Err(crate::script::errors::failed(vec![diagnostic]))
            }
        }
    }

    /// What `@config class` becomes.
    fn __config__<'v>(
        #[starlark(require = pos)] name: &str,
        #[starlark(require = pos)] fields: UnpackList<(&'v str, &'v str)>,
        #[starlark(require = pos)] readwrite: bool,
    ) -> starlark::Result<ConfigValue> {
        configs::defined(name, fields, readwrite)
    }

    /// C and header text of procs compiled together.
    fn compile_procs_to_strings<'v>(
        #[starlark(require = pos)] procs: UnpackList<&ProcedureValue>,
        #[starlark(require = pos)] header_name: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<(String, String)> {
        let procs: Vec<_> = procs.items.iter().map(|procedure| procedure.0.ir().clone()).collect();
        let options = crate::codegen::Options { header_name: header_name.to_string(), emulate: false, checked: false };
        let output = crate::script::c_text::compile(&procs, &options, eval).map_err(refused)?;
        Ok((output.c, output.header))
    }

    /// Part of a dimension, for `{...}` between brackets: `x[{slice(0, 4)}]` is `x[0:4]`. `None` leaves a bound out.
    fn slice<'v>(
        #[starlark(require = pos)] lo: Value<'v>,
        #[starlark(require = pos)] hi: Value<'v>,
    ) -> starlark::Result<SliceValue> {
        let bound = |value: Value<'v>| match value.is_none() {
            true => Ok(None),
            false => host_value(value).map(Some),
        };
        Ok(SliceValue { lo: bound(lo)?, hi: bound(hi)? })
    }

    /// The sum of a list of numbers.
    fn sum<'v>(
        #[starlark(require = pos)] values: Value<'v>,
        #[starlark(default = 0)] start: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let mut total = start;
        for value in values.iterate(heap)? {
            total = total.add(value, heap)?;
        }
        Ok(total)
    }
}
