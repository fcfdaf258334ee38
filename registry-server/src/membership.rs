//! What is changed about organisations: making one, who is a member, and whether the registry vouches for it. The API and the pages both come here.

use exo_index::name::PackName;
use exo_index::registry::log::leaf::{Event, OrganisationChange};
use exo_index::registry::look_alike;
use exo_index::registry::shard::PackEntry;
use sqlx::Row as _;

use crate::access::{self, Caller};
use crate::accounts::is_login;
use crate::audit::Entry;
use crate::audit::action::Action;
use crate::chance;
use crate::changes;
use crate::database::{self, Rows};
use crate::error::ApiError;
use crate::limits::{self, Kind};
use crate::organisations::{self, Role};
use crate::scopes;
use crate::second_factor;
use crate::service::Service;
use crate::stewardship;

/// That there is no such organisation.
pub(crate) fn absent(name: &str) -> ApiError {
    ApiError::absent(
        format!("there is no organisation `{name}`"),
        format!("`exo owner create @{name}` makes one, where nobody has the scope"),
    )
}

/// Writes a change into both logs, and shows the pointer with it.
async fn conclude(
    service: &Service,
    turn: Rows,
    caller: &Caller,
    name: &str,
    packs: &[PackName],
    (action, event): (Action, Event),
) -> Result<(), ApiError> {
    let entry = stewardship::told(Entry::new(&caller.login, action, name), &event);
    changes::conclude(service, turn, packs, entry, event).await
}

/// Makes an organisation, of which the caller is the first owner.
///
/// # Errors
/// The name is none or taken, or others own packs in its scope.
pub(crate) async fn create(service: &Service, caller: &Caller, name: &str) -> Result<(), ApiError> {
    caller.must_be_session()?;
    limits::of_account(&service.registry.rows, Kind::Organisations, &caller.login).await?;
    let Ok(example) = PackName::parse(&format!("@{name}/pack")) else {
        return Err(ApiError::malformed(format!("`{name}` can be no scope"))
            .hint("an organisation's name begins with a letter and is of a-z, 0-9 and `-`"));
    };
    if !is_login(name) {
        return Err(ApiError::malformed(format!("the name `{name}` cannot be that of an organisation")));
    }
    if look_alike::is_reserved(&example) || service.bundled.has(name) {
        return Err(ApiError::malformed(format!("the name `{name}` is reserved"))
            .hint("it would speak for exo, for a pack that comes with it, or for the registry"));
    }
    let mut turn = database::turn(&service.registry.rows).await?;
    if organisations::exists(&mut turn, name).await? || access::was_account(&mut turn, name).await? {
        return Err(ApiError::conflict(format!("the name `{name}` is taken, by an organisation or an account")));
    }
    // Packs that were there before go on. An owner of the organisation owns all of them, so only who does already may make it.
    if let Some(other) = scopes::unowned(&mut turn, name, &caller.login).await? {
        return Err(ApiError::forbidden(format!("the scope `@{name}` belongs to those who own its packs")).hint(
            format!("let the owners of `{other}` make you one, or let who owns all of them make the organisation"),
        ));
    }
    sqlx::query("INSERT INTO organisations (name, created) VALUES ($1, $2)")
        .bind(name.to_owned())
        .bind(chance::now()?)
        .execute(&mut *turn)
        .await?;
    organisations::set(&mut turn, name, &caller.login, Role::Owner).await?;
    let event = Event::Organisation { name: name.to_owned(), change: OrganisationChange::Created };
    conclude(service, turn, caller, name, &[], (Action::Organisation, event)).await
}

/// Whether somebody may say who is a member.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn may_change(rows: &mut sqlx::AnyConnection, caller: &Caller, name: &str) -> Result<bool, ApiError> {
    Ok(caller.administrator || organisations::role(rows, name, &caller.login).await? == Some(Role::Owner))
}

/// Takes the lock for a change of who is a member; only owners come here, and who leaves by themselves.
async fn change(service: &Service, caller: &Caller, name: &str, leaves: bool) -> Result<Rows, ApiError> {
    caller.must_be_session()?;
    limits::of_account(&service.registry.rows, Kind::Organisations, &caller.login).await?;
    let mut turn = database::turn(&service.registry.rows).await?;
    if !organisations::exists(&mut turn, name).await? {
        return Err(absent(name));
    }
    if may_change(&mut turn, caller, name).await?
        || leaves && organisations::role(&mut turn, name, &caller.login).await?.is_some()
    {
        return Ok(turn);
    }
    Err(ApiError::forbidden(format!("`{}` is no owner of the organisation `{name}`", caller.login))
        .hint(format!("`exo owner list @{name}` names those who are")))
}

