//! The audit log: who did what to what, by which token and from where. Only those whom it concerns read it.
//!
//! Entries are in the order in which they were written, also within a second: their ids begin with the time to a billionth of it.

pub(crate) mod action;
pub(crate) mod wording;

use std::collections::BTreeSet;

use exo_index::name::PackName;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{AnyConnection, Row as _};

use action::{About, Action};

use crate::access::{Caller, Right};
use crate::chance;
use crate::deletion;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::mails::audience::Audience;
use crate::mails::outbox;
use crate::membership;
use crate::organisations;
use crate::publish::admission;
use crate::publish::declaration::{Declared, Publish};
use crate::request;
use crate::service::Service;
use crate::stewardship;

/// Who an entry names for what is done on the registry's own machine, and not to an account.
pub(crate) const OPERATOR: &str = "exo-registry";

/// Entries that are listed at once, at most.
const LISTED: i64 = 1000;

/// Which part of a list is asked for, as an address says it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    /// Where the part before ended.
    #[serde(default)]
    before: Option<String>,
    #[serde(default)]
    limit: Option<i64>,
}

impl Asked {
    /// The newest so many entries, or those behind where a part ended.
    pub(crate) fn of(before: Option<String>, most: usize) -> Self {
        Self { before, limit: i64::try_from(most).ok() }
    }

    /// Where the part begins, as time and id of the entry before it, and how many entries it has.
    fn part(&self) -> Result<(i64, String, i64), ApiError> {
        let most = self.limit.unwrap_or(LISTED);
        if !(1..=LISTED).contains(&most) {
            return Err(ApiError::malformed(format!("`limit` is a number from 1 to {LISTED}")));
        }
        let Some(before) = &self.before else { return Ok((i64::MAX, String::new(), most)) };
        let place = before.split_once('-').and_then(|(at, id)| Some((at.parse().ok()?, id)));
        match place {
            Some((at, id)) if id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => Ok((at, id.to_owned(), most)),
            Some(_) | None => Err(ApiError::malformed("`before` is no place in a list of the audit log")
                .hint("give what the answer before says as `next`, or nothing to begin with the newest entry")),
        }
    }
}

/// A part of a list, the newest entry first.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    pub(crate) events: Vec<Read>,
    /// What to give as `before` for the part behind this one; nothing at the end.
    pub(crate) next: Option<String>,
}

/// Something that is written down. The token and the address are those of the request that is being answered.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    login: &'a str,
    action: Action,
    subject: &'a str,
    version: String,
    detail: String,
}

impl<'a> Entry<'a> {
    /// That an account did something to a pack, an organisation, an account or a token.
    pub(crate) fn new(login: &'a str, action: Action, subject: &'a str) -> Self {
        Self { login, action, subject, version: String::new(), detail: String::new() }
    }

    /// The version that it was done to.
    pub(crate) fn version(self, version: impl ToString) -> Self {
        Self { version: version.to_string(), ..self }
    }

    /// What else there is to say: the owner who was added, the reason for which something was refused.
    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    /// What is done.
    pub(crate) const fn action(&self) -> Action {
        self.action
    }

    /// Writes it down, and puts what is told of it by mail into the outbox: the one is there exactly when the other is. Gives its id.
    ///
    /// # Errors
    /// The database cannot be written.
    pub(crate) async fn write(self, rows: &mut AnyConnection) -> Result<String, Failure> {
        let (id, at) = (chance::id_in_order()?, chance::now()?);
        let audience = Audience::of(self.action, self.login, self.subject, &self.detail);
        sqlx::query("INSERT INTO audit (id, at, login, action, subject, token, address, version, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
            .bind(id.clone())
            .bind(at)
            .bind(self.login.to_owned())
            .bind(self.action.word())
            .bind(self.subject.to_owned())
            .bind(request::token())
            .bind(request::address())
            .bind(self.version)
            .bind(self.detail.clone())
            .execute(&mut *rows)
            .await?;
        if let Some(audience) = audience {
            outbox::put(rows, &id, at, &audience).await?;
        }
        Ok(id)
    }
}

/// Writes down who did what.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn note(rows: &mut AnyConnection, login: &str, action: Action, subject: &str) -> Result<(), Failure> {
    Entry::new(login, action, subject).write(rows).await.map(drop)
}

