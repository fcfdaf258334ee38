//! What checkers since the one that verified a publish say of each version: the compatibility matrix.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use exo_index::name::PackName;
use exo_index::version::Version;
use exo_index::visible;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AnyPool, Database, Row as _};

use crate::failure::Failure;

/// How long the program may take to say which checker it is.
const TIME: Duration = Duration::from_secs(20);

/// Who checks, as verdicts name it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Checker {
    /// The version of exo.
    pub(crate) exo: String,
    /// Its checker's own version, and the digest of its source text.
    pub(crate) checker: String,
    /// Name and version of the solver.
    pub(crate) solver: String,
}

impl Checker {
    /// Asks the program.
    ///
    /// # Errors
    /// It cannot be started, or is none that checks packs.
    pub(crate) async fn of(exo: &Path) -> Result<Self, Failure> {
        let child = tokio::process::Command::new(exo)
            .arg("__checker")
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .output();
        let wrong = |why: String| {
            Failure::new(format!(
                "`{}` is no program that checks packs: asked which checker it is, {why}; name the `exo` of this release with --exo",
                exo.display()
            ))
        };
        let ended = tokio::time::timeout(TIME, child).await;
        let ended = ended.map_err(|_| wrong(format!("it does not end in {} seconds", TIME.as_secs())))?;
        let ended = ended.map_err(|error| wrong(format!("it cannot be started ({error})")))?;
        match ended.stdout.trim_ascii() {
            [] => Err(wrong(format!("it says nothing ({})", ended.status))),
            said => serde_json::from_slice(said).map_err(|error| wrong(format!("its answer cannot be read ({error})"))),
        }
    }
}

/// What a checker made of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It verifies, and what is counted is what was signed at the publish.
    Verified,
    /// It verifies, with other counts.
    Changed,
    /// It does not verify.
    Refused,
}

impl Outcome {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Outcome::Verified => "verified",
            Outcome::Changed => "changed",
            Outcome::Refused => "refused",
        }
    }
}

/// One field of the matrix.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Known {
    pub(crate) version: String,
    #[serde(flatten)]
    pub(crate) checker: Checker,
    /// When it was looked at, in seconds since 1970.
    pub(crate) at: i64,
    /// A word of [`Outcome`], or [`UNSETTLED`].
    pub(crate) outcome: String,
    /// What changed, or why it is refused or not settled, a line for each; empty for one that verifies.
    pub(crate) detail: String,
    /// When it is tried again, where nothing is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) again: Option<i64>,
}

/// What is said of a version on which a checker came to no answer.
pub(crate) const UNSETTLED: &str = "unsettled";

/// The pause after the first try that settled nothing, and the longest one, in seconds; each is twice as long as the one before.
const FIRST_PAUSE: i64 = 600;
const LONGEST_PAUSE: i64 = 7 * 86_400;

/// All that is known of a pack's versions, the latest first.
pub(crate) async fn of_pack(rows: &mut AnyConnection, name: &PackName) -> Result<Vec<Known>, Failure> {
    let found = sqlx::query(
        "SELECT version, exo, checker, solver, at, outcome, detail, 0 AS again FROM compatibility WHERE name = $1 \
         UNION ALL SELECT version, exo, checker, solver, at, 'unsettled', detail, again FROM unsettled WHERE name = $2 \
         ORDER BY at DESC, version DESC",
    )
    .bind(name.as_str().to_owned())
    .bind(name.as_str().to_owned())
    .fetch_all(rows)
    .await?;
    found.iter().map(known).collect()
}

fn known(row: &AnyRow) -> Result<Known, Failure> {
    let checker =
        Checker { exo: row.try_get("exo")?, checker: row.try_get("checker")?, solver: row.try_get("solver")? };
    let outcome: String = row.try_get("outcome")?;
    let again = (outcome == UNSETTLED).then(|| row.try_get("again")).transpose()?;
    Ok(Known {
        version: row.try_get("version")?,
        checker,
        at: row.try_get("at")?,
        outcome,
        detail: row.try_get("detail")?,
        again,
    })
}

