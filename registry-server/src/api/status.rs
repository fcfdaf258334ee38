//! Whether the server is well, and what it counted.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use exo_index::registry::layout;
use prometheus::TextEncoder;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::failure::Failure;
use crate::metrics;
use crate::service::Service;

/// The interface as OpenAPI describes it.
pub(crate) const OPENAPI: &str = include_str!("openapi.json");

pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

pub(super) async fn ready(State(service): State<Service>) -> Result<Json<Value>, ApiError> {
    let rows = sqlx::query("SELECT id FROM state").fetch_one(&service.registry.rows).await;
    let files = service.registry.blobs.has(layout::LATEST).await;
    match (rows.is_ok(), files.unwrap_or(false)) {
        (true, true) => Ok(Json(json!({ "status": "ok", "registry": service.registry.origin }))),
        (rows, files) => Err(ApiError::not_ready(match (rows, files) {
            (false, _) => "the database does not answer",
            (true, _) => "the pointer cannot be read",
        })),
    }
}

pub(super) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

pub(super) async fn metrics(State(service): State<Service>) -> Result<impl IntoResponse, ApiError> {
    let counted = TextEncoder::new()
        .encode_to_string(&prometheus::gather())
        .map_err(|error| Failure::new(format!("metrics: {error}")))?;
    let text = counted + &metrics::standing(&service).await;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::string_slice)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The routes as they stand in the source: `method path`.
    fn routed() -> BTreeSet<String> {
        let source: String = include_str!("../api.rs").split_whitespace().collect::<Vec<_>>().join(" ");
        let mut routes = BTreeSet::new();
        for part in source.split(".route(").skip(1) {
            let path = part.split('"').nth(1).unwrap();
            let handlers = part.split("Router::new()").next().unwrap();
            for method in ["get", "post", "put", "delete"] {
                let call = format!("{method}(");
                let called = handlers.match_indices(&call);
                let whole =
                    |(at, _): (usize, &str)| !handlers[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if called.into_iter().any(whole) && path != "/metrics" && !path.starts_with("/v1/") {
                    routes.insert(format!("{method} /api/v1{path}"));
                }
            }
        }
        routes
    }

    #[test]
    fn the_description_has_every_route_and_no_other() {
        let document: Value = serde_json::from_str(OPENAPI).unwrap();
        let mut described = BTreeSet::new();
        // The static files are one route, of which the document names the kinds; the live test asks for each.
        let paths = document["paths"].as_object().unwrap();
        for (path, item) in paths.iter().filter(|(path, _)| path.starts_with("/api/")) {
            described.extend(item.as_object().unwrap().keys().map(|method| format!("{method} {path}")));
        }
        assert_eq!(described, routed());
    }
}