/// Writes down what came of a pack of a publish, with the token and the address that began the publish: the worker answers no request.
/// Publishing is what is done most, so the same statement says whether there is anybody to tell.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn note_publish(
    rows: &mut AnyConnection,
    publish: &Publish,
    action: Action,
    pack: &Declared,
    detail: &str,
) -> Result<(), Failure> {
    let (id, at, name) = (chance::id_in_order()?, chance::now()?, pack.name.as_str());
    let audience = Audience::of(action, &publish.login, name, detail);
    let told =
        audience.as_ref().map_or("0".to_owned(), |audience| format!("(SELECT COUNT(*) {})", audience.accounts(8)));
    let statement = format!(
        "INSERT INTO audit (id, at, login, action, subject, token, address, version, detail) SELECT $1, CAST($2 AS BIGINT), login, $3, $4, \
         token, address, $5, $6 FROM publishes WHERE id = $7 RETURNING {told} AS told"
    );
    let mut query = sqlx::query(sqlx::AssertSqlSafe(statement))
        .bind(id.clone())
        .bind(at)
        .bind(action.word())
        .bind(name.to_owned())
        .bind(pack.version.to_string())
        .bind(detail.to_owned())
        .bind(publish.id.clone());
    for name in audience.iter().flat_map(Audience::names) {
        query = query.bind(name.to_owned());
    }
    let written = query.fetch_optional(&mut *rows).await?;
    let told: i64 = written.map_or(Ok(0), |row| row.try_get("told"))?;
    match audience {
        Some(audience) if told > 0 => outbox::put(rows, &id, at, &audience).await,
        Some(_) | None => Ok(()),
    }
}

/// Writes down that a publish was refused, for each of its packs, with the kinds of the reasons against it.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn note_refused(
    rows: &mut AnyConnection,
    publish: &Publish,
    reasons: &[Value],
) -> Result<(), Failure> {
    if publish.dry_run {
        return Ok(());
    }
    for pack in &publish.packs {
        let of_it =
            reasons.iter().filter(|reason| reason.get("pack").and_then(Value::as_str) == Some(pack.name.as_str()));
        let kinds: BTreeSet<&str> = of_it.filter_map(|reason| reason.get("code")?.as_str()).collect();
        let kinds: Vec<&str> = kinds.into_iter().collect();
        note_publish(rows, publish, Action::PublishRefused, pack, &kinds.join(", ")).await?;
    }
    Ok(())
}

/// An entry as it is read.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Read {
    #[serde(skip)]
    pub(crate) id: String,
    pub(crate) at: i64,
    pub(crate) login: String,
    pub(crate) action: String,
    pub(crate) subject: String,
    /// The version that it is about, if it is about one.
    pub(crate) version: Option<String>,
    pub(crate) detail: Option<String>,
    /// The id of the token or session, as the list of tokens has it; nothing where none was shown.
    pub(crate) token: Option<String>,
    /// Nothing where it was done on the registry's own machine.
    pub(crate) address: Option<String>,
}

impl Read {
    /// An entry of an action on `neon`.
    #[cfg(test)]
    pub(crate) fn example(action: &str) -> Self {
        Self {
            id: "1".to_owned(),
            at: 0,
            login: "ada".to_owned(),
            action: action.to_owned(),
            subject: "neon".to_owned(),
            version: None,
            detail: None,
            token: Some("0123456789abcdef".to_owned()),
            address: None,
        }
    }

    fn of(row: &sqlx::any::AnyRow) -> Result<Self, Failure> {
        let said =
            |column: &str| Ok::<_, Failure>(Some(row.try_get::<String, _>(column)?).filter(|text| !text.is_empty()));
        Ok(Self {
            id: row.try_get("id")?,
            at: row.try_get("at")?,
            login: row.try_get("login")?,
            action: row.try_get("action")?,
            subject: row.try_get("subject")?,
            version: said("version")?,
            detail: said("detail")?,
            token: said("token")?,
            address: said("address")?,
        })
    }
}

/// The words of all that is done to some kind of thing, as SQL lists them. Packs, organisations, accounts and tokens may have one name, and
/// those who read of the one do not read of the others.
fn listed(about: impl Fn(About) -> bool) -> String {
    let of_it = Action::ALL.iter().filter(|action| about(action.about()));
    of_it.map(|action| format!("'{}'", action.word())).collect::<Vec<_>>().join(", ")
}

