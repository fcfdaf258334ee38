//! `exo publish`: packs are checked here as whoever installs them will, sent, checked by the registry, and become visible together.
//!
//! Nothing here is changed, and nothing there before the registry's one commit. Interrupted at any point, the command can be
//! given again: what is published already with the same bytes is recognised.

use std::collections::BTreeSet;

use exo_compiler::diagnostic::codes;
use exo_index::name::PackName;
use exo_index::registry::shard::VersionEntry;
use serde_json::{Value, json};

use crate::arguments::Publish;
use crate::failure::{Exit, Failure, Outcome, count};
use crate::install::summary::layout;
use crate::install::verdict::Verdict;
use crate::packaging::{self, Packed};
use crate::project::Project;
use crate::registry::api::{Api, Body};
use crate::registry::client::Client;
use crate::registry::configuration::{Configured, Registries};
use crate::registry::sending::{self, Ended};
use crate::settings::Settings;
use crate::terminal::Terminal;

/// What is said of a version that is published already.
const THERE: &str = "is there already";

/// One pack on its way.
struct Parcel<'a> {
    settings: &'a Settings,
    project: Project,
    packed: Packed,
}

impl Parcel<'_> {
    fn name(&self) -> &PackName {
        &self.packed.manifest.pack.name.value
    }

    /// As people call it.
    fn title(&self) -> String {
        format!("{} {}", self.name(), self.packed.manifest.pack.version.value)
    }

    /// What the registry has of this very version.
    fn published(&self, client: &Client) -> Outcome<Option<VersionEntry>> {
        let version = &self.packed.manifest.pack.version.value;
        let shard = client.shard(self.name())?;
        Ok(shard.and_then(|shard| shard.versions.into_iter().find(|entry| entry.version == *version)))
    }
}

/// What came of one pack.
struct Row {
    title: String,
    state: &'static str,
    bump: Option<String>,
    value: Value,
    counts: [String; 5],
}

pub(super) fn run(
    arguments: &Publish,
    members: &[Settings],
    settings: &Settings,
    terminal: &Terminal,
) -> Outcome<Exit> {
    let registries = Registries::read(settings)?;
    let registry = registries.asked(arguments.at.registry.as_deref())?;
    let api = Api::open(settings, &registries, &registry)?;
    // Before minutes of verification.
    let login = api.ask("GET", "whoami", Body::Nothing)?;
    let login = login.get("login").and_then(Value::as_str).unwrap_or_default();
    terminal.status("Publishing", &format!("to {} as {login}", registry.url));
    let parcels = parcels(members, &registries, &registry, terminal)?;
    let client = registry.open_itself(settings, terminal)?;
    let (new, old) = sorted_out(&parcels.iter().collect::<Vec<_>>(), &client)?;
    let mut rows: Vec<Row> = Vec::new();
    for (parcel, entry) in &old {
        rows.push(row(parcel, THERE, None, entry, &client)?);
    }
    if !new.is_empty() {
        let verdicts = verified(&new, terminal)?;
        let packs: Vec<&Packed> = new.iter().map(|parcel| &parcel.packed).collect();
        let ended = sending::send(&api, terminal, &packs, arguments.dry_run)?;
        rows.extend(outcome(&ended, &new, &verdicts, (settings, &registry), terminal)?);
    }
    answer(&rows, &registry, arguments.dry_run, terminal);
    Ok(Exit::Done)
}

/// The archives of all packs, each after those it depends on; one that may not be published refuses all.
fn parcels<'a>(
    members: &'a [Settings],
    registries: &Registries,
    registry: &Configured,
    terminal: &Terminal,
) -> Outcome<Vec<Parcel<'a>>> {
    let mut left: Vec<Parcel<'a>> = Vec::new();
    for settings in members {
        let project = match left.first() {
            Some(first) => first.project.member_beside(settings)?,
            None => Project::open(settings)?,
        };
        super::members::refuse_virtual(&project)?;
        let packed = packaging::pack(&project, registries, Some(registry))?;
        let parcel = Parcel { settings, project, packed };
        parcel.packed.refuse_unready()?;
        terminal.status("Packed", &parcel.title());
        parcel.packed.advise(terminal);
        left.push(parcel);
    }
    let mut names: BTreeSet<PackName> = left.iter().map(|parcel| parcel.name().clone()).collect();
    let mut ordered: Vec<Parcel<'a>> = Vec::new();
    while !left.is_empty() {
        let waits = |parcel: &Parcel<'_>| {
            parcel.packed.manifest.dependencies.iter().any(|dependency| names.contains(&dependency.name))
        };
        // Packs that need each other were refused when they were resolved; then any order will do.
        let next = left.iter().position(|parcel| !waits(parcel)).unwrap_or(0);
        let next = left.remove(next);
        names.remove(next.name());
        ordered.push(next);
    }
    Ok(ordered)
}

