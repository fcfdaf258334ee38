//! What owners change about their packs: yanks, deprecations, and who else owns them. The API and the pages both come here.

use exo_index::name::PackName;
use exo_index::registry::log::leaf::{Event, Leaf};
use exo_index::registry::shard::{PackEntry, VersionEntry, Withdrawal};
use exo_index::version::Version;
use exo_index::visible::is_line;
use sqlx::Row as _;

use crate::access::{self, Caller, Right};
use crate::chance::{self, unsigned};
use crate::database::{self, Rows};
use crate::error::ApiError;
use crate::index::{self, Change};
use crate::second_factor;
use crate::service::Service;

/// That there is no such pack.
pub(crate) fn no_pack(name: &PackName) -> ApiError {
    ApiError::absent(format!("there is no pack `{name}`"))
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
    let mut turn = database::turn(&service.registry.rows).await?;
    let there = sqlx::query("SELECT name FROM packs WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_optional(&mut *turn)
        .await?;
    if there.is_none() {
        return Err(no_pack(name));
    }
    caller.must_own(&mut turn, right, name).await?;
    Ok(turn)
}

/// Makes a change visible.
///
/// # Errors
/// Rows or files cannot be written.
pub(crate) async fn conclude(
    service: &Service,
    mut turn: Rows,
    caller: &Caller,
    name: &PackName,
    (action, event): (&str, Event),
) -> Result<(), ApiError> {
    let now = chance::now()?;
    access::note(&mut turn, &caller.login, action, name.as_str()).await?;
    let leaf = Leaf { event, time: unsigned(now) };
    index::write(&service.registry, &mut turn, Change::of([name.clone()], leaf), now).await?;
    turn.commit().await?;
    index::show_latest(&service.registry).await?;
    service.count(action);
    Ok(())
}

/// What is withdrawn, or given back.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    /// A version: it is yanked.
    Version(PackName, Version),
    /// A pack: it is deprecated.
    Pack(PackName),
}

impl Subject {
    const fn name(&self) -> &PackName {
        match self {
            Self::Version(name, _) | Self::Pack(name) => name,
        }
    }

    /// Sets or lifts it; says whether anything changed.
    async fn set(&self, rows: &mut Rows, why: Option<Withdrawal>) -> Result<bool, ApiError> {
        let (name, version) = match self {
            Self::Version(name, version) => (name, version.to_string()),
            Self::Pack(name) => (name, String::new()),
        };
        // A pack has no version that is empty.
        let (read, write) = match self {
            Self::Version(..) => (
                "SELECT entry FROM versions WHERE name = $1 AND version = $2",
                "UPDATE versions SET entry = $1 WHERE name = $2 AND version = $3",
            ),
            Self::Pack(_) => (
                "SELECT entry FROM packs WHERE name = $1 AND $2 = ''",
                "UPDATE packs SET entry = $1 WHERE name = $2 AND $3 = ''",
            ),
        };
        let found =
            sqlx::query(read).bind(name.as_str().to_owned()).bind(version.clone()).fetch_optional(&mut **rows).await?;
        let row = found.ok_or_else(|| ApiError::absent(format!("there is no `{name} {version}`")))?;
        let Some(entry) = self.changed(&row.try_get::<String, _>("entry")?, why)? else { return Ok(false) };
        sqlx::query(write).bind(entry).bind(name.as_str().to_owned()).bind(version).execute(&mut **rows).await?;
        Ok(true)
    }

    /// Its entry after the change; `None` where that is the same.
    fn changed(&self, entry: &str, why: Option<Withdrawal>) -> Result<Option<String>, ApiError> {
        Ok(match self {
            Self::Version(..) => {
                let mut entry: VersionEntry = serde_json::from_str(entry)?;
                let before = std::mem::replace(&mut entry.yanked, why);
                (before != entry.yanked).then(|| serde_json::to_string(&entry)).transpose()?
            }
            Self::Pack(_) => {
                let mut entry: PackEntry = serde_json::from_str(entry)?;
                let before = std::mem::replace(&mut entry.deprecated, why);
                (before != entry.deprecated).then(|| serde_json::to_string(&entry)).transpose()?
            }
        })
    }

    /// The word of the audit log, and the event of the public one.
    fn event(&self, withdrawn: bool) -> (&'static str, Event) {
        match (self.clone(), withdrawn) {
            (Self::Version(name, version), true) => ("yank", Event::Yank { name, version }),
            (Self::Version(name, version), false) => ("unyank", Event::Unyank { name, version }),
            (Self::Pack(name), true) => ("deprecate", Event::Deprecate { name, deprecated: true }),
            (Self::Pack(name), false) => ("undeprecate", Event::Deprecate { name, deprecated: false }),
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
        return Err(ApiError::absent(format!("there is no account `{login}`")));
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
    conclude(service, turn, caller, name, ("owner-add", event)).await
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
    let done = sqlx::query("DELETE FROM owners WHERE name = $1 AND login = $2")
        .bind(name.as_str().to_owned())
        .bind(login.clone())
        .execute(&mut *turn)
        .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::absent(format!("`{login}` does not own `{name}`")));
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
    conclude(service, turn, caller, name, ("owner-remove", event)).await
}
