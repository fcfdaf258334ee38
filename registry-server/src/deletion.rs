//! Deletion: an owner takes a version away that was published by mistake, soon and while nobody needs it; administrators any version at
//! any time. What was deleted leaves a tombstone: its number, and its name with the last version, are never given again, and the log keeps
//! both the publish and the deletion.

use axum::http::StatusCode;
use exo_index::calendar;
use exo_index::name::PackName;
use exo_index::registry::layout;
use exo_index::registry::log::leaf::Event;
use exo_index::registry::shard::VersionEntry;
use exo_index::version::{Requirement, Version};
use exo_index::visible::is_line;
use serde::Deserialize;
use sqlx::{AnyConnection, Row as _};

use crate::access::{Caller, Right};
use crate::audit::action::Action;
use crate::audit::{Entry, OPERATOR};
use crate::chance::{self, unsigned};
use crate::changes;
use crate::database::{self, Rows};
use crate::error::ApiError;
use crate::failure::Failure;
use crate::index;
use crate::publish::admission;
use crate::registry::Registry;
use crate::second_factor;
use crate::service::Service;
use crate::stewardship;

/// How long after publishing an owner may delete a version, in hours.
pub(crate) const WINDOW_HOURS: u64 = 72;

/// The longest reason, in bytes.
const LONGEST_REASON: usize = 500;

/// A deletion that is asked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// Shown to those who look for it.
    pub(crate) reason: String,
    /// It is known that the name goes with its last version.
    #[serde(default)]
    pub(crate) with_name: bool,
    /// An administrator does it, whatever stands against it.
    #[serde(default)]
    pub(crate) purge: bool,
}

/// What is left of something that was deleted.
#[derive(Debug, Clone)]
pub(crate) struct Tombstone {
    pub(crate) version: String,
    pub(crate) at: i64,
    pub(crate) reason: String,
}

/// Deletes a version.
///
/// # Errors
/// The caller may not, a code of the second factor is needed, there is no such version, it is too old, others need it, or it is the last.
pub(crate) async fn delete(
    service: &Service,
    caller: &Caller,
    name: &PackName,
    version: &Version,
    asked: Asked,
) -> Result<(), ApiError> {
    let reason = reason(&asked.reason)?;
    match asked.purge {
        true => caller.must_administer(Some(name))?,
        // Nothing takes it back, so that no token does it that was made for what can be taken back.
        false => caller.must_be_session()?,
    }
    second_factor::prove(service, caller).await?;
    let begun = match asked.purge {
        true => Ok(database::turn(&service.registry.rows).await?),
        false => stewardship::change(service, caller, Right::Yank, name).await,
    };
    let there = match begun {
        Ok(mut turn) => stewardship::version_entry(&mut turn, name, version).await.map(|entry| (turn, entry)),
        Err(refused) => Err(refused),
    };
    let (mut turn, entry) = match there {
        Err(gone) if gone.status == StatusCode::GONE => {
            // A failure may have kept the archive.
            remove_left(&service.registry, Left::Of(name, Some(version))).await?;
            return Err(gone);
        }
        there => there?,
    };
    if !asked.purge {
        must_be_free(name, &entry)?;
        must_be_young(name, &entry)?;
        must_not_be_needed(&mut turn, name, version).await?;
    }
    if !asked.with_name && left(&mut turn, name).await? == 1 {
        return Err(ApiError::conflict(format!(
            "`{version}` is the only version of `{name}`, whose name goes with it for good"
        ))
        .hint("yank it, or publish another version first, or say that you mean it: `with_name`"));
    }
    erase(&service.registry, turn, name, &entry, (&caller.login, &reason)).await?;
    service.count("delete");
    Ok(())
}

