//! Search over the packs, for the API and the pages.

mod ranked;
pub(crate) mod table;

use exo_index::registry::shard::PackEntry;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{AnyPool, Row as _};

use crate::error::ApiError;
use crate::failure::Failure;
use crate::service::Service;

/// Packs on a page when nothing is said, and at most.
pub(crate) const PAGE: i64 = 20;
const LARGEST_PAGE: i64 = 100;

/// What is looked for. Pages count from 1.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Asked {
    #[serde(default)]
    pub(crate) q: String,
    pub(crate) kind: Option<String>,
    pub(crate) target: Option<String>,
    pub(crate) verified: Option<bool>,
    pub(crate) page: Option<i64>,
    pub(crate) per_page: Option<i64>,
}

/// A pack as lists show it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) description: String,
    pub(crate) targets: Vec<String>,
    pub(crate) downloads: i64,
    pub(crate) verified: bool,
    pub(crate) updated: i64,
    pub(crate) deprecated: bool,
    pub(crate) archived: bool,
}

/// The columns of which [`Found::read`] makes a pack.
macro_rules! columns {
    () => {
        "name, version, kind, description, targets, downloads, verified, updated, entry"
    };
}

impl Found {
    fn read(row: &AnyRow) -> Result<Self, Failure> {
        let entry: PackEntry = serde_json::from_str(&row.try_get::<String, _>("entry")?)?;
        Ok(Self {
            name: row.try_get("name")?,
            version: row.try_get("version")?,
            kind: row.try_get("kind")?,
            description: row.try_get("description")?,
            targets: row.try_get::<String, _>("targets")?.split_whitespace().map(str::to_owned).collect(),
            downloads: row.try_get("downloads")?,
            verified: row.try_get::<i64, _>("verified")? == 1,
            updated: row.try_get("updated")?,
            deprecated: entry.deprecated.is_some(),
            archived: entry.archived.is_some(),
        })
    }
}

/// How many packs there are of what is looked for, and those of one page.
///
/// # Errors
/// The words are too long, or the database cannot be read.
pub(crate) async fn search(service: &Service, asked: &Asked) -> Result<(i64, Vec<Found>), ApiError> {
    if asked.q.len() > 200 {
        return Err(ApiError::malformed("the words to search for are too long"));
    }
    let per_page = asked.per_page.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let page = asked.page.unwrap_or(1).clamp(1, 1_000_000);
    let place = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
    let rows = &service.registry.rows;
    let hits = service.table.find(rows, asked, place((page - 1) * per_page), place(per_page)).await?;
    let mut found = Vec::with_capacity(hits.page.len());
    for name in hits.page {
        let row = sqlx::query(concat!("SELECT ", columns!(), " FROM packs WHERE name = $1")).bind(name);
        found.extend(row.fetch_optional(rows).await?.as_ref().map(Found::read).transpose()?);
    }
    Ok((i64::try_from(hits.total).unwrap_or(i64::MAX), found))
}

/// The packs that were changed last.
pub(crate) async fn newest(rows: &AnyPool, most: i64) -> Result<Vec<Found>, Failure> {
    let found = sqlx::query(concat!("SELECT ", columns!(), " FROM packs ORDER BY updated DESC, name LIMIT $1"));
    found.bind(most).fetch_all(rows).await?.iter().map(Found::read).collect()
}

/// The packs that are fetched most.
pub(crate) async fn popular(rows: &AnyPool, most: i64) -> Result<Vec<Found>, Failure> {
    let found = sqlx::query(concat!("SELECT ", columns!(), " FROM packs ORDER BY downloads DESC, name LIMIT $1"));
    found.bind(most).fetch_all(rows).await?.iter().map(Found::read).collect()
}

/// The packs of a scope, by name.
pub(crate) async fn of_scope(rows: &AnyPool, scope: &str) -> Result<Vec<Found>, Failure> {
    // A scope has no character that `LIKE` gives a meaning to.
    let found = sqlx::query(concat!("SELECT ", columns!(), " FROM packs WHERE name LIKE $1 ORDER BY name LIMIT 1000"));
    found.bind(format!("@{scope}/%")).fetch_all(rows).await?.iter().map(Found::read).collect()
}

/// The packs of an owner.
pub(crate) async fn owned(rows: &AnyPool, login: &str) -> Result<Vec<Found>, Failure> {
    let found = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM packs WHERE name IN (SELECT name FROM owners WHERE login = $1) ORDER BY name LIMIT 1000"
    ));
    found.bind(login.to_owned()).fetch_all(rows).await?.iter().map(Found::read).collect()
}
