//! The resolver: one version for every pack a project needs, or a reason why there is none.
//!
//! The search is PubGrub's (N. Weizenbaum, 2018; the crate `pubgrub`), which is complete: it finds a solution whenever there
//! is one, and otherwise a proof that there is none, which [`Explanation`] retells in plain sentences. One version of a pack takes
//! part in one resolution, because types have identity.

mod catalogue;
mod explain;
mod provider;
mod version_set;

#[cfg(test)]
mod brute_force;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pubgrub::PubGrubError;

use crate::candidates::Removal;
use crate::lockfile::Lockfile;
use crate::manifest::{Dependency, Manifest};
use crate::name::{PackName, nearest};
use crate::version::{Requirement, Version};

pub use catalogue::Catalogue;
pub use explain::Explanation;
use provider::Provider;

/// Where the resolver learns which versions there are and what they need.
pub trait PackSource {
    /// What can go wrong while looking.
    type Error: std::error::Error + 'static;

    /// All versions of a pack, in any order; `None` when there is no such pack. Asked once for each pack.
    ///
    /// # Errors
    /// The source could not be read.
    fn versions(&self, name: &PackName) -> Result<Option<Vec<Version>>, Self::Error>;

    /// What a version needs. Asked only for versions that [`PackSource::versions`] gave, and once for each.
    ///
    /// # Errors
    /// The source could not be read.
    fn needs(&self, name: &PackName, version: &Version) -> Result<Needs, Self::Error>;

    /// Why a version is not to be chosen although it is there; `None` for one that may be. Asked often.
    fn removal(&self, _name: &PackName, _version: &Version) -> Option<Removal> {
        None
    }

    /// The names of all packs, or of those nearest to a wrong one, to make suggestions from.
    fn names_near(&self, wrong: &str) -> Vec<String>;
}

/// What a version of a pack needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// The versions of exo it works with.
    pub exo: Requirement,
    /// The packs it depends on, without those for development.
    pub dependencies: Vec<Need>,
}

impl Default for Needs {
    /// Any version of exo, and no packs.
    fn default() -> Self {
        Self { exo: Requirement::ANY, dependencies: Vec::new() }
    }
}

impl Needs {
    /// What the manifest of a pack that someone depends on asks for.
    pub fn of_manifest(manifest: &Manifest) -> Self {
        Self { exo: manifest.pack.exo.clone(), dependencies: manifest.dependencies.iter().map(Need::from).collect() }
    }
}

/// A pack and the versions of it that will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The pack.
    pub name: PackName,
    /// The versions that will do.
    pub requirement: Requirement,
}

impl From<&Dependency> for Need {
    fn from(dependency: &Dependency) -> Self {
        Self { name: dependency.name.clone(), requirement: dependency.requirement.clone() }
    }
}

/// A pack with one version to choose from: a path dependency, or one from a commit of a git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedPack {
    /// The version its manifest states.
    pub version: Version,
    /// What its manifest asks for.
    pub needs: Needs,
    /// Where it is, for explanations: `../neon`.
    pub place: String,
}

/// What is to be resolved.
#[derive(Debug, Clone)]
pub struct Request {
    /// The name of the project's own pack.
    pub root: PackName,
    /// Its version.
    pub root_version: Version,
    /// What it needs, for development too.
    pub needs: Needs,
    /// The running version of exo, which every chosen version must accept.
    pub exo: Version,
    /// The packs with one version to choose from, in place of what the source knows of them. The caller collects them, from the
    /// manifest and from the manifests of path dependencies.
    pub fixed: BTreeMap<PackName, FixedPack>,
    /// The versions to choose where they fit: those of the lockfile. Everything else gets its newest version.
    pub preferred: BTreeMap<PackName, Version>,
    /// The only versions that may be chosen (`exo update --precise`).
    pub pinned: BTreeMap<PackName, Version>,
}

