//! Free values of the manifest: arguments of kernels and what stands under `[metadata]`.

use std::collections::BTreeMap;

use toml_edit::{Item, TableLike};

/// A value of TOML.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction or an exponent; may be infinite or not a number.
    Float(f64),
    /// A text.
    String(String),
    /// A date, a time or both, in TOML's text form.
    Datetime(String),
    /// A list.
    Array(Vec<Value>),
    /// A table; the order of the text is not kept.
    Table(BTreeMap<String, Value>),
}

impl Value {
    /// The value of an item; `None` for an item that holds nothing.
    pub(super) fn from_item(item: &Item) -> Option<Self> {
        match item {
            Item::None => None,
            Item::Value(value) => Some(Self::from_value(value)),
            Item::Table(table) => Some(Self::Table(Self::from_table(table))),
            Item::ArrayOfTables(tables) => {
                Some(Self::Array(tables.iter().map(|table| Self::Table(Self::from_table(table))).collect()))
            }
        }
    }

    fn from_value(value: &toml_edit::Value) -> Self {
        match value {
            toml_edit::Value::Boolean(value) => Self::Boolean(*value.value()),
            toml_edit::Value::Integer(value) => Self::Integer(*value.value()),
            toml_edit::Value::Float(value) => Self::Float(*value.value()),
            toml_edit::Value::String(value) => Self::String(value.value().clone()),
            toml_edit::Value::Datetime(value) => Self::Datetime(value.value().to_string()),
            toml_edit::Value::Array(values) => Self::Array(values.iter().map(Self::from_value).collect()),
            toml_edit::Value::InlineTable(table) => Self::Table(Self::from_table(table)),
        }
    }

    /// The entries of a table.
    pub(super) fn from_table(table: &dyn TableLike) -> BTreeMap<String, Self> {
        table.iter().filter_map(|(key, item)| Some((key.to_owned(), Self::from_item(item)?))).collect()
    }

    /// Whether a datetime occurs in the value.
    pub(super) fn contains_datetime(&self) -> bool {
        match self {
            Self::Datetime(_) => true,
            Self::Array(values) => values.iter().any(Self::contains_datetime),
            Self::Table(table) => table.values().any(Self::contains_datetime),
            Self::Boolean(_) | Self::Integer(_) | Self::Float(_) | Self::String(_) => false,
        }
    }
}
