//! What a request is answered when it is refused: a status, a word for programs, a phrase for people.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::chance;
use crate::failure::{Cause, Failure};
use crate::request;

/// More of a path is not told back.
const LONGEST_PATH: usize = 200;

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

    /// 403, for want of a code that the account's second factor gives.
    pub(crate) fn second_factor(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "second-factor", message)
    }

    /// 404: what is not there, and where to look instead.
    pub(crate) fn absent(message: impl Into<String>, elsewhere: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "absent", message).hint(elsewhere)
    }

    /// 404, of a path where nothing ever is.
    pub(crate) fn nowhere(path: &str) -> Self {
        let shown: String = path.chars().take(LONGEST_PATH).collect();
        Self::absent(
            format!("there is nothing at `{}`", shown.escape_debug()),
            "`/api/v1/openapi.json` lists all paths",
        )
    }

    /// 409.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// 410.
    pub(crate) fn gone(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "gone", message)
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

    /// A refusal of the libraries below, by its status; an empty text says nothing more than that.
    pub(crate) fn of_status(status: StatusCode, text: &str) -> Self {
        let (status, code, usual, hint) = match status {
            StatusCode::METHOD_NOT_ALLOWED => {
                (status, "method", "the path does not take this method", Some("`Allow` lists those that it takes"))
            }
            StatusCode::REQUEST_TIMEOUT => (status, "timeout", "the request took too long", Some("send it again")),
            StatusCode::PAYLOAD_TOO_LARGE => (status, "too-large", "the body is too large", None),
            StatusCode::RANGE_NOT_SATISFIABLE => (status, "range", "there is no such part", None),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => (
                status,
                "media-type",
                "the body is of no kind that this takes",
                Some("send `Content-Type: application/json`"),
            ),
            _ if status.is_server_error() => (status, "failed", "the registry failed to answer", None),
            _ => (StatusCode::BAD_REQUEST, "malformed", "the request is malformed", None),
        };
        // Nothing of an inner failure is told.
        let message = if text.is_empty() || status.is_server_error() { usual } else { text };
        Self { hint: hint.map(str::to_owned), ..Self::new(status, code, message) }
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
        if failure.cause == Cause::NoText {
            return Self::malformed("a text of the request has a character of number 0 (`\\u0000`)")
                .hint("leave it out");
        }
        tracing::error!(%failure, request = request::id(), "a request failed");
        match failure.cause {
            Cause::Inner | Cause::NoText => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", "the registry failed to answer")
                    .hint("whoever runs it finds the reason in its log, under the id of this request")
            }
            Cause::DiskFull => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", "the registry has no room left")
                    .hint("whoever runs it has to make room; then send the same again")
            }
            Cause::Held => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "held",
                "another server of the registry has held what this waits for, and does not go on",
            )
            .hint("send the same again in a minute; where that does not help, whoever runs the registry ends the server that sleeps"),
            Cause::NoDatabase => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "no-database", "the registry does not reach its database")
                    .hint("send the same again in a moment")
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let id = request::id().or_else(|| chance::id().ok()).unwrap_or_default();
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
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(chance::seconds_of_minute()));
        }
        response
    }
}
