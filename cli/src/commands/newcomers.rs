//! What somebody should know before a pack gets into a project for the first time: that its name is new, who stands behind it, and
//! that a target's C is believed.

use exo_index::candidates::Span;
use exo_index::lockfile::{LockedSource, Lockfile};
use exo_index::manifest::PackKind;
use exo_index::name::PackName;

use crate::builtin_packs::Registry;
use crate::failure::{Failure, Outcome, count};
use crate::install::Installed;
use crate::policy::now;
use crate::question;
use crate::registry::stewards::Stewards;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// A name is new for a month. Names that language models invent, and names that are nearly another's, are registered by those who wait
/// for them; a month is time for others to notice.
const NEW: u64 = 30 * 24 * 60 * 60;

/// Newcomers whose registry is asked about them; it is not asked about hundreds.
const MOST_ASKED: usize = 10;

/// Says what is to be known of packs that were not locked before; on a terminal, a person decides.
pub(super) fn introduce(
    settings: &Settings,
    terminal: &Terminal,
    registry: &Registry,
    before: Option<&Lockfile>,
    installed: &Installed,
    agreed: bool,
) -> Outcome<()> {
    let lines = lines(settings, registry, before, installed)?;
    for line in &lines {
        terminal.note(line);
    }
    if lines.is_empty() || agreed || terminal.is_json() || !question::somebody() {
        return Ok(());
    }
    match question::visible(terminal, "add this? [y/N] ").unwrap_or_default().trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::refused("nothing was added").hint("`exo add --yes` adds it without a question")),
    }
}

fn lines(
    settings: &Settings,
    registry: &Registry,
    before: Option<&Lockfile>,
    installed: &Installed,
) -> Outcome<Vec<String>> {
    let mut lines = Vec::new();
    let trusted = installed.summary.trusted();
    for pack in installed.plan.lock.packs.values() {
        let LockedSource::Registry(url) = &pack.source else { continue };
        let known = before.is_some_and(|lock| lock.packs.contains_key(&pack.name));
        let Some(found) = registry.get(&pack.name, &pack.version).filter(|_| !known) else { continue };
        let first = registry.versions(&pack.name).filter_map(|version| version.published()).min();
        let age = first.map(|first| now().saturating_sub(first));
        let is_new = age.is_some_and(|age| age < NEW);
        let is_target = found.manifest.pack.kind == PackKind::Target;
        if !is_new && !is_target {
            continue;
        }
        let asked = lines.len() < MOST_ASKED;
        let stewards = if asked { Stewards::of(settings, url, &pack.name)? } else { None };
        let title = format!("{} {}", pack.name, pack.version);
        if is_new {
            let age = Span(age.unwrap_or_default());
            lines.push(format!("`{title}` is new: its first version is {age} old; {}", behind(stewards.as_ref())));
        }
        if is_target {
            let raw_c = trusted.iter().find(|row| is(row.name.as_str(), &pack.name)).map_or(0, |row| row.raw_c);
            let who = if is_new { String::new() } else { format!("; {}", behind(stewards.as_ref())) };
            lines.push(format!(
                "`{title}` is a target: what its {} of raw C do is believed, and only tests compare it{who}",
                count(raw_c, "piece")
            ));
        }
    }
    Ok(lines)
}

fn is(name: &str, pack: &PackName) -> bool {
    name == pack.as_str()
}

fn behind(stewards: Option<&Stewards>) -> String {
    match stewards {
        Some(Stewards { owners, downloads }) => {
            let word = if owners.len() == 1 { "owner" } else { "owners" };
            format!(
                "{word} {}, {}",
                owners.join(", "),
                count(usize::try_from(*downloads).unwrap_or(usize::MAX), "download")
            )
        }
        None => "its owners and downloads are not known here".to_string(),
    }
}
