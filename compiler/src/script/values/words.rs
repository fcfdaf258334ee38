//! Small immutable values: precisions, control-type words, memories, externs, formatted fragments, missing features.

use allocative::Allocative;
use starlark::environment::{Methods, MethodsBuilder};
use starlark::eval::{Arguments, Evaluator};
use starlark::values::{NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};
use starlark::{methods_static, starlark_module, starlark_simple_value};

use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::hardware::extern_function::ExternFunction;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::schedule::Cursor;
use crate::script::errors::refused;

methods_static!(PRECISION_METHODS = precision_methods);
methods_static!(WORD_METHODS = word_methods);
methods_static!(MEMORY_METHODS = memory_methods);

/// What Exo's `ExoType` answers, for a type of data.
#[starlark_module]
fn precision_methods(builder: &mut MethodsBuilder) {
    fn is_numeric(this: &PrecisionValue) -> starlark::Result<bool> {
        let _ = this;
        Ok(true)
    }

    fn is_bool(this: &PrecisionValue) -> starlark::Result<bool> {
        let _ = this;
        Ok(false)
    }

    fn is_indexable(this: &PrecisionValue) -> starlark::Result<bool> {
        let _ = this;
        Ok(false)
    }
}

/// The same for a type of control. Strides count as indexable, as there.
#[starlark_module]
fn word_methods(builder: &mut MethodsBuilder) {
    fn is_numeric(this: &WordValue) -> starlark::Result<bool> {
        let _ = this;
        Ok(false)
    }

    fn is_bool(this: &WordValue) -> starlark::Result<bool> {
        Ok(this.0 == "bool")
    }

    fn is_indexable(this: &WordValue) -> starlark::Result<bool> {
        Ok(matches!(this.0, "size" | "index" | "int" | "stride"))
    }
}

#[starlark_module]
fn memory_methods(builder: &mut MethodsBuilder) {
    fn name(this: &MemoryValue) -> starlark::Result<String> {
        Ok(this.0.name().to_string())
    }
}

/// A precision word such as `f32`.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct PrecisionValue(#[allocative(skip)] pub Precision);
starlark_simple_value!(PrecisionValue);

impl std::fmt::Display for PrecisionValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.word())
    }
}

#[starlark_value(type = "precision")]
impl<'v> StarlarkValue<'v> for PrecisionValue {
    fn get_methods() -> Option<&'static Methods> {
        Some(PRECISION_METHODS.methods())
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        let word = other.unpack_str().is_some_and(|text| text == self.0.word());
        Ok(word || PrecisionValue::from_value(other).is_some_and(|other| other.0 == self.0))
    }

    fn write_hash(&self, hasher: &mut starlark::collections::StarlarkHasher) -> starlark::Result<()> {
        std::hash::Hash::hash(self.0.word(), hasher);
        Ok(())
    }
}

/// A control type of the object language: `size`, `index`, `bool`, `stride`, `int`.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct WordValue(pub &'static str);
starlark_simple_value!(WordValue);

impl std::fmt::Display for WordValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

#[starlark_value(type = "type_word")]
impl<'v> StarlarkValue<'v> for WordValue {
    fn get_methods() -> Option<&'static Methods> {
        Some(WORD_METHODS.methods())
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        let text = other.unpack_str().is_some_and(|text| text == self.0);
        Ok(text || WordValue::from_value(other).is_some_and(|other| other.0 == self.0))
    }
}

/// A memory.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct MemoryValue(#[allocative(skip)] pub Memory);
starlark_simple_value!(MemoryValue);

impl std::fmt::Display for MemoryValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

#[starlark_value(type = "memory")]
impl<'v> StarlarkValue<'v> for MemoryValue {
    fn get_methods() -> Option<&'static Methods> {
        Some(MEMORY_METHODS.methods())
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(MemoryValue::from_value(other).is_some_and(|other| other.0 == self.0))
    }

    fn write_hash(&self, hasher: &mut starlark::collections::StarlarkHasher) -> starlark::Result<()> {
        std::hash::Hash::hash(&self.0.identity, hasher);
        Ok(())
    }

    fn get_attr(&self, attribute: &str, heap: starlark::values::Heap<'v>) -> Option<Value<'v>> {
        match attribute {
            "capacity" => Some(self.0.capacity.map_or(Value::new_none(), |bytes| heap.alloc(bytes))),
            "base" => Some(match &self.0.base {
                Some(base) => heap.alloc(MemoryValue(base.clone())),
                None => Value::new_none(),
            }),
            _ => None,
        }
    }

    fn dir_attr(&self) -> Vec<String> {
        vec!["base".into(), "capacity".into()]
    }
}

/// An extern function.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct ExternValue(#[allocative(skip)] pub ExternFunction);
starlark_simple_value!(ExternValue);

impl std::fmt::Display for ExternValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

#[starlark_value(type = "extern")]
impl<'v> StarlarkValue<'v> for ExternValue {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(ExternValue::from_value(other).is_some_and(|other| other.0 == self.0))
    }
}

/// `FormattedExprStr(text, *cursors)`.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct FormattedValue {
    pub text: String,
    #[allocative(skip)]
    pub holes: Vec<Cursor>,
}
starlark_simple_value!(FormattedValue);

impl std::fmt::Display for FormattedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[starlark_value(type = "formatted_expr")]
impl<'v> StarlarkValue<'v> for FormattedValue {}

/// A feature that a target lacks. It is false, and using it is a refusal that says so.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct MissingValue(pub String);
starlark_simple_value!(MissingValue);

impl MissingValue {
    pub(crate) fn refusal(&self) -> Refusal {
        let diagnostic = Diagnostic::error(codes::LIBRARY, self.0.clone())
            .hint("ask with `has(value, \"field\")` before using it, and choose another way where it is absent");
        Refusal::new(RefusalKind::Scheduling, "target", diagnostic)
    }
}

impl std::fmt::Display for MissingValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<missing: {}>", self.0)
    }
}

#[starlark_value(type = "missing")]
impl<'v> StarlarkValue<'v> for MissingValue {
    fn to_bool(&self) -> bool {
        false
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        _args: &Arguments<'v, '_>,
        _eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        Err(refused(self.refusal()))
    }
}
