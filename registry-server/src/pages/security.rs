//! The page where an account's password and second factor are changed, and where its owner sees what was done with it lately.

use std::fmt::Write as _;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use qrcode::{Color, EcLevel, QrCode};
use serde::Deserialize;

use super::events::{Event, SHOWN};
use super::trouble::{PageError, problem_of};
use super::visitor::{Frame, Visitor};
use super::{format, render_private};
use crate::access::Caller;
use crate::accounts::SHORTEST_PASSWORD;
use crate::audit;
use crate::client_address::ClientAddress;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::mails::addresses::{self, Became, Known};
use crate::second_factor::{self, Enrolment, RECOVERY_CODES};
use crate::service::Service;
use crate::sessions;
use crate::sign_in;

/// Where the light border around a QR code ends, in modules; readers need four.
const QUIET: usize = 4;

/// A QR code as one path of an SVG picture.
struct Picture {
    size: usize,
    path: String,
}

impl Picture {
    fn of(text: &str) -> Result<Self, Failure> {
        let code = QrCode::with_error_correction_level(text, EcLevel::M)
            .map_err(|error| Failure::new(format!("a QR code: {error}")))?;
        let width = code.width();
        let mut path = String::new();
        for (place, colour) in code.to_colors().into_iter().enumerate() {
            if colour == Color::Dark {
                // Writing into a string does not fail.
                let _ = write!(path, "M{} {}h1v1h-1z", place % width + QUIET, place / width + QUIET);
            }
        }
        Ok(Self { size: width + 2 * QUIET, path })
    }
}

/// What is to be scanned or typed into an authenticator.
struct Begun {
    /// In groups of four, as it is typed.
    secret: String,
    uri: String,
    picture: Picture,
}

impl Begun {
    fn of(enrolment: &Enrolment) -> Result<Self, Failure> {
        let groups: Vec<_> = enrolment.secret.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
        Ok(Self { secret: groups.join(" "), uri: enrolment.uri.clone(), picture: Picture::of(&enrolment.uri)? })
    }
}

/// What came of a form.
#[derive(Default)]
struct Outcome {
    /// A form went wrong: which part of the page says so, and what.
    problem: Option<(&'static str, String)>,
    /// What went right.
    done: Option<&'static str>,
    codes: Vec<String>,
    begun: Option<Begun>,
    /// A code of what was begun is asked for.
    confirming: bool,
}

/// One session in the list.
struct SessionRow {
    id: String,
    since: String,
    address: Option<String>,
    own: bool,
}

#[derive(Template)]
#[template(path = "security.html")]
struct Security<'a> {
    frame: &'a Frame,
    on: bool,
    codes_left: i64,
    codes_made: usize,
    asks_for_code: bool,
    shortest: usize,
    /// Where mails go, and the address that waits for its link to be followed.
    known: Known,
    sessions: Vec<SessionRow>,
    events: Vec<Event>,
    outcome: &'a Outcome,
}

impl Security<'_> {
    /// What went wrong with a form of the page.
    fn problem(&self, part: &str) -> Option<&str> {
        self.outcome.problem.as_ref().filter(|(of, _)| *of == part).map(|(_, text)| text.as_str())
    }
}

async fn page(service: &Service, frame: &Frame, caller: &Caller, outcome: &Outcome) -> Result<Response, PageError> {
    let rows = &service.registry.rows;
    let (on, codes_left) = match second_factor::state(rows, &caller.login).await? {
        second_factor::State::On { codes } => (true, codes),
        second_factor::State::Off | second_factor::State::Begun => (false, 0),
    };
    let row = |session: sessions::Session| SessionRow {
        id: session.id,
        since: format::time(session.created),
        address: session.address,
        own: session.own,
    };
    render_private(&Security {
        frame,
        on,
        codes_left,
        codes_made: RECOVERY_CODES,
        asks_for_code: second_factor::is_asked_for(rows, caller).await?,
        shortest: SHORTEST_PASSWORD,
        known: addresses::of(&mut *rows.acquire().await?, &caller.login).await?,
        sessions: sessions::list(service, caller).await?.into_iter().map(row).collect(),
        events: audit::of_account(service, caller, &audit::Asked::of(None, SHOWN))
            .await?
            .events
            .into_iter()
            .map(Event::own)
            .collect(),
        outcome,
    })
}

/// The page after a form: with what came of it, or with what was wrong.
async fn after(
    service: &Service,
    visitor: &Visitor,
    part: &'static str,
    result: Result<Outcome, ApiError>,
) -> Result<Response, PageError> {
    let caller = visitor.must_be_signed_in()?;
    match result {
        Ok(outcome) => page(service, &visitor.frame, caller, &outcome).await,
        Err(error) => {
            let (status, problem) = problem_of(error)?;
            let mut outcome = Outcome { problem: Some((part, problem)), ..Outcome::default() };
            // Whoever has the session and not the password never sees the secret, so it is not shown again.
            outcome.confirming = part == CONFIRM;
            let mut response = page(service, &visitor.frame, caller, &outcome).await?;
            *response.status_mut() = status;
            Ok(response)
        }
    }
}

/// The parts of the page that a form may go wrong in.
const PASSWORD: &str = "password";
const EMAIL: &str = "email";
const BEGIN: &str = "begin";
const CONFIRM: &str = "confirm";
const CODES: &str = "codes";
const OFF: &str = "off";

