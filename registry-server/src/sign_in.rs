//! Signing up and signing in, as the API and the pages both do it.

use crate::access;
use crate::accounts::{self, Refused, SHORTEST_PASSWORD, is_login};
use crate::error::ApiError;
use crate::service::Service;

/// Tries to log in, of one account in one minute.
const LOGINS: i64 = 10;

/// New accounts in one minute, of all together.
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
pub(crate) async fn sign_up(service: &Service, new: NewAccount) -> Result<(), ApiError> {
    let rows = &service.registry.rows;
    access::limit(rows, "accounts", ACCOUNTS).await?;
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
pub(crate) async fn sign_in(service: &Service, login: &str, password: String) -> Result<(String, i64), ApiError> {
    let rows = &service.registry.rows;
    if !is_login(login) {
        return Err(ApiError::unauthorized("login or password is wrong"));
    }
    access::limit(rows, &format!("login {login}"), LOGINS).await?;
    if !accounts::knows(rows, login, password).await? {
        service.count("login-refused");
        return Err(ApiError::unauthorized("login or password is wrong"));
    }
    let (_, token, expires) = access::issue(rows, login, "session", None, 0).await?;
    Ok((token, expires))
}

/// Ends a session, or a token that ends itself.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn sign_out(service: &Service, caller: &access::Caller) -> Result<(), ApiError> {
    sqlx::query("DELETE FROM tokens WHERE id = $1").bind(caller.token.clone()).execute(&service.registry.rows).await?;
    Ok(())
}
