//! What `/metrics` shows besides what happened: how requests are answered, and how the registry stands when it is asked.

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use prometheus::{HistogramOpts, HistogramVec};
use sqlx::Row as _;

use crate::chance;
use crate::failure::Failure;
use crate::mails::outbox::{self, Standing};
use crate::service::Service;

/// How long requests took, by method and kind of status.
static REQUESTS: LazyLock<Option<HistogramVec>> = LazyLock::new(|| {
    let options = HistogramOpts::new("exo_registry_request_seconds", "How long requests took, by method and status")
        .buckets(vec![0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0]);
    let requests = HistogramVec::new(options, &["method", "status"]).ok()?;
    prometheus::register(Box::new(requests.clone())).ok()?;
    Some(requests)
});

/// Notes how a request was answered.
pub(crate) fn answered(method: &Method, status: StatusCode, time: Duration) {
    // Anybody can send any word as a method, and each would be kept.
    let method = match *method {
        Method::GET | Method::HEAD | Method::POST | Method::PUT | Method::DELETE => method.as_str(),
        _ => "other",
    };
    let status = match status.as_u16() / 100 {
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        5 => "5xx",
        _ => "other",
    };
    if let Some(requests) = REQUESTS.as_ref() {
        requests.with_label_values(&[method, status]).observe(time.as_secs_f64());
    }
}

/// How the registry stands now, in the text form of Prometheus. A database that does not answer is what the text says then.
pub(crate) async fn standing(service: &Service) -> String {
    let pool = &service.registry.rows;
    let rows = rows(service).await;
    let mut gauges = vec![
        ("exo_registry_database_up", "Whether the database answers", i64::from(rows.is_ok())),
        ("exo_registry_database_connections", "Connections to the database", i64::from(pool.size())),
        (
            "exo_registry_database_connections_idle",
            "Connections to the database that nobody uses",
            i64::try_from(pool.num_idle()).unwrap_or(i64::MAX),
        ),
    ];
    if let Ok((waiting, renewal, mails)) = rows {
        gauges.push(("exo_registry_publishes_waiting", "Publishes that are checked or wait for it", waiting));
        gauges.push((
            "exo_registry_pointer_renewal_seconds",
            "Until the pointer is signed anew; below zero that is overdue, and clients refuse it after half a week more",
            renewal,
        ));
        gauges.push(("exo_registry_mails_waiting", "Mails that are not sent yet", mails.waiting));
        let age = mails.since.map_or(Ok(0), |since| Ok::<_, Failure>((chance::now()? - since).max(0)));
        gauges.push(("exo_registry_mails_waiting_seconds", "Since when the first of them waits", age.unwrap_or(0)));
    }
    let mut text = String::new();
    for (name, help, value) in gauges {
        // Writing into a string does not fail.
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n");
    }
    text
}

/// How many publishes wait, in how many seconds the pointer is signed anew, and how the outbox stands.
async fn rows(service: &Service) -> Result<(i64, i64, Standing), Failure> {
    let row = sqlx::query(
        "SELECT renew_at, (SELECT COUNT(*) FROM publishes WHERE state = 'checking') AS waiting FROM state WHERE id = 1",
    )
    .fetch_one(&service.registry.rows)
    .await?;
    let mails = outbox::standing(&service.registry.rows).await?;
    Ok((row.try_get("waiting")?, row.try_get::<i64, _>("renew_at")? - chance::now()?, mails))
}
