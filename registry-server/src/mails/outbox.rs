//! The rows of mails that wait. A row names the entry of the audit log that it tells of, so that its text is made when it is sent; it goes
//! when it was. A mail that is sent twice, because a server died between the two, has the same id both times.

use sqlx::{AnyConnection, AnyPool, Row as _};

use super::audience::Audience;
use crate::failure::Failure;

/// How long whoever takes a mail has for it, in seconds, before another takes it.
pub(super) const LEASE: i64 = 120;

/// How long it is tried to send a mail, in seconds.
const LIFE: i64 = 4 * 86_400;

/// The first pause after a failure and the longest, in seconds; each is twice the one before.
const PAUSE: i64 = 60;
const LONGEST_PAUSE: i64 = 6 * 3600;

/// The longest reason that is kept, in characters.
const LONGEST_FAILURE: usize = 300;

/// A mail that was taken out to be sent.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    /// The entry of the audit log.
    pub(super) entry: String,
    pub(super) address: String,
    pub(super) login: String,
    pub(super) at: i64,
    tries: i64,
    /// What confirms the address, sealed; empty in mails that tell of something.
    pub(super) secret: String,
}

#[cfg(test)]
impl Taken {
    /// A mail to an address, of the seventh second of all.
    pub(super) fn example(address: &str) -> Self {
        let (entry, login) = ("00000000007000000000abc".to_owned(), "ada".to_owned());
        Self { entry, address: address.to_owned(), login, at: 7, tries: 1, secret: String::new() }
    }
}

/// Puts a mail in for each address that an entry is told to. One address that two accounts have gets one.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn put(
    rows: &mut AnyConnection,
    entry: &str,
    at: i64,
    audience: &Audience<'_>,
) -> Result<(), Failure> {
    let statement = format!(
        "INSERT INTO outbox (entry, address, login, at, due, tries, failure, secret) SELECT $1, confirmed_email, login, CAST($2 AS BIGINT), \
         CAST($3 AS BIGINT), 0, '', '' {} ON CONFLICT (entry, address) DO NOTHING",
        audience.accounts(4)
    );
    let mut query = sqlx::query(sqlx::AssertSqlSafe(statement)).bind(entry.to_owned()).bind(at).bind(at);
    for name in audience.names() {
        query = query.bind(name);
    }
    query.execute(rows).await?;
    Ok(())
}

/// Puts the mail in that has an address confirmed.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn put_link(
    rows: &mut AnyConnection,
    (entry, at): (&str, i64),
    (login, address): (&str, &str),
    sealed: String,
) -> Result<(), Failure> {
    sqlx::query("INSERT INTO outbox (entry, address, login, at, due, tries, failure, secret) VALUES ($1, $2, $3, $4, $5, 0, '', $6)")
        .bind(entry.to_owned())
        .bind(address.to_owned())
        .bind(login.to_owned())
        .bind(at)
        .bind(at)
        .bind(sealed)
        .execute(rows)
        .await?;
    Ok(())
}

/// Takes out the mail that has waited longest for its turn, if one is due. Of two servers that ask at once, one gets it.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn take(rows: &AnyPool, now: i64) -> Result<Option<Taken>, Failure> {
    // Most of the time nothing is, and looking does not keep others from writing.
    let due = sqlx::query("SELECT entry FROM outbox WHERE due <= $1 LIMIT 1").bind(now).fetch_optional(rows).await?;
    if due.is_none() {
        return Ok(None);
    }
    let taken = sqlx::query(
        "UPDATE outbox SET due = $1, tries = tries + 1 WHERE (entry, address) IN (SELECT entry, address FROM outbox WHERE due <= $2 \
         ORDER BY due, entry, address LIMIT 1) AND due <= $3 RETURNING entry, address, login, at, tries, secret",
    )
    .bind(now + LEASE)
    .bind(now)
    .bind(now)
    .fetch_optional(rows)
    .await?;
    let Some(row) = taken else { return Ok(None) };
    Ok(Some(Taken {
        entry: row.try_get("entry")?,
        address: row.try_get("address")?,
        login: row.try_get("login")?,
        at: row.try_get("at")?,
        tries: row.try_get("tries")?,
        secret: row.try_get("secret")?,
    }))
}

/// Forgets a mail.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn forget(rows: &AnyPool, mail: &Taken) -> Result<(), Failure> {
    sqlx::query("DELETE FROM outbox WHERE entry = $1 AND address = $2")
        .bind(mail.entry.clone())
        .bind(mail.address.clone())
        .execute(rows)
        .await?;
    Ok(())
}

/// How long a mail waits after so many tries, in seconds.
fn pause(tries: i64) -> i64 {
    let doublings = u32::try_from((tries - 1).clamp(0, 20)).unwrap_or(0);
    (PAUSE << doublings).min(LONGEST_PAUSE)
}

/// Puts a mail back that could not be sent, or gives it up; says whether it is still there.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn put_back(rows: &AnyPool, mail: &Taken, now: i64, why: &str) -> Result<bool, Failure> {
    if now > mail.at + LIFE {
        forget(rows, mail).await?;
        return Ok(false);
    }
    let why: String =
        why.chars().map(|char| if char.is_control() { ' ' } else { char }).take(LONGEST_FAILURE).collect();
    sqlx::query("UPDATE outbox SET due = $1, failure = $2 WHERE entry = $3 AND address = $4")
        .bind(now + pause(mail.tries))
        .bind(why)
        .bind(mail.entry.clone())
        .bind(mail.address.clone())
        .execute(rows)
        .await?;
    Ok(true)
}

/// How the outbox stands.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    /// How many mails wait.
    pub(crate) waiting: i64,
    /// Since when the first of them does.
    pub(crate) since: Option<i64>,
    /// Why one could not be sent, of those that wait.
    pub(crate) failure: Option<String>,
}

/// How the outbox stands.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn standing(rows: &AnyPool) -> Result<Standing, Failure> {
    let row = sqlx::query("SELECT COUNT(*) AS waiting, MIN(at) AS since FROM outbox").fetch_one(rows).await?;
    // The next try is farthest away where the last one was the latest, or nearly so.
    let failed = sqlx::query("SELECT failure FROM outbox WHERE failure <> '' ORDER BY due DESC LIMIT 1");
    let failed = failed.fetch_optional(rows).await?;
    Ok(Standing {
        waiting: row.try_get("waiting")?,
        since: row.try_get("since")?,
        failure: failed.map(|row| row.try_get("failure")).transpose()?,
    })
}
