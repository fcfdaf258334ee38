//! Who looks at a page: the session in a cookie, and the token that a form must bring back.
//!
//! The cookies are sent by browsers over HTTPS (and to this machine) only, are not seen by scripts, and not sent with forms of other
//! sites. Each form also carries the hash of a secret that only the cookie holds, so a form of another site is refused even by
//! a browser that sends the cookie. The API does not know the cookies.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use super::STYLE_ADDRESS;
use super::trouble::PageError;
use crate::access::{self, Caller, SESSION_LIFE};
use crate::chance;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::service::Service;
use crate::sign_in::HALF_LIFE;

/// The cookie of a session. Browsers take a name with this beginning only with `Secure`, for the whole site, and from this host.
const SESSION: &str = "__Host-exo_session";

/// The cookie that ties a form to a browser in which nobody is signed in.
const FORM: &str = "__Host-exo_form";

/// The cookie of somebody who has shown a password, and no code of the second factor yet.
const HALF: &str = "__Host-exo_half";

/// What surrounds every page.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// The registry's name, as its index is signed.
    pub(crate) registry: String,
    /// Where the style sheet is.
    pub(crate) style: &'static str,
    /// The account that is signed in.
    pub(crate) login: Option<String>,
    /// Sent along with every form.
    pub(crate) form_token: String,
    /// What stands in the search field.
    pub(crate) query: String,
    /// Anybody may make an account.
    pub(crate) open_sign_up: bool,
}

impl Frame {
    /// For somebody of whom nothing is known.
    pub(super) fn bare(service: &Service) -> Self {
        Self {
            registry: service.registry.origin.clone(),
            style: &STYLE_ADDRESS,
            login: None,
            form_token: String::new(),
            query: String::new(),
            open_sign_up: service.open_sign_up,
        }
    }
}

/// Whoever looks.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    pub(super) frame: Frame,
    pub(super) caller: Option<Caller>,
    /// The secret of forms, when it is new and the browser has to be told.
    fresh: Option<String>,
    /// What shows that the password was right, before a code is asked for.
    pub(super) half: Option<String>,
    /// The browser says that another site made it ask.
    foreign: bool,
}

impl Visitor {
    /// Who sends a request.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(super) async fn recognise(service: &Service, headers: &HeaderMap) -> Result<Self, Failure> {
        let mut frame = Frame::bare(service);
        let session = cookie(headers, SESSION);
        let caller = match &session {
            Some(session) => access::caller(&service.registry.rows, session).await?.filter(|caller| caller.session),
            None => None,
        };
        let known = session.filter(|_| caller.is_some()).or_else(|| cookie(headers, FORM));
        let (secret, fresh) = match known {
            Some(secret) => (secret, None),
            None => {
                let secret = chance::secret("")?;
                (secret.clone(), Some(secret))
            }
        };
        frame.form_token = chance::stored(&format!("form {secret}"));
        frame.login = caller.as_ref().map(|caller| caller.login.clone());
        let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
        let half = cookie(headers, HALF);
        Ok(Self { frame, caller, fresh, half, foreign: site.is_some_and(|site| site != "same-origin") })
    }

    /// The account that is signed in.
    ///
    /// # Errors
    /// Nobody is.
    pub(super) fn must_be_signed_in(&self) -> Result<&Caller, PageError> {
        let refused = || ApiError::unauthorized("nobody is signed in in this browser").hint("sign in");
        Ok(self.caller.as_ref().ok_or_else(refused)?)
    }

    /// The account that is signed in, with the code of its second factor that a form carries.
    ///
    /// # Errors
    /// Nobody is.
    pub(super) fn must_be_signed_in_with(&self, code: &str) -> Result<Caller, PageError> {
        let code = code.trim();
        let proof = (!code.is_empty()).then(|| code.to_owned());
        Ok(Caller { proof, ..self.must_be_signed_in()?.clone() })
    }

    /// Whether a form was sent from a page of this registry to this very browser.
    ///
    /// # Errors
    /// It was not.
    pub(super) fn check_form(&self, token: &str) -> Result<(), PageError> {
        // Hashes are compared, so that how long it takes says nothing of the token.
        if self.foreign || chance::stored(token) != chance::stored(&self.frame.form_token) {
            let refused = ApiError::forbidden("the form does not come from a page of this registry, or is too old");
            return Err(refused.hint("go back, load the page again, and allow its cookies").into());
        }
        Ok(())
    }

    /// Tells the browser the secret of its forms, if that is new.
    pub(super) fn remember(&self, mut response: Response) -> Result<Response, PageError> {
        if let Some(secret) = &self.fresh {
            set(&mut response, FORM, secret, 86_400)?;
        }
        Ok(response)
    }
}

/// Puts what shows a right password into the browser, until a code was shown too.
pub(super) fn keep_half(mut response: Response, half: &str) -> Result<Response, PageError> {
    set(&mut response, HALF, half, HALF_LIFE)?;
    Ok(response)
}

/// Puts a session into the browser, or takes it out.
pub(super) fn keep_session(mut response: Response, token: Option<&str>) -> Result<Response, PageError> {
    match token {
        Some(token) => {
            set(&mut response, HALF, "", 0)?;
            set(&mut response, SESSION, token, SESSION_LIFE)?;
        }
        None => set(&mut response, SESSION, "", 0)?,
    }
    Ok(response)
}

fn set(response: &mut Response, name: &str, value: &str, seconds: i64) -> Result<(), Failure> {
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax");
    let value = HeaderValue::from_str(&text).map_err(|error| Failure::new(format!("a cookie: {error}")))?;
    response.headers_mut().append(header::SET_COOKIE, value);
    Ok(())
}

/// The value of a cookie.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(found, value)| *found == name && !value.is_empty())?;
    Some(value.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=1; x__Host-exo_form=2;__Host-exo_form=3"));
        headers.append(header::COOKIE, HeaderValue::from_static("__Host-exo_session="));
        assert_eq!(cookie(&headers, FORM).as_deref(), Some("3"));
        assert_eq!(cookie(&headers, SESSION), None);
        assert_eq!(cookie(&headers, "exo_form"), None);
    }
}
