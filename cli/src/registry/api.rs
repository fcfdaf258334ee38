//! The HTTP interface of a registry: one request with a token, and what a refusal means to a person.
//!
//! A token goes to the URL it is for and nowhere else: redirects are not followed, and without TLS nothing secret is sent to
//! another machine unless the configuration allows it.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::time::Duration;

use exo_index::visible::shown;
use serde_json::Value;
use ureq::http::request::Builder;
use ureq::http::{Request, Response, StatusCode, Uri};

use crate::failure::{Failure, Outcome};
use crate::question;
use crate::registry::configuration::{Configured, Registries};
use crate::registry::credentials::{self, Origin, Secret};
use crate::registry::hearing::{self, hung_up};
use crate::settings::Settings;
use crate::terminal::{self, Loudness, Terminal};

/// How long a whole answer may take, an upload included.
const TIME: Duration = Duration::from_secs(300);
/// How long an answer may take to begin once all is sent; longer than a registry may be asked to hold one back.
const TIME_TO_ANSWER: Duration = Duration::from_secs(60);
/// After how long it is said for whom a command waits.
const TOLD: Duration = Duration::from_secs(3);
/// From this size of a body on, a registry is asked whether it takes it before it is sent: one that does not, answers and hangs up, and
/// whoever is still sending then does not get to see the answer.
const ASKED_FIRST: usize = 64 << 10;
/// How long it may take until there is a connection.
const TIME_TO_CONNECT: Duration = Duration::from_secs(15);
/// The largest answer, in bytes: diagnostics of many packs.
const LARGEST_ANSWER: u64 = 64 << 20;

/// An answer, or that none came.
type Sent = Result<Response<ureq::Body>, ureq::Error>;

/// What a person is asked who has a second factor.
pub(crate) const CODE: &str = "code of your second factor, or a recovery code: ";

/// A registry to talk to.
#[derive(Debug)]
pub(crate) struct Api {
    pub(crate) url: String,
    agent: ureq::Agent,
    token: Option<(Secret, Origin)>,
    /// Whether it is said that a registry is slow.
    tells: bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Unanswered {
    pub(crate) failure: Box<Failure>,
    /// Nothing listened there, so that the request has not begun to be sent.
    pub(crate) nobody_there: bool,
    /// What something answered that is no registry.
    status: Option<u16>,
}

impl Unanswered {
    /// Whether there is no such operation: files behind a web server.
    pub(crate) fn is_for_want_of_the_operation(&self) -> bool {
        self.status.is_some_and(no_such_operation)
    }
}

const fn no_such_operation(status: u16) -> bool {
    matches!(status, 404 | 405 | 501)
}

impl From<Box<Failure>> for Unanswered {
    fn from(failure: Box<Failure>) -> Self {
        Unanswered { failure, nobody_there: false, status: None }
    }
}

/// What a registry said instead of an answer.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    code: String,
    message: String,
    hint: Option<String>,
    request: String,
    /// For how many seconds the registry wants to hear nothing.
    retry_after: Option<u64>,
}

impl Refused {
    /// What is said of something that was there and was deleted.
    pub(crate) fn of_what_is_gone(&self) -> Option<&str> {
        (self.status == 410).then_some(self.message.as_str())
    }

    /// Whether there is no such operation, as in an older registry.
    pub(crate) fn is_for_want_of_the_operation(&self) -> bool {
        no_such_operation(self.status)
    }

    /// Whether a code of the account's second factor is missing, or was wrong.
    pub(crate) fn is_for_want_of_a_code(&self) -> bool {
        self.code == "second-factor"
    }
}

/// What a request carries.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    Nothing,
    Json(&'a Value),
    Bytes(&'a [u8]),
}

/// A piece of a URL: everything but letters, digits and `-._~` is encoded.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// Whether secrets may be sent there.
fn is_private(registry: &Configured) -> Outcome<()> {
    let url = &registry.url;
    let wrong = |why: &str| Failure::usage(format!("registry `{url}` {why}"));
    if url.starts_with("file://") {
        return Err(wrong("is a folder, which has no accounts and takes no packs")
            .hint("name the server that writes the folder, with --registry or EXO_REGISTRY"));
    }
    let uri: Uri = url.parse().map_err(|_| wrong("has no sound URL"))?;
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong("has a login in its URL").hint("take it out of the URL and run `exo login`"));
    }
    let here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if here || registry.plain_http => Ok(()),
        Some("http") => Err(wrong("has no TLS, so everybody on the way could read your password or token")
            .hint("use its https:// URL; `plain-http = true` below `[registries.NAME]` allows it all the same")),
        _ => Err(wrong("has no URL that starts with https:// or http://")),
    }
}

