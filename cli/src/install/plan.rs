//! Which packs a project uses: from its lockfile where that fits, else by resolving anew.

mod path_packs;
mod staleness;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use exo_compiler::diagnostic::codes;
use exo_compiler::source::SourceFile;
use exo_index::digest::Blake3;
use exo_index::lockfile::{LOCK_FILE, LockedPack, LockedSource, Lockfile};
use exo_index::manifest::{MANIFEST_FILE, Manifest};
use exo_index::name::PackName;
use exo_index::resolve::{FixedPack, Need, Needs, Request, Resolution, ResolveError, ResolvedPack, resolve as solve};
use exo_index::version::{Requirement, Version};

use crate::builtin_packs::Registry;
use crate::cache::Cache;
use crate::cache::tree::Tree;
use crate::disk_world::{Location, WorldPack, content_of_folder, digest_of, pack_id};
use crate::failure::{Failure, Outcome};
use crate::install::listing;
use crate::install::unpack::unpack;
use crate::install::verdict::Verdict;
use crate::parallel;
use crate::policy::{NoSource, Offered};
use crate::project::Project;
use crate::project::read;
use crate::registry::Signed;
use crate::registry::reach::{Place, locked_place, with_urls};
use crate::registry::tombstone;
use crate::settings::Settings;
use crate::terminal::Terminal;
use crate::vendor;
use path_packs::{Origin, PathPacks, Reader};

/// One pack that is used, with its files at hand.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) name: PackName,
    pub(crate) version: Version,
    /// The digest of the files that are used; that of an installed pack is in the lockfile.
    pub(crate) tree: Blake3,
    pub(crate) dependencies: BTreeSet<PackName>,
    /// What its own tests use besides. Only the project's own are installed.
    pub(crate) dev_dependencies: BTreeSet<PackName>,
    pub(crate) location: Location,
    pub(crate) locked: LockedPack,
    /// What the registry's checker signed about it, where the registry was looked at.
    pub(crate) signed: Option<Arc<Signed>>,
    /// Its files in the cache, where they were looked at.
    opened: Option<Arc<Tree>>,
    display_prefix: String,
}

impl Instance {
    pub(crate) fn source(&self) -> &LockedSource {
        &self.locked.source
    }

    pub(crate) fn id(&self) -> String {
        pack_id(&self.name)
    }

    pub(crate) fn world_pack(&self) -> WorldPack {
        WorldPack {
            id: self.id(),
            import: self.name.import_name(),
            dependencies: imports(&self.dependencies),
            dev_dependencies: imports(&self.dev_dependencies),
            location: self.location.clone(),
            waivers_denied: None,
            display_prefix: self.display_prefix.clone(),
        }
    }

    /// The project's own pack as it is in its archive, unpacked into the cache.
    pub(crate) fn of_archive(project: &Project, cache: &Cache, tree: Blake3) -> Outcome<Self> {
        let folder = Tree::folder_of(cache, &tree);
        Ok(Instance {
            tree,
            location: Location::Tree { folder, digest: tree.to_string() },
            ..Self::of_project(project)?
        })
    }

    /// The project's own pack as something to verify.
    pub(crate) fn of_project(project: &Project) -> Outcome<Self> {
        let pack = &project.manifest.pack;
        let names = |list: &[exo_index::manifest::Dependency]| list.iter().map(|entry| entry.name.clone()).collect();
        let tree = digest_of(&content_of_folder(project.root())?);
        let dependencies: BTreeSet<PackName> = names(&project.manifest.dependencies);
        Ok(Instance {
            name: pack.name.value.clone(),
            version: pack.version.value.clone(),
            tree,
            dev_dependencies: names(&project.manifest.dev_dependencies),
            location: Location::Folder { folder: project.root().clone(), digest: Some(tree.to_string()) },
            locked: LockedPack {
                name: pack.name.value.clone(),
                version: pack.version.value.clone(),
                source: LockedSource::Path(".".into()),
                archive: None,
                tree: None,
                raw_c: None,
                published: None,
                log: None,
                root: None,
                dependencies: dependencies.clone(),
            },
            dependencies,
            signed: None,
            opened: None,
            display_prefix: String::new(),
        })
    }
}

