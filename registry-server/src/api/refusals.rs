//! Refusals that come from below the handlers: a route, a method, a body or a query that is none, told in the one shape of errors.

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::pages;
use crate::service::Service;

/// More of a refusal than this is not read.
const LONGEST: usize = 4096;

/// Phrases that the libraries below begin with, and what they mean here.
const MEANINGS: [(&str, &str); 6] = [
    ("Failed to deserialize the JSON body into the target type: ", "the body is not what this endpoint takes: "),
    ("Failed to parse the request body as JSON: ", "the body is no JSON: "),
    ("Failed to deserialize query string: ", "the query is not what this endpoint takes: "),
    ("Invalid URL: ", "the path is not one of this endpoint: "),
    ("Expected request with `Content-Type: application/json`", "the body is not said to be JSON"),
    ("Failed to buffer the request body: ", "the body cannot be read: "),
];

/// Whether a path is for programs, which read one shape of errors.
pub(crate) fn is_of_programs(path: &str) -> bool {
    let below = |start: &str| path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below("/api") || below("/v1") || below("/metrics")
}

/// Sends away who asks with a character of number 0, which PostgreSQL keeps nowhere: nothing has such a name.
pub(crate) async fn without_null(State(service): State<Service>, request: Request, next: Next) -> Response {
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    let error = match (path.contains("%00"), query.contains("%00")) {
        (true, _) => ApiError::nowhere(path),
        (false, true) => ApiError::malformed("the query has a character of number 0 (`%00`)").hint("leave it out"),
        (false, false) => return next.run(request).await,
    };
    match is_of_programs(path) {
        true => error.into_response(),
        false => pages::refused(&service, error),
    }
}

/// Gives every refusal of a path for programs the one shape.
pub(crate) async fn uniform(request: Request, next: Next) -> Response {
    let ours = is_of_programs(request.uri().path());
    let path = request.uri().path().to_owned();
    let response = next.run(request).await;
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let shaped = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if !ours || shaped || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let allowed = response.headers().get(header::ALLOW).cloned();
    let text = to_bytes(response.into_body(), LONGEST).await.unwrap_or_default();
    let error = match status {
        StatusCode::NOT_FOUND => ApiError::nowhere(&path),
        status => ApiError::of_status(status, &meaning(&String::from_utf8_lossy(&text))),
    };
    let mut response = error.into_response();
    if let Some(allowed) = allowed {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

/// What a library says, in our words where they are known.
fn meaning(text: &str) -> String {
    let known =
        MEANINGS.iter().find_map(|(theirs, ours)| text.strip_prefix(theirs).map(|rest| format!("{ours}{rest}")));
    known.unwrap_or_else(|| {
        let mut rest = text.chars();
        rest.next().map(|first| format!("{}{}", first.to_lowercase(), rest.as_str())).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_programs() {
        for (path, ours) in [
            ("/api/v1/x", true),
            ("/api", true),
            ("/v1/latest", true),
            ("/apis", false),
            ("/", false),
            ("/packs/v1/a", false),
        ] {
            assert_eq!(is_of_programs(path), ours, "{path}");
        }
    }

    #[test]
    fn libraries_speak_in_our_words() {
        assert_eq!(
            meaning("Failed to parse the request body as JSON: eof at line 1"),
            "the body is no JSON: eof at line 1"
        );
        assert_eq!(meaning("Something else"), "something else");
        assert_eq!(meaning(""), "");
    }
}
