//! `exo audit`: what has to be trusted, in the project's own pack and in its dependencies: waived checks, raw C, tests
//! that were not run; and what authors and registries say against the locked versions.

use std::collections::BTreeMap;

use clap::ValueEnum;
use exo_index::candidates::Span;
use exo_index::lockfile::LockedSource;
use exo_index::version::Version;
use serde_json::json;

use crate::arguments::{Audit, Trust};
use crate::commands::examination::{Examination, examine};
use crate::commands::ready::{Ready, ready_silently};
use crate::failure::{Exit, Failure, Outcome, count};
use crate::install::standing::{Ask, Standing, standings};
use crate::install::summary::{Trusted, layout};
use crate::policy;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Audit, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready_silently(settings, terminal)?;
    let mut findings = ready.installed.summary.trusted();
    findings.push(own(&ready, &examine(settings, terminal, &ready)?));
    let standings = asked(&ready, settings, terminal)?;
    let ages = Ages::of(&ready);
    terminal.answer(
        || text(&findings, &standings, &ages),
        || {
            let one = |found: &Trusted| {
                let said = standings.iter().find(|said| said.name.as_str() == found.name);
                json!({
                    "name": found.name, "version": found.version, "waived": found.waived,
                    "raw_c": found.raw_c, "unrun": found.unrun, "age_seconds": ages.of_pack(&found.name).map(|age| age.0),
                    "quarantined": said.and_then(|said| said.quarantined.as_ref()),
                    "yanked": said.and_then(|said| said.yanked.as_ref()),
                    "deprecated": said.and_then(|said| said.deprecated.as_ref()),
                    "archived": said.and_then(|said| said.archived.as_ref()),
                    "advisories": said.map(|said| said.advisories.clone()).unwrap_or_default(),
                })
            };
            findings.iter().map(one).collect()
        },
    );
    let denied: Vec<String> = arguments
        .deny
        .iter()
        .filter_map(|what| match what {
            Trust::Age => ages.denied(),
            other => denied(*other, &findings, &standings),
        })
        .collect();
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

/// How long ago the locked versions were published; those that come with exo or are the user's own have no age.
struct Ages {
    /// By name: the version, and its age.
    known: BTreeMap<String, (Version, Span)>,
    /// What is too young.
    wanted: Span,
}

/// What is young where the policy does not say it.
const YOUNG: Span = Span(3 * 86_400);

impl Ages {
    fn of(ready: &Ready) -> Self {
        let now = policy::now();
        let packs = ready.installed.plan.lock.packs.values();
        let known = packs.filter_map(|pack| {
            let age = Span(now.saturating_sub(pack.published?));
            Some((pack.name.to_string(), (pack.version.clone(), age)))
        });
        let said = ready.project.manifest.policy.min_age;
        Ages { known: known.collect(), wanted: if said == Span(0) { YOUNG } else { said } }
    }

    fn of_pack(&self, name: &str) -> Option<Span> {
        self.known.get(name).map(|(_, age)| *age)
    }

    fn denied(&self) -> Option<String> {
        let young = self.known.iter().filter(|(_, (_, age))| *age < self.wanted);
        let young: Vec<String> = young.map(|(name, (version, age))| format!("{name} {version} ({age})")).collect();
        (!young.is_empty()).then(|| format!("age: {} (younger than {})", young.join(", "), self.wanted))
    }
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

/// Asks the sources of all locked packs what they say of them.
fn asked(ready: &Ready, settings: &Settings, terminal: &Terminal) -> Outcome<Vec<Standing>> {
    let (project, lock) = (&ready.project, &ready.installed.plan.lock);
    let elsewhere = lock.packs.values().any(|pack| matches!(pack.source, LockedSource::Registry(_)));
    if settings.offline && elsewhere {
        terminal.warning("--offline: what registries say of these packs by now is not asked");
    }
    standings(settings, terminal, project, lock, if settings.offline { Ask::Memory } else { Ask::Registries })
}

/// What of one kind is said of a version, each as a phrase.
fn phrases(said: &Standing, what: Trust) -> Vec<String> {
    match what {
        Trust::Quarantined => said.quarantined.iter().cloned().collect(),
        Trust::Yanked => said.yanked.iter().cloned().collect(),
        Trust::Deprecated => said.deprecated.iter().cloned().collect(),
        Trust::Archived => said.archived.iter().cloned().collect(),
        Trust::Advisories => said.advisories.clone(),
        Trust::Waived | Trust::RawC | Trust::Unrun | Trust::Age => Vec::new(),
    }
}

fn amount(found: &Trusted, what: Trust) -> usize {
    match what {
        Trust::Waived => found.waived,
        Trust::RawC => found.raw_c,
        Trust::Unrun => found.unrun,
        Trust::Quarantined | Trust::Yanked | Trust::Deprecated | Trust::Archived | Trust::Advisories | Trust::Age => 0,
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
            phrases(said, what).into_iter().map(|phrase| format!("{} {} ({phrase})", said.name, said.version))
        }))
        .collect();
    (!who.is_empty()).then(|| format!("{}: {}", word(what), who.join(", ")))
}

fn text(findings: &[Trusted], standings: &[Standing], ages: &Ages) -> String {
    let mut table = vec![["pack", "version", "waived", "raw C", "tests not run", "age"].map(str::to_string)];
    table.extend(findings.iter().map(|found| {
        [
            found.name.clone(),
            found.version.clone(),
            found.waived.to_string(),
            found.raw_c.to_string(),
            found.unrun.to_string(),
            ages.of_pack(&found.name).map_or_else(|| "-".into(), |age| age.to_string()),
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
        for phrase in [Trust::Quarantined, Trust::Yanked, Trust::Deprecated, Trust::Archived, Trust::Advisories]
            .into_iter()
            .flat_map(|what| phrases(said, what))
        {
            text.push_str(&format!("{} {}: {phrase}\n", said.name, said.version));
        }
    }
    text
}
