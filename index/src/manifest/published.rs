//! The manifest as others get to see it: without what means something on the author's disk only.

use toml_edit::{Decor, Item, Table, TableLike, Value};

use super::edit::{checked, parse_mutable};
use super::workspace::{SHARED, is_inherited};
use super::{EditError, Inherited};

/// The text of a manifest for the archive of its pack: dependencies that also have a version are taken by that
/// version from a registry, not from a folder. Everything else stays byte for byte.
///
/// # Errors
/// The text is no sound manifest.
pub fn published(text: &str) -> Result<String, EditError> {
    published_in(text, None, &|_| false)
}

/// [`published`] for a member of a workspace: what it takes from there is written out, and a `[workspace]` of its own is
/// left out. `is_own` says which values of `registry` mean the registry that the pack goes to, where nothing need be said of it.
///
/// # Errors
/// As there.
pub fn published_in(
    text: &str,
    inherited: Option<Inherited<'_>>,
    is_own: &dyn Fn(&str) -> bool,
) -> Result<String, EditError> {
    let mut document = parse_mutable(text)?;
    let mut changed = document.remove("workspace").is_some();
    if let Some(table) = document.get_mut("pack").and_then(Item::as_table_like_mut) {
        for key in SHARED {
            changed |= written_out(table, key, inherited.and_then(|from| from.pack?.get(key).cloned()));
        }
    }
    for section in ["dependencies", "dev-dependencies"] {
        let Some(table) = document.get_mut(section).and_then(Item::as_table_like_mut) else { continue };
        let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
        for name in names {
            changed |= written_out(table, &name, inherited.and_then(|from| from.dependency(&name)));
            if let Some(item) = table.get_mut(&name) {
                changed |= without_place(item, is_own);
            }
        }
    }
    if changed { checked(&document, None) } else { Ok(text.to_owned()) }
}

/// Puts a value of the workspace where `{ workspace = true }` stands.
fn written_out(table: &mut dyn TableLike, key: &str, value: Option<Item>) -> bool {
    let (true, Some(value)) = (table.get(key).is_some_and(is_inherited), value) else { return false };
    let Some(mut value) = value.into_value().ok() else { return false };
    *value.decor_mut() = Decor::default();
    // Inserted anew, since `key.workspace = true` is another form than `key = value`.
    table.remove(key);
    table.insert(key, Item::Value(value));
    true
}

/// Takes the path, or the registry that is meant anyway, from a dependency that has a version too.
fn without_place(item: &mut Item, is_own: &dyn Fn(&str) -> bool) -> bool {
    let Some(entry) = item.as_table_like_mut() else { return false };
    if entry.get("version").is_none() {
        return false;
    }
    let own = entry.get("registry").and_then(Item::as_str).is_some_and(is_own);
    let of_registry = own && entry.remove("registry").is_some();
    if entry.remove("path").is_none() && !of_registry {
        return false;
    }
    if entry.len() > 1 {
        return true;
    }
    let version = entry.get("version").and_then(Item::as_str).unwrap_or_default().to_owned();
    match item {
        // A section of its own keeps its form.
        Item::Table(Table { .. }) => {}
        other => {
            let mut plain = Value::from(version);
            if let Some(old) = other.as_value() {
                *plain.decor_mut() = old.decor().clone();
            }
            *other = Item::Value(plain);
        }
    }
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PACK: &str = "# mine\n[pack]\nname = \"p\"\nversion = \"1.0.0\"\nkind = \"kernel\"\n\n[dependencies]\n";

    #[test]
    fn folders_are_replaced_by_versions() {
        let text = format!(
            "{PACK}a = {{ path = \"../a\", version = \"1.2\" }} # here\nb = \"2\"\n[dependencies.c]\nversion = \"3\"\npath = \"../c\"\n"
        );
        let expected = format!("{PACK}a = \"1.2\" # here\nb = \"2\"\n[dependencies.c]\nversion = \"3\"\n");
        assert_eq!(published(&text).unwrap(), expected);
    }

    #[test]
    fn the_registry_it_goes_to_is_not_named() {
        let text = format!(
            "{PACK}a = {{ version = \"1\", registry = \"work\" }}\nb = {{ version = \"1\", registry = \"c\" }}\n"
        );
        let expected = format!("{PACK}a = \"1\"\nb = {{ version = \"1\", registry = \"c\" }}\n");
        assert_eq!(published_in(&text, None, &|registry| registry == "work").unwrap(), expected);
    }

    #[test]
    fn what_has_no_folder_stays_as_it_is() {
        let text = format!("{PACK}  b   =  \"2\"\nd = {{ path = \"../d\" }}\n");
        assert_eq!(published(&text).unwrap(), text);
    }
}
