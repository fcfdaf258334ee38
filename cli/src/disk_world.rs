//! The compiler's `World` over project files and installed packs; installed files are hashed when opened.

mod content;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use exo_compiler::source::{ModuleId, SourceFile};
use exo_compiler::world::{ImportError, World};
use exo_index::name::PackName;
use serde::{Deserialize, Serialize};

pub(crate) use content::{Content, Location, digest_of, read_folder as content_of_folder};

use crate::failure::{Failure, Outcome, nearest};

/// The name of a pack inside the compiler: its import name, which is unique except across vendors.
pub(crate) fn pack_id(name: &PackName) -> String {
    match name.vendor() {
        None => name.import_name(),
        Some(vendor) => format!("@{vendor}/{}", name.import_name()),
    }
}

/// One pack as the world sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorldPack {
    /// See [`pack_id`].
    pub(crate) id: String,
    /// What modules call it (`neon_conv2d`).
    pub(crate) import: String,
    /// What its modules may import: import names, and the ids they mean.
    pub(crate) dependencies: BTreeMap<String, String>,
    /// What its tests may import besides.
    pub(crate) dev_dependencies: BTreeMap<String, String>,
    pub(crate) location: Location,
    /// The name to allow in a manifest, where steps of this pack may not leave out their check.
    pub(crate) waivers_denied: Option<String>,
    /// Diagnostics print this before the path inside the pack; empty for the project itself.
    pub(crate) display_prefix: String,
}

struct OpenPack {
    import: String,
    dependencies: BTreeMap<String, String>,
    dev_dependencies: BTreeMap<String, String>,
    content: Content,
    waivers_denied: Option<String>,
    display_prefix: String,
}

/// Packs by id, and files that belong to no pack.
pub(crate) struct DiskWorld {
    packs: BTreeMap<String, OpenPack>,
    /// What files that belong to no pack may import.
    loose_imports: BTreeMap<String, String>,
    loose: Mutex<Loose>,
}

/// Files that were named on the command line, and what they import from beside themselves.
#[derive(Default)]
struct Loose {
    paths: BTreeMap<String, PathBuf>,
    displays: BTreeMap<String, String>,
}

/// Where the text of a module stands inside its pack.
pub(crate) fn path_of_module(path: &str) -> String {
    match path.strip_prefix("tests.") {
        Some(test) => format!("tests/{}.exo", test.replace('.', "/")),
        None => format!("src/{}.exo", path.replace('.', "/")),
    }
}

/// The module that a file of a pack holds: `src/a/b.exo` is `a.b`, `tests/t.exo` is `tests.t`.
pub(crate) fn module_of_path(path: &str) -> Option<String> {
    let stem = path.strip_suffix(".exo")?;
    let (folder, rest) = stem.split_once('/')?;
    // A dot in a file name would make two files one module.
    if rest.is_empty() || rest.contains('.') {
        return None;
    }
    let dotted = rest.replace('/', ".");
    match folder {
        "src" => Some(dotted),
        "tests" => Some(format!("tests.{dotted}")),
        _ => None,
    }
}

impl DiskWorld {
    /// Opens all packs: listings of installed ones are checked, folders with a digest are read and checked whole.
    pub(crate) fn new(packs: Vec<WorldPack>, loose_imports: BTreeMap<String, String>) -> Outcome<Self> {
        let mut open = BTreeMap::new();
        for pack in packs {
            let content = Content::open(pack.location)?;
            open.insert(
                pack.id,
                OpenPack {
                    import: pack.import,
                    dependencies: pack.dependencies,
                    dev_dependencies: pack.dev_dependencies,
                    content,
                    waivers_denied: pack.waivers_denied,
                    display_prefix: pack.display_prefix,
                },
            );
        }
        Ok(DiskWorld { packs: open, loose_imports, loose: Mutex::default() })
    }

    /// A module for a file that belongs to no pack; `display` is how the user called it.
    pub(crate) fn add_file(&self, path: &Path, display: &str) -> Outcome<ModuleId> {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let mut loose = self.loose.lock().map_err(|_| Failure::bug("a thread died while it held the world"))?;
        Ok(ModuleId::new("", &loose.add(&stem, path, display)))
    }

    /// The modules of a pack's `src` and of its `tests`, sorted.
    pub(crate) fn modules(&self, id: &str) -> Outcome<(Vec<ModuleId>, Vec<ModuleId>)> {
        let mut sources = Vec::new();
        let mut tests = Vec::new();
        let files = self.packs.get(id).map(|pack| pack.content.files()).transpose()?.unwrap_or_default();
        for path in files {
            let Some(module) = module_of_path(&path) else { continue };
            let id = ModuleId::new(id, &module);
            if path.starts_with("tests/") { tests.push(id) } else { sources.push(id) }
        }
        Ok((sources, tests))
    }

    /// What a module may import: import names, and the ids they mean.
    fn imports_of(&self, from: &ModuleId) -> BTreeMap<&str, &str> {
        let mut imports: BTreeMap<&str, &str> = BTreeMap::new();
        let Some((id, pack)) = self.packs.get_key_value(&*from.pack) else {
            imports.extend(self.loose_imports.iter().map(|(import, id)| (import.as_str(), id.as_str())));
            return imports;
        };
        if from.path.starts_with("tests.") {
            imports.extend(pack.dev_dependencies.iter().map(|(import, id)| (import.as_str(), id.as_str())));
        }
        imports.extend(pack.dependencies.iter().map(|(import, id)| (import.as_str(), id.as_str())));
        imports.insert(&pack.import, id);
        imports
    }

