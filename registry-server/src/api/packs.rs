//! What is known of a pack, and what its owners may change about it.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use exo_index::name::PackName;
use exo_index::registry::shard::{VersionEntry, Withdrawal};
use exo_index::version::Version;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::Row as _;

use super::{named, pack_name, version};
use crate::access::Caller;
use crate::audit;
use crate::compatibility;
use crate::contents;
use crate::deletion;
use crate::difference;
use crate::error::ApiError;
use crate::index;
use crate::publish::bump::{self, Required};
use crate::quarantine;
use crate::service::Service;
use crate::stewardship::{self, Subject};

pub(super) async fn show(State(service): State<Service>, path: Path<String>) -> Result<Json<Value>, ApiError> {
    let name = named(&path)?;
    let mut rows = service.registry.rows.acquire().await?;
    let Some(shard) = index::shard(&mut rows, &name).await? else {
        return Err(deletion::nothing(&mut rows, &name, None).await?);
    };
    let downloads: i64 = sqlx::query("SELECT downloads FROM packs WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_one(&mut *rows)
        .await?
        .try_get("downloads")?;
    Ok(Json(json!({ "pack": shard.pack, "versions": shard.versions, "downloads": downloads })))
}

/// A version as it is served, so that one in quarantine says so.
async fn served(service: &Service, name: &PackName, number: &Version) -> Result<VersionEntry, ApiError> {
    let mut rows = service.registry.rows.acquire().await?;
    Ok(quarantine::as_served(stewardship::version_entry(&mut rows, name, number).await?))
}

pub(super) async fn show_version(
    State(service): State<Service>,
    Path((name, number)): Path<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    let (name, number) = (pack_name(&name)?, version(&number)?);
    let entry = served(&service, &name, &number).await?;
    let findings = contents::findings(&service.registry, &name, &number).await?;
    let row = sqlx::query(
        "SELECT CAST(COALESCE(SUM(count), 0) AS BIGINT) AS n FROM downloads WHERE name = $1 AND version = $2",
    )
    .bind(name.as_str().to_owned())
    .bind(number.to_string())
    .fetch_one(&service.registry.rows)
    .await?;
    let downloads: i64 = row.try_get("n")?;
    Ok(Json(json!({ "name": name.as_str(), "version": entry, "findings": findings, "downloads": downloads })))
}

pub(super) async fn delete(
    State(service): State<Service>,
    caller: Caller,
    Path(place): Path<(String, String)>,
    Json(asked): Json<deletion::Asked>,
) -> Result<StatusCode, ApiError> {
    deletion::delete(&service, &caller, &pack_name(&place.0)?, &version(&place.1)?, asked).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What changed from one version to another: files line by line, and what is offered to users of the pack.
pub(super) async fn difference(
    State(service): State<Service>,
    Path((name, from, to)): Path<(String, String, String)>,
) -> Result<Json<Value>, ApiError> {
    let (name, from, to) = (pack_name(&name)?, version(&from)?, version(&to)?);
    let (old, new) = (served(&service, &name, &from).await?, served(&service, &name, &to).await?);
    for entry in [&old, &new] {
        quarantine::check(name.as_str(), entry)?;
    }
    let files = difference::of(&service, &old, &new).await?;
    let mut rows = service.registry.rows.acquire().await?;
    let (before, after) = (bump::offered(&mut rows, &name, &from).await?, bump::offered(&mut rows, &name, &to).await?);
    Ok(Json(json!({
        "name": name.as_str(), "from": from.to_string(), "to": to.to_string(),
        "files": files.files, "added": files.added, "removed": files.removed, "not_compared": files.not_compared,
        "offers": {
            "added": after.difference(&before).collect::<Vec<_>>(),
            "removed": before.difference(&after).collect::<Vec<_>>(),
            "bump": Required::by(&before, &after).bump.as_str(),
        },
    })))
}

/// What checkers since the publish say of each version.
pub(super) async fn compatibility(State(service): State<Service>, path: Path<String>) -> Result<Json<Value>, ApiError> {
    let name = named(&path)?;
    let mut rows = service.registry.rows.acquire().await?;
    if index::shard(&mut rows, &name).await?.is_none() {
        return Err(deletion::nothing(&mut rows, &name, None).await?);
    }
    let results = compatibility::of_pack(&mut rows, &name).await?;
    Ok(Json(json!({ "name": name.as_str(), "results": results })))
}

#[derive(Deserialize, Default)]
pub(super) struct Reason {
    reason: Option<String>,
    replacement: Option<String>,
}

impl Reason {
    /// The reason in a body, which may be empty.
    fn read(body: &Bytes) -> Result<Withdrawal, ApiError> {
        let reason: Self = if body.is_empty() {
            Self::default()
        } else {
            serde_json::from_slice(body).map_err(|error| ApiError::malformed(error.to_string()))?
        };
        stewardship::withdrawal(reason.reason, reason.replacement)
    }
}

/// The version that a path names.
fn version_of((name, number): &(String, String)) -> Result<Subject, ApiError> {
    Ok(Subject::Version(pack_name(name)?, version(number)?))
}

pub(super) async fn yank(
    State(service): State<Service>,
    caller: Caller,
    Path(place): Path<(String, String)>,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    stewardship::withdraw(&service, &caller, &version_of(&place)?, Some(Reason::read(&body)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn unyank(
    State(service): State<Service>,
    caller: Caller,
    Path(place): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    stewardship::withdraw(&service, &caller, &version_of(&place)?, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn deprecate(
    State(service): State<Service>,
    caller: Caller,
    path: Path<String>,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    stewardship::withdraw(&service, &caller, &Subject::Pack(named(&path)?), Some(Reason::read(&body)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn undeprecate(
    State(service): State<Service>,
    caller: Caller,
    path: Path<String>,
) -> Result<StatusCode, ApiError> {
    stewardship::withdraw(&service, &caller, &Subject::Pack(named(&path)?), None).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn archive(
    State(service): State<Service>,
    caller: Caller,
    path: Path<String>,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    let why = Reason::read(&body)?;
    if why.replacement.is_some() {
        return Err(ApiError::malformed("a pack that is archived has a reason, and no replacement")
            .hint("what to use instead is said by deprecating it"));
    }
    stewardship::withdraw(&service, &caller, &Subject::Upkeep(named(&path)?), Some(why)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn unarchive(
    State(service): State<Service>,
    caller: Caller,
    path: Path<String>,
) -> Result<StatusCode, ApiError> {
    stewardship::withdraw(&service, &caller, &Subject::Upkeep(named(&path)?), None).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn owners(State(service): State<Service>, path: Path<String>) -> Result<Json<Value>, ApiError> {
    let name = named(&path)?;
    let mut rows = service.registry.rows.acquire().await?;
    match index::shard(&mut rows, &name).await? {
        Some(shard) => Ok(Json(json!({ "owners": shard.pack.owners }))),
        None => Err(deletion::nothing(&mut rows, &name, None).await?),
    }
}

pub(super) async fn add_owner(
    State(service): State<Service>,
    caller: Caller,
    Path((name, login)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    stewardship::add_owner(&service, &caller, &pack_name(&name)?, login).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn remove_owner(
    State(service): State<Service>,
    caller: Caller,
    Path((name, login)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    stewardship::remove_owner(&service, &caller, &pack_name(&name)?, login).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn dependants(State(service): State<Service>, path: Path<String>) -> Result<Json<Value>, ApiError> {
    let name = named(&path)?;
    let found = sqlx::query(
        "SELECT name, version, requirement FROM dependencies WHERE dependency = $1 ORDER BY name, version LIMIT 1000",
    )
    .bind(name.as_str().to_owned())
    .fetch_all(&service.registry.rows)
    .await?;
    let mut dependants = Vec::new();
    for row in found {
        dependants.push(json!({ "name": row.try_get::<String, _>("name")?, "version": row.try_get::<String, _>("version")?, "requirement": row.try_get::<String, _>("requirement")? }));
    }
    Ok(Json(json!({ "dependants": dependants })))
}

pub(super) async fn downloads(State(service): State<Service>, path: Path<String>) -> Result<Json<Value>, ApiError> {
    let name = named(&path)?;
    let found =
        sqlx::query("SELECT version, day, count FROM downloads WHERE name = $1 ORDER BY day DESC, version LIMIT 1000")
            .bind(name.as_str().to_owned())
            .fetch_all(&service.registry.rows)
            .await?;
    let mut days = Vec::new();
    for row in found {
        days.push(json!({ "version": row.try_get::<String, _>("version")?, "day": row.try_get::<i64, _>("day")? * 86_400, "count": row.try_get::<i64, _>("count")? }));
    }
    Ok(Json(json!({ "downloads": days })))
}

pub(super) async fn events(
    State(service): State<Service>,
    caller: Caller,
    path: Path<String>,
    Query(asked): Query<audit::Asked>,
) -> Result<Json<audit::Part>, ApiError> {
    Ok(Json(audit::of_pack(&service, &caller, &named(&path)?, &asked).await?))
}

pub(super) async fn badge(State(service): State<Service>, path: Path<String>) -> Result<impl IntoResponse, ApiError> {
    let name = named(&path)?;
    let mut rows = service.registry.rows.acquire().await?;
    let found = sqlx::query("SELECT version FROM packs WHERE name = $1").bind(name.as_str().to_owned());
    let Some(row) = found.fetch_optional(&mut *rows).await? else {
        return Err(deletion::nothing(&mut rows, &name, None).await?);
    };
    // Names and versions have no character that XML gives a meaning to.
    let (left, right) = ("exo pack".to_owned(), format!("{name} {}", row.try_get::<String, _>("version")?));
    let (a, b) = (left.len() * 7 + 10, right.len() * 7 + 10);
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"20\" role=\"img\" aria-label=\"{left}: {right}\">\
         <rect width=\"{a}\" height=\"20\" fill=\"#444\"/><rect x=\"{a}\" width=\"{b}\" height=\"20\" fill=\"#0a6\"/>\
         <g fill=\"#fff\" font-family=\"monospace\" font-size=\"11\"><text x=\"5\" y=\"14\">{left}</text><text x=\"{x}\" y=\"14\">{right}</text></g></svg>",
        w = a + b,
        x = a + 5
    );
    Ok(([(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, "max-age=300")], svg))
}
