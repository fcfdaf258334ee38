//! A source of packs that is held in memory whole: the packs embedded in the program, and registries of tests.

use std::collections::BTreeMap;
use std::convert::Infallible;

use super::{Needs, PackSource};
use crate::name::{PackName, nearest};
use crate::version::Version;

/// What every version of every pack needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalogue {
    packs: BTreeMap<PackName, BTreeMap<Version, Needs>>,
}

impl Catalogue {
    /// A catalogue without packs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a version of a pack; gives back what the catalogue said of it before.
    pub fn add(&mut self, name: PackName, version: Version, needs: Needs) -> Option<Needs> {
        self.packs.entry(name).or_default().insert(version, needs)
    }

    /// What a version needs, when the catalogue has it.
    pub fn get(&self, name: &PackName, version: &Version) -> Option<&Needs> {
        self.packs.get(name)?.get(version)
    }

    /// The names of all packs.
    pub fn names(&self) -> impl Iterator<Item = &PackName> {
        self.packs.keys()
    }

    /// The newest version of a pack: the newest release, or the newest prerelease of a pack without releases.
    pub fn newest(&self, name: &PackName) -> Option<&Version> {
        let versions = self.packs.get(name)?;
        versions.keys().rev().find(|version| !version.is_prerelease()).or_else(|| versions.keys().next_back())
    }
}

impl PackSource for Catalogue {
    type Error = Infallible;

    fn versions(&self, name: &PackName) -> Result<Option<Vec<Version>>, Infallible> {
        Ok(self.packs.get(name).map(|versions| versions.keys().cloned().collect()))
    }

    fn needs(&self, name: &PackName, version: &Version) -> Result<Needs, Infallible> {
        // The resolver asks only for versions that are there.
        Ok(self.get(name, version).cloned().unwrap_or_default())
    }

    fn names_near(&self, wrong: &str) -> Vec<String> {
        nearest(wrong, self.packs.keys().map(PackName::as_str)).into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn newest_prefers_releases() {
        let mut catalogue = Catalogue::new();
        let name = PackName::parse("a").unwrap();
        assert_eq!(catalogue.newest(&name), None);
        let mut add = |text: &str| catalogue.add(name.clone(), Version::parse(text).unwrap(), Needs::default());
        assert_eq!(add("2.0.0-rc.1"), None);
        assert_eq!(add("2.0.0-rc.1"), Some(Needs::default()));
        assert_eq!(catalogue.newest(&name).unwrap().to_string(), "2.0.0-rc.1");
        catalogue.add(name.clone(), Version::new(1, 0, 0), Needs::default());
        assert_eq!(catalogue.newest(&name).unwrap().to_string(), "1.0.0");
        assert_eq!(catalogue.names().count(), 1);
        assert_eq!(catalogue.names_near("b"), ["a"]);
    }
}
