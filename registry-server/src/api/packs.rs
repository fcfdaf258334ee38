//! What is known of a pack, and what its owners may change about it.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use exo_index::name::PackName;
use exo_index::registry::log::leaf::{Event, Leaf};
use exo_index::registry::shard::{PackEntry, VersionEntry, Withdrawal};
use exo_index::version::Version;
use exo_index::visible::is_line;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::Row as _;

use super::{named, pack_name, version};
use crate::access::{self, Caller, Right};
use crate::chance::{self, unsigned};
use crate::database::{self, Rows};
use crate::error::ApiError;
use crate::index;
use crate::service::Service;

pub(super) fn no_pack(name: &PackName) -> ApiError {
    ApiError::absent(format!("there is no pack `{name}`"))
}

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
        if reason.reason.as_ref().is_some_and(|text| !is_line(text, 500)) {
            return Err(ApiError::malformed(
                "a reason is one line of at most 500 bytes, without characters that cannot be seen or that turn the direction of text",
            ));
        }
        if reason.replacement.as_ref().is_some_and(|text| !is_replacement(text)) {
            return Err(ApiError::malformed(
                "a replacement is the name of a pack, or a name and a version: `neon@1.1.0`",
            ));
        }
        Ok(Withdrawal { reason: reason.reason, replacement: reason.replacement })
    }
}

/// Whether a text names a pack, or a version of one.
fn is_replacement(text: &str) -> bool {
    let (name, number) = match text.rsplit_once(['@', ' ']) {
        Some((name, number)) if !name.is_empty() => (name, Some(number)),
        Some(_) | None => (text, None),
    };
    PackName::parse(name).is_ok() && number.is_none_or(|number| Version::parse(number).is_ok())
}

