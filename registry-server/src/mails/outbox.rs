//! The rows of what waits to be told. A row names the entry of the audit log that it tells of, so that its text is made when it is sent; it
//! goes when it was.
//!
//! What waits for one account at one address goes in one letter, so that a publish of many packs is one, and an address gets a few letters in
//! a while and no more, so that nobody who makes others owners floods them. What is in a letter stays together: one that is sent twice,
//! because a server died between the two, is the same both times, by its id and its text.

use sqlx::{AnyConnection, AnyPool, Row as _};

use super::addresses::LINK_LIFE;
use super::audience::Audience;
use crate::chance;
use crate::failure::Failure;
use crate::limits;

/// How long whoever takes a letter has for it, in seconds, before another takes it.
pub(super) const LEASE: i64 = 120;

/// How long it is tried to send a mail, in seconds.
const LIFE: i64 = 4 * 86_400;

/// The first pause after a failure and the longest, in seconds; each is twice the one before.
const PAUSE: i64 = 60;
const LONGEST_PAUSE: i64 = 6 * 3600;

/// The longest reason that is kept, in characters.
const LONGEST_FAILURE: usize = 300;

/// What one letter tells of at most.
const LARGEST: i64 = 100;

/// Letters with notices to one address, in the minutes for which they are counted; more waits for the next of these.
const MOST: i64 = 6;
const MINUTES: i64 = 9;

/// A letter that was taken out to be sent.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    /// Its id, the same each time it is sent.
    pub(super) letter: String,
    pub(super) address: String,
    pub(super) login: String,
    /// When the first was done of what it tells.
    pub(super) at: i64,
    tries: i64,
    pub(super) content: Content,
}

/// What a letter is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// Entries of the audit log, in their order.
    Notices(Vec<String>),
    /// The address is to be confirmed: the code of the link, sealed.
    Link(String),
}

/// What to do next.
#[derive(Debug, Clone)]
pub(super) enum Next {
    Send(Taken),
    /// Another server took what was due, or its address has had enough for now.
    Look,
    Nothing,
}

#[cfg(test)]
impl Taken {
    /// A letter to an address, of the seventh second of all.
    pub(super) fn example(address: &str) -> Self {
        let (letter, login, content) =
            ("00000000007000000000abc".to_owned(), "ada".to_owned(), Content::Notices(Vec::new()));
        Self { letter, address: address.to_owned(), login, at: 7, tries: 1, content }
    }
}

/// Puts a notice in for each address that an entry is told to. One address that two accounts have gets one.
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
        "INSERT INTO outbox (entry, address, login, at, due, tries, failure, secret, letter) SELECT $1, confirmed_email, login, CAST($2 AS BIGINT), \
         CAST($3 AS BIGINT), 0, '', '', '' {} ON CONFLICT (entry, address) DO NOTHING",
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
    sqlx::query("INSERT INTO outbox (entry, address, login, at, due, tries, failure, secret, letter) VALUES ($1, $2, $3, $4, $5, 0, '', $6, '')")
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

/// Takes out what has waited longest for its turn, if anything is due. Of two servers that ask at once, one gets it.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn take(rows: &AnyPool, now: i64) -> Result<Next, Failure> {
    // Most of the time nothing is, and looking does not keep others from writing.
    let due = sqlx::query(
        "SELECT entry, address, login, secret, letter FROM outbox WHERE due <= $1 ORDER BY due, entry, address LIMIT 1",
    );
    let Some(first) = due.bind(now).fetch_optional(rows).await? else { return Ok(Next::Nothing) };
    let (address, letter): (String, String) = (first.try_get("address")?, first.try_get("letter")?);
    let is_link = !first.try_get::<String, _>("secret")?.is_empty();
    if letter.is_empty() && !is_link && has_enough(rows, &address).await? {
        postpone(rows, &address, now).await?;
        return Ok(Next::Look);
    }
    let letter = if letter.is_empty() { address_letter(rows, &first, is_link, now).await? } else { letter };
    let taken = sqlx::query(
        "UPDATE outbox SET due = $1, tries = tries + 1 WHERE letter = $2 AND address = $3 AND due <= $4 RETURNING entry, login, at, tries, secret",
    )
    .bind(now + LEASE)
    .bind(letter.clone())
    .bind(address.clone())
    .bind(now)
    .fetch_all(rows)
    .await?;
    match read(letter, address, &taken)? {
        Some(taken) => Ok(Next::Send(taken)),
        None => Ok(Next::Look),
    }
}

