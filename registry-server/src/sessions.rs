//! The sessions of an account: where it is signed in, and how its owner ends one that somebody stole. The API and the pages both come here.

use std::collections::BTreeMap;

use serde::Serialize;
use sqlx::Row as _;

use crate::access::Caller;
use crate::audit::Entry;
use crate::audit::action::Action;
use crate::chance;
use crate::error::ApiError;
use crate::service::Service;

/// Sessions that are listed at once; where one is ended, an older one comes in.
const LISTED: i64 = 100;

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

/// The sessions that are good now, the newest first: the one that asks, and others up to an end.
///
/// # Errors
/// The caller is a token.
pub(crate) async fn list(service: &Service, caller: &Caller) -> Result<Vec<Session>, ApiError> {
    caller.must_be_session()?;
    let rows = &service.registry.rows;
    let found = sqlx::query("SELECT id, created, expires FROM tokens WHERE login = $1 AND session = 1 AND expires > $2 ORDER BY CASE WHEN id = $3 THEN 0 ELSE 1 END, created DESC, id LIMIT $4")
        .bind(caller.login.clone())
        .bind(chance::now()?)
        .bind(caller.token.clone())
        .bind(LISTED)
        .fetch_all(rows)
        .await?;
    let mut sessions = Vec::new();
    for row in found {
        let id: String = row.try_get("id")?;
        let (created, expires) = (row.try_get("created")?, row.try_get("expires")?);
        sessions.push(Session { own: id == caller.token, id, created, expires, address: None });
    }
    sessions.sort_by(|a, b| b.created.cmp(&a.created).then_with(|| a.id.cmp(&b.id)));
    let Some(oldest) = sessions.last().map(|session| session.created) else { return Ok(sessions) };
    let logins = sqlx::query("SELECT detail, address FROM audit WHERE login = $1 AND action = 'login' AND at >= $2")
        .bind(caller.login.clone())
        .bind(oldest)
        .fetch_all(rows)
        .await?;
    let mut addresses: BTreeMap<String, String> = BTreeMap::new();
    for row in logins {
        addresses.insert(row.try_get("detail")?, row.try_get("address")?);
    }
    for session in &mut sessions {
        session.address = addresses.remove(&named(&session.id)).filter(|address| !address.is_empty());
    }
    Ok(sessions)
}

/// Ends one of the caller's sessions.
///
/// # Errors
/// There is none of that id, or the caller is a token.
pub(crate) async fn end(service: &Service, caller: &Caller, id: String) -> Result<(), ApiError> {
    caller.must_be_session()?;
    let mut rows = service.registry.rows.begin().await?;
    let done = sqlx::query("DELETE FROM tokens WHERE id = $1 AND login = $2 AND session = 1")
        .bind(id.clone())
        .bind(caller.login.clone())
        .execute(&mut *rows)
        .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::absent("there is no such session of yours", "`/api/v1/account/sessions` lists them"));
    }
    Entry::new(&caller.login, Action::SessionEnd, &caller.login).detail(named(&id)).write(&mut rows).await?;
    Ok(rows.commit().await?)
}