pub(super) async fn show(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Response, PageError> {
    page(&service, &visitor.frame, visitor.must_be_signed_in()?, &Outcome::default()).await
}

/// What the forms of the page send; each sends some of it.
#[derive(Deserialize)]
pub(super) struct Filled {
    form_token: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    new_password: String,
    #[serde(default)]
    again: String,
    #[serde(default)]
    second_factor: String,
    #[serde(default)]
    email: String,
}

pub(super) async fn change_email(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    from: ClientAddress,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let caller = visitor.must_be_signed_in_with(&filled.second_factor)?;
    let result = addresses::change(&service, &from, &caller, filled.password, &filled.email).await;
    let done = |became| match became {
        Became::Asked => "A mail with a link is on its way. Mails go to the new address once the link was followed.",
        Became::Kept => "Mails go to that address.",
        Became::Removed => "Mails go nowhere from now on.",
    };
    let outcome = result.map(|became| Outcome { done: Some(done(became)), ..Outcome::default() });
    after(&service, &visitor, EMAIL, outcome).await
}

pub(super) async fn change_password(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    from: ClientAddress,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let caller = visitor.must_be_signed_in_with(&filled.second_factor)?;
    let result = if filled.new_password == filled.again {
        sign_in::change_password(&service, &from, &caller, filled.password, filled.new_password).await
    } else {
        Err(ApiError::malformed("the two new passwords differ"))
    };
    let done = Some("The password is changed. Other browsers and machines are signed out; tokens go on.");
    after(&service, &visitor, PASSWORD, result.map(|()| Outcome { done, ..Outcome::default() })).await
}

/// The form that ends a session.
#[derive(Deserialize)]
pub(super) struct End {
    form_token: String,
    id: String,
}

pub(super) async fn end_session(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Form(filled): Form<End>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    sessions::end(&service, visitor.must_be_signed_in()?, filled.id).await?;
    Ok(Redirect::to("/account/security").into_response())
}

/// Does what needs the account's password besides the session.
async fn with_password<T>(
    service: &Service,
    visitor: &Visitor,
    from: &ClientAddress,
    filled: &Filled,
    work: impl AsyncFnOnce(&Caller, &str) -> Result<T, ApiError>,
) -> Result<Result<T, ApiError>, PageError> {
    visitor.check_form(&filled.form_token)?;
    let caller = visitor.must_be_signed_in()?;
    Ok(match sign_in::check_own_password(service, from, caller, filled.password.clone()).await {
        Ok(()) => work(caller, &filled.second_factor).await,
        Err(error) => Err(error),
    })
}

pub(super) async fn begin(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    from: ClientAddress,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    let begun = with_password(&service, &visitor, &from, &filled, async |caller, _| {
        Ok(Begun::of(&second_factor::begin(&service.registry, caller).await?)?)
    });
    let begun = begun.await?.map(|begun| Outcome { begun: Some(begun), confirming: true, ..Outcome::default() });
    after(&service, &visitor, BEGIN, begun).await
}

pub(super) async fn confirm(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let result = second_factor::confirm(&service, visitor.must_be_signed_in()?, &filled.second_factor).await;
    let done = Some("The second factor is on. Other browsers and machines are signed out; tokens go on.");
    after(&service, &visitor, CONFIRM, result.map(|codes| Outcome { done, codes, ..Outcome::default() })).await
}

pub(super) async fn new_recovery_codes(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    from: ClientAddress,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    let result = with_password(&service, &visitor, &from, &filled, async |caller, code| {
        second_factor::new_recovery_codes(&service, caller, code).await
    });
    let done = Some(
        "The recovery codes that you had before are good for nothing now. Other browsers and machines are signed out.",
    );
    let outcome = result.await?.map(|codes| Outcome { done, codes, ..Outcome::default() });
    after(&service, &visitor, CODES, outcome).await
}

pub(super) async fn switch_off(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    from: ClientAddress,
    Form(filled): Form<Filled>,
) -> Result<Response, PageError> {
    let result = with_password(&service, &visitor, &from, &filled, async |caller, code| {
        second_factor::switch_off(&service, caller, code).await
    });
    let done = Some(
        "The second factor is off: the password alone is enough to sign in. Other browsers and machines are signed out.",
    );
    after(&service, &visitor, OFF, result.await?.map(|()| Outcome { done, ..Outcome::default() })).await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_finder_in_its_corner_and_a_border() {
        let text = "otpauth://totp/localhost:ada?secret=AAAA";
        let picture = Picture::of(text).unwrap();
        let code = QrCode::with_error_correction_level(text, EcLevel::M).unwrap();
        for (x, y) in (0..code.width()).flat_map(|x| (0..code.width()).map(move |y| (x, y))) {
            let drawn = picture.path.contains(&format!("M{} {}h1", x + QUIET, y + QUIET));
            assert_eq!(drawn, code[(x, y)] == Color::Dark, "{x} {y}");
        }
        assert!(picture.size >= 21 + 2 * QUIET);
        assert!(picture.path.starts_with("M4 4h1v1h-1zM5 4h1"));
        assert!(!picture.path.contains("M3 ") && !picture.path.contains(&format!("M{} ", picture.size - QUIET)));
    }
}
