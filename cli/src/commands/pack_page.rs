//! The page that `exo help PACK` prints: what a pack offers, module by module, without evaluating it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use exo_compiler::pipeline::{ItemKind, Outline, outline};
use exo_compiler::source::SourceFile;
use exo_index::manifest::{MANIFEST_FILE, Manifest};
use exo_index::name::PackName;
use exo_index::version::Version;
use serde_json::json;

use crate::builtin_packs::RegistryPack;
use crate::cache::Cache;
use crate::disk_world::{Content, content_of_folder, module_of_path};
use crate::evaluation::refused;
use crate::failure::Outcome;
use crate::install::plan;
use crate::project::{Project, read};
use crate::report::text::{WIDTH, wrapped};
use crate::settings::Settings;
use crate::terminal::Terminal;

/// What stands at the top of a page.
struct Heading {
    name: PackName,
    version: Version,
    description: Option<String>,
}

impl Heading {
    fn of(manifest: &Manifest) -> Self {
        let pack = &manifest.pack;
        Heading {
            name: pack.name.value.clone(),
            version: pack.version.value.clone(),
            description: pack.description.clone(),
        }
    }
}

/// Whether a pack is meant: as it is installed or as it is imported (`neon-conv2d`, `neon_conv2d`).
pub(super) fn is_named(name: &PackName, topic: &str) -> bool {
    name.to_string() == topic || name.import_name() == topic
}

/// Prints the page of a pack of the registry.
pub(super) fn print(terminal: &Terminal, pack: &RegistryPack) -> Outcome<()> {
    answer(terminal, &Heading::of(&pack.manifest), &pack.unpack()?)
}

/// Prints the page of the project's own pack, or of one that it uses, in the version that it uses.
/// `false` where it uses no pack of this name.
///
/// # Errors
/// The pack cannot be had, or has a module that cannot be read.
pub(super) fn print_of_project(terminal: &Terminal, settings: &Settings, topic: &str) -> Outcome<bool> {
    // Help is there too where the project has mistakes.
    let Ok(Some(project)) = Project::find(settings) else { return Ok(false) };
    if !project.is_virtual() && is_named(&project.manifest.pack.name.value, topic) {
        answer(terminal, &Heading::of(&project.manifest), &content_of_folder(project.root())?)?;
        return Ok(true);
    }
    if !names_of_project(&project).iter().any(|name| is_named(name, topic)) {
        return Ok(false);
    }
    let cache = Cache::open(settings)?;
    let plan = plan::plan(settings, terminal, &cache, &project, &project.manifest)?;
    let Some(instance) = plan.instances.iter().find(|instance| is_named(&instance.name, topic)) else {
        return Ok(false);
    };
    let content = Content::open(instance.location.clone())?;
    let mut files = BTreeMap::new();
    for path in content.files()? {
        if let Some(bytes) = content.read(&path)? {
            files.insert(path, bytes);
        }
    }
    // A member of a workspace may leave to it what its manifest says; then the description is missed, and nothing else.
    let manifest = files.get(MANIFEST_FILE).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let manifest = manifest.and_then(|text| read::manifest(&SourceFile::new(MANIFEST_FILE, text)).ok());
    let heading = Heading {
        name: instance.name.clone(),
        version: instance.version.clone(),
        description: manifest.and_then(|manifest| manifest.pack.description),
    };
    answer(terminal, &heading, &files)?;
    Ok(true)
}

/// The packs that a project uses, as far as its manifest and its lockfile say.
pub(super) fn names_of_project(project: &Project) -> BTreeSet<PackName> {
    let manifest = &project.manifest;
    let asked = manifest.dependencies.iter().chain(&manifest.dev_dependencies).map(|dependency| &dependency.name);
    let locked = project.lock.iter().flat_map(|lock| lock.packs.keys());
    asked.chain(locked).cloned().collect()
}

fn answer(terminal: &Terminal, heading: &Heading, files: &BTreeMap<String, Vec<u8>>) -> Outcome<()> {
    let modules = modules(files)?;
    terminal.answer(|| page(heading, &modules), || page_json(heading, &modules));
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
fn import_name(heading: &Heading, module: &str) -> String {
    let pack = heading.name.import_name();
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

fn page(heading: &Heading, modules: &[(String, Outline)]) -> String {
    let mut text = format!("{} {}\n", heading.name, heading.version);
    if let Some(description) = &heading.description {
        let _ = writeln!(text, "{}", wrapped(description, WIDTH));
    }
    for (module, outline) in modules {
        let _ = write!(text, "\n{}", import_name(heading, module));
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

fn page_json(heading: &Heading, modules: &[(String, Outline)]) -> serde_json::Value {
    let modules = modules.iter().map(|(module, outline)| {
        let items = outline.items.iter().map(|item| {
            json!({
                "name": item.name, "kind": kind_word(item.kind),
                "signature": item.signature, "summary": item.summary,
            })
        });
        json!({ "import": import_name(heading, module), "summary": outline.summary, "items": items.collect::<Vec<_>>() })
    });
    json!({
        "name": heading.name.to_string(),
        "version": heading.version.to_string(),
        "modules": modules.collect::<Vec<_>>(),
    })
}
