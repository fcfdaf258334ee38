//! Feeds of new versions, of all packs or of one, as Atom (RFC 4287).

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use exo_index::name::PackName;
use exo_index::registry::shard::VersionEntry;
use exo_index::visible::is_visible;
use sqlx::Row as _;

use super::named;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::pages::format::rfc3339;
use crate::service::Service;
use crate::stewardship::no_pack;

/// Versions in a feed.
const MOST: i64 = 50;

/// One version of one pack.
struct Item {
    name: PackName,
    entry: VersionEntry,
    published: i64,
}

pub(super) async fn all(State(service): State<Service>) -> Result<Response, ApiError> {
    let found =
        sqlx::query("SELECT name, entry, published FROM versions ORDER BY published DESC, name, version LIMIT $1")
            .bind(MOST)
            .fetch_all(&service.registry.rows)
            .await?;
    let title = format!("New versions in {}", service.registry.origin);
    answer(&service, &title, "/api/v1/feed.atom", &items(&found)?)
}

pub(super) async fn of_pack(State(service): State<Service>, path: Path<String>) -> Result<Response, ApiError> {
    let name = named(&path)?;
    let found = sqlx::query(
        "SELECT name, entry, published FROM versions WHERE name = $1 ORDER BY published DESC, version LIMIT $2",
    )
    .bind(name.as_str().to_owned())
    .bind(MOST)
    .fetch_all(&service.registry.rows)
    .await?;
    if found.is_empty() {
        return Err(no_pack(&name));
    }
    let title = format!("New versions of {name} in {}", service.registry.origin);
    let own = format!("/api/v1/packs/{}/feed.atom", exo_index::registry::layout::name_in_url(&name));
    answer(&service, &title, &own, &items(&found)?)
}

fn items(rows: &[sqlx::any::AnyRow]) -> Result<Vec<Item>, Failure> {
    let item = |row: &sqlx::any::AnyRow| {
        Ok(Item {
            name: PackName::parse(&row.try_get::<String, _>("name")?)?,
            entry: serde_json::from_str(&row.try_get::<String, _>("entry")?)?,
            published: row.try_get("published")?,
        })
    };
    rows.iter().map(item).collect()
}

fn answer(service: &Service, title: &str, own: &str, items: &[Item]) -> Result<Response, ApiError> {
    let text = feed(&service.registry.origin, title, own, items);
    let headers =
        [(header::CONTENT_TYPE, "application/atom+xml; charset=utf-8"), (header::CACHE_CONTROL, "max-age=300")];
    Ok((headers, text).into_response())
}

/// The text of a feed. Addresses are relative to that of the feed, since a registry does not know under which name it is reached.
fn feed(origin: &str, title: &str, own: &str, items: &[Item]) -> String {
    let updated = items.iter().map(|item| item.published).max().unwrap_or(0);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>urn:exo:{}:{}</id>\n\
         <title>{}</title>\n<updated>{}</updated>\n<link rel=\"self\" href=\"{}\"/>\n<author><name>{}</name></author>\n",
        escaped(origin),
        escaped(own),
        escaped(title),
        rfc3339(updated),
        escaped(own),
        escaped(origin),
    );
    for Item { name, entry, published } in items {
        let version = entry.version.to_string();
        let yanked = if entry.yanked.is_some() { " (yanked)" } else { "" };
        text.push_str(&format!(
            "<entry>\n<id>urn:exo:{}:{name}:{version}</id>\n<title>{name} {version}{yanked}</title>\n<updated>{}</updated>\n\
             <link href=\"/packs/{name}?version={}\"/>\n<summary>{}</summary>\n</entry>\n",
            escaped(origin),
            rfc3339(*published),
            version.replace('+', "%2B"),
            escaped(entry.description.as_deref().unwrap_or_default()),
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
            feed("r", "t & u", "/f", &[]).contains("<title>t &amp; u</title>\n<updated>1970-01-01T00:00:00Z</updated>")
        );
    }
}
