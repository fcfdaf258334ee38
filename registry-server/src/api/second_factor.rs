//! The endpoints of an account's second factor.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::Caller;
use crate::client_address::ClientAddress;
use crate::error::ApiError;
use crate::second_factor;
use crate::service::Service;
use crate::sign_in::check_own_password;

pub(super) async fn show(State(service): State<Service>, caller: Caller) -> Result<Json<Value>, ApiError> {
    caller.must_be_session()?;
    Ok(Json(match second_factor::state(&service.registry.rows, &caller.login).await? {
        second_factor::State::On { codes } => json!({ "on": true, "recovery_codes": codes }),
        second_factor::State::Off | second_factor::State::Begun => json!({ "on": false, "recovery_codes": 0 }),
    }))
}

#[derive(Deserialize)]
pub(super) struct Password {
    password: String,
}

pub(super) async fn begin(
    State(service): State<Service>,
    from: ClientAddress,
    caller: Caller,
    Json(body): Json<Password>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    check_own_password(&service, &from, &caller, body.password).await?;
    let begun = second_factor::begin(&service.registry, &caller).await?;
    Ok((StatusCode::CREATED, Json(json!({ "secret": begun.secret, "uri": begun.uri }))))
}

#[derive(Deserialize)]
pub(super) struct Code {
    code: String,
}

pub(super) async fn confirm(
    State(service): State<Service>,
    caller: Caller,
    Json(body): Json<Code>,
) -> Result<Json<Value>, ApiError> {
    let codes = second_factor::confirm(&service, &caller, &body.code).await?;
    Ok(Json(json!({ "recovery_codes": codes })))
}

#[derive(Deserialize)]
pub(super) struct Both {
    password: String,
    code: String,
}

pub(super) async fn new_recovery_codes(
    State(service): State<Service>,
    from: ClientAddress,
    caller: Caller,
    Json(body): Json<Both>,
) -> Result<Json<Value>, ApiError> {
    check_own_password(&service, &from, &caller, body.password).await?;
    let codes = second_factor::new_recovery_codes(&service, &caller, &body.code).await?;
    Ok(Json(json!({ "recovery_codes": codes })))
}

pub(super) async fn switch_off(
    State(service): State<Service>,
    from: ClientAddress,
    caller: Caller,
    Json(body): Json<Both>,
) -> Result<StatusCode, ApiError> {
    check_own_password(&service, &from, &caller, body.password).await?;
    second_factor::switch_off(&service, &caller, &body.code).await?;
    Ok(StatusCode::NO_CONTENT)
}
