//! The sections `[[kernel]]`: what `exo build` builds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::table::{Section, describe};
use super::{Spanned, Value};
use crate::name::nearest;

/// One kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// The C symbol and the stem of the files.
    pub name: Spanned<String>,
    /// The `@proc` to start from.
    pub algorithm: Spanned<Reference>,
    /// How it is scheduled; `None` compiles the algorithm as it stands.
    pub schedule: Option<Schedule>,
    /// The targets to build for, in the order of the text; none means portable C.
    pub targets: Vec<Spanned<TargetReference>>,
    /// Arguments handed to the schedule by name.
    pub args: BTreeMap<String, Value>,
    /// Sizes that `exo bench` times it on, by the names of its control arguments: one run for each.
    pub bench: Vec<BTreeMap<String, i64>>,
    /// Where the kernel stands in the manifest: the place of its name.
    pub span: Range<usize>,
}

/// How a kernel is scheduled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// By one function on every target.
    Everywhere(Spanned<Reference>),
    /// By a function that depends on the target; the key is a target as written in `targets`, or `*` for all others.
    ByTarget(BTreeMap<String, Spanned<Reference>>),
}

impl Schedule {
    /// The function for a target as written in `targets`, if the manifest names one.
    pub fn for_target(&self, target: &str) -> Option<&Spanned<Reference>> {
        match self {
            Self::Everywhere(reference) => Some(reference),
            Self::ByTarget(table) => table.get(target).or_else(|| table.get("*")),
        }
    }
}

/// The name of a value in a module: `name` (in this pack's `src/lib.exo`), `module:name` or `pack.module:name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// The dotted module, `neon_conv2d` or `std.vectorize`; `None` for this pack's `src/lib.exo`.
    pub module: Option<String>,
    /// The name inside the module.
    pub name: String,
}

/// A target: `pack`, which exports `target`, or `pack:value`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetReference {
    /// The dotted module that exports the target.
    pub module: String,
    /// The value's name; `None` for `target`.
    pub value: Option<String>,
}

impl TargetReference {
    /// The name of the value, `target` unless stated.
    pub fn value_name(&self) -> &str {
        self.value.as_deref().unwrap_or("target")
    }

    /// The name of the directory under `build/`: the text with `-` for `:` and for `.`.
    pub fn directory_name(&self) -> String {
        self.to_string().replace([':', '.'], "-")
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.module {
            Some(module) => write!(f, "{module}:{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl fmt::Display for TargetReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}:{value}", self.module),
            None => f.write_str(&self.module),
        }
    }
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (module, name) = match text.split_once(':') {
            Some((module, name)) => (Some(module), name),
            None => (None, text),
        };
        if !is_identifier(name) || !module.is_none_or(is_dotted) {
            return Err(format!("`{text}` does not name a value of a module"));
        }
        Ok(Self { module: module.map(str::to_owned), name: name.to_owned() })
    }
}

impl FromStr for TargetReference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (module, value) = match text.split_once(':') {
            Some((module, value)) => (module, Some(value)),
            None => (text, None),
        };
        if !is_dotted(module) || !value.is_none_or(is_identifier) {
            return Err(format!("`{text}` does not name a target"));
        }
        Ok(Self { module: module.to_owned(), value: value.map(str::to_owned) })
    }
}

/// Whether a text is an identifier of the language (and of C).
fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a text is a module: identifiers with dots between them.
fn is_dotted(text: &str) -> bool {
    text.split('.').all(is_identifier)
}

/// Reads all `[[kernel]]` sections.
pub(super) fn read(root: &mut Section<'_, '_>) -> Vec<Kernel> {
    let Some(tables) = root.tables("kernel") else {
        return Vec::new();
    };
    let fallback = root.key_span("kernel");
    let mut kernels: Vec<Kernel> = Vec::new();
    for table in tables {
        let span = table.span().unwrap_or_else(|| fallback.clone());
        let mut section = root.nested("`[[kernel]]`".to_owned(), table, span);
        let kernel = read_one(&mut section);
        section.finish();
        let Some(kernel) = kernel else { continue };
        // Two files that differ in case only are one file on some systems.
        match kernels.iter().find(|seen| seen.name.value.eq_ignore_ascii_case(&kernel.name.value)) {
            Some(seen) => {
                let message =
                    format!("kernels `{}` and `{}` would share their files", seen.name.value, kernel.name.value);
                root.error(message, kernel.name.span, Some("give one of them another name".to_owned()));
            }
            None => kernels.push(kernel),
        }
    }
    kernels
}

/// Reads one `[[kernel]]`.
fn read_one(section: &mut Section<'_, '_>) -> Option<Kernel> {
    let name = section.required("name", |text| {
        if is_identifier(text) {
            Ok(text.to_owned())
        } else {
            let hint = "a kernel's name becomes a function of C: letters, digits and `_`".to_owned();
            Err((format!("`{text}` is not a C identifier"), Some(hint)))
        }
    });
    let algorithm = section.required("algorithm", read_reference);
    let targets = read_targets(section);
    let (schedule, schedule_is_sound) = match read_schedule(section, &targets) {
        Ok(schedule) => (schedule, true),
        Err(()) => (None, false),
    };
    let args = section.free_table("args");
    for (key, value) in &args {
        let place = section.key_span("args");
        if !is_identifier(key) {
            section.error(format!("argument `{key}` is not an identifier"), place, None);
        } else if value.contains_datetime() {
            let hint = Some("write it as a string".to_owned());
            section.error(format!("argument `{key}` contains a date, which the language does not have"), place, hint);
        }
    }
    let bench = read_bench(section);
    let (name, algorithm) = (name?, algorithm?);
    schedule_is_sound.then(|| Kernel { span: name.span.clone(), name, algorithm, schedule, targets, args, bench })
}

