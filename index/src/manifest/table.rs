//! A reader of one TOML table that knows where each key stands and which keys nobody asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml_edit::{ArrayOfTables, Item, TableLike};

use super::value::Value;
use super::workspace::{SHARED, is_inherited, nothing_to_inherit};
use super::{ManifestError, Spanned};
use crate::name::nearest;

/// What is wrong with a text, and a hint.
type Refusal = (String, Option<String>);

/// A table being read. Every key asked for is remembered; [`Section::finish`] reports the rest.
pub(super) struct Section<'t, 'e> {
    /// How messages call the table: `[pack]`, `dependency `neon``; empty for the whole manifest.
    title: String,
    table: &'t dyn TableLike,
    span: Range<usize>,
    known: BTreeSet<&'static str>,
    /// The table of the workspace that values may be taken from with `{ workspace = true }`, and which keys.
    inherited: Option<(&'t dyn TableLike, &'static [&'static str])>,
    errors: &'e mut Vec<ManifestError>,
}

impl<'t, 'e> Section<'t, 'e> {
    /// The manifest itself; `end` is where something missing altogether is reported.
    pub(super) fn root(table: &'t dyn TableLike, end: Range<usize>, errors: &'e mut Vec<ManifestError>) -> Self {
        Section::new(String::new(), table, end, errors)
    }

    /// A table with the name that messages use for it.
    pub(super) fn new(
        title: String,
        table: &'t dyn TableLike,
        span: Range<usize>,
        errors: &'e mut Vec<ManifestError>,
    ) -> Self {
        Section { title, table, span, known: BTreeSet::new(), inherited: None, errors }
    }

    /// Reports a mistake.
    pub(super) fn error(&mut self, message: String, span: Range<usize>, hint: Option<String>) {
        self.errors.push(ManifestError { message, span, hint });
    }

    /// Reports a mistake of the table as a whole.
    pub(super) fn error_at_start(&mut self, message: String, hint: Option<String>) {
        self.error(message, self.span.clone(), hint);
    }

    /// Whether the key is there at all, of whatever type.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|item| !item.is_none())
    }

    /// Where a key stands; the table's own place when it is absent.
    pub(super) fn key_span(&self, key: &str) -> Range<usize> {
        self.table.key(key).and_then(toml_edit::Key::span).unwrap_or_else(|| self.span.clone())
    }

    /// The item of a key, with the place of its value, or of the key when the value has none.
    fn item(&mut self, key: &'static str) -> Option<(&'t Item, Range<usize>)> {
        self.known.insert(key);
        let item = self.table.get(key).filter(|item| !item.is_none())?;
        let span = item.span().unwrap_or_else(|| self.key_span(key));
        if !is_inherited(item) {
            return Some((item, span));
        }
        let (table, keys) = self.inherited.filter(|(_, keys)| keys.contains(&key)).unzip();
        match table.and_then(|table| table.get(key)) {
            Some(item) => Some((item, span)),
            None if keys.is_none() && !SHARED.contains(&key) => Some((item, span)),
            None => {
                self.errors.push(nothing_to_inherit(key, "pack", span));
                None
            }
        }
    }

    /// Lets values of some keys be taken from the workspace.
    pub(super) fn inherit(&mut self, table: Option<&'t dyn TableLike>, keys: &'static [&'static str]) {
        self.inherited = table.map(|table| (table, keys));
    }

    /// Reports that a key has a value of the wrong type.
    fn wrong_type(&mut self, key: &str, expected: &str, found: &Item, span: Range<usize>) {
        let place = if self.title.is_empty() { String::new() } else { format!(" of {}", self.title) };
        self.error(format!("`{key}`{place} must be {expected}, not {}", describe(found)), span, None);
    }

    /// A string.
    pub(super) fn string(&mut self, key: &'static str) -> Option<Spanned<String>> {
        let (item, span) = self.item(key)?;
        match item.as_str() {
            Some(text) => Some(Spanned { value: text.to_owned(), span }),
            None => {
                self.wrong_type(key, "a string", item, span);
                None
            }
        }
    }

    /// An integer.
    pub(super) fn integer(&mut self, key: &'static str) -> Option<Spanned<i64>> {
        let (item, span) = self.item(key)?;
        match item.as_integer() {
            Some(value) => Some(Spanned { value, span }),
            None => {
                self.wrong_type(key, "an integer", item, span);
                None
            }
        }
    }

    /// A string that is read further.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&str) -> Result<T, Refusal>,
    ) -> Option<Spanned<T>> {
        let text = self.string(key)?;
        match read(&text.value) {
            Ok(value) => Some(Spanned { value, span: text.span }),
            Err((message, hint)) => {
                self.error(message, text.span, hint);
                None
            }
        }
    }

    /// A string that is read further and must be there.
    pub(super) fn required<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&str) -> Result<T, Refusal>,
    ) -> Option<Spanned<T>> {
        if !self.has(key) {
            self.known.insert(key);
            self.error_at_start(format!("{} has no `{key}`", self.title), Some(format!("add `{key} = \"…\"`")));
            return None;
        }
        self.optional(key, read)
    }

    /// A list of strings; empty when absent.
    pub(super) fn strings(&mut self, key: &'static str) -> Vec<Spanned<String>> {
        let Some((item, span)) = self.item(key) else {
            return Vec::new();
        };
        let Some(array) = item.as_array() else {
            self.wrong_type(key, "a list of strings", item, span);
            return Vec::new();
        };
        let mut texts = Vec::with_capacity(array.len());
        for value in array {
            let place = value.span().unwrap_or_else(|| span.clone());
            match value.as_str() {
                Some(text) => texts.push(Spanned { value: text.to_owned(), span: place }),
                None => self.error(
                    format!("`{key}` is a list of strings, this is {}", article(value.type_name())),
                    place,
                    None,
                ),
            }
        }
        texts
    }

    /// A table under this one, `[key]` or `key = { … }`.
    pub(super) fn subsection(&mut self, key: &'static str) -> Option<Section<'t, '_>> {
        let (item, span) = self.item(key)?;
        match item.as_table_like() {
            Some(table) => {
                let span = if item.is_table() { self.header_span(key, span) } else { span };
                Some(Section::new(format!("`[{key}]`"), table, span, self.errors))
            }
            None => {
                self.wrong_type(key, "a table", item, span);
                None
            }
        }
    }

    /// The place of a `[key]` table that messages point at: its key, which is shorter than its contents.
    fn header_span(&self, key: &str, fallback: Range<usize>) -> Range<usize> {
        self.table.key(key).and_then(toml_edit::Key::span).unwrap_or(fallback)
    }

    /// A list of tables `[[key]]`.
    pub(super) fn tables(&mut self, key: &'static str) -> Option<&'t ArrayOfTables> {
        let (item, span) = self.item(key)?;
        let tables = item.as_array_of_tables();
        if tables.is_none() {
            let hint = format!("write `[[{key}]]`, once for each");
            self.error(format!("`{key}` must be a list of tables, not {}", describe(item)), span, Some(hint));
        }
        tables
    }

    /// All keys and items of the table; marks every key as known to the caller through `finish_open`.
    pub(super) fn entries(&self) -> Vec<(&'t str, &'t Item, Range<usize>)> {
        self.table
            .iter()
            .map(|(key, item)| {
                let span = self.key_span(key);
                (key, item, span)
            })
            .collect()
    }

    /// A table whose keys and values are free; empty when absent.
    pub(super) fn free_table(&mut self, key: &'static str) -> BTreeMap<String, Value> {
        let Some((item, span)) = self.item(key) else {
            return BTreeMap::new();
        };
        match item.as_table_like() {
            Some(table) => Value::from_table(table),
            None => {
                self.wrong_type(key, "a table", item, span);
                BTreeMap::new()
            }
        }
    }

    /// The item of a key that may have one of several types.
    pub(super) fn any(&mut self, key: &'static str) -> Option<(&'t Item, Range<usize>)> {
        self.item(key)
    }

    /// A reader of another table that reports to the same place.
    pub(super) fn nested<'n>(
        &'n mut self,
        title: String,
        table: &'t dyn TableLike,
        span: Range<usize>,
    ) -> Section<'t, 'n> {
        Section::new(title, table, span, self.errors)
    }

    /// Reports each key nobody asked for, with the nearest one that means something.
    pub(super) fn finish(&mut self) {
        let unknown: Vec<&str> =
            self.table.iter().map(|(key, _)| key).filter(|key| !self.known.contains(key)).collect();
        for key in unknown {
            let hint = match nearest(key, self.known.iter().copied()).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let known: Vec<String> = self.known.iter().map(|key| format!("`{key}`")).collect();
                    format!("the keys are {}; put your own under `[metadata]`", known.join(", "))
                }
            };
            let place = if self.title.is_empty() { "the manifest".to_owned() } else { self.title.clone() };
            let span = self.key_span(key);
            self.error(format!("unknown key `{key}` in {place}"), span, Some(hint));
        }
    }
}

/// What an item is, with an article.
pub(super) fn describe(item: &Item) -> String {
    article(item.type_name())
}

/// A type's name with an article.
fn article(type_name: &str) -> String {
    let vowel = type_name.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {type_name}", if vowel { "an" } else { "a" })
}
