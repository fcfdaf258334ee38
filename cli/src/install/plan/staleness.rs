//! Whether a lockfile says what the manifests ask for, and if not, in which ways.

use std::collections::BTreeSet;

use exo_index::lockfile::{LOCK_FILE, Lockfile};
use exo_index::manifest::Manifest;
use exo_index::name::PackName;
use exo_index::version::Version;

use super::path_packs::PathPacks;

/// Every reason not to use the lockfile as it is, as phrases; none means that it fits.
pub(super) fn reasons(lock: Option<&Lockfile>, manifest: &Manifest, paths: &PathPacks, exo: &Version) -> Vec<String> {
    let Some(lock) = lock else {
        return vec![format!("there is no {LOCK_FILE}")];
    };
    let mut reasons: Vec<String> = lock.disagreements(manifest).iter().map(ToString::to_string).collect();
    if lock.exo != *exo {
        reasons.push(format!("{LOCK_FILE} was made by exo {}, and this is exo {exo}", lock.exo));
    }
    reasons.extend(paths.written_for_another(exo));
    for (name, pack) in &paths.packs {
        // A pack that is not locked at all is among the disagreements, or below those of another path pack.
        if let Some(locked) = lock.packs.get(name) {
            let stated = &pack.manifest.pack.version.value;
            if locked.source != pack.locked_source() {
                reasons.push(format!("`{name}` is locked from `{}`, but is in `{}`", locked.source, pack.text));
            }
            if locked.version != *stated {
                reasons
                    .push(format!("`{name} {}` is locked, but `{}` holds version {stated}", locked.version, pack.text));
            }
            let needed: BTreeSet<&PackName> = pack.manifest.dependencies.iter().map(|entry| &entry.name).collect();
            if needed != locked.dependencies.iter().collect() {
                reasons.push(format!("`{name}` in `{}` has other dependencies than the locked one", pack.text));
            }
        }
        for dependency in &pack.manifest.dependencies {
            match lock.packs.get(&dependency.name) {
                Some(locked) if dependency.accepts(&locked.version) => {}
                Some(locked) => reasons.push(format!(
                    "`{} {}` is locked, but `{name}` needs `{}`",
                    dependency.name, locked.version, dependency.requirement
                )),
                None => reasons.push(format!("`{}`, which `{name}` needs, is not locked", dependency.name)),
            }
        }
    }
    reasons.dedup();
    reasons
}
