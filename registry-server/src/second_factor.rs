//! The second factor of an account: codes that change with time (TOTP, RFC 6238), and recovery codes for when the device is lost.
//!
//! The secret that codes are computed from has to be read back, so it is sealed ([`crate::sealing`]); recovery codes are random enough that a hash of them
//! is all that is stored. A code is good once: the step of the last one is kept, and nothing up to it is taken again.

use sqlx::{AnyPool, Row as _};
use totp_rs::{Builder, Secret, Totp};

use crate::access::{Caller, SESSION_LIFE};
use crate::accounts;
use crate::audit;
use crate::audit::action::Action;
use crate::chance;
use crate::database;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::registry::Registry;
use crate::service::Service;

/// Recovery codes of an account.
pub(crate) const RECOVERY_CODES: usize = 10;

/// How long after logging in nobody is asked for a code again, in seconds.
pub(crate) const FRESH: i64 = 600;

/// Wrong codes in a row at the door after which there is one try a minute, and after which there is one in a quarter of an hour. A code is
/// guessed with three chances in a million, by somebody who has the password. A session ends after as many as the first.
const PATIENCE: i64 = 5;
const NO_PATIENCE: i64 = 10;

/// What an authenticator has to be told.
#[derive(Debug)]
pub(crate) struct Enrolment {
    /// The secret as people type it: base32.
    pub(crate) secret: String,
    /// All of it as an `otpauth://` address.
    pub(crate) uri: String,
}

/// What an account has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Off,
    /// Begun, and not confirmed by a code.
    Begun,
    /// On, with so many recovery codes left.
    On {
        codes: i64,
    },
}

fn purpose(login: &str) -> String {
    format!("second factor of {login}")
}

/// The codes of a secret. SHA-1, six digits and thirty seconds are what every authenticator knows; of the steps beside the present one, each is taken, for
/// clocks that differ.
fn totp(registry: &Registry, login: &str, secret: Secret) -> Result<Totp, Failure> {
    let issuer = registry.origin.replace(':', "-");
    let builder = Builder::new().with_secret(secret).with_account_name(login).with_issuer(Some(issuer));
    builder.build().map_err(|error| Failure::new(format!("a second factor: {error}")))
}

/// The codes of a row.
fn unsealed(registry: &Registry, login: &str, sealed: &str) -> Result<Totp, Failure> {
    let secret = registry.sealer.unseal(&purpose(login), sealed);
    let secret = secret.ok_or_else(|| Failure::new(format!("the second factor of `{login}` cannot be unsealed")))?;
    totp(registry, login, Secret::from(secret))
}

/// What an account has.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn state(rows: &AnyPool, login: &str) -> Result<State, Failure> {
    let found = sqlx::query("SELECT confirmed, (SELECT COUNT(*) FROM recovery_codes c WHERE c.login = f.login) AS codes FROM second_factors f WHERE f.login = $1")
        .bind(login.to_owned())
        .fetch_optional(rows)
        .await?;
    Ok(match found {
        None => State::Off,
        Some(row) if row.try_get::<i64, _>("confirmed")? == 0 => State::Begun,
        Some(row) => State::On { codes: row.try_get("codes")? },
    })
}

/// Whether an account logs in with a code.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn is_on(rows: &AnyPool, login: &str) -> Result<bool, Failure> {
    Ok(matches!(state(rows, login).await?, State::On { .. }))
}

/// Makes a secret that waits to be confirmed, in the place of one that waited before.
///
/// # Errors
/// The account has a second factor.
pub(crate) async fn begin(registry: &Registry, caller: &Caller) -> Result<Enrolment, ApiError> {
    let login = caller.login.as_str();
    let secret: [u8; 20] = chance::bytes()?;
    let mut turn = database::turn(&registry.rows).await?;
    caller.must_still_be_there(&mut turn).await?;
    let done = sqlx::query("INSERT INTO second_factors (login, secret, confirmed, last_step, failures, blocked_until, created) VALUES ($1, $2, 0, 0, 0, 0, $3) ON CONFLICT (login) DO UPDATE SET secret = excluded.secret, created = excluded.created WHERE second_factors.confirmed = 0")
        .bind(login.to_owned())
        .bind(registry.sealer.seal(&purpose(login), &secret)?)
        .bind(chance::now()?)
        .execute(&mut *turn)
        .await?;
    if done.rows_affected() == 0 {
        return Err(is_on_already());
    }
    turn.commit().await?;
    enrolment(&totp(registry, login, Secret::from(secret.to_vec()))?)
}

