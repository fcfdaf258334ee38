//! One id for each request: in the log, in the header `x-request-id` of its answer, and in a refusal.

use std::time::Instant;

use axum::extract::Request;
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;

use crate::chance;

tokio::task_local! {
    static CURRENT: String;
}

/// The id of the request that is being answered.
pub(crate) fn current() -> Option<String> {
    CURRENT.try_with(Clone::clone).ok()
}

/// Gives a request its id, and notes how it was answered. Reading is noted only where much is asked of the log: a client reads
/// many files for each one that is written.
pub(crate) async fn identified(request: Request, next: Next) -> Response {
    let id = chance::id().unwrap_or_default();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let start = Instant::now();
    let mut response = CURRENT.scope(id.clone(), next.run(request)).await;
    let (status, milliseconds) = (response.status().as_u16(), start.elapsed().as_millis());
    match method {
        Method::GET | Method::HEAD if status < 400 => {
            tracing::debug!(request = %id, %method, path, status, milliseconds, "answered");
        }
        _ => tracing::info!(request = %id, %method, path, status, milliseconds, "answered"),
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
}