impl Api {
    /// Requests without a token.
    pub(crate) fn anonymous(settings: &Settings, registry: &Configured) -> Outcome<Self> {
        if settings.offline {
            return Err(Failure::usage("--offline: this command talks to a registry").hint("run it without --offline"));
        }
        is_private(registry)?;
        let configuration = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIME))
            .timeout_connect(Some(TIME_TO_CONNECT))
            .timeout_recv_response(Some(TIME_TO_ANSWER))
            .max_redirects(0)
            .user_agent(concat!("exo/", env!("CARGO_PKG_VERSION")))
            .build();
        let tells = settings.loudness >= Loudness::Normal;
        Ok(Api { url: registry.url.clone(), agent: hearing::agent(configuration), token: None, tells })
    }

    /// Requests to a URL that stands for no configured registry.
    #[cfg(test)]
    pub(crate) fn at(url: String) -> Self {
        let agent = hearing::agent(ureq::Agent::config_builder().http_status_as_error(false).build());
        Api { url, agent, token: None, tells: false }
    }

    /// Requests with the token that there is for the registry.
    pub(crate) fn open(settings: &Settings, registries: &Registries, registry: &Configured) -> Outcome<Self> {
        let api = Self::anonymous(settings, registry)?;
        Ok(Api { token: Some(credentials::token(settings, registries, registry)?), ..api })
    }

    /// The same registry with this token.
    pub(crate) fn with(self, token: Secret, origin: Origin) -> Self {
        Api { token: Some((token, origin)), ..self }
    }

    pub(crate) fn origin(&self) -> Option<Origin> {
        self.token.as_ref().map(|(_, origin)| *origin)
    }

    /// One request below `api/v1/`.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Body<'_>) -> Outcome<Value> {
        self.attempt(method, path, body)?.map_err(|refused| self.failure(refused))
    }

    /// Like [`Api::ask`], for what a registry may want a code of the second factor for. A person is asked for one that was not given.
    pub(crate) fn ask_proven(
        &self,
        terminal: &Terminal,
        code: Option<&str>,
        method: &str,
        path: &str,
        body: Body<'_>,
    ) -> Outcome<Value> {
        let refused = match self.attempt_with(code, method, path, body)? {
            Ok(value) => return Ok(value),
            Err(refused) => refused,
        };
        if code.is_some() || !refused.is_for_want_of_a_code() {
            return Err(self.failure(refused));
        }
        if !question::somebody() {
            return Err(self.failure(refused).hint("give it with --code CODE"));
        }
        let typed = question::visible(terminal, CODE)?;
        self.attempt_with(Some(&typed), method, path, body)?.map_err(|refused| self.failure(refused))
    }

    /// Like [`Api::ask`], for who can do something about a refusal.
    pub(crate) fn attempt(&self, method: &str, path: &str, body: Body<'_>) -> Outcome<Result<Value, Refused>> {
        self.attempt_with(None, method, path, body)
    }

    fn attempt_with(
        &self,
        code: Option<&str>,
        method: &str,
        path: &str,
        body: Body<'_>,
    ) -> Outcome<Result<Value, Refused>> {
        self.deliver(code, method, path, body).map_err(|unanswered| unanswered.failure)
    }

    /// Like [`Api::attempt`], for who can do something about an answer that does not come.
    pub(crate) fn deliver(
        &self,
        code: Option<&str>,
        method: &str,
        path: &str,
        body: Body<'_>,
    ) -> Result<Result<Value, Refused>, Unanswered> {
        let url = format!("{}/api/v1/{path}", self.url);
        let mut request = Request::builder().method(method).uri(&url);
        if let Some((token, _)) = &self.token {
            request = request.header("authorization", format!("Bearer {}", token.expose()));
        }
        if let Some(code) = code {
            request = request.header("exo-code", code);
        }
        crate::filesystem::count_request();
        // A registry that was asked to wait is not slow.
        let told = (self.tells && !path.contains("wait=")).then_some(TOLD);
        let sent = terminal::while_waiting(told, &format!("for {}", self.url), || self.send(request, method, body));
        crate::filesystem::count_request();
        let sent = sent.map_err(|_| Failure::usage(format!("`{url}` is no sound URL")))?;
        let mut answer = sent.map_err(|error| unanswered(&url, &error, body))?;
        let status = answer.status().as_u16();
        if (300..400).contains(&status) {
            return Err(Failure::refused(format!("`{url}` is somewhere else now, says the registry"))
                .note("nothing was sent there: a password or a token goes to the registry that it is for only")
                .hint("if it has moved, use its new URL and run `exo login` there")
                .into());
        }
        let retry_after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let bytes = answer.body_mut().with_config().limit(LARGEST_ANSWER).read_to_vec();
        let bytes = bytes.map_err(|error| unanswered(&url, &error, body))?;
        let value: Option<Value> =
            if bytes.is_empty() { Some(Value::Null) } else { serde_json::from_slice(&bytes).ok() };
        match (status, value) {
            (200..300, Some(value)) => Ok(Ok(value)),
            (_, value) => match refused(status, value.as_ref()) {
                Some(refused) => Ok(Err(Refused { retry_after, ..refused })),
                None => Err(Unanswered { status: Some(status), ..strange(&url, answer.status(), retry_after).into() }),
            },
        }
    }

    /// What comes back of a request, or that it cannot be made.
    fn send(&self, request: Builder, method: &str, body: Body<'_>) -> Result<Sent, ureq::http::Error> {
        Ok(match body {
            Body::Nothing if matches!(method, "GET" | "DELETE") => self.agent.run(request.body(())?),
            Body::Nothing => self.agent.run(request.body(&b""[..])?),
            Body::Bytes(bytes) => {
                let asks = bytes.len() >= ASKED_FIRST;
                let request = if asks { request.header("expect", "100-continue") } else { request };
                self.agent.run(request.body(bytes)?)
            }
            Body::Json(value) => {
                let request = request.header("content-type", "application/json");
                self.agent.run(request.body(value.to_string())?)
            }
        })
    }

    /// What a refusal means to a person.
    pub(crate) fn failure(&self, refused: Refused) -> Box<Failure> {
        let said = format!("registry `{}`: {}", self.url, refused.message);
        let mut failure = match refused.status {
            429 | 500.. => Failure::environment(said),
            _ => Failure::refused(said),
        };
        if refused.status >= 500 && !refused.request.is_empty() {
            failure = failure.note(format!("the registry's log has it as request {}", refused.request));
        }
        if let Some(hint) = refused.hint {
            failure = failure.hint(hint);
        }
        if let Some(seconds) = refused.retry_after {
            failure = failure.hint(format!("try again in {seconds} s"));
        }
        match (refused.status, self.origin()) {
            (401, Some(origin)) => failure.hint(origin.hint()),
            (403, Some(Origin::Variable)) => {
                failure.hint("the token is the one in EXO_TOKEN, which goes before what `exo login` keeps")
            }
            (500.., ..) => failure.hint("try again later, or ask who runs the registry"),
            (429, _) if failure.hints.is_empty() => failure.hint("try again in a minute"),
            _ => failure,
        }
    }
}

