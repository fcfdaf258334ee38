//! A project whose dependencies are installed and verified, with its lockfile up to date: where most commands start.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use exo_compiler::diagnostic::codes;
use exo_compiler::source::ModuleId;
use exo_index::manifest::DependencySource;

use crate::builtin_packs::Registry;
use crate::disk_world::{DiskWorld, Location, WorldPack, pack_id};
use crate::failure::{Failure, Outcome};
use crate::install::plan::imports;
use crate::install::standing::{self, Ask};
use crate::install::{self, Installed, changes};
use crate::project::{Project, find_root};
use crate::settings::Settings;
use crate::terminal::Terminal;

/// Changes of the manifest during an installation before giving up.
const ATTEMPTS: usize = 5;

pub(crate) struct Ready {
    pub(crate) project: Project,
    pub(crate) installed: Installed,
    pub(crate) world: Arc<DiskWorld>,
    /// The project's own pack in the world.
    pub(crate) id: String,
}

/// Installs what the project needs and brings Exo.lock up to date (with `--locked`, refuses where it is not); warns of versions that
/// were taken back since, as far as this machine knows.
pub(crate) fn ready(settings: &Settings, terminal: &Terminal) -> Outcome<Ready> {
    let ready = ready_silently(settings, terminal)?;
    standing::warn(settings, terminal, &ready.project, &ready.installed.plan.lock, Ask::Memory);
    Ok(ready)
}

/// As [`ready`], for a command that tells itself what is said of the locked versions.
pub(crate) fn ready_silently(settings: &Settings, terminal: &Terminal) -> Outcome<Ready> {
    let (project, installed) = installed(settings, terminal)?;
    let mut packs = install::world_packs(&installed.plan.instances, &project.locked_for(&project.manifest)?);
    let own = own_pack(&project);
    let id = own.id.clone();
    // A file of the project that is no part of its pack sees what the pack's tests see.
    let mut loose = own.dev_dependencies.clone();
    loose.extend(own.dependencies.clone());
    loose.insert(own.import.clone(), id.clone());
    packs.push(own);
    Ok(Ready { world: Arc::new(DiskWorld::new(packs, loose)?), id, project, installed })
}

/// Only installs, and brings Exo.lock up to date.
pub(crate) fn installed(settings: &Settings, terminal: &Terminal) -> Outcome<(Project, Installed)> {
    let mut project = Project::open(settings)?;
    for _ in 0..ATTEMPTS {
        let installed = install::install(settings, terminal, &project, &project.manifest, true)?;
        let lock = installed.plan.lock.to_string();
        if project.lock_text.as_deref() != Some(lock.as_str()) {
            if settings.locked {
                return Err(raw_c_changed(&project, &installed));
            }
            let (held, again) = Project::hold(settings, terminal)?;
            if again.manifest_file.text != project.manifest_file.text || again.lock_text != project.lock_text {
                project = again;
                continue;
            }
            let moved = changes::by_the_way(again.lock.as_ref(), &installed.plan.lock)?;
            if again.write(&held, None, Some(&lock))? {
                terminal.status("Locked", exo_index::lockfile::LOCK_FILE);
                changes::tell(terminal, &moved);
            }
        }
        return Ok((project, installed));
    }
    Err(Failure::environment("Exo.toml or Exo.lock keeps changing while packs are installed")
        .hint("wait for the other process that changes the project, then run the command again"))
}

/// With `--locked` versions and trees are as the lockfile says by now, so what differs is counted by verification.
fn raw_c_changed(project: &Project, installed: &Installed) -> Box<Failure> {
    let mut failure = Failure::refused("--locked: Exo.lock does not fit").code(codes::LOCK);
    for (name, pack) in &installed.plan.lock.packs {
        let locked = project.lock.as_ref().and_then(|lock| lock.packs.get(name));
        if locked.is_some_and(|locked| locked.raw_c != pack.raw_c) {
            failure =
                failure.note(format!("the raw C of `{name} {}` has another digest than Exo.lock says", pack.version));
        }
    }
    if failure.notes.is_empty() {
        failure = failure.note("it is not written in the form that exo writes");
    }
    failure.hint("run `exo install` without --locked and look at what changes in Exo.lock")
}

