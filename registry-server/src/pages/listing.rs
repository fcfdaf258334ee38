//! The pages that list packs: home, search, and the packs of an account.

use askama::Template;
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use exo_index::manifest::PackKind;
use sqlx::Row as _;

use super::format;
use super::organisation;
use super::render;
use super::trouble::PageError;
use super::visitor::{Frame, Visitor};
use crate::error::ApiError;
use crate::failure::Failure;
use crate::organisations;
use crate::search::{self, Asked, Found, PAGE};
use crate::service::Service;

/// Packs in each list of the first page.
const SHOWN: i64 = 6;

/// One pack in a list.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) description: String,
    pub(super) updated: String,
    pub(super) downloads: String,
    pub(super) targets: Vec<String>,
    pub(super) verified: bool,
    pub(super) deprecated: bool,
    pub(super) archived: bool,
}

impl From<Found> for Row {
    fn from(found: Found) -> Self {
        Self {
            updated: format::day(found.updated),
            downloads: format::count(found.downloads),
            name: found.name,
            version: found.version,
            kind: found.kind,
            description: found.description,
            targets: found.targets,
            verified: found.verified,
            deprecated: found.deprecated,
            archived: found.archived,
        }
    }
}

fn listed(found: Vec<Found>) -> Vec<Row> {
    found.into_iter().map(Row::from).collect()
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home<'a> {
    frame: &'a Frame,
    packs: String,
    versions: String,
    downloads: String,
    newest: Vec<Row>,
    popular: Vec<Row>,
}

pub(super) async fn home(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Response, PageError> {
    let rows = &service.registry.rows;
    let counts = sqlx::query(
        "SELECT (SELECT COUNT(*) FROM packs) AS packs, (SELECT COUNT(*) FROM versions) AS versions, \
         (SELECT CAST(COALESCE(SUM(downloads), 0) AS BIGINT) FROM packs) AS downloads",
    )
    .fetch_one(rows)
    .await?;
    let count = |name: &str| Ok::<_, Failure>(format::count(counts.try_get::<i64, _>(name)?));
    render(&Home {
        frame: &visitor.frame,
        packs: count("packs")?,
        versions: count("versions")?,
        downloads: count("downloads")?,
        newest: listed(search::newest(rows, SHOWN).await?),
        popular: listed(search::popular(rows, SHOWN).await?),
    })
}

/// A kind of packs as the filter offers it.
struct KindChoice {
    word: &'static str,
    chosen: bool,
}

#[derive(Template)]
#[template(path = "search.html")]
struct Search<'a> {
    frame: &'a Frame,
    kinds: Vec<KindChoice>,
    target: &'a str,
    verified: bool,
    filtered: bool,
    rows: Vec<Row>,
    total: String,
    page: i64,
    pages: i64,
    before: Option<String>,
    after: Option<String>,
}

/// The address of a page of a search.
fn address(asked: &Asked, page: i64) -> String {
    let mut address = format!("/search?q={}", format::encoded(&asked.q));
    for (name, value) in [("kind", &asked.kind), ("target", &asked.target)] {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            address.push_str(&format!("&{name}={}", format::encoded(value)));
        }
    }
    if asked.verified == Some(true) {
        address.push_str("&verified=true");
    }
    if page > 1 {
        address.push_str(&format!("&page={page}"));
    }
    address
}

pub(super) async fn search(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, PageError> {
    let Query(asked) = asked.map_err(|_| ApiError::malformed("the address asks for something that search has not"))?;
    let asked = Asked { per_page: None, ..asked };
    let (total, found) = search::search(&service, &asked).await?;
    let (page, pages) = (asked.page.unwrap_or(1).clamp(1, 1_000_000), total.div_euclid(PAGE) + 1);
    let pages = if total > 0 && total % PAGE == 0 { pages - 1 } else { pages };
    let kind = asked.kind.as_deref().unwrap_or_default();
    let target = asked.target.as_deref().unwrap_or_default();
    let verified = asked.verified == Some(true);
    let frame = Frame { query: asked.q.clone(), ..visitor.frame };
    render(&Search {
        frame: &frame,
        kinds: PackKind::ALL.map(PackKind::as_str).map(|word| KindChoice { word, chosen: word == kind }).into(),
        target,
        verified,
        filtered: verified || !kind.is_empty() || !target.is_empty(),
        rows: listed(found),
        total: format::count(total),
        page,
        pages,
        before: (page > 1).then(|| address(&asked, page - 1)),
        after: (page < pages).then(|| address(&asked, page + 1)),
    })
}

#[derive(Template)]
#[template(path = "user.html")]
struct User<'a> {
    frame: &'a Frame,
    login: &'a str,
    organisations: Vec<String>,
    rows: Vec<Row>,
}

pub(super) async fn user(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Path(login): Path<String>,
) -> Result<Response, PageError> {
    let rows = &service.registry.rows;
    let found = sqlx::query("SELECT login FROM accounts WHERE login = $1").bind(login.clone()).fetch_optional(rows);
    if found.await?.is_none() {
        // Owners of packs and the scopes of organisations look alike to who follows a link.
        if organisations::exists(&mut *rows.acquire().await?, &login).await? {
            return Ok(Redirect::permanent(&organisation::address(&login)).into_response());
        }
        return Err(ApiError::absent("there is no such account", "the page of a pack leads to those who own it").into());
    }
    let memberships = organisations::memberships(&mut *rows.acquire().await?, &login).await?;
    let organisations = memberships.into_iter().map(|(name, _)| name).collect();
    render(&User {
        frame: &visitor.frame,
        login: &login,
        organisations,
        rows: listed(search::owned(rows, &login).await?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_what_was_asked() {
        let asked = Asked {
            q: "a b&c".to_owned(),
            kind: Some(String::new()),
            target: Some("neon".to_owned()),
            verified: Some(true),
            ..Asked::default()
        };
        assert_eq!(address(&asked, 1), "/search?q=a%20b%26c&target=neon&verified=true");
        assert_eq!(address(&Asked::default(), 3), "/search?q=&page=3");
    }
}
