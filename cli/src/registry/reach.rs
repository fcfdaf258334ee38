//! Brings packs of registries elsewhere among those to choose from: each name from one registry, which is settled here.
//!
//! A name is looked for where the manifest says, else where it is locked from, else in the registry in use; what a pack of a
//! registry needs is looked for in that registry. A name that would come from two places is refused, never guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use exo_compiler::diagnostic::codes;
use exo_index::digest::Sha256;
use exo_index::lockfile::{LOCK_FILE, LockedPack, LockedSource, Lockfile};
use exo_index::manifest::{DependencySource, Manifest};
use exo_index::name::PackName;

use crate::builtin_packs::Registry;
use crate::failure::{Failure, Outcome};
use crate::registry::client::Client;
use crate::registry::configuration::{Configured, Registries};
use crate::registry::packs_of;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// How long the names of a registry are gathered to guess what was meant.
const TIME_FOR_NAMES: Duration = Duration::from_secs(4);

/// Where a name is to be looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'n> {
    /// Nothing is said of it.
    Unsaid,
    /// The registry of that name in the configuration, or of that URL.
    Named(&'n str),
}

impl<'n> Place<'n> {
    pub(crate) fn of(source: &'n DependencySource) -> Self {
        match source {
            DependencySource::Registry(text) => Place::Named(text),
            DependencySource::Default | DependencySource::Path(_) | DependencySource::Git(_) => Place::Unsaid,
        }
    }
}

/// Whether a manifest names a registry by its URL; see [`with_urls`].
fn names_registry(manifest: &Manifest, url: &str) -> bool {
    manifest.all_dependencies().any(|dependency| match &dependency.source {
        DependencySource::Registry(named) => named == url,
        DependencySource::Default | DependencySource::Path(_) | DependencySource::Git(_) => false,
    })
}

/// Where to look for a locked pack. A registry that a manifest of the user's names is the user's word; that of the lockfile
/// alone is not.
pub(crate) fn locked_place<'l, 'm>(
    pack: &'l LockedPack,
    manifests: impl IntoIterator<Item = &'m Manifest>,
) -> Place<'l> {
    match &pack.source {
        LockedSource::Registry(url) if manifests.into_iter().any(|manifest| names_registry(manifest, url)) => {
            Place::Named(url)
        }
        LockedSource::Registry(_) | LockedSource::Builtin | LockedSource::Path(_) | LockedSource::Git { .. } => {
            Place::Unsaid
        }
    }
}

/// What was asked of registries elsewhere, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    /// Open registries, by URL; each is looked at in one state.
    clients: BTreeMap<String, Arc<Client>>,
    /// The registries that were asked for a name.
    asked: BTreeMap<PackName, BTreeSet<String>>,
    /// The names about which a registry said something, be it that it has no such pack.
    pub(crate) answered: BTreeSet<PackName>,
    /// The registry that a name is taken from.
    taken: BTreeMap<PackName, String>,
}

impl Reached {
    /// Names of packs in the registries that were asked for a name; those that cannot be had are left out.
    pub(crate) fn names_beside(&self, name: &PackName) -> Vec<PackName> {
        let asked = self.asked_for(name).filter_map(|url| self.clients.get(url));
        asked.filter_map(|client| client.names(TIME_FOR_NAMES).ok()).flatten().collect()
    }

    /// The registries that were asked for a name, for messages.
    pub(crate) fn asked_for(&self, name: &PackName) -> impl Iterator<Item = &String> {
        self.asked.get(name).into_iter().flatten()
    }
}

/// The manifest with the URL of each registry in place of its name in the configuration, since a lockfile knows URLs only.
pub(crate) fn with_urls(settings: &Settings, mut manifest: Manifest) -> Outcome<Manifest> {
    let mut registries = None;
    for dependency in manifest.dependencies.iter_mut().chain(&mut manifest.dev_dependencies) {
        if let DependencySource::Registry(text) = &mut dependency.source {
            let known = match &mut registries {
                Some(known) => known,
                none => none.insert(Registries::read(settings)?),
            };
            *text = known.find(text)?.url;
        }
    }
    Ok(manifest)
}

