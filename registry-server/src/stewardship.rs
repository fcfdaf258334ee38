//! What owners change about their packs: yanks, deprecations, whether they are archived, and who else owns them. The API and the pages both come here.

use exo_index::name::PackName;
use exo_index::registry::log::leaf::Event;
use exo_index::registry::shard::{Archival, PackEntry, VersionEntry, Withdrawal};
use exo_index::version::Version;
use exo_index::visible::is_line;
use sqlx::Row as _;

use crate::access::{self, Caller, Right};
use crate::audit::Entry;
use crate::audit::action::Action;
use crate::chance::{self, unsigned};
use crate::changes;
use crate::database::{self, Rows};
use crate::deletion;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::limits::{self, Kind};
use crate::second_factor;
use crate::service::Service;

/// That there is no such pack.
pub(crate) fn no_pack(name: &PackName) -> ApiError {
    ApiError::absent(
        format!("there is no pack `{name}`"),
        format!("`exo search {base}` looks for others, and so does `/api/v1/search?q={base}`", base = name.base()),
    )
}

/// The words about something that is withdrawn, checked.
///
/// # Errors
/// They would mislead or spoil what they are shown in.
pub(crate) fn withdrawal(reason: Option<String>, replacement: Option<String>) -> Result<Withdrawal, ApiError> {
    if reason.as_ref().is_some_and(|text| !is_line(text, 500)) {
        return Err(ApiError::malformed(
            "a reason is one line of at most 500 bytes, without characters that cannot be seen or that turn the direction of text",
        ));
    }
    if replacement.as_ref().is_some_and(|text| !is_replacement(text)) {
        return Err(ApiError::malformed("a replacement is the name of a pack, or a name and a version: `neon@1.1.0`"));
    }
    Ok(Withdrawal { reason, replacement })
}

/// Whether a text names a pack, or a version of one.
fn is_replacement(text: &str) -> bool {
    let (name, number) = match text.rsplit_once(['@', ' ']) {
        Some((name, number)) if !name.is_empty() => (name, Some(number)),
        Some(_) | None => (text, None),
    };
    PackName::parse(name).is_ok() && number.is_none_or(|number| Version::parse(number).is_ok())
}

/// Takes the lock for a change of a pack that the caller may make.
///
/// # Errors
/// The caller may not, or there is no such pack.
pub(crate) async fn change(
    service: &Service,
    caller: &Caller,
    right: Right,
    name: &PackName,
) -> Result<Rows, ApiError> {
    caller.may(right, name)?;
    limits::of_account(&service.registry.rows, kind(right), &caller.login).await?;
    let mut turn = database::turn(&service.registry.rows).await?;
    let there = sqlx::query("SELECT name FROM packs WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_optional(&mut *turn)
        .await?;
    if there.is_none() {
        return Err(deletion::nothing(&mut turn, name, None).await?);
    }
    caller.must_own(&mut turn, right, name).await?;
    Ok(turn)
}

/// As what a change by some right is counted.
const fn kind(right: Right) -> Kind {
    match right {
        Right::PublishNew | Right::PublishUpdate => Kind::Publish,
        Right::Yank | Right::Admin => Kind::Yank,
        Right::Owners => Kind::Owners,
        Right::Advisories => Kind::Advisories,
    }
}

/// Makes a change of a pack visible: the action as the audit log has it, and the event of the public one.
///
/// # Errors
/// Rows or files cannot be written.
pub(crate) async fn conclude(
    service: &Service,
    turn: Rows,
    caller: &Caller,
    name: &PackName,
    (action, event): (Action, Event),
) -> Result<(), ApiError> {
    let entry = told(Entry::new(&caller.login, action, name.as_str()), &event);
    changes::conclude(service, turn, std::slice::from_ref(name), entry, event).await
}

/// An entry of the audit log with what an event says besides.
pub(crate) fn told<'a>(entry: Entry<'a>, event: &Event) -> Entry<'a> {
    match event {
        Event::Publish { version, .. }
        | Event::Yank { version, .. }
        | Event::Unyank { version, .. }
        | Event::Quarantine { version, .. }
        | Event::Release { version, .. }
        | Event::Delete { version, .. } => entry.version(version),
        Event::Owner { login, .. } => entry.detail(login.as_str()),
        Event::Advisory { id, .. } | Event::AdvisoryWithdrawn { id, .. } => entry.detail(id.as_str()),
        Event::Member { login, role, .. } => match role {
            Some(role) => entry.detail(format!("{login} {}", role.as_str())),
            None => entry.detail(login.as_str()),
        },
        Event::Deprecate { .. } | Event::Archive { .. } | Event::Organisation { .. } => entry,
    }
}

