//! Accounts: logins, passwords, and the one-time codes that make the first of them.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use sqlx::{AnyPool, Row as _};

use crate::audit::{self, action::Action};
use crate::chance;
use crate::database;
use crate::failure::Failure;
use crate::mails::addresses::Asked;
use crate::organisations;

/// The shortest password, in bytes.
pub(crate) const SHORTEST_PASSWORD: usize = 10;

/// Longer ones only cost time.
const LONGEST_PASSWORD: usize = 256;

/// How long the code of a first start is good for, in seconds.
const CODE_LIFE: i64 = 7 * 86_400;

/// Why an account cannot be made.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The login is not one.
    Login,
    /// The password is too short or too long.
    Password,
    /// The login is taken.
    Taken,
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Whether a text may be a login: it stands in log lines and URLs.
pub(crate) fn is_login(text: &str) -> bool {
    (2..=39).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Whether a text may be a password.
pub(crate) fn is_password(text: &str) -> bool {
    (SHORTEST_PASSWORD..=LONGEST_PASSWORD).contains(&text.len())
}

async fn hashed(password: String) -> Result<String, Failure> {
    let hash = tokio::task::spawn_blocking(move || {
        Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string())
    });
    hash.await?.map_err(|error| Failure::new(format!("password hash: {error}")))
}

/// Gives an account another password, and ends what was begun with the one before.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn set_password(
    rows: &mut sqlx::AnyConnection,
    login: &str,
    password: String,
    session: &str,
) -> Result<(), Failure> {
    let hash = hashed(password).await?;
    sqlx::query("UPDATE accounts SET password = $1 WHERE login = $2")
        .bind(hash)
        .bind(login.to_owned())
        .execute(&mut *rows)
        .await?;
    renew(rows, login, session).await
}

/// Ends all tokens of an account, sessions too.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn end_tokens(rows: &mut sqlx::AnyConnection, login: &str) -> Result<(), Failure> {
    sqlx::query("DELETE FROM tokens WHERE login = $1").bind(login.to_owned()).execute(rows).await?;
    Ok(())
}

/// Begins another generation of what an account signs in with, after a change of its password or of its second factor: whatever was begun
/// before ends, which is all sessions but the one that made the change, sign-ins that wait for a code, which name the generation, and a
/// second factor that waits to be confirmed, whose secret somebody else may know.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn renew(rows: &mut sqlx::AnyConnection, login: &str, session: &str) -> Result<(), Failure> {
    sqlx::query("UPDATE accounts SET generation = generation + 1 WHERE login = $1")
        .bind(login.to_owned())
        .execute(&mut *rows)
        .await?;
    sqlx::query("DELETE FROM second_factors WHERE login = $1 AND confirmed = 0")
        .bind(login.to_owned())
        .execute(&mut *rows)
        .await?;
    sqlx::query("DELETE FROM tokens WHERE login = $1 AND session = 1 AND id <> $2")
        .bind(login.to_owned())
        .bind(session.to_owned())
        .execute(rows)
        .await?;
    Ok(())
}

/// Holds an account as it is until the transaction ends, so that what begins with the password that was shown and a change of it come one
/// after the other; says whether it is open and still of that generation. This must be the transaction's first statement.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn hold(rows: &mut sqlx::AnyConnection, login: &str, generation: i64) -> Result<bool, Failure> {
    let held = sqlx::query(
        "UPDATE accounts SET generation = generation WHERE login = $1 AND generation = $2 AND disabled = 0",
    )
    .bind(login.to_owned())
    .bind(generation)
    .execute(rows)
    .await?;
    Ok(held.rows_affected() == 1)
}

/// The generation of what an account signs in with; `None` where it is closed, or there is none.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn generation(rows: &AnyPool, login: &str) -> Result<Option<i64>, Failure> {
    let found = sqlx::query("SELECT generation FROM accounts WHERE login = $1 AND disabled = 0")
        .bind(login.to_owned())
        .fetch_optional(rows)
        .await?;
    Ok(found.map(|row| row.try_get("generation")).transpose()?)
}

/// An account that is to be made.
pub(crate) struct New<'a> {
    pub(crate) login: &'a str,
    pub(crate) password: String,
    pub(crate) administrator: bool,
    /// How, as the audit log says it.
    pub(crate) made: Action,
    /// Where mails go, once that is confirmed.
    pub(crate) email: Option<Asked>,
}