/// One piece of work: a name, the registry to ask, and whether the manifest itself names that registry.
struct Open {
    name: PackName,
    registry: Configured,
    explicit: bool,
}

impl Registry {
    /// Adds what registries elsewhere have of some packs, and of all that those may need. Where none is configured and
    /// none is named, nothing happens.
    pub(crate) fn reach<'n>(
        &mut self,
        settings: &Settings,
        terminal: &Terminal,
        names: impl IntoIterator<Item = (&'n PackName, Place<'n>)>,
        lock: Option<&Lockfile>,
    ) -> Outcome<()> {
        let mut names = names.into_iter().peekable();
        if names.peek().is_none() {
            return Ok(());
        }
        let registries = Registries::read(settings)?;
        let mut open = Vec::new();
        for (name, place) in names {
            open.extend(settle(&registries, name, place, lock)?);
        }
        while let Some(next) = open.pop() {
            if !self.reached.asked.entry(next.name.clone()).or_default().insert(next.registry.url.clone()) {
                continue;
            }
            let bound = bound(lock, &next.name);
            if bound == Some(&LockedSource::Builtin) {
                continue;
            }
            check_bound(&next.name, bound, Some(&next.registry.url))?;
            let client = self.client(settings, terminal, &next.registry)?;
            check_identity(&client, lock)?;
            let packs = packs_of(&client, &next.name)?;
            self.reached.answered.insert(next.name.clone());
            if packs.is_empty() {
                continue;
            }
            self.make_room(&next, bound.is_some())?;
            for pack in packs {
                open.extend(pack.manifest.dependencies.iter().map(|dependency| Open {
                    name: dependency.name.clone(),
                    registry: next.registry.clone(),
                    explicit: false,
                }));
                self.add(pack);
            }
        }
        self.refuse_strangers()
    }

    fn client(&mut self, settings: &Settings, terminal: &Terminal, registry: &Configured) -> Outcome<Arc<Client>> {
        if let Some(client) = self.reached.clients.get(&registry.url) {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(registry.open(settings, terminal)?);
        self.reached.clients.insert(registry.url.clone(), Arc::clone(&client));
        Ok(client)
    }

    /// Lets a name be that of a registry, unless it is somebody else's.
    fn make_room(&mut self, next: &Open, is_bound: bool) -> Outcome<()> {
        let (name, url) = (&next.name, &next.registry.url);
        match self.reached.taken.get(name) {
            Some(other) if other == url => return Ok(()),
            Some(other) => return Err(two_registries(name, other, url)),
            None => {}
        }
        if self.remove(name) && !is_bound && !next.explicit {
            return Err(Failure::refused(format!("`{name}` is both in this exo and in registry `{url}`"))
                .code(codes::RESOLUTION)
                .hint("which one is meant is not guessed; unset EXO_REGISTRY for the one in this exo, or ask the registry to give the pack another name")
                .hint(format!("`exo add {name} --registry {url}` takes the one of the registry")));
        }
        self.reached.taken.insert(name.clone(), url.clone());
        Ok(())
    }

    /// What one registry does not have is not taken from another: whoever owns the name there may be anybody.
    fn refuse_strangers(&self) -> Outcome<()> {
        for (name, taken) in &self.reached.taken {
            let other = self.reached.asked.get(name).into_iter().flatten().find(|url| *url != taken);
            if let Some(other) = other {
                return Err(two_registries(name, other, taken));
            }
        }
        Ok(())
    }
}

fn two_registries(name: &PackName, one: &str, other: &str) -> Box<Failure> {
    Failure::refused(format!("`{name}` is needed from two registries, `{one}` and `{other}`"))
        .code(codes::RESOLUTION)
        .note("a name of one registry is never taken from another, where it may be anybody's")
        .hint("name the registry of each such dependency in Exo.toml (`registry = \"…\"`), and take what needs it from the same one")
}

