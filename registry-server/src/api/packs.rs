//! What is known of a pack, and what its owners may change about it.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use exo_index::registry::shard::Withdrawal;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::Row as _;

use super::{named, pack_name, version};
use crate::access::{Caller, Right};
use crate::error::ApiError;
use crate::index;
use crate::service::Service;
use crate::stewardship::{self, Subject, no_pack};

pub(super) async fn show(State(service): State<Service>, path: Path<String>) -> Result<Json<Value>, ApiError> {
    let name = named(&path)?;
    let mut rows = service.registry.rows.acquire().await?;
    let shard = index::shard(&mut rows, &name).await?.ok_or_else(|| no_pack(&name))?;
    let downloads: i64 = sqlx::query("SELECT downloads FROM packs WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_one(&mut *rows)
        .await?
        .try_get("downloads")?;
    Ok(Json(json!({ "pack": shard.pack, "versions": shard.versions, "downloads": downloads })))
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

pub(super) async fn owners(State(service): State<Service>, path: Path<String>) -> Result<Json<Value>, ApiError> {
    let name = named(&path)?;
    let mut rows = service.registry.rows.acquire().await?;
    let shard = index::shard(&mut rows, &name).await?.ok_or_else(|| no_pack(&name))?;
    Ok(Json(json!({ "owners": shard.pack.owners })))
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

pub(super) async fn audit(
    State(service): State<Service>,
    caller: Caller,
    path: Path<String>,
) -> Result<Json<Value>, ApiError> {
    let name = named(&path)?;
    caller.may(Right::Owners, &name)?;
    let mut rows = service.registry.rows.acquire().await?;
    caller.must_own(&mut rows, Right::Owners, &name).await?;
    let found =
        sqlx::query("SELECT at, login, action FROM audit WHERE subject = $1 ORDER BY at DESC, id DESC LIMIT 1000")
            .bind(name.as_str().to_owned())
            .fetch_all(&mut *rows)
            .await?;
    let mut events = Vec::new();
    for row in found {
        events.push(json!({ "at": row.try_get::<i64, _>("at")?, "login": row.try_get::<String, _>("login")?, "action": row.try_get::<String, _>("action")? }));
    }
    Ok(Json(json!({ "events": events })))
}

pub(super) async fn badge(State(service): State<Service>, path: Path<String>) -> Result<impl IntoResponse, ApiError> {
    let name = named(&path)?;
    let row = sqlx::query("SELECT version FROM packs WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_optional(&service.registry.rows)
        .await?
        .ok_or_else(|| no_pack(&name))?;
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