/// The versions that a checker has not settled, the latest first, without those that are tried again only later.
pub(crate) async fn pending(rows: &AnyPool, checker: &Checker, now: i64) -> Result<Vec<(PackName, Version)>, Failure> {
    let found = sqlx::query(
        "SELECT name, version FROM versions WHERE NOT EXISTS (SELECT 1 FROM compatibility AS known WHERE known.name = versions.name \
         AND known.version = versions.version AND known.exo = $1 AND known.checker = $2 AND known.solver = $3) \
         AND NOT EXISTS (SELECT 1 FROM unsettled AS open WHERE open.name = versions.name AND open.version = versions.version \
         AND open.exo = $4 AND open.checker = $5 AND open.solver = $6 AND open.again > $7) \
         ORDER BY published DESC",
    )
    .bind(checker.exo.clone())
    .bind(checker.checker.clone())
    .bind(checker.solver.clone())
    .bind(checker.exo.clone())
    .bind(checker.checker.clone())
    .bind(checker.solver.clone())
    .bind(now)
    .fetch_all(rows)
    .await?;
    let place = |row: &AnyRow| {
        let (name, version): (String, String) = (row.try_get("name")?, row.try_get("version")?);
        Ok((PackName::parse(&name)?, Version::parse(&version)?))
    };
    found.iter().map(place).collect()
}

/// A statement about what a checker makes of a version; its first values are name, version, and the three of the checker.
fn about(
    statement: &'static str,
    (name, version): (&PackName, &Version),
    checker: &Checker,
) -> Query<'static, Any, <Any as Database>::Arguments> {
    sqlx::query(statement)
        .bind(name.as_str().to_owned())
        .bind(version.to_string())
        .bind(checker.exo.clone())
        .bind(checker.checker.clone())
        .bind(checker.solver.clone())
}

/// Keeps what a checker made of a version, unless that was deleted meanwhile, and forgets that it came to no answer before.
pub(crate) async fn keep(
    rows: &AnyPool,
    subject: (&PackName, &Version),
    checker: &Checker,
    at: i64,
    (outcome, detail): (Outcome, &str),
) -> Result<(), Failure> {
    let mut rows = rows.begin().await?;
    let put = "INSERT INTO compatibility (name, version, exo, checker, solver, at, outcome, detail) \
               SELECT name, version, $3, $4, $5, $6, $7, $8 FROM versions WHERE name = $1 AND version = $2 \
               ON CONFLICT (name, version, exo, checker, solver) DO NOTHING";
    about(put, subject, checker)
        .bind(at)
        .bind(outcome.word().to_owned())
        .bind(visible::shown(detail))
        .execute(&mut *rows)
        .await?;
    let forget = "DELETE FROM unsettled WHERE name = $1 AND version = $2 AND exo = $3 AND checker = $4 AND solver = $5";
    about(forget, subject, checker).execute(&mut *rows).await?;
    Ok(rows.commit().await?)
}

/// Keeps that a checker came to no answer on a version, unless that was deleted meanwhile, and when it is tried again.
pub(crate) async fn put_off(
    rows: &AnyPool,
    subject: (&PackName, &Version),
    checker: &Checker,
    at: i64,
    detail: &str,
) -> Result<(), Failure> {
    let mut rows = rows.begin().await?;
    let put = "INSERT INTO unsettled (name, version, exo, checker, solver, at, tries, again, detail) \
               SELECT name, version, $3, $4, $5, $6, 1, 0, $7 FROM versions WHERE name = $1 AND version = $2 \
               ON CONFLICT (name, version, exo, checker, solver) \
               DO UPDATE SET at = excluded.at, tries = unsettled.tries + 1, detail = excluded.detail RETURNING tries";
    let put = about(put, subject, checker).bind(at).bind(visible::shown(detail));
    let Some(row) = put.fetch_optional(&mut *rows).await? else { return Ok(()) };
    let wait = "UPDATE unsettled SET again = $6 \
                WHERE name = $1 AND version = $2 AND exo = $3 AND checker = $4 AND solver = $5";
    about(wait, subject, checker).bind(at + pause(row.try_get("tries")?)).execute(&mut *rows).await?;
    Ok(rows.commit().await?)
}

/// How long nothing is tried after so many tries, in seconds.
fn pause(tries: i64) -> i64 {
    let doubled = tries.clamp(1, 20) - 1;
    (FIRST_PAUSE << doubled).min(LONGEST_PAUSE)
}

/// Takes back what the first release wrote down as refusals though a limit was reached: such versions are looked at again.
pub(crate) async fn forget_limits(rows: &AnyPool) -> Result<(), Failure> {
    sqlx::query(
        "DELETE FROM compatibility WHERE outcome = 'refused' AND (detail LIKE 'it did not verify within %' \
         OR detail LIKE 'the checker was ended by its limits%' OR detail LIKE '%evaluation exceeded the limit on %')",
    )
    .execute(rows)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_have_an_end() {
        let pauses: Vec<i64> = [1, 2, 3, 10, 11, 12, i64::MAX].map(pause).into();
        assert_eq!(pauses, [600, 1200, 2400, 307_200, 604_800, 604_800, 604_800]);
    }
}
