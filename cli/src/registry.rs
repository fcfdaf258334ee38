//! Registries elsewhere: which are configured, packs of them with every check of `docs/registry-protocol.md`, and their API.

pub(crate) mod api;
pub(crate) mod client;
pub(crate) mod configuration;
pub(crate) mod credentials;
mod hearing;
pub(crate) mod reach;
pub(crate) mod sending;
pub(crate) mod stewards;
pub(crate) mod tombstone;
pub(crate) mod transport;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use exo_compiler::diagnostic::codes;
use exo_index::archive::{self, Limits};
use exo_index::candidates::{Advisory, Candidate, Published, Quarantined, Yanked};
use exo_index::manifest::{Dependency, DependencySource, MANIFEST_FILE, Manifest};
use exo_index::name::PackName;
use exo_index::registry::shard::{Archival, Shard, VersionEntry, Withdrawal};
use exo_index::registry::verdict::Verdict;
use exo_index::version::Version;
use exo_index::visible::shown;

use crate::builtin_packs::{Archive, RegistryPack};
use crate::failure::{Failure, Outcome};
use crate::registry::client::Client;

/// A verdict that a registry's checker signed.
#[derive(Debug)]
pub(crate) struct Signed {
    pub(crate) registry: String,
    pub(crate) verdict: Verdict,
}

/// An archive that a registry has.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    pub(crate) client: Arc<Client>,
    entry: VersionEntry,
}

impl Elsewhere {
    /// The files, after the log, both digests and the manifest inside were checked against the index.
    pub(crate) fn unpack(&self, indexed: &Manifest) -> Outcome<BTreeMap<String, Vec<u8>>> {
        let (name, version) = (&indexed.pack.name.value, &self.entry.version);
        let refused = |why: String| {
            Failure::refused(format!("the archive of `{name} {version}` is refused: {why}"))
                .code(codes::DIGEST)
                .hint("do not install this version, and tell the registry's operator")
        };
        if let Some(held) = &self.entry.quarantined {
            return Err(in_quarantine(&self.client.url, name, version, held));
        }
        let bytes = self.client.archive(name, &self.entry)?;
        let files = archive::read_verified(&bytes, &self.entry.archive, &self.entry.tree, &Limits::default())
            .map_err(|error| refused(error.to_string()))?;
        let text = files.files.get(MANIFEST_FILE).map(|bytes| String::from_utf8_lossy(bytes)).unwrap_or_default();
        let inside = Manifest::parse(&text).map_err(|_| refused(format!("its {MANIFEST_FILE} is not sound")))?;
        let same = inside.pack.name.value == *name
            && inside.pack.version.value == *version
            && inside.pack.exo == indexed.pack.exo
            && needs(&inside) == needs(indexed);
        if same { Ok(files.files) } else { Err(refused(format!("its {MANIFEST_FILE} says other than the index"))) }
    }
}

impl Elsewhere {
    /// The number of its publish in the registry's log.
    pub(crate) fn log(&self) -> u64 {
        self.entry.log
    }

    /// What the registry signed about it, if anything.
    pub(crate) fn signed(&self, name: &PackName) -> Outcome<Option<Arc<Signed>>> {
        let verdict = self.client.verdict(name, &self.entry)?;
        Ok(verdict.map(|verdict| Arc::new(Signed { registry: self.client.url.clone(), verdict })))
    }
}

/// Why a version is not downloaded that its registry keeps from everybody.
fn in_quarantine(url: &str, name: &PackName, version: &Version, held: &Withdrawal) -> Box<Failure> {
    let reason = why(held).map(|why| format!(": {why}")).unwrap_or_default();
    Failure::refused(format!("`{name} {version}` is in quarantine at registry `{url}`{reason}"))
        .code(codes::RESOLUTION)
        .note("its administrators keep it from everybody while they look into it, so it is not downloaded")
        .hint(format!(
            "`exo update {name}` takes another version, if there is one; otherwise wait, or ask who runs the registry"
        ))
}

/// Names and requirements, which index and manifest must agree on.
fn needs(manifest: &Manifest) -> BTreeMap<&PackName, String> {
    manifest.dependencies.iter().map(|needed| (&needed.name, needed.requirement.to_string())).collect()
}

