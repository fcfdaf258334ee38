//! Configuration state: named records of global fields that instructions read and write.

use std::sync::Arc;

use crate::hardware::precision::Precision;
use crate::symbol::Sym;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    Size,
    Index,
    Bool,
    Stride,
    Data(Precision),
}

impl FieldType {
    pub fn word(self) -> &'static str {
        match self {
            FieldType::Size => "size",
            FieldType::Index => "index",
            FieldType::Bool => "bool",
            FieldType::Stride => "stride",
            FieldType::Data(precision) => precision.word(),
        }
    }

    /// The type of the field in C.
    pub fn c_type(self) -> &'static str {
        match self {
            FieldType::Size | FieldType::Index | FieldType::Stride => "int_fast32_t",
            FieldType::Bool => "bool",
            FieldType::Data(precision) => precision.c_type(),
        }
    }
}

#[derive(Debug)]
struct Field {
    name: String,
    ty: FieldType,
    symbol: Sym,
}

#[derive(Debug)]
struct Node {
    name: String,
    readwrite: bool,
    fields: Vec<Field>,
}

/// One `@config` definition. Two definitions are two configs, however alike they look.
#[derive(Clone, Debug)]
pub struct Config(Arc<Node>);

impl Config {
    /// `readwrite`: whether C outside instructions may touch the fields; otherwise they are no memory at all.
    pub fn new(name: &str, fields: Vec<(String, FieldType)>, readwrite: bool) -> Self {
        let field = |(field, ty): (String, FieldType)| {
            let symbol = Sym::new(&format!("{name}.{field}"));
            Field { name: field, ty, symbol }
        };
        Config(Arc::new(Node { name: name.to_string(), readwrite, fields: fields.into_iter().map(field).collect() }))
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn is_readwrite(&self) -> bool {
        self.0.readwrite
    }

    /// In the order of the definition.
    pub fn fields(&self) -> Vec<ConfigField> {
        (0..self.0.fields.len()).map(|position| ConfigField { config: self.clone(), position }).collect()
    }

    pub fn field(&self, name: &str) -> Option<ConfigField> {
        let position = self.0.fields.iter().position(|field| field.name == name)?;
        Some(ConfigField { config: self.clone(), position })
    }
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Config {}

/// One field of one config.
#[derive(Clone)]
pub struct ConfigField {
    config: Config,
    position: usize,
}

impl ConfigField {
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn field(&self) -> Option<&Field> {
        self.config.0.fields.get(self.position)
    }

    pub fn name(&self) -> &str {
        self.field().map_or("", |field| field.name.as_str())
    }

    pub fn ty(&self) -> FieldType {
        self.field().map_or(FieldType::Index, |field| field.ty)
    }

    /// Stands for the field where analyses speak of places: spelled `Config.field`, and the same in all procs. As a
    /// control variable it is the value that the field has when the proc is entered.
    pub fn symbol(&self) -> Sym {
        self.field().map_or_else(|| Sym::new(""), |field| field.symbol.clone())
    }
}

impl PartialEq for ConfigField {
    fn eq(&self, other: &Self) -> bool {
        self.config == other.config && self.position == other.position
    }
}

impl Eq for ConfigField {}

/// By spelling, then age.
impl Ord for ConfigField {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.symbol().cmp(&other.symbol())
    }
}

impl PartialOrd for ConfigField {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Display for ConfigField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.config.name(), self.name())
    }
}

impl std::fmt::Debug for ConfigField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
