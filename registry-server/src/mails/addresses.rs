//! The addresses of accounts: given by their owners, and told of anything only once confirmed by a link that was sent there.

use lettre::Address;
use serde::Serialize;
use sqlx::{AnyConnection, AnyPool, Row as _};

use super::audience::Audience;
use super::outbox;
use crate::access::Caller;
use crate::audit::Entry;
use crate::audit::action::Action;
use crate::chance;
use crate::client_address::ClientAddress;
use crate::database;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::limits::{self, Kind};
use crate::sealing::Sealer;
use crate::second_factor;
use crate::service::Service;
use crate::sign_in;

/// The longest address, in bytes, as mail servers have it.
const LONGEST: usize = 254;

/// How long a link is good for, in seconds.
pub(crate) const LINK_LIFE: i64 = 86_400;

/// Links in a day: to one address, whoever asks for them, so that nobody is flooded; and for one account.
const MOST_TO_ADDRESS: i64 = 5;
const MOST_OF_ACCOUNT: i64 = 10;

/// Links that are followed in a minute, from one address of the network.
const FOLLOWED: i64 = 30;

/// What a sealed link is for.
const PURPOSE: &str = "link that confirms an address";

/// The address of an account.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Known {
    /// The one that was given last; empty where none was.
    pub(crate) email: String,
    /// The one that mails go to.
    pub(crate) confirmed: String,
}

/// The address of an account.
///
/// # Errors
/// There is no such account.
pub(crate) async fn of(rows: &mut AnyConnection, login: &str) -> Result<Known, Failure> {
    let row = sqlx::query("SELECT COALESCE(email, '') AS email, confirmed_email FROM accounts WHERE login = $1")
        .bind(login.to_owned())
        .fetch_one(rows)
        .await?;
    Ok(Known { email: row.try_get("email")?, confirmed: row.try_get("confirmed_email")? })
}

/// An address as it is kept.
///
/// # Errors
/// It is none that mail is sent to.
pub(crate) fn read(text: &str) -> Result<String, ApiError> {
    let text = text.trim();
    let sound = text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !sound || text.parse::<Address>().is_err() {
        return Err(ApiError::malformed("the e-mail address is none").hint("give it as in `ada@example.org`"));
    }
    Ok(text.to_owned())
}

/// An address with the code that will confirm it.
pub(crate) struct Asked {
    email: String,
    hash: String,
    sealed: String,
}

impl Asked {
    /// A new code for an address.
    ///
    /// # Errors
    /// There is no randomness.
    pub(crate) fn new(sealer: &Sealer, email: String) -> Result<Self, Failure> {
        let code = chance::secret("")?;
        let sealed = sealer.seal(PURPOSE, code.as_bytes())?;
        Ok(Self { email, hash: chance::stored(&code), sealed })
    }

    /// Gives an account the address, and puts the link into the outbox.
    ///
    /// # Errors
    /// The database cannot be written.
    pub(crate) async fn write(self, rows: &mut AnyConnection, login: &str) -> Result<(), Failure> {
        let now = chance::now()?;
        set(rows, login, &self.email).await?;
        sqlx::query("INSERT INTO email_confirmations (hash, login, email, at, expires) VALUES ($1, $2, $3, $4, $5)")
            .bind(self.hash)
            .bind(login.to_owned())
            .bind(self.email.clone())
            .bind(now)
            .bind(now + LINK_LIFE)
            .execute(&mut *rows)
            .await?;
        let entry = Entry::new(login, Action::Email, login).write(rows).await?;
        outbox::put_link(rows, (&entry, now), (login, &self.email), self.sealed).await
    }
}

/// The code of a link.
///
/// # Errors
/// It was sealed with another key.
pub(super) fn code(sealer: &Sealer, sealed: &str) -> Result<String, Failure> {
    let code = sealer.unseal(PURPOSE, sealed).and_then(|code| String::from_utf8(code).ok());
    code.ok_or_else(|| Failure::new("the link of a mail was sealed with another key"))
}

async fn set(rows: &mut AnyConnection, login: &str, email: &str) -> Result<(), Failure> {
    sqlx::query("UPDATE accounts SET email = $1 WHERE login = $2")
        .bind(email.to_owned())
        .bind(login.to_owned())
        .execute(rows)
        .await?;
    Ok(())
}

/// Refuses to send more links in a day than anybody needs.
///
/// # Errors
/// There were that many, to the address or for the account.
pub(crate) async fn must_not_flood(rows: &AnyPool, login: &str, email: &str) -> Result<(), ApiError> {
    for (statement, of, most) in [
        (
            "SELECT COUNT(*) AS n FROM email_confirmations WHERE LOWER(email) = LOWER($1) AND at > $2",
            email,
            MOST_TO_ADDRESS,
        ),
        ("SELECT COUNT(*) AS n FROM email_confirmations WHERE login = $1 AND at > $2", login, MOST_OF_ACCOUNT),
    ] {
        let row = sqlx::query(statement).bind(of.to_owned()).bind(chance::now()? - LINK_LIFE).fetch_one(rows).await?;
        if row.try_get::<i64, _>("n")? >= most {
            return Err(ApiError::too_many("so many links were sent lately that no more are")
                .hint("look for the mails among those taken for spam, or try again tomorrow"));
        }
    }
    Ok(())
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    /// A link was sent, and the address waits for it to be followed.
    Asked,
    /// It is confirmed already.
    Kept,
    /// There is none any more.
    Removed,
}

