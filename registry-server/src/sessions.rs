//! The sessions of an account: where it is signed in, and how its owner ends one that somebody stole. The API and the pages both come here.

use serde::Serialize;
use sqlx::Row as _;

use crate::access::Caller;
use crate::audit::Entry;
use crate::chance;
use crate::error::ApiError;
use crate::service::Service;

/// A session as the account's owner sees it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) created: i64,
    pub(crate) expires: i64,
    /// Where the login came from.
    pub(crate) address: Option<String>,
    /// Whether it is the one that asks.
    pub(crate) own: bool,
}

/// What an entry of the audit log says of the login that began a session.
pub(crate) fn named(id: &str) -> String {
    format!("session {id}")
}

/// The sessions that are good now, the newest first.
///
/// # Errors
/// The caller is a token.
pub(crate) async fn list(service: &Service, caller: &Caller) -> Result<Vec<Session>, ApiError> {
    caller.must_be_session()?;
    let found = sqlx::query("SELECT t.id, t.created, t.expires, a.address FROM tokens t LEFT JOIN audit a ON a.login = t.login AND a.action = 'login' AND a.detail = 'session ' || t.id WHERE t.login = $1 AND t.session = 1 AND t.expires > $2 ORDER BY t.created DESC, t.id")
        .bind(caller.login.clone())
        .bind(chance::now()?)
        .fetch_all(&service.registry.rows)
        .await?;
    let mut sessions = Vec::new();
    for row in found {
        let id: String = row.try_get("id")?;
        sessions.push(Session {
            own: id == caller.token,
            id,
            created: row.try_get("created")?,
            expires: row.try_get("expires")?,
            address: row.try_get::<Option<String>, _>("address")?.filter(|address| !address.is_empty()),
        });
    }
    Ok(sessions)
}

/// Ends one of the caller's sessions.
///
/// # Errors
/// There is none of that id, or the caller is a token.
pub(crate) async fn end(service: &Service, caller: &Caller, id: String) -> Result<(), ApiError> {
    caller.must_be_session()?;
    let mut rows = service.registry.rows.acquire().await?;
    let done = sqlx::query("DELETE FROM tokens WHERE id = $1 AND login = $2 AND session = 1")
        .bind(id.clone())
        .bind(caller.login.clone())
        .execute(&mut *rows)
        .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::absent("there is no such session of yours"));
    }
    Ok(Entry::new(&caller.login, "session-end", &caller.login).detail(named(&id)).write(&mut rows).await?)
}
