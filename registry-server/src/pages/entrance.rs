//! The pages to sign in, sign up and sign out.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use serde::Deserialize;

use super::render_private;
use super::trouble::{PageError, problem_of, sentence};
use super::visitor::{Frame, Visitor, keep_half, keep_session};
use crate::accounts::SHORTEST_PASSWORD;
use crate::client_address::ClientAddress;
use crate::error::ApiError;
use crate::service::Service;
use crate::sign_in::{self as doors, Door, NewAccount};

/// Signing in, or making an account.
#[derive(Template)]
#[template(path = "entrance.html")]
struct Entrance<'a> {
    frame: &'a Frame,
    /// Make an account instead.
    new_account: bool,
    /// The code of a one-time link, carried along.
    code: &'a str,
    /// What was typed before, kept when it was refused.
    login: &'a str,
    email: &'a str,
    problem: Option<&'a str>,
    shortest: usize,
}

impl<'a> Entrance<'a> {
    fn empty(frame: &'a Frame, new_account: bool) -> Self {
        Self { frame, new_account, code: "", login: "", email: "", problem: None, shortest: SHORTEST_PASSWORD }
    }
}

/// What the address of an entrance says.
#[derive(Default, Deserialize)]
pub(super) struct Arrival {
    #[serde(default)]
    code: String,
    /// Set by the registry after signing in, to see whether the browser kept the session.
    kept: Option<String>,
}

pub(super) async fn sign_in(
    Extension(visitor): Extension<Visitor>,
    arrival: Result<Query<Arrival>, QueryRejection>,
) -> Result<Response, PageError> {
    if visitor.caller.is_some() {
        return Ok(Redirect::to("/account").into_response());
    }
    let lost = arrival.is_ok_and(|Query(arrival)| arrival.kept.is_some());
    let problem =
        "The browser did not keep the session. Allow cookies, and use HTTPS: browsers keep it over nothing else.";
    let page = Entrance { problem: lost.then_some(problem), ..Entrance::empty(&visitor.frame, false) };
    visitor.remember(render_private(&page)?)
}

pub(super) async fn sign_up(
    Extension(visitor): Extension<Visitor>,
    arrival: Result<Query<Arrival>, QueryRejection>,
) -> Result<Response, PageError> {
    let Query(arrival) = arrival.unwrap_or_default();
    let page = Entrance { code: &arrival.code, ..Entrance::empty(&visitor.frame, true) };
    visitor.remember(render_private(&page)?)
}

/// What the form of an entrance sends.
#[derive(Deserialize)]
pub(super) struct Filled {
    form_token: String,
    login: String,
    password: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    email: String,
}

/// The same page again with what was wrong, unless the registry itself failed.
fn again(page: &Entrance<'_>, error: ApiError) -> Result<Response, PageError> {
    if error.status.is_server_error() {
        return Err(error.into());
    }
    let status = if error.status == StatusCode::UNAUTHORIZED { StatusCode::FORBIDDEN } else { error.status };
    let problem = sentence(&error.message);
    let page = Entrance { problem: Some(&problem), ..*page };
    let mut response = render_private(&page)?;
    *response.status_mut() = status;
    Ok(response)
}

pub(super) async fn enter(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    from: ClientAddress,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let login = filled.login.trim();
    match doors::enter(&service, &from, login, filled.password).await {
        Ok(door) => go_through(&service, &visitor, door).await,
        Err(error) => again(&Entrance { login, ..Entrance::empty(&visitor.frame, false) }, error),
    }
}

/// Lets somebody in, or asks for a code first.
async fn go_through(service: &Service, visitor: &Visitor, door: Door) -> Result<Response, PageError> {
    match door {
        Door::Half(half) => keep_half(Redirect::to("/sign-in/code").into_response(), &half),
        Door::Open(token, _) => {
            // A session that the browser had before ends with it.
            if let Some(before) = &visitor.caller {
                doors::sign_out(service, before).await?;
            }
            keep_session(Redirect::to("/account?kept=1").into_response(), Some(&token))
        }
    }
}

/// Asking for a code of the second factor.
#[derive(Template)]
#[template(path = "entrance_code.html")]
struct AskForCode<'a> {
    frame: &'a Frame,
    problem: Option<&'a str>,
}

pub(super) async fn ask_for_code(Extension(visitor): Extension<Visitor>) -> Result<Response, PageError> {
    if visitor.half.is_none() {
        return Ok(Redirect::to("/sign-in?kept=1").into_response());
    }
    visitor.remember(render_private(&AskForCode { frame: &visitor.frame, problem: None })?)
}

/// The form with the code.
#[derive(Deserialize)]
pub(super) struct Code {
    form_token: String,
    code: String,
}

pub(super) async fn enter_code(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    from: ClientAddress,
    Form(filled): Form<Code>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    match doors::finish(&service, &from, visitor.half.as_deref().unwrap_or_default(), &filled.code).await {
        Ok(door) => go_through(&service, &visitor, door).await,
        Err(error) if error.status == StatusCode::UNAUTHORIZED => Err(error.into()),
        Err(error) => {
            let (status, problem) = problem_of(error)?;
            let mut response = render_private(&AskForCode { frame: &visitor.frame, problem: Some(&problem) })?;
            *response.status_mut() = status;
            Ok(response)
        }
    }
}

pub(super) async fn join(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    from: ClientAddress,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let (login, code, email) = (filled.login.trim(), filled.code.trim(), filled.email.trim());
    let new = NewAccount {
        login: login.to_owned(),
        password: filled.password.clone(),
        email: (!email.is_empty()).then(|| email.to_owned()),
        code: (!code.is_empty()).then(|| code.to_owned()),
    };
    match doors::sign_up(&service, &from, new).await {
        Ok(()) => {
            let door = doors::enter(&service, &from, login, filled.password).await?;
            go_through(&service, &visitor, door).await
        }
        Err(error) => again(&Entrance { code, login, email, ..Entrance::empty(&visitor.frame, true) }, error),
    }
}

/// The form that signs out.
#[derive(Deserialize)]
pub(super) struct Leave {
    form_token: String,
}

pub(super) async fn leave(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Form(filled): Form<Leave>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    if let Some(caller) = &visitor.caller {
        doors::sign_out(&service, caller).await?;
    }
    keep_session(Redirect::to("/").into_response(), None)
}