/// Deletes a version, or all of a pack, for whoever runs the registry; gives the versions that went, none where they were deleted before.
/// What is left of those goes.
///
/// # Errors
/// There is no such pack or version, or rows or files cannot be written.
pub(crate) async fn purge(
    registry: &Registry,
    name: &PackName,
    version: Option<&Version>,
    why: &str,
) -> Result<Vec<Version>, ApiError> {
    let reason = reason(why)?;
    let mut rows = registry.rows.acquire().await?;
    let shard = index::shard(&mut rows, name).await?;
    let number = version.map(ToString::to_string);
    let buried = of_pack(&mut rows, name).await?;
    let buried = buried.iter().any(|tombstone| number.as_ref().is_none_or(|number| *number == tombstone.version));
    drop(rows);
    remove_left(registry, Left::Of(name, version)).await?;
    let chosen = |entry: &&VersionEntry| version.is_none_or(|version| *version == entry.version);
    let entries = shard.iter().flat_map(|shard| &shard.versions);
    let going: Vec<Version> = entries.filter(chosen).map(|entry| entry.version.clone()).collect();
    match (going.as_slice(), version) {
        ([], _) if buried => {}
        ([], Some(version)) if shard.is_some() => return Err(no_version(name, version)),
        ([], _) => return Err(stewardship::no_pack(name)),
        _ => {}
    }
    for version in &going {
        let mut turn = database::turn(&registry.rows).await?;
        let entry = stewardship::version_entry(&mut turn, name, version).await?;
        erase(registry, turn, name, &entry, (OPERATOR, &reason)).await?;
    }
    Ok(going)
}

fn reason(text: &str) -> Result<String, ApiError> {
    let text = text.trim();
    if text.is_empty() || !is_line(text, LONGEST_REASON) {
        return Err(ApiError::malformed(format!(
            "a deletion needs a reason, which users are shown: one line of at most {LONGEST_REASON} bytes"
        )));
    }
    Ok(text.to_owned())
}

/// Whether no administrator keeps the version: it is looked at, and those who have it are warned only as long as it is there.
fn must_be_free(name: &PackName, entry: &VersionEntry) -> Result<(), ApiError> {
    if entry.quarantined.is_none() {
        return Ok(());
    }
    Err(ApiError::conflict(format!("`{name} {}` is in quarantine, and stays as long as it is", entry.version))
        .hint("ask who runs the registry"))
}

fn must_be_young(name: &PackName, entry: &VersionEntry) -> Result<(), ApiError> {
    if unsigned(chance::now()?) <= entry.published + WINDOW_HOURS * 3600 {
        return Ok(());
    }
    Err(ApiError::conflict(format!(
        "`{name} {}` was published more than {WINDOW_HOURS} hours ago, and others count on it",
        entry.version
    ))
    .hint("yank it: nobody newly chooses it then; only an administrator of the registry deletes it"))
}

/// Whether no version of another pack asks for this one.
async fn must_not_be_needed(rows: &mut Rows, name: &PackName, version: &Version) -> Result<(), ApiError> {
    for row in sqlx::query("SELECT name, version, requirement FROM dependencies WHERE dependency = $1 AND name <> $2 ORDER BY name, version")
        .bind(name.as_str().to_owned())
        .bind(name.as_str().to_owned())
        .fetch_all(&mut **rows)
        .await?
    {
        let asked: String = row.try_get("requirement")?;
        if Requirement::parse(&asked).is_ok_and(|requirement| requirement.matches(version)) {
            let who: String = row.try_get("name")?;
            let of: String = row.try_get("version")?;
            return Err(ApiError::conflict(format!("`{who} {of}` depends on `{name} {asked}`, which `{version}` meets"))
                .hint("yank it: nobody newly chooses it then"));
        }
    }
    Ok(())
}

async fn left(rows: &mut Rows, name: &PackName) -> Result<i64, Failure> {
    let row = sqlx::query("SELECT COUNT(*) AS n FROM versions WHERE name = $1").bind(name.as_str().to_owned());
    Ok(row.fetch_one(&mut **rows).await?.try_get("n")?)
}

