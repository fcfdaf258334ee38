//! The endpoints of reports and of quarantine: what anybody with an account may say of a pack, and what administrators do about it.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{named, pack_name, version};
use crate::access::Caller;
use crate::error::ApiError;
use crate::quarantine;
use crate::reports::{self, NewReport};
use crate::service::Service;

pub(super) async fn report(
    State(service): State<Service>,
    caller: Caller,
    path: Path<String>,
    Json(new): Json<NewReport>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let id = reports::make(&service, &caller, &named(&path)?, new).await?;
    Ok((StatusCode::CREATED, Json(json!({ "id": id }))))
}

pub(super) async fn reports(State(service): State<Service>, caller: Caller) -> Result<Json<Value>, ApiError> {
    let mut rows = service.registry.rows.acquire().await?;
    Ok(Json(json!({ "reports": reports::list(&mut rows, &caller).await? })))
}

pub(super) async fn close_report(
    State(service): State<Service>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let mut rows = service.registry.rows.acquire().await?;
    reports::close(&mut rows, &caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Why a version is taken away.
#[derive(Deserialize)]
pub(super) struct Why {
    reason: String,
}

pub(super) async fn quarantine(
    State(service): State<Service>,
    caller: Caller,
    Path((name, number)): Path<(String, String)>,
    Json(why): Json<Why>,
) -> Result<StatusCode, ApiError> {
    let reason = quarantine::reason(&why.reason)?;
    quarantine::set(&service, &caller, &pack_name(&name)?, &version(&number)?, Some(reason)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn release(
    State(service): State<Service>,
    caller: Caller,
    Path((name, number)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    quarantine::set(&service, &caller, &pack_name(&name)?, &version(&number)?, None).await?;
    Ok(StatusCode::NO_CONTENT)
}