/// Import names with the packs they mean.
pub(crate) fn imports<'a>(names: impl IntoIterator<Item = &'a PackName>) -> BTreeMap<String, String> {
    names.into_iter().map(|name| (name.import_name(), pack_id(name))).collect()
}

/// What will be installed.
pub(crate) struct Plan {
    pub(crate) lock: Lockfile,
    /// Each pack after those it depends on.
    pub(crate) instances: Vec<Instance>,
}

impl Plan {
    /// Reads every file of the installed packs, as a build would: a verdict that is cached holds of files that are as they were.
    ///
    /// # Errors
    /// A file was changed or is gone.
    pub(crate) fn check_trees(&self, settings: &Settings) -> Outcome<()> {
        parallel::map(settings.jobs, &self.instances, |instance| {
            if let Some(tree) = &instance.opened {
                tree.check()
            } else if let Location::Tree { folder, .. } = &instance.location
                && let Some(tree) = Tree::open(folder, &instance.tree)?
            {
                tree.check()
            } else {
                Ok(())
            }
        })
        .map(|_| ())
    }

    /// The plan with the raw-C digests that verification found. Files of path packs may change, so theirs are not locked.
    pub(crate) fn with_raw_c(mut self, verdicts: &BTreeMap<PackName, Verdict>) -> Self {
        for (name, pack) in &mut self.lock.packs {
            if !matches!(pack.source, LockedSource::Path(_)) {
                pack.raw_c = verdicts
                    .get(name)
                    .and_then(|verdict| verdict.raw_c_digest.as_ref())
                    .and_then(|digest| digest.parse().ok());
            }
        }
        self
    }
}

/// The version of this program, which is the version of the language packs are written for.
pub(crate) fn running_exo() -> Outcome<Version> {
    Version::parse(env!("CARGO_PKG_VERSION")).map_err(|error| Failure::bug(error.message))
}

/// What is to be installed for a manifest: settles versions and brings all packs into the cache.
pub(crate) fn plan(
    settings: &Settings,
    terminal: &Terminal,
    cache: &Cache,
    project: &Project,
    manifest: &Manifest,
) -> Outcome<Plan> {
    let needed = manifest.all_dependencies().map(|dependency| &dependency.name);
    plan_for(settings, terminal, cache, (project, manifest), &needed.collect())
}

/// What is to be installed for some names that a project, or other members of its workspace, depend on.
pub(crate) fn plan_for(
    settings: &Settings,
    terminal: &Terminal,
    cache: &Cache,
    (project, manifest): (&Project, &Manifest),
    needed: &BTreeSet<&PackName>,
) -> Outcome<Plan> {
    let mut registry = Registry::open(settings)?;
    vendor::provide(settings, project)?;
    let all = with_urls(settings, project.locked_for(manifest)?)?;
    let paths = reader(settings, terminal, project).collect(&project.layout.manifest_name, &all)?;
    let lock = settle(settings, terminal, &mut registry, project, &all, &paths)?;
    // Members that this pack does not need are their own business; everything else of the lockfile is installed.
    let fixed = lock.packs.values().filter(|pack| !matches!(pack.source, LockedSource::Path(_))).map(|pack| &pack.name);
    let needed = lock.reachable(needed.iter().copied().chain(fixed));
    let absent = lock.packs.values().filter(|pack| {
        let cached = pack.tree.is_some_and(|tree| Tree::folder_of(cache, &tree).is_dir());
        matches!(pack.source, LockedSource::Registry(_)) && !cached && registry.get(&pack.name, &pack.version).is_none()
    });
    let absent: Vec<&LockedPack> = absent.collect();
    // A manifest of a pack in a folder is the user's word too.
    let manifests = || std::iter::once(&all).chain(paths.packs.values().map(|pack| &pack.manifest));
    let places = absent.into_iter().map(|pack| (&pack.name, locked_place(pack, manifests())));
    registry.reach(settings, terminal, places, Some(&lock))?;
    let order = order(&lock);
    let wanted = order.dependencies_first().into_iter().filter(|name| needed.contains(*name));
    let wanted: Vec<&LockedPack> = wanted.filter_map(|name| lock.packs.get(name)).collect();
    let instances =
        parallel::map(settings.jobs, &wanted, |locked| instance(settings, cache, (&registry, &paths), locked))?;
    Ok(Plan { lock, instances })
}