fn is_on_already() -> ApiError {
    ApiError::conflict("the account has a second factor").hint("switch it off first")
}

fn enrolment(totp: &Totp) -> Result<Enrolment, ApiError> {
    let uri = totp.to_url().map_err(|error| Failure::new(format!("a second factor: {error}")))?;
    Ok(Enrolment { secret: totp.secret().to_base32(), uri: uri.to_string() })
}

/// The codes of what waits to be confirmed, and the secret as its row has it.
async fn waiting(registry: &Registry, login: &str) -> Result<(Totp, String), ApiError> {
    let found = sqlx::query("SELECT secret, confirmed FROM second_factors WHERE login = $1")
        .bind(login.to_owned())
        .fetch_optional(&registry.rows)
        .await?;
    let row = found.ok_or_else(|| ApiError::conflict("no second factor was begun").hint("begin it first"))?;
    if row.try_get::<i64, _>("confirmed")? == 1 {
        return Err(is_on_already());
    }
    let sealed: String = row.try_get("secret")?;
    Ok((unsealed(registry, login, &sealed)?, sealed))
}

/// Switches it on, once its owner has shown a code of it; gives the recovery codes, this once. What was begun with the password alone ends,
/// but for this session.
///
/// # Errors
/// The caller is a token, the code is wrong, there were too many wrong ones, or nothing was begun.
pub(crate) async fn confirm(service: &Service, caller: &Caller, code: &str) -> Result<Vec<String>, ApiError> {
    caller.must_be_session()?;
    let (registry, login) = (&service.registry, caller.login.as_str());
    let (totp, sealed) = waiting(registry, login).await?;
    count_in_session(registry, caller).await?;
    let step = totp.check(&plain(code), chance::unsigned(chance::now()?)).ok_or_else(|| {
        ApiError::forbidden("the code is not one of the secret shown")
            .hint("type the newest one, and see that the clocks of the device and of the registry are right")
    })?;
    // In a turn, so that of two confirmations one gives codes that are good.
    let mut turn = database::turn(&registry.rows).await?;
    caller.must_still_be_there(&mut turn).await?;
    let done = sqlx::query(
        "UPDATE second_factors SET confirmed = 1, last_step = $1 WHERE login = $2 AND confirmed = 0 AND secret = $3",
    )
    .bind(chance::signed(step))
    .bind(login.to_owned())
    .bind(sealed)
    .execute(&mut *turn)
    .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::conflict("the second factor was begun anew, or confirmed, meanwhile"));
    }
    let codes = renew_codes(&mut turn, login).await?;
    accounts::renew(&mut turn, login, &caller.token).await?;
    audit::note(&mut turn, login, Action::SecondFactorOn, login).await?;
    turn.commit().await?;
    forgive(registry, caller).await?;
    Ok(codes)
}

/// New recovery codes in the place of all others.
async fn renew_codes(rows: &mut sqlx::AnyConnection, login: &str) -> Result<Vec<String>, Failure> {
    sqlx::query("DELETE FROM recovery_codes WHERE login = $1").bind(login.to_owned()).execute(&mut *rows).await?;
    let mut codes = Vec::with_capacity(RECOVERY_CODES);
    for _ in 0..RECOVERY_CODES {
        let bytes: [u8; 10] = chance::bytes()?;
        let code = Secret::from(bytes.to_vec()).to_base32().to_lowercase();
        sqlx::query("INSERT INTO recovery_codes (login, hash) VALUES ($1, $2)")
            .bind(login.to_owned())
            .bind(stored(login, &code))
            .execute(&mut *rows)
            .await?;
        let groups = code.as_bytes().chunks(4).map(String::from_utf8_lossy);
        codes.push(groups.collect::<Vec<_>>().join("-"));
    }
    Ok(codes)
}

/// What is stored of a recovery code: 80 random bits need no slow hash.
fn stored(login: &str, code: &str) -> String {
    chance::stored(&format!("recovery {login} {code}"))
}

/// A code without what people put between its characters.
fn plain(code: &str) -> String {
    code.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect::<String>().to_ascii_lowercase()
}

/// Takes a code at the door, of the authenticator or a recovery code, once. Who comes here has shown the password.
///
/// # Errors
/// It is wrong or was used, or there were too many wrong ones.
pub(crate) async fn check(service: &Service, login: &str, code: &str) -> Result<(), ApiError> {
    let code = plain(code);
    let registry = &service.registry;
    let result = match is_recovery_code(&code) {
        true => use_recovery_code(&registry.rows, login, &code).await,
        false => {
            count_at_the_door(registry, login).await?;
            check_code(registry, login, &code).await
        }
    };
    if result.is_err() {
        service.count("second-factor-refused");
    }
    result
}