/// Takes the rows of a version away, and those of the pack with the last one; then the archive.
async fn erase(
    registry: &Registry,
    mut turn: Rows,
    name: &PackName,
    entry: &VersionEntry,
    (login, reason): (&str, &str),
) -> Result<(), ApiError> {
    let version = entry.version.to_string();
    bury(&mut turn, name, &version, &entry.archive.to_string(), (login, reason)).await?;
    for statement in [
        "DELETE FROM versions WHERE name = $1 AND version = $2",
        "DELETE FROM findings WHERE name = $1 AND version = $2",
        "DELETE FROM compatibility WHERE name = $1 AND version = $2",
        "DELETE FROM unsettled WHERE name = $1 AND version = $2",
        "DELETE FROM dependencies WHERE name = $1 AND version = $2",
        "DELETE FROM downloads WHERE name = $1 AND version = $2",
    ] {
        sqlx::query(statement).bind(name.as_str().to_owned()).bind(version.clone()).execute(&mut *turn).await?;
    }
    let newest = index::shard(&mut turn, name).await?.and_then(|shard| shard.versions.last().cloned());
    match newest {
        Some(newest) => show(&mut turn, name, &newest).await?,
        None => {
            bury(&mut turn, name, "", "", (login, reason)).await?;
            for statement in [
                "INSERT INTO former_owners (name, login) SELECT name, login FROM owners WHERE name = $1",
                "DELETE FROM packs WHERE name = $1",
                "DELETE FROM owners WHERE name = $1",
            ] {
                sqlx::query(statement).bind(name.as_str().to_owned()).execute(&mut *turn).await?;
            }
        }
    }
    let shared = sqlx::query("SELECT name FROM versions WHERE archive = $1").bind(entry.archive.to_string());
    let shared = shared.fetch_optional(&mut *turn).await?.is_some();
    let note = Entry::new(login, Action::Delete, name.as_str()).version(&version).detail(reason);
    let event = Event::Delete { name: name.clone(), version: entry.version.clone() };
    changes::write(registry, turn, std::slice::from_ref(name), note, event).await?;
    if !shared {
        registry.blobs.remove(&layout::blob(&entry.archive)).await?;
    }
    Ok(())
}

macro_rules! stones {
    ($which:literal) => {
        concat!(
            "SELECT archive FROM tombstones WHERE archive <> '' ",
            "AND NOT EXISTS (SELECT 1 FROM versions WHERE versions.archive = tombstones.archive) AND ",
            $which
        )
    };
}

/// Tombstones whose archives may still be there: the server died, or the store was away, between the rows and the archive.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Left<'a> {
    /// Those of a pack, or of one version.
    Of(&'a PackName, Option<&'a Version>),
    /// Those that were set since then.
    Since(i64),
}