/// Puts what waits for an account at an address into a new letter; what another server put into one meanwhile is left there. Gives the letter's id.
async fn address_letter(rows: &AnyPool, first: &sqlx::any::AnyRow, is_link: bool, now: i64) -> Result<String, Failure> {
    let letter = chance::id_in_order()?;
    let (address, login): (String, String) = (first.try_get("address")?, first.try_get("login")?);
    let entry: String = if is_link { first.try_get("entry")? } else { String::new() };
    sqlx::query(
        "UPDATE outbox SET letter = $1 WHERE letter = '' AND address = $2 AND login = $3 AND due <= $4 AND entry IN (SELECT entry FROM outbox \
         WHERE letter = '' AND address = $5 AND login = $6 AND due <= $7 AND (secret = '' AND $8 = '' OR entry = $9) ORDER BY entry LIMIT $10)",
    )
    .bind(letter.clone())
    .bind(address.clone())
    .bind(login.clone())
    .bind(now)
    .bind(address)
    .bind(login)
    .bind(now)
    .bind(entry.clone())
    .bind(entry)
    .bind(LARGEST)
    .execute(rows)
    .await?;
    Ok(letter)
}

/// A letter from its rows; `None` where there are none.
fn read(letter: String, address: String, rows: &[sqlx::any::AnyRow]) -> Result<Option<Taken>, Failure> {
    let Some(row) = rows.first() else { return Ok(None) };
    let mut entries = Vec::with_capacity(rows.len());
    let mut at: i64 = row.try_get("at")?;
    for row in rows {
        entries.push(row.try_get("entry")?);
        at = at.min(row.try_get("at")?);
    }
    entries.sort();
    let secret: String = row.try_get("secret")?;
    let content = if secret.is_empty() { Content::Notices(entries) } else { Content::Link(secret) };
    Ok(Some(Taken { letter, address, login: row.try_get("login")?, at, tries: row.try_get("tries")?, content }))
}

/// As what letters to an address are counted.
fn counted(address: &str) -> String {
    format!("letters to {address}")
}

/// Whether an address got as many letters lately as it gets.
async fn has_enough(rows: &AnyPool, address: &str) -> Result<bool, Failure> {
    Ok(limits::since(rows, &counted(address), MINUTES).await? >= MOST)
}

/// Has what waits for an address wait longer; it comes together meanwhile.
async fn postpone(rows: &AnyPool, address: &str, now: i64) -> Result<(), Failure> {
    sqlx::query("UPDATE outbox SET due = $1 WHERE address = $2 AND letter = '' AND secret = '' AND due <= $3")
        .bind(now + PAUSE)
        .bind(address.to_owned())
        .bind(now)
        .execute(rows)
        .await?;
    Ok(())
}

/// Forgets a letter that was sent, and counts it where its address gets so many.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn sent(rows: &AnyPool, mail: &Taken) -> Result<(), Failure> {
    forget(rows, mail).await?;
    if matches!(mail.content, Content::Notices(_)) {
        limits::count(rows, &counted(&mail.address)).await?;
    }
    Ok(())
}

/// Forgets a letter.
async fn forget(rows: &AnyPool, mail: &Taken) -> Result<(), Failure> {
    sqlx::query("DELETE FROM outbox WHERE letter = $1 AND address = $2")
        .bind(mail.letter.clone())
        .bind(mail.address.clone())
        .execute(rows)
        .await?;
    Ok(())
}

/// How long a letter waits after so many tries, in seconds.
fn pause(tries: i64) -> i64 {
    let doublings = u32::try_from((tries - 1).clamp(0, 20)).unwrap_or(0);
    (PAUSE << doublings).min(LONGEST_PAUSE)
}

/// Puts a letter back that could not be sent, or gives it up; says whether it is still there.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn put_back(rows: &AnyPool, mail: &Taken, now: i64, why: &str) -> Result<bool, Failure> {
    let life = match mail.content {
        Content::Notices(_) => LIFE,
        // It would lead nowhere by then.
        Content::Link(_) => LINK_LIFE,
    };
    if now > mail.at + life {
        forget(rows, mail).await?;
        return Ok(false);
    }
    let why: String =
        why.chars().map(|char| if char.is_control() { ' ' } else { char }).take(LONGEST_FAILURE).collect();
    sqlx::query("UPDATE outbox SET due = $1, failure = $2 WHERE letter = $3 AND address = $4")
        .bind(now + pause(mail.tries))
        .bind(why)
        .bind(mail.letter.clone())
        .bind(mail.address.clone())
        .execute(rows)
        .await?;
    Ok(true)
}

/// How the outbox stands.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    /// How many notices and links wait.
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