/// What of some packs the registry does not have, and what it has with the same bytes.
type Sorted<'p, 'a> = (Vec<&'p Parcel<'a>>, Vec<(&'p Parcel<'a>, VersionEntry)>);

/// Asks for each pack whether it is published already. A version with other bytes is refused.
fn sorted_out<'p, 'a>(parcels: &[&'p Parcel<'a>], client: &Client) -> Outcome<Sorted<'p, 'a>> {
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for parcel in parcels {
        match parcel.published(client)? {
            None => new.push(*parcel),
            Some(entry) if entry.archive == parcel.packed.archive.sha256 => old.push((*parcel, entry)),
            Some(_) => {
                return Err(Failure::refused(format!(
                    "`{}` is published already, and not with what is here now",
                    parcel.title()
                ))
                .code(codes::PACKAGE)
                .note("nothing was published")
                .hint("a published version never changes: raise `version` in Exo.toml")
                .hint("`-p PACK` publishes some members of a workspace only"));
            }
        }
    }
    Ok((new, old))
}

/// Verifies all packs from the bytes of their archives, as whoever installs them will.
fn verified(new: &[&Parcel<'_>], terminal: &Terminal) -> Outcome<Vec<Verdict>> {
    let Some(settings) = new.first().map(|parcel| parcel.settings) else { return Ok(Vec::new()) };
    let packs: Vec<(&Packed, &Project)> = new.iter().map(|parcel| (&parcel.packed, &parcel.project)).collect();
    let verdicts = packaging::verify(settings, terminal, &packs);
    let verdicts = verdicts.map_err(|failed| failed.note("nothing was published"))?;
    for (parcel, verdict) in new.iter().zip(&verdicts) {
        let (claims, tests) = (count(verdict.claims.len(), "claim"), count(verdict.tests, "test"));
        terminal.status("Verified", &format!("{}: {claims} proven, {tests} passed", parcel.title()));
    }
    Ok(verdicts)
}

/// What became of the packs that were sent, by the registry's index where it published them.
fn outcome(
    ended: &Ended,
    new: &[&Parcel<'_>],
    verdicts: &[Verdict],
    (settings, registry): (&Settings, &Configured),
    terminal: &Terminal,
) -> Outcome<Vec<Row>> {
    let bump = |parcel: &Parcel<'_>| ended.required_bump(parcel.name());
    match ended {
        Ended::Checked(_) => {
            Ok(new.iter().zip(verdicts).map(|(parcel, verdict)| checked_row(parcel, bump(parcel), verdict)).collect())
        }
        Ended::Published(_) => {
            let client = registry.open_itself(settings, terminal)?;
            new.iter()
                .map(|parcel| match parcel.published(&client)? {
                    Some(entry) if entry.archive == parcel.packed.archive.sha256 => {
                        row(parcel, "published", bump(parcel), &entry, &client)
                    }
                    Some(_) | None => Err(Failure::refused(format!(
                        "registry `{}` says that `{}` is published, but its index does not have it",
                        registry.url,
                        parcel.title()
                    ))
                    .code(codes::DIGEST)
                    .hint("tell the registry's operator; until then do not rely on that it can be installed")),
                })
                .collect()
        }
        Ended::Refused(refusal) => {
            // An interrupted publish may have gone through after all, and then this one comes second.
            if refusal.is_about_versions_only() {
                let client = registry.open_itself(settings, terminal)?;
                let (left, old) = sorted_out(new, &client)?;
                if left.is_empty() {
                    return old.iter().map(|(parcel, entry)| row(parcel, THERE, None, entry, &client)).collect();
                }
            }
            Err(refusal.failure(&registry.url))
        }
    }
}

/// A pack that is in the index, with what the registry's checker signed about it.
fn row(
    parcel: &Parcel<'_>,
    state: &'static str,
    bump: Option<String>,
    entry: &VersionEntry,
    client: &Client,
) -> Outcome<Row> {
    client.check_logged(parcel.name(), entry)?;
    let verdict = client.verdict(parcel.name(), entry)?;
    let tests = verdict.as_ref().map_or_else(|| "-".to_string(), |verdict| verdict.tests.to_string());
    let numbers = [entry.claims.to_string(), tests, entry.instructions.to_string(), entry.waived.to_string()];
    let [claims, tests, instructions, waived] = numbers;
    let raw_c = if entry.raw_c.is_some() { "yes" } else { "no" }.to_string();
    let mut value = value(parcel, state, bump.as_deref());
    if let Some(object) = value.as_object_mut() {
        object.insert("log".into(), json!(entry.log));
        object.insert("verdict".into(), json!(entry.verdict.map(|digest| digest.to_string())));
        object.insert("claims".into(), json!(verdict.as_ref().map(|verdict| &verdict.claims)));
        object.insert("tests".into(), json!(verdict.as_ref().map(|verdict| verdict.tests)));
    }
    Ok(Row { title: parcel.title(), state, bump, value, counts: [claims, tests, instructions, waived, raw_c] })
}

/// A pack that would have been published, with what was found here.
fn checked_row(parcel: &Parcel<'_>, bump: Option<String>, verdict: &Verdict) -> Row {
    let numbers = [verdict.claims.len(), verdict.tests, verdict.instructions.len(), verdict.waived.len()];
    let [claims, tests, instructions, waived] = numbers.map(|number| number.to_string());
    let raw_c = if verdict.raw_c > 0 { "yes" } else { "no" }.to_string();
    let mut value = value(parcel, "checked", bump.as_deref());
    if let Some(object) = value.as_object_mut() {
        object.insert("claims".into(), json!(verdict.claims));
        object.insert("tests".into(), json!(verdict.tests));
    }
    Row {
        title: parcel.title(),
        state: "could be published",
        bump,
        value,
        counts: [claims, tests, instructions, waived, raw_c],
    }
}

fn value(parcel: &Parcel<'_>, state: &str, bump: Option<&str>) -> Value {
    json!({
        "name": parcel.name().as_str(),
        "version": parcel.packed.manifest.pack.version.value.to_string(),
        "state": state,
        "required_bump": bump,
        "sha256": parcel.packed.archive.sha256.to_string(),
    })
}

/// What the changes ask for at least. Before 1.0 the numbers count one place further on.
fn least(bump: &str, title: &str) -> String {
    let before_one = title.rsplit_once(' ').is_some_and(|(_, version)| version.starts_with("0."));
    let number = match (before_one, bump) {
        (true, "major") => ", which before 1.0 is a new second number",
        (true, "minor") => ", which before 1.0 is a new third number",
        (_, _) => "",
    };
    format!("what changed needs at least a {bump} version{number}")
}

fn answer(rows: &[Row], registry: &Configured, dry_run: bool, terminal: &Terminal) {
    terminal.answer(
        || {
            let head = ["pack", "claims", "tests", "instructions", "waived", "raw C"].map(str::to_string);
            let mut table = vec![head];
            table.extend(rows.iter().map(|row| {
                let [claims, tests, instructions, waived, raw_c] = row.counts.clone();
                [row.title.clone(), claims, tests, instructions, waived, raw_c]
            }));
            let mut text = format!("{}\n\n", layout(&table).trim_end());
            for row in rows {
                let bump = row.bump.as_ref().map(|bump| format!(" ({})", least(bump, &row.title))).unwrap_or_default();
                text.push_str(&format!("{} {}{bump}\n", row.title, row.state));
            }
            text.push_str(&match dry_run {
                true => format!("registry {} has checked it and published nothing: this was a dry run\n", registry.url),
                false => format!("in registry {}, verified there and in its log\n", registry.url),
            });
            text
        },
        || {
            json!({
                "registry": registry.url, "dry_run": dry_run,
                "packs": rows.iter().map(|row| row.value.clone()).collect::<Vec<_>>(),
            })
        },
    );
}
