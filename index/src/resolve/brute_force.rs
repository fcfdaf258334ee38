//! The resolver's slow twin: tries every choice of versions. The oracle of the tests, for small registries only.

use std::collections::BTreeMap;

use super::{Need, PackSource, Request};
use crate::name::PackName;
use crate::version::Version;

/// A choice of versions that meets every requirement, circles included, or `None` when there is none.
pub(super) fn solve<S: PackSource>(request: &Request, source: &S) -> Option<BTreeMap<PackName, Version>> {
    let mut chosen = BTreeMap::from([(request.root.clone(), request.root_version.clone())]);
    search(request, source, &mut chosen, &mut request.needs.dependencies.clone()).then_some(chosen)
}

/// Whether the choice made so far can be completed to one that meets the open needs; `chosen` then holds it.
fn search<S: PackSource>(
    request: &Request,
    source: &S,
    chosen: &mut BTreeMap<PackName, Version>,
    open: &mut Vec<Need>,
) -> bool {
    let Some(need) = open.pop() else {
        return true;
    };
    if let Some(version) = chosen.get(&need.name) {
        let done = meets(request, &need, version) && search(request, source, chosen, open);
        open.push(need);
        return done;
    }
    let versions = match request.fixed.get(&need.name) {
        Some(fixed) => vec![fixed.version.clone()],
        None => source.versions(&need.name).ok().flatten().unwrap_or_default(),
    };
    for version in versions {
        let needs = match request.fixed.get(&need.name) {
            Some(fixed) => fixed.needs.clone(),
            None => source.needs(&need.name, &version).expect("the source does not fail"),
        };
        let pinned = request.pinned.get(&need.name).is_none_or(|pinned| *pinned == version);
        if !pinned || !meets(request, &need, &version) || !needs.exo.accepts_exo(&request.exo) {
            continue;
        }
        chosen.insert(need.name.clone(), version);
        let mut next = open.clone();
        next.extend(needs.dependencies);
        if search(request, source, chosen, &mut next) {
            return true;
        }
        chosen.remove(&need.name);
    }
    open.push(need);
    false
}

/// Whether a version meets a need.
pub(super) fn meets(request: &Request, need: &Need, version: &Version) -> bool {
    let fixed = request.fixed.contains_key(&need.name) || need.name == request.root;
    (fixed && need.requirement.is_any()) || need.requirement.matches(version)
}