/// The entry of a version as its row has it.
///
/// # Errors
/// There is no such version.
pub(crate) async fn version_entry(
    rows: &mut sqlx::AnyConnection,
    name: &PackName,
    version: &Version,
) -> Result<VersionEntry, ApiError> {
    let found = sqlx::query("SELECT entry FROM versions WHERE name = $1 AND version = $2")
        .bind(name.as_str().to_owned())
        .bind(version.to_string())
        .fetch_optional(&mut *rows)
        .await?;
    let row = match found {
        Some(row) => row,
        None => return Err(deletion::nothing(rows, name, Some(version)).await?),
    };
    Ok(serde_json::from_str(&row.try_get::<String, _>("entry")?)?)
}

/// Writes the entry of a version back.
///
/// # Errors
/// The database refuses.
pub(crate) async fn set_version_entry(
    rows: &mut sqlx::AnyConnection,
    name: &PackName,
    entry: &VersionEntry,
) -> Result<(), ApiError> {
    sqlx::query("UPDATE versions SET entry = $1 WHERE name = $2 AND version = $3")
        .bind(serde_json::to_string(entry)?)
        .bind(name.as_str().to_owned())
        .bind(entry.version.to_string())
        .execute(rows)
        .await?;
    Ok(())
}

/// What holds of a pack as a whole, as its row has it.
///
/// # Errors
/// The database refuses.
pub(crate) async fn pack_entry(rows: &mut sqlx::AnyConnection, name: &PackName) -> Result<Option<PackEntry>, Failure> {
    let found = sqlx::query("SELECT entry FROM packs WHERE name = $1").bind(name.as_str().to_owned());
    let Some(row) = found.fetch_optional(rows).await? else { return Ok(None) };
    Ok(Some(serde_json::from_str(&row.try_get::<String, _>("entry")?)?))
}

/// Writes the entry of a pack back, with what search looks for in it.
async fn set_pack_entry(rows: &mut sqlx::AnyConnection, entry: &PackEntry) -> Result<(), Failure> {
    sqlx::query("UPDATE packs SET entry = $1, archived = $2 WHERE name = $3")
        .bind(serde_json::to_string(entry)?)
        .bind(i64::from(entry.archived.is_some()))
        .bind(entry.name.as_str().to_owned())
        .execute(rows)
        .await?;
    Ok(())
}

/// What is withdrawn, or given back.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    /// A version: it is yanked.
    Version(PackName, Version),
    /// A pack: it is deprecated.
    Pack(PackName),
    /// Further versions of a pack: it is archived.
    Upkeep(PackName),
}

impl Subject {
    const fn name(&self) -> &PackName {
        match self {
            Self::Version(name, _) | Self::Pack(name) | Self::Upkeep(name) => name,
        }
    }

    /// Sets or lifts it; says whether anything changed.
    async fn set(&self, rows: &mut Rows, why: Option<Withdrawal>) -> Result<bool, ApiError> {
        match self {
            Self::Version(name, version) => {
                let mut entry = version_entry(&mut *rows, name, version).await?;
                let before = std::mem::replace(&mut entry.yanked, why);
                if before == entry.yanked {
                    return Ok(false);
                }
                set_version_entry(&mut *rows, name, &entry).await?;
            }
            Self::Pack(name) => {
                let mut entry = pack_entry(&mut *rows, name).await?.ok_or_else(|| no_pack(name))?;
                let before = std::mem::replace(&mut entry.deprecated, why);
                if before == entry.deprecated {
                    return Ok(false);
                }
                set_pack_entry(&mut *rows, &entry).await?;
            }
            Self::Upkeep(name) => {
                let mut entry = pack_entry(&mut *rows, name).await?.ok_or_else(|| no_pack(name))?;
                let now = unsigned(chance::now()?);
                // Other words about it do not make it archived anew.
                let since = entry.archived.as_ref().map_or(now, |archived| archived.since);
                let archived = why.map(|why| Archival { since, reason: why.reason });
                let before = std::mem::replace(&mut entry.archived, archived);
                if before == entry.archived {
                    return Ok(false);
                }
                set_pack_entry(&mut *rows, &entry).await?;
            }
        }
        Ok(true)
    }