/// That no answer came, with what is known of why.
fn unanswered(url: &str, error: &ureq::Error, body: Body<'_>) -> Unanswered {
    let nobody_there = matches!(error, ureq::Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused);
    let size = match body {
        Body::Nothing => 0,
        Body::Json(value) => value.to_string().len(),
        Body::Bytes(bytes) => bytes.len(),
    };
    let failure = match error {
        ureq::Error::Io(io) if hung_up(io) && size > 0 => {
            unreachable(url, &format!("it hung up before it had taken all {size} bytes, and did not say why"))
                .hint("a proxy on the way may not take bodies of this size; who runs the registry can tell")
        }
        ureq::Error::Io(io) if hung_up(io) => unreachable(url, "it hung up without an answer"),
        _ if nobody_there => unreachable(url, "nothing listens there (connection refused)"),
        ureq::Error::Io(io) => unreachable(url, &io.to_string()),
        ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => {
            unreachable(url, &format!("there was no connection in {} s", TIME_TO_CONNECT.as_secs()))
        }
        ureq::Error::Timeout(ureq::Timeout::RecvResponse) => {
            unreachable(url, &format!("it took the request and did not answer in {} s", TIME_TO_ANSWER.as_secs()))
        }
        ureq::Error::Timeout(_) => unreachable(url, &format!("it was not done in {} s", TIME.as_secs())),
        other => unreachable(url, &other.to_string()),
    };
    Unanswered { failure, nobody_there, status: None }
}

fn unreachable(url: &str, why: &str) -> Box<Failure> {
    Failure::environment(format!("cannot reach `{url}`: {why}"))
        .hint("check the network and the registry's URL, and run the command again")
}

