//! Signing up and signing in, as the API and the pages both do it.

use std::time::Duration;

use axum::http::StatusCode;
use exo_index::registry::look_alike;

use crate::access;
use crate::accounts::{self, Refused, SHORTEST_PASSWORD, is_login};
use crate::audit::action::Action;
use crate::audit::{self, Entry};
use crate::chance;
use crate::client_address::ClientAddress;
use crate::database;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::limits;
use crate::mails::addresses::{self, Asked};
use crate::sealing::Sealer;
use crate::second_factor;
use crate::service::Service;
use crate::sessions;

/// Tries to log in, to one account from one address in one minute.
const LOGINS: i64 = 10;

/// Tries to log in, to all accounts from one address in one minute.
const LOGINS_OF_ADDRESS: i64 = 60;

/// Wrong passwords of one account, from everywhere in two minutes, after which each further try is made to wait. Nobody is kept out
/// by what others try: who knows the password waits and is let in.
const PATIENCE: i64 = 20;

/// How much longer the wait gets with each wrong password, and the longest.
const WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// New accounts in one minute, from one address.
const ACCOUNTS: i64 = 30;

/// An account that is asked for.
pub(crate) struct NewAccount {
    pub(crate) login: String,
    pub(crate) password: String,
    pub(crate) email: Option<String>,
    /// A one-time code.
    pub(crate) code: Option<String>,
}

/// Makes an account for whoever has a one-time code, or for anybody where that is allowed.
///
/// # Errors
/// What stands in the way.
pub(crate) async fn sign_up(service: &Service, from: &ClientAddress, new: NewAccount) -> Result<(), ApiError> {
    let rows = &service.registry.rows;
    limits::limit(rows, &format!("accounts from {from}"), ACCOUNTS).await?;
    // Before the code is used up.
    if !is_login(&new.login) {
        return Err(bad_login());
    }
    if !accounts::is_password(&new.password) {
        return Err(bad_password());
    }
    // Who runs the registry calls accounts what they like.
    if new.code.is_none() && (look_alike::is_reserved_scope(&new.login) || service.bundled.has(&new.login)) {
        return Err(ApiError::malformed(format!("the login `{}` is reserved", new.login))
            .hint("it would speak for exo, for a pack that comes with it, or for the registry: choose another"));
    }
    let email =
        new.email.as_deref().map(str::trim).filter(|email| !email.is_empty()).map(addresses::read).transpose()?;
    if let Some(email) = &email {
        addresses::must_not_flood(rows, &new.login, email).await?;
    }
    let email = email.map(|email| Asked::new(&service.registry.sealer, email)).transpose()?;
    let administrator = match new.code {
        Some(code) => {
            let used = accounts::use_code(rows, &code).await?;
            used.ok_or_else(|| ApiError::forbidden("the code is not good, or was used"))?
        }
        None if service.open_sign_up => false,
        None => return Err(ApiError::forbidden("accounts are made by the administrator of this registry")),
    };
    let account =
        accounts::New { login: &new.login, password: new.password, administrator, made: Action::Account, email };
    match accounts::create(rows, account).await {
        Ok(()) => Ok(()),
        Err(Refused::Login) => Err(bad_login()),
        Err(Refused::Password) => Err(bad_password()),
        Err(Refused::Taken) => Err(ApiError::conflict(format!("the login `{}` is taken", new.login))),
        Err(Refused::Failed(failure)) => Err(failure.into()),
    }
}

fn bad_login() -> ApiError {
    ApiError::malformed("a login is 2 to 39 of a-z, 0-9 and `-`, which does not begin or end it")
}

fn bad_password() -> ApiError {
    ApiError::malformed(format!("a password has at least {SHORTEST_PASSWORD} characters and at most 256"))
}

