//! The endpoint of search.

use axum::Json;
use axum::extract::{Query, State};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::search::{self, Asked};
use crate::service::Service;

pub(super) async fn search(
    State(service): State<Service>,
    Query(asked): Query<Asked>,
) -> Result<Json<Value>, ApiError> {
    let (total, packs) = search::search(&service, &asked).await?;
    Ok(Json(json!({ "total": total, "packs": packs })))
}
