//! The static half of the protocol, served from the store of files.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use exo_index::digest::Sha256;
use exo_index::registry::layout;
use exo_index::registry::shard::VersionEntry;
use sqlx::Row as _;

use super::ranges::{self, Asked};
use crate::chance;
use crate::deletion;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::mirror;
use crate::quarantine;
use crate::service::Service;

/// What may change is asked for again each time; what cannot is kept for ever.
const CHANGES: &str = "no-cache";
const STAYS: &str = "public, max-age=31536000, immutable";

pub(super) async fn serve(
    State(service): State<Service>,
    method: Method,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let sound = path.split('/').all(|part| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
    });
    if !sound {
        return Err(ApiError::absent("no file of the index has such a name", FROM_THE_POINTER));
    }
    let whole = format!("v1/{path}");
    let archived = match path.strip_prefix("blob/") {
        Some(archive) => version_of(&service, archive).await?,
        None => None,
    };
    match (&archived, path.strip_prefix("blob/")) {
        (Some((name, entry)), _) => quarantine::check(name, entry)?,
        (None, Some(archive)) => deletion::check_archive(&mut *service.registry.rows.acquire().await?, archive).await?,
        (None, None) => {}
    }
    let changes = whole == layout::LATEST;
    let bytes = bytes(&service, &whole, changes).await?;
    let tag = format!("\"{}\"", Sha256::of(&bytes));
    let cache = if changes { CHANGES } else { STAYS };
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let same = known.is_some_and(|known| known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag));
    let asked = match same {
        true => Asked::Whole,
        false => ranges::asked(&headers, &tag, bytes.len()),
    };
    let size = bytes.len();
    let mut response = match &asked {
        _ if same => StatusCode::NOT_MODIFIED.into_response(),
        Asked::Whole => bytes.into_response(),
        Asked::Part(part) => (StatusCode::PARTIAL_CONTENT, bytes.slice(part.clone())).into_response(),
        Asked::Nothing => {
            let refused = ApiError::of_status(StatusCode::RANGE_NOT_SATISFIABLE, "the file is shorter than that");
            refused.into_response()
        }
    };
    if let Some((name, entry)) = archived
        && !same
        && method == Method::GET
        && asked.is_all(size)
        && !is_mirror(&headers)
    {
        // A download that cannot be counted is one all the same: where the disk is full, say.
        if let Err(failure) = count(&service, name, entry.version.to_string()).await {
            tracing::warn!(%failure, "a download was not counted");
        }
    }
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some(value) = asked.content_range(size) {
        headers.insert(header::CONTENT_RANGE, value);
    }
    if matches!(asked, Asked::Nothing) {
        return Ok(response);
    }
    if !same {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(&path)));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    Ok(response)
}

/// Whether a mirror asks: it copies all archives, and those who use it do not ask here. Anybody can say so; who does makes a count
/// smaller by own downloads only, and who does not could count each of them anyway.
fn is_mirror(headers: &HeaderMap) -> bool {
    let agent = headers.get(header::USER_AGENT).map(HeaderValue::as_bytes);
    agent.is_some_and(|agent| agent.starts_with(mirror::AGENT.as_bytes()))
}

/// How files of the index are found.
const FROM_THE_POINTER: &str = "`/v1/latest` leads to all files of the index";

/// What a file is.
fn kind(path: &str) -> &'static str {
    match path.split('/').next() {
        Some("latest") => "text/plain; charset=utf-8",
        Some("root" | "verdict") => "application/json",
        Some(_) | None => "application/octet-stream",
    }
}

/// A file, out of memory where it stays the same and was asked for lately.
async fn bytes(service: &Service, path: &str, changes: bool) -> Result<Bytes, ApiError> {
    if !changes && let Some(bytes) = service.kept.get(path) {
        return Ok(bytes);
    }
    let found = service.registry.blobs.get(path).await?;
    let bytes =
        Bytes::from(found.ok_or_else(|| ApiError::absent(format!("there is no file `/{path}`"), FROM_THE_POINTER))?);
    if !changes {
        service.kept.put(path, &bytes);
    }
    Ok(bytes)
}

/// The version whose archive this is.
async fn version_of(service: &Service, archive: &str) -> Result<Option<(String, VersionEntry)>, Failure> {
    let found = sqlx::query("SELECT name, entry FROM versions WHERE archive = $1")
        .bind(archive.to_owned())
        .fetch_optional(&service.registry.rows)
        .await?;
    let Some(row) = found else { return Ok(None) };
    Ok(Some((row.try_get("name")?, serde_json::from_str(&row.try_get::<String, _>("entry")?)?)))
}

/// Counts a download of an archive, for the day.
async fn count(service: &Service, name: String, version: String) -> Result<(), Failure> {
    let rows = &service.registry.rows;
    sqlx::query("INSERT INTO downloads (name, version, day, count) VALUES ($1, $2, $3, 1) ON CONFLICT (name, version, day) DO UPDATE SET count = downloads.count + 1")
        .bind(name.clone())
        .bind(version)
        .bind(chance::now()? / 86_400)
        .execute(rows)
        .await?;
    sqlx::query("UPDATE packs SET downloads = downloads + 1 WHERE name = $1").bind(name).execute(rows).await?;
    Ok(())
}