/// The generation of an account whose password somebody knows, with tries counted and slowed down.
///
/// # Errors
/// Login or password is wrong, or there were too many tries.
pub(crate) async fn check_password(
    service: &Service,
    from: &ClientAddress,
    login: &str,
    password: String,
) -> Result<i64, ApiError> {
    let rows = &service.registry.rows;
    if !is_login(login) {
        return Err(ApiError::unauthorized("login or password is wrong"));
    }
    limits::limit(rows, &format!("logins from {from}"), LOGINS_OF_ADDRESS).await?;
    limits::limit(rows, &format!("login {login} from {from}"), LOGINS).await?;
    let wrong = format!("wrong password of {login}");
    tokio::time::sleep(wait(limits::lately(rows, &wrong).await?)).await;
    if let Some(generation) = accounts::knows(rows, login, password).await? {
        return Ok(generation);
    }
    limits::count(rows, &wrong).await?;
    service.count("login-refused");
    let mut rows = rows.acquire().await?;
    // Of logins that nobody has there is nobody to tell.
    if access::was_account(&mut rows, login).await? {
        audit::note(&mut rows, login, Action::LoginRefused, login).await?;
    }
    Err(ApiError::unauthorized("login or password is wrong"))
}

/// How far somebody came with a password.
pub(crate) enum Door {
    /// Inside: the token of a session and when it ends.
    Open(String, i64),
    /// Before the second factor: what shows for some minutes that the password was right.
    Half(String),
}

/// How long a right password waits for a code, in seconds.
pub(crate) const HALF_LIFE: i64 = 600;

/// What a sealed text about a right password is for.
const HALF: &str = "right password";

/// A right password that waits for a code. It is sealed, and stands in no row.
struct Half {
    login: String,
    /// Of what the account signed in with then: a change of that ends the wait.
    generation: i64,
    until: i64,
}

impl Half {
    fn seal(&self, sealer: &Sealer) -> Result<String, Failure> {
        sealer.seal(HALF, format!("{} {} {}", self.login, self.generation, self.until).as_bytes())
    }

