//! What is known of the request that is being answered, wherever in the program that is: its id, which stands in the log, in the header
//! `x-request-id` of the answer and in a refusal; where it comes from; and the token that it showed. The audit log says all of it.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;

use crate::chance;
use crate::client_address::ClientAddress;
use crate::metrics;

/// A request.
#[derive(Debug)]
struct Asked {
    id: String,
    address: String,
    /// The id of the token, once it was looked up.
    token: OnceLock<String>,
}

tokio::task_local! {
    static CURRENT: Arc<Asked>;
}

/// The id of the request that is being answered.
pub(crate) fn id() -> Option<String> {
    CURRENT.try_with(|asked| asked.id.clone()).ok()
}

/// Where it comes from; empty outside of requests.
pub(crate) fn address() -> String {
    CURRENT.try_with(|asked| asked.address.clone()).unwrap_or_default()
}

/// The id of the token or session that it showed; empty where it showed none.
pub(crate) fn token() -> String {
    CURRENT.try_with(|asked| asked.token.get().cloned().unwrap_or_default()).unwrap_or_default()
}

/// Notes the id of the token that a request showed.
pub(crate) fn showed(token: &str) {
    // A request shows one token, so the first that is found is it.
    let _ = CURRENT.try_with(|asked| asked.token.set(token.to_owned()));
}

/// Gives a request its id, and notes how it was answered. Reading is noted only where much is asked of the log: a client reads
/// many files for each one that is written.
pub(crate) async fn identified(State(behind_proxy): State<bool>, request: Request, next: Next) -> Response {
    let id = chance::id().unwrap_or_default();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let address = ClientAddress::read(behind_proxy, request.headers(), request.extensions()).to_string();
    let start = Instant::now();
    let asked = Arc::new(Asked { id: id.clone(), address, token: OnceLock::new() });
    let mut response = CURRENT.scope(asked, next.run(request)).await;
    metrics::answered(&method, response.status(), start.elapsed());
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