    fn in_pack(&self, pack: &str, path: &str, own: bool) -> Result<ModuleId, ImportError> {
        let module = ModuleId::new(pack, path);
        let unreadable =
            |failed: Box<Failure>| ImportError::Unreadable { module: module.clone(), reason: reason(&failed) };
        let Some(found) = self.packs.get(pack) else {
            return Err(ImportError::UnknownPack { name: pack.to_string(), nearest: Vec::new() });
        };
        // Tests are no part of a pack's face.
        let visible = own || !path.starts_with("tests.");
        if visible && found.content.contains(&path_of_module(path)).map_err(unreadable)? {
            return Ok(module);
        }
        let files = found.content.files().map_err(unreadable)?;
        let modules: Vec<String> = files
            .iter()
            .filter(|file| own || file.starts_with("src/"))
            .filter_map(|file| module_of_path(file))
            .collect();
        let nearest = nearest(path, modules.iter().map(String::as_str));
        Err(ImportError::UnknownModule { pack: pack.to_string(), path: path.to_string(), nearest })
    }

    fn beside(&self, from: &ModuleId, sibling: &str) -> Result<ModuleId, ImportError> {
        let unknown = |nearest| ImportError::UnknownModule { pack: String::new(), path: sibling.to_string(), nearest };
        let mut loose = self.loose.lock().map_err(|_| unknown(Vec::new()))?;
        let folder = loose.paths.get(&*from.path).and_then(|path| path.parent()).map(Path::to_path_buf);
        let folder = folder.ok_or_else(|| unknown(Vec::new()))?;
        let relative = format!("{}.exo", sibling.replace('.', "/"));
        let path = folder.join(&relative);
        if !path.is_file() {
            let names = std::fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(|entry| entry.file_name().to_string_lossy().strip_suffix(".exo").map(str::to_string));
            let names: Vec<String> = names.collect();
            return Err(unknown(nearest(sibling, names.iter().map(String::as_str))));
        }
        let display = match loose.displays.get(&*from.path).and_then(|display| display.rsplit_once('/')) {
            Some((before, _)) => format!("{before}/{relative}"),
            None => relative,
        };
        Ok(ModuleId::new("", &loose.add(sibling, &path, &display)))
    }
}

impl Loose {
    /// The module path of a file: the one it has, or `wanted`, made unique when another file has it.
    fn add(&mut self, wanted: &str, path: &Path, display: &str) -> String {
        let same = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if let Some((known, _)) = self.paths.iter().find(|(_, other)| **other == same) {
            return known.clone();
        }
        let mut name = wanted.to_string();
        let mut copy = 1;
        while self.paths.contains_key(&name) {
            copy += 1;
            name = format!("{wanted}~{copy}");
        }
        self.paths.insert(name.clone(), same);
        self.displays.insert(name.clone(), display.to_string());
        name
    }
}

/// A failure as the one phrase that an import error carries.
fn reason(failed: &Failure) -> String {
    match failed.hints.first() {
        Some(hint) => format!("{}; {hint}", failed.message),
        None => failed.message.clone(),
    }
}

impl World for DiskWorld {
    fn resolve(&self, from: &ModuleId, import: &str) -> Result<ModuleId, ImportError> {
        if let Some(sibling) = import.strip_prefix('.') {
            let sibling = if sibling.is_empty() { "lib" } else { sibling };
            return if from.pack.is_empty() {
                self.beside(from, sibling)
            } else {
                self.in_pack(&from.pack, sibling, true)
            };
        }
        let (name, path) = import.split_once('.').unwrap_or((import, "lib"));
        let imports = self.imports_of(from);
        match imports.get(name) {
            Some(id) if self.packs.contains_key(*id) => self.in_pack(id, path, *from.pack == **id),
            _ => Err(ImportError::UnknownPack {
                name: name.to_string(),
                nearest: nearest(name, imports.keys().copied()),
            }),
        }
    }

    fn source(&self, module: &ModuleId) -> Result<Arc<SourceFile>, ImportError> {
        let unreadable = |reason: String| ImportError::Unreadable { module: module.clone(), reason };
        let (bytes, display) = if module.pack.is_empty() {
            let loose = self.loose.lock().map_err(|_| unreadable("a thread died while it held the world".into()))?;
            let path = loose.paths.get(&*module.path).ok_or_else(|| unreadable("no such file".into()))?;
            let display = loose.displays.get(&*module.path).cloned().unwrap_or_default();
            (crate::filesystem::read_bytes(path).map_err(|failed| unreadable(reason(&failed)))?, display)
        } else {
            let pack = self.packs.get(&*module.pack).ok_or_else(|| unreadable("no such pack".into()))?;
            let path = path_of_module(&module.path);
            let bytes = pack.content.read(&path).map_err(|failed| unreadable(reason(&failed)))?;
            let bytes = bytes.ok_or_else(|| unreadable(format!("the pack has no file `{path}`")))?;
            (bytes, format!("{}{path}", pack.display_prefix))
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            unreadable(format!("it is not UTF-8 at byte {}; save the file as UTF-8", error.utf8_error().valid_up_to()))
        })?;
        // Editors of one system put a byte order mark first, which says nothing in UTF-8.
        let text = text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text);
        Ok(SourceFile::new(display, text))
    }

    fn denies_waivers_of(&self, pack: &str) -> Option<String> {
        self.packs.get(pack)?.waivers_denied.clone()
    }
}

#[cfg(test)]
mod tests;