/// The project itself as a pack: its files as they are on disk now.
fn own_pack(project: &Project) -> WorldPack {
    let manifest = &project.manifest;
    WorldPack {
        id: pack_id(&manifest.pack.name.value),
        import: manifest.pack.name.value.import_name(),
        dependencies: imports(manifest.dependencies.iter().map(|dependency| &dependency.name)),
        dev_dependencies: imports(manifest.dev_dependencies.iter().map(|dependency| &dependency.name)),
        location: Location::Folder { folder: project.root().clone(), digest: None },
        waivers_denied: None,
        display_prefix: String::new(),
    }
}

/// Files to be evaluated, and the world they see.
pub(crate) struct Files {
    pub(crate) world: Arc<DiskWorld>,
    /// One for each file, in their order.
    pub(crate) modules: Vec<ModuleId>,
    /// The root of the project when the modules are part of its pack; their names in messages are relative to it.
    pub(crate) root: Option<PathBuf>,
}

/// The world for single files: the project's packs when they are inside a project, else the packs embedded in this
/// binary.
pub(crate) fn world_of_files(settings: &Settings, terminal: &Terminal, files: &[&Path]) -> Outcome<Files> {
    let mut paths = Vec::new();
    for file in files {
        let path = settings.directory.join(file);
        if !path.is_file() {
            return Err(missing(file, &path));
        }
        paths.push(path.canonicalize().map_err(|error| crate::filesystem::failure("open", &path, &error))?);
    }
    let world = match manifest_around(settings, &paths) {
        Some(manifest) => {
            let ready = ready(&Settings { manifest_path: Some(manifest), ..settings.clone() }, terminal)?;
            let root = ready.project.root().canonicalize().unwrap_or_else(|_| ready.project.root().clone());
            let own: Option<Vec<ModuleId>> =
                paths.iter().map(|path| module_in_project(&root, &ready.id, path)).collect();
            if let Some(modules) = own {
                return Ok(Files { world: ready.world, modules, root: Some(root) });
            }
            ready.world
        }
        None => Arc::new(embedded_world(settings)?),
    };
    let displays = files.iter().map(|file| file.display().to_string().replace('\\', "/"));
    let modules = paths.iter().zip(displays).map(|(path, display)| world.add_file(path, &display));
    let modules = modules.collect::<Outcome<Vec<_>>>()?;
    Ok(Files { world, modules, root: None })
}

fn missing(file: &Path, path: &Path) -> Box<Failure> {
    let failure = Failure::refused(format!("there is no file `{}`", file.display()));
    let names: Vec<String> = path
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".exo"))
        .collect();
    let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match crate::failure::did_you_mean(&crate::failure::nearest(&wanted, names.iter().map(String::as_str))) {
        Some(suggestion) => failure.hint(suggestion),
        None => failure.hint("give the path of a module, a file that ends in .exo"),
    }
}

/// The manifest of the project that all of the files lie in, if there is one.
fn manifest_around(settings: &Settings, paths: &[PathBuf]) -> Option<PathBuf> {
    if settings.manifest_path.is_some() {
        return settings.manifest_path.clone();
    }
    let manifest = find_root::manifest_above(paths.first()?.parent()?)?;
    let root = manifest.parent()?;
    paths.iter().all(|path| path.starts_with(root)).then_some(manifest)
}

/// The module of a file that is part of the project's pack.
fn module_in_project(root: &Path, id: &str, path: &Path) -> Option<ModuleId> {
    let relative = path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/");
    crate::disk_world::module_of_path(&relative).map(|module| ModuleId::new(id, &module))
}

/// The newest version of each embedded pack.
fn embedded_world(settings: &Settings) -> Outcome<DiskWorld> {
    let registry = Registry::open(settings)?;
    let mut packs = Vec::new();
    for pack in registry.newest() {
        let from_registry =
            |source: &DependencySource| matches!(source, DependencySource::Default | DependencySource::Registry(_));
        let dependencies = pack.manifest.dependencies.iter().filter(|dependency| from_registry(&dependency.source));
        packs.push(WorldPack {
            id: pack_id(pack.name()),
            import: pack.name().import_name(),
            dependencies: imports(dependencies.map(|dependency| &dependency.name)),
            dev_dependencies: Default::default(),
            location: Location::Embedded(pack.clone()),
            waivers_denied: Some(pack.name().to_string()),
            display_prefix: format!("{}/", pack.name()),
        });
    }
    // Of two vendors' packs with one import name, the flat name or else the first vendor's is meant.
    let loose = imports(registry.names().collect::<Vec<_>>().into_iter().rev());
    let flat = imports(registry.names().filter(|name| name.vendor().is_none()));
    DiskWorld::new(packs, loose.into_iter().chain(flat).collect())
}
