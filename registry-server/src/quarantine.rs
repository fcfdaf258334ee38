//! Quarantine: an administrator takes a version away from everybody at once, and gives it back when it was found harmless.
//!
//! The shard says so in a field of its own; for clients that do not know it the version is yanked too, so that they do not choose it.

use exo_index::digest::Sha256;
use exo_index::name::PackName;
use exo_index::registry::log::leaf::Event;
use exo_index::registry::shard::{VersionEntry, Withdrawal};
use exo_index::version::Version;
use exo_index::visible::is_line;
use sqlx::Row as _;

use crate::access::Caller;
use crate::audit::action::Action;
use crate::database;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::second_factor;
use crate::service::Service;
use crate::stewardship;

/// The longest reason, in bytes.
const LONGEST_REASON: usize = 500;

/// The reason as it is kept.
///
/// # Errors
/// There is none, or it cannot be shown.
pub(crate) fn reason(text: &str) -> Result<Withdrawal, ApiError> {
    let text = text.trim();
    if text.is_empty() || !is_line(text, LONGEST_REASON) {
        return Err(ApiError::malformed(format!(
            "a quarantine needs a reason, which users are shown: one line of at most {LONGEST_REASON} bytes"
        )));
    }
    Ok(Withdrawal { reason: Some(text.to_owned()), replacement: None })
}

/// Sets or lifts the quarantine of a version, in rows, log and index.
///
/// # Errors
/// The caller may not, or there is no such version.
pub(crate) async fn set(
    service: &Service,
    caller: &Caller,
    name: &PackName,
    version: &Version,
    quarantined: Option<Withdrawal>,
) -> Result<(), ApiError> {
    caller.must_administer(Some(name))?;
    second_factor::prove(service, caller).await?;
    let mut turn = database::turn(&service.registry.rows).await?;
    let mut entry = stewardship::version_entry(&mut turn, name, version).await?;
    if entry.quarantined == quarantined {
        return Ok(());
    }
    let (action, event) = match &quarantined {
        Some(_) => (Action::Quarantine, Event::Quarantine { name: name.clone(), version: version.clone() }),
        None => (Action::Release, Event::Release { name: name.clone(), version: version.clone() }),
    };
    entry.quarantined = quarantined;
    stewardship::set_version_entry(&mut turn, name, &entry).await?;
    stewardship::conclude(service, turn, caller, name, (action, event)).await
}

/// A version as the shard has it: one in quarantine is yanked for those who know of yanks only.
pub(crate) fn as_served(mut entry: VersionEntry) -> VersionEntry {
    if let Some(why) = &entry.quarantined {
        let why = why.reason.as_deref().unwrap_or("no reason was given");
        let reason = Some(format!("quarantined by the registry: {why}"));
        entry.yanked = Some(Withdrawal { reason, replacement: None });
    }
    entry
}

/// The versions in quarantine.
async fn held(rows: &mut sqlx::AnyConnection) -> Result<Vec<(PackName, VersionEntry)>, Failure> {
    let query = "SELECT name, entry FROM versions WHERE entry LIKE '%\"quarantined\":%' ORDER BY name, version";
    let mut held = Vec::new();
    for row in sqlx::query(query).fetch_all(rows).await? {
        let entry: VersionEntry = serde_json::from_str(&row.try_get::<String, _>("entry")?)?;
        // A description may hold the word.
        if entry.quarantined.is_some() {
            held.push((PackName::parse(&row.try_get::<String, _>("name")?)?, entry));
        }
    }
    Ok(held)
}

/// The versions in quarantine, with the reason.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn all(rows: &mut sqlx::AnyConnection) -> Result<Vec<(PackName, Version, String)>, Failure> {
    let reason = |entry: &VersionEntry| entry.quarantined.as_ref().and_then(|why| why.reason.clone());
    let held = held(rows).await?.into_iter();
    Ok(held.map(|(name, entry)| (name, entry.version.clone(), reason(&entry).unwrap_or_default())).collect())
}

/// Their archives.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn archives(rows: &mut sqlx::AnyConnection) -> Result<Vec<Sha256>, Failure> {
    Ok(held(rows).await?.into_iter().map(|(_, entry)| entry.archive).collect())
}

/// Refuses the archive of a version in quarantine.
///
/// # Errors
/// It is in quarantine.
pub(crate) fn check(name: &str, entry: &VersionEntry) -> Result<(), ApiError> {
    let Some(why) = &entry.quarantined else { return Ok(()) };
    let reason = why.reason.as_deref().unwrap_or("no reason was given");
    Err(ApiError::forbidden(format!("`{name} {}` is in quarantine: {reason}", entry.version))
        .hint("take another version, or ask who runs the registry"))
}
