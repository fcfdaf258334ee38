//! Where a lockfile and a manifest disagree: what `--locked` refuses.

use std::collections::BTreeSet;
use std::fmt;

use super::{LockedSource, Lockfile};
use crate::manifest::{Dependency, DependencySource, Manifest};
use crate::name::PackName;
use crate::version::{Requirement, Version};

/// One way in which a lockfile does not fit a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disagreement {
    /// The manifest needs a pack that is not locked.
    Missing {
        /// The pack.
        name: PackName,
        /// The versions the manifest accepts.
        requirement: Requirement,
    },
    /// The locked version is none that the manifest accepts.
    Version {
        /// The pack.
        name: PackName,
        /// The versions the manifest accepts.
        requirement: Requirement,
        /// The version that is locked.
        locked: Version,
    },
    /// The manifest takes the pack from elsewhere.
    Source {
        /// The pack.
        name: PackName,
        /// Where the manifest takes it from.
        wanted: DependencySource,
        /// Where the locked one comes from.
        locked: LockedSource,
    },
    /// A locked pack is needed by nothing any more.
    Unneeded {
        /// The pack.
        name: PackName,
        /// The version that is locked.
        locked: Version,
    },
}

impl Disagreement {
    /// The pack it is about.
    pub const fn name(&self) -> &PackName {
        match self {
            Self::Missing { name, .. }
            | Self::Version { name, .. }
            | Self::Source { name, .. }
            | Self::Unneeded { name, .. } => name,
        }
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name, requirement } => write!(f, "`{name} {requirement}` is not locked"),
            Self::Version { name, requirement, locked } => {
                write!(f, "`{name} {locked}` is locked, but the manifest needs `{requirement}`")
            }
            Self::Source { name, wanted, locked } => {
                write!(f, "`{name}` is locked from `{locked}`, but the manifest takes it from ")?;
                match wanted {
                    DependencySource::Default => f.write_str("the registry in use"),
                    DependencySource::Registry(url) => write!(f, "the registry `{url}`"),
                    DependencySource::Path(path) => write!(f, "the directory `{path}`"),
                    DependencySource::Git(git) => write!(f, "`{}` at {}", git.url, git.reference),
                }
            }
            Self::Unneeded { name, locked } => write!(f, "`{name} {locked}` is locked, but nothing needs it"),
        }
    }
}

impl Lockfile {
    /// All disagreements with a manifest, in the order of the packs' names; none means that the lockfile is up to date as
    /// far as the manifest alone can tell. What path dependencies need is in their own manifests, and
    /// comparing with those is the caller's part.
    pub fn disagreements(&self, manifest: &Manifest) -> Vec<Disagreement> {
        let mut found = Vec::new();
        for dependency in manifest.all_dependencies() {
            found.extend(self.disagreement(dependency));
        }
        let needed = self.reachable(manifest.all_dependencies().map(|dependency| &dependency.name));
        for (name, pack) in &self.packs {
            if !needed.contains(name) {
                found.push(Disagreement::Unneeded { name: name.clone(), locked: pack.version.clone() });
                continue;
            }
            // Never so in a file; a lockfile from which a pack was taken that is to move is to be settled anew.
            for absent in pack.dependencies.iter().filter(|name| !self.packs.contains_key(*name)) {
                found.push(Disagreement::Missing { name: absent.clone(), requirement: Requirement::ANY });
            }
        }
        found.sort_by(|a, b| a.name().cmp(b.name()));
        found.dedup();
        found
    }

    /// The disagreement with one dependency.
    fn disagreement(&self, dependency: &Dependency) -> Option<Disagreement> {
        let (name, requirement) = (dependency.name.clone(), dependency.requirement.clone());
        let Some(pack) = self.packs.get(&name) else {
            return Some(Disagreement::Missing { name, requirement });
        };
        if !same_source(&dependency.source, &pack.source) {
            let (wanted, locked) = (dependency.source.clone(), pack.source.clone());
            return Some(Disagreement::Source { name, wanted, locked });
        }
        if !dependency.accepts(&pack.version) {
            return Some(Disagreement::Version { name, requirement, locked: pack.version.clone() });
        }
        None
    }

    /// The names of the packs that can be reached from some, themselves included as far as they are locked.
    pub fn reachable<'a>(&'a self, roots: impl IntoIterator<Item = &'a PackName>) -> BTreeSet<&'a PackName> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&PackName> = roots.into_iter().collect();
        while let Some(name) = open.pop() {
            if let Some((key, pack)) = self.packs.get_key_value(name)
                && reached.insert(key)
            {
                open.extend(&pack.dependencies);
            }
        }
        reached
    }
}

/// Whether a locked source is what a dependency asks for. Which commit a branch or tag was locked to plays no part.
fn same_source(wanted: &DependencySource, locked: &LockedSource) -> bool {
    match (wanted, locked) {
        (DependencySource::Default, LockedSource::Builtin | LockedSource::Registry(_)) => true,
        (DependencySource::Registry(a), LockedSource::Registry(b))
        | (DependencySource::Path(a), LockedSource::Path(b)) => a == b,
        (DependencySource::Git(wanted), LockedSource::Git { source, .. }) => wanted == source,
        (DependencySource::Default, LockedSource::Path(_) | LockedSource::Git { .. })
        | (DependencySource::Registry(_), LockedSource::Builtin | LockedSource::Path(_) | LockedSource::Git { .. })
        | (DependencySource::Path(_), LockedSource::Builtin | LockedSource::Registry(_) | LockedSource::Git { .. })
        | (DependencySource::Git(_), LockedSource::Builtin | LockedSource::Registry(_) | LockedSource::Path(_)) => {
            false
        }
    }
}
