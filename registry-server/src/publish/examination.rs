//! The rules that need no compiler: the archive, what it declares, and what a pack of this registry must have.

use exo_index::archive::{self, Limits, PackFiles};
use exo_index::digest::Blake3;
use exo_index::manifest::{DependencySource, MANIFEST_FILE, Manifest};
use exo_index::publication::{Weight, examine};
use serde_json::{Value, json};

use super::declaration::Declared;

/// An archive that passed.
#[derive(Debug, Clone)]
pub(crate) struct Examined {
    pub(crate) declared: Declared,
    pub(crate) manifest: Manifest,
    pub(crate) files: PackFiles,
    pub(crate) tree: Blake3,
}

/// One reason against a pack, as the protocol shows it.
pub(crate) fn diagnostic(pack: &Declared, code: &str, message: impl Into<String>, hint: Option<&str>) -> Value {
    json!({ "pack": pack.name.as_str(), "code": code, "message": message.into(), "hint": hint })
}

/// Looks at an archive.
///
/// # Errors
/// All reasons against it.
pub(crate) fn examine_archive(declared: &Declared, bytes: &[u8]) -> Result<Examined, Vec<Value>> {
    let files = archive::read(bytes, &Limits::default()).map_err(|error| {
        vec![diagnostic(declared, error.refusal.code(), error.to_string(), Some("make the archive with `exo package`"))]
    })?;
    let text = files.files.get(MANIFEST_FILE).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let manifest = Manifest::parse(&text.unwrap_or_default()).map_err(|errors| {
        errors
            .into_iter()
            .map(|error| {
                diagnostic(declared, "manifest", format!("{MANIFEST_FILE}: {}", error.message), error.hint.as_deref())
            })
            .collect::<Vec<_>>()
    })?;
    let reasons = reasons_against(declared, &manifest, &files);
    if !reasons.is_empty() {
        return Err(reasons);
    }
    let tree = files.tree();
    Ok(Examined { declared: declared.clone(), manifest, files, tree })
}

fn reasons_against(declared: &Declared, manifest: &Manifest, files: &PackFiles) -> Vec<Value> {
    let mut reasons = Vec::new();
    let (name, version) = (&manifest.pack.name.value, &manifest.pack.version.value);
    if name != &declared.name || version != &declared.version {
        let message =
            format!("the archive is of `{name} {version}`, but `{} {}` was declared", declared.name, declared.version);
        reasons.push(diagnostic(declared, "declaration", message, None));
    }
    for dependency in &manifest.dependencies {
        match &dependency.source {
            DependencySource::Default => {}
            DependencySource::Registry(_) | DependencySource::Path(_) | DependencySource::Git(_) => {
                let message = format!("the dependency `{}` is not from this registry", dependency.name);
                reasons.push(diagnostic(declared, "dependency", message, Some("publish it here first")));
            }
        }
    }
    for found in examine(files, manifest, "") {
        if found.weight == Weight::Refusal {
            let mut reason = diagnostic(declared, "publication", found.message.clone(), Some(&found.hint));
            if let Some(reason) = reason.as_object_mut() {
                reason.insert("file".to_owned(), json!(found.file));
                reason.insert("line".to_owned(), json!(found.line));
            }
            reasons.push(reason);
        }
    }
    reasons
}
