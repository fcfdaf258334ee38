//! Signing up and signing in, as the API and the pages both do it.

use std::time::Duration;

use crate::access;
use crate::accounts::{self, Refused, SHORTEST_PASSWORD, is_login};
use crate::client_address::ClientAddress;
use crate::error::ApiError;
use crate::service::Service;

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
    access::limit(rows, &format!("accounts from {from}"), ACCOUNTS).await?;
    // Before the code is used up.
    if !is_login(&new.login) {
        return Err(bad_login());
    }
    if new.password.len() < SHORTEST_PASSWORD {
        return Err(bad_password());
    }
    let administrator = match new.code {
        Some(code) => {
            let used = accounts::use_code(rows, &code).await?;
            used.ok_or_else(|| ApiError::forbidden("the code is not good, or was used"))?
        }
        None if service.open_sign_up => false,
        None => return Err(ApiError::forbidden("accounts are made by the administrator of this registry")),
    };
    match accounts::create(rows, &new.login, new.password, new.email.as_deref(), administrator).await {
        Ok(()) => Ok(access::note(&mut *rows.acquire().await?, &new.login, "account", &new.login).await?),
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

/// Begins a session; gives its token and when it ends.
///
/// # Errors
/// Login or password is wrong, or there were too many tries.
pub(crate) async fn sign_in(
    service: &Service,
    from: &ClientAddress,
    login: &str,
    password: String,
) -> Result<(String, i64), ApiError> {
    let rows = &service.registry.rows;
    if !is_login(login) {
        return Err(ApiError::unauthorized("login or password is wrong"));
    }
    access::limit(rows, &format!("logins from {from}"), LOGINS_OF_ADDRESS).await?;
    access::limit(rows, &format!("login {login} from {from}"), LOGINS).await?;
    let wrong = format!("wrong password of {login}");
    tokio::time::sleep(wait(access::lately(rows, &wrong).await?)).await;
    if !accounts::knows(rows, login, password).await? {
        access::count(rows, &wrong).await?;
        service.count("login-refused");
        return Err(ApiError::unauthorized("login or password is wrong"));
    }
    let (_, token, expires) = access::issue(rows, login, "session", None, 0).await?;
    Ok((token, expires))
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
    sqlx::query("DELETE FROM tokens WHERE id = $1").bind(caller.token.clone()).execute(&service.registry.rows).await?;
    Ok(())
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
