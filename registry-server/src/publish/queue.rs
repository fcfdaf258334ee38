//! Who is checked next. Accounts share the places: each waits for its own publishes first, so that nobody gets more done by beginning many, and
//! nobody holds others up by beginning long ones.
//!
//! Whose turn it is stands in the rows, so that it holds over all replicas: first the account that has the fewest publishes in work, of
//! those the one whose turn was longest ago. One place of each replica is spare: it is given only to an account that has nothing in work,
//! so that one account never has all of them while another waits. Several accounts may have all of them; the next place that is free goes
//! to one that has none.
//!
//! An account that begins to wait counts as one whose turn was a short time before that, however long ago it was, or if it never had one.
//! Otherwise a stream of new accounts, or of ones that were quiet for long, would go before all others for as long as it flows.

use std::sync::Arc;

use sqlx::{Any, AnyPool, Row as _, Transaction};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::failure::Failure;

/// How long a lease lasts without being renewed, in seconds.
pub(crate) const LEASE: i64 = 6;

/// For how long before it begins to wait an account counts as having had no turn, in seconds: about as long as checks take, so that it goes
/// before those that were served lately.
const HEAD_START: i64 = 30;

/// What a publish that begins to wait has as its lease: one that has run out by now, and says since when it waits.
pub(crate) const fn waiting_since(now: i64) -> i64 {
    now - 1
}

/// Accounts that are looked at before it is looked again; another replica may have been quicker with the first ones.
const LOOKED_AT: i64 = 8;

/// The places of this replica.
pub(super) struct Places {
    common: Arc<Semaphore>,
    spare: Arc<Semaphore>,
}

/// A place to check a publish in; it is free again when this is dropped.
pub(super) struct Place {
    pub(super) permit: OwnedSemaphorePermit,
    /// Whether it is for accounts only that have nothing in work.
    pub(super) spare: bool,
}

impl Places {
    /// So many places, and the spare one.
    pub(super) fn new(common: usize) -> Self {
        Self { common: Arc::new(Semaphore::new(common)), spare: Arc::new(Semaphore::new(1)) }
    }

    /// The next place that is free, the spare one last.
    pub(super) async fn take(&self) -> Result<Place, AcquireError> {
        tokio::select! {
            biased;
            permit = self.common.clone().acquire_owned() => Ok(Place { permit: permit?, spare: false }),
            permit = self.spare.clone().acquire_owned() => Ok(Place { permit: permit?, spare: true }),
        }
    }