/// Only the versions: the lockfile for a manifest.
pub(crate) fn resolve(
    settings: &Settings,
    terminal: &Terminal,
    project: &Project,
    manifest: &Manifest,
) -> Outcome<Lockfile> {
    vendor::provide(settings, project)?;
    let all = with_urls(settings, project.locked_for(manifest)?)?;
    let paths = reader(settings, terminal, project).collect(&project.layout.manifest_name, &all)?;
    settle(settings, terminal, &mut Registry::open(settings)?, project, &all, &paths)
}

fn reader<'a>(settings: &'a Settings, terminal: &'a Terminal, project: &'a Project) -> Reader<'a> {
    Reader {
        settings,
        terminal,
        root: &project.layout.lock_root,
        lock: project.lock.as_ref(),
        members: project.workspace.as_ref().map(|(members, _)| members),
    }
}

fn order(lock: &Lockfile) -> Resolution {
    let packs = lock.packs.iter().map(|(name, pack)| {
        (name.clone(), ResolvedPack { version: pack.version.clone(), dependencies: pack.dependencies.clone() })
    });
    Resolution { packs: packs.collect() }
}

/// The existing lockfile where it says what the manifests ask for, else a new one; `--locked` refuses the latter.
fn settle(
    settings: &Settings,
    terminal: &Terminal,
    registry: &mut Registry,
    project: &Project,
    manifest: &Manifest,
    paths: &PathPacks,
) -> Outcome<Lockfile> {
    let exo = running_exo()?;
    let own = &project.manifest.pack.exo;
    if !own.accepts_exo(&exo) {
        return Err(resolution_failure(&ResolveError::Exo { accepts: own.clone(), running: exo }));
    }
    let mut stale = staleness::reasons(project.lock.as_ref(), manifest, paths, &exo);
    if let Some(merge) = &project.merge {
        stale = vec![format!("{LOCK_FILE} contains a merge conflict: {merge}")];
    }
    if stale.is_empty()
        && let Some(lock) = &project.lock
    {
        still_allowed(&Offered::new(registry, manifest.policy.clone())?, lock)?;
        return Ok(lock.clone());
    }
    // No lockfile fits packs for another exo; the resolver explains who asks for them.
    if settings.locked && paths.written_for_another(&exo).is_empty() {
        let mut failure = Failure::refused(format!("--locked: {LOCK_FILE} does not fit")).code(codes::LOCK);
        for reason in stale {
            failure = failure.note(reason);
        }
        return Err(failure.hint(match project.lock.as_ref().filter(|lock| lock.exo != exo) {
            Some(lock) => {
                format!("use exo {}, or move the lockfile to exo {exo} with `exo update --exo`", lock.exo)
            }
            None => format!("run `exo install` without --locked, and keep the {LOCK_FILE} it writes"),
        }));
    }
    for reason in stale {
        terminal.detail(&format!("resolving, since {reason}"));
    }
    let needed = manifest.all_dependencies().chain(paths.packs.values().flat_map(|pack| &pack.manifest.dependencies));
    let needed = needed.filter(|dependency| !paths.packs.contains_key(&dependency.name));
    let needed = needed.map(|dependency| (&dependency.name, Place::of(&dependency.source)));
    registry.reach(settings, terminal, needed, project.lock.as_ref())?;
    let offered = Offered::new(registry, manifest.policy.clone())?;
    let mut request = Request::of_manifest(manifest, exo.clone());
    for (name, pack) in &paths.packs {
        let fixed = FixedPack {
            version: pack.manifest.pack.version.value.clone(),
            needs: Needs::of_manifest(&pack.manifest),
            place: pack.text.clone(),
        };
        request.fixed.insert(name.clone(), fixed);
    }
    request.pinned.clone_from(&project.pinned);
    if let Some(lock) = &project.lock {
        request.preferred = lock.packs.iter().map(|(name, pack)| (name.clone(), pack.version.clone())).collect();
    }
    let told = |error| tombstone::beside(resolution_failure(&error), settings, registry, &request);
    let resolution = solve(&request, &offered).map_err(told)?;
    let lock = locked(&resolution, registry, paths, exo)?;
    same_content(project.lock.as_ref(), &lock)?;
    if let Some(merge) = &project.merge {
        terminal.status("Merging", &format!("{LOCK_FILE}: {merge}"));
        for disputed in &merge.disputed {
            let chosen = lock.packs.get(&disputed.name).map(|pack| &pack.version);
            terminal.note(&format!("           {}", disputed.outcome(chosen)));
        }
    }
    Ok(lock)
}