/// All versions of a pack that a registry has; none when it has no such pack.
///
/// A version that depends on packs of yet another registry is left out: nothing says that this registry speaks for them.
pub(crate) fn packs_of(client: &Arc<Client>, name: &PackName) -> Outcome<Vec<RegistryPack>> {
    let Some(shard) = client.shard(name)? else {
        return Ok(Vec::new());
    };
    let own = |entry: &&VersionEntry| entry.dependencies.iter().all(|needed| needed.registry.is_none());
    shard.versions.iter().filter(own).map(|entry| pack_of(client, &shard, entry)).collect()
}

fn pack_of(client: &Arc<Client>, shard: &Shard, entry: &VersionEntry) -> Outcome<RegistryPack> {
    let advisories = shard.pack.advisories.iter().filter(|advisory| advisory.affects(&entry.version));
    let candidate = Candidate {
        version: entry.version.clone(),
        exo: entry.exo.clone(),
        published: Published::At(entry.published),
        // The yank of one in quarantine is there for programs that do not know of quarantines.
        yanked: entry
            .yanked
            .as_ref()
            .filter(|_| entry.quarantined.is_none())
            .map(|yanked| Yanked { reason: why(yanked) }),
        quarantined: entry.quarantined.as_ref().map(|held| Quarantined { reason: why(held) }),
        advisories: advisories
            .map(|advisory| Advisory {
                id: advisory.id.clone(),
                summary: shown(&advisory.summary),
                advice: advisory.advice().map(|advice| shown(&advice)),
            })
            .collect(),
    };
    Ok(RegistryPack {
        manifest: indexed_manifest(&shard.pack.name, entry)?,
        candidate,
        deprecated: shard.pack.deprecated.as_ref().map(|deprecated| withdrawn("deprecated", deprecated)),
        archived: shard.pack.archived.as_ref().map(no_longer_maintained),
        archive: Archive::Elsewhere(Box::new(Elsewhere { client: Arc::clone(client), entry: entry.clone() })),
        sha256: entry.archive,
        tree: entry.tree,
    })
}

/// What is said of a pack that its owners have withdrawn.
fn withdrawn(word: &str, said: &Withdrawal) -> String {
    why(said).map_or(word.to_owned(), |why| format!("{word}: {why}"))
}

/// What is said of a pack that its owners have archived.
pub(crate) fn no_longer_maintained(said: &Archival) -> String {
    let reason = said.reason.as_ref().map(|reason| format!(": {}", shown(reason))).unwrap_or_default();
    format!("archived since {} and no longer maintained{reason}", said.day())
}

/// Why something was withdrawn, and what is to be used instead.
fn why(said: &Withdrawal) -> Option<String> {
    let instead = said.replacement.as_ref().map(|other| format!("use `{}`", shown(other)));
    match (said.reason.as_ref().map(|reason| shown(reason)), instead) {
        (Some(reason), Some(instead)) => Some(format!("{reason}; {instead}")),
        (reason, instead) => reason.or(instead),
    }
}

/// What the index says of a version, as the manifest that says the same.
fn indexed_manifest(name: &PackName, entry: &VersionEntry) -> Outcome<Manifest> {
    let head = format!("[pack]\nname = \"{name}\"\nversion = \"{}\"\nkind = \"{}\"\n", entry.version, entry.kind);
    let mut manifest = Manifest::parse(&head)
        .map_err(|_| Failure::refused(format!("the index says nothing sound of `{name} {}`", entry.version)))?;
    manifest.pack.exo = entry.exo.clone();
    manifest.pack.description.clone_from(&entry.description);
    manifest.pack.license.clone_from(&entry.licence);
    let dependency = |needed: &exo_index::registry::shard::DependencyEntry| Dependency {
        name: needed.name.clone(),
        requirement: needed.requirement.clone(),
        source: DependencySource::Default,
        name_span: 0..0,
        span: 0..0,
    };
    manifest.dependencies = entry.dependencies.iter().map(dependency).collect();
    Ok(manifest)
}
