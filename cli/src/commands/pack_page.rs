//! The page that `exo help PACK` prints: what a pack offers, module by module, without evaluating it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use exo_compiler::pipeline::{ItemKind, Outline, outline};
use exo_compiler::source::SourceFile;
use exo_index::manifest::Manifest;
use serde_json::json;

use crate::builtin_packs::RegistryPack;
use crate::disk_world::module_of_path;
use crate::evaluation::refused;
use crate::failure::Outcome;
use crate::report::text::{WIDTH, wrapped};
use crate::terminal::Terminal;

/// Prints the page of a pack of the registry.
pub(super) fn print(terminal: &Terminal, pack: &RegistryPack) -> Outcome<()> {
    let modules = modules(&pack.unpack()?)?;
    let manifest = &pack.manifest;
    terminal.answer(|| page(manifest, &modules), || page_json(manifest, &modules));
    Ok(())
}

/// Modules under `src/`, the face first and the rest by name.
fn modules(files: &BTreeMap<String, Vec<u8>>) -> Outcome<Vec<(String, Outline)>> {
    let mut found = Vec::new();
    for (path, bytes) in files.iter().filter(|(path, _)| path.starts_with("src/")) {
        let Some(module) = module_of_path(path) else { continue };
        let file = SourceFile::new(path.as_str(), String::from_utf8_lossy(bytes));
        let outline = outline(&file).map_err(|errors| refused(errors, "a module of the pack cannot be read"))?;
        found.push((module, outline));
    }
    found.sort_by(|(left, _), (right, _)| (left != "lib", left).cmp(&(right != "lib", right)));
    Ok(found)
}

/// How a module is imported from another pack.
fn import_name(manifest: &Manifest, module: &str) -> String {
    let pack = manifest.pack.name.value.import_name();
    if module == "lib" { pack } else { format!("{pack}.{module}") }
}

fn kind_word(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Function => "function",
        ItemKind::Proc => "proc",
        ItemKind::Instruction => "instruction",
        ItemKind::Config => "config",
        ItemKind::Value => "value",
    }
}

fn page(manifest: &Manifest, modules: &[(String, Outline)]) -> String {
    let mut text = format!("{} {}\n", manifest.pack.name.value, manifest.pack.version.value);
    if let Some(description) = &manifest.pack.description {
        let _ = writeln!(text, "{}", wrapped(description, WIDTH));
    }
    for (module, outline) in modules {
        let _ = write!(text, "\n{}", import_name(manifest, module));
        let _ = match outline.summary.as_str() {
            "" => writeln!(text),
            summary => writeln!(text, ": {summary}"),
        };
        for item in &outline.items {
            let _ = writeln!(text, "  {:<12} {}", kind_word(item.kind), item.signature);
            if !item.summary.is_empty() {
                let _ = writeln!(text, "  {:<12}     {}", "", item.summary);
            }
        }
    }
    text
}

fn page_json(manifest: &Manifest, modules: &[(String, Outline)]) -> serde_json::Value {
    let modules = modules.iter().map(|(module, outline)| {
        let items = outline.items.iter().map(|item| {
            json!({
                "name": item.name, "kind": kind_word(item.kind),
                "signature": item.signature, "summary": item.summary,
            })
        });
        json!({ "import": import_name(manifest, module), "summary": outline.summary, "items": items.collect::<Vec<_>>() })
    });
    json!({
        "name": manifest.pack.name.value.to_string(),
        "version": manifest.pack.version.value.to_string(),
        "modules": modules.collect::<Vec<_>>(),
    })
}