/// A lockfile made elsewhere, or before there were rules, is held to them too. What was only taken back since stays; see `standing`.
fn still_allowed(offered: &Offered, lock: &Lockfile) -> Outcome<()> {
    for pack in
        lock.packs.values().filter(|pack| !matches!(pack.source, LockedSource::Path(_) | LockedSource::Git { .. }))
    {
        let Some(removal) = offered.removal_of_locked(pack) else { continue };
        if removal.holds_when_locked() {
            return Err(Failure::refused(format!("`{} {}` is locked, and {removal}", pack.name, pack.version))
                .code(codes::RESOLUTION)
                .hint(format!("`exo update {}` takes a version that the policy allows, if there is one", pack.name))
                .hint(removal.hint(&pack.name)));
        }
    }
    Ok(())
}

/// A version that stays has the content that was locked, whatever else moves.
fn same_content(before: Option<&Lockfile>, after: &Lockfile) -> Outcome<()> {
    for pack in after.packs.values() {
        let old = before.and_then(|lock| lock.packs.get(&pack.name));
        if let Some(old) = old.filter(|old| old.version == pack.version && old.source == pack.source)
            && old.tree != pack.tree
        {
            let text = |digest: Option<Blake3>| digest.map_or("none".to_string(), |digest| digest.to_string());
            return Err(Failure::refused(format!("`{} {}` is not what {LOCK_FILE} recorded", pack.name, pack.version))
                .code(codes::DIGEST)
                .note(format!("its files have BLAKE3 {}\nthe lockfile says    {}", text(pack.tree), text(old.tree)))
                .hint("the pack or the lockfile was changed; if you trust what there is now, run `exo remove` and `exo add` for it"));
        }
    }
    Ok(())
}

fn resolution_failure(error: &ResolveError<NoSource>) -> Box<Failure> {
    let text = error.to_string();
    let (headline, rest) = match text.split_once('\n') {
        Some((headline, rest)) => (headline.trim_end_matches(':').to_string(), unindented(rest)),
        None => (text.clone(), String::new()),
    };
    let mut failure = Failure::refused(headline).code(codes::RESOLUTION);
    if !rest.is_empty() {
        failure = failure.note(rest);
    }
    for hint in error.hints() {
        failure = failure.hint(hint);
    }
    failure.note("Exo.toml and Exo.lock are as they were")
}

