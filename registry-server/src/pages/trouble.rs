//! What went wrong, as a page that says so.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::render;
use super::visitor::Frame;
use crate::chance;
use crate::error::ApiError;

/// A refused request of a browser.
#[derive(Debug)]
pub(super) struct PageError(pub(super) ApiError);

impl<E> From<E> for PageError
where
    ApiError: From<E>,
{
    fn from(error: E) -> Self {
        Self(ApiError::from(error))
    }
}

impl IntoResponse for PageError {
    /// An empty answer that carries what the page around it is to say.
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        response.extensions_mut().insert(Trouble {
            status: self.0.status,
            message: sentence(&self.0.message),
            hint: self.0.hint.as_deref().map(sentence),
        });
        response
    }
}

/// A phrase of an error as a sentence.
pub(super) fn sentence(phrase: &str) -> String {
    let mut rest = phrase.chars();
    match rest.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), rest.as_str()),
        None => String::new(),
    }
}

/// What a page says beside its form about a refusal, with the status; a failure of the registry itself is no such thing.
pub(super) fn problem_of(error: ApiError) -> Result<(StatusCode, String), PageError> {
    if error.status.is_server_error() {
        return Err(error.into());
    }
    let texts = [Some(error.message.as_str()), error.hint.as_deref()].into_iter().flatten().map(sentence);
    Ok((error.status, texts.collect::<Vec<_>>().join(" ")))
}

/// What a page says that is there because something went wrong.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    status: StatusCode,
    message: String,
    hint: Option<String>,
}

#[derive(Template)]
#[template(path = "message.html")]
struct Message<'a> {
    frame: &'a Frame,
    heading: &'a str,
    message: &'a str,
    hint: Option<&'a str>,
    request: &'a str,
}

impl Trouble {
    /// What is wrong with an answer: what a page said, or that the request did not come as far as a page.
    pub(super) fn of(response: &mut Response) -> Option<Self> {
        if let Some(trouble) = response.extensions_mut().remove::<Self>() {
            return Some(trouble);
        }
        let status = response.status();
        let plain =
            response.headers().get(header::CONTENT_TYPE).is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
        (status.is_client_error() && plain).then(|| Self {
            status,
            message: "The request is not one that a page of this registry sends.".to_owned(),
            hint: Some("Go back and try again.".to_owned()),
        })
    }

    /// The heading for a status.
    fn heading(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "Sign in first",
            403 => "Not allowed",
            404 => "Not found",
            413 => "Too large",
            429 => "Too many requests",
            500..=599 => "The registry failed",
            _ => "That did not work",
        }
    }

    /// The page.
    pub(super) fn page(&self, frame: &Frame) -> Response {
        let id = chance::id().unwrap_or_default();
        tracing::info!(request = %id, status = self.status.as_u16(), message = %self.message, "refused a page");
        let (message, hint) = (&self.message, self.hint.as_deref());
        let page = render(&Message { frame, heading: self.heading(), message, hint, request: &id });
        let mut response = page.unwrap_or_else(|error| error.0.into_response());
        *response.status_mut() = self.status;
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(chance::seconds_of_minute()));
        }
        response
    }
}