/// The protocol's form of a refusal; anything else comes from something that is no registry.
fn refused(status: u16, value: Option<&Value>) -> Option<Refused> {
    let error = value.and_then(|value| value.get("error"));
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(shown);
    Some(Refused {
        status,
        code: text(error.and_then(|error| error.get("code"))).unwrap_or_default(),
        message: error.and_then(|error| text(error.get("message")))?,
        hint: text(error.and_then(|error| error.get("hint"))),
        request: text(value.and_then(|value| value.get("request"))).unwrap_or_default(),
        retry_after: None,
    })
}

/// The answer of something that is no registry.
fn strange(url: &str, status: StatusCode, retry_after: Option<u64>) -> Box<Failure> {
    let phrase = status.canonical_reason().map(|phrase| format!(" ({phrase})")).unwrap_or_default();
    let failure = Failure::environment(format!(
        "`{url}` answered with status {}{phrase}, and not as a registry does",
        status.as_u16()
    ));
    match (status.as_u16(), retry_after) {
        (413, _) => failure.hint("a proxy on the way takes no bodies of this size; who runs the registry can tell"),
        (_, Some(seconds)) => failure.hint(format!("it asks to be left alone for {seconds} s; try again then")),
        (_, None) => failure.hint("check the registry's URL; a proxy on the way may have answered instead"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_to_private_places_only() {
        let allowed = |url: &str, plain_http| {
            is_private(&Configured { plain_http, ..Configured::of_url(url) }).map_err(|failed| failed.message)
        };
        for url in ["https://a.example/x", "http://127.0.0.1:8700", "http://localhost:1", "http://[::1]:1"] {
            assert_eq!(allowed(url, false), Ok(()), "{url}");
        }
        assert!(allowed("http://a.example", false).unwrap_err().contains("has no TLS"));
        assert!(allowed("http://127.0.0.1.example", false).unwrap_err().contains("has no TLS"));
        assert_eq!(allowed("http://a.example", true), Ok(()));
        assert!(allowed("https://ada:pass@a.example", true).unwrap_err().contains("login in its URL"));
        assert!(allowed("file:///srv", true).unwrap_err().contains("is a folder"));
        assert!(allowed("ftp://a.example", true).is_err());
    }

    #[test]
    fn what_a_registry_says_cannot_move_the_cursor() {
        assert_eq!(shown("a\u{1b}[2Jb\nc"), "a\u{fffd}[2Jb\nc");
        assert_eq!(encoded("@arm/a b%"), "%40arm%2Fa%20b%25");
    }

    /// When a registry answers to a body that it does not read to its end before it hangs up.
    #[derive(PartialEq, Eq)]
    enum Answer {
        /// When it has read the head of the request.
        AtOnce,
        /// When some of the body has come.
        Late,
        Never,
    }

    /// What is said of a body of 32 MiB that a registry does not take.
    fn said_to_a_large_body(when: Answer) -> Box<Failure> {
        use std::io::{BufRead as _, Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {}
            if when != Answer::AtOnce {
                let _ = reader.read_exact(&mut [0; 1000]);
            }
            if when == Answer::Never {
                return;
            }
            let body = "{\"error\": {\"code\": \"too-large\", \"message\": \"that is too large\"}}";
            let head = "HTTP/1.1 413 Payload Too Large\r\ncontent-type: application/json\r\nconnection: close";
            let _ = stream.write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes());
        });
        Api::at(url).ask("PUT", "publish/1/2", Body::Bytes(&vec![7; 32 << 20])).unwrap_err()
    }

    #[test]
    fn a_large_body_that_is_refused_is_told_as_the_registry_tells_it() {
        for answer in [Answer::AtOnce, Answer::Late] {
            let failed = said_to_a_large_body(answer);
            assert!(failed.message.ends_with(": that is too large"), "{}", failed.message);
        }
        let failed = said_to_a_large_body(Answer::Never);
        assert!(failed.message.contains("it hung up before it had taken all 33554432 bytes"), "{}", failed.message);
    }

    #[test]
    fn a_proxy_is_no_registry() {
        assert!(refused(502, None).is_none());
        let told = |status, retry_after| {
            let failed = strange("u", StatusCode::from_u16(status).unwrap(), retry_after);
            (failed.message.clone(), failed.hints.concat())
        };
        assert_eq!(told(502, None).0, "`u` answered with status 502 (Bad Gateway), and not as a registry does");
        assert!(told(429, Some(7)).1.contains("for 7 s"));
        assert!(told(413, None).1.contains("no bodies of this size"));
        let value = serde_json::json!({ "error": { "code": "forbidden", "message": "no", "hint": null } });
        assert_eq!(refused(403, Some(&value)).unwrap().message, "no");
    }
}
