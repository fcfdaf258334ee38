//! The endpoints of organisations: making one, saying who is a member, and whether the registry vouches for it.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::Caller;
use crate::audit;
use crate::error::ApiError;
use crate::membership;
use crate::organisations::{self, Role};
use crate::service::Service;

pub(super) async fn create(
    State(service): State<Service>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    membership::create(&service, &caller, &name).await?;
    Ok(StatusCode::CREATED)
}

pub(super) async fn show(State(service): State<Service>, Path(name): Path<String>) -> Result<Json<Value>, ApiError> {
    let mut rows = service.registry.rows.acquire().await?;
    let members = organisations::members(&mut rows, &name).await?;
    if members.is_empty() {
        return Err(membership::absent(&name));
    }
    let verified = organisations::is_verified(&mut rows, &name).await?;
    let members: Vec<Value> =
        members.into_iter().map(|(login, role)| json!({ "login": login, "role": role.as_str() })).collect();
    Ok(Json(json!({ "name": name, "verified": verified, "members": members })))
}

pub(super) async fn audit(
    State(service): State<Service>,
    caller: Caller,
    Path(name): Path<String>,
    Query(asked): Query<audit::Asked>,
) -> Result<Json<audit::Part>, ApiError> {
    Ok(Json(audit::of_organisation(&service, &caller, &name, &asked).await?))
}

#[derive(Deserialize)]
pub(super) struct Membership {
    role: String,
}

pub(super) async fn set_member(
    State(service): State<Service>,
    caller: Caller,
    Path((name, login)): Path<(String, String)>,
    Json(body): Json<Membership>,
) -> Result<StatusCode, ApiError> {
    let role = Role::parse(&body.role)
        .ok_or_else(|| ApiError::malformed("a member is an `owner` or a `publisher`, and nothing else"))?;
    membership::set(&service, &caller, &name, &login, role).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn remove_member(
    State(service): State<Service>,
    caller: Caller,
    Path((name, login)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    membership::remove(&service, &caller, &name, &login).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn verify(
    State(service): State<Service>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    membership::verify(&service, &caller, &name, true).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn unverify(
    State(service): State<Service>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    membership::verify(&service, &caller, &name, false).await?;
    Ok(StatusCode::NO_CONTENT)
}
