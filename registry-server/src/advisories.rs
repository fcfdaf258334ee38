//! Advisories: what may be said of weak versions of a pack, and the rows that the shards take it from.

use exo_index::name::PackName;
use exo_index::registry::layout::name_in_url;
use exo_index::registry::shard::Advisory;
use exo_index::version::Requirement;
use exo_index::visible::is_line;
use serde::Deserialize;
use sqlx::{AnyConnection, Row as _};

use crate::database::Rows;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::pages::format::rfc3339;

/// The words for how bad it is, from the least on.
pub(crate) const SEVERITIES: [&str; 4] = ["low", "medium", "high", "critical"];

/// The longest lines, in bytes.
const LONGEST_SUMMARY: usize = 300;
const LONGEST_LINE: usize = 500;

/// Standing advisories of one pack: clients read all of them with each shard.
const MOST: usize = 100;

/// How ids begin that the registry gives.
const OWN: &str = "EXO-";

/// What an owner says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Told {
    /// The name it has elsewhere, such as that of a CVE; the registry gives one when left out.
    #[serde(default)]
    id: Option<String>,
    versions: String,
    severity: String,
    summary: String,
    #[serde(default)]
    patched: Option<String>,
    #[serde(default)]
    remedy: Option<String>,
    #[serde(default)]
    url: Option<String>,
}

/// An advisory with what only the rows know.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) name: PackName,
    pub(crate) advisory: Advisory,
    pub(crate) published: i64,
    pub(crate) changed: i64,
    /// When it was withdrawn.
    pub(crate) withdrawn: Option<i64>,
}

/// A line that is there, and can be shown.
fn line(what: &str, text: Option<String>, most: usize) -> Result<Option<String>, ApiError> {
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    match text {
        Some(text) if !is_line(&text, most) => Err(ApiError::malformed(format!(
            "{what} of an advisory is one line of at most {most} bytes, without characters that cannot be seen or that turn \
             the direction of text"
        ))),
        text => Ok(text),
    }
}

fn requirement(text: &str) -> Result<Requirement, ApiError> {
    Requirement::parse(text).map_err(|error| {
        let refused = ApiError::malformed(error.message);
        error.hint.into_iter().fold(refused, ApiError::hint)
    })
}