/// Refuses a change after which nobody could make another.
async fn must_have_owner(turn: &mut Rows, name: &str) -> Result<(), ApiError> {
    if organisations::members(turn, name).await?.iter().any(|(_, role)| *role == Role::Owner) {
        return Ok(());
    }
    Err(ApiError::conflict(format!("it would leave the organisation `{name}` without an owner"))
        .hint("make another member an owner first"))
}

/// Makes somebody a member, or gives another role.
///
/// # Errors
/// The caller may not, there is no such account, no owner would be left, or a code of the second factor is needed to make an owner less.
pub(crate) async fn set(
    service: &Service,
    caller: &Caller,
    name: &str,
    login: &str,
    role: Role,
) -> Result<(), ApiError> {
    caller.must_be_session()?;
    let before = organisations::role(&mut *service.registry.rows.acquire().await?, name, login).await?;
    if before != Some(role) {
        // Whoever becomes an owner can take everything from the others.
        second_factor::prove(service, caller).await?;
    }
    let mut turn = change(service, caller, name, false).await?;
    if !access::is_account(&mut turn, login).await? {
        return Err(access::no_account(login));
    }
    let present = organisations::role(&mut turn, name, login).await?;
    if present == Some(role) {
        return Ok(());
    }
    if present != before {
        return Err(ApiError::conflict(format!("the role of `{login}` was changed meanwhile")).hint("look again"));
    }
    organisations::set(&mut turn, name, login, role).await?;
    must_have_owner(&mut turn, name).await?;
    let event = Event::Member { organisation: name.to_owned(), login: login.to_owned(), role: Some(role) };
    conclude(service, turn, caller, name, &[], (Action::MemberAdd, event)).await
}

/// Takes membership from somebody.
///
/// # Errors
/// The caller may not, a code of the second factor is needed, it is no member, or no owner would be left.
pub(crate) async fn remove(service: &Service, caller: &Caller, name: &str, login: &str) -> Result<(), ApiError> {
    caller.must_be_session()?;
    second_factor::prove(service, caller).await?;
    let mut turn = change(service, caller, name, caller.login == login).await?;
    let done = sqlx::query("DELETE FROM members WHERE organisation = $1 AND login = $2")
        .bind(name.to_owned())
        .bind(login.to_owned())
        .execute(&mut *turn)
        .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::absent(
            format!("`{login}` is no member of the organisation `{name}`"),
            format!("`exo owner list @{name}` lists those who are"),
        ));
    }
    must_have_owner(&mut turn, name).await?;
    let event = Event::Member { organisation: name.to_owned(), login: login.to_owned(), role: None };
    conclude(service, turn, caller, name, &[], (Action::MemberRemove, event)).await
}

/// Says that the registry knows who an organisation is, or takes that back; its packs say so too.
///
/// # Errors
/// The caller is no administrator, a code of the second factor is needed, or there is no such organisation.
pub(crate) async fn verify(service: &Service, caller: &Caller, name: &str, verified: bool) -> Result<(), ApiError> {
    caller.must_administer_scope(name)?;
    second_factor::prove(service, caller).await?;
    let mut turn = database::turn(&service.registry.rows).await?;
    if !organisations::exists(&mut turn, name).await? {
        return Err(absent(name));
    }
    if organisations::is_verified(&mut turn, name).await? == verified {
        return Ok(());
    }
    let statement = match verified {
        true => "INSERT INTO verified_organisations (name, at) VALUES ($1, $2)",
        false => "DELETE FROM verified_organisations WHERE name = $1 AND at <= $2",
    };
    sqlx::query(statement).bind(name.to_owned()).bind(chance::now()?).execute(&mut *turn).await?;
    let packs = mark_packs(&mut turn, name, verified).await?;
    let (action, change) = match verified {
        true => (Action::Verify, OrganisationChange::Verified),
        false => (Action::Unverify, OrganisationChange::Unverified),
    };
    let event = Event::Organisation { name: name.to_owned(), change };
    conclude(service, turn, caller, name, &packs, (action, event)).await
}

/// Sets the mark of all packs of a scope; gives their names.
async fn mark_packs(turn: &mut Rows, scope: &str, verified: bool) -> Result<Vec<PackName>, ApiError> {
    let mut packs = Vec::new();
    // A scope has no character that `LIKE` gives a meaning to.
    for row in sqlx::query("SELECT name, entry FROM packs WHERE name LIKE $1 ORDER BY name")
        .bind(format!("@{scope}/%"))
        .fetch_all(&mut **turn)
        .await?
    {
        let mut entry: PackEntry = serde_json::from_str(&row.try_get::<String, _>("entry")?)?;
        entry.verified = verified;
        sqlx::query("UPDATE packs SET entry = $1, verified = $2 WHERE name = $3")
            .bind(serde_json::to_string(&entry)?)
            .bind(i64::from(verified))
            .bind(entry.name.as_str().to_owned())
            .execute(&mut **turn)
            .await?;
        packs.push(entry.name);
    }
    Ok(packs)
}
