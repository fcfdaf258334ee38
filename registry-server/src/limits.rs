//! How often something may be done: by an account, counted in rows that all replicas share, and by who is not known, counted by address in
//! the memory of each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sqlx::{AnyPool, Row as _};

use crate::access;
use crate::api::refusals::is_of_programs;
use crate::chance;
use crate::client_address::ClientAddress;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::pages;
use crate::service::Service;

/// What an account does to packs and organisations, and to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Beginning a publish.
    Publish,
    /// Yanks and deprecations, and taking them back; deletions.
    Yank,
    /// Owners of packs.
    Owners,
    /// Organisations and their members.
    Organisations,
    Tokens,
    Advisories,
    Reports,
    /// Addresses that mails go to.
    Addresses,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Yank => "yank",
            Self::Owners => "owners",
            Self::Organisations => "organisations",
            Self::Tokens => "tokens",
            Self::Advisories => "advisory",
            Self::Reports => "report",
            Self::Addresses => "address",
        }
    }

    /// How often in a minute.
    const fn most(self) -> i64 {
        match self {
            Self::Publish | Self::Yank => 120,
            Self::Owners | Self::Organisations => 60,
            Self::Tokens => 30,
            Self::Advisories => 20,
            Self::Reports | Self::Addresses => 5,
        }
    }
}

/// Counts something that an account does.
///
/// # Errors
/// It does that too often, or the database cannot be written.
pub(crate) async fn of_account(rows: &AnyPool, kind: Kind, login: &str) -> Result<(), ApiError> {
    limit(rows, &format!("{} {login}", kind.word()), kind.most()).await
}

/// Counts a request against a limit for each minute, which all replicas share.
///
/// # Errors
/// There were too many, or the database cannot be written.
pub(crate) async fn limit(rows: &AnyPool, subject: &str, most: i64) -> Result<(), ApiError> {
    if count(rows, subject).await? > most {
        return Err(exceeded(most));
    }
    Ok(())
}

fn exceeded(most: i64) -> ApiError {
    ApiError::too_many(format!("more than {most} requests in a minute")).hint("wait a minute")
}

/// Counts something; says how often it was counted in this minute.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn count(rows: &AnyPool, subject: &str) -> Result<i64, Failure> {
    let row = sqlx::query("INSERT INTO limits (subject, span, count) VALUES ($1, $2, 1) ON CONFLICT (subject, span) DO UPDATE SET count = limits.count + 1 RETURNING count")
        .bind(subject.to_owned())
        .bind(chance::now()? / 60)
        .fetch_one(rows)
        .await?;
    Ok(row.try_get("count")?)
}

/// How often something was counted in this minute and the one before.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn lately(rows: &AnyPool, subject: &str) -> Result<i64, Failure> {
    since(rows, subject, 1).await
}

/// How often something was counted in this minute and so many before; counts are kept for ten.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn since(rows: &AnyPool, subject: &str, minutes: i64) -> Result<i64, Failure> {
    let found = sqlx::query(
        "SELECT CAST(COALESCE(SUM(count), 0) AS BIGINT) AS n FROM limits WHERE subject = $1 AND span >= $2",
    )
    .bind(subject.to_owned())
    .bind(chance::now()? / 60 - minutes)
    .fetch_one(rows)
    .await?;
    Ok(found.try_get("n")?)
}

/// What is counted by address, in this minute.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visits(Arc<Mutex<Minute>>);

#[derive(Debug, Default)]
struct Minute {
    span: i64,
    counts: BTreeMap<String, i64>,
}

impl Visits {
    /// Counts a request of an address that costs so much; says what all of its requests of this minute cost.
    fn count(&self, address: String, cost: i64, span: i64) -> i64 {
        let Ok(mut minute) = self.0.lock() else { return 0 };
        if minute.span != span {
            *minute = Minute { span, counts: BTreeMap::new() };
        }
        let count = minute.counts.entry(address).or_default();
        *count += cost;
        *count
    }
}

/// What a request without a token costs that reads or searches; nothing for static files, for which nothing is worked out, and for what
/// machines ask to look after the server.
fn cost(method: &Method, path: &str) -> i64 {
    let watched = ["/api/v1/health", "/api/v1/ready", "/api/v1/openapi.json", "/api/v1/login", "/api/v1/accounts"];
    match path {
        _ if path.starts_with("/v1/") || path.starts_with("/static/") || path == "/metrics" => 0,
        // Logins and sign-ups are counted for themselves.
        _ if watched.contains(&path) || !matches!(*method, Method::GET | Method::HEAD) => 0,
        _ if path.contains("/diff/") || path.ends_with("/compare") => 20,
        _ if path.contains("/search") => 3,
        _ => 1,
    }
}

/// Whether a request shows a token that is good; open endpoints do not look at it.
async fn is_known(service: &Service, headers: &HeaderMap) -> bool {
    match access::shown(headers) {
        // Where the rows are out of reach, nobody is known.
        Some(token) => matches!(access::caller(&service.registry.rows, token).await, Ok(Some(_))),
        None => false,
    }
}

/// Refuses requests of addresses that ask too much without saying who they are.
pub(crate) async fn throttled(State(service): State<Service>, request: Request, next: Next) -> Response {
    let most = service.most_anonymous;
    let cost = cost(request.method(), request.uri().path());
    if most == 0 || cost == 0 || is_known(&service, request.headers()).await {
        return next.run(request).await;
    }
    let address = ClientAddress::read(service.behind_proxy, request.headers(), request.extensions()).to_string();
    let span = chance::now().unwrap_or_default() / 60;
    if service.visits.count(address, cost, span) <= most {
        return next.run(request).await;
    }
    service.count("throttled");
    match is_of_programs(request.uri().path()) {
        true => exceeded(most).into_response(),
        false => pages::refused(&service, exceeded(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_a_minute_of_its_own() {
        let visits = Visits::default();
        let counts: Vec<i64> = (0..3).map(|_| visits.count("192.0.2.1".to_owned(), 1, 7)).collect();
        assert_eq!(counts, [1, 2, 3]);
        assert_eq!(visits.count("192.0.2.2".to_owned(), 3, 7), 3);
        assert_eq!(visits.count("192.0.2.1".to_owned(), 1, 8), 1);
    }

    #[test]
    fn what_a_request_costs() {
        for (method, path, expected) in [
            (Method::GET, "/v1/latest", 0),
            (Method::GET, "/api/v1/ready", 0),
            (Method::POST, "/api/v1/login", 0),
            (Method::GET, "/api/v1/packs/neon", 1),
            (Method::GET, "/packs/neon", 1),
            (Method::GET, "/api/v1/search", 3),
            (Method::GET, "/search", 3),
            (Method::HEAD, "/search", 3),
            (Method::HEAD, "/packs/neon", 1),
            (Method::GET, "/api/v1/packs/neon/1.0.0/diff/1.1.0", 20),
            (Method::GET, "/packs/neon/compare", 20),
        ] {
            assert_eq!(cost(&method, path), expected, "{method} {path}");
        }
    }
}
