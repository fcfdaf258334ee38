//! What authors and registries say against the versions that a project has locked: quarantines, yanks, deprecations, advisories, and that packs are
//! archived.

use std::collections::BTreeSet;

use exo_index::candidates::Advisory;
use exo_index::lockfile::{LockedPack, LockedSource, Lockfile};
use exo_index::manifest::Manifest;
use exo_index::name::PackName;
use exo_index::visible::shown;

use crate::builtin_packs::Registry;
use crate::failure::Outcome;
use crate::install::listing;
use crate::project::Project;
use crate::registry::reach::{locked_place, with_urls};
use crate::registry::tombstone::Tombstone;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// Whom to ask what is said of locked versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// The registries, as they are now.
    Registries,
    /// What this machine remembers of the last visit: a build needs no network.
    Memory,
}

/// What is said against a locked version.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) name: PackName,
    pub(crate) version: String,
    /// `in quarantine: why`.
    pub(crate) quarantined: Option<String>,
    /// `yanked: why`, or that it was deleted.
    pub(crate) yanked: Option<String>,
    /// `deprecated: why`.
    pub(crate) deprecated: Option<String>,
    /// `archived since a day: why`.
    pub(crate) archived: Option<String>,
    /// `ID: summary` of each.
    pub(crate) advisories: Vec<String>,
    /// Those of them that the project does not accept.
    unaccepted: Vec<String>,
}

/// What is said against the versions of a lockfile; those of which nothing is said are left out.
///
/// # Errors
/// A registry that is asked does not answer, or is not believed, or the lockfile says something of a version that its registry does not.
/// Memory that lacks something says nothing of it.
pub(crate) fn standings(
    settings: &Settings,
    terminal: &Terminal,
    project: &Project,
    lock: &Lockfile,
    ask: Ask,
) -> Outcome<Vec<Standing>> {
    let (registry, said) = heard(settings, terminal, project, lock, ask)?;
    lock.packs.values().try_for_each(|pack| listing::agrees(&registry, pack))?;
    Ok(said)
}

/// The same of a lockfile that may be wrong, with the index that says it.
fn heard(
    settings: &Settings,
    terminal: &Terminal,
    project: &Project,
    lock: &Lockfile,
    ask: Ask,
) -> Outcome<(Registry, Vec<Standing>)> {
    let mut registry = Registry::open(settings)?;
    let manifest = with_urls(settings, project.locked_for(&project.manifest)?)?;
    let elsewhere = lock.packs.values().filter(|pack| matches!(pack.source, LockedSource::Registry(_)));
    let places = elsewhere.map(|pack| (&pack.name, locked_place(pack, [&manifest])));
    match ask {
        Ask::Registries => registry.reach(settings, terminal, places, Some(lock))?,
        Ask::Memory => {
            let offline = Settings { offline: true, ..settings.clone() };
            let places: Vec<_> = places.collect();
            if registry.reach(&offline, terminal, places.clone(), Some(lock)).is_err() {
                registry = Registry::open(settings)?;
                for place in places {
                    // What was never seen is no news.
                    let _ = registry.reach(&offline, terminal, [place], Some(lock));
                }
            }
        }
    }
    let registered = |pack: &&LockedPack| matches!(pack.source, LockedSource::Registry(_) | LockedSource::Builtin);
    let said = |pack: &LockedPack| {
        standing(&registry, &manifest, pack).or_else(|| match ask {
            Ask::Registries => deleted(settings, &registry, pack),
            Ask::Memory => None,
        })
    };
    let all = lock.packs.values().filter(registered).filter_map(said).collect();
    Ok((registry, all))
}

/// A version that its registry had when it was locked, and has no more. What is remembered may be older than the lockfile, and says
/// nothing of that.
fn deleted(settings: &Settings, registry: &Registry, pack: &LockedPack) -> Option<Standing> {
    let LockedSource::Registry(url) = &pack.source else { return None };
    let is_gone = registry.reached.answered.contains(&pack.name) && registry.get(&pack.name, &pack.version).is_none();
    if !is_gone {
        return None;
    }
    let tombstone = Tombstone::of(settings, url, &pack.name, Some(&pack.version));
    let reason = tombstone.map(|tombstone| format!(": {}", tombstone.reason)).unwrap_or_default();
    Some(Standing {
        name: pack.name.clone(),
        version: pack.version.to_string(),
        quarantined: None,
        yanked: Some(format!("deleted: registry `{url}` does not have it any more{reason}")),
        deprecated: None,
        archived: None,
        advisories: Vec::new(),
        unaccepted: Vec::new(),
    })
}

