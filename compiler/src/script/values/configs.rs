//! Configs and their fields as values of host code.

use allocative::Allocative;
use starlark::starlark_simple_value;
use starlark::values::list::UnpackList;
use starlark::values::{Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value};
use starlark::values::{ValueLike, starlark_value};

use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::hardware::config::{Config, ConfigField, FieldType};
use crate::hardware::precision::Precision;
use crate::script::errors::refused;

/// A config.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct ConfigValue(#[allocative(skip)] pub Config);
starlark_simple_value!(ConfigValue);

impl std::fmt::Display for ConfigValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

#[starlark_value(type = "config")]
impl<'v> StarlarkValue<'v> for ConfigValue {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<ConfigValue>().is_some_and(|other| other.0 == self.0))
    }

    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        self.0.field(attribute).map(|field| heap.alloc(ConfigFieldValue(field)))
    }

    fn dir_attr(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.name().to_string()).collect()
    }
}

/// A field of a config.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct ConfigFieldValue(#[allocative(skip)] pub ConfigField);
starlark_simple_value!(ConfigFieldValue);

impl std::fmt::Display for ConfigFieldValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[starlark_value(type = "config_field")]
impl<'v> StarlarkValue<'v> for ConfigFieldValue {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<ConfigFieldValue>().is_some_and(|other| other.0 == self.0))
    }
}

/// Makes the config of a definition whose fields are `[name, type word]`.
pub(crate) fn defined(name: &str, fields: UnpackList<(&str, &str)>, readwrite: bool) -> starlark::Result<ConfigValue> {
    let mut typed = Vec::new();
    for (field, word) in fields.items {
        let Some(ty) = field_type(word) else {
            let message = format!("the field `{name}.{field}` cannot have the type `{word}`");
            let diagnostic = Diagnostic::error(codes::TYPE, message)
                .hint("fields are `size`, `index`, `bool`, `stride` or a concrete precision such as `f32`");
            return Err(refused(Refusal::new(RefusalKind::Type, name, diagnostic)));
        };
        typed.push((field.to_string(), ty));
    }
    Ok(ConfigValue(Config::new(name, typed, readwrite)))
}

fn field_type(word: &str) -> Option<FieldType> {
    match word {
        "size" => Some(FieldType::Size),
        "index" => Some(FieldType::Index),
        "bool" => Some(FieldType::Bool),
        "stride" => Some(FieldType::Stride),
        other => Precision::from_word(other).filter(|precision| *precision != Precision::R).map(FieldType::Data),
    }
}
