//! The page that the link in a mail leads to. Opening it changes nothing, since programs that look through mails open links too.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::{Extension, Form};
use serde::Deserialize;

use super::render_private;
use super::trouble::{PageError, problem_of};
use super::visitor::{Frame, Visitor};
use crate::client_address::ClientAddress;
use crate::mails::addresses;
use crate::service::Service;

#[derive(Template)]
#[template(path = "confirmation.html")]
struct Confirmation<'a> {
    frame: &'a Frame,
    code: &'a str,
    /// The account whose address is confirmed now.
    login: Option<&'a str>,
    problem: Option<&'a str>,
}

/// What the link says.
#[derive(Default, Deserialize)]
pub(super) struct Link {
    #[serde(default)]
    code: String,
}

pub(super) async fn show(
    Extension(visitor): Extension<Visitor>,
    link: Result<Query<Link>, QueryRejection>,
) -> Result<Response, PageError> {
    let Query(Link { code }) = link.unwrap_or_default();
    let page = Confirmation { frame: &visitor.frame, code: &code, login: None, problem: None };
    visitor.remember(render_private(&page)?)
}

/// The form that confirms.
#[derive(Deserialize)]
pub(super) struct Filled {
    form_token: String,
    code: String,
}

pub(super) async fn confirm(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    from: ClientAddress,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let page = Confirmation { frame: &visitor.frame, code: "", login: None, problem: None };
    match addresses::confirm(&service, &from, &filled.code).await {
        Ok(login) => render_private(&Confirmation { login: Some(&login), ..page }),
        Err(error) => {
            let (status, problem) = problem_of(error)?;
            let mut response = render_private(&Confirmation { problem: Some(&problem), ..page })?;
            *response.status_mut() = status;
            Ok(response)
        }
    }
}
