//! Reports: what people with an account tell the administrators about a pack, such as that it is malicious.

use exo_index::name::PackName;
use exo_index::version::Version;
use exo_index::visible::is_visible;
use serde::{Deserialize, Serialize};
use sqlx::{Acquire as _, AnyConnection, Row as _};

use crate::access::{Caller, like};
use crate::audit::action::Action;
use crate::audit::{self, Entry};
use crate::chance;
use crate::deletion;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::limits::{self, Kind};
use crate::service::Service;

/// What a report can be about: its word, and what it means.
pub(crate) const KINDS: [(&str, &str); 5] = [
    ("malicious", "It does harm, or tries to"),
    ("impersonation", "It pretends to be another pack or somebody else"),
    ("wrong", "Its hardware model or its C is wrong"),
    ("licence", "It may not be distributed"),
    ("other", "Something else"),
];

/// The longest text, in bytes.
pub(crate) const LONGEST_TEXT: usize = 4000;

/// Reports of one account that may be open.
const MOST_OPEN: i64 = 20;

/// Reports that are listed.
const LISTED: i64 = 500;

/// A report as it is sent.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NewReport {
    pub(crate) kind: String,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) version: Option<String>,
}

/// A report as administrators see it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Empty when it is about no single version.
    pub(crate) version: String,
    pub(crate) login: String,
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) at: i64,
    /// Who closed it.
    pub(crate) closed_by: Option<String>,
    /// Whether what it is about was deleted since.
    pub(crate) deleted: bool,
}

/// Keeps a report; gives its id.
///
/// # Errors
/// It is about nothing that there is, says nothing, or the caller sent too many.
pub(crate) async fn make(
    service: &Service,
    caller: &Caller,
    name: &PackName,
    new: NewReport,
) -> Result<String, ApiError> {
    caller.must_be_session()?;
    let text = new.text.replace("\r\n", "\n").trim().to_owned();
    if text.is_empty() || text.len() > LONGEST_TEXT || !text.chars().all(|char| is_visible(char) || char == '\n') {
        return Err(ApiError::malformed(format!(
            "a report says what is wrong in at most {LONGEST_TEXT} bytes, without characters that cannot be seen"
        )));
    }
    if !KINDS.iter().any(|(word, _)| *word == new.kind) {
        let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
        return Err(ApiError::malformed(format!("a report is of one kind: {}", words.join(", "))));
    }
    let version = new.version.filter(|version| !version.is_empty());
    let version = version.map(|text| Version::parse(&text)).transpose();
    let number = version.map_err(|error| ApiError::malformed(error.message))?;
    let version = number.as_ref().map(ToString::to_string);
    let pool = &service.registry.rows;
    limits::of_account(pool, Kind::Reports, &caller.login).await?;
    let mut rows = pool.acquire().await?;
    let found = sqlx::query("SELECT version FROM versions WHERE name = $1 AND ($2 = '' OR version = $3) LIMIT 1")
        .bind(name.as_str().to_owned())
        .bind(version.clone().unwrap_or_default())
        .bind(version.clone().unwrap_or_default())
        .fetch_optional(&mut *rows)
        .await?;
    if found.is_none() {
        let whole = deletion::is_gone(&mut rows, name).await?;
        return Err(deletion::nothing(&mut rows, name, number.filter(|_| !whole).as_ref()).await?);
    }
    let open: i64 = sqlx::query("SELECT COUNT(*) AS n FROM reports WHERE login = $1 AND closed_by = ''")
        .bind(caller.login.clone())
        .fetch_one(&mut *rows)
        .await?
        .try_get("n")?;
    if open >= MOST_OPEN {
        return Err(ApiError::too_many(format!("{MOST_OPEN} of your reports wait for an answer"))
            .hint("the administrators have to look at them first"));
    }
    let id = chance::id()?;
    let mut rows = rows.begin().await?;
    sqlx::query("INSERT INTO reports (id, name, version, login, kind, text, at, closed_by) VALUES ($1, $2, $3, $4, $5, $6, $7, '')")
        .bind(id.clone())
        .bind(name.as_str().to_owned())
        .bind(version.unwrap_or_default())
        .bind(caller.login.clone())
        .bind(new.kind)
        .bind(text)
        .bind(chance::now()?)
        .execute(&mut *rows)
        .await?;
    // Under the report's own id: owners of the pack read what is noted of the pack, and need not know who reported it.
    Entry::new(&caller.login, Action::Report, &id).detail(name.as_str()).write(&mut rows).await?;
    rows.commit().await?;
    service.count("report");
    tracing::warn!(pack = %name, report = %id, "a pack was reported");
    Ok(id)
}

