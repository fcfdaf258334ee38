//! What a bundle proves: that registries published its packs, as of some time, under keys that are known here or not.

use std::collections::BTreeMap;

use exo_compiler::diagnostic::codes;
use exo_index::calendar::minute;
use exo_index::candidates::Span;
use exo_index::digest::Sha256;
use exo_index::lockfile::{LockedPack, LockedSource, Lockfile};
use exo_index::registry::evidence::Evidence;
use exo_index::registry::pointer::Pointer;
use exo_index::registry::shard::Withdrawal;
use exo_index::registry::trust::{Refusal, Trust};
use exo_index::visible::shown;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, count};
use crate::install::listing;
use crate::policy::now;
use crate::registry::client;
use crate::registry::configuration::Registries;
use crate::registry::no_longer_maintained;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// From where the first key of a registry is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Pinned,
    Remembered,
    /// Only the bundle itself names it.
    Nowhere,
}

/// What was proved of the packs of one registry.
struct Statement {
    url: String,
    packs: Vec<String>,
    known: Known,
    /// The digest of the first root.
    first: Sha256,
    pointer: Pointer,
    /// A root that is known here and newer than that of the bundle.
    newer_root: Option<u64>,
    /// What the registry said against versions at that time.
    against: Vec<String>,
}

/// What was proved of the packs of a bundle.
pub(crate) struct Proved {
    statements: Vec<Statement>,
    /// The packs that come from no registry, of which nothing was proved but that they are what is locked.
    locked_only: Vec<String>,
    now: u64,
}

/// Asks the registries for what proves that they published the packs of a lockfile.
pub(crate) fn gather(settings: &Settings, terminal: &Terminal, lock: &Lockfile) -> Outcome<Vec<Evidence>> {
    let mut by_registry: BTreeMap<&str, Vec<&LockedPack>> = BTreeMap::new();
    for pack in lock.packs.values() {
        if let LockedSource::Registry(url) = &pack.source {
            by_registry.entry(url).or_default().push(pack);
        }
    }
    if by_registry.is_empty() {
        return Ok(Vec::new());
    }
    if settings.offline {
        return Err(Failure::usage(
            "--offline: a bundle carries proofs, and those come from the registries of its packs",
        )
        .hint("run it without --offline"));
    }
    let registries = Registries::read(settings)?;
    by_registry
        .into_iter()
        .map(|(url, packs)| {
            let client = registries.find(url)?.open(settings, terminal)?;
            let names: Vec<_> = packs.iter().map(|pack| (&pack.name, &pack.version)).collect();
            client.evidence(&names)
        })
        .collect()
}

/// Proves, without a network, that each pack that is locked from a registry was published there with the locked content.
pub(super) fn prove(settings: &Settings, evidence: &[Evidence], packs: &[&LockedPack]) -> Outcome<Proved> {
    let mut proved = Proved { statements: Vec::new(), locked_only: Vec::new(), now: now() };
    let mut by_registry: BTreeMap<&str, Vec<&LockedPack>> = BTreeMap::new();
    for pack in packs {
        match &pack.source {
            LockedSource::Registry(url) => by_registry.entry(url).or_default().push(pack),
            LockedSource::Builtin | LockedSource::Path(_) | LockedSource::Git { .. } => {
                proved.locked_only.push(format!("{} {}", pack.name, pack.version));
            }
        }
    }
    if by_registry.is_empty() {
        return Ok(proved);
    }
    let registries = Registries::read(settings)?;
    for (url, packs) in by_registry {
        let carried = evidence.iter().find(|evidence| evidence.registry == url);
        let evidence = carried.ok_or_else(|| unproven(url, "it carries nothing of that registry"))?;
        let pin = registries.known(url).and_then(|registry| registry.root);
        let statement = statement(evidence, &packs, pin, client::known(settings, url)?, proved.now)?;
        // Where a registry is in use, its packs are what a manifest means; a bundle must not bring another one along.
        if let (Known::Nowhere, Some(own)) = (statement.known, registries.in_use()?.filter(|own| own.url != url)) {
            return Err(unproven(url, &format!("nothing here knows it, and this project's packs come from `{}`", own.url))
                .hint("if its packs are meant, name it below `[registries.NAME]` in config.toml, with the `root` that it tells"));
        }
        proved.statements.push(statement);
    }
    Ok(proved)
}

fn unproven(url: &str, why: &str) -> Box<Failure> {
    Failure::refused(format!("the bundle does not prove that registry `{url}` published its packs: {why}"))
        .code(codes::DIGEST)
        .note("nothing of it was unpacked")
}

fn disbelief(url: &str, refusal: &Refusal) -> Box<Failure> {
    unproven(url, &refusal.to_string())
        .hint("the bundle is damaged, tampered with, or of somebody else who says to be this registry: get it anew from who made it")
}