    /// Returns once there is a better place than one.
    pub(super) async fn better(&self, than: &Place) {
        if !than.spare || self.common.acquire().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Leases the publish whose turn it is; for a spare place, only one of an account that has nothing in work.
///
/// # Errors
/// The database refuses.
pub(super) async fn next(rows: &AnyPool, spare: bool, now: i64) -> Result<Option<String>, Failure> {
    loop {
        let accounts = waiting(rows, spare, now).await?;
        if accounts.is_empty() {
            return Ok(None);
        }
        for account in &accounts {
            if let Some(id) = lease(rows, account, now).await? {
                return Ok(Some(id));
            }
        }
    }
}

/// An account that waits, and its last turn when that was seen.
struct Account {
    login: String,
    turn: i64,
}

/// The accounts that wait, in the order of their turns.
async fn waiting(rows: &AnyPool, spare: bool, now: i64) -> Result<Vec<Account>, Failure> {
    let found = sqlx::query(
        "SELECT login, turn FROM (SELECT p.login AS login, COALESCE(MAX(t.turn), 0) AS turn, \
         SUM(CASE WHEN p.lease < $1 THEN 1 ELSE 0 END) AS waiting, SUM(CASE WHEN p.lease < $2 THEN 0 ELSE 1 END) AS busy, \
         (MIN(CASE WHEN p.lease < $3 THEN p.lease ELSE $4 END) - $5) * 1000 AS begun, \
         MIN(p.created) AS first FROM publishes p LEFT JOIN checking_turns t ON t.login = p.login \
         WHERE p.state = 'checking' GROUP BY p.login) AS accounts \
         WHERE waiting > 0 AND (busy = 0 OR $6 = 0) \
         ORDER BY busy, CASE WHEN turn > begun THEN turn ELSE begun END, first, login LIMIT $7",
    )
    .bind(now)
    .bind(now)
    .bind(now)
    .bind(now)
    .bind(HEAD_START)
    .bind(i64::from(spare))
    .bind(LOOKED_AT)
    .fetch_all(rows)
    .await?;
    found.iter().map(|row| Ok(Account { login: row.try_get("login")?, turn: row.try_get("turn")? })).collect()
}

/// Leases the oldest publish of an account, unless the account has had a turn meanwhile: another replica counted as this one did.
async fn lease(rows: &AnyPool, account: &Account, now: i64) -> Result<Option<String>, Failure> {
    let mut step = rows.begin().await?;
    if !take_turn(&mut step, account, now).await? {
        return Ok(None);
    }
    let leased = sqlx::query(
        "UPDATE publishes SET lease = $1 WHERE id = (SELECT id FROM publishes WHERE login = $2 AND state = 'checking' AND lease < $3 \
         ORDER BY created, id LIMIT 1) AND state = 'checking' AND lease < $4 RETURNING id",
    )
    .bind(now + LEASE)
    .bind(account.login.clone())
    .bind(now)
    .bind(now)
    .fetch_optional(&mut *step)
    .await?;
    let Some(row) = leased else { return Ok(None) };
    let id = row.try_get("id")?;
    step.commit().await?;
    Ok(Some(id))
}

/// Gives an account its turn, behind all that others had; says whether it has had none since it was seen to wait. A turn is its time in
/// milliseconds, or what comes next after the last one.
async fn take_turn(step: &mut Transaction<'static, Any>, account: &Account, now: i64) -> Result<bool, Failure> {
    let done = sqlx::query(
        "INSERT INTO checking_turns (login, turn) \
         SELECT $1, CASE WHEN COALESCE(MAX(turn), 0) < $2 THEN $3 ELSE MAX(turn) + 1 END FROM checking_turns WHERE 1 = 1 \
         ON CONFLICT (login) DO UPDATE SET turn = excluded.turn WHERE checking_turns.turn = $4",
    )
    .bind(account.login.clone())
    .bind(now * 1000)
    .bind(now * 1000)
    .bind(account.turn)
    .execute(&mut **step)
    .await?;
    Ok(done.rows_affected() == 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    async fn database() -> (tempfile::TempDir, AnyPool) {
        let folder = tempfile::tempdir().unwrap();
        let rows = crate::database::open(None, folder.path()).await.unwrap();
        (folder, rows)
    }

    async fn waits(rows: &AnyPool, login: &str, ids: impl IntoIterator<Item = String>, now: i64) {
        for id in ids {
            sqlx::query("INSERT INTO publishes (id, login, dry_run, state, created, lease, result) VALUES ($1, $2, 0, 'checking', $3, $4, '')")
                .bind(id)
                .bind(login.to_owned())
                .bind(now)
                .bind(waiting_since(now))
                .execute(rows)
                .await
                .unwrap();
        }
    }

    async fn ends(rows: &AnyPool, id: &str) {
        let end = sqlx::query("UPDATE publishes SET state = 'published', lease = -1 WHERE id = $1").bind(id.to_owned());
        end.execute(rows).await.unwrap();
    }

    fn numbered(login: &str, most: usize) -> Vec<String> {
        (0..most).map(|number| format!("{login}{number:03}")).collect()
    }

    /// Who comes late with one publish does not wait for the thousand of another account, on one place as on many.
    #[tokio::test]
    async fn accounts_take_turns_however_much_each_has() {
        let (_folder, rows) = database().await;
        waits(&rows, "eve", numbered("eve", 200), 1).await;
        for expected in ["eve000", "eve001"] {
            let id = next(&rows, false, 100).await.unwrap().unwrap();
            assert_eq!(id, expected);
            ends(&rows, &id).await;
        }
        waits(&rows, "ada", numbered("ada", 2), 90).await;
        waits(&rows, "bob", numbered("bob", 1), 91).await;
        let mut order = Vec::new();
        for _ in 0..5 {
            let id = next(&rows, false, 100).await.unwrap().unwrap();
            ends(&rows, &id).await;
            order.push(id);
        }
        assert_eq!(order, ["ada000", "bob000", "eve002", "ada001", "eve003"]);
    }

    /// Who has fewer in work comes first; the spare place is for those who have none.
    #[tokio::test]
    async fn nobody_has_all_places_while_another_waits() {
        let (_folder, rows) = database().await;
        waits(&rows, "eve", numbered("eve", 9), 1).await;
        for _ in 0..3 {
            assert!(next(&rows, false, 100).await.unwrap().unwrap().starts_with("eve"));
        }
        assert_eq!(next(&rows, true, 100).await.unwrap(), None, "the spare place stays free");
        waits(&rows, "ada", numbered("ada", 3), 90).await;
        assert_eq!(next(&rows, true, 100).await.unwrap().as_deref(), Some("ada000"));
        assert_eq!(next(&rows, true, 100).await.unwrap(), None);
        // Of the next two places both are those of who has one in work, not of who has three.
        assert_eq!(next(&rows, false, 100).await.unwrap().as_deref(), Some("ada001"));
        assert_eq!(next(&rows, false, 100).await.unwrap().as_deref(), Some("ada002"));
        assert_eq!(next(&rows, false, 100).await.unwrap().as_deref(), Some("eve003"));
        // A lease that ran out is work that waits again.
        assert_eq!(next(&rows, true, 100 + LEASE + 1).await.unwrap().map(|id| id.len()), Some(6));
    }

    /// Two accounts that each have more to check than there are places may have all of them, and not the next one.
    #[tokio::test]
    async fn the_next_place_is_for_who_has_none() {
        let (_folder, rows) = database().await;
        waits(&rows, "eve", numbered("eve", 9), 1).await;
        assert!(next(&rows, false, 100).await.unwrap().unwrap().starts_with("eve"));
        let last = next(&rows, false, 100).await.unwrap().unwrap();
        waits(&rows, "mal", numbered("mal", 9), 2).await;
        assert_eq!(next(&rows, true, 100).await.unwrap().as_deref(), Some("mal000"));
        waits(&rows, "ada", numbered("ada", 1), 99).await;
        ends(&rows, &last).await;
        assert_eq!(next(&rows, false, 100).await.unwrap().as_deref(), Some("ada000"));
    }

    /// One place, a second for each publish, and each second another account that never had a turn, or none for long.
    #[tokio::test]
    async fn a_stream_of_accounts_keeps_nobody_waiting() {
        for accounts in [usize::MAX, 50] {
            let (_folder, rows) = database().await;
            waits(&rows, "old", numbered("old", 300), 1000).await;
            let mut served = 0;
            for second in 0..300 {
                let login = format!("new{}", second % accounts);
                let now = 1000 + i64::try_from(second).unwrap();
                waits(&rows, &login, [format!("{login}-{second}")], now).await;
                let id = next(&rows, false, now).await.unwrap().unwrap();
                served += usize::from(id.starts_with("old"));
                ends(&rows, &id).await;
            }
            assert!((5..=12).contains(&served), "{served} of 300");
        }
    }

    /// Two replicas that see the same account wait do not both take it for one that has nothing in work.
    #[tokio::test]
    async fn a_turn_is_taken_once() {
        let (_folder, rows) = database().await;
        waits(&rows, "eve", numbered("eve", 5), 1).await;
        let seen = waiting(&rows, true, 100).await.unwrap();
        let also_seen = waiting(&rows, true, 100).await.unwrap();
        assert_eq!(lease(&rows, &seen[0], 100).await.unwrap().as_deref(), Some("eve000"));
        assert_eq!(lease(&rows, &also_seen[0], 100).await.unwrap(), None);
        assert!(waiting(&rows, true, 100).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn the_spare_place_is_the_last_one() {
        let places = Places::new(1);
        let first = places.take().await.unwrap();
        let second = places.take().await.unwrap();
        assert!(!first.spare && second.spare);
        drop(first);
        places.better(&second).await;
        assert!(!places.take().await.unwrap().spare);
    }
}
