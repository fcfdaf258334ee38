//! The endpoint of search.

use axum::Json;
use axum::extract::{Query, State};

use crate::error::ApiError;
use crate::search::{self, Asked, Results};
use crate::service::Service;

pub(super) async fn search(
    State(service): State<Service>,
    Query(asked): Query<Asked>,
) -> Result<Json<Results>, ApiError> {
    Ok(Json(search::search(&service.registry.rows, &asked).await?))
}
