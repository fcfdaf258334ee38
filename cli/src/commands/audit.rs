//! `exo audit`: what has to be trusted, in the project's own pack and in its dependencies: waived checks, raw C, tests
//! that were not run; and what authors and registries say against the locked versions.

use clap::ValueEnum;
use exo_index::lockfile::{LockedPack, LockedSource};
use exo_index::visible::shown;
use serde_json::json;

use crate::arguments::{Audit, Trust};
use crate::builtin_packs::Registry;
use crate::commands::examination::{Examination, examine};
use crate::commands::ready::{Ready, ready};
use crate::failure::{Exit, Failure, Outcome, count};
use crate::install::summary::{Trusted, layout};
use crate::registry::reach::{locked_place, with_urls};
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Audit, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let mut findings = ready.installed.summary.trusted();
    findings.push(own(&ready, &examine(settings, terminal, &ready)?));
    let standings = standings(&ready, settings, terminal)?;
    terminal.answer(
        || text(&findings, &standings),
        || {
            let one = |found: &Trusted| {
                let said = standings.iter().find(|said| said.name == found.name);
                json!({
                    "name": found.name, "version": found.version, "waived": found.waived,
                    "raw_c": found.raw_c, "unrun": found.unrun,
                    "yanked": said.and_then(|said| said.yanked.as_ref()),
                    "deprecated": said.and_then(|said| said.deprecated.as_ref()),
                    "advisories": said.map(|said| said.advisories.clone()).unwrap_or_default(),
                })
            };
            findings.iter().map(one).collect()
        },
    );
    let denied: Vec<String> = arguments.deny.iter().filter_map(|what| denied(*what, &findings, &standings)).collect();
    if denied.is_empty() {
        return Ok(Exit::Done);
    }
    if terminal.is_json() {
        // The document on stdout says it already.
        return Ok(Exit::VerificationFailed);
    }
    let failure = denied
        .into_iter()
        .fold(Failure::verification("--deny: the project trusts what it must not"), |failure, line| failure.note(line));
    Err(failure.hint("use other packs, or leave out that word of --deny"))
}

/// The project's own pack, as it is on disk now.
fn own(ready: &Ready, found: &Examination) -> Trusted {
    let pack = &ready.project.manifest.pack;
    Trusted {
        name: pack.name.value.to_string(),
        version: pack.version.value.to_string(),
        waived: found.waived.len(),
        raw_c: found.report.raw_c.len(),
        unrun: found.left_out,
    }
}

/// What is said against a locked version, now.
struct Standing {
    name: String,
    version: String,
    yanked: Option<String>,
    deprecated: Option<String>,
    advisories: Vec<String>,
}

/// Asks the sources of all locked packs what they say of them; those of which nothing is said are left out.
fn standings(ready: &Ready, settings: &Settings, terminal: &Terminal) -> Outcome<Vec<Standing>> {
    let (project, lock) = (&ready.project, &ready.installed.plan.lock);
    let mut registry = Registry::open(settings)?;
    let manifest = with_urls(settings, project.locked_for(&project.manifest)?)?;
    let elsewhere: Vec<_> =
        lock.packs.values().filter(|pack| matches!(pack.source, LockedSource::Registry(_))).collect();
    if settings.offline && !elsewhere.is_empty() {
        terminal.warning("--offline: what registries say of these packs by now is not asked");
    } else {
        let places = elsewhere.into_iter().map(|pack| (&pack.name, locked_place(pack, [&manifest])));
        registry.reach(settings, terminal, places, Some(lock))?;
    }
    let standing = |pack: &LockedPack| {
        let found = registry.get(&pack.name, &pack.version)?;
        let candidate = &found.candidate;
        let said = Standing {
            name: pack.name.to_string(),
            version: pack.version.to_string(),
            yanked: candidate.yanked.as_ref().map(|yanked| {
                let reason = yanked.reason.as_ref().map(|reason| format!(": {}", shown(reason)));
                format!("yanked{}", reason.unwrap_or_default())
            }),
            deprecated: found.deprecated.clone(),
            advisories: candidate
                .advisories
                .iter()
                .map(|advisory| shown(&format!("{}: {}", advisory.id, advisory.summary)))
                .collect(),
        };
        let nothing = said.yanked.is_none() && said.deprecated.is_none() && said.advisories.is_empty();
        (!nothing).then_some(said)
    };
    let registered = |pack: &&LockedPack| matches!(pack.source, LockedSource::Registry(_) | LockedSource::Builtin);
    Ok(lock.packs.values().filter(registered).filter_map(standing).collect())
}

impl Standing {
    /// What of one kind is said, each as a phrase.
    fn said(&self, what: Trust) -> Vec<String> {
        match what {
            Trust::Yanked => self.yanked.iter().cloned().collect(),
            Trust::Deprecated => self.deprecated.iter().cloned().collect(),
            Trust::Advisories => self.advisories.clone(),
            Trust::Waived | Trust::RawC | Trust::Unrun => Vec::new(),
        }
    }
}

fn amount(found: &Trusted, what: Trust) -> usize {
    match what {
        Trust::Waived => found.waived,
        Trust::RawC => found.raw_c,
        Trust::Unrun => found.unrun,
        Trust::Yanked | Trust::Deprecated | Trust::Advisories => 0,
    }
}

fn word(what: Trust) -> String {
    what.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
}

fn denied(what: Trust, findings: &[Trusted], standings: &[Standing]) -> Option<String> {
    let who: Vec<String> = findings
        .iter()
        .filter(|found| amount(found, what) > 0)
        .map(|found| format!("{} {} ({})", found.name, found.version, amount(found, what)))
        .chain(standings.iter().flat_map(|said| {
            said.said(what).into_iter().map(|phrase| format!("{} {} ({phrase})", said.name, said.version))
        }))
        .collect();
    (!who.is_empty()).then(|| format!("{}: {}", word(what), who.join(", ")))
}

fn text(findings: &[Trusted], standings: &[Standing]) -> String {
    let mut table = vec![["pack", "version", "waived", "raw C", "tests not run"].map(str::to_string)];
    table.extend(findings.iter().map(|found| {
        [
            found.name.clone(),
            found.version.clone(),
            found.waived.to_string(),
            found.raw_c.to_string(),
            found.unrun.to_string(),
        ]
    }));
    let waived: usize = findings.iter().map(|found| found.waived).sum();
    let raw: usize = findings.iter().map(|found| found.raw_c).sum();
    let mut text = format!(
        "{}\n{} and {} of raw C are trusted; everything else is proven\n",
        layout(&table),
        count(waived, "waived check"),
        count(raw, "piece")
    );
    for said in standings {
        for phrase in [Trust::Yanked, Trust::Deprecated, Trust::Advisories].into_iter().flat_map(|what| said.said(what))
        {
            text.push_str(&format!("{} {}: {phrase}\n", said.name, said.version));
        }
    }
    text
}