/// Gives the caller's account another address, which counts once it is confirmed; or takes it away, where the new one is empty.
///
/// # Errors
/// The caller is a token, the password is wrong, a code of the second factor is needed, it is no address, or links were asked for too often.
pub(crate) async fn change(
    service: &Service,
    from: &ClientAddress,
    caller: &Caller,
    password: String,
    email: &str,
) -> Result<Became, ApiError> {
    caller.must_be_session()?;
    let email = if email.trim().is_empty() { None } else { Some(read(email)?) };
    let registry = &service.registry;
    limits::of_account(&registry.rows, Kind::Addresses, &caller.login).await?;
    if let Some(email) = &email {
        must_not_flood(&registry.rows, &caller.login, email).await?;
    }
    sign_in::check_own_password(service, from, caller, password).await?;
    second_factor::prove(service, caller).await?;
    let mut turn = database::turn(&registry.rows).await?;
    caller.must_still_be_there(&mut turn).await?;
    let known = of(&mut turn, &caller.login).await?;
    let became = match email {
        None if known.email.is_empty() && known.confirmed.is_empty() => Became::Removed,
        None => {
            remove(&mut turn, &caller.login).await?;
            Became::Removed
        }
        // It stays what it is, and another one that waited does no longer.
        Some(email) if email == known.confirmed => {
            end_links(&mut turn, &caller.login).await?;
            set(&mut turn, &caller.login, &email).await?;
            Became::Kept
        }
        Some(email) => {
            end_links(&mut turn, &caller.login).await?;
            Asked::new(&registry.sealer, email)?.write(&mut turn, &caller.login).await?;
            Became::Asked
        }
    };
    turn.commit().await?;
    Ok(became)
}

/// Takes the address away; it is told so.
async fn remove(rows: &mut AnyConnection, login: &str) -> Result<(), Failure> {
    Entry::new(login, Action::EmailRemove, login).write(rows).await?;
    end_links(rows, login).await?;
    sqlx::query("UPDATE accounts SET email = '', confirmed_email = '' WHERE login = $1")
        .bind(login.to_owned())
        .execute(rows)
        .await?;
    Ok(())
}

/// Ends the links of an account that wait. They stay for a day to be counted.
async fn end_links(rows: &mut AnyConnection, login: &str) -> Result<(), Failure> {
    sqlx::query("UPDATE email_confirmations SET expires = 0 WHERE login = $1")
        .bind(login.to_owned())
        .execute(rows)
        .await?;
    Ok(())
}

/// Confirms the address that a link was sent to; gives the account. The address before is told too, for the last time.
///
/// # Errors
/// The code is none, too old, or was used, or links were followed too often.
pub(crate) async fn confirm(service: &Service, from: &ClientAddress, code: &str) -> Result<String, ApiError> {
    limits::limit(&service.registry.rows, &format!("links from {from}"), FOLLOWED).await?;
    let now = chance::now()?;
    let mut rows = service.registry.rows.begin().await?;
    let link = sqlx::query(
        "UPDATE email_confirmations SET expires = 0 WHERE hash = $1 AND expires > $2 RETURNING login, email",
    )
    .bind(chance::stored(code.trim()))
    .bind(now)
    .fetch_optional(&mut *rows)
    .await?;
    let link = link.ok_or_else(no_link)?;
    let (login, email): (String, String) = (link.try_get("login")?, link.try_get("email")?);
    let entry = Entry::new(&login, Action::EmailConfirmed, &login).write(&mut rows).await?;
    let done = sqlx::query("UPDATE accounts SET confirmed_email = $1 WHERE login = $2 AND disabled = 0")
        .bind(email)
        .bind(login.clone())
        .execute(&mut *rows)
        .await?;
    if done.rows_affected() == 0 {
        return Err(no_link());
    }
    outbox::put(&mut rows, &entry, now, &Audience::Account(&login)).await?;
    rows.commit().await?;
    Ok(login)
}

fn no_link() -> ApiError {
    ApiError::forbidden("the link is not good, is older than a day, or was used")
        .hint("ask for another one on the page of your account")
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn addresses() {
        for (text, good) in [
            ("ada@example.org", true),
            (" ada+packs@example.org ", true),
            ("ada", false),
            ("ada@", false),
            ("ada@exa mple.org", false),
            ("ada@example.org\r\nBcc: eve@example.org", false),
            ("Ada <ada@example.org>", false),
            ("ada@example.org,eve@example.org", false),
        ] {
            assert_eq!(read(text).is_ok(), good, "{text:?}");
        }
    }
}
