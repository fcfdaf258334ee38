//! What checkers since the one that verified a publish say of each version: the compatibility matrix.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use exo_index::name::PackName;
use exo_index::version::Version;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AnyPool, Row as _};

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
    pub(crate) async fn of(exo: &Path) -> Result<Self, Failure> {
        let child = tokio::process::Command::new(exo)
            .arg("__checker")
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .output();
        let wrong = |why: String| Failure::new(format!("`{}` does not say which checker it is: {why}", exo.display()));
        let ended = tokio::time::timeout(TIME, child).await.map_err(|_| wrong("it does not end".to_owned()))??;
        serde_json::from_slice(&ended.stdout).map_err(|error| wrong(error.to_string()))
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
    /// A word of [`Outcome`].
    pub(crate) outcome: String,
    /// What changed, or why it is refused, a line for each; empty for one that verifies.
    pub(crate) detail: String,
}

/// All that is known of a pack's versions, the latest first.
pub(crate) async fn of_pack(rows: &mut AnyConnection, name: &PackName) -> Result<Vec<Known>, Failure> {
    let found = sqlx::query(
        "SELECT version, exo, checker, solver, at, outcome, detail FROM compatibility WHERE name = $1 ORDER BY at DESC, version DESC",
    )
    .bind(name.as_str().to_owned())
    .fetch_all(rows)
    .await?;
    found.iter().map(known).collect()
}

fn known(row: &AnyRow) -> Result<Known, Failure> {
    let checker =
        Checker { exo: row.try_get("exo")?, checker: row.try_get("checker")?, solver: row.try_get("solver")? };
    Ok(Known {
        version: row.try_get("version")?,
        checker,
        at: row.try_get("at")?,
        outcome: row.try_get("outcome")?,
        detail: row.try_get("detail")?,
    })
}

/// The versions that a checker has not looked at, the latest first.
pub(crate) async fn pending(rows: &AnyPool, checker: &Checker) -> Result<Vec<(PackName, Version)>, Failure> {
    let found = sqlx::query(
        "SELECT name, version FROM versions WHERE NOT EXISTS (SELECT 1 FROM compatibility AS known WHERE known.name = versions.name \
         AND known.version = versions.version AND known.exo = $1 AND known.checker = $2 AND known.solver = $3) \
         ORDER BY published DESC",
    )
    .bind(checker.exo.clone())
    .bind(checker.checker.clone())
    .bind(checker.solver.clone())
    .fetch_all(rows)
    .await?;
    let place = |row: &AnyRow| {
        let (name, version): (String, String) = (row.try_get("name")?, row.try_get("version")?);
        Ok((PackName::parse(&name)?, Version::parse(&version)?))
    };
    found.iter().map(place).collect()
}

/// Keeps what a checker made of a version, unless that was deleted meanwhile.
pub(crate) async fn keep(
    rows: &AnyPool,
    (name, version): (&PackName, &Version),
    checker: &Checker,
    at: i64,
    (outcome, detail): (Outcome, &str),
) -> Result<(), Failure> {
    sqlx::query(
        "INSERT INTO compatibility (name, version, exo, checker, solver, at, outcome, detail) \
         SELECT name, version, $3, $4, $5, $6, $7, $8 FROM versions WHERE name = $1 AND version = $2 \
         ON CONFLICT (name, version, exo, checker, solver) DO NOTHING",
    )
    .bind(name.as_str().to_owned())
    .bind(version.to_string())
    .bind(checker.exo.clone())
    .bind(checker.checker.clone())
    .bind(checker.solver.clone())
    .bind(at)
    .bind(outcome.word().to_owned())
    .bind(detail.to_owned())
    .execute(rows)
    .await?;
    Ok(())
}