impl Request {
    /// The request of a project's manifest, its dependencies for development included, without fixed, preferred or
    /// pinned packs.
    pub fn of_manifest(manifest: &Manifest, exo: Version) -> Self {
        let mut needs = Needs::of_manifest(manifest);
        needs.dependencies.extend(manifest.dev_dependencies.iter().map(Need::from));
        Self {
            root: manifest.pack.name.value.clone(),
            root_version: manifest.pack.version.value.clone(),
            needs,
            exo,
            fixed: BTreeMap::new(),
            preferred: BTreeMap::new(),
            pinned: BTreeMap::new(),
        }
    }

    /// Prefers the versions of a lockfile, except those of packs that are to be moved on.
    pub fn prefer(&mut self, lock: &Lockfile, moved_on: &BTreeSet<PackName>) {
        let kept = lock.packs.values().filter(|pack| !moved_on.contains(&pack.name));
        self.preferred.extend(kept.map(|pack| (pack.name.clone(), pack.version.clone())));
    }
}

/// A version for every pack needed; the project's own pack is not among them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolution {
    /// The packs by name.
    pub packs: BTreeMap<PackName, ResolvedPack>,
}

/// One pack of a resolution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPack {
    /// The version chosen.
    pub version: Version,
    /// The packs it depends on, which are in the resolution too.
    pub dependencies: BTreeSet<PackName>,
}

impl Resolution {
    /// The packs in an order in which each stands after all it depends on, and otherwise in the order of the names.
    pub fn dependencies_first(&self) -> Vec<&PackName> {
        let mut order = Vec::with_capacity(self.packs.len());
        let mut placed = BTreeSet::new();
        for start in self.packs.keys() {
            let mut open = vec![(start, false)];
            while let Some((name, children_done)) = open.pop() {
                if placed.contains(name) {
                    continue;
                }
                let dependencies = self.packs.get(name).map(|pack| &pack.dependencies);
                if children_done || dependencies.is_none_or(BTreeSet::is_empty) {
                    placed.insert(name);
                    order.push(name);
                    continue;
                }
                open.push((name, true));
                open.extend(dependencies.into_iter().flatten().rev().map(|dependency| (dependency, false)));
            }
        }
        order
    }
}

/// Why there is no resolution.
#[derive(Debug)]
pub enum ResolveError<E> {
    /// The project needs a pack that does not exist.
    UnknownPack {
        /// The name that nobody has.
        name: PackName,
        /// The names nearest to it.
        nearest: Vec<String>,
    },
    /// The project does not accept the running version of exo.
    Exo {
        /// The versions it accepts.
        accepts: Requirement,
        /// The running version.
        running: Version,
    },
    /// No choice of versions meets all requirements.
    Conflict(Explanation),
    /// Packs depend on each other in a circle; each depends on the next, and the last on the first.
    Cycle(Vec<PackName>),
    /// The source failed.
    Source {
        /// The pack that was asked for.
        name: PackName,
        /// What went wrong.
        error: E,
    },
}

impl<E: fmt::Display> fmt::Display for ResolveError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPack { name, .. } => write!(f, "there is no pack `{name}`"),
            Self::Exo { accepts, running } => write!(f, "this pack needs exo `{accepts}`, and this is exo {running}"),
            Self::Conflict(explanation) => explanation.fmt(f),
            Self::Cycle(names) => {
                f.write_str("packs depend on each other in a circle: ")?;
                for name in names {
                    write!(f, "`{name}` needs ")?;
                }
                match names.first() {
                    Some(first) => write!(f, "`{first}`"),
                    None => Ok(()),
                }
            }
            Self::Source { name, error } => write!(f, "cannot look up pack `{name}`: {error}"),
        }
    }
}

impl<E: std::error::Error> std::error::Error for ResolveError<E> {}

impl<E> ResolveError<E> {
    /// How to put it right, as far as that is known, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::UnknownPack { nearest, .. } => suggestion(nearest).into_iter().collect(),
            Self::Exo { .. } => vec!["use a version of exo it accepts, or change `exo` in Exo.toml".to_owned()],
            Self::Conflict(explanation) => explanation.hints.clone(),
            Self::Cycle(_) => vec!["move what they share into a pack of its own".to_owned()],
            Self::Source { .. } => Vec::new(),
        }
    }
}