fn standing(registry: &Registry, manifest: &Manifest, pack: &LockedPack) -> Option<Standing> {
    let found = registry.get(&pack.name, &pack.version)?;
    let candidate = &found.candidate;
    let accepted = &manifest.policy.allow_advisories;
    let advisory = |advisory: &Advisory| shown(&advisory.to_string());
    let unaccepted = candidate.advisories.iter().filter(|advisory| !accepted.contains(&advisory.id));
    let because = |word: &str, reason: &Option<String>| {
        let reason = reason.as_ref().map(|reason| format!(": {}", shown(reason)));
        format!("{word}{}", reason.unwrap_or_default())
    };
    let said = Standing {
        name: pack.name.clone(),
        version: pack.version.to_string(),
        quarantined: candidate.quarantined.as_ref().map(|held| because("in quarantine", &held.reason)),
        yanked: candidate.yanked.as_ref().map(|yanked| because("yanked", &yanked.reason)),
        deprecated: found.deprecated.clone(),
        archived: found.archived.clone(),
        advisories: candidate.advisories.iter().map(advisory).collect(),
        unaccepted: unaccepted.map(advisory).collect(),
    };
    (!said.is_empty()).then_some(said)
}

impl Standing {
    /// Whether nothing is said.
    fn is_empty(&self) -> bool {
        let words = [&self.quarantined, &self.yanked, &self.deprecated, &self.archived];
        words.iter().all(|said| said.is_none()) && self.advisories.is_empty()
    }

    /// Whether the version would not be chosen any more.
    fn is_withdrawn(&self) -> bool {
        self.quarantined.is_some() || self.yanked.is_some() || !self.unaccepted.is_empty()
    }

    /// One line for each thing that is said, with what can be done about it.
    fn warnings(&self) -> Vec<String> {
        let Standing { name, version, quarantined, yanked, deprecated, archived, advisories: _, unaccepted } = self;
        let other = format!("`exo update {name}` takes another version, if there is one");
        let withdrawn = quarantined.iter().chain(yanked);
        let mut lines: Vec<String> =
            withdrawn.map(|why| format!("`{name} {version}` is locked, and is {why}; {other}")).collect();
        lines.extend(
            unaccepted.iter().map(|what| format!("`{name} {version}` is locked, and has the advisory {what}; {other}")),
        );
        lines.extend(deprecated.iter().chain(archived).map(|why| {
            format!("`{name} {version}` is locked, and `{name}` is {why}; `exo search` finds packs to use instead")
        }));
        lines
    }
}

/// Warns of locked versions that something is said against, and says whether there was anything to say. That nothing can be asked is
/// no reason to stop.
pub(crate) fn warn(settings: &Settings, terminal: &Terminal, project: &Project, lock: &Lockfile, ask: Ask) -> bool {
    let ask = if settings.offline { Ask::Memory } else { ask };
    let heard = heard(settings, terminal, project, lock, ask).or_else(|failed| {
        terminal.warning(&format!("what registries say of the locked packs by now is not known: {}", failed.message));
        heard(settings, terminal, project, lock, Ask::Memory)
    });
    let mut lines: Vec<String> = Vec::new();
    if let Ok((registry, said)) = &heard {
        // A build needs no network, and takes what is locked; so this is told, where installing and auditing refuse it.
        let wrong = lock.packs.values().filter_map(|pack| listing::agrees(registry, pack).err());
        lines.extend(wrong.map(|failure| failure.message.clone()));
        lines.extend(said.iter().flat_map(Standing::warnings));
    }
    lines.iter().for_each(|line| terminal.warning(line));
    heard.is_err() || !lines.is_empty()
}

/// Puts withdrawn packs back into a lockfile that they were taken out of so that others could be chosen; says whether there are any.
///
/// # Errors
/// See [`standings`].
pub(crate) fn keep_withdrawn(
    settings: &Settings,
    terminal: &Terminal,
    project: &mut Project,
    before: &Lockfile,
) -> Outcome<bool> {
    let (_, said) = heard(settings, terminal, project, before, Ask::Registries)?;
    let withdrawn: BTreeSet<PackName> =
        said.into_iter().filter(Standing::is_withdrawn).map(|standing| standing.name).collect();
    let Some(lock) = &mut project.lock else { return Ok(false) };
    let mut any = false;
    for (name, pack) in before.packs.iter().filter(|(name, _)| withdrawn.contains(*name)) {
        any |= lock.packs.insert(name.clone(), pack.clone()).is_none();
    }
    Ok(any)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_said_with_its_reason_and_what_to_do() {
        let said = Standing {
            name: PackName::parse("base").unwrap(),
            version: "1.0.0".into(),
            quarantined: None,
            yanked: Some("yanked: wrong".into()),
            deprecated: Some("deprecated: old; use `next`".into()),
            archived: Some("archived since 2026-12-01".into()),
            advisories: vec!["EXO-1: bad".into(), "EXO-2: accepted".into()],
            unaccepted: vec!["EXO-1: bad".into()],
        };
        let lines = said.warnings();
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines.first().map(String::as_str),
            Some(
                "`base 1.0.0` is locked, and is yanked: wrong; `exo update base` takes another version, if there is one"
            )
        );
        assert!(said.is_withdrawn());
        assert!(!Standing { yanked: None, unaccepted: Vec::new(), ..said }.is_withdrawn());
    }
}
