//! Search over the packs.

use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::Row as _;

use crate::error::ApiError;
use crate::service::Service;

/// Packs on a page when nothing is said, and at most.
const PAGE: i64 = 20;
const LARGEST_PAGE: i64 = 100;

#[derive(Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    q: String,
    kind: Option<String>,
    target: Option<String>,
    verified: Option<bool>,
    page: Option<i64>,
    per_page: Option<i64>,
}

/// A pattern that finds a text anywhere; what patterns give a meaning to stands for itself.
fn anywhere(text: &str) -> String {
    let escaped = text.to_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

pub(super) async fn search(
    State(service): State<Service>,
    Query(asked): Query<Asked>,
) -> Result<Json<Value>, ApiError> {
    if asked.q.len() > 200 {
        return Err(ApiError::malformed("the words to search for are too long"));
    }
    let per_page = asked.per_page.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let page = asked.page.unwrap_or(1).clamp(1, 1_000_000);
    let pattern = anywhere(asked.q.trim());
    let (kind, target) = (asked.kind.unwrap_or_default(), asked.target.unwrap_or_default());
    let verified = i64::from(asked.verified.unwrap_or(false));
    // Names first, then what the pack says of itself; among equals what is used most.
    let found = sqlx::query(
        "SELECT name, version, kind, description, targets, downloads, verified, updated, COUNT(*) OVER () AS total FROM packs \
         WHERE (LOWER(name) LIKE $1 ESCAPE '\\' OR LOWER(description) LIKE $1 ESCAPE '\\' OR LOWER(keywords) LIKE $1 ESCAPE '\\') \
         AND ($2 = '' OR kind = $2) AND ($3 = '' OR (' ' || LOWER(targets) || ' ') LIKE $4 ESCAPE '\\') AND verified >= $5 \
         ORDER BY CASE WHEN name = $6 THEN 0 WHEN LOWER(name) LIKE $1 ESCAPE '\\' THEN 1 ELSE 2 END, downloads DESC, name LIMIT $7 OFFSET $8",
    )
    .bind(pattern)
    .bind(kind)
    .bind(target.clone())
    .bind(anywhere(&format!(" {target} ")))
    .bind(verified)
    .bind(asked.q.trim().to_lowercase())
    .bind(per_page)
    .bind((page - 1) * per_page)
    .fetch_all(&service.registry.rows)
    .await?;
    let mut total = 0;
    let mut packs = Vec::new();
    for row in found {
        total = row.try_get::<i64, _>("total")?;
        packs.push(json!({
            "name": row.try_get::<String, _>("name")?, "version": row.try_get::<String, _>("version")?,
            "kind": row.try_get::<String, _>("kind")?, "description": row.try_get::<String, _>("description")?,
            "targets": row.try_get::<String, _>("targets")?.split_whitespace().collect::<Vec<_>>(),
            "downloads": row.try_get::<i64, _>("downloads")?, "verified": row.try_get::<i64, _>("verified")? == 1,
            "updated": row.try_get::<i64, _>("updated")?,
        }));
    }
    Ok(Json(json!({ "total": total, "packs": packs })))
}
