//! `exo audit`: what has to be trusted, in the project's own pack and in its dependencies: waived checks, raw C, tests
//! that were not run.

use clap::ValueEnum;
use serde_json::json;

use crate::arguments::{Audit, Trust};
use crate::commands::examination::{Examination, examine};
use crate::commands::ready::{Ready, ready};
use crate::failure::{Exit, Failure, Outcome, count};
use crate::install::summary::{Trusted, layout};
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Audit, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let mut findings = ready.installed.summary.trusted();
    findings.push(own(&ready, &examine(settings, terminal, &ready)?));
    terminal.answer(
        || text(&findings),
        || {
            let one = |found: &Trusted| {
                json!({
                    "name": found.name, "version": found.version, "waived": found.waived,
                    "raw_c": found.raw_c, "unrun": found.unrun,
                })
            };
            findings.iter().map(one).collect()
        },
    );
    let denied: Vec<String> = arguments.deny.iter().filter_map(|what| denied(*what, &findings)).collect();
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

fn amount(found: &Trusted, what: Trust) -> usize {
    match what {
        Trust::Waived => found.waived,
        Trust::RawC => found.raw_c,
        Trust::Unrun => found.unrun,
    }
}

fn word(what: Trust) -> String {
    what.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
}

fn denied(what: Trust, findings: &[Trusted]) -> Option<String> {
    let who: Vec<String> = findings
        .iter()
        .filter(|found| amount(found, what) > 0)
        .map(|found| format!("{} {} ({})", found.name, found.version, amount(found, what)))
        .collect();
    (!who.is_empty()).then(|| format!("{}: {}", word(what), who.join(", ")))
}

fn text(findings: &[Trusted]) -> String {
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
    format!(
        "{}\n{} and {} of raw C are trusted; everything else is proven\n",
        layout(&table),
        count(waived, "waived check"),
        count(raw, "piece")
    )
}