/// Refuses a registry that is another than the one that was locked, though it answers at the same URL.
fn check_identity(client: &Client, lock: Option<&Lockfile>) -> Outcome<()> {
    match (client.root(), lock) {
        (Some(now), Some(lock)) => same_registry(&client.url, now, lock),
        (_, _) => Ok(()),
    }
}

/// The same for a lockfile that was made without regard to the one before.
pub(crate) fn same_registries(before: Option<&Lockfile>, after: &Lockfile) -> Outcome<()> {
    let Some(before) = before else { return Ok(()) };
    for pack in after.packs.values() {
        if let (LockedSource::Registry(url), Some(now)) = (&pack.source, &pack.root) {
            same_registry(url, now, before)?;
        }
    }
    Ok(())
}

fn same_registry(url: &str, now: &Sha256, lock: &Lockfile) -> Outcome<()> {
    let packs = lock.packs.values();
    let other = packs
        .filter(|pack| matches!(&pack.source, LockedSource::Registry(locked) if locked == url))
        .find_map(|pack| pack.root.filter(|then| then != now).map(|then| (pack, then)));
    let Some((pack, then)) = other else { return Ok(()) };
    Err(Failure::refused(format!("registry `{url}` is another one than {LOCK_FILE} was made with"))
        .code(codes::LOCK)
        .note(format!("its first root is sha256:{now}\n`{}` is locked from sha256:{then}", pack.name))
        .hint("somebody may stand in for it: ask its operator on another way, and install nothing from it before")
        .hint("if it was set up anew, run `exo remove` for all of its packs, and `exo add` them again"))
}

/// Where a name is locked from.
fn bound<'l>(lock: Option<&'l Lockfile>, name: &PackName) -> Option<&'l LockedSource> {
    let source = lock.and_then(|lock| lock.packs.get(name)).map(|pack| &pack.source);
    source.filter(|source| matches!(source, LockedSource::Builtin | LockedSource::Registry(_)))
}

/// Refuses a registry other than the one that a name is locked from.
fn check_bound(name: &PackName, bound: Option<&LockedSource>, url: Option<&str>) -> Outcome<()> {
    let from = match bound {
        None => return Ok(()),
        Some(LockedSource::Registry(locked)) if url == Some(locked) => return Ok(()),
        Some(LockedSource::Registry(locked)) => format!("registry `{locked}`"),
        Some(_) => "the packs that come with exo".to_string(),
    };
    let instead = match url {
        Some(url) => format!("not from `{url}`"),
        None => "which is neither in use nor configured".to_string(),
    };
    Err(Failure::refused(format!("{LOCK_FILE} takes `{name}` from {from}, {instead}"))
        .code(codes::LOCK)
        .hint(format!("use that registry, or run `exo remove {name}` and `exo add {name}` to take it from another")))
}

/// The registry to ask for a name; `None` where there is none.
fn settle(
    registries: &Registries,
    name: &PackName,
    place: Place<'_>,
    lock: Option<&Lockfile>,
) -> Outcome<Option<Open>> {
    let bound = bound(lock, name);
    let open = |registry: Configured, explicit| Some(Open { name: name.clone(), registry, explicit });
    if let Place::Named(text) = place {
        let registry = registries.find(text)?;
        check_bound(name, bound, Some(&registry.url))?;
        return Ok(open(registry, true));
    }
    let in_use = registries.in_use()?;
    match bound {
        None => Ok(in_use.and_then(|registry| open(registry, false))),
        // A lockfile alone sends nobody to a registry that its user has not chosen.
        Some(LockedSource::Registry(url)) => {
            let chosen = in_use.filter(|used| used.url == *url).or_else(|| registries.known(url).cloned());
            match chosen {
                Some(registry) => Ok(open(registry, false)),
                None => {
                    let used = registries.in_use()?.map(|used| used.url);
                    check_bound(name, bound, used.as_deref()).map(|()| None)
                }
            }
        }
        Some(_) => Ok(None),
    }
}