/// Takes the lock for a change of a pack that the caller may make.
pub(super) async fn change(
    service: &Service,
    caller: &Caller,
    right: Right,
    name: &PackName,
) -> Result<Rows, ApiError> {
    caller.may(right, name)?;
    let mut turn = database::turn(&service.registry.rows).await?;
    let there = sqlx::query("SELECT name FROM packs WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_optional(&mut *turn)
        .await?;
    if there.is_none() {
        return Err(no_pack(name));
    }
    caller.must_own(&mut turn, right, name).await?;
    Ok(turn)
}

/// Makes a change visible.
pub(super) async fn conclude(
    service: &Service,
    mut turn: Rows,
    caller: &Caller,
    name: &PackName,
    (action, event): (&str, Event),
) -> Result<StatusCode, ApiError> {
    let now = chance::now()?;
    access::note(&mut turn, &caller.login, action, name.as_str()).await?;
    let leaf = Leaf { event, time: unsigned(now) };
    index::write(&service.registry, &mut turn, std::slice::from_ref(name), &[leaf], now).await?;
    turn.commit().await?;
    index::show_latest(&service.registry).await?;
    service.count(action);
    Ok(StatusCode::NO_CONTENT)
}

/// Sets or lifts the yank of a version; says whether anything changed.
async fn set_yank(
    rows: &mut Rows,
    name: &PackName,
    version: &Version,
    yanked: Option<Withdrawal>,
) -> Result<bool, ApiError> {
    let found = sqlx::query("SELECT entry FROM versions WHERE name = $1 AND version = $2")
        .bind(name.as_str().to_owned())
        .bind(version.to_string())
        .fetch_optional(&mut **rows)
        .await?;
    let row = found.ok_or_else(|| ApiError::absent(format!("there is no `{name} {version}`")))?;
    let mut entry: VersionEntry = serde_json::from_str(&row.try_get::<String, _>("entry")?)?;
    if entry.yanked == yanked {
        return Ok(false);
    }
    entry.yanked = yanked;
    sqlx::query("UPDATE versions SET entry = $1 WHERE name = $2 AND version = $3")
        .bind(serde_json::to_string(&entry)?)
        .bind(name.as_str().to_owned())
        .bind(version.to_string())
        .execute(&mut **rows)
        .await?;
    Ok(true)
}

async fn change_yank(
    service: &Service,
    caller: &Caller,
    (name, number): &(String, String),
    yanked: Option<Withdrawal>,
) -> Result<StatusCode, ApiError> {
    let (name, version) = (pack_name(name)?, version(number)?);
    let lifted = yanked.is_none();
    let mut turn = change(service, caller, Right::Yank, &name).await?;
    if !set_yank(&mut turn, &name, &version, yanked).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    let event = match lifted {
        true => ("unyank", Event::Unyank { name: name.clone(), version }),
        false => ("yank", Event::Yank { name: name.clone(), version }),
    };
    conclude(service, turn, caller, &name, event).await
}

pub(super) async fn yank(
    State(service): State<Service>,
    caller: Caller,
    Path(place): Path<(String, String)>,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    change_yank(&service, &caller, &place, Some(Reason::read(&body)?)).await
}

pub(super) async fn unyank(
    State(service): State<Service>,
    caller: Caller,
    Path(place): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    change_yank(&service, &caller, &place, None).await
}

/// Sets or lifts a deprecation; says whether anything changed.
async fn set_deprecation(rows: &mut Rows, name: &PackName, deprecated: Option<Withdrawal>) -> Result<bool, ApiError> {
    let row = sqlx::query("SELECT entry FROM packs WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_one(&mut **rows)
        .await?;
    let mut entry: PackEntry = serde_json::from_str(&row.try_get::<String, _>("entry")?)?;
    if entry.deprecated == deprecated {
        return Ok(false);
    }
    entry.deprecated = deprecated;
    sqlx::query("UPDATE packs SET entry = $1 WHERE name = $2")
        .bind(serde_json::to_string(&entry)?)
        .bind(name.as_str().to_owned())
        .execute(&mut **rows)
        .await?;
    Ok(true)
}

async fn change_deprecation(
    service: &Service,
    caller: &Caller,
    path: &Path<String>,
    deprecation: Option<Withdrawal>,
) -> Result<StatusCode, ApiError> {
    let name = named(path)?;
    let deprecated = deprecation.is_some();
    let mut turn = change(service, caller, Right::Yank, &name).await?;
    if !set_deprecation(&mut turn, &name, deprecation).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    let action = if deprecated { "deprecate" } else { "undeprecate" };
    conclude(service, turn, caller, &name, (action, Event::Deprecate { name: name.clone(), deprecated })).await
}

pub(super) async fn deprecate(
    State(service): State<Service>,
    caller: Caller,
    path: Path<String>,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    change_deprecation(&service, &caller, &path, Some(Reason::read(&body)?)).await
}

pub(super) async fn undeprecate(
    State(service): State<Service>,
    caller: Caller,
    path: Path<String>,
) -> Result<StatusCode, ApiError> {
    change_deprecation(&service, &caller, &path, None).await
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
    let name = pack_name(&name)?;
    let mut turn = change(&service, &caller, Right::Owners, &name).await?;
    if !access::is_account(&mut turn, &login).await? {
        return Err(ApiError::absent(format!("there is no account `{login}`")));
    }
    let done = sqlx::query("INSERT INTO owners (name, login) VALUES ($1, $2) ON CONFLICT (name, login) DO NOTHING")
        .bind(name.as_str().to_owned())
        .bind(login.clone())
        .execute(&mut *turn)
        .await?;
    if done.rows_affected() == 0 {
        return Ok(StatusCode::NO_CONTENT);
    }
    let event = Event::Owner { name: name.clone(), login, added: true };
    conclude(&service, turn, &caller, &name, ("owner-add", event)).await
}

pub(super) async fn remove_owner(
    State(service): State<Service>,
    caller: Caller,
    Path((name, login)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let name = pack_name(&name)?;
    let mut turn = change(&service, &caller, Right::Owners, &name).await?;
    let done = sqlx::query("DELETE FROM owners WHERE name = $1 AND login = $2")
        .bind(name.as_str().to_owned())
        .bind(login.clone())
        .execute(&mut *turn)
        .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::absent(format!("`{login}` does not own `{name}`")));
    }
    let left: i64 = sqlx::query("SELECT COUNT(*) AS n FROM owners WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_one(&mut *turn)
        .await?
        .try_get("n")?;
    if left == 0 {
        return Err(
            ApiError::conflict(format!("`{login}` is the last owner of `{name}`")).hint("add another owner first")
        );
    }
    let event = Event::Owner { name: name.clone(), login, added: false };
    conclude(&service, turn, &caller, &name, ("owner-remove", event)).await
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
    let found = sqlx::query("SELECT at, login, action FROM audit WHERE subject = $1 ORDER BY at DESC, id LIMIT 1000")
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
