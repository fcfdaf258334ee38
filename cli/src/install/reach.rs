//! What a pack can reach through its dependencies, as a list and as one digest.

use std::collections::{BTreeMap, BTreeSet};

use exo_index::digest::Blake3;
use exo_index::name::PackName;

use crate::install::plan::Instance;

/// Packs by name. The digest of each is made once, out of those of its dependencies.
pub(crate) struct Reach<'a> {
    by_name: BTreeMap<&'a PackName, &'a Instance>,
    digests: BTreeMap<&'a PackName, Option<Blake3>>,
}

impl<'a> Reach<'a> {
    /// Of packs of one name the last is meant.
    pub(crate) fn new(instances: impl IntoIterator<Item = &'a Instance>) -> Self {
        let by_name: BTreeMap<&PackName, &Instance> =
            instances.into_iter().map(|instance| (&instance.name, instance)).collect();
        let mut reach = Reach { by_name, digests: BTreeMap::new() };
        let names: Vec<&PackName> = reach.by_name.keys().copied().collect();
        for name in names {
            reach.settle(name, &mut BTreeSet::new());
        }
        reach
    }

    /// The digest of a pack with all that it can reach; `None` where it reaches itself, which has no such digest.
    fn settle(&mut self, name: &'a PackName, open: &mut BTreeSet<&'a PackName>) -> Option<Blake3> {
        if let Some(digest) = self.digests.get(name) {
            return *digest;
        }
        let instance = *self.by_name.get(name)?;
        if !open.insert(name) {
            return None;
        }
        let needs: Vec<&PackName> = self.known(&instance.dependencies).collect();
        let below = needs.into_iter().map(|need| Some((need, self.settle(need, open)?))).collect::<Option<Vec<_>>>();
        open.remove(name);
        let digest = below.map(|below| combined(instance, &below));
        self.digests.insert(name, digest);
        digest
    }

    fn known<'n>(&self, names: &'n BTreeSet<PackName>) -> impl Iterator<Item = &'a PackName> + use<'a, 'n> {
        let known: Vec<&'a PackName> =
            names.iter().filter_map(|name| self.by_name.get_key_value(name)).map(|(name, _)| *name).collect();
        known.into_iter()
    }

    /// One digest of an instance, everything that it can reach, and what its tests use: equal digests have equal lists.
    pub(crate) fn digest(&self, instance: &Instance) -> Option<Blake3> {
        let below = |names| {
            let digests = self.known(names).filter(|name| **name != instance.name);
            digests.map(|name| Some((name, *self.digests.get(name)?.as_ref()?))).collect::<Option<Vec<_>>>()
        };
        let (needs, tests) = (below(&instance.dependencies)?, below(&instance.dev_dependencies)?);
        let own = combined(instance, &needs);
        Some(Blake3::of(format!("{own} {}", combined(instance, &tests)).as_bytes()))
    }

    /// A pack and everything it can reach, in the order of their names.
    pub(crate) fn list(&self, instance: &'a Instance) -> Vec<&'a Instance> {
        let mut seen: BTreeSet<&PackName> = BTreeSet::from([&instance.name]);
        let mut open = vec![instance];
        let mut found = BTreeMap::new();
        while let Some(pack) = open.pop() {
            found.insert(&pack.name, pack);
            let own = if pack.name == instance.name { Some(&instance.dev_dependencies) } else { None };
            for name in pack.dependencies.iter().chain(own.into_iter().flatten()) {
                if let Some(dependency) = self.by_name.get(name)
                    && seen.insert(name)
                {
                    open.push(dependency);
                }
            }
        }
        found.into_values().collect()
    }
}

/// Names and digests have no spaces and no line ends, so that no two lists give the same text.
fn combined(instance: &Instance, below: &[(&PackName, Blake3)]) -> Blake3 {
    let mut text = format!("{} {}\n", instance.name, instance.tree);
    for (name, digest) in below {
        text += &format!("{name} {digest}\n");
    }
    Blake3::of(text.as_bytes())
}