/// What some evidence proves of the packs of its registry.
fn statement(
    evidence: &Evidence,
    packs: &[&LockedPack],
    pin: Option<Sha256>,
    remembered: Option<Trust>,
    now: u64,
) -> Outcome<Statement> {
    let url = &evidence.registry;
    let refused = |refusal: Refusal| disbelief(url, &refusal);
    let first = pin.or_else(|| remembered.as_ref().and_then(|trust| trust.first_root().copied()));
    let known = match (pin, first) {
        (Some(_), _) => Known::Pinned,
        (None, Some(_)) => Known::Remembered,
        (None, None) => Known::Nowhere,
    };
    let trust = evidence.believe(first.as_ref(), remembered.as_ref(), now).map_err(refused)?;
    let mut against = Vec::new();
    for pack in packs {
        let (shard, entry) = evidence.published(&trust, &pack.name, &pack.version).map_err(refused)?;
        let title = format!("{} {}", pack.name, pack.version);
        // A lockfile of an earlier exo may have no digest of the archive; that of the files is what the log holds, too.
        if pack.tree != Some(entry.tree) || pack.archive.is_some_and(|archive| archive != entry.archive) {
            return Err(unproven(url, &format!("`{title}` is locked with other content than was published"))
                .hint("do not use this bundle, nor the lockfile that it was made for"));
        }
        listing::same_time(pack, Some(entry.published))?;
        let said = |word: &str, said: &Withdrawal| {
            let reason = said.reason.as_deref().map(|reason| format!(": {}", shown(reason))).unwrap_or_default();
            format!("`{title}` was {word} already{reason}")
        };
        against.extend(entry.quarantined.as_ref().map(|held| said("put in quarantine", held)));
        against.extend(entry.yanked.as_ref().map(|yanked| said("yanked", yanked)));
        against.extend(shard.pack.deprecated.as_ref().map(|deprecated| said("deprecated", deprecated)));
        against.extend(
            shard
                .pack
                .archived
                .as_ref()
                .map(|archived| format!("`{}` is {}", pack.name, no_longer_maintained(archived))),
        );
        let advisories = shard.pack.advisories.iter().filter(|advisory| advisory.versions.matches(&entry.version));
        against.extend(advisories.map(|advisory| {
            format!("`{title}` had advisory {} already: {}", shown(&advisory.id), shown(&advisory.summary))
        }));
    }
    let bug = || Failure::bug("a registry without a pointer was believed");
    Ok(Statement {
        url: url.clone(),
        packs: packs.iter().map(|pack| format!("{} {}", pack.name, pack.version)).collect(),
        known,
        first: *trust.first_root().ok_or_else(bug)?,
        pointer: trust.pointer().cloned().ok_or_else(bug)?,
        newer_root: remembered.map(|trust| trust.root().version).filter(|known| *known > trust.root().version),
        against,
    })
}

impl Proved {
    /// Says what was proved, under which key, and as of when.
    pub(crate) fn tell(&self, terminal: &Terminal) {
        for statement in &self.statements {
            let Statement { url, packs, known, first, pointer, newer_root, against } = statement;
            terminal.status(
                "Proved",
                &format!(
                    "registry {url} had published {} of the bundle by {} (pointer {}, log of {})",
                    count(packs.len(), "pack"),
                    minute(signed(pointer.issued)),
                    pointer.version,
                    pointer.log_size
                ),
            );
            match known {
                Known::Pinned => terminal.note(&format!("           by its pinned root sha256:{first}")),
                Known::Remembered => {
                    terminal.note(&format!("           by its root sha256:{first}, which this machine remembers"));
                }
                Known::Nowhere => terminal.warning(&format!(
                    "nothing here knows registry `{url}`: that its root is sha256:{first} is said by the bundle alone; pin it with \
                     `root = \"sha256:…\"` in config.toml"
                )),
            }
            if pointer.expires < self.now {
                let span = Span(self.now - pointer.expires);
                terminal.note(&format!(
                    "           its pointer expired {span} ago: what was yanked or found unsound since is not known here"
                ));
            }
            if let Some(newer) = newer_root {
                terminal.warning(&format!(
                    "the bundle is of a time before the keys of registry `{url}` were rotated (this machine knows root {newer})"
                ));
            }
            against.iter().for_each(|said| terminal.warning(said));
        }
        if !self.statements.is_empty() && !self.locked_only.is_empty() {
            terminal.note(&format!(
                "           of no registry, and proved only to be what is locked: {}",
                self.locked_only.join(", ")
            ));
        }
    }

    pub(crate) fn json(&self) -> Value {
        let statements = self.statements.iter().map(|statement| {
            json!({
                "registry": statement.url,
                "packs": statement.packs,
                "root": format!("sha256:{}", statement.first),
                "root_known": match statement.known {
                    Known::Pinned => "pinned",
                    Known::Remembered => "remembered",
                    Known::Nowhere => "by the bundle only",
                },
                "pointer": statement.pointer.version,
                "log_size": statement.pointer.log_size,
                "issued": statement.pointer.issued,
                "expires": statement.pointer.expires,
                "expired": statement.pointer.expires < self.now,
                "against": statement.against,
            })
        });
        json!({ "proved": statements.collect::<Vec<_>>(), "locked_only": self.locked_only })
    }
}

/// A time for the calendar; one beyond it is as good as its end.
fn signed(seconds: u64) -> i64 {
    i64::try_from(seconds.min(253_402_300_799)).unwrap_or(0)
}
