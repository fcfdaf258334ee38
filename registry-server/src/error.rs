//! What a request is answered when it is refused: a status, a word for programs, a phrase for people.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::chance;
use crate::failure::Failure;

/// A refused request.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) diagnostics: Vec<Value>,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None, diagnostics: Vec::new() }
    }

    /// 400.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", message)
    }

    /// 401.
    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    /// 403.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// 404.
    pub(crate) fn absent(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "absent", message)
    }

    /// 409.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// 413.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message)
    }

    /// 429.
    pub(crate) fn too_many(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many", message)
    }

    /// 503.
    pub(crate) fn not_ready(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", message)
    }

    /// Says what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl<E: Into<Failure>> From<E> for ApiError {
    /// Nothing of an inner failure is told to whoever asked; it stands in the log, under the id of the answer.
    fn from(error: E) -> Self {
        let failure: Failure = error.into();
        tracing::error!(%failure, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", "the registry failed to answer")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let id = chance::id().unwrap_or_default();
        tracing::info!(request = %id, status = self.status.as_u16(), code = self.code, message = %self.message, "refused");
        let body = json!({
            "error": {
                "code": self.code,
                "message": self.message,
                "hint": self.hint,
                "diagnostics": self.diagnostics,
            },
            "request": id,
        });
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
        }
        response
    }
}