/// Reads `bench`: a table of sizes, or a list of them.
fn read_bench(section: &mut Section<'_, '_>) -> Vec<BTreeMap<String, i64>> {
    let Some((item, span)) = section.any("bench") else {
        return Vec::new();
    };
    let tables: Option<Vec<BTreeMap<String, Value>>> = if let Some(table) = item.as_table_like() {
        Some(vec![Value::from_table(table)])
    } else if let Some(tables) = item.as_array_of_tables() {
        Some(tables.iter().map(|table| Value::from_table(table)).collect())
    } else {
        let tables = item.as_array().map(|array| array.iter());
        tables.and_then(|values| {
            values.map(|value| value.as_inline_table().map(|table| Value::from_table(table))).collect()
        })
    };
    let hint = "write `bench = [{ n = 1024 }]`, with a value for each size that the kernel takes";
    let Some(tables) = tables else {
        section.error("`bench` must be a list of tables of sizes".to_owned(), span, Some(hint.to_owned()));
        return Vec::new();
    };
    let mut read = Vec::new();
    for table in tables {
        let mut sizes = BTreeMap::new();
        for (name, value) in table {
            match value {
                Value::Integer(number) => drop(sizes.insert(name, number)),
                Value::Boolean(flag) => drop(sizes.insert(name, i64::from(flag))),
                Value::Float(_) | Value::String(_) | Value::Array(_) | Value::Datetime(_) | Value::Table(_) => {
                    let message = format!("`{name}` of `bench` must be an integer or a boolean");
                    section.error(message, span.clone(), Some(hint.to_owned()));
                }
            }
        }
        read.push(sizes);
    }
    read
}

/// Reads a reference, for the reader of tables.
fn read_reference(text: &str) -> Result<Reference, (String, Option<String>)> {
    text.parse().map_err(|message| {
        (message, Some("write `name`, `module:name` or `pack.module:name`, with `_` for `-`".to_owned()))
    })
}

/// Reads `targets`.
fn read_targets(section: &mut Section<'_, '_>) -> Vec<Spanned<TargetReference>> {
    let mut targets: Vec<Spanned<TargetReference>> = Vec::new();
    for text in section.strings("targets") {
        match text.value.parse::<TargetReference>() {
            Ok(target) if targets.iter().any(|seen| seen.value == target) => {
                section.error(format!("target `{target}` is listed twice"), text.span, None);
            }
            Ok(value) => targets.push(Spanned { value, span: text.span }),
            Err(message) => {
                let hint = "write the import name of a pack, or `pack:value`".to_owned();
                section.error(message, text.span, Some(hint));
            }
        }
    }
    targets
}

/// Reads `schedule`; `Err` when a mistake was reported.
fn read_schedule(section: &mut Section<'_, '_>, targets: &[Spanned<TargetReference>]) -> Result<Option<Schedule>, ()> {
    let Some((item, span)) = section.any("schedule") else {
        return Ok(None);
    };
    if item.is_str() {
        return section
            .optional("schedule", read_reference)
            .map(|reference| Some(Schedule::Everywhere(reference)))
            .ok_or(());
    }
    let Some(table) = item.as_table_like() else {
        let message = format!("`schedule` must be a string or a table by target, not {}", describe(item));
        section.error(message, span, None);
        return Err(());
    };
    let names: BTreeSet<String> = targets.iter().map(|target| target.value.to_string()).collect();
    let mut by_target = BTreeMap::new();
    let mut refused = false;
    let nested = section.nested("`schedule`".to_owned(), table, span.clone());
    for (key, value, key_span) in nested.entries() {
        let place = value.span().unwrap_or_else(|| key_span.clone());
        let reference = match value.as_str() {
            Some(text) => read_reference(text),
            None => Err((format!("the schedule for `{key}` must be a string, not {}", describe(value)), None)),
        };
        if key != "*" && !names.contains(key) {
            let near =
                nearest(key, names.iter().map(String::as_str)).first().map(|near| format!("did you mean `{near}`?"));
            section.error(format!("`{key}` has a schedule but is not in `targets`"), key_span, near);
            refused = true;
        }
        match reference {
            Ok(reference) => {
                by_target.insert(key.to_owned(), Spanned { value: reference, span: place });
            }
            Err((message, hint)) => {
                section.error(message, place, hint);
                refused = true;
            }
        }
    }
    let schedule = Schedule::ByTarget(by_target);
    if !refused {
        for target in targets {
            let name = target.value.to_string();
            if schedule.for_target(&name).is_none() {
                let hint = format!("add `{name} = \"…\"` or `\"*\" = \"…\"` to `schedule`");
                section.error(format!("target `{name}` has no schedule"), target.span.clone(), Some(hint));
                refused = true;
            }
        }
    }
    if refused { Err(()) } else { Ok(Some(schedule)) }
}
