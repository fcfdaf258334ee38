//! Work of the background that one replica does at a time: it has the lease, and another may take it once it has run out.

use sqlx::AnyPool;

use crate::failure::Failure;

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
