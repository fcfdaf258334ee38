//! The pages to sign in, sign up and sign out.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use serde::Deserialize;

use super::render_private;
use super::trouble::{PageError, sentence};
use super::visitor::{Frame, Visitor, keep_session};
use crate::accounts::SHORTEST_PASSWORD;
use crate::client_address::ClientAddress;
use crate::error::ApiError;
use crate::service::Service;
use crate::sign_in::{self as doors, NewAccount};

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
    problem: Option<&'a str>,
    shortest: usize,
}

impl<'a> Entrance<'a> {
    fn empty(frame: &'a Frame, new_account: bool) -> Self {
        Self { frame, new_account, code: "", login: "", problem: None, shortest: SHORTEST_PASSWORD }
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
    match doors::sign_in(&service, &from, login, filled.password).await {
        Ok((token, _)) => {
            // A session that the browser had before ends with it.
            if let Some(before) = &visitor.caller {
                doors::sign_out(&service, before).await?;
            }
            keep_session(Redirect::to("/account?kept=1").into_response(), Some(&token))
        }
        Err(error) => again(&Entrance { login, ..Entrance::empty(&visitor.frame, false) }, error),
    }
}

pub(super) async fn join(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    from: ClientAddress,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let (login, code) = (filled.login.trim(), filled.code.trim());
    let new = NewAccount {
        login: login.to_owned(),
        password: filled.password.clone(),
        email: None,
        code: (!code.is_empty()).then(|| code.to_owned()),
    };
    match doors::sign_up(&service, &from, new).await {
        Ok(()) => {
            let (token, _) = doors::sign_in(&service, &from, login, filled.password).await?;
            keep_session(Redirect::to("/account?kept=1").into_response(), Some(&token))
        }
        Err(error) => again(&Entrance { code, login, ..Entrance::empty(&visitor.frame, true) }, error),
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
