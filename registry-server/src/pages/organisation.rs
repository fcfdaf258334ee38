//! The page of an organisation: who is in it, the packs of its scope, and for its owners what they may change.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use serde::Deserialize;

use super::events::{Event, SHOWN};
use super::listing::Row;
use super::trouble::{PageError, problem_of};
use super::visitor::{Frame, Visitor};
use super::{render, render_private};
use crate::audit;
use crate::error::ApiError;
use crate::membership;
use crate::organisations::{self, Role};
use crate::search;
use crate::second_factor;
use crate::service::Service;

/// A member in the list.
struct Member {
    login: String,
    role: Role,
    /// Whoever looks.
    own: bool,
}

impl Member {
    fn is_owner(&self) -> bool {
        self.role == Role::Owner
    }

    /// The role that a button gives instead.
    const fn other(&self) -> Role {
        match self.role {
            Role::Owner => Role::Publisher,
            Role::Publisher => Role::Owner,
        }
    }
}

#[derive(Template)]
#[template(path = "organisation.html")]
struct Organisation<'a> {
    frame: &'a Frame,
    name: &'a str,
    verified: bool,
    members: Vec<Member>,
    packs: Vec<Row>,
    may_change: bool,
    may_verify: bool,
    asks_for_code: bool,
    /// What was done lately, for who may read it.
    events: Vec<Event>,
    problem: Option<&'a str>,
    /// What was typed before, kept when it was refused.
    login: &'a str,
}

/// The address of an organisation's page.
pub(super) fn address(name: &str) -> String {
    format!("/organisations/{name}")
}

async fn page(
    service: &Service,
    visitor: &Visitor,
    name: &str,
    problem: Option<&str>,
    login: &str,
) -> Result<Response, PageError> {
    let registry = &service.registry;
    let mut rows = registry.rows.acquire().await?;
    let members = organisations::members(&mut rows, name).await?;
    if members.is_empty() {
        return Err(membership::absent(name).into());
    }
    let (may_change, may_verify) = match &visitor.caller {
        Some(caller) => (membership::may_change(&mut rows, caller, name).await?, caller.administrator),
        None => (false, false),
    };
    let verified = organisations::is_verified(&mut rows, name).await?;
    drop(rows);
    let asks_for_code = match &visitor.caller {
        Some(caller) => second_factor::is_asked_for(&registry.rows, caller).await?,
        None => false,
    };
    // Members read what was done, and nobody else is told that there is something to read.
    let events = match &visitor.caller {
        Some(caller) => {
            let part = audit::of_organisation(service, caller, name, &audit::Asked::of(None, SHOWN)).await;
            part.map(|part| part.events).unwrap_or_default()
        }
        None => Vec::new(),
    };
    let own = visitor.frame.login.as_deref();
    let member = |(login, role): (String, Role)| Member { own: own == Some(login.as_str()), login, role };
    let page = Organisation {
        frame: &visitor.frame,
        name,
        verified,
        members: members.into_iter().map(member).collect(),
        packs: search::of_scope(&registry.rows, name).await?.into_iter().map(Row::from).collect(),
        may_change,
        may_verify,
        asks_for_code,
        events: events.into_iter().map(Event::of_somebody).collect(),
        problem,
        login,
    };
    if visitor.caller.is_some() { render_private(&page) } else { render(&page) }
}

pub(super) async fn show(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
) -> Result<Response, PageError> {
    page(&service, &visitor, &name, None, "").await
}

/// What a button does.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Act {
    /// Make somebody a member, or give another role.
    Set,
    /// Take membership from somebody, or leave.
    Remove,
    Verify,
    Unverify,
}

/// What the forms of the page send; each sends some of it.
#[derive(Deserialize)]
pub(super) struct Filled {
    form_token: String,
    act: Act,
    #[serde(default)]
    login: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    second_factor: String,
}

pub(super) async fn act(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let caller = &visitor.must_be_signed_in_with(&filled.second_factor)?;
    let login = filled.login.trim();
    let result = match filled.act {
        Act::Set => match Role::parse(&filled.role) {
            Some(role) => membership::set(&service, caller, &name, login, role).await,
            None => Err(ApiError::malformed("a member is an owner or a publisher")),
        },
        Act::Remove => membership::remove(&service, caller, &name, login).await,
        Act::Verify => membership::verify(&service, caller, &name, true).await,
        Act::Unverify => membership::verify(&service, caller, &name, false).await,
    };
    match result {
        Ok(()) => Ok(Redirect::to(&address(&name)).into_response()),
        Err(error) => {
            let (status, problem) = problem_of(error)?;
            let mut response = page(&service, &visitor, &name, Some(&problem), login).await?;
            *response.status_mut() = status;
            Ok(response)
        }
    }
}

/// The form that makes an organisation.
#[derive(Deserialize)]
pub(super) struct New {
    form_token: String,
    name: String,
}

pub(super) async fn create(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Form(filled): Form<New>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let name = filled.name.trim().trim_start_matches('@');
    membership::create(&service, visitor.must_be_signed_in()?, name).await?;
    Ok(Redirect::to(&address(name)).into_response())
}
