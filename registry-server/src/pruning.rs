//! What is of no more use goes: counts of minutes that are over, sessions and tokens that have expired, one-time codes, second factors
//! that nobody confirmed, publishes that have ended, archives of deleted versions that a failure kept. The audit log stays: it is what
//! is asked when something has gone wrong.
//!
//! Of all replicas one does it at a time, in pieces that nobody notices.

use std::time::{Duration, Instant};

use sqlx::AnyPool;

use crate::chance;
use crate::deletion::{self, Left};
use crate::failure::Failure;
use crate::leases;
use crate::mails::addresses::LINK_LIFE;
use crate::publish::worker;
use crate::service::Service;

/// How long a replica that took its turn may be silent before another one takes it, in seconds.
const LEASE: i64 = 10;

/// The name of the turn.
const TURN: &str = "pruning";

/// Rows that one statement removes at most.
const PIECE: i64 = 1000;

/// Statements of one kind in one turn at most; what is left waits for the next.
const PIECES: usize = 10;

/// How often a process looks for rows.
const PERIOD: Duration = Duration::from_secs(60);

/// How long an expired session or token is remembered, in seconds: who still uses it is told that it has expired, and an owner sees it in
/// the list.
const EXPIRED_LIFE: i64 = 30 * 86_400;

/// How long the result of a publish can be asked for, in seconds.
const RESULT_LIFE: i64 = 30 * 86_400;

/// How long a second factor waits to be confirmed, in seconds.
const BEGUN_LIFE: i64 = 86_400;

/// Minutes for which counts are kept; the longest look back is at nine and the present one.
const COUNTED: i64 = 10;

/// How long it is looked whether the archive of a deleted version is gone, in seconds; a process looks at all of them when it begins.
const WATCHED: i64 = 7 * 86_400;

/// Rows of one kind that are removed.
struct Kind {
    name: &'static str,
    /// Before when, now being this, something is of no more use.
    before: fn(i64) -> i64,
    /// Removes what is older than `$1`, of that at most `$2` rows.
    statement: &'static str,
}

/// All kinds.
const KINDS: [Kind; 7] = [
    Kind {
        name: "counts",
        before: |now| now / 60 - COUNTED,
        statement: "DELETE FROM limits WHERE (subject, span) IN (SELECT subject, span FROM limits WHERE span < $1 LIMIT $2)",
    },
    Kind {
        name: "tokens",
        before: |now| now - EXPIRED_LIFE,
        statement: "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE expires < $1 LIMIT $2)",
    },
    Kind {
        name: "one-time codes",
        before: |now| now,
        statement: "DELETE FROM setup_codes WHERE hash IN (SELECT hash FROM setup_codes WHERE expires < $1 LIMIT $2)",
    },
    Kind {
        name: "links that confirm addresses",
        before: |now| now - LINK_LIFE,
        statement: "DELETE FROM email_confirmations WHERE hash IN (SELECT hash FROM email_confirmations WHERE at < $1 LIMIT $2)",
    },
    Kind {
        name: "unconfirmed second factors",
        before: |now| now - BEGUN_LIFE,
        statement: "DELETE FROM second_factors WHERE login IN (SELECT login FROM second_factors WHERE confirmed = 0 AND created < $1 LIMIT $2)",
    },
    // A lease below zero says that no upload of it is left; packs go first, since they are found by the publish.
    Kind {
        name: "packs of ended publishes",
        before: |now| now - RESULT_LIFE,
        statement: "DELETE FROM publish_packs WHERE publish IN (SELECT id FROM publishes WHERE state NOT IN ('open', 'checking') AND lease < 0 AND created < $1 AND id IN (SELECT publish FROM publish_packs) LIMIT $2)",
    },
    Kind {
        name: "ended publishes",
        before: |now| now - RESULT_LIFE,
        statement: "DELETE FROM publishes WHERE id IN (SELECT id FROM publishes WHERE state NOT IN ('open', 'checking') AND lease < 0 AND created < $1 AND id NOT IN (SELECT publish FROM publish_packs) LIMIT $2)",
    },
];

/// When this process looked for rows last.
#[derive(Debug, Default)]
pub(crate) struct Pruner {
    last: Option<Instant>,
}

impl Pruner {
    /// Removes what is of no more use, unless another replica is at it.
    ///
    /// # Errors
    /// Rows or files cannot be removed.
    pub(crate) async fn turn(&mut self, service: &Service) -> Result<(), Failure> {
        let rows = &service.registry.rows;
        if !leases::take(rows, TURN, LEASE, chance::now()?).await? {
            return Ok(());
        }
        // Files may be out of reach where rows are not.
        let tidied = worker::tidy(service).await;
        let mut pruned = Ok(());
        if self.last.is_none_or(|last| last.elapsed() >= PERIOD) {
            pruned = self.prune(service, chance::now()?).await;
            self.last = Some(Instant::now());
        }
        leases::give_back(rows, TURN).await?;
        tidied.and(pruned)
    }