    fn unseal(sealer: &Sealer, text: &str) -> Option<Self> {
        let shown = String::from_utf8(sealer.unseal(HALF, text)?).ok()?;
        let mut words = shown.split(' ');
        let (login, generation, until) = (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        words.next().is_none().then_some(Self { login: login.to_owned(), generation, until })
    }
}

/// Begins a session, or half of one where a second factor has to be shown too.
///
/// # Errors
/// Login or password is wrong, or there were too many tries.
pub(crate) async fn enter(
    service: &Service,
    from: &ClientAddress,
    login: &str,
    password: String,
) -> Result<Door, ApiError> {
    let generation = check_password(service, from, login, password).await?;
    if second_factor::is_on(&service.registry.rows, login).await? {
        let half = Half { login: login.to_owned(), generation, until: chance::now()? + HALF_LIFE };
        return Ok(Door::Half(half.seal(&service.registry.sealer)?));
    }
    begin(service, login, generation).await
}

/// Begins a session, unless what the account signs in with was changed since the password was shown.
async fn begin(service: &Service, login: &str, generation: i64) -> Result<Door, ApiError> {
    let mut rows = service.registry.rows.begin().await?;
    if !accounts::hold(&mut rows, login, generation).await? {
        return Err(changed_meanwhile());
    }
    let (id, token, expires) = access::issue(&mut rows, login, "session", None, 0).await?;
    Entry::new(login, Action::Login, login).detail(sessions::named(&id)).write(&mut rows).await?;
    rows.commit().await?;
    Ok(Door::Open(token, expires))
}

fn changed_meanwhile() -> ApiError {
    ApiError::unauthorized("the password or the second factor of the account was changed since the password was given")
        .hint("sign in again")
}

/// Begins a session for who has shown the password before and shows a code now.
///
/// # Errors
/// The password was shown too long ago, the code is wrong, or there were too many tries.
pub(crate) async fn finish(service: &Service, from: &ClientAddress, half: &str, code: &str) -> Result<Door, ApiError> {
    limits::limit(&service.registry.rows, &format!("logins from {from}"), LOGINS_OF_ADDRESS).await?;
    let now = chance::now()?;
    let Half { login, generation, .. } =
        Half::unseal(&service.registry.sealer, half)
            .filter(|half| now < half.until)
            .ok_or_else(|| ApiError::unauthorized("the password was given too long ago").hint("sign in again"))?;
    // Before the code is looked at: who has nothing but the old password uses up no code, and locks nobody out.
    if accounts::generation(&service.registry.rows, &login).await? != Some(generation) {
        return Err(changed_meanwhile());
    }
    second_factor::check(service, &login, code).await?;
    begin(service, &login, generation).await
}

/// Begins a session with all that an account needs at once; gives its token and when it ends.
///
/// # Errors
/// Login, password or code is wrong, a code is needed, or there were too many tries.
pub(crate) async fn sign_in(
    service: &Service,
    from: &ClientAddress,
    login: &str,
    password: String,
    code: Option<&str>,
) -> Result<(String, i64), ApiError> {
    let door = match (enter(service, from, login, password).await?, code) {
        (Door::Half(half), Some(code)) => finish(service, from, &half, code).await?,
        (door, _) => door,
    };
    match door {
        Door::Open(token, expires) => Ok((token, expires)),
        Door::Half(_) => {
            Err(ApiError::second_factor(format!("`{login}` has a second factor, and a code of it is needed"))
                .hint("send the code, or a recovery code, as `totp`"))
        }
    }
}

/// Gives the caller's account another password. Whoever has a session elsewhere is signed out.
///
/// # Errors
/// The old password is wrong, the new one is none, or a code of the second factor is needed.
pub(crate) async fn change_password(
    service: &Service,
    from: &ClientAddress,
    caller: &access::Caller,
    old: String,
    new: String,
) -> Result<(), ApiError> {
    caller.must_be_session()?;
    if !accounts::is_password(&new) {
        return Err(bad_password());
    }
    check_own_password(service, from, caller, old).await?;
    second_factor::prove(service, caller).await?;
    let mut turn = database::turn(&service.registry.rows).await?;
    caller.must_still_be_there(&mut turn).await?;
    accounts::set_password(&mut turn, &caller.login, new, &caller.token).await?;
    audit::note(&mut turn, &caller.login, Action::Password, &caller.login).await?;
    Ok(turn.commit().await?)
}

/// Whether whoever has a session knows the account's password too, before something that a stolen session must not do.
///
/// # Errors
/// The caller is a token, the password is wrong, or there were too many tries.
pub(crate) async fn check_own_password(
    service: &Service,
    from: &ClientAddress,
    caller: &access::Caller,
    password: String,
) -> Result<(), ApiError> {
    caller.must_be_session()?;
    match check_password(service, from, &caller.login, password).await {
        Err(error) if error.status == StatusCode::UNAUTHORIZED => Err(ApiError::forbidden("the password is wrong")),
        other => other.map(drop),
    }
}

/// How long a try waits after so many wrong passwords.
fn wait(wrong: i64) -> Duration {
    let beyond = u32::try_from(wrong.saturating_sub(PATIENCE).max(0)).unwrap_or(u32::MAX);
    WAIT.saturating_mul(beyond).min(LONGEST_WAIT)
}

/// Ends a session, or a token that ends itself.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn sign_out(service: &Service, caller: &access::Caller) -> Result<(), ApiError> {
    let mut rows = service.registry.rows.begin().await?;
    sqlx::query("DELETE FROM tokens WHERE id = $1").bind(caller.token.clone()).execute(&mut *rows).await?;
    audit::note(&mut rows, &caller.login, Action::Logout, &caller.login).await?;
    Ok(rows.commit().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_from_many_places_waits_ever_longer_and_never_for_ever() {
        assert_eq!([0, PATIENCE].map(wait), [Duration::ZERO; 2]);
        assert_eq!(wait(PATIENCE + 3), WAIT * 3);
        assert_eq!(wait(i64::MAX), LONGEST_WAIT);
    }
}