/// All reports on packs that the caller's token is for, those that are open first, then the newest.
///
/// # Errors
/// The caller is no administrator.
pub(crate) async fn list(rows: &mut AnyConnection, caller: &Caller) -> Result<Vec<Report>, ApiError> {
    caller.must_administer(None)?;
    let patterns: Option<Vec<String>> = caller.held_to().map(|globs| globs.iter().map(|glob| like(glob)).collect());
    let places = |patterns: &Vec<String>| -> Vec<String> {
        (2..).take(patterns.len()).map(|place| format!("name LIKE ${place} ESCAPE '!'")).collect()
    };
    let of_the_token = patterns
        .as_ref()
        .map_or_else(String::new, |patterns| format!("WHERE 1 = 0 OR {} ", places(patterns).join(" OR ")));
    let statement = format!(
        "SELECT id, name, version, login, kind, text, at, closed_by, CASE WHEN EXISTS (SELECT 1 FROM tombstones AS t \
         WHERE t.name = reports.name AND t.version IN ('', reports.version)) THEN 1 ELSE 0 END AS deleted FROM reports \
         {of_the_token}ORDER BY CASE WHEN closed_by = '' THEN 0 ELSE 1 END, at DESC, id LIMIT $1"
    );
    let mut query = sqlx::query(sqlx::AssertSqlSafe(statement)).bind(LISTED);
    for pattern in patterns.into_iter().flatten() {
        query = query.bind(pattern);
    }
    let mut reports = Vec::new();
    for row in query.fetch_all(rows).await? {
        let closed_by: String = row.try_get("closed_by")?;
        reports.push(Report {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            version: row.try_get("version")?,
            login: row.try_get("login")?,
            kind: row.try_get("kind")?,
            text: row.try_get("text")?,
            at: row.try_get("at")?,
            closed_by: (!closed_by.is_empty()).then_some(closed_by),
            deleted: row.try_get::<i64, _>("deleted")? == 1,
        });
    }
    Ok(reports)
}

/// How many reports wait.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn open(rows: &mut AnyConnection) -> Result<i64, ApiError> {
    let row = sqlx::query("SELECT COUNT(*) AS n FROM reports WHERE closed_by = ''").fetch_one(rows).await?;
    Ok(row.try_get("n")?)
}

/// Marks a report as dealt with.
///
/// # Errors
/// The caller is no administrator, or one by a token for other packs, or there is no such open report.
pub(crate) async fn close(rows: &mut AnyConnection, caller: &Caller, id: &str) -> Result<(), ApiError> {
    caller.must_administer(None)?;
    let reported = sqlx::query("SELECT name FROM reports WHERE id = $1").bind(id.to_owned());
    if let Some(row) = reported.fetch_optional(&mut *rows).await? {
        let name = PackName::parse(&row.try_get::<String, _>("name")?).map_err(Failure::from)?;
        caller.must_administer(Some(&name))?;
    }
    let mut rows = rows.begin().await?;
    let done = sqlx::query("UPDATE reports SET closed_by = $1 WHERE id = $2 AND closed_by = ''")
        .bind(caller.login.clone())
        .bind(id.to_owned())
        .execute(&mut *rows)
        .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::absent("there is no such open report", "`/api/v1/reports` lists those that are open"));
    }
    audit::note(&mut rows, &caller.login, Action::ReportClose, id).await?;
    Ok(rows.commit().await?)
}
