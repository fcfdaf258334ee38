//! The page on which a pack is reported, and that of the administrators, who read reports and put versions into quarantine.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use exo_index::name::PackName;
use exo_index::version::Version;
use serde::Deserialize;

use super::trouble::{PageError, problem_of};
use super::visitor::{Frame, Visitor};
use super::{format, render_private};
use crate::error::ApiError;
use crate::quarantine;
use crate::reports::{self, KINDS, LONGEST_TEXT, NewReport};
use crate::second_factor;
use crate::service::Service;

/// A kind of report, as the form offers it.
struct Choice {
    word: &'static str,
    meaning: &'static str,
    chosen: bool,
}

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    frame: &'a Frame,
    pack: &'a PackName,
    version: &'a str,
    choices: Vec<Choice>,
    text: &'a str,
    longest: usize,
    problem: Option<&'a str>,
    sent: bool,
}

fn pack_name(text: &str) -> Result<PackName, ApiError> {
    PackName::parse(text).map_err(|_| ApiError::absent("there is no such pack", "search for the pack"))
}

fn choices(chosen: &str) -> Vec<Choice> {
    KINDS.iter().map(|(word, meaning)| Choice { word, meaning, chosen: *word == chosen }).collect()
}

/// What an address of the form says.
#[derive(Default, Deserialize)]
pub(super) struct About {
    #[serde(default)]
    pack: String,
    #[serde(default)]
    version: String,
}

pub(super) async fn form(
    Extension(visitor): Extension<Visitor>,
    about: Result<Query<About>, QueryRejection>,
) -> Result<Response, PageError> {
    visitor.must_be_signed_in()?;
    let Query(about) = about.unwrap_or_default();
    render_private(&ReportPage {
        frame: &visitor.frame,
        pack: &pack_name(&about.pack)?,
        version: &about.version,
        choices: choices("malicious"),
        text: "",
        longest: LONGEST_TEXT,
        problem: None,
        sent: false,
    })
}

/// The form, filled in.
#[derive(Deserialize)]
pub(super) struct Filled {
    form_token: String,
    pack: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    text: String,
}

pub(super) async fn report(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let caller = visitor.must_be_signed_in()?;
    let name = pack_name(&filled.pack)?;
    let new = NewReport {
        kind: filled.kind.clone(),
        text: filled.text.clone(),
        version: Some(filled.version.trim().to_owned()),
    };
    let outcome = reports::make(&service, caller, &name, new).await;
    let (status, problem) = match outcome {
        Ok(_) => (StatusCode::OK, None),
        Err(error) => {
            let (status, problem) = problem_of(error)?;
            (status, Some(problem))
        }
    };
    let mut response = render_private(&ReportPage {
        frame: &visitor.frame,
        pack: &name,
        version: &filled.version,
        choices: choices(&filled.kind),
        text: &filled.text,
        longest: LONGEST_TEXT,
        sent: problem.is_none(),
        problem: problem.as_deref(),
    })?;
    *response.status_mut() = status;
    Ok(response)
}

/// One report in the list.
struct ReportRow {
    id: String,
    name: String,
    version: String,
    login: String,
    kind: String,
    text: String,
    at: String,
    closed_by: Option<String>,
    deleted: bool,
}

/// One version in quarantine.
struct Held {
    name: String,
    version: String,
    reason: String,
    /// Its place in the list, for the names of fields.
    place: usize,
}

#[derive(Template)]
#[template(path = "reports.html")]
struct Reports<'a> {
    frame: &'a Frame,
    open: Vec<ReportRow>,
    closed: Vec<ReportRow>,
    held: Vec<Held>,
    name: &'a str,
    version: &'a str,
    reason: &'a str,
    problem: Option<&'a str>,
    asks_for_code: bool,
}

/// What was typed into the form of a quarantine, and what was wrong with it.
#[derive(Default)]
struct Typed {
    name: String,
    version: String,
    reason: String,
    problem: Option<String>,
}

async fn page(service: &Service, visitor: &Visitor, typed: &Typed) -> Result<Response, PageError> {
    let caller = visitor.must_be_signed_in()?;
    let asks_for_code = second_factor::is_asked_for(&service.registry.rows, caller).await?;
    let mut rows = service.registry.rows.acquire().await?;
    let reports = reports::list(&mut rows, caller).await?.into_iter().map(|report| ReportRow {
        id: report.id,
        name: report.name,
        version: report.version,
        login: report.login,
        kind: report.kind,
        text: report.text,
        at: format::time(report.at),
        closed_by: report.closed_by,
        deleted: report.deleted,
    });
    let (open, closed) = reports.partition(|report| report.closed_by.is_none());
    let held = quarantine::all(&mut rows).await?.into_iter().enumerate();
    let held = held.map(|(place, (name, version, reason))| Held {
        name: name.to_string(),
        version: version.to_string(),
        reason,
        place,
    });
    render_private(&Reports {
        frame: &visitor.frame,
        open,
        closed,
        held: held.collect(),
        name: &typed.name,
        version: &typed.version,
        reason: &typed.reason,
        problem: typed.problem.as_deref(),
        asks_for_code,
    })
}

pub(super) async fn list(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    about: Result<Query<About>, QueryRejection>,
) -> Result<Response, PageError> {
    let Query(about) = about.unwrap_or_default();
    page(&service, &visitor, &Typed { name: about.pack, version: about.version, ..Typed::default() }).await
}

/// The form that closes a report.
#[derive(Deserialize)]
pub(super) struct Close {
    form_token: String,
    id: String,
}

pub(super) async fn close(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Form(filled): Form<Close>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let mut rows = service.registry.rows.acquire().await?;
    reports::close(&mut rows, visitor.must_be_signed_in()?, &filled.id).await?;
    Ok(Redirect::to("/reports").into_response())
}

/// The form that puts a version into quarantine, or lifts that.
#[derive(Deserialize)]
pub(super) struct Hold {
    form_token: String,
    pack: String,
    version: String,
    /// Absent to lift it.
    reason: Option<String>,
    #[serde(default)]
    second_factor: String,
}

async fn hold_or_release(service: &Service, visitor: &Visitor, filled: &Hold) -> Result<(), ApiError> {
    let caller = &visitor.must_be_signed_in_with(&filled.second_factor).map_err(|error| error.0)?;
    let name = pack_name(filled.pack.trim())?;
    let version = Version::parse(filled.version.trim()).map_err(|error| ApiError::malformed(error.message))?;
    let reason = filled.reason.as_deref().map(quarantine::reason).transpose()?;
    quarantine::set(service, caller, &name, &version, reason).await
}

pub(super) async fn hold(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Form(filled): Form<Hold>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let (status, problem) = match hold_or_release(&service, &visitor, &filled).await {
        Ok(()) => return Ok(Redirect::to("/reports").into_response()),
        Err(error) => problem_of(error)?,
    };
    let typed = Typed {
        problem: Some(problem),
        name: filled.pack,
        version: filled.version,
        reason: filled.reason.unwrap_or_default(),
    };
    let mut response = page(&service, &visitor, &typed).await?;
    *response.status_mut() = status;
    Ok(response)
}