/// The hint that proposes other names.
fn suggestion(nearest: &[String]) -> Option<String> {
    let quoted: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
    (!quoted.is_empty()).then(|| format!("did you mean {}?", quoted.join(" or ")))
}

/// Chooses a version for every pack that a project needs.
///
/// The choice depends on the request and the source only: a preferred version where it fits, otherwise the newest.
/// A solution that is preferred as a whole comes back as it was.
///
/// # Errors
/// There is no solution, packs depend on each other in a circle, or the source fails.
pub fn resolve<S: PackSource>(request: &Request, source: &S) -> Result<Resolution, ResolveError<S::Error>> {
    if !request.needs.exo.accepts_exo(&request.exo) {
        return Err(ResolveError::Exo { accepts: request.needs.exo.clone(), running: request.exo.clone() });
    }
    let provider = Provider::new(request, source);
    for need in &request.needs.dependencies {
        let known = provider.is_known(&need.name);
        if !known.map_err(|error| ResolveError::Source { name: need.name.clone(), error })? {
            let nearest = near_names(source, request, need.name.as_str());
            return Err(ResolveError::UnknownPack { name: need.name.clone(), nearest });
        }
    }
    let chosen = match pubgrub::resolve(&provider, request.root.clone(), request.root_version.clone()) {
        Ok(chosen) => chosen,
        Err(PubGrubError::NoSolution(tree)) => {
            let explanation = explain::explain(&tree, &provider);
            return Err(ResolveError::Conflict(explanation));
        }
        Err(
            PubGrubError::ErrorRetrievingDependencies { package: name, source: error, .. }
            | PubGrubError::ErrorChoosingVersion { package: name, source: error },
        ) => return Err(ResolveError::Source { name, error }),
        Err(PubGrubError::ErrorInShouldCancel(error)) => {
            return Err(ResolveError::Source { name: request.root.clone(), error });
        }
    };
    let chosen: BTreeMap<PackName, Version> = chosen.into_iter().collect();
    let mut packs = BTreeMap::new();
    for (name, version) in chosen {
        let needs =
            provider.needs(&name, &version).map_err(|error| ResolveError::Source { name: name.clone(), error })?;
        let dependencies = needs.dependencies.iter().map(|need| need.name.clone()).collect();
        packs.insert(name, ResolvedPack { version, dependencies });
    }
    if let Some(cycle) = find_cycle(&packs) {
        return Err(ResolveError::Cycle(cycle));
    }
    packs.remove(&request.root);
    Ok(Resolution { packs })
}

/// The names nearest to a wrong one, from the source and the fixed packs.
fn near_names<S: PackSource>(source: &S, request: &Request, wrong: &str) -> Vec<String> {
    let names = source.names_near(wrong);
    let fixed = request.fixed.keys().map(PackName::as_str);
    nearest(wrong, names.iter().map(String::as_str).chain(fixed)).into_iter().map(str::to_owned).collect()
}

/// A circle of dependencies, if there is one.
fn find_cycle(packs: &BTreeMap<PackName, ResolvedPack>) -> Option<Vec<PackName>> {
    let mut finished: BTreeSet<&PackName> = BTreeSet::new();
    for start in packs.keys() {
        // The way from the start to where the search is, each with what is still to be looked at.
        let mut way: Vec<(&PackName, Vec<&PackName>)> = vec![(start, dependencies_of(packs, start))];
        while let Some((name, open)) = way.last_mut() {
            let Some(next) = open.pop() else {
                finished.insert(name);
                way.pop();
                continue;
            };
            if finished.contains(next) {
                continue;
            }
            if let Some(at) = way.iter().position(|(name, _)| *name == next) {
                return Some(way.iter().skip(at).map(|(name, _)| (*name).clone()).collect());
            }
            way.push((next, dependencies_of(packs, next)));
        }
    }
    None
}

/// The dependencies of a pack, in reverse order of the names.
fn dependencies_of<'p>(packs: &'p BTreeMap<PackName, ResolvedPack>, name: &PackName) -> Vec<&'p PackName> {
    packs.get(name).map(|pack| pack.dependencies.iter().rev().collect()).unwrap_or_default()
}