/// Makes an account.
///
/// # Errors
/// See [`Refused`].
pub(crate) async fn create(
    rows: &AnyPool,
    New { login, password, administrator, made, email }: New<'_>,
) -> Result<(), Refused> {
    if !is_login(login) {
        return Err(Refused::Login);
    }
    if !is_password(&password) {
        return Err(Refused::Password);
    }
    let hash = hashed(password).await?;
    // In a turn, so that no organisation takes the name meanwhile.
    let mut turn = database::turn(rows).await?;
    if organisations::exists(&mut turn, login).await? {
        return Err(Refused::Taken);
    }
    let done = sqlx::query(
        "INSERT INTO accounts (login, password, email, administrator, disabled, created) VALUES ($1, $2, '', $3, 0, $4) ON CONFLICT (login) DO NOTHING",
    )
    .bind(login.to_owned())
    .bind(hash)
    .bind(i64::from(administrator))
    .bind(chance::now()?)
    .execute(&mut *turn)
    .await?;
    if done.rows_affected() == 0 {
        return Err(Refused::Taken);
    }
    audit::note(&mut turn, login, made, login).await?;
    if let Some(email) = email {
        email.write(&mut turn, login).await?;
    }
    Ok(turn.commit().await?)
}

/// The generation of an open account whose password this is; `None` for a wrong one. An unknown login takes as long as a wrong password.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn knows(rows: &AnyPool, login: &str, password: String) -> Result<Option<i64>, Failure> {
    let found = sqlx::query("SELECT password, generation FROM accounts WHERE login = $1 AND disabled = 0")
        .bind(login.to_owned())
        .fetch_optional(rows)
        .await?;
    let hash = found.as_ref().map(|row| row.try_get::<String, _>("password")).transpose()?;
    let generation = found.map(|row| row.try_get("generation")).transpose()?;
    if password.len() > LONGEST_PASSWORD {
        return Ok(None);
    }
    let right = tokio::task::spawn_blocking(move || match hash {
        Some(hash) => Argon2::default().verify_password(password.as_bytes(), hash.as_str()).is_ok(),
        None => {
            let _ = Argon2::default().hash_password(password.as_bytes());
            false
        }
    })
    .await?;
    Ok(generation.filter(|_| right))
}

/// A one-time code for the first account, an administrator's; `None` when there are accounts.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn first_code(rows: &AnyPool) -> Result<Option<String>, Failure> {
    let count: i64 = sqlx::query("SELECT COUNT(*) AS n FROM accounts").fetch_one(rows).await?.try_get("n")?;
    if count > 0 {
        return Ok(None);
    }
    // Those of other replicas, which print theirs at the same time, stay good: the first that is used ends all.
    let code = chance::secret("")?;
    sqlx::query("INSERT INTO setup_codes (hash, administrator, expires) VALUES ($1, 1, $2)")
        .bind(chance::stored(&code))
        .bind(chance::now()? + CODE_LIFE)
        .execute(rows)
        .await?;
    Ok(Some(code))
}

/// Uses up a one-time code, and with it all others; says whether its account is an administrator's, and `None` for a code that is not good.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn use_code(rows: &AnyPool, code: &str) -> Result<Option<bool>, Failure> {
    // In a turn, so that of two codes that are used at once one is too late.
    let mut turn = database::turn(rows).await?;
    let row = sqlx::query("DELETE FROM setup_codes WHERE hash = $1 AND expires > $2 RETURNING administrator")
        .bind(chance::stored(code))
        .bind(chance::now()?)
        .fetch_optional(&mut *turn)
        .await?;
    if row.is_some() {
        sqlx::query("DELETE FROM setup_codes").execute(&mut *turn).await?;
    }
    turn.commit().await?;
    Ok(match row {
        Some(row) => Some(row.try_get::<i64, _>("administrator")? == 1),
        None => None,
    })
}

/// Closes an account; its tokens end with it.
///
/// # Errors
/// There is no such account, it is the last administrator's, or the database cannot be written.
pub(crate) async fn disable(rows: &AnyPool, login: &str) -> Result<(), Failure> {
    // In a turn, so that two administrators who close each other do not both succeed.
    let mut turn = database::turn(rows).await?;
    let done = sqlx::query("UPDATE accounts SET disabled = 1 WHERE login = $1")
        .bind(login.to_owned())
        .execute(&mut *turn)
        .await?;
    if done.rows_affected() == 0 {
        return Err(Failure::new(format!("there is no account `{login}`")));
    }
    let closed: i64 = sqlx::query("SELECT administrator FROM accounts WHERE login = $1")
        .bind(login.to_owned())
        .fetch_one(&mut *turn)
        .await?
        .try_get("administrator")?;
    let left: i64 = sqlx::query("SELECT COUNT(*) AS n FROM accounts WHERE administrator = 1 AND disabled = 0")
        .fetch_one(&mut *turn)
        .await?
        .try_get("n")?;
    if closed == 1 && left == 0 {
        return Err(Failure::new(format!(
            "`{login}` is the last administrator; make another one first with `exo-registry user add LOGIN --administrator`"
        )));
    }
    end_tokens(&mut turn, login).await?;
    audit::note(&mut turn, login, Action::AccountDisable, login).await?;
    Ok(turn.commit().await?)
}
