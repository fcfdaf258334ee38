//! The page of the account that is signed in: its packs and its tokens.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use serde::Deserialize;

use super::format;
use super::listing::Row;
use super::render_private;
use super::trouble::{PageError, problem_of};
use super::visitor::{Frame, Visitor};
use crate::access::{Caller, LONGEST_TOKEN_DAYS, Right};
use crate::chance;
use crate::organisations::{self, Role};
use crate::reports;
use crate::search;
use crate::second_factor;
use crate::service::Service;
use crate::tokens::{self, NewToken};

/// How long a token lasts when nothing else is chosen, in days.
const USUAL_DAYS: i64 = 90;

/// One token in the list.
struct TokenRow {
    id: String,
    name: String,
    rights: String,
    packs: String,
    created: String,
    expires: String,
    expired: bool,
}

/// A right as the form offers it.
struct Choice {
    word: &'static str,
    meaning: &'static str,
    chosen: bool,
}

#[derive(Template)]
#[template(path = "account.html")]
struct Account<'a> {
    frame: &'a Frame,
    login: &'a str,
    administrator: bool,
    /// Reports that wait, for an administrator.
    reports: i64,
    packs: Vec<Row>,
    tokens: Vec<TokenRow>,
    choices: Vec<Choice>,
    /// A token just made: shown now and never again.
    fresh: Option<&'a str>,
    problem: Option<&'a str>,
    name: &'a str,
    globs: &'a str,
    days: &'a str,
    longest: i64,
    /// Whether forms have to carry a code of the second factor.
    asks_for_code: bool,
    /// Whether the account has a second factor.
    second_factor: bool,
    /// The organisations that it is a member of, and as what.
    organisations: Vec<(String, Role)>,
}

/// What was sent, so that it need not be typed again, and what came of it.
#[derive(Default)]
struct Outcome {
    fields: BTreeMap<String, String>,
    fresh: Option<String>,
    problem: Option<String>,
}

async fn page(service: &Service, frame: &Frame, caller: &Caller, outcome: &Outcome) -> Result<Response, PageError> {
    let now = chance::now()?;
    let row = |token: tokens::Listed| TokenRow {
        id: token.id,
        name: if token.name.is_empty() { "(no name)".to_owned() } else { token.name },
        rights: token.rights.join(", "),
        packs: token.packs.join(", "),
        created: format::day(token.created),
        expires: format::day(token.expires),
        expired: token.expires <= now,
    };
    let field = |name: &str| outcome.fields.get(name).map(String::as_str);
    let offered = Right::ALL.into_iter().filter(|right| *right != Right::Admin || caller.administrator);
    let choice = |right: Right| Choice {
        word: right.as_str(),
        meaning: right.meaning(),
        chosen: field(right.as_str()).is_some(),
    };
    let usual = USUAL_DAYS.to_string();
    let account = Account {
        frame,
        login: &caller.login,
        administrator: caller.administrator,
        reports: match caller.administrator {
            true => reports::open(&mut *service.registry.rows.acquire().await?).await?,
            false => 0,
        },
        packs: search::owned(&service.registry.rows, &caller.login).await?.into_iter().map(Row::from).collect(),
        tokens: tokens::list(service, caller).await?.into_iter().map(row).collect(),
        choices: offered.map(choice).collect(),
        fresh: outcome.fresh.as_deref(),
        problem: outcome.problem.as_deref(),
        name: field("name").unwrap_or_default(),
        globs: field("packs").unwrap_or_default(),
        days: field("days").unwrap_or(&usual),
        longest: LONGEST_TOKEN_DAYS,
        asks_for_code: second_factor::is_asked_for(&service.registry.rows, caller).await?,
        organisations: organisations::memberships(&mut *service.registry.rows.acquire().await?, &caller.login).await?,
        second_factor: second_factor::is_on(&service.registry.rows, &caller.login).await?,
    };
    render_private(&account)
}

pub(super) async fn show(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Query(fields): Query<BTreeMap<String, String>>,
) -> Result<Response, PageError> {
    let Some(caller) = &visitor.caller else {
        let lost = if fields.contains_key("kept") { "/sign-in?kept=1" } else { "/sign-in" };
        return Ok(Redirect::to(lost).into_response());
    };
    page(&service, &visitor.frame, caller, &Outcome::default()).await
}

/// The words of a list, with spaces between them as this page has them, or commas as the command line has them.
fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(|char: char| char.is_whitespace() || char == ',').filter(|word| !word.is_empty())
}

pub(super) async fn make_token(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Form(fields): Form<BTreeMap<String, String>>,
) -> Result<Response, PageError> {
    let field = |name: &str| fields.get(name).map(|text| text.trim()).unwrap_or_default();
    visitor.check_form(field("form_token"))?;
    let caller = &visitor.must_be_signed_in_with(field("second_factor"))?;
    let rights = Right::ALL.into_iter().map(Right::as_str).filter(|word| fields.contains_key(*word));
    let new = NewToken {
        name: field("name").to_owned(),
        rights: rights.map(str::to_owned).collect(),
        packs: words(field("packs")).map(str::to_owned).collect(),
        expires_days: field("days").parse().unwrap_or(0),
    };
    match tokens::make(&service, caller, new).await {
        Ok(made) => {
            let outcome = Outcome { fresh: Some(made.token), ..Outcome::default() };
            page(&service, &visitor.frame, caller, &outcome).await
        }
        Err(error) => {
            let (status, problem) = problem_of(error)?;
            let outcome = Outcome { fields, fresh: None, problem: Some(problem) };
            let mut response = page(&service, &visitor.frame, caller, &outcome).await?;
            *response.status_mut() = status;
            Ok(response)
        }
    }
}

/// The form that ends a token.
#[derive(Deserialize)]
pub(super) struct End {
    form_token: String,
    id: String,
}

pub(super) async fn end_token(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Form(filled): Form<End>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    tokens::end(&service, visitor.must_be_signed_in()?, filled.id).await?;
    Ok(Redirect::to("/account").into_response())
}