/// The part of a list that is asked for: entries with a word in a column, as far as a condition on the actions goes.
async fn listed_by(
    rows: &mut AnyConnection,
    (column, word): (&'static str, &str),
    actions: &str,
    asked: &Asked,
) -> Result<Part, ApiError> {
    let (at, id, most) = asked.part()?;
    let query = format!(
        "SELECT id, at, login, action, subject, version, detail, token, address FROM audit WHERE {column} = $1{actions} \
         AND (at < $2 OR (at = $3 AND id < $4)) ORDER BY at DESC, id DESC LIMIT $5"
    );
    let found = sqlx::query(sqlx::AssertSqlSafe(query)).bind(word.to_owned()).bind(at).bind(at).bind(id).bind(most + 1);
    let mut events: Vec<Read> = found.fetch_all(rows).await?.iter().map(Read::of).collect::<Result<_, Failure>>()?;
    let kept = usize::try_from(most).unwrap_or(usize::MAX);
    let goes_on = events.len() > kept;
    events.truncate(kept);
    let next = events.last().filter(|_| goes_on).map(|last| format!("{}-{}", last.at, last.id));
    Ok(Part { events, next })
}

/// The entry of an id.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn find(rows: &mut AnyConnection, id: &str) -> Result<Option<Read>, Failure> {
    let found =
        sqlx::query("SELECT id, at, login, action, subject, version, detail, token, address FROM audit WHERE id = $1");
    found.bind(id.to_owned()).fetch_optional(rows).await?.as_ref().map(Read::of).transpose()
}

/// What was done to something that is not an account, as far as a condition on the actions goes. What bears the same name without being
/// it must not count: anybody could fill the list with it.
async fn of_subject(rows: &mut AnyConnection, subject: &str, actions: &str, asked: &Asked) -> Result<Part, ApiError> {
    listed_by(rows, ("subject", subject), &format!(" AND action {actions}"), asked).await
}

/// What was done to a pack, for its owners and administrators; where it was deleted, for who owned it last.
///
/// # Errors
/// There is no such pack, the caller does not own it, or the part is none.
pub(crate) async fn of_pack(
    service: &Service,
    caller: &Caller,
    name: &PackName,
    asked: &Asked,
) -> Result<Part, ApiError> {
    caller.may(Right::Owners, name)?;
    let mut rows = service.registry.rows.acquire().await?;
    let there = admission::exists(&mut rows, name).await?;
    if !there && !deletion::is_gone(&mut rows, name).await? {
        return Err(stewardship::no_pack(name));
    }
    let may = caller.must_own(&mut rows, Right::Owners, name).await;
    match may {
        Err(refused) if there => return Err(refused),
        Err(_) if !deletion::owned(&mut rows, name, &caller.login).await? => {
            return Err(deletion::nothing(&mut rows, name, None).await?);
        }
        Ok(()) | Err(_) => {}
    }
    let others = listed(|about| about != About::Pack);
    of_subject(&mut rows, name.as_str(), &format!("NOT IN ({others})"), asked).await
}

/// What was done to an organisation, for its members and for administrators of the registry, who answer for who has a scope.
///
/// # Errors
/// There is no such organisation, the caller is none of these, or the part is none.
pub(crate) async fn of_organisation(
    service: &Service,
    caller: &Caller,
    name: &str,
    asked: &Asked,
) -> Result<Part, ApiError> {
    caller.must_be_session()?;
    let mut rows = service.registry.rows.acquire().await?;
    if !organisations::exists(&mut rows, name).await? {
        return Err(membership::absent(name));
    }
    if !caller.administrator && organisations::role(&mut rows, name, &caller.login).await?.is_none() {
        return Err(ApiError::forbidden(format!("`{}` is no member of the organisation `{name}`", caller.login)));
    }
    of_subject(&mut rows, name, &format!("IN ({})", listed(|about| about == About::Organisation)), asked).await
}

/// What the caller's account did, and what was done to it.
///
/// # Errors
/// The caller is a token, or the part is none.
pub(crate) async fn of_account(service: &Service, caller: &Caller, asked: &Asked) -> Result<Part, ApiError> {
    caller.must_be_session()?;
    let mut rows = service.registry.rows.acquire().await?;
    listed_by(&mut rows, ("login", &caller.login), "", asked).await
}
