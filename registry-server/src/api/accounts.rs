//! The endpoints of accounts, sessions and tokens.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::{Caller, Right};
use crate::audit;
use crate::client_address::ClientAddress;
use crate::error::ApiError;
use crate::mails::addresses::{self, Known};
use crate::service::Service;
use crate::sessions;
use crate::sign_in;
use crate::tokens::{self, Made, NewToken};

#[derive(Deserialize)]
pub(super) struct NewAccount {
    login: String,
    password: String,
    email: Option<String>,
    code: Option<String>,
}

pub(super) async fn create(
    State(service): State<Service>,
    from: ClientAddress,
    Json(body): Json<NewAccount>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let answer = json!({ "login": body.login });
    let NewAccount { login, password, email, code } = body;
    sign_in::sign_up(&service, &from, sign_in::NewAccount { login, password, email, code }).await?;
    Ok((StatusCode::CREATED, Json(answer)))
}

#[derive(Deserialize)]
pub(super) struct Login {
    login: String,
    password: String,
    totp: Option<String>,
}

pub(super) async fn login(
    State(service): State<Service>,
    from: ClientAddress,
    Json(body): Json<Login>,
) -> Result<Json<Value>, ApiError> {
    let (token, expires) = sign_in::sign_in(&service, &from, &body.login, body.password, body.totp.as_deref()).await?;
    Ok(Json(json!({ "token": token, "expires": expires })))
}

#[derive(Deserialize)]
pub(super) struct NewPassword {
    old: String,
    new: String,
}

pub(super) async fn change_password(
    State(service): State<Service>,
    from: ClientAddress,
    caller: Caller,
    Json(body): Json<NewPassword>,
) -> Result<StatusCode, ApiError> {
    sign_in::change_password(&service, &from, &caller, body.old, body.new).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn email(State(service): State<Service>, caller: Caller) -> Result<Json<Known>, ApiError> {
    caller.must_be_session()?;
    Ok(Json(addresses::of(&mut *service.registry.rows.acquire().await?, &caller.login).await?))
}

#[derive(Deserialize)]
pub(super) struct NewEmail {
    password: String,
    email: String,
}

pub(super) async fn change_email(
    State(service): State<Service>,
    from: ClientAddress,
    caller: Caller,
    Json(body): Json<NewEmail>,
) -> Result<StatusCode, ApiError> {
    addresses::change(&service, &from, &caller, body.password, &body.email).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
pub(super) struct Link {
    code: String,
}

pub(super) async fn confirm_email(
    State(service): State<Service>,
    from: ClientAddress,
    Json(body): Json<Link>,
) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({ "login": addresses::confirm(&service, &from, &body.code).await? })))
}

pub(super) async fn logout(State(service): State<Service>, caller: Caller) -> Result<StatusCode, ApiError> {
    sign_in::sign_out(&service, &caller).await?;
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

pub(super) async fn audit(
    State(service): State<Service>,
    caller: Caller,
    Query(asked): Query<audit::Asked>,
) -> Result<Json<audit::Part>, ApiError> {
    Ok(Json(audit::of_account(&service, &caller, &asked).await?))
}

pub(super) async fn sessions(State(service): State<Service>, caller: Caller) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({ "sessions": sessions::list(&service, &caller).await? })))
}

pub(super) async fn end_session(
    State(service): State<Service>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    sessions::end(&service, &caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn tokens(State(service): State<Service>, caller: Caller) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({ "tokens": tokens::list(&service, &caller).await? })))
}

pub(super) async fn make_token(
    State(service): State<Service>,
    caller: Caller,
    Json(body): Json<NewToken>,
) -> Result<(StatusCode, Json<Made>), ApiError> {
    Ok((StatusCode::CREATED, Json(tokens::make(&service, &caller, body).await?)))
}

pub(super) async fn remove_token(
    State(service): State<Service>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    tokens::end(&service, &caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