/// Removes the archives of deleted versions that are still there; says how many.
///
/// # Errors
/// Rows cannot be read, or files not be removed.
pub(crate) async fn remove_left(registry: &Registry, left: Left<'_>) -> Result<u64, Failure> {
    let found = match left {
        Left::Of(name, Some(version)) => {
            sqlx::query(stones!("name = $1 AND version = $2")).bind(name.as_str().to_owned()).bind(version.to_string())
        }
        Left::Of(name, None) => sqlx::query(stones!("name = $1")).bind(name.as_str().to_owned()),
        Left::Since(at) => sqlx::query(stones!("at >= $1")).bind(at),
    };
    let mut removed = 0;
    for row in found.fetch_all(&registry.rows).await? {
        let path = layout::blob(&row.try_get::<String, _>("archive")?.parse()?);
        if registry.blobs.has(&path).await? {
            registry.blobs.remove(&path).await?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Sets a tombstone; for a name as a whole the version is empty.
async fn bury(
    turn: &mut Rows,
    name: &PackName,
    version: &str,
    archive: &str,
    (login, reason): (&str, &str),
) -> Result<(), Failure> {
    sqlx::query("INSERT INTO tombstones (name, version, at, login, reason, archive) VALUES ($1, $2, $3, $4, $5, $6)")
        .bind(name.as_str().to_owned())
        .bind(version.to_owned())
        .bind(chance::now()?)
        .bind(login.to_owned())
        .bind(reason.to_owned())
        .bind(archive.to_owned())
        .execute(&mut **turn)
        .await?;
    Ok(())
}

/// Has lists show the version that is the newest now.
async fn show(turn: &mut Rows, name: &PackName, newest: &VersionEntry) -> Result<(), Failure> {
    sqlx::query("UPDATE packs SET kind = $1, description = $2, targets = $3, version = $4 WHERE name = $5")
        .bind(newest.kind.as_str())
        .bind(newest.description.clone().unwrap_or_default())
        .bind(newest.targets.join(" "))
        .bind(newest.version.to_string())
        .bind(name.as_str().to_owned())
        .execute(&mut **turn)
        .await?;
    Ok(())
}

fn read(row: &sqlx::any::AnyRow) -> Result<Tombstone, Failure> {
    Ok(Tombstone { version: row.try_get("version")?, at: row.try_get("at")?, reason: row.try_get("reason")? })
}

/// The tombstones of a pack, the newest first; the one of the name as a whole has no version.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn of_pack(rows: &mut AnyConnection, name: &PackName) -> Result<Vec<Tombstone>, Failure> {
    let found = sqlx::query("SELECT version, at, reason FROM tombstones WHERE name = $1 ORDER BY at DESC, version")
        .bind(name.as_str().to_owned())
        .fetch_all(rows)
        .await?;
    found.iter().map(read).collect()
}

/// Whether a pack was deleted, name and all.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn is_gone(rows: &mut AnyConnection, name: &PackName) -> Result<bool, Failure> {
    let found = sqlx::query("SELECT name FROM tombstones WHERE name = $1 AND version = ''");
    Ok(found.bind(name.as_str().to_owned()).fetch_optional(rows).await?.is_some())
}

/// Whether an account owned a pack when that was deleted.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn owned(rows: &mut AnyConnection, name: &PackName, login: &str) -> Result<bool, Failure> {
    let found = sqlx::query("SELECT login FROM former_owners WHERE name = $1 AND login = $2");
    let found = found.bind(name.as_str().to_owned()).bind(login.to_owned()).fetch_optional(rows).await?;
    Ok(found.is_some())
}

/// That there is no such pack, or version of it, with the reason where it was deleted.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn nothing(
    rows: &mut AnyConnection,
    name: &PackName,
    version: Option<&Version>,
) -> Result<ApiError, Failure> {
    let wanted = version.map(ToString::to_string).unwrap_or_default();
    let found = of_pack(rows, name).await?.into_iter().find(|tombstone| tombstone.version == wanted);
    Ok(match (found, version) {
        (Some(tombstone), None) => gone(name.as_str(), &tombstone),
        (Some(tombstone), Some(version)) => gone(&format!("{name} {version}"), &tombstone),
        (None, Some(version)) if admission::exists(rows, name).await? => no_version(name, version),
        (None, _) => stewardship::no_pack(name),
    })
}

fn no_version(name: &PackName, version: &Version) -> ApiError {
    let elsewhere = format!("`/api/v1/packs/{}` lists the versions that it has", layout::name_in_url(name));
    ApiError::absent(format!("there is no `{name} {version}`"), elsewhere)
}

/// That something was deleted: why, and when.
fn gone(what: &str, tombstone: &Tombstone) -> ApiError {
    let never = if tombstone.version.is_empty() { "its name" } else { "its number" };
    // Clients read the reason off the message, and expect nothing more in it.
    ApiError::gone(format!("`{what}` was deleted: {}", tombstone.reason))
        .hint(format!("it was deleted on {}, and {never} is not given again", calendar::day(tombstone.at)))
}

/// Refuses the archive of a version that was deleted: it may still be in somebody's memory.
///
/// # Errors
/// It was deleted, or the database cannot be read.
pub(crate) async fn check_archive(rows: &mut AnyConnection, archive: &str) -> Result<(), ApiError> {
    let found = sqlx::query("SELECT name, version, at, reason FROM tombstones WHERE archive = $1")
        .bind(archive.to_owned())
        .fetch_optional(rows)
        .await?;
    let Some(row) = found else { return Ok(()) };
    let tombstone = read(&row)?;
    Err(gone(&format!("{} {}", row.try_get::<String, _>("name")?, tombstone.version), &tombstone))
}
