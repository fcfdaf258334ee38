//! `exo cache {dir,size,prune,verify}`: looks at the cache and cleans it.

use std::time::Duration;

use serde_json::json;

use crate::arguments::{Cache as Arguments, CacheAction};
use crate::cache::{Cache, maintenance};
use crate::failure::{Exit, Failure, Outcome, count};
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let cache = Cache::open(settings)?;
    match arguments.action {
        CacheAction::Dir => {
            let folder = cache.root.display().to_string();
            terminal.answer(|| format!("{folder}\n"), || json!({ "dir": folder }));
        }
        CacheAction::Size => {
            let size = maintenance::size(&cache)?;
            terminal.answer(
                || {
                    format!(
                        "{} in {} and {}\n",
                        memory(size.bytes),
                        count(size.trees, "pack"),
                        count(size.verdicts, "verdict")
                    )
                },
                || json!({ "bytes": size.bytes, "packs": size.trees, "verdicts": size.verdicts }),
            );
        }
        CacheAction::Prune { days } => {
            let removed = maintenance::prune(&cache, Duration::from_secs(days.saturating_mul(24 * 60 * 60)))?;
            let entries = if removed == 1 { "1 entry".to_string() } else { format!("{removed} entries") };
            terminal.answer(
                || format!("removed {entries} not used for {}\n", count(days as usize, "day")),
                || json!({ "removed": removed }),
            );
        }
        CacheAction::Verify { repair } => return verify(&cache, repair, terminal),
    }
    Ok(Exit::Done)
}

/// An amount of memory as people say it.
fn memory(bytes: u64) -> String {
    match bytes as f64 / 1024.0 {
        kibibytes if kibibytes < 1024.0 => format!("{kibibytes:.1} KiB"),
        kibibytes => format!("{:.1} MiB", kibibytes / 1024.0),
    }
}

fn verify(cache: &Cache, repair: bool, terminal: &Terminal) -> Outcome<Exit> {
    let progress = terminal.progress("Hashing", maintenance::size(cache).map_or(0, |size| size.trees));
    let (trees, damage) = maintenance::verify(cache, &mut |entry| progress.step(&entry.display().to_string()))?;
    drop(progress);
    if repair {
        maintenance::repair(&damage)?;
    }
    if damage.is_empty() || repair {
        terminal.answer(
            || {
                let mut text: String =
                    damage.iter().map(|d| format!("removed {}: {}\n", d.entry.display(), d.reason)).collect();
                text.push_str(&format!("{} verified, {} removed\n", count(trees, "pack"), damage.len()));
                text
            },
            || {
                let removed = damage.iter().map(|d| json!({ "entry": d.entry, "reason": d.reason }));
                json!({ "verified": trees, "removed": removed.collect::<Vec<_>>() })
            },
        );
        return Ok(Exit::Done);
    }
    let damaged = if damage.len() == 1 { "1 entry".to_string() } else { format!("{} entries", damage.len()) };
    let mut failure = Failure::environment(format!("{damaged} of the cache cannot be trusted"))
        .code(exo_compiler::diagnostic::codes::DIGEST);
    for damaged in &damage {
        failure = failure.note(format!("{}: {}", damaged.entry.display(), damaged.reason));
    }
    Err(failure.hint("`exo cache verify --repair` removes them; the next `exo install` makes them again"))
}