    /// The action of the audit log, and the event of the public one.
    fn event(&self, withdrawn: bool) -> (Action, Event) {
        match (self.clone(), withdrawn) {
            (Self::Version(name, version), true) => (Action::Yank, Event::Yank { name, version }),
            (Self::Version(name, version), false) => (Action::Unyank, Event::Unyank { name, version }),
            (Self::Pack(name), true) => (Action::Deprecate, Event::Deprecate { name, deprecated: true }),
            (Self::Pack(name), false) => (Action::Undeprecate, Event::Deprecate { name, deprecated: false }),
            (Self::Upkeep(name), true) => (Action::Archive, Event::Archive { name, archived: true }),
            (Self::Upkeep(name), false) => (Action::Unarchive, Event::Archive { name, archived: false }),
        }
    }
}

/// Withdraws a version or a pack with some words about it, or gives it back without.
///
/// # Errors
/// The caller may not, or there is no such thing.
pub(crate) async fn withdraw(
    service: &Service,
    caller: &Caller,
    subject: &Subject,
    why: Option<Withdrawal>,
) -> Result<(), ApiError> {
    let withdrawn = why.is_some();
    let mut turn = change(service, caller, Right::Yank, subject.name()).await?;
    if !subject.set(&mut turn, why).await? {
        return Ok(());
    }
    conclude(service, turn, caller, subject.name(), subject.event(withdrawn)).await
}

/// Makes somebody an owner.
///
/// # Errors
/// The caller may not, or there is no such account.
pub(crate) async fn add_owner(
    service: &Service,
    caller: &Caller,
    name: &PackName,
    login: String,
) -> Result<(), ApiError> {
    second_factor::prove(service, caller).await?;
    let mut turn = change(service, caller, Right::Owners, name).await?;
    if !access::is_account(&mut turn, &login).await? {
        return Err(access::no_account(&login));
    }
    let done = sqlx::query("INSERT INTO owners (name, login) VALUES ($1, $2) ON CONFLICT (name, login) DO NOTHING")
        .bind(name.as_str().to_owned())
        .bind(login.clone())
        .execute(&mut *turn)
        .await?;
    if done.rows_affected() == 0 {
        return Ok(());
    }
    let event = Event::Owner { name: name.clone(), login, added: true };
    conclude(service, turn, caller, name, (Action::OwnerAdd, event)).await
}

/// Takes ownership from somebody.
///
/// # Errors
/// The caller may not, a code of the second factor is needed, or it is the last owner or none.
pub(crate) async fn remove_owner(
    service: &Service,
    caller: &Caller,
    name: &PackName,
    login: String,
) -> Result<(), ApiError> {
    caller.may(Right::Owners, name)?;
    second_factor::prove(service, caller).await?;
    let mut turn = change(service, caller, Right::Owners, name).await?;
    if name.vendor() == Some(&login) && caller.login != login && !caller.administrator {
        return Err(ApiError::forbidden(format!(
            "`{name}` is in the scope of the account `{login}`, which stays an owner"
        ))
        .hint(format!("only `{login}`, or an administrator of the registry, may change that")));
    }
    let done = sqlx::query("DELETE FROM owners WHERE name = $1 AND login = $2")
        .bind(name.as_str().to_owned())
        .bind(login.clone())
        .execute(&mut *turn)
        .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::absent(
            format!("`{login}` does not own `{name}`"),
            format!("`exo owner list {name}` lists those who do"),
        ));
    }
    let left: i64 = sqlx::query("SELECT COUNT(*) AS n FROM owners WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_one(&mut *turn)
        .await?
        .try_get("n")?;
    if left == 0 {
        return Err(
            ApiError::conflict(format!("`{login}` is the last owner of `{name}`")).hint("add another owner first")
        );
    }
    let event = Event::Owner { name: name.clone(), login, added: false };
    conclude(service, turn, caller, name, (Action::OwnerRemove, event)).await
}
