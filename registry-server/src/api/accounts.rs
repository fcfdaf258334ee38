//! Accounts, sessions and tokens.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::Row as _;

use crate::access::{self, Caller, LONGEST_TOKEN_DAYS, Right};
use crate::accounts::{self, Refused, SHORTEST_PASSWORD, is_login};
use crate::error::ApiError;
use crate::service::Service;

/// Tries to log in, of one account in one minute.
const LOGINS: i64 = 10;

/// New accounts in one minute, of all together.
const ACCOUNTS: i64 = 30;

#[derive(Deserialize)]
pub(super) struct NewAccount {
    login: String,
    password: String,
    email: Option<String>,
    code: Option<String>,
}

pub(super) async fn create(
    State(service): State<Service>,
    Json(body): Json<NewAccount>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let rows = &service.registry.rows;
    access::limit(rows, "accounts", ACCOUNTS).await?;
    // Before the code is used up.
    if !is_login(&body.login) {
        return Err(bad_login());
    }
    if body.password.len() < SHORTEST_PASSWORD {
        return Err(bad_password());
    }
    let administrator = match body.code {
        Some(code) => {
            let used = accounts::use_code(rows, &code).await?;
            used.ok_or_else(|| ApiError::forbidden("the code is not good, or was used"))?
        }
        None if service.open_sign_up => false,
        None => return Err(ApiError::forbidden("accounts are made by the administrator of this registry")),
    };
    match accounts::create(rows, &body.login, body.password, body.email.as_deref(), administrator).await {
        Ok(()) => {
            access::note(&mut *rows.acquire().await?, &body.login, "account", &body.login).await?;
            Ok((StatusCode::CREATED, Json(json!({ "login": body.login }))))
        }
        Err(Refused::Login) => Err(bad_login()),
        Err(Refused::Password) => Err(bad_password()),
        Err(Refused::Taken) => Err(ApiError::conflict(format!("the login `{}` is taken", body.login))),
        Err(Refused::Failed(failure)) => Err(failure.into()),
    }
}

fn bad_login() -> ApiError {
    ApiError::malformed("a login is 2 to 39 of a-z, 0-9 and `-`, which does not begin or end it")
}

fn bad_password() -> ApiError {
    ApiError::malformed(format!("a password has at least {SHORTEST_PASSWORD} characters and at most 256"))
}

#[derive(Deserialize)]
pub(super) struct Login {
    login: String,
    password: String,
}

pub(super) async fn login(State(service): State<Service>, Json(body): Json<Login>) -> Result<Json<Value>, ApiError> {
    let rows = &service.registry.rows;
    if !is_login(&body.login) {
        return Err(ApiError::unauthorized("login or password is wrong"));
    }
    access::limit(rows, &format!("login {}", body.login), LOGINS).await?;
    if !accounts::knows(rows, &body.login, body.password).await? {
        service.count("login-refused");
        return Err(ApiError::unauthorized("login or password is wrong"));
    }
    let (_, token, expires) = access::issue(rows, &body.login, "session", None, 0).await?;
    Ok(Json(json!({ "token": token, "expires": expires })))
}

pub(super) async fn logout(State(service): State<Service>, caller: Caller) -> Result<StatusCode, ApiError> {
    sqlx::query("DELETE FROM tokens WHERE id = $1").bind(caller.token).execute(&service.registry.rows).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn whoami(caller: Caller) -> Json<Value> {
    let rights: Vec<&str> = if caller.session { Right::ALL.to_vec() } else { caller.rights.clone() }
        .into_iter()
        .map(Right::as_str)
        .collect();
    let packs = if caller.session { vec!["*".to_owned()] } else { caller.packs };
    Json(
        json!({ "login": caller.login, "administrator": caller.administrator, "rights": rights, "packs": packs, "expires": caller.expires }),
    )
}

pub(super) async fn tokens(State(service): State<Service>, caller: Caller) -> Result<Json<Value>, ApiError> {
    caller.must_be_session()?;
    let found = sqlx::query("SELECT id, name, rights, packs, created, expires FROM tokens WHERE login = $1 AND session = 0 ORDER BY created, id")
        .bind(caller.login)
        .fetch_all(&service.registry.rows)
        .await?;
    let mut tokens = Vec::new();
    for row in found {
        let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        tokens.push(json!({
            "id": row.try_get::<String, _>("id")?, "name": row.try_get::<String, _>("name")?,
            "rights": words(row.try_get("rights")?), "packs": words(row.try_get("packs")?),
            "created": row.try_get::<i64, _>("created")?, "expires": row.try_get::<i64, _>("expires")?,
        }));
    }
    Ok(Json(json!({ "tokens": tokens })))
}

#[derive(Deserialize)]
pub(super) struct NewToken {
    name: String,
    rights: Vec<String>,
    packs: Vec<String>,
    expires_days: i64,
}

pub(super) async fn make_token(
    State(service): State<Service>,
    caller: Caller,
    Json(body): Json<NewToken>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    caller.must_be_session()?;
    let mut rights = Vec::new();
    for word in &body.rights {
        let right = Right::parse(word).ok_or_else(|| ApiError::malformed(format!("`{word}` is no right")))?;
        rights.push(right);
    }
    if rights.contains(&Right::Admin) && !caller.administrator {
        return Err(ApiError::forbidden("only an administrator's token can have the right `admin`"));
    }
    if !(1..=LONGEST_TOKEN_DAYS).contains(&body.expires_days) {
        return Err(ApiError::malformed(format!("a token lasts 1 to {LONGEST_TOKEN_DAYS} days")));
    }
    let sound = |glob: &String| {
        (1..=100).contains(&glob.len()) && !glob.contains(char::is_whitespace) && glob.matches('*').count() <= 2
    };
    if body.packs.is_empty() || body.packs.len() > 50 || !body.packs.iter().all(sound) || body.name.len() > 100 {
        return Err(ApiError::malformed("a token needs 1 to 50 globs of names, such as `*` or `@arm/*`"));
    }
    let rows = &service.registry.rows;
    let (id, token, expires) =
        access::issue(rows, &caller.login, &body.name, Some((&rights, &body.packs)), body.expires_days).await?;
    access::note(&mut *rows.acquire().await?, &caller.login, "token", &body.name).await?;
    Ok((StatusCode::CREATED, Json(json!({ "id": id, "token": token, "expires": expires }))))
}

pub(super) async fn remove_token(
    State(service): State<Service>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    caller.must_be_session()?;
    let done = sqlx::query("DELETE FROM tokens WHERE id = $1 AND login = $2")
        .bind(id)
        .bind(caller.login)
        .execute(&service.registry.rows)
        .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::absent("there is no such token of yours"));
    }
    Ok(StatusCode::NO_CONTENT)
}