/// Takes a code from whoever has a session. Wrong ones are counted for the session, which ends: a stolen one guesses a few times and locks nobody out.
async fn check_in_session(service: &Service, caller: &Caller, code: &str) -> Result<(), ApiError> {
    let code = plain(code);
    let registry = &service.registry;
    count_in_session(registry, caller).await?;
    let result = match is_recovery_code(&code) {
        true => use_recovery_code(&registry.rows, &caller.login, &code).await,
        false => check_code(registry, &caller.login, &code).await,
    };
    match result {
        Ok(()) => Ok(forgive(registry, caller).await?),
        Err(error) => {
            service.count("second-factor-refused");
            Err(error)
        }
    }
}

fn is_recovery_code(code: &str) -> bool {
    !(code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Counts a try of a session before the code is looked at, so that many guesses at once are many.
async fn count_in_session(registry: &Registry, caller: &Caller) -> Result<(), ApiError> {
    let counted = sqlx::query("UPDATE tokens SET wrong_codes = wrong_codes + 1 WHERE id = $1 AND wrong_codes < $2")
        .bind(caller.token.clone())
        .bind(PATIENCE)
        .execute(&registry.rows)
        .await?;
    if counted.rows_affected() == 1 {
        return Ok(());
    }
    sqlx::query("DELETE FROM tokens WHERE id = $1").bind(caller.token.clone()).execute(&registry.rows).await?;
    Err(ApiError::unauthorized("there were too many wrong codes, and the session has ended").hint("log in again"))
}

/// Forgets the wrong codes of a session that has shown a right one.
async fn forgive(registry: &Registry, caller: &Caller) -> Result<(), Failure> {
    sqlx::query("UPDATE tokens SET wrong_codes = 0 WHERE id = $1")
        .bind(caller.token.clone())
        .execute(&registry.rows)
        .await?;
    Ok(())
}

fn wrong() -> ApiError {
    ApiError::second_factor("the code is wrong, or was used already")
        .hint("wait for the next code of your authenticator; each recovery code is good once")
}

/// Counts a try at the door before the code is looked at, so that many guesses at once are many.
async fn count_at_the_door(registry: &Registry, login: &str) -> Result<(), ApiError> {
    let now = chance::now()?;
    let found = sqlx::query("UPDATE second_factors SET failures = failures + 1, blocked_until = CASE WHEN failures + 1 < $1 THEN 0 WHEN failures + 1 < $2 THEN $3 ELSE $4 END WHERE login = $5 AND confirmed = 1 AND blocked_until <= $6")
        .bind(PATIENCE)
        .bind(NO_PATIENCE)
        .bind(now + 60)
        .bind(now + 900)
        .bind(login.to_owned())
        .bind(now)
        .execute(&registry.rows)
        .await?;
    if found.rows_affected() == 0 {
        return Err(ApiError::too_many("there were too many wrong codes")
            .hint("wait, 15 minutes at most, or use a recovery code, which is taken at once"));
    }
    Ok(())
}

async fn check_code(registry: &Registry, login: &str, code: &str) -> Result<(), ApiError> {
    let now = chance::now()?;
    let found = sqlx::query("SELECT secret FROM second_factors WHERE login = $1 AND confirmed = 1")
        .bind(login.to_owned())
        .fetch_optional(&registry.rows)
        .await?;
    let row = found.ok_or_else(wrong)?;
    let totp = unsealed(registry, login, &row.try_get::<String, _>("secret")?)?;
    if let Some(step) = totp.check(code, chance::unsigned(now)) {
        let taken = sqlx::query("UPDATE second_factors SET last_step = $1, failures = 0, blocked_until = 0 WHERE login = $2 AND last_step < $3")
            .bind(chance::signed(step))
            .bind(login.to_owned())
            .bind(chance::signed(step))
            .execute(&registry.rows)
            .await?;
        if taken.rows_affected() == 1 {
            return Ok(());
        }
    }
    // Whoever tries has the password, which its owner should know.
    audit::note(&mut *registry.rows.acquire().await?, login, Action::SecondFactorRefused, login).await?;
    Err(wrong())
}

async fn use_recovery_code(rows: &AnyPool, login: &str, code: &str) -> Result<(), ApiError> {
    let mut rows = rows.begin().await?;
    let done = sqlx::query("DELETE FROM recovery_codes WHERE login = $1 AND hash = $2")
        .bind(login.to_owned())
        .bind(stored(login, code))
        .execute(&mut *rows)
        .await?;
    if done.rows_affected() == 0 {
        return Err(wrong());
    }
    audit::note(&mut rows, login, Action::RecoveryCodeUsed, login).await?;
    Ok(rows.commit().await?)
}

/// Whether the caller would be asked for a code before something that a stolen session must not do.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn is_asked_for(rows: &AnyPool, caller: &Caller) -> Result<bool, Failure> {
    let fresh = caller.expires - SESSION_LIFE + FRESH > chance::now()?;
    Ok(caller.session && !fresh && is_on(rows, &caller.login).await?)
}

/// Asks for a code before something that a stolen session must not do. Tokens are not asked: they were made with a code.
///
/// # Errors
/// The account has a second factor, the session is not fresh, and no code came with the request or a wrong one.
pub(crate) async fn prove(service: &Service, caller: &Caller) -> Result<(), ApiError> {
    if !is_asked_for(&service.registry.rows, caller).await? {
        return Ok(());
    }
    match &caller.proof {
        Some(code) => check_in_session(service, caller, code).await,
        None => Err(ApiError::second_factor("this needs a code of your second factor")
            .hint("send it along in the header `Exo-Code`; in the ten minutes after logging in none is asked for")),
    }
}

/// New recovery codes, this once; the password was checked.
///
/// # Errors
/// The code is wrong, or the account has no second factor.
pub(crate) async fn new_recovery_codes(
    service: &Service,
    caller: &Caller,
    code: &str,
) -> Result<Vec<String>, ApiError> {
    let login = caller.login.as_str();
    must_be_on(service, login).await?;
    check_in_session(service, caller, code).await?;
    let mut turn = database::turn(&service.registry.rows).await?;
    caller.must_still_be_there(&mut turn).await?;
    let codes = renew_codes(&mut turn, login).await?;
    accounts::renew(&mut turn, login, &caller.token).await?;
    audit::note(&mut turn, login, Action::RecoveryCodes, login).await?;
    turn.commit().await?;
    Ok(codes)
}

async fn must_be_on(service: &Service, login: &str) -> Result<(), ApiError> {
    if is_on(&service.registry.rows, login).await? {
        return Ok(());
    }
    Err(ApiError::conflict("the account has no second factor"))
}

/// Switches it off; the password was checked.
///
/// # Errors
/// The code is wrong, or the account has no second factor.
pub(crate) async fn switch_off(service: &Service, caller: &Caller, code: &str) -> Result<(), ApiError> {
    must_be_on(service, &caller.login).await?;
    check_in_session(service, caller, code).await?;
    let mut turn = database::turn(&service.registry.rows).await?;
    caller.must_still_be_there(&mut turn).await?;
    remove(&mut turn, &caller.login, &caller.token, Action::SecondFactorOff).await?;
    Ok(turn.commit().await?)
}

/// Switches it off for who has lost it, whatever its state; says whether there was one. All sessions of the account end.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn reset(rows: &AnyPool, login: &str) -> Result<bool, Failure> {
    let mut turn = database::turn(rows).await?;
    // No session has an empty id, so none is left out.
    let removed = remove(&mut turn, login, "", Action::SecondFactorReset).await?;
    turn.commit().await?;
    Ok(removed)
}

/// Removes the second factor of an account, and ends what was begun with it but for one session; says whether there was one.
async fn remove(rows: &mut sqlx::AnyConnection, login: &str, session: &str, action: Action) -> Result<bool, Failure> {
    let done =
        sqlx::query("DELETE FROM second_factors WHERE login = $1").bind(login.to_owned()).execute(&mut *rows).await?;
    sqlx::query("DELETE FROM recovery_codes WHERE login = $1").bind(login.to_owned()).execute(&mut *rows).await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    accounts::renew(rows, login, session).await?;
    audit::note(rows, login, action, login).await?;
    Ok(true)
}

/// Removes all second factors, and forgets what they were sealed with; gives the accounts that had one.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn remove_all(rows: &AnyPool) -> Result<Vec<String>, Failure> {
    let mut logins = Vec::new();
    for row in sqlx::query("SELECT login FROM second_factors ORDER BY login").fetch_all(rows).await? {
        let login: String = row.try_get("login")?;
        if reset(rows, &login).await? {
            logins.push(login);
        }
    }
    sqlx::query("DELETE FROM sealing").execute(rows).await?;
    Ok(logins)
}
