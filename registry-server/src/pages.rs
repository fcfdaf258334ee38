//! The web pages: rendered on the server, complete without script, safe against what packs say of themselves.

mod account;
mod confirmation;
mod entrance;
mod events;
pub(crate) mod format;
mod guarding;
mod listing;
mod log;
mod markdown;
mod organisation;
mod pack;
mod security;
mod trouble;
mod visitor;

use std::sync::LazyLock;

use askama::Template;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderName, HeaderValue, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use exo_index::digest::Sha256;

use crate::api::refusals::is_of_programs;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::service::Service;
use trouble::{PageError, Trouble};
use visitor::{Frame, Visitor};

/// The style sheet of all pages.
const STYLE: &str = include_str!("../templates/style.css");

/// The icon of all pages.
const ICON: &str = include_str!("../templates/icon.svg");

/// The largest form, in bytes.
const LARGEST_FORM: usize = 64 << 10;

/// Where the style sheet is: its address changes with its text, so that it can be kept for ever.
static STYLE_ADDRESS: LazyLock<String> = LazyLock::new(|| {
    let digest: String = Sha256::of(STYLE.as_bytes()).to_string().chars().take(16).collect();
    format!("/static/style.css?{digest}")
});

/// What all answers of pages say to browsers: load the style sheet and the icon of this registry and nothing else, run no script,
/// send forms here only, stand in nobody's frame.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// All pages, and what is said of an address where nothing is.
pub(crate) fn routes(service: &Service) -> Router<Service> {
    Router::new()
        .route("/", get(listing::home))
        .route("/search", get(listing::search))
        .route("/users/{login}", get(listing::user))
        .route("/organisations", post(organisation::create))
        .route("/organisations/{name}", get(organisation::show).post(organisation::act))
        .route("/packs/{*place}", get(pack::show).post(pack::act))
        .route("/sign-in", get(entrance::sign_in).post(entrance::enter))
        .route("/sign-in/code", get(entrance::ask_for_code).post(entrance::enter_code))
        .route("/sign-up", get(entrance::sign_up).post(entrance::join))
        .route("/sign-out", post(entrance::leave))
        .route("/account", get(account::show))
        .route("/account/security", get(security::show))
        .route("/account/sessions/end", post(security::end_session))
        .route("/account/password", post(security::change_password))
        .route("/account/email", post(security::change_email))
        .route("/account/confirm", get(confirmation::show).post(confirmation::confirm))
        .route("/account/second-factor", post(security::begin))
        .route("/account/second-factor/confirm", post(security::confirm))
        .route("/account/second-factor/codes", post(security::new_recovery_codes))
        .route("/account/second-factor/off", post(security::switch_off))
        .route("/account/tokens", post(account::make_token))
        .route("/account/tokens/end", post(account::end_token))
        .route("/report", get(guarding::form).post(guarding::report))
        .route("/reports", get(guarding::list))
        .route("/reports/close", post(guarding::close))
        .route("/reports/quarantine", post(guarding::hold))
        .route("/audit", get(log::show))
        .route("/static/style.css", get(|| async { kept("text/css; charset=utf-8", STYLE) }))
        .route("/static/icon.svg", get(|| async { kept("image/svg+xml", ICON) }))
        .fallback(nowhere)
        .layer(DefaultBodyLimit::max(LARGEST_FORM))
        .layer(from_fn_with_state(service.clone(), dress))
}

/// Something that browsers may keep.
fn kept(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "public, max-age=86400")], text)
}

/// An address where nothing is; told as a page, but below the paths of programs as these are told.
async fn nowhere(uri: Uri) -> Response {
    match is_of_programs(uri.path()) {
        true => ApiError::nowhere(uri.path()).into_response(),
        false => PageError::from(ApiError::absent("there is nothing here", "search for the pack")).into_response(),
    }
}

/// A page for who is refused before it is known who that is.
pub(crate) fn refused(service: &Service, error: ApiError) -> Response {
    let mut response = PageError::from(error).into_response();
    if let Some(trouble) = Trouble::of(&mut response) {
        response = trouble.page(&Frame::bare(service));
    }
    dressed(response)
}

/// Finds out who visits, renders what went wrong, and adds the headers of all pages.
async fn dress(State(service): State<Service>, mut request: Request, next: Next) -> Response {
    let visitor = Visitor::recognise(&service, request.headers()).await;
    let (mut response, frame) = match visitor {
        Ok(visitor) => {
            let frame = visitor.frame.clone();
            request.extensions_mut().insert(visitor);
            (next.run(request).await, frame)
        }
        Err(error) => (PageError::from(error).into_response(), Frame::bare(&service)),
    };
    if let Some(trouble) = Trouble::of(&mut response) {
        response = trouble.page(&frame);
    }
    dressed(response)
}

/// The answer with the headers of all pages.
fn dressed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Pages say who is signed in.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
    response
}

/// The answer with a page.
fn render(page: &impl Template) -> Result<Response, PageError> {
    let text = page.render().map_err(|error| Failure::new(format!("a page: {error}")))?;
    Ok(Html(text).into_response())
}

/// The answer with a page that holds what nobody else should see: it is not kept anywhere.
fn render_private(page: &impl Template) -> Result<Response, PageError> {
    let mut response = render(page)?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
