//! The candidate filter of the index crate, with a project's rules and this machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use exo_index::candidates::{Candidate, Policy, PolicySection, Published, Removal};
use exo_index::lockfile::{LockedPack, LockedSource};
use exo_index::name::PackName;
use exo_index::resolve::{Needs, PackSource};
use exo_index::version::{Requirement, Version};

use crate::builtin_packs::{Registry, RegistryPack};
use crate::failure::Outcome;
use crate::install::plan::running_exo;
use crate::project::Project;
use crate::settings::Settings;

/// Seconds since 1970-01-01 UTC; zero, at which everything is too new, where the clock stands before that.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The versions of a registry as a project sees them.
pub(crate) struct Offered<'r> {
    registry: &'r Registry,
    policy: Policy,
}

impl<'r> Offered<'r> {
    pub(crate) fn new(registry: &'r Registry, section: PolicySection) -> Outcome<Self> {
        Ok(Offered { registry, policy: Policy { section, now: now(), exo: running_exo()? } })
    }

    /// By the rules of the project that the command is started in; outside of one there are none.
    pub(crate) fn here(registry: &'r Registry, settings: &Settings) -> Outcome<Self> {
        let section = Project::find(settings)?.map(|project| project.manifest.policy).unwrap_or_default();
        Offered::new(registry, section)
    }

    /// Everything that stands against a version, the gravest first.
    pub(crate) fn judge(&self, pack: &RegistryPack) -> Vec<Removal> {
        self.policy.judge(pack.name(), &pack.candidate)
    }

    /// What stands against a locked version. Of one of a registry that was not asked, the lockfile says the age.
    pub(crate) fn removal_of_locked(&self, pack: &LockedPack) -> Option<Removal> {
        let LockedSource::Registry(_) = pack.source else { return self.removal(&pack.name, &pack.version) };
        if self.registry.get(&pack.name, &pack.version).is_some() {
            return self.removal(&pack.name, &pack.version);
        }
        let published = pack.published.map_or(Published::Unknown, Published::At);
        let candidate = Candidate { published, ..Candidate::with_exo(pack.version.clone(), Requirement::ANY) };
        self.policy.removal(&pack.name, &candidate)
    }

    /// The newest version that nothing stands against.
    pub(crate) fn newest(&self, name: &PackName) -> Option<&'r RegistryPack> {
        self.registry.versions(name).rev().map(AsRef::as_ref).find(|pack| self.judge(pack).is_empty())
    }

    /// Versions that are newer than one and held back, the newest first, each with the first reason. Prereleases are
    /// not, since nobody asked for them.
    pub(crate) fn held_back(&self, name: &PackName, than: &Version) -> Vec<(Version, Removal)> {
        let newer =
            self.registry.versions(name).rev().filter(|pack| pack.version() > than && !pack.version().is_prerelease());
        newer.filter_map(|pack| Some((pack.version().clone(), self.judge(pack).into_iter().next()?))).collect()
    }
}

/// The registry is in memory, so looking things up in it does not fail.
#[derive(Debug)]
pub(crate) enum NoSource {}

impl std::fmt::Display for NoSource {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl std::error::Error for NoSource {}

impl PackSource for Offered<'_> {
    type Error = NoSource;

    fn versions(&self, name: &PackName) -> Result<Option<Vec<Version>>, NoSource> {
        let versions: Vec<Version> = self.registry.versions(name).map(|pack| pack.version().clone()).collect();
        Ok((!versions.is_empty()).then_some(versions))
    }

    fn needs(&self, name: &PackName, version: &Version) -> Result<Needs, NoSource> {
        // Asked only for versions that were given, so the other case has nothing to need.
        let none = || Needs { exo: Requirement::ANY, dependencies: Vec::new() };
        Ok(self.registry.get(name, version).map_or_else(none, |pack| Needs::of_manifest(&pack.manifest)))
    }

    fn removal(&self, name: &PackName, version: &Version) -> Option<Removal> {
        self.policy.removal(name, &self.registry.get(name, version)?.candidate)
    }

    fn names_near(&self, _wrong: &str) -> Vec<String> {
        self.registry.names().map(ToString::to_string).collect()
    }
}
