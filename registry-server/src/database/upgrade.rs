//! Which version of the schema a database has, and how one of an earlier release becomes one of this.
//!
//! The version stands in a table of its own, which comes first: a database that has it was set up by a release that knew versions, and one
//! that has other tables but not this one is of version 1. Columns are only ever added, at the end of a table and with a default, so
//! that a replica of the release before, which still runs, goes on working.

use sqlx::{AnyConnection, AnyPool, Row as _};

use super::{execute, turn};
use crate::failure::Failure;

/// The version of `schema.sql`.
pub(crate) const VERSION: i64 = 6;

/// The statements that make a version of the one before it. Tables and indexes that are new are in `schema.sql`, and made from there.
const STEPS: [(i64, &[&str]); 5] = [
    (
        2,
        &[
            "ALTER TABLE tokens ADD COLUMN wrong_codes BIGINT NOT NULL DEFAULT 0",
            "ALTER TABLE audit ADD COLUMN token TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE audit ADD COLUMN address TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE audit ADD COLUMN version TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE audit ADD COLUMN detail TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE publishes ADD COLUMN token TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE publishes ADD COLUMN address TEXT NOT NULL DEFAULT ''",
        ],
    ),
    (3, &["ALTER TABLE accounts ADD COLUMN generation BIGINT NOT NULL DEFAULT 0"]),
    (4, &["ALTER TABLE packs ADD COLUMN archived BIGINT NOT NULL DEFAULT 0"]),
    (5, &["ALTER TABLE accounts ADD COLUMN confirmed_email TEXT NOT NULL DEFAULT ''"]),
    (6, &["ALTER TABLE publishes ADD COLUMN tries BIGINT NOT NULL DEFAULT 0"]),
];

/// Brings the tables that are there to the present version; new ones are made afterwards.
///
/// # Errors
/// The database is of a later release, or refuses.
pub(super) async fn upgrade(pool: &AnyPool, sqlite: bool) -> Result<(), Failure> {
    execute(pool, "CREATE TABLE IF NOT EXISTS schema_version (id BIGINT PRIMARY KEY, version BIGINT NOT NULL)").await?;
    let mut rows = pool.acquire().await?;
    if version(&mut rows).await?.is_none() {
        let first = if has_tables(&mut rows, sqlite).await? { 1 } else { VERSION };
        // Of two replicas that come here at once on an empty database one is first, and says what holds for both.
        sqlx::query("INSERT INTO schema_version (id, version) VALUES (1, $1) ON CONFLICT (id) DO NOTHING")
            .bind(first)
            .execute(&mut *rows)
            .await?;
    }
    let known = version(&mut rows).await?.ok_or_else(|| Failure::new("the database has lost its version"))?;
    drop(rows);
    if known > VERSION {
        return Err(Failure::new(format!(
            "the database was written by a later release of exo-registry: it has version {known} of the schema, and this program \
             knows {VERSION}; start that release, or restore a backup of before it"
        )));
    }
    if known < VERSION { climb(pool).await } else { Ok(()) }
}

/// All steps that are missing, in one transaction that nobody else is in.
async fn climb(pool: &AnyPool) -> Result<(), Failure> {
    let mut rows = turn(pool).await?;
    let from = version(&mut rows).await?.unwrap_or(VERSION);
    for (to, statements) in STEPS.iter().filter(|(to, _)| *to > from) {
        for statement in *statements {
            sqlx::query(*statement).execute(&mut *rows).await?;
        }
        sqlx::query("UPDATE schema_version SET version = $1 WHERE id = 1").bind(*to).execute(&mut *rows).await?;
    }
    rows.commit().await?;
    if from < VERSION {
        tracing::info!(from, to = VERSION, "the database was brought to the schema of this release");
    }
    Ok(())
}

async fn version(rows: &mut AnyConnection) -> Result<Option<i64>, Failure> {
    let found = sqlx::query("SELECT version FROM schema_version WHERE id = 1").fetch_optional(rows).await?;
    Ok(found.map(|row| row.try_get("version")).transpose()?)
}

/// Whether a registry was set up in the database before.
async fn has_tables(rows: &mut AnyConnection, sqlite: bool) -> Result<bool, Failure> {
    let query = match sqlite {
        true => "SELECT COUNT(*) AS n FROM sqlite_master WHERE type = 'table' AND name = 'state'",
        false => {
            "SELECT COUNT(*) AS n FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = 'state'"
        }
    };
    Ok(sqlx::query(query).fetch_one(rows).await?.try_get::<i64, _>("n")? > 0)
}
