//! The endpoints of advisories: read by anybody, written by owners of the pack and by administrators.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use exo_index::name::PackName;
use exo_index::registry::log::leaf::Event;
use exo_index::registry::shard::Advisory;
use serde_json::{Value, json};

use super::{named, pack_name};
use crate::access::{Caller, Right};
use crate::advisories::{self, Kept, Told};
use crate::audit::action::Action;
use crate::chance;
use crate::database;
use crate::deletion;
use crate::error::ApiError;
use crate::publish::admission;
use crate::service::Service;
use crate::stewardship::{change, conclude, no_pack};

/// As programs read it.
fn shown(kept: &Kept) -> Result<Value, ApiError> {
    let mut value = serde_json::to_value(&kept.advisory)?;
    if let Some(object) = value.as_object_mut() {
        object.insert("published".to_owned(), json!(kept.published));
        object.insert("changed".to_owned(), json!(kept.changed));
        object.insert("withdrawn".to_owned(), json!(kept.withdrawn));
    }
    Ok(value)
}

pub(super) async fn list(State(service): State<Service>, path: Path<String>) -> Result<Json<Value>, ApiError> {
    let name = named(&path)?;
    let mut rows = service.registry.rows.acquire().await?;
    // Who still has a deleted pack needs them most.
    if !admission::exists(&mut rows, &name).await? && !deletion::is_gone(&mut rows, &name).await? {
        return Err(no_pack(&name));
    }
    let all = advisories::of_pack(&mut rows, &name).await?;
    Ok(Json(json!({ "advisories": all.iter().map(shown).collect::<Result<Vec<_>, _>>()? })))
}

fn event(name: &PackName, advisory: &Advisory) -> Result<Event, ApiError> {
    Ok(Event::Advisory { name: name.clone(), id: advisory.id.clone(), digest: advisory.digest()? })
}

pub(super) async fn publish(
    State(service): State<Service>,
    caller: Caller,
    path: Path<String>,
    Json(told): Json<Told>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let name = named(&path)?;
    let mut turn = change(&service, &caller, Right::Advisories, &name).await?;
    let advisory = advisories::publish(&mut turn, &name, told, chance::now()?).await?;
    conclude(&service, turn, &caller, &name, (Action::AdvisoryPublish, event(&name, &advisory)?)).await?;
    Ok((StatusCode::CREATED, Json(serde_json::to_value(&advisory)?)))
}

pub(super) async fn replace(
    State(service): State<Service>,
    caller: Caller,
    Path((name, id)): Path<(String, String)>,
    Json(told): Json<Told>,
) -> Result<Json<Value>, ApiError> {
    let name = pack_name(&name)?;
    let mut turn = change(&service, &caller, Right::Advisories, &name).await?;
    let before = advisories::find(&mut turn, &name, &id).await?;
    let advisory = told.advisory(id)?;
    if advisory != before {
        advisories::change(&mut turn, &advisory, chance::now()?).await?;
        conclude(&service, turn, &caller, &name, (Action::AdvisoryChange, event(&name, &advisory)?)).await?;
    }
    Ok(Json(serde_json::to_value(&advisory)?))
}

pub(super) async fn withdraw(
    State(service): State<Service>,
    caller: Caller,
    Path((name, id)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let name = pack_name(&name)?;
    let mut turn = match change(&service, &caller, Right::Advisories, &name).await {
        // A deleted pack has no owner left who could.
        Err(gone) if gone.status == StatusCode::GONE && caller.must_administer(Some(&name)).is_ok() => {
            database::turn(&service.registry.rows).await?
        }
        begun => begun?,
    };
    let advisory = advisories::find(&mut turn, &name, &id).await?;
    advisories::withdraw(&mut turn, &advisory.id, chance::now()?).await?;
    let event = Event::AdvisoryWithdrawn { name: name.clone(), id: advisory.id };
    conclude(&service, turn, &caller, &name, (Action::AdvisoryWithdraw, event)).await?;
    Ok(StatusCode::NO_CONTENT)
}
