//! Procs as host code sees them.

use allocative::Allocative;
use starlark::environment::{Methods, MethodsBuilder};
use starlark::eval::Evaluator;
use starlark::starlark_simple_value;
use starlark::values::none::NoneOr;
use starlark::values::{NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};
use starlark::{methods_static, starlark_module};

use crate::cursor::{BlockPlace, Path, Place};
use crate::print;
use crate::schedule::argument::RawValue;
use crate::schedule::{Cursor, Procedure};
use crate::script::host::Host;
use crate::script::values::cursor::{self, CursorValue};

/// A proc with its history.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct ProcedureValue(#[allocative(skip)] pub Procedure);
starlark_simple_value!(ProcedureValue);

impl std::fmt::Display for ProcedureValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&print::proc(self.0.ir()))
    }
}

methods_static!(PROCEDURE_METHODS = procedure_methods);

#[starlark_value(type = "proc")]
impl<'v> StarlarkValue<'v> for ProcedureValue {
    fn get_methods() -> Option<&'static Methods> {
        Some(PROCEDURE_METHODS.methods())
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(ProcedureValue::from_value(other).is_some_and(|other| other.0 == self.0))
    }
}

impl ProcedureValue {
    fn cursor(&self, place: Place) -> CursorValue {
        CursorValue(Cursor { procedure: self.0.clone(), place })
    }
}

#[starlark_module]
fn procedure_methods(builder: &mut MethodsBuilder) {
    fn name(this: &ProcedureValue) -> starlark::Result<String> {
        Ok(this.0.ir().name.to_string())
    }

    fn args(this: &ProcedureValue) -> starlark::Result<CursorValue> {
        Ok(this.cursor(Place::ArgList { lo: 0, hi: this.0.ir().args.len() }))
    }

    fn body(this: &ProcedureValue) -> starlark::Result<CursorValue> {
        let hi = this.0.ir().body.len();
        Ok(this.cursor(Place::Block(BlockPlace { parent: Path::root(), orelse: false, lo: 0, hi })))
    }

    fn find<'v>(
        this: &ProcedureValue,
        #[starlark(require = pos)] pattern: &str,
        #[starlark(default = false)] many: bool,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        cursor::find(&this.0, None, pattern, many, eval)
    }

    fn find_all<'v>(
        this: &ProcedureValue,
        #[starlark(require = pos)] pattern: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        cursor::find(&this.0, None, pattern, true, eval)
    }

    fn find_loop<'v>(
        this: &ProcedureValue,
        #[starlark(require = pos)] pattern: &str,
        #[starlark(default = false)] many: bool,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        cursor::find(&this.0, None, &cursor::loop_pattern(pattern), many, eval)
    }

    fn find_alloc_or_arg<'v>(
        this: &ProcedureValue,
        #[starlark(require = pos)] pattern: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let name = pattern.split('#').next().unwrap_or(pattern).trim();
        if let Some(at) = this.0.ir().args.iter().position(|arg| arg.name.name() == name) {
            return Ok(eval.heap().alloc(this.cursor(Place::Arg(at))));
        }
        cursor::find(&this.0, None, &cursor::alloc_pattern(pattern), false, eval)
    }

    fn forward(
        this: &ProcedureValue,
        #[starlark(require = pos)] cursor: &CursorValue,
    ) -> starlark::Result<CursorValue> {
        cursor::forward(&this.0, &cursor.0).map(CursorValue)
    }

    fn is_instr(this: &ProcedureValue) -> starlark::Result<bool> {
        Ok(this.0.ir().instr.is_some())
    }

    fn get_instr<'v>(this: &ProcedureValue, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        Ok(match &this.0.ir().instr {
            Some(instr) => eval.heap().alloc(instr.template.as_str()),
            None => Value::new_none(),
        })
    }

    fn add_assertion<'v>(
        this: &ProcedureValue,
        #[starlark(require = pos)] text: &str,
        #[starlark(default = NoneOr::None)] configs: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ProcedureValue> {
        let mut arguments = vec![RawValue::Text(text.to_string())];
        if let Some(configs) = configs.into_option() {
            arguments.push(Host::raw(configs)?);
        }
        Host::of(eval)?.apply_named("add_assertion", &this.0, arguments, Vec::new()).map(ProcedureValue)
    }

    fn partial_eval<'v>(
        this: &ProcedureValue,
        #[starlark(args)] positional: starlark::values::tuple::UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: starlark::values::dict::DictRef<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ProcedureValue> {
        let positional = positional.items.iter().map(|value| Host::raw(*value)).collect::<Result<Vec<_>, _>>()?;
        let named = named
            .iter()
            .map(|(name, value)| Ok((name.unpack_str().unwrap_or_default().to_string(), Host::raw(value)?)))
            .collect::<starlark::Result<Vec<_>>>()?;
        let arguments = crate::schedule::operators::procedures::partial_eval::arguments(this.0.ir(), positional, named)
            .map_err(crate::script::errors::refused)?;
        Host::of(eval)?.apply_named("partial_eval", &this.0, arguments.positional, arguments.named).map(ProcedureValue)
    }

    fn transpose<'v>(
        this: &ProcedureValue,
        #[starlark(require = pos)] argument: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ProcedureValue> {
        let arguments = vec![Host::raw(argument)?];
        Host::of(eval)?.apply_named("transpose", &this.0, arguments, Vec::new()).map(ProcedureValue)
    }

    /// Whether both procs derive from one algorithm by proven steps, without a change of precision or of what
    /// configuration state is left.
    fn is_eq(this: &ProcedureValue, #[starlark(require = pos)] other: &ProcedureValue) -> starlark::Result<bool> {
        let (mine, theirs) = (&this.0.ir().lineage, &other.0.ir().lineage);
        // A waived step proves nothing; the shared record says that both descend from the same one.
        let nothing_waived = mine.waived.is_empty() && theirs.waived.is_empty();
        let proven = nothing_waived || std::sync::Arc::ptr_eq(&mine.waived, &theirs.waived);
        Ok(proven
            && mine.family == theirs.family
            && mine.precision_class == theirs.precision_class
            && mine.modulo(theirs).is_empty())
    }

    fn c_code_str<'v>(this: &ProcedureValue, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<String> {
        crate::script::c_text::proc_text(&this.0, eval)
    }
}