/// Whether a text may be the address of a link: what browsers could take for anything else than a page elsewhere is none, and neither is
/// one that names somebody before its host, which readers take for the host.
fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    text.len() <= LONGEST_LINE
        && rest.is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_alphanumeric()))
        && rest.and_then(|rest| rest.split(['/', '?', '#']).next()).is_some_and(|host| !host.contains('@'))
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>\\^`{|}".contains(&byte))
}

/// Whether an id may be given by whoever publishes: one that is known elsewhere, and not one of those that the registry gives.
fn is_foreign_id(id: &str) -> bool {
    (3..=60).contains(&id.len())
        && id.starts_with(|char: char| char.is_ascii_uppercase())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        && !id.to_ascii_uppercase().starts_with(OWN)
}

impl Told {
    /// The id that was asked for.
    ///
    /// # Errors
    /// It can be none.
    pub(crate) fn id(&self) -> Result<Option<&str>, ApiError> {
        match self.id.as_deref() {
            Some(id) if !is_foreign_id(id) => Err(ApiError::malformed(format!("`{}` can be no id", id.escape_debug()))
                .hint(
                    "give the one it has elsewhere, such as CVE-2026-1234; ids that begin with EXO- are the registry's",
                )),
            id => Ok(id),
        }
    }

    /// The advisory, under its id.
    ///
    /// # Errors
    /// Something of it is not sound; the message says what.
    pub(crate) fn advisory(self, id: String) -> Result<Advisory, ApiError> {
        if !SEVERITIES.contains(&self.severity.as_str()) {
            return Err(ApiError::malformed(format!("the severity is one of {}", SEVERITIES.join(", "))));
        }
        let summary = line("the summary", Some(self.summary), LONGEST_SUMMARY)?
            .ok_or_else(|| ApiError::malformed("an advisory has a summary: one line that says what is wrong"))?;
        let versions = requirement(&self.versions)?;
        let patched = self.patched.as_deref().map(requirement).transpose()?;
        let url = line("the URL", self.url, LONGEST_LINE)?;
        if url.as_ref().is_some_and(|url| !is_address(url)) {
            return Err(ApiError::malformed("the URL of an advisory begins with https:// or http://"));
        }
        let remedy = line("the remedy", self.remedy, LONGEST_LINE)?;
        Ok(Advisory { id, versions, severity: self.severity, summary, url, patched, remedy })
    }
}

fn kept(row: &sqlx::any::AnyRow) -> Result<Kept, Failure> {
    let withdrawn: i64 = row.try_get("withdrawn")?;
    Ok(Kept {
        name: PackName::parse(&row.try_get::<String, _>("name")?)?,
        advisory: serde_json::from_str(&row.try_get::<String, _>("entry")?)?,
        published: row.try_get("published")?,
        changed: row.try_get("changed")?,
        withdrawn: (withdrawn > 0).then_some(withdrawn),
    })
}

/// All advisories of a pack, withdrawn ones too, in the order in which they were published.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn of_pack(rows: &mut AnyConnection, name: &PackName) -> Result<Vec<Kept>, Failure> {
    let found = sqlx::query(
        "SELECT name, entry, published, changed, withdrawn FROM advisories WHERE name = $1 ORDER BY published, id",
    )
    .bind(name.as_str().to_owned())
    .fetch_all(rows)
    .await?;
    found.iter().map(kept).collect()
}

/// Those that stand, as the shard has them.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn standing(rows: &mut AnyConnection, name: &PackName) -> Result<Vec<Advisory>, Failure> {
    let all = of_pack(rows, name).await?;
    Ok(all.into_iter().filter(|kept| kept.withdrawn.is_none()).map(|kept| kept.advisory).collect())
}

/// The advisories of all packs, or of one, that changed last.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn newest(rows: &mut AnyConnection, name: Option<&PackName>, most: i64) -> Result<Vec<Kept>, Failure> {
    let name = name.map(|name| name.as_str().to_owned()).unwrap_or_default();
    let found = sqlx::query(
        "SELECT name, entry, published, changed, withdrawn FROM advisories WHERE $1 = '' OR name = $2 ORDER BY changed DESC, id LIMIT $3",
    )
    .bind(name.clone())
    .bind(name)
    .bind(most)
    .fetch_all(rows)
    .await?;
    found.iter().map(kept).collect()
}

/// The standing advisory of a pack with an id.
///
/// # Errors
/// There is none.
pub(crate) async fn find(rows: &mut AnyConnection, name: &PackName, id: &str) -> Result<Advisory, ApiError> {
    let found = standing(rows, name).await?.into_iter().find(|advisory| advisory.id == id);
    found.ok_or_else(|| {
        let message = format!("`{name}` has no advisory `{}`", id.escape_debug());
        ApiError::absent(message, format!("`/api/v1/packs/{}/advisories` lists those that it has", name_in_url(name)))
    })
}

/// The next id of the registry's own in a year: they are counted, so that none is given twice.
async fn own_id(rows: &mut Rows, now: i64) -> Result<String, Failure> {
    let year: String = rfc3339(now).chars().take(4).collect();
    let prefix = format!("{OWN}{year}-");
    let mut last = 0;
    for row in sqlx::query("SELECT id FROM advisories WHERE id LIKE $1")
        .bind(format!("{prefix}%"))
        .fetch_all(&mut **rows)
        .await?
    {
        let id: String = row.try_get("id")?;
        last = last.max(id.strip_prefix(&prefix).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0));
    }
    Ok(format!("{prefix}{:04}", last + 1))
}

/// Writes down a new advisory.
///
/// # Errors
/// It is not sound, its id is taken, or the pack has too many.
pub(crate) async fn publish(rows: &mut Rows, name: &PackName, told: Told, now: i64) -> Result<Advisory, ApiError> {
    let id = match told.id()? {
        Some(id) => id.to_owned(),
        None => own_id(rows, now).await?,
    };
    let advisory = told.advisory(id)?;
    if standing(&mut *rows, name).await?.len() >= MOST {
        return Err(ApiError::conflict(format!("`{name}` has {MOST} advisories already"))
            .hint("withdraw those that others include"));
    }
    // Ids that differ in case only are one: `CVE-2026-1` and `CVe-2026-1`.
    let twin = sqlx::query("SELECT id FROM advisories WHERE LOWER(id) = LOWER($1)").bind(advisory.id.clone());
    if let Some(twin) = twin.fetch_optional(&mut **rows).await? {
        return Err(taken(&twin.try_get::<String, _>("id")?));
    }
    let done = sqlx::query("INSERT INTO advisories (id, name, entry, published, changed, withdrawn) VALUES ($1, $2, $3, $4, $5, 0) ON CONFLICT (id) DO NOTHING")
        .bind(advisory.id.clone())
        .bind(name.as_str().to_owned())
        .bind(serde_json::to_string(&advisory)?)
        .bind(now)
        .bind(now)
        .execute(&mut **rows)
        .await?;
    if done.rows_affected() == 0 {
        return Err(taken(&advisory.id));
    }
    Ok(advisory)
}

fn taken(id: &str) -> ApiError {
    ApiError::conflict(format!("there is an advisory `{id}` already"))
        .hint("an id is never given twice: change the advisory that has it, or let the registry give one")
}

/// Replaces what a standing advisory says.
///
/// # Errors
/// The database refuses.
pub(crate) async fn change(rows: &mut Rows, advisory: &Advisory, now: i64) -> Result<(), ApiError> {
    sqlx::query("UPDATE advisories SET entry = $1, changed = $2 WHERE id = $3")
        .bind(serde_json::to_string(advisory)?)
        .bind(now)
        .bind(advisory.id.clone())
        .execute(&mut **rows)
        .await?;
    Ok(())
}

/// Takes a standing advisory back; its id stays taken.
///
/// # Errors
/// The database refuses.
pub(crate) async fn withdraw(rows: &mut Rows, id: &str, now: i64) -> Result<(), ApiError> {
    sqlx::query("UPDATE advisories SET changed = $1, withdrawn = $2 WHERE id = $3")
        .bind(now)
        .bind(now)
        .bind(id.to_owned())
        .execute(&mut **rows)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ids() {
        for good in ["https://example.org/a?b=c#d", "https://example.org/@ada?to=a@b", "http://localhost:8000/x"] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "https://",
            "https:// x",
            "https://a\"b",
            "//example.org",
            "ftp://a",
            "https://ü.org",
            "https://example.org@evil.example/x",
        ] {
            assert!(!is_address(bad), "{bad}");
        }
        for good in ["CVE-2026-1234", "GHSA-abcd-efgh"] {
            assert!(is_foreign_id(good), "{good}");
        }
        for bad in ["", "x", "EXO-2026-0001", "Exo-1", "CVE 1", "CVE/1", "cve-1", "A<B>"] {
            assert!(!is_foreign_id(bad), "{bad}");
        }
    }
}