/// Lines without the blanks that all of them start with.
fn unindented(text: &str) -> String {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let indent = lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines().map(|line| line.get(indent..).unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

fn locked(resolution: &Resolution, registry: &Registry, paths: &PathPacks, exo: Version) -> Outcome<Lockfile> {
    let mut lock = Lockfile::new(exo);
    for (name, pack) in &resolution.packs {
        let found = registry.get(name, &pack.version);
        let (source, archive, tree) = match (paths.packs.get(name), found) {
            (Some(path), _) => (path.locked_source(), None, path.locked_tree()),
            (None, Some(found)) => (found.source(), Some(found.sha256), Some(found.tree)),
            (None, None) => return Err(Failure::bug(format!("`{name} {}` was chosen but is nowhere", pack.version))),
        };
        lock.insert(LockedPack {
            name: name.clone(),
            version: pack.version.clone(),
            source,
            archive,
            tree,
            raw_c: None,
            published: found.filter(|_| archive.is_some()).and_then(|found| found.published()),
            log: found.filter(|_| archive.is_some()).and_then(|found| found.log()),
            root: found.filter(|_| archive.is_some()).and_then(|found| found.root()),
            dependencies: pack.dependencies.clone(),
        });
    }
    Ok(lock)
}

fn instance(
    settings: &Settings,
    cache: &Cache,
    (registry, paths): (&Registry, &PathPacks),
    locked: &LockedPack,
) -> Outcome<Instance> {
    let made = |tree: Blake3, manifest: &Manifest, location: Location, display_prefix: String| Instance {
        name: locked.name.clone(),
        version: locked.version.clone(),
        tree,
        dependencies: locked.dependencies.clone(),
        dev_dependencies: manifest.dev_dependencies.iter().map(|entry| entry.name.clone()).collect(),
        location,
        locked: locked.clone(),
        signed: None,
        opened: None,
        display_prefix,
    };
    match (&locked.source, locked.archive, locked.tree) {
        (LockedSource::Path(_) | LockedSource::Git { .. }, _, _) => {
            let path =
                paths.packs.get(&locked.name).ok_or_else(|| Failure::bug("a path pack was locked but not read"))?;
            match &path.origin {
                Origin::Folder(folder) => {
                    let tree = digest_of(&content_of_folder(folder)?);
                    let location = Location::Folder { folder: folder.clone(), digest: Some(tree.to_string()) };
                    Ok(made(tree, &path.manifest, location, format!("{}/", path.text)))
                }
                Origin::Git { tree, .. } => {
                    let folder = Tree::folder_of(cache, tree);
                    let location = Location::Tree { folder, digest: tree.to_string() };
                    Ok(made(*tree, &path.manifest, location, format!("{}/", locked.name)))
                }
            }
        }
        (LockedSource::Builtin | LockedSource::Registry(_), Some(archive), Some(digest)) => {
            listing::agrees(registry, locked)?;
            let tree = unpack(settings, cache, registry, (&locked.name, &locked.version), (&archive, &digest))?;
            let manifest = manifest_of(&tree, locked)?;
            let folder = Tree::folder_of(cache, &digest);
            let location = Location::Tree { folder, digest: digest.to_string() };
            let signed = registry.get(&locked.name, &locked.version).map(|pack| pack.signed());
            let signed = signed.transpose()?.flatten();
            let opened = Some(Arc::new(tree));
            Ok(Instance { signed, opened, ..made(digest, &manifest, location, format!("{}/", locked.name)) })
        }
        (LockedSource::Builtin | LockedSource::Registry(_), _, _) => {
            Err(Failure::refused(format!("`{}` is locked from `{}` without its digests", locked.name, locked.source))
                .code(codes::LOCK)
                .hint(format!("delete its entry from {LOCK_FILE} and run `exo install`")))
        }
    }
}

/// The manifest of an installed pack, which must be the pack that was locked.
fn manifest_of(tree: &Tree, locked: &LockedPack) -> Outcome<Manifest> {
    let bytes = tree.read(MANIFEST_FILE)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let manifest = read::manifest(&SourceFile::new(format!("{}/{MANIFEST_FILE}", locked.name), text))?;
    if manifest.pack.name.value != locked.name || manifest.pack.version.value != locked.version {
        return Err(Failure::refused(format!(
            "{LOCK_FILE} says `{} {}`, but its files are those of `{} {}`",
            locked.name, locked.version, manifest.pack.name.value, manifest.pack.version.value
        ))
        .code(codes::LOCK)
        .hint("the lockfile was changed by hand; remove that entry and run `exo install`"));
    }
    Ok(manifest)
}

/// The newest version of every pack in this binary that can be had together, as something to verify.
pub(crate) fn embedded(settings: &Settings, cache: &Cache, registry: &Registry) -> Outcome<Vec<Instance>> {
    let exo = running_exo()?;
    let root = PackName::parse("everything").map_err(|error| Failure::bug(error.message))?;
    let dependencies =
        registry.names().map(|name| Need { name: name.clone(), requirement: Requirement::ANY }).collect();
    let request = Request {
        root,
        root_version: exo.clone(),
        needs: Needs { exo: Requirement::ANY, dependencies },
        exo: exo.clone(),
        fixed: BTreeMap::new(),
        preferred: BTreeMap::new(),
        pinned: BTreeMap::new(),
    };
    // What is in the binary was there before any project had rules.
    let offered = Offered::new(registry, Default::default())?;
    let resolution = solve(&request, &offered).map_err(|error| resolution_failure(&error))?;
    let paths = PathPacks::default();
    let lock = locked(&resolution, registry, &paths, exo)?;
    let mut instances = Vec::new();
    for name in resolution.dependencies_first() {
        if let Some(locked) = lock.packs.get(name) {
            instances.push(instance(settings, cache, (registry, &paths), locked)?);
        }
    }
    Ok(instances)
}
