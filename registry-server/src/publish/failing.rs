//! Publishes that this registry fails to check or to write: each is tried again a few times, after longer and longer pauses, and then ended,
//! so that one which can never be written costs no more than those.

use serde_json::Value;
use sqlx::Row as _;

use super::declaration::Publish;
use super::examination::diagnostic;
use super::queue::LEASE;
use super::refusals::refuse;
use crate::chance;
use crate::failure::{Cause, Failure};
use crate::service::Service;

/// How often a publish is begun that fails for an inner reason.
const MOST_TRIES: i64 = 5;

/// What is done about a publish that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// It is tried again after so many seconds.
    Again(i64),
    End,
}

/// After so many tries of which none came to an end.
fn after(tries: i64) -> Next {
    match tries {
        ..MOST_TRIES => Next::Again(LEASE << tries.max(1)),
        _ => Next::End,
    }
}

/// Decides about a publish that failed; says whether it was ended. A database that is away or held, or a full disk, is no matter of one
/// publish: it waits for as long as that lasts.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn tried(service: &Service, publish: &Publish, failure: &Failure) -> Result<bool, Failure> {
    if matches!(failure.cause, Cause::NoDatabase | Cause::DiskFull | Cause::Held) {
        tracing::error!(%failure, publish = publish.id, "a publish waits: it could not be checked");
        return Ok(false);
    }
    let mut rows = service.registry.rows.acquire().await?;
    let counted =
        sqlx::query("UPDATE publishes SET tries = tries + 1 WHERE id = $1 AND state = 'checking' RETURNING tries")
            .bind(publish.id.clone())
            .fetch_optional(&mut *rows)
            .await?;
    let Some(row) = counted else { return Ok(false) };
    let tries: i64 = row.try_get("tries")?;
    match after(tries) {
        Next::Again(pause) => {
            tracing::error!(%failure, publish = publish.id, tries, pause, "a publish could not be checked, and is tried again");
            sqlx::query("UPDATE publishes SET lease = $1 WHERE id = $2 AND state = 'checking'")
                .bind(chance::now()? + pause)
                .bind(publish.id.clone())
                .execute(&mut *rows)
                .await?;
            Ok(false)
        }
        Next::End => {
            tracing::error!(%failure, publish = publish.id, tries, "a publish could not be checked, and is given up");
            refuse(&mut rows, publish, publish.packs.iter().map(|pack| given_up(pack, tries)).collect()).await?;
            Ok(true)
        }
    }
}

/// What the author is told; the reason is for whoever runs the registry.
fn given_up(pack: &super::declaration::Declared, tries: i64) -> Value {
    let message = format!("the registry failed in {tries} tries to check or to write the publish");
    let hint = "this says nothing about the pack: publish it again later, or tell whoever runs the registry, in whose log the reason stands";
    diagnostic(pack, "unsettled", message, Some(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_tries_end() {
        let all: Vec<Next> = (1..=MOST_TRIES).map(after).collect();
        let again = |factor| Next::Again(LEASE * factor);
        assert_eq!(all, [again(2), again(4), again(8), again(16), Next::End]);
        assert_eq!(after(i64::MAX), Next::End);
    }
}
