//! The solver's view of a request and a source: which version to try next, and what it needs.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use pubgrub::{Dependencies, DependencyProvider, PackageResolutionStatistics, VersionSet as _};

use super::version_set::VersionSet;
use super::{FixedPack, Needs, PackSource, Request};
use crate::candidates::Removal;
use crate::name::PackName;
use crate::version::Version;

/// Answers the solver from a request and a source, and remembers what the source said.
pub(super) struct Provider<'r, S> {
    pub(super) request: &'r Request,
    pub(super) source: &'r S,
    versions: RefCell<BTreeMap<PackName, Rc<[Version]>>>,
    needs: RefCell<BTreeMap<(PackName, Version), Rc<Needs>>>,
}

/// Why a version that exists cannot be used; nothing but its own needs can make it so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NeedsOtherSelf;

impl fmt::Display for NeedsOtherSelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("needs another version of itself")
    }
}

impl<'r, S: PackSource> Provider<'r, S> {
    pub(super) fn new(request: &'r Request, source: &'r S) -> Self {
        Self { request, source, versions: RefCell::default(), needs: RefCell::default() }
    }

    /// The fixed pack of this name.
    pub(super) fn fixed(&self, name: &PackName) -> Option<&'r FixedPack> {
        self.request.fixed.get(name)
    }

    /// Whether there is such a pack.
    pub(super) fn is_known(&self, name: &PackName) -> Result<bool, S::Error> {
        Ok(!self.versions(name)?.is_empty())
    }

    /// All versions of a pack, newest first; none when there is no such pack.
    pub(super) fn versions(&self, name: &PackName) -> Result<Rc<[Version]>, S::Error> {
        if let Some(known) = self.versions.borrow().get(name) {
            return Ok(Rc::clone(known));
        }
        let versions: Rc<[Version]> = if *name == self.request.root {
            Rc::from([self.request.root_version.clone()])
        } else if let Some(fixed) = self.fixed(name) {
            Rc::from([fixed.version.clone()])
        } else {
            let mut versions = self.source.versions(name)?.unwrap_or_default();
            versions.sort_unstable_by(|a, b| b.cmp(a));
            versions.dedup();
            Rc::from(versions)
        };
        self.versions.borrow_mut().insert(name.clone(), Rc::clone(&versions));
        Ok(versions)
    }

    /// What a version needs.
    pub(super) fn needs(&self, name: &PackName, version: &Version) -> Result<Rc<Needs>, S::Error> {
        let key = (name.clone(), version.clone());
        if let Some(known) = self.needs.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let needs = if *name == self.request.root {
            self.request.needs.clone()
        } else if let Some(fixed) = self.fixed(name) {
            fixed.needs.clone()
        } else {
            self.source.needs(name, version)?
        };
        let needs = Rc::new(needs);
        self.needs.borrow_mut().insert(key, Rc::clone(&needs));
        Ok(needs)
    }

    /// Whether a version may be chosen at all: not held at another one, not removed, and working with this exo.
    pub(super) fn is_usable(&self, name: &PackName, version: &Version) -> Result<bool, S::Error> {
        if self.request.pinned.get(name).is_some_and(|pinned| pinned != version) {
            return Ok(false);
        }
        if self.removal(name, version).is_some() {
            return Ok(false);
        }
        Ok(self.needs(name, version)?.exo.accepts_exo(&self.request.exo))
    }

    /// What the source holds against a version. A fixed pack is the user's own choice, and what is locked keeps
    /// its place unless the reason holds for it too.
    pub(super) fn removal(&self, name: &PackName, version: &Version) -> Option<Removal> {
        if *name == self.request.root || self.fixed(name).is_some() {
            return None;
        }
        let locked = self.request.preferred.get(name) == Some(version);
        self.source.removal(name, version).filter(|removal| !locked || removal.holds_when_locked())
    }

    /// The versions that meet a need. From a fixed pack, `*` takes whatever version it has, prereleases included.
    pub(super) fn set_of(&self, need: &super::Need) -> VersionSet {
        if need.requirement.is_any() && (self.request.fixed.contains_key(&need.name) || need.name == self.request.root)
        {
            return VersionSet::full();
        }
        VersionSet::of(&need.requirement)
    }
}

impl<S: PackSource> DependencyProvider for Provider<'_, S> {
    type P = PackName;
    type V = Version;
    type VS = VersionSet;
    type M = NeedsOtherSelf;
    type Err = S::Error;

    /// Packs in conflicts first (that ends dead ends soon), then what the project names itself (so that it gets the newest),
    /// then packs with few versions left; the name makes the order total.
    type Priority = (u32, bool, Reverse<usize>, Reverse<PackName>);

    fn prioritize(
        &self,
        package: &PackName,
        range: &VersionSet,
        statistics: &PackageResolutionStatistics,
    ) -> Self::Priority {
        // What cannot be looked up has no versions here; `choose_version` reports the failure.
        let count = self.versions(package).map_or(0, |versions| versions.iter().filter(|v| range.contains(v)).count());
        if count == 0 {
            return (u32::MAX, true, Reverse(0), Reverse(package.clone()));
        }
        let direct = self.request.needs.dependencies.iter().any(|need| need.name == *package);
        (statistics.conflict_count(), direct, Reverse(count), Reverse(package.clone()))
    }

    fn choose_version(&self, package: &PackName, range: &VersionSet) -> Result<Option<Version>, S::Error> {
        let versions = self.versions(package)?;
        let preferred = self.request.preferred.get(package).filter(|version| versions.contains(version));
        for version in preferred.into_iter().chain(versions.iter()) {
            if range.contains(version) && self.is_usable(package, version)? {
                return Ok(Some(version.clone()));
            }
        }
        Ok(None)
    }

    fn get_dependencies(
        &self,
        package: &PackName,
        version: &Version,
    ) -> Result<Dependencies<PackName, VersionSet, NeedsOtherSelf>, S::Error> {
        let needs = self.needs(package, version)?;
        // Two needs for one pack are one need for versions that meet both.
        let mut sets: BTreeMap<&PackName, VersionSet> = BTreeMap::new();
        for need in &needs.dependencies {
            let set = self.set_of(need);
            if need.name == *package {
                if !set.contains(version) {
                    return Ok(Dependencies::Unavailable(NeedsOtherSelf));
                }
                continue;
            }
            let set = match sets.get(&need.name) {
                Some(other) => other.intersection(&set),
                None => set,
            };
            sets.insert(&need.name, set);
        }
        Ok(Dependencies::Available(sets.into_iter().map(|(name, set)| (name.clone(), set)).collect()))
    }
}
