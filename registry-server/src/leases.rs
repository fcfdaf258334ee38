//! Work of the background that one replica does at a time: it has the lease, and another may take it once it has run out.

use std::time::Duration;

use sqlx::AnyPool;

use crate::chance;
use crate::failure::Failure;

/// How often a lease is renewed while work goes on.
const RENEWAL: Duration = Duration::from_secs(2);

/// Takes a lease for so many seconds, or keeps one that is one's own; says whether nobody else has it.
pub(crate) async fn take(rows: &AnyPool, name: &str, seconds: i64, now: i64) -> Result<bool, Failure> {
    let done = sqlx::query("INSERT INTO leases (name, until) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET until = excluded.until WHERE leases.until <= $3")
        .bind(name.to_owned())
        .bind(now + seconds)
        .bind(now)
        .execute(rows)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives it back at once, so that a replica that is ended does not keep the others from it.
pub(crate) async fn give_back(rows: &AnyPool, name: &str) -> Result<(), Failure> {
    sqlx::query("UPDATE leases SET until = 0 WHERE name = $1").bind(name.to_owned()).execute(rows).await?;
    Ok(())
}

/// Does some work while the lease is held and renewed; nothing where another replica has it, or took it because this one was silent.
///
/// # Errors
/// That of the work, or the database refuses.
pub(crate) async fn hold<T>(
    rows: &AnyPool,
    (name, seconds): (&str, i64),
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<Option<T>, Failure> {
    let mut until = chance::now()? + seconds;
    if !take(rows, name, seconds, until - seconds).await? {
        return Ok(None);
    }
    let renewal = async {
        loop {
            tokio::time::sleep(RENEWAL).await;
            let next = chance::now().map_or(until, |now| now + seconds);
            match move_end(rows, name, until, next).await {
                Ok(true) => until = next,
                Ok(false) => return,
                Err(failure) => tracing::warn!(%failure, name, "a lease could not be renewed"),
            }
        }
    };
    let done = tokio::select! {
        done = work => done,
        () = renewal => return Ok(None),
    };
    move_end(rows, name, until, 0).await?;
    done.map(Some)
}

/// Gives a lease that is still one's own another end; whoever took it meanwhile has a later one.
async fn move_end(rows: &AnyPool, name: &str, from: i64, to: i64) -> Result<bool, Failure> {
    let done = sqlx::query("UPDATE leases SET until = $1 WHERE name = $2 AND until = $3");
    Ok(done.bind(to).bind(name.to_owned()).bind(from).execute(rows).await?.rows_affected() == 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lease_is_renewed_while_work_goes_on_and_given_back_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let rows = crate::database::open(None, folder.path()).await.unwrap();
        let long = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            // Longer than it was taken for, and still nobody else's.
            assert!(!take(&rows, "work", 3, chance::now()?).await?);
            Ok(7)
        };
        assert_eq!(hold(&rows, ("work", 3), long).await.unwrap(), Some(7));
        let another =
            hold(&rows, ("work", 3), async { Ok(hold(&rows, ("work", 3), async { Ok(()) }).await?.is_none()) });
        assert_eq!(another.await.unwrap(), Some(true));
        // Whoever was silent finds it taken, and stops.
        let silent = async {
            sqlx::query("UPDATE leases SET until = until + 100").execute(&rows).await?;
            tokio::time::sleep(Duration::from_secs(20)).await;
            Ok(())
        };
        assert_eq!(hold(&rows, ("work", 3), silent).await.unwrap(), None);
    }
}
