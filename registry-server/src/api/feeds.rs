//! Feeds of new versions and of advisories, of all packs or of one, as Atom (RFC 4287).

use axum::extract::{FromRequestParts, Path, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::response::{IntoResponse, Response};
use exo_index::name::PackName;
use exo_index::registry::layout::name_in_url;
use exo_index::registry::shard::{PackEntry, VersionEntry};
use exo_index::visible::is_visible;
use sqlx::Row as _;

use super::named;
use crate::advisories::{Kept, newest};
use crate::chance::signed;
use crate::deletion;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::pages::format::rfc3339;
use crate::publish::admission;
use crate::service::Service;
use crate::stewardship::{self, no_pack};

/// Entries of a feed.
const MOST: i64 = 50;

/// One entry of a feed.
struct Item {
    /// What makes it another entry than all others of the registry.
    id: String,
    title: String,
    updated: i64,
    link: String,
    summary: String,
}

pub(super) async fn all(State(service): State<Service>, base: Base) -> Result<Response, ApiError> {
    let found =
        sqlx::query("SELECT name, entry, published FROM versions ORDER BY published DESC, name, version LIMIT $1")
            .bind(MOST)
            .fetch_all(&service.registry.rows)
            .await?;
    let title = format!("New versions in {}", service.registry.origin);
    answer(&service, &base, &title, "/api/v1/feed.atom", &versions(&found)?)
}

pub(super) async fn of_pack(
    State(service): State<Service>,
    base: Base,
    path: Path<String>,
) -> Result<Response, ApiError> {
    let name = named(&path)?;
    let found = sqlx::query(
        "SELECT name, entry, published FROM versions WHERE name = $1 ORDER BY published DESC, version LIMIT $2",
    )
    .bind(name.as_str().to_owned())
    .bind(MOST)
    .fetch_all(&service.registry.rows)
    .await?;
    if found.is_empty() {
        return Err(deletion::nothing(&mut *service.registry.rows.acquire().await?, &name, None).await?);
    }
    let title = format!("New versions of {name} in {}", service.registry.origin);
    let own = format!("/api/v1/packs/{}/feed.atom", name_in_url(&name));
    let entry = stewardship::pack_entry(&mut *service.registry.rows.acquire().await?, &name).await?;
    let mut items: Vec<Item> = entry.iter().filter_map(last_word).collect();
    items.extend(versions(&found)?);
    answer(&service, &base, &title, &own, &items)
}

/// Advisories of all packs.
pub(super) async fn advisories(State(service): State<Service>, base: Base) -> Result<Response, ApiError> {
    let mut rows = service.registry.rows.acquire().await?;
    let found = newest(&mut rows, None, MOST).await?;
    let title = format!("Advisories in {}", service.registry.origin);
    answer(&service, &base, &title, "/api/v1/advisories.atom", &found.iter().map(told).collect::<Vec<_>>())
}

/// Advisories of one pack.
pub(super) async fn advisories_of_pack(
    State(service): State<Service>,
    base: Base,
    path: Path<String>,
) -> Result<Response, ApiError> {
    let name = named(&path)?;
    let mut rows = service.registry.rows.acquire().await?;
    if !admission::exists(&mut rows, &name).await? && !deletion::is_gone(&mut rows, &name).await? {
        return Err(no_pack(&name));
    }
    let found = newest(&mut rows, Some(&name), MOST).await?;
    let title = format!("Advisories of {name} in {}", service.registry.origin);
    let own = format!("/api/v1/packs/{}/advisories.atom", name_in_url(&name));
    answer(&service, &base, &title, &own, &found.iter().map(told).collect::<Vec<_>>())
}

fn versions(rows: &[sqlx::any::AnyRow]) -> Result<Vec<Item>, Failure> {
    let item = |row: &sqlx::any::AnyRow| {
        let name = PackName::parse(&row.try_get::<String, _>("name")?)?;
        let entry: VersionEntry = serde_json::from_str(&row.try_get::<String, _>("entry")?)?;
        let version = entry.version.to_string();
        let yanked = if entry.yanked.is_some() { " (yanked)" } else { "" };
        Ok(Item {
            id: format!("{name}:{version}"),
            title: format!("{name} {version}{yanked}"),
            updated: row.try_get("published")?,
            link: format!("/packs/{name}?version={}", version.replace('+', "%2B")),
            summary: entry.description.unwrap_or_default(),
        })
    };
    rows.iter().map(item).collect()
}

/// That no version comes after those of the feed.
fn last_word(pack: &PackEntry) -> Option<Item> {
    let PackEntry { name, archived, .. } = pack;
    let archived = archived.as_ref()?;
    Some(Item {
        id: format!("archived:{name}:{}", archived.since),
        title: format!("{name} is archived"),
        updated: signed(archived.since),
        link: format!("/packs/{name}"),
        summary: archived.reason.clone().unwrap_or_default(),
    })
}

fn told(kept: &Kept) -> Item {
    let Kept { name, advisory, .. } = kept;
    let state = if kept.withdrawn.is_some() { " (withdrawn)" } else { "" };
    let advice = advisory.advice().map(|advice| format!("; {advice}")).unwrap_or_default();
    Item {
        id: format!("advisory:{}", advisory.id),
        title: format!("{} ({}): {name} {}{state}", advisory.id, advisory.severity, advisory.versions),
        updated: kept.changed,
        link: format!("/packs/{name}/versions"),
        summary: format!("{}{advice}", advisory.summary),
    }
}

/// Under which address a request reached the registry: links of a feed are followed from anywhere.
pub(super) struct Base(String);

impl FromRequestParts<Service> for Base {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, ApiError> {
        let said = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let scheme = said("x-forwarded-proto").filter(|scheme| service.behind_proxy && *scheme == "https");
        let host = said(header::HOST.as_str()).filter(|host| host.parse::<Authority>().is_ok() && !host.contains('@'));
        // Without a host there is nothing better than what the feed's own address begins with.
        Ok(Self(host.map(|host| format!("{}://{host}", scheme.unwrap_or("http"))).unwrap_or_default()))
    }
}

fn answer(service: &Service, base: &Base, title: &str, own: &str, items: &[Item]) -> Result<Response, ApiError> {
    let text = feed(&service.registry.origin, &base.0, title, own, items);
    let headers = [
        (header::CONTENT_TYPE, "application/atom+xml; charset=utf-8"),
        (header::CACHE_CONTROL, "max-age=300"),
        (header::VARY, "Host, X-Forwarded-Proto"),
    ];
    Ok((headers, text).into_response())
}

/// The text of a feed. Its ids do not depend on the address under which it was asked for, its links do.
fn feed(origin: &str, base: &str, title: &str, own: &str, items: &[Item]) -> String {
    let base = escaped(base);
    let updated = items.iter().map(|item| item.updated).max().unwrap_or(0);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>urn:exo:{}:{}</id>\n\
         <title>{}</title>\n<updated>{}</updated>\n<link rel=\"self\" href=\"{base}{}\"/>\n<author><name>{}</name></author>\n",
        escaped(origin),
        escaped(own),
        escaped(title),
        rfc3339(updated),
        escaped(own),
        escaped(origin),
    );
    for item in items {
        text.push_str(&format!(
            "<entry>\n<id>urn:exo:{}:{}</id>\n<title>{}</title>\n<updated>{}</updated>\n\
             <link href=\"{base}{}\"/>\n<summary>{}</summary>\n</entry>\n",
            escaped(origin),
            escaped(&item.id),
            escaped(&item.title),
            rfc3339(item.updated),
            escaped(&item.link),
            escaped(&item.summary),
        ));
    }
    text.push_str("</feed>\n");
    text
}

/// Text as it may stand in an element or an attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no way to write most of what is not seen.
            other if is_visible(other) => out.push(other),
            _ => out.push(' '),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_packs_say_of_themselves_stays_text() {
        assert_eq!(escaped("a<b>&\"\u{1}"), "a&lt;b&gt;&amp;&quot; ");
        assert!(
            feed("r", "http://h", "t & u", "/f", &[])
                .contains("<title>t &amp; u</title>\n<updated>1970-01-01T00:00:00Z</updated>")
        );
    }
}