    /// Removes rows, and the archives of deleted versions that a failure kept.
    async fn prune(&self, service: &Service, now: i64) -> Result<(), Failure> {
        prune(&service.registry.rows, now).await?;
        let since = if self.last.is_none() { 0 } else { now - WATCHED };
        let removed = deletion::remove_left(&service.registry, Left::Since(since)).await?;
        if removed > 0 {
            tracing::warn!(removed, "archives of deleted versions were still there");
        }
        Ok(())
    }
}

/// Removes rows of all kinds.
async fn prune(rows: &AnyPool, now: i64) -> Result<(), Failure> {
    for Kind { name, before, statement } in KINDS {
        let mut removed = 0;
        for _ in 0..PIECES {
            let done = sqlx::query(statement).bind(before(now)).bind(PIECE).execute(rows).await?;
            removed += done.rows_affected();
            if done.rows_affected() == 0 {
                break;
            }
        }
        if removed > 0 {
            tracing::info!(kind = name, removed, "pruned");
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sqlx::Row as _;

    use super::*;
    use crate::database;

    async fn run(rows: &AnyPool, statement: String) {
        sqlx::query(sqlx::AssertSqlSafe(statement)).execute(rows).await.unwrap();
    }

    async fn count(rows: &AnyPool, table: &str) -> i64 {
        let statement = format!("SELECT COUNT(*) AS n FROM {table}");
        sqlx::query(sqlx::AssertSqlSafe(statement)).fetch_one(rows).await.unwrap().try_get("n").unwrap()
    }

    #[tokio::test]
    async fn what_is_old_goes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let rows = database::open(None, folder.path()).await.unwrap();
        let now = 2_000_000_000;
        for (name, age) in [("old", 40 * 86_400), ("new", 60)] {
            let at = now - age;
            run(&rows, format!("INSERT INTO limits VALUES ('{name}', {}, 1)", at / 60)).await;
            run(&rows, format!("INSERT INTO tokens (id, hash, login, name, session, rights, packs, created, expires) VALUES ('{name}', '{name}', 'ada', 't', 0, '', '', 0, {at})")).await;
            run(&rows, format!("INSERT INTO setup_codes VALUES ('{name}', 1, {})", at + 3600)).await;
            run(&rows, format!("INSERT INTO email_confirmations VALUES ('{name}', 'ada', 'ada@example.org', {at}, 0)"))
                .await;
            run(&rows, format!("INSERT INTO second_factors VALUES ('{name}', '', 0, 0, 0, 0, {at})")).await;
            run(&rows, format!("INSERT INTO second_factors VALUES ('{name}-on', '', 1, 0, 0, 0, {at})")).await;
            run(&rows, format!("INSERT INTO audit (id, at, login, action, subject) VALUES ('{name}', {at}, 'ada', 'publish', 'base')")).await;
            for (state, lease) in [("published", -1), ("refused", 0), ("checking", -1)] {
                run(
                    &rows,
                    format!("INSERT INTO publishes (id, login, dry_run, state, created, lease, result) VALUES ('{name}-{state}', 'ada', 0, '{state}', {at}, {lease}, '')"),
                )
                .await;
                run(&rows, format!("INSERT INTO publish_packs VALUES ('{name}-{state}', 'base', '1.0.0', '', 1)"))
                    .await;
            }
        }
        prune(&rows, now).await.unwrap();
        // A publish that has uploads left, or is under way, stays; so do second factors that are on, and what was done.
        let left = [
            ("limits", 1),
            ("tokens", 1),
            ("setup_codes", 1),
            ("email_confirmations", 1),
            ("second_factors", 3),
            ("publishes", 5),
            ("publish_packs", 5),
            ("audit", 2),
        ];
        for (table, number) in left {
            assert_eq!(count(&rows, table).await, number, "{table}");
        }
        assert_eq!(count(&rows, "publishes WHERE id = 'old-published'").await, 0);
    }

    #[tokio::test]
    async fn one_turn_removes_so_much_and_the_next_one_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let rows = database::open(None, folder.path()).await.unwrap();
        let most = PIECE * i64::try_from(PIECES).unwrap();
        let numbers = format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})", most + 7);
        run(&rows, format!("{numbers} INSERT INTO limits SELECT 'old', i, 1 FROM n")).await;
        let now = 2_000_000_000;
        prune(&rows, now).await.unwrap();
        assert_eq!(count(&rows, "limits").await, 7);
        prune(&rows, now).await.unwrap();
        assert_eq!(count(&rows, "limits").await, 0);
    }

    #[tokio::test]
    async fn one_replica_has_the_turn() {
        let folder = tempfile::tempdir().unwrap();
        let rows = database::open(None, folder.path()).await.unwrap();
        assert!(leases::take(&rows, TURN, LEASE, 100).await.unwrap());
        assert!(!leases::take(&rows, TURN, LEASE, 100 + LEASE - 1).await.unwrap());
        assert!(leases::take(&rows, TURN, LEASE, 100 + LEASE).await.unwrap(), "whoever had it is gone");
    }
}
